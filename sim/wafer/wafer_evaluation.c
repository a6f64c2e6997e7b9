// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_evaluation.h"

#include "core/memory.h"

#include <math.h>

static bb_status create_displacements(const bb_wafer_study *study, bb_index points,
                                      bb_wafer_displacements *out)
{
    bb_status status = BB_OK;
    const int *axes = study->response.axes.items;
    for (bb_index a = 0; a < study->response.axes.count; ++a) {
        BB_TRY(bb_evaluation_unset(points, &out->mean[axes[a]]));
        BB_TRY(bb_evaluation_unset(points, &out->deviation[axes[a]]));
        BB_TRY(bb_evaluation_unset(points, &out->residual[axes[a]]));
        BB_TRY(bb_evaluation_unset(points, &out->residual_deviation[axes[a]]));
    }
done:
    return status;
}

static bb_status create_one(const bb_wafer_study *study, const bb_wafer_problem *problem,
                            bb_wafer_evaluation *out)
{
    bb_status status = BB_OK;
    const int *axes = study->response.axes.items;
    // These grow by every field and axis.
    out->common.encode_seconds = out->common.solve_seconds = 0.0;
    out->common.operator_bytes = out->common.fp32_bytes = out->common.flops = 0.0;
    for (bb_index a = 0; a < study->response.axes.count; ++a) {
        out->coding[axes[a]] = bb_coding_report_start();
    }
    BB_TRY(BB_ZEROED(problem->scored_wafers, &out->wafers));
    out->wafer_count = problem->scored_wafers;
    for (bb_index w = 0; w < out->wafer_count; ++w) {
        BB_TRY(create_displacements(study, problem->point_count, &out->wafers[w]));
    }
done:
    return status;
}

bb_status bb_wafer_evaluation_create(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                     bb_index drawn_count, bb_wafer_evaluation *out)
{
    bb_status status = BB_OK;
    BB_TRY(create_one(study, problem, out));
    BB_TRY(BB_ZEROED(drawn_count, &out->drawn));
    out->drawn_count = drawn_count;
    for (bb_index d = 0; d < drawn_count; ++d) {
        out->drawn[d].common = bb_evaluation_start(out->common.pipeline);
        out->drawn[d].common.device = out->common.device;
        BB_TRY(create_one(study, problem, &out->drawn[d]));
    }
done:
    return status;
}

static void release_one(bb_wafer_evaluation *evaluation)
{
    for (bb_index i = 0; i < evaluation->wafer_count * BB_WAFER_AXES; ++i) {
        bb_wafer_displacements *wafer = &evaluation->wafers[i / BB_WAFER_AXES];
        BB_RELEASE(&wafer->mean[i % BB_WAFER_AXES]);
        BB_RELEASE(&wafer->deviation[i % BB_WAFER_AXES]);
        BB_RELEASE(&wafer->residual[i % BB_WAFER_AXES]);
        BB_RELEASE(&wafer->residual_deviation[i % BB_WAFER_AXES]);
    }
    BB_RELEASE(&evaluation->wafers);
}

void bb_wafer_evaluation_release(bb_wafer_evaluation *evaluation)
{
    release_one(evaluation);
    for (bb_index d = 0; evaluation->drawn != NULL && d < evaluation->drawn_count; ++d) {
        release_one(&evaluation->drawn[d]);
    }
    BB_RELEASE(&evaluation->drawn);
}

void bb_wafer_evaluation_unset(bb_wafer_evaluation *evaluation, bb_index points)
{
    bb_evaluation *common = &evaluation->common;
    common->solve_seconds = common->flops = evaluation->live_values = NAN;
    for (int axis = 0; axis < BB_WAFER_AXES; ++axis) {
        evaluation->coding[axis] = bb_coding_report_unset();
        bb_certificate_tally *tally = &evaluation->certificate[axis];
        tally->bound = tally->coding = tally->error = NAN;
        tally->unbounded = tally->violations = NAN;
    }
    for (bb_index i = 0; i < evaluation->wafer_count * BB_WAFER_AXES; ++i) {
        bb_wafer_displacements *wafer = &evaluation->wafers[i / BB_WAFER_AXES];
        const int axis = (int)(i % BB_WAFER_AXES);
        double *const parts[] = {wafer->mean[axis], wafer->deviation[axis], wafer->residual[axis],
                                 wafer->residual_deviation[axis]};
        wafer->squared_error = wafer->squared_norm = NAN;
        for (size_t part = 0; part < sizeof parts / sizeof *parts; ++part) {
            for (bb_index k = 0; parts[part] != NULL && k < points; ++k) {
                parts[part][k] = NAN;
            }
        }
    }
}

const bb_wafer_displacements *bb_wafer_evaluation_last(const bb_wafer_evaluation *evaluation)
{
    return &evaluation->wafers[evaluation->wafer_count - 1];
}
