// SPDX-License-Identifier: Apache-2.0
//
// Common helpers for tests of dumped operators: a folder, the last run of the program, and a
// dataset as input.
#ifndef BB_TESTS_SIM_DUMPED_H
#define BB_TESTS_SIM_DUMPED_H

#include "sim/input/hdf5_library.h"
#include "sim/input/matrix_file.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

static inline bb_matrix_file *opened(const char *file, const char *dataset)
{
    const bb_matrix_place place = {file, dataset};
    bb_matrix_file *out = NULL;
    check_ok(bb_matrix_file_open(&place, false, "C", &out));
    return out;
}

#endif
