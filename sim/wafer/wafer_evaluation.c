// SPDX-License-Identifier: Apache-2.0
//
// Results of one pipeline of a wafer study, and its scores in /results.
#include "core/log.h"
#include "core/memory.h"
#include "physics/wafer/overlay/overlay.h"
#include "sim/wafer/overlay/wafer_overlay.h"

#include <math.h>
#include <stdio.h>

// Allocates one block per axis, owned by `mean`.
static bb_status create_displacements(const bb_wafer_study *study, bb_index points,
                                      bb_wafer_displacements *out)
{
    bb_status status = BB_OK;
    for (bb_index a = 0; a < study->response.axes.count; ++a) {
        const int axis = ((const int *)study->response.axes.items)[a];
        BB_TRY(bb_evaluation_unset(BB_WAFER_PLACED * points, &out->mean[axis]));
        out->deviation[axis] = out->mean[axis] + points;
        out->residual[axis] = out->deviation[axis] + points;
        out->residual_deviation[axis] = out->residual[axis] + points;
    }
done:
    return status;
}

static bb_status create_one(const bb_wafer_study *study, const bb_wafer_problem *problem,
                            bb_wafer_evaluation *out)
{
    bb_status status = BB_OK;
    const int *axes = study->response.axes.items;
    // Sums over fields and axes start from zero.
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
        BB_RELEASE(&evaluation->wafers[i / BB_WAFER_AXES].mean[i % BB_WAFER_AXES]);
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
        double *placed = wafer->mean[i % BB_WAFER_AXES];
        wafer->squared_error = wafer->squared_norm = NAN;
        for (bb_index k = 0; placed != NULL && k < BB_WAFER_PLACED * points; ++k) {
            placed[k] = NAN;
        }
    }
}

const bb_wafer_displacements *bb_wafer_evaluation_last(const bb_wafer_evaluation *evaluation)
{
    return &evaluation->wafers[evaluation->wafer_count - 1];
}

enum { MODELS = 4, DETAIL_BYTES = 240 };
static const char *const model_names[MODELS] = {"raw", "wafer_6", "wafer_10", "field_6"};
static const bb_overlay_model models[MODELS] = {BB_OVERLAY_RAW, BB_OVERLAY_WAFER_6,
                                                BB_OVERLAY_WAFER_10, BB_OVERLAY_FIELD_6};

// Context of publishing records over points and models, with scratch arrays.
typedef struct publication {
    const bb_wafer_work *work;
    bb_index points, axes;
    const double *x, *y, *field;           // [points], borrowed from the work
    double *dx, *residual_x, *residual_y;  // [points], scratch
    const char *axis_names[BB_WAFER_AXES]; // [axes]
    const char *details[MODELS];           // details of the reference, since only the points matter
    char detail[MODELS][DETAIL_BYTES];
} publication;

// Results of a pipeline.
typedef struct pipeline_row {
    double errors[BB_WAFER_AXES]; // nm
    double live_ratio;
    double overlay_x[MODELS], overlay_y[MODELS]; // nm
    const char *states[MODELS];
} pipeline_row;

// Displacements of a pipeline and an axis: [points], m.
typedef struct displacement_row {
    const double *mean, *deviation, *residual, *residual_deviation;
} displacement_row;

static const char title[] = "/results, wafer";

