// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/column_scale.h"

#include "sim/pipelines/stored_rows.h"

#include <math.h>

const char *const bb_column_scale_names[] = {"none", "deviation", "remainder", "balanced", NULL};

bool bb_column_scale_needs_factor(bb_column_scale scale)
{
    return scale == BB_COLUMN_SCALE_REMAINDER || scale == BB_COLUMN_SCALE_BALANCED;
}

bb_status bb_column_scale_make(bb_column_scale scale, bb_rounding_norm *norm, bb_index m,
                               const double *r, double *scales)
{
    bb_status status = BB_OK;
    const bb_index n = norm->problem->matrix->rows;
    if (scale == BB_COLUMN_SCALE_DEVIATION) {
        BB_TRY(bb_rounding_norm_variances(norm, scales));
    } else if (scale == BB_COLUMN_SCALE_BALANCED) {
        BB_TRY(bb_stored_rows_column_rms(m, n, r, scales));
    }
    for (bb_index j = 0; j < n; ++j) {
        double wanted = 0.0;
        if (scale == BB_COLUMN_SCALE_DEVIATION) {
            wanted = sqrt(scales[j]);
        } else if (scale == BB_COLUMN_SCALE_REMAINDER) {
            wanted = bb_rounding_norm_pivot(norm, j);
        } else {
            wanted = sqrt(bb_rounding_norm_pivot(norm, j) / scales[j]);
        }
        const float stored = (float)wanted;
        scales[j] = isnormal(stored) ? (double)stored : 1.0;
    }
done:
    return status;
}
