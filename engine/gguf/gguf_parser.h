// Parses the header of one GGUF file: metadata and tensor descriptions, checked against the file's size. The joining of
// split models is in gguf_file.cpp.
#pragma once

#include "engine/base/result.h"
#include "engine/gguf/gguf_file.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tokenscope {

struct GgufPart {
    std::uint32_t version = 0;
    std::map<std::string, GgufValue, std::less<>> metadata;
    std::vector<GgufTensor> tensors;
};

// `fd` is open for reading and stays the caller's. `fileName` is for messages.
Result<GgufPart> parseGgufPart(int fd, std::uint64_t fileBytes, const std::string& fileName);

// "string", "array of numbers" …: what a value is, for messages.
std::string valueKind(const GgufValue& value);

}  // namespace tokenscope