static const bb_output pipeline_rows[] = {
    {"overlay_error_x_nm", "pipeline", "nm", "abs(mean) + 3 sigma of x minus the reference's",
     .note = "loss; NaN for a single scored point, which has no sigma",
     BB_MEMBER(pipeline_row, errors[BB_AXIS_X])},
    {"overlay_error_y_nm", "pipeline", "nm", "abs(mean) + 3 sigma of y minus the reference's",
     .note = "loss; NaN for a single scored point", BB_MEMBER(pipeline_row, errors[BB_AXIS_Y])},
    {"height_error_nm", "pipeline", "nm", "abs(mean) + 3 sigma of height minus the reference's",
     .note = "NaN without axis z", BB_MEMBER(pipeline_row, errors[BB_AXIS_Z])},
    {"compression_ratio_live", "pipeline", "1",
     "bytes in fp32 without columns outside the wafer, over operator_bytes",
     .note = "NaN if operator_bytes is 0", BB_MEMBER(pipeline_row, live_ratio)},
    {"correction", "correction", NULL, "linear model removed before the statistics",
     .note = "the last is fitted field by field", BB_OUTPUT_NAMES(model_names)},
    {"overlay_x_nm", "pipeline, correction", "nm",
     "abs(mean) + 3 sigma of the displacement in x after a correction",
     BB_ARRAY(pipeline_row, overlay_x)},
    {"overlay_y_nm", "pipeline, correction", "nm",
     "abs(mean) + 3 sigma of the displacement in y after a correction",
     BB_ARRAY(pipeline_row, overlay_y)},
    {"overlay_status", "pipeline, correction", NULL,
     "ok, underdetermined by the scored points, or non_finite", BB_ARRAY(pipeline_row, states)},
};
static const bb_output_table pipeline_outputs = {title, NULL, "results", "pipeline",
                                                 BB_OUTPUT_ROWS(pipeline_rows)};

static const bb_output point_rows[] = {
    {"correction_detail", "correction", NULL, "reason why a correction is not determined",
     .note = "fields with too few points for their own fit", BB_ARRAY(publication, details)},
    {"point", "point", "1", "index of the scored point", .note = "field by field",
     .count = offsetof(publication, points), .indices = true},
    {"point_x_mm", "point", "mm", "x on the wafer, from its centre", BB_MEMBER(publication, x),
     .scale = 1e3, .coordinate = true},
    {"point_y_mm", "point", "mm", "y on the wafer, from its centre", BB_MEMBER(publication, y),
     .scale = 1e3, .coordinate = true},
    {"point_field", "point", "1", "exposure index of the point's field",
     BB_MEMBER(publication, field), .coordinate = true},
    {"axis", "axis", NULL, "axis of the displacement", .note = "the computed ones of `x`, `y`, `z`",
     BB_ARRAY(publication, axis_names), .count = offsetof(publication, axes)},
};
static const bb_output_table point_outputs = {title, NULL, "results", NULL,
                                              BB_OUTPUT_ROWS(point_rows)};

static const bb_output displacement_rows[] = {
    {"displacement_nm", "pipeline, axis, point", "nm",
     "dose-weighted mean displacement over the dwell", .note = "relative to `metrology.reference`",
     BB_MEMBER(displacement_row, mean), .scale = 1e9},
    {"displacement_deviation_nm", "pipeline, axis, point", "nm",
     "dose-weighted deviation from that mean (fading)", BB_MEMBER(displacement_row, deviation),
     .scale = 1e9},
    {"residual_nm", "pipeline, axis, point", "nm",
     "dose-weighted mean of the feed-forward residual",
     .note = "of the reference's u; for axis z, of defocus", BB_MEMBER(displacement_row, residual),
     .scale = 1e9},
    {"residual_deviation_nm", "pipeline, axis, point", "nm",
     "dose-weighted deviation from that mean", BB_MEMBER(displacement_row, residual_deviation),
     .scale = 1e9},
};
static const bb_output_table displacement_outputs = {title, NULL, "results", "pipeline, axis",
                                                     BB_OUTPUT_ROWS(displacement_rows)};

// Errors of a pipeline relative to the reference, axis by axis.
static bb_status score_errors(publication *out, const bb_wafer_evaluation *evaluation,
                              pipeline_row *row)
{
    bb_status status = BB_OK;
    bb_overlay_statistics statistics;
    for (int axis = 0; axis < BB_WAFER_AXES; ++axis) {
        const double *mean = bb_wafer_evaluation_last(evaluation)->mean[axis];
        const double *truth = bb_wafer_evaluation_last(out->work->reference)->mean[axis];
        row->errors[axis] = NAN;
        for (bb_index k = 0; mean != NULL && k < out->points; ++k) {
            out->dx[k] = mean[k] - truth[k];
        }
        if (mean != NULL) {
            BB_TRY(bb_overlay_statistics_of(out->points, out->dx, out->dx, &statistics));
            row->errors[axis] = statistics.x.m3s;
        }
    }
done:
    return status;
}

