// A message as a chat template sees it.
#pragma once

#include <string>

namespace tokenscope {

struct ChatMessage {
    std::string role;     // "system", "user", "assistant"
    std::string content;  // UTF-8; always data: special tokens in it are plain text
};

}  // namespace tokenscope
