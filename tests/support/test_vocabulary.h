// Tiny vocabularies of both kinds that can spell any text.
#pragma once

#include "tests/support/test_model.h"

#include <string>

namespace tokenscope::test {

// Sets the tokenizer's keys and returns the number of tokens.
int writeVocabulary(GgufWriter& writer, const TestModelSpec& spec);

// The printable character that stands for a byte in GPT-2's vocabularies, as UTF-8.
std::string gpt2Character(unsigned char byte);

}  // namespace tokenscope::test
