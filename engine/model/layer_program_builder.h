// Puts a layer program together from a file: finds every tensor the architecture needs, holds its shape and format
// against the metadata, and refuses files with tensors that would be left out of the computation.
#pragma once

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"
#include "engine/model/hyper_parameters.h"
#include "kernels/layer_program.h"

namespace tokenscope {

struct AssembledModel {
    kernels::LayerProgram program;
    int trainedContext = 0;
};

// Without a mapping everything is checked, but the views point nowhere and must not be read.
Result<AssembledModel> assembleModel(const GgufFile& file, const GgufMapping* mapping);

}  // namespace tokenscope
