// From a file to something that can be computed: what the file says about itself, whether we can run it, and its layer
// program. Architectures are rows of a table of properties (architectures.cpp), not copies of a forward pass.
#pragma once

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"
#include "engine/types/model_info.h"
#include "kernels/layer_program.h"

#include <string>
#include <vector>

namespace tokenscope {

// For any well-formed GGUF; says whether it can be run and if not why. Reads no tensor data.
ModelInfo describeModel(const GgufFile& file);

// What a user should know of a model that can be run, e.g. missing rope factors.
std::vector<std::string> modelWarnings(const GgufFile& file);

// UnsupportedModel naming architecture or tensor, BadFile for shapes that contradict the metadata. Views point into
// `mapping`. trainedContext etc. come from describeModel.
Result<kernels::LayerProgram> buildLayerProgram(const GgufFile& file, const GgufMapping& mapping);

}  // namespace tokenscope
