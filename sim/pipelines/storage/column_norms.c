// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/storage/column_norms.h"

#include "core/memory.h"
#include "core/thread.h"

#include <lapacke.h>
#include <math.h>

typedef struct factoring {
    const bb_matrix_source *source;
    bb_index width;
    const double *scales;
    double *norms; // [blocks][width][width]
    int *places;   // [blocks] of a pivot that is not positive, from 1 on; 0: there is none
} factoring;

static bb_status factor_blocks(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const factoring *work = context;
    const bb_index width = work->width;
    for (bb_index b = begin; b < end; ++b) {
        const bb_index first = b * width;
        const bb_index rest = work->source->rows - first;
        const bb_index count = rest < width ? rest : width;
        double *block = work->norms + b * width * width;
        bb_view view = bb_view_matrix(block, count, count);
        view.strides[0] = width;
        BB_TRY(bb_matrix_source_fill(work->source, first, first, view));
        for (bb_index i = 0; work->scales != NULL && i < count; ++i) {
            for (bb_index j = 0; j < count; ++j) {
                block[i * width + j] /= work->scales[first + i] * work->scales[first + j];
            }
        }
        work->places[b] =
            (int)LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)count, block, (lapack_int)width);
    }
done:
    return status;
}

bb_status bb_column_norms_make(bb_rounding_norm *norm, bb_index width, const double *scales,
                               bb_outcome *outcome, double **out)
{
    bb_status status = BB_OK;
    bb_matrix_source source;
    const bb_index blocks = (norm->problem->matrix->rows + width - 1) / width;
    factoring work = {.source = &source, .width = width, .scales = scales};
    *out = NULL;
    BB_TRY(bb_rounding_norm_source(norm, &source));
    BB_TRY(BB_ZEROED(blocks * width * width, &work.norms));
    BB_TRY(BB_ZEROED(blocks, &work.places));
    BB_TRY(bb_thread_ranges(blocks, 1, factor_blocks, &work));
    for (bb_index b = 0; b < blocks && outcome->kind == BB_OUTCOME_OK; ++b) {
        if (work.places[b] != 0) {
            bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD,
                           "norm of columns from %td on: pivot %d is not positive", b * width,
                           work.places[b] - 1);
        }
    }
    if (outcome->kind == BB_OUTCOME_OK) {
        *out = work.norms;
        work.norms = NULL;
    }
done:
    BB_RELEASE(&work.norms);
    BB_RELEASE(&work.places);
    return status;
}

bb_need bb_column_norms_need(bb_index n, bb_index width, double threads)
{
    const double side = (double)width;
    const double blocks = width > 0 ? ceil((double)n / side) : 0.0;
    return (bb_need){.host_bytes = sizeof(double) * blocks * side * side,
                     .seconds =
                         blocks * side * side * (side / 3.0 / BB_NEED_FP64_RATE + 2e-8) / threads};
}
