// SPDX-License-Identifier: Apache-2.0
//
// Random sparse matrices for solver tests: asymmetric, with empty, short and long rows next to each
// other.
#ifndef BB_TESTS_SOLVERS_SPARSE_H
#define BB_TESTS_SOLVERS_SPARSE_H

#include "core/csr.h"
#include "tests/solvers/dense.h"

enum { SPARSE_SEED = 20261 };

/// Row r has least + r % (most - least + 1) entries, every `apart`th row `far` (0: no such rows).
/// Columns are spread over the whole row; values are normal, divided by the square root of the
/// row's length.
static inline void sparse_random(bb_index rows, bb_index columns, bb_index minimum, bb_index limit,
                                 bb_index apart, bb_index far, bb_csr *out)
{
    autorelease(bb_triplets) list = {0};
    uint64_t draw = 0;
    for (bb_index row = 0; row < rows; ++row) {
        bool is_long = apart > 0 && row % apart == apart / 2;
        bb_index count = is_long ? far : minimum + row % (limit - minimum + 1);
        bb_index step = columns / (count + 1);
        bb_index column = (7 * row) % columns;
        for (bb_index k = 0; k < count; ++k, column = (column + step) % columns) {
            double value = bb_random_normal(SPARSE_SEED, BB_STREAM_SELF_TEST, draw++);
            check_ok(bb_triplets_add(&list, row, column, value / sqrt((double)count)));
        }
    }
    check_ok(bb_csr_assemble(rows, columns, &list, out));
}

static inline void sparse_narrow(bb_index count, const double *source, float *target)
{
    fill_array(target, count, i, (float)source[i]);
}

static inline float *sparse_floats(bb_index count)
{
    float *values = new_zeros(float, count);
    return values;
}

#endif
