// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/inverse.h"

#include "solvers/factor/tiles/tile_cholesky.h"

void bb_inverse_scale(bb_index rows, bb_index n, const double *scale, double *x)
{
    for (bb_index i = 0; scale != NULL && i < rows; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            x[i * n + j] *= scale[j];
        }
    }
}

static bb_status apply_factor(const bb_inverse *inverse, bb_index rows, double *x,
                              bb_outcome *outcome)
{
    const bb_factor_inverse *outer = inverse->context;
    (void)outcome;
    bb_inverse_scale(rows, inverse->n, outer->scale, x);
    BB_RETURN_IF_FAILED(bb_tile_cholesky_solve(outer->factor, rows, x));
    bb_inverse_scale(rows, inverse->n, outer->scale, x);
    return BB_OK;
}

bb_inverse bb_inverse_of_factor(bb_factor_inverse *context)
{
    return (bb_inverse){.n = context->factor->n, .apply = apply_factor, .context = context};
}
