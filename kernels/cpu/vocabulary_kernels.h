// The tables behind vocabularyKernels(), one a file; a family of processors links its own and the scalar one.
#pragma once

#include "kernels/cpu/vocabulary.h"

namespace tokenscope::kernels {

const VocabularyKernels& vocabularyKernelsScalar();
const VocabularyKernels& vocabularyKernelsAvx2();
const VocabularyKernels& vocabularyKernelsAvx512();

}  // namespace tokenscope::kernels
