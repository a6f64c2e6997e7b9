// SPDX-License-Identifier: Apache-2.0
//
// Coding while one allocation after the other fails.
#ifndef BB_TESTS_PRECISION_FAILED_ALLOCATIONS_H
#define BB_TESTS_PRECISION_FAILED_ALLOCATIONS_H

#include "core/memory.h"
#include "precision/coded_matrix.h"
#include "tests/check.h"

// Each is reported and leaves nothing behind. With values of the layout.
static inline void survive_failed_allocations(const bb_codec_config *config,
                                              const bb_matrix_layout *layout, double *values)
{
    const bb_index blocks = bb_memory_blocks();
    int failed = 1;
    for (bb_index k = 1; failed; ++k) {
        bb_coded_matrix *matrix = NULL;
        bb_memory_fail_at(k);
        bb_status status = bb_coded_matrix_create(config, BB_ROW_SCALE_NONE, layout, &matrix);
        if (status == BB_OK) {
            status = bb_coded_matrix_encode(matrix, 0,
                                            bb_view_matrix(values, layout->rows, layout->columns));
        }
        failed = bb_memory_failure_happened();
        bb_memory_fail_at(0);
        assert_int_equal(status, failed ? BB_MEMORY : BB_OK);
        bb_coded_matrix_destroy(&matrix);
        assert_int_equal(bb_memory_blocks(), blocks);
    }
}

#endif