// Overlay of a pipeline, raw and after each linear correction model of a scanner.
static bb_status score_corrections(publication *out, const bb_wafer_evaluation *evaluation,
                                   pipeline_row *row)
{
    bb_status status = BB_OK;
    bb_overlay_statistics statistics;
    bb_overlay_fit fit;
    const bb_wafer_displacements *placed = bb_wafer_evaluation_last(evaluation);
    const bb_overlay_points points = {out->points,
                                      out->x,
                                      out->y,
                                      out->work->field_x,
                                      out->work->field_y,
                                      placed->mean[BB_AXIS_X],
                                      placed->mean[BB_AXIS_Y]};
    for (int m = 0; m < MODELS; ++m) {
        BB_TRY(bb_overlay_fit_model(models[m], &points, &fit, out->residual_x, out->residual_y));
        if (out->points < 2) {
            bb_outcome_set(&fit.outcome, BB_OUTCOME_UNDERDETERMINED,
                           "sigma is undefined for %td scored point", out->points);
        }
        BB_TRY(
            bb_overlay_statistics_of(out->points, out->residual_x, out->residual_y, &statistics));
        row->overlay_x[m] = statistics.x.m3s;
        row->overlay_y[m] = statistics.y.m3s;
        row->states[m] = bb_outcome_name(fit.outcome.kind);
        if (evaluation == out->work->reference) {
            (void)snprintf(out->detail[m], DETAIL_BYTES, "%s", fit.outcome.detail);
            out->details[m] = out->detail[m];
        }
    }
done:
    return status;
}

// Warns about failures and losses in the log, before the table is printed.
static void warn(const bb_wafer_study *study, const bb_wafer_evaluation *evaluation,
                 const bb_coding_report *total)
{
    const bb_evaluation *common = &evaluation->common;
    // Rows from a generator are zero outside the wafer; rows from a file may not be.
    const bool own = study->response.generator != (int)BB_GENERATOR_FILE;
    const double lost = total->underflowed / (own ? evaluation->live_values : total->values);
    if (common->outcome.kind != BB_OUTCOME_OK) {
        bb_log_warning("pipeline %s: %s, %s", common->pipeline,
                       bb_outcome_name(common->outcome.kind), common->outcome.detail);
    }
    if (total->non_finite > 0.0) {
        bb_log_warning("pipeline %s: %.0f values of the operator are outside the codec's range",
                       common->pipeline, total->non_finite);
    }
    if (lost > 0.5) {
        bb_log_warning("pipeline %s: %.0f %% of the operator's values underflowed to zero; set "
                       "scale: row to keep them",
                       common->pipeline, 100.0 * lost);
    }
}

// Fills the members common to all experiments: bytes, values and seconds over the axes, errors of
// u.
static void summarise(const bb_wafer_study *study, bb_wafer_evaluation *evaluation)
{
    const bb_list *axes = &study->response.axes;
    const bb_wafer_displacements *placed = bb_wafer_evaluation_last(evaluation);
    bb_coding_report total = bb_coding_report_start();
    for (bb_index a = 0; a < axes->count; ++a) {
        bb_coding_report_add(&total, &evaluation->coding[((const int *)axes->items)[a]]);
    }
    evaluation->common.operator_bytes = total.bytes;
    evaluation->common.fp32_bytes = 4.0 * total.values;
    evaluation->common.encode_seconds = total.seconds;
    evaluation->common.qoi_relative_error = sqrt(placed->squared_error / placed->squared_norm);
    evaluation->common.flops_dense = evaluation->common.flops;
    warn(study, evaluation, &total);
}

