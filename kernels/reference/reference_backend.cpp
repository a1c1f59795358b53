#include "kernels/reference/reference_backend.h"

#include "kernels/checks.h"
#include "kernels/reference/reference_model.h"

#include <new>

namespace tokenscope::kernels {
namespace {

class ReferenceBackend final : public Backend {
public:
    KernelResult<std::unique_ptr<DeviceModel>> load(const LayerProgram& program, const LoadOptions& options) override
    {
        try {
            if (auto shapes = checkShapes(program); !shapes)
                return tl::unexpected(std::move(shapes.error()));
            auto weights = loadWeights(program, options);
            if (!weights)
                return tl::unexpected(std::move(weights.error()));
            return std::make_unique<ReferenceModel>(program, std::move(*weights));
        } catch (const std::bad_alloc&) {
            return tl::unexpected(
                KernelError{KernelErrorCode::OutOfMemory, program.name + ": scratch of " +
                                                              std::to_string(ReferenceModel::scratchBytes(program)) +
                                                              " bytes could not be allocated"});
        }
    }

    // Weights are f32 whatever the file has. Logits (4 · vocabulary bytes for each wanted row of a step) and the
    // attention's scratch (4 · head size · 2 bytes for each token the cache can hold) come with the steps.
    DeviceMemory estimate(const LayerProgram& program) const override
    {
        DeviceMemory memory;
        memory.weightBytes = floatWeightBytes(program);
        memory.scratchBytes = ReferenceModel::scratchBytes(program);
        return memory;
    }

    std::string description() const override { return "reference · f32 weights, f64 sums · 1 thread"; }
};

}  // namespace

std::unique_ptr<Backend> makeReferenceBackend()
{
    return std::make_unique<ReferenceBackend>();
}

}  // namespace tokenscope::kernels
