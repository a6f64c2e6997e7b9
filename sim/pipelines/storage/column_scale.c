// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/storage/column_scale.h"

#include "core/memory.h"
#include "solvers/factor/tiles/tile_matrix.h"

#include <math.h>

const char *const bb_column_scale_names[] = {"none", "deviation", "remainder", "balanced", NULL};

bool bb_column_scale_needs_factor(bb_column_scale scale)
{
    return scale == BB_COLUMN_SCALE_REMAINDER || scale == BB_COLUMN_SCALE_BALANCED;
}

static double pivot_of(const bb_tile_matrix *factor, bb_index column)
{
    const bb_index place = column / factor->tile_size;
    const bb_tile *tile = bb_tile_matrix_at(factor, place, place);
    return tile->f64[column % factor->tile_size * (tile->columns + 1)];
}

static double column_rms(bb_index m, bb_index n, const double *r, bb_index column)
{
    double sum = 0.0;
    for (bb_index i = 0; i < m; ++i) {
        sum += r[i * n + column] * r[i * n + column];
    }
    return sqrt(sum / (double)m);
}

bb_status bb_column_scale_make(bb_column_scale scale, bb_rounding_norm *norm, bb_index m,
                               const double *r, double *scales)
{
    bb_status status = BB_OK;
    const bb_index n = norm->problem->matrix->rows;
    if (scale == BB_COLUMN_SCALE_DEVIATION) {
        BB_TRY(bb_rounding_norm_variances(norm, scales));
    }
    for (bb_index j = 0; j < n; ++j) {
        double wanted = 0.0;
        if (scale == BB_COLUMN_SCALE_DEVIATION) {
            wanted = sqrt(scales[j]);
        } else if (scale == BB_COLUMN_SCALE_REMAINDER) {
            wanted = pivot_of(norm->factor, j);
        } else {
            wanted = sqrt(pivot_of(norm->factor, j) / column_rms(m, n, r, j));
        }
        const float stored = (float)wanted;
        scales[j] = isnormal(stored) ? (double)stored : 1.0;
    }
done:
    return status;
}

void bb_column_scale_multiply(const double *scales, bb_index m, bb_index n, double *r)
{
    for (bb_index i = 0; i < m; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            r[i * n + j] *= scales[j];
        }
    }
}

void bb_column_scale_divide(const double *scales, bb_index m, bb_index n, double *r)
{
    for (bb_index i = 0; i < m; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            r[i * n + j] /= scales[j];
        }
    }
}
