// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/truth_commands.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <math.h>

enum { COLUMNS = 128, ROWS = 32 }; // of a task; fixed, so that sums do not depend on the threads

typedef struct projecting {
    const bb_deformable_mirror *mirror;
    const bb_matrix_source *source; // [m][columns]
    double *out;                    // [actuators][columns]
} projecting;

// Columns of Dx S.
static bb_status project_columns(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const projecting *work = context;
    const bb_index slopes = work->mirror->measurement_count;
    const int width = (int)(end - begin);
    double *block = NULL; // [m][width]
    BB_TRY(BB_ALLOCATE(slopes * (end - begin), &block));
    BB_TRY(
        bb_matrix_source_fill(work->source, 0, begin, bb_view_matrix(block, slopes, end - begin)));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)work->mirror->actuator_count, width,
                (int)slopes, 1.0, work->mirror->projector, (int)slopes, block, width, 0.0,
                work->out + begin, (int)work->source->columns);
done:
    BB_RELEASE(&block);
    return status;
}

typedef struct closing {
    const bb_deformable_mirror *mirror;
    const double *half; // Dx Ctt [actuators][m]
    double *out;        // [actuators][actuators]
} closing;

static bb_status close_rows(void *context, bb_index begin, bb_index end)
{
    const closing *work = context;
    const int slopes = (int)work->mirror->measurement_count;
    const int actuators = (int)work->mirror->actuator_count;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - begin), actuators, slopes, 1.0,
                work->half + begin * slopes, slopes, work->mirror->projector, slopes, 0.0,
                work->out + begin * actuators, actuators);
    return BB_OK;
}

bb_status bb_truth_commands_create(const bb_deformable_mirror *mirror, const bb_matrix_source *ctm,
                                   const bb_matrix_source *ctt, bb_truth_commands *out)
{
    bb_status status = BB_OK;
    const bb_index actuators = mirror->actuator_count;
    double *half = NULL;
    *out = (bb_truth_commands){0};
    BB_TRY(BB_ALLOCATE(actuators * ctm->columns, &out->with_slopes));
    BB_TRY(BB_ALLOCATE(actuators * actuators, &out->own));
    BB_TRY(BB_ALLOCATE(actuators * ctt->columns, &half));
    projecting with = {mirror, ctm, out->with_slopes};
    projecting own = {mirror, ctt, half};
    closing last = {mirror, half, out->own};
    BB_TRY(bb_thread_ranges(ctm->columns, COLUMNS, project_columns, &with));
    BB_TRY(bb_thread_ranges(ctt->columns, COLUMNS, project_columns, &own));
    BB_TRY(bb_thread_ranges(actuators, ROWS, close_rows, &last));
    out->views[0] = bb_view_matrix(out->with_slopes, actuators, ctm->columns);
    out->views[1] = bb_view_matrix(out->own, actuators, actuators);
    out->ctm = bb_matrix_source_dense(&out->views[0], "DxCtm", "V arcsec");
    out->ctt = bb_matrix_source_dense(&out->views[1], "DxCttDx", "V^2");
done:
    BB_RELEASE(&half);
    if (status != BB_OK) {
        bb_truth_commands_release(out);
    }
    return status;
}

void bb_truth_commands_release(bb_truth_commands *truth)
{
    BB_RELEASE(&truth->with_slopes);
    BB_RELEASE(&truth->own);
}

typedef struct multiplying {
    const bb_deformable_mirror *mirror;
    bb_index n;
    const double *r;
    double *commands;
} multiplying;

static bb_status multiply_rows(void *context, bb_index begin, bb_index end)
{
    const multiplying *work = context;
    const int slopes = (int)work->mirror->measurement_count;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin), (int)work->n, slopes,
                1.0, work->mirror->projector + begin * slopes, slopes, work->r, (int)work->n, 0.0,
                work->commands + begin * work->n, (int)work->n);
    return BB_OK;
}

bb_status bb_truth_commands_project(const bb_deformable_mirror *mirror, bb_index n, const double *r,
                                    double *commands)
{
    multiplying work = {mirror, n, r, commands};
    return bb_thread_ranges(mirror->actuator_count, ROWS, multiply_rows, &work);
}

bb_need bb_truth_commands_held(bb_index n, double actuators)
{
    return (bb_need){.host_bytes = sizeof(double) * actuators * ((double)n + actuators)};
}

bb_need bb_truth_commands_need(double slopes, bb_index n, double actuators, double threads)
{
    const double width = fmin((double)COLUMNS, (double)n);
    const double flops = 2.0 * actuators * slopes * ((double)n + slopes + actuators);
    const bb_need making = {.host_bytes =
                                sizeof(double) * slopes * (actuators + fmin(threads, 64.0) * width),
                            .seconds = flops / (BB_NEED_FP64_RATE * threads)};
    return bb_need_together(bb_truth_commands_held(n, actuators), making);
}
