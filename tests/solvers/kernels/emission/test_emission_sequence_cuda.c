// SPDX-License-Identifier: Apache-2.0
//
// Sources of sequences are CUDA C++ that NVRTC accepts; no GPU is needed.
#include "core/device/nvrtc_cuda.h"
#include "tests/solvers/kernels/emission/sequence_texts.h"

TEST(nvrtc_takes_the_text)
{
    bound_text bound[2];
    bb_emission_sequence sequence;
    autorelease(bb_text) log = {0};
    autofree char *image = NULL;
    sequence_text_make(BB_EMISSION_CUDA, bound, &sequence);
    check_ok(bb_nvrtc_compile(bb_text_string(&sequence.source), "sm_90", &log, &image));
    bb_emission_sequence_release(&sequence);
    bound_text_release(&bound[0]);
    bound_text_release(&bound[1]);
}
