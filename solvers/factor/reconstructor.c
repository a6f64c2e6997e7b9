// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/reconstructor.h"

#include "core/memory.h"

#include <cblas.h>
#include <lapacke.h>

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

struct bb_low_rank_update {
    bb_low_rank part;
    double *v;    // [count][n]
    double *core; // [count][count], Cholesky factor of C^-1 + V U
};

bb_status bb_low_rank_core_factor(const bb_low_rank *part, double *core, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    int count = (int)part->count;
    for (int i = 0; i < count; ++i) {
        BB_REQUIRE(part->variances[i] > 0.0, BB_INVALID,
                   "variance %d of a low-rank part is %g; it must be positive", i,
                   part->variances[i]);
        core[i * count + i] += 1.0 / part->variances[i];
    }
    if (bb_outcome_first_non_finite(core, part->count * part->count) >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "low-rank update: the core is not finite");
    } else if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', count, core, count) != 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD,
                       "low-rank update: the core is not positive definite");
    }
done:
    return status;
}

// The core was factored as a column-major upper triangle: its U^T U is L L^T in row-major order.
void bb_low_rank_core_solve(const bb_low_rank *part, const double *core, bb_index m, double *w)
{
    int count = (int)part->count;
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)m, count, 1.0,
                core, count, w, count);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, count,
                1.0, core, count, w, count);
}

bb_status bb_low_rank_update_make(const bb_inverse *inverse, const bb_low_rank *part,
                                  bb_outcome *outcome, bb_low_rank_update **out)
{
    bb_status status = BB_OK;
    bb_low_rank_update *update = NULL;
    bb_index n = inverse->n;
    int count = (int)part->count;
    *out = NULL;
    if (count == 0) {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, &update));
    update->part = *part;
    BB_TRY(BB_ALLOCATE(count * n, &update->v));
    BB_TRY(BB_ALLOCATE((bb_index)count * count, &update->core));
    for (int k = 0; k < count; ++k) {
        cblas_dcopy((int)n, part->vectors + k, count, update->v + k * n, 1);
    }
    BB_TRY(inverse->apply(inverse, count, update->v, outcome));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, count, (int)n, 1.0, update->v,
                (int)n, part->vectors, count, 0.0, update->core, count);
    BB_TRY(bb_low_rank_core_factor(part, update->core, outcome));
    *out = update;
    update = NULL;
done:
    bb_low_rank_update_destroy(&update);
    return status;
}

bb_status bb_low_rank_update_create(const bb_tile_matrix *factor, const double *scale,
                                    const bb_low_rank *part, bb_outcome *outcome,
                                    bb_low_rank_update **out)
{
    bb_factor_inverse context = {factor, scale};
    const bb_inverse inverse = bb_inverse_of_factor(&context);
    return bb_low_rank_update_make(&inverse, part, outcome, out);
}

bb_need bb_low_rank_update_need(bb_index n, bb_index count, bb_index m)
{
    return (bb_need){.host_bytes = sizeof(bb_low_rank_update) +
                                   sizeof(double) * (double)count * (double)(n + count + m)};
}

void bb_low_rank_update_destroy(bb_low_rank_update **update)
{
    if (*update != NULL) {
        BB_RELEASE(&(*update)->v);
        BB_RELEASE(&(*update)->core);
        BB_RELEASE(update);
    }
}

// R <- R - ((R U) core^-1) V.
static bb_status apply_update(const bb_low_rank_update *update, bb_index m, bb_index n, double *r)
{
    bb_status status = BB_OK;
    double *weights = NULL; // [m][count]
    int count = (int)update->part.count;
    BB_TRY(BB_ALLOCATE(m * count, &weights));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, count, (int)n, 1.0, r, (int)n,
                update->part.vectors, count, 0.0, weights, count);
    bb_low_rank_core_solve(&update->part, update->core, m, weights);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, count, -1.0, weights,
                count, update->v, (int)n, 1.0, r, (int)n);
done:
    BB_RELEASE(&weights);
    return status;
}

bb_status bb_reconstructor_make(const bb_inverse *inverse, const bb_low_rank_update *update,
                                bb_index m, double *r, bb_outcome *outcome)
{
    bb_index n = inverse->n;
    BB_RETURN_IF_FAILED(inverse->apply(inverse, m, r, outcome));
    if (update != NULL) {
        BB_RETURN_IF_FAILED(apply_update(update, m, n, r));
    }
    bb_index bad = bb_outcome_first_non_finite(r, m * n);
    if (bad >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE,
                       "reconstructor: entry (%td, %td) is not finite", bad / n, bad % n);
    }
    return BB_OK;
}

bb_status bb_reconstructor_solve(const bb_tile_matrix *factor, const double *scale,
                                 const bb_low_rank_update *update, bb_index m, double *r,
                                 bb_outcome *outcome)
{
    bb_factor_inverse context = {factor, scale};
    const bb_inverse inverse = bb_inverse_of_factor(&context);
    return bb_reconstructor_make(&inverse, update, m, r, outcome);
}
