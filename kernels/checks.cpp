#include "kernels/checks.h"

#include <string>

namespace tokenscope::kernels {
namespace {

tl::unexpected<KernelError> unsupported(std::string message)
{
    return tl::unexpected(KernelError{KernelErrorCode::Unsupported, std::move(message)});
}

enum class Need { Required, Optional };

// Remembers the first thing that is wrong.
class ShapeCheck {
public:
    explicit ShapeCheck(const LayerProgram& program) : m_model(program.name) {}

    void tensor(const std::string& name, const TensorView& view, std::int64_t rows, std::int64_t cols,
                Need need = Need::Required)
    {
        if (!m_problem.empty() || (!view && need == Need::Optional))
            return;
        const auto shape = [](std::int64_t r, std::int64_t c) { return std::to_string(r) + " × " + std::to_string(c); };
        if (!view)
            m_problem = m_model + ": " + name + " is missing";
        else if (view.rows != rows || view.cols != cols)
            m_problem = m_model + ": " + name + " is " + shape(view.rows, view.cols) + " (rows × columns), expected " +
                        shape(rows, cols);
        else if (const DTypeInfo& info = dtypeInfo(view.type); view.cols % info.blockElements != 0)
            m_problem = m_model + ": " + name + " has rows of " + std::to_string(view.cols) + " elements, " +
                        std::string(info.name) + " needs a multiple of " + std::to_string(info.blockElements);
    }
    void require(bool holds, const std::string& what)
    {
        if (m_problem.empty() && !holds)
            m_problem = m_model + ": " + what;
    }
    const std::string& problem() const { return m_problem; }

private:
    std::string m_model;
    std::string m_problem;
};

void checkLayer(ShapeCheck& check, const LayerProgram& p, const LayerSpec& layer, const std::string& prefix)
{
    const std::int64_t queries = std::int64_t{p.heads} * p.headDimK;
    const std::int64_t keys = std::int64_t{p.kvHeads} * p.headDimK;
    const std::int64_t values = std::int64_t{p.kvHeads} * p.headDimV;
    check.tensor(prefix + "attention norm", layer.attnNorm, 1, p.embedding);
    check.tensor(prefix + "query", layer.q, queries, p.embedding);
    check.tensor(prefix + "key", layer.k, keys, p.embedding);
    check.tensor(prefix + "value", layer.v, values, p.embedding);
    check.tensor(prefix + "query bias", layer.qBias, 1, queries, Need::Optional);
    check.tensor(prefix + "key bias", layer.kBias, 1, keys, Need::Optional);
    check.tensor(prefix + "value bias", layer.vBias, 1, values, Need::Optional);
    check.tensor(prefix + "query norm", layer.qNorm, 1, p.headDimK, Need::Optional);
    check.tensor(prefix + "key norm", layer.kNorm, 1, p.headDimK, Need::Optional);
    check.tensor(prefix + "attention output", layer.attnOutput, p.embedding, std::int64_t{p.heads} * p.headDimV);
    check.tensor(prefix + "norm after attention", layer.postAttnNorm, 1, p.embedding, Need::Optional);
    check.tensor(prefix + "feed-forward norm", layer.ffnNorm, 1, p.embedding);
    check.tensor(prefix + "gate", layer.gate, p.feedForward, p.embedding);
    check.tensor(prefix + "up", layer.up, p.feedForward, p.embedding);
    check.tensor(prefix + "down", layer.down, p.embedding, p.feedForward);
    check.tensor(prefix + "norm after feed-forward", layer.postFfnNorm, 1, p.embedding, Need::Optional);

    const RopeSpec& rope = layer.rope;
    check.require(rope.dims >= 0 && rope.dims <= p.headDimK && rope.dims % 2 == 0,
                  prefix + "rotates " + std::to_string(rope.dims) + " elements of a head of " +
                      std::to_string(p.headDimK) + "; an even number up to that is needed");
    check.require(rope.divisors.empty() || static_cast<int>(rope.divisors.size()) == rope.dims / 2,
                  prefix + "has " + std::to_string(rope.divisors.size()) + " rotation divisors, expected " +
                      std::to_string(rope.dims / 2));
    check.require(layer.window >= 0, prefix + "has a window of " + std::to_string(layer.window) + " tokens");
}

}  // namespace

KernelResult<void> checkShapes(const LayerProgram& program)
{
    ShapeCheck check(program);
    check.require(program.embedding > 0 && program.feedForward > 0 && program.vocabulary > 0 && program.headDimK > 0 &&
                      program.headDimV > 0 && program.heads > 0 && program.kvHeads > 0,
                  "a width, head count or vocabulary is not positive");
    check.require(program.kvHeads <= 0 || program.heads % program.kvHeads == 0,
                  std::to_string(program.heads) + " query heads cannot share " + std::to_string(program.kvHeads) +
                      " key heads evenly");
    check.tensor("token embedding", program.tokenEmbedding, program.vocabulary, program.embedding);
    check.tensor("output norm", program.outputNorm, 1, program.embedding);
    check.tensor("head", program.head, program.vocabulary, program.embedding);
    for (std::size_t i = 0; i < program.layers.size(); ++i)
        checkLayer(check, program, program.layers[i], "layer " + std::to_string(i) + " ");
    if (!check.problem().empty())
        return unsupported(check.problem());
    return {};
}

bool isConsistent(const StepPlan& plan, int vocabulary, int cacheBlocks)
{
    std::int64_t nextRow = 0;
    const auto tableEntries = static_cast<std::int64_t>(plan.blockTable.size());
    for (const SequenceSlice& s : plan.sequences) {
        const bool inOrder = s.firstRow == nextRow && s.rows > 0 && s.kvLength >= 0;
        const bool tableFits = s.blockTableOffset >= 0 && s.blockCount >= 0 &&
                               std::int64_t{s.blockTableOffset} + s.blockCount <= tableEntries;
        const bool tokensFit = std::int64_t{s.kvLength} + s.rows <= std::int64_t{s.blockCount} * kBlockTokens;
        if (!inOrder || !tableFits || !tokensFit)
            return false;
        nextRow += s.rows;
    }
    if (nextRow != plan.rows())
        return false;
    for (const std::int32_t token : plan.tokens)
        if (token < 0 || token >= vocabulary)
            return false;
    for (const std::int32_t block : plan.blockTable)
        if (block < 0 || block >= cacheBlocks)
            return false;
    std::int32_t previous = -1;
    for (const std::int32_t row : plan.logitRows) {
        if (row <= previous || row >= plan.rows())
            return false;
        previous = row;
    }
    return true;
}

}  // namespace tokenscope::kernels
