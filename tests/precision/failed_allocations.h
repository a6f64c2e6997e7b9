// SPDX-License-Identifier: Apache-2.0
//
// Encoding while one allocation after the other fails.
#ifndef BB_TESTS_PRECISION_FAILED_ALLOCATIONS_H
#define BB_TESTS_PRECISION_FAILED_ALLOCATIONS_H

#include "precision/coded_matrix.h"
#include "tests/check.h"

// Each failure is reported, without leaks. With values of the layout.
static inline void survive_failed_allocations(const bb_codec_config *config,
                                              const bb_matrix_layout *layout, double *values)
{
    bb_status status = BB_OK;
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        autoptr(bb_coded_matrix) matrix = NULL;
        status = bb_coded_matrix_create(config, BB_ROW_SCALE_NONE, layout, &matrix);
        if (status == BB_OK) {
            status = bb_coded_matrix_encode(matrix, 0,
                                            bb_view_matrix(values, layout->rows, layout->columns));
        }
    }
}

#endif