static bb_status publish_pipelines(publication *out, bb_wafer_evaluation *evaluations,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = &out->work->study;
    const bb_index count = study->pipelines.count;
    const bb_evaluations all_evaluations = {&evaluations->common, sizeof *evaluations, count,
                                            &study->machine.price};
    pipeline_row *rows = NULL; // [pipelines]
    BB_TRY(BB_ZEROED(count, &rows));
    for (bb_index p = 0; p < count; ++p) {
        bb_wafer_evaluation *evaluation = &evaluations[p];
        BB_TRY(bb_wafer_overlay_draws(out->work, evaluation, &evaluation->common.draws));
        summarise(study, evaluation);
        rows[p].live_ratio = bb_evaluation_compression(4.0 * evaluation->live_values,
                                                       evaluation->common.operator_bytes);
        BB_TRY(score_errors(out, evaluation, &rows[p]));
        BB_TRY(score_corrections(out, evaluation, &rows[p]));
    }
    BB_TRY(bb_evaluations_publish(&all_evaluations, "nm", results));
    BB_TRY(bb_output_table_publish_records(&pipeline_outputs, rows, sizeof *rows, count, NULL,
                                           results));
done:
    BB_RELEASE(&rows);
    return status;
}

static bb_status publish_displacements(const publication *out, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = out->work->study.pipelines.count * out->axes;
    displacement_row *rows = NULL; // [pipelines][axes]
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index i = 0; i < count; ++i) {
        const int axis = ((const int *)out->work->study.response.axes.items)[i % out->axes];
        const bb_wafer_displacements *placed =
            bb_wafer_evaluation_last(&out->work->evaluations[i / out->axes]);
        rows[i] = (displacement_row){placed->mean[axis], placed->deviation[axis],
                                     placed->residual[axis], placed->residual_deviation[axis]};
    }
    BB_TRY(bb_output_table_publish_records(&displacement_outputs, rows, sizeof *rows, count, NULL,
                                           results));
done:
    BB_RELEASE(&rows);
    return status;
}

// Writes the scores. Overlay error of a pipeline: |mean| + 3 sigma of its displacement minus the
// reference's. Quantity of interest: u over x and y, all scored points and steps, with error ||u -
// u_ref|| / ||u_ref||.
static bb_status run(void *all, bb_results *results)
{
    static const char *const names[BB_WAFER_AXES] = {"x", "y", "z"};
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    publication out = {.work = work,
                       .points = work->problem->point_count,
                       .axes = work->study.response.axes.count,
                       .x = work->x,
                       .y = work->y,
                       .field = work->field};
    for (bb_index a = 0; a < out.axes; ++a) {
        out.axis_names[a] = names[((const int *)work->study.response.axes.items)[a]];
    }
    BB_TRY(BB_ALLOCATE(3 * out.points, &out.dx));
    out.residual_x = out.dx + out.points;
    out.residual_y = out.residual_x + out.points;
    BB_TRY(publish_pipelines(&out, work->evaluations, results));
    BB_TRY(bb_output_table_publish(&point_outputs, &out, NULL, results));
    BB_TRY(publish_displacements(&out, results));
done:
    BB_RELEASE(&out.dx);
    return status;
}

// Bytes of displacements and residuals with their deviations, and of point positions.
static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    const bb_wafer_study *study = all;
    const double axes = (double)study->response.axes.count;
    plan->output_bytes += 8.0 * ((const bb_wafer_extent *)extent)->metrology *
                          (5.0 + 4.0 * axes * (double)study->pipelines.count);
    return BB_OK;
}

const bb_part bb_wafer_evaluation_part = {
    .name = "scores",
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&bb_evaluation_outputs, &pipeline_outputs, &point_outputs,
                          &displacement_outputs),
};

// Publishes the storage losses by pipeline and axis.
static bb_status publish_coding(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    const bb_list *axes = &work->study.response.axes;
    const bb_index count = work->study.pipelines.count * axes->count;
    bb_coding_report *reports = NULL; // [pipelines][axes]
    BB_TRY(BB_ALLOCATE(count, &reports));
    for (bb_index i = 0; i < count; ++i) {
        reports[i] =
            work->evaluations[i / axes->count].coding[((const int *)axes->items)[i % axes->count]];
    }
    BB_TRY(bb_coding_report_publish(&work->study.pipelines, "axis", axes->count, "m/K", reports,
                                    results));
done:
    BB_RELEASE(&reports);
    return status;
}

const bb_part bb_wafer_coding_part = {
    .name = "coding",
    .run = publish_coding,
    .outputs = BB_OUTPUTS(&bb_coding_report_outputs, &bb_coding_report_measures),
};
