// Model files with exactly one thing wrong each, made from small good ones. Tests hold the answers against what is
// expected here; tokenscope_make_test_models writes them out for the command line.
#pragma once

#include "engine/base/result.h"
#include "tests/support/gguf_writer.h"

#include <string>
#include <vector>

namespace tokenscope::test {

enum class BrokenAt {
    Header,     // GgufFile::open refuses it
    Program,    // well-formed, but buildLayerProgram refuses it
    Tokenizer,  // only Tokenizer::create can see it
};

struct BrokenModel {
    std::string name;  // of the file, without .gguf
    std::string bytes;
    BrokenAt at = BrokenAt::Header;
    ErrorCode code = ErrorCode::BadFile;
    std::vector<std::string> mentions;  // the key or tensor and a number that the sentence must hold
};

std::vector<BrokenModel> brokenModels();

// The good ones they are made from, with other formats and both architectures; each can be run.
struct GoodModel {
    std::string name;
    GgufWriter writer;
};
std::vector<GoodModel> goodModels();

}  // namespace tokenscope::test
