// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: arbitrary bytes as a kernel description in the short notation.
#include "tests/fuzz/kernel_round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_round_trip(bb_notation_reader_read, data, size);
    return 0;
}
