// SPDX-License-Identifier: Apache-2.0
//
// Texts of sequences are CUDA C++, as NVRTC says, which needs no GPU.
#include "core/device/device.h"
#include "core/device/nvrtc_cuda.h"
#include "core/memory.h"
#include "tests/solvers/kernels/emission/sequence_texts.h"

static void nvrtc_takes_the_text(void **state)
{
    (void)state;
    bound_text bound[2];
    bb_emission_sequence sequence;
    bb_text log = {0};
    char *image = NULL;
    sequence_text_make(BB_EMISSION_CUDA, bound, &sequence);
    check_ok(bb_nvrtc_compile(bb_text_string(&sequence.source), "sm_90", &log, &image));
    BB_RELEASE(&image);
    bb_text_release(&log);
    bb_emission_sequence_release(&sequence);
    bound_text_release(&bound[0]);
    bound_text_release(&bound[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nvrtc_takes_the_text)};
    char reason[256] = "";
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    if (failures == 0 && bb_device_count(BB_DEVICE_CUDA, reason, sizeof reason) == 0) {
        print_message("skipped: %s\n", reason);
        return 77;
    }
    return failures;
}
