// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_publication.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/wafer/overlay/overlay.h"
#include "sim/wafer/overlay/lot_overlay.h"
#include "sim/wafer/overlay/wafer_draws.h"
#include "sim/wafer/wafer_view.h"

#include <math.h>
#include <stdio.h>

enum { MODELS = 4, DETAIL_BYTES = 240, ARRAYS = 8 };
static const char *const model_names[MODELS] = {"raw", "wafer_6", "wafer_10", "field_6"};
static const bb_overlay_model models[MODELS] = {BB_OVERLAY_RAW, BB_OVERLAY_WAFER_6,
                                                BB_OVERLAY_WAFER_10, BB_OVERLAY_FIELD_6};

// What the publishing steps share: the scored points of all fields and the pipelines.
typedef struct publication {
    const bb_wafer_study *study;
    const bb_wafer_problem *problem;
    bb_wafer_evaluation *evaluations;
    const bb_wafer_evaluation *reference;
    bb_index pipelines, points, axes;
    double *block;                             // [ARRAYS][points] of those that follow
    double *x, *y, *field_x, *field_y, *field; // [points], m and exposure index
    double *dx, *residual_x, *residual_y;      // [points], scratch
    const char *axis_names[BB_WAFER_AXES];     // [axes]
    const char *details[MODELS];               // of the reference: it is the points that decide
    char detail[MODELS][DETAIL_BYTES];
} publication;

// Of a pipeline.
typedef struct pipeline_row {
    double errors[BB_WAFER_AXES]; // nm
    double live_ratio;
    double overlay_x[MODELS], overlay_y[MODELS]; // nm
    const char *states[MODELS];
} pipeline_row;

// Of a pipeline and an axis: [points], m.
typedef struct displacement_row {
    const double *mean, *deviation, *residual, *residual_deviation;
} displacement_row;

static const char title[] = "/results, wafer";

static const bb_output pipeline_rows[] = {
    {"overlay_error_x_nm", "pipeline", "nm", "abs(mean) + 3 sigma of x minus the reference's",
     .note = "price; NaN of a single scored point, which has no sigma",
     BB_MEMBER(pipeline_row, errors[BB_AXIS_X])},
    {"overlay_error_y_nm", "pipeline", "nm", "abs(mean) + 3 sigma of y minus the reference's",
     .note = "price; likewise", BB_MEMBER(pipeline_row, errors[BB_AXIS_Y])},
    {"height_error_nm", "pipeline", "nm", "abs(mean) + 3 sigma of height minus the reference's",
     .note = "NaN where axis z was not computed", BB_MEMBER(pipeline_row, errors[BB_AXIS_Z])},
    {"compression_ratio_live", "pipeline", "1",
     "bytes in fp32 without the columns off the wafer over operator_bytes",
     .note = "NaN where that is 0", BB_MEMBER(pipeline_row, live_ratio)},
    {"correction", "correction", NULL, "linear model taken out before the statistics",
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
const bb_output_table bb_wafer_publication_pipelines = {title, NULL, "results", "pipeline",
                                                        BB_OUTPUT_ROWS(pipeline_rows)};

static const bb_output point_rows[] = {
    {"correction_detail", "correction", NULL, "why a correction is not determined",
     .note = "fields of too few points for their own", BB_ARRAY(publication, details)},
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
const bb_output_table bb_wafer_publication_points = {title, NULL, "results", NULL,
                                                     BB_OUTPUT_ROWS(point_rows)};

static const bb_output displacement_rows[] = {
    {"displacement_nm", "pipeline, axis, point", "nm",
     "dose-weighted mean displacement over the dwell", .note = "counted from `metrology.reference`",
     BB_MEMBER(displacement_row, mean), .scale = 1e9},
    {"displacement_deviation_nm", "pipeline, axis, point", "nm",
     "dose-weighted deviation from that mean (fading)", BB_MEMBER(displacement_row, deviation),
     .scale = 1e9},
    {"residual_nm", "pipeline, axis, point", "nm",
     "dose-weighted mean of what the corrections in force leave",
     .note = "of the reference's u; for axis z of defocus", BB_MEMBER(displacement_row, residual),
     .scale = 1e9},
    {"residual_deviation_nm", "pipeline, axis, point", "nm",
     "dose-weighted deviation from that mean", BB_MEMBER(displacement_row, residual_deviation),
     .scale = 1e9},
};
const bb_output_table bb_wafer_publication_displacements = {
    title, NULL, "results", "pipeline, axis", BB_OUTPUT_ROWS(displacement_rows)};

static bb_status gather_points(publication *out)
{
    bb_status status = BB_OK;
    bb_index index = 0;
    double **const arrays[ARRAYS] = {&out->x,     &out->y,  &out->field_x,    &out->field_y,
                                     &out->field, &out->dx, &out->residual_x, &out->residual_y};
    BB_TRY(BB_ZEROED(ARRAYS * out->points, &out->block));
    for (int i = 0; i < ARRAYS; ++i) {
        *arrays[i] = out->block + i * out->points;
    }
    for (bb_index f = 0; f < out->problem->scored_count; ++f) {
        const bb_dwell *dwell = out->problem->dwells[f];
        for (bb_index i = 0; i < dwell->count; ++i, ++index) {
            out->x[index] = dwell->x[i];
            out->y[index] = dwell->y[i];
            out->field_x[index] = dwell->field.x;
            out->field_y[index] = dwell->field.y;
            out->field[index] = (double)out->problem->scored[f];
        }
    }
done:
    return status;
}

// What a pipeline differs by from the reference, an axis at a time.
static bb_status price(publication *out, const bb_wafer_evaluation *evaluation, pipeline_row *row)
{
    bb_status status = BB_OK;
    bb_overlay_statistics statistics;
    for (int axis = 0; axis < BB_WAFER_AXES; ++axis) {
        const double *mean = bb_wafer_evaluation_last(evaluation)->mean[axis];
        const double *truth = bb_wafer_evaluation_last(out->reference)->mean[axis];
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

// The overlay itself, raw and after what a scanner corrects anyway.
static bb_status correct(publication *out, const bb_wafer_evaluation *evaluation, pipeline_row *row)
{
    bb_status status = BB_OK;
    bb_overlay_statistics statistics;
    bb_overlay_fit fit;
    const bb_wafer_displacements *placed = bb_wafer_evaluation_last(evaluation);
    const bb_overlay_points points = {out->points,
                                      out->x,
                                      out->y,
                                      out->field_x,
                                      out->field_y,
                                      placed->mean[BB_AXIS_X],
                                      placed->mean[BB_AXIS_Y]};
    for (int m = 0; m < MODELS; ++m) {
        BB_TRY(bb_overlay_fit_model(models[m], &points, &fit, out->residual_x, out->residual_y));
        if (out->points < 2) {
            bb_outcome_set(&fit.outcome, BB_OUTCOME_UNDERDETERMINED,
                           "no sigma from %td scored point", out->points);
        }
        BB_TRY(
            bb_overlay_statistics_of(out->points, out->residual_x, out->residual_y, &statistics));
        row->overlay_x[m] = statistics.x.m3s;
        row->overlay_y[m] = statistics.y.m3s;
        row->states[m] = bb_outcome_name(fit.outcome.kind);
        if (evaluation == out->reference) {
            (void)snprintf(out->detail[m], DETAIL_BYTES, "%s", fit.outcome.detail);
            out->details[m] = out->detail[m];
        }
    }
done:
    return status;
}

// What a user should know of a pipeline before reading its row of the table.
static void warn(const bb_wafer_study *study, const bb_wafer_evaluation *evaluation,
                 const bb_coding_report *total)
{
    const bb_evaluation *common = &evaluation->common;
    // Rows of the program's own are zero off the wafer; those of a file are what they are.
    const bool own = study->response.generator != (int)BB_GENERATOR_FILE;
    const double lost = total->underflowed / (own ? evaluation->live_values : total->values);
    if (common->outcome.kind != BB_OUTCOME_OK) {
        bb_log_warning("pipeline %s: %s, %s", common->pipeline,
                       bb_outcome_name(common->outcome.kind), common->outcome.detail);
    }
    if (total->non_finite > 0.0) {
        bb_log_warning("pipeline %s: its codec cannot hold %.0f values of the operator",
                       common->pipeline, total->non_finite);
    }
    if (lost > 0.5) {
        bb_log_warning("pipeline %s: %.0f %% of the operator's values underflowed to zero; "
                       "scale: row keeps them",
                       common->pipeline, 100.0 * lost);
    }
}

// Bytes, values and seconds over the axes.
static void sum_coding(const bb_wafer_study *study, bb_wafer_evaluation *evaluation)
{
    const bb_list *axes = &study->response.axes;
    bb_coding_report total = bb_coding_report_start();
    for (bb_index a = 0; a < axes->count; ++a) {
        bb_coding_report_add(&total, &evaluation->coding[((const int *)axes->items)[a]]);
    }
    evaluation->common.operator_bytes = total.bytes;
    evaluation->common.fp32_bytes = 4.0 * total.values;
    evaluation->common.encode_seconds = total.seconds;
    warn(study, evaluation, &total);
}

// What all experiments say of a pipeline, from what this one knows.
static void sum_up(const bb_wafer_study *study, bb_wafer_evaluation *evaluation)
{
    const bb_wafer_displacements *placed = bb_wafer_evaluation_last(evaluation);
    sum_coding(study, evaluation);
    evaluation->common.qoi_relative_error = sqrt(placed->squared_error / placed->squared_norm);
    evaluation->common.flops_dense = evaluation->common.flops;
}

static bb_status publish_pipelines(publication *out, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_evaluations all_evaluations = {&out->evaluations->common, sizeof *out->evaluations,
                                            out->pipelines, &out->study->machine.price};
    pipeline_row *rows = NULL; // [pipelines]
    BB_TRY(BB_ZEROED(out->pipelines, &rows));
    for (bb_index p = 0; p < out->pipelines; ++p) {
        bb_wafer_evaluation *evaluation = &out->evaluations[p];
        sum_up(out->study, evaluation);
        rows[p].live_ratio = bb_evaluation_compression(4.0 * evaluation->live_values,
                                                       evaluation->common.operator_bytes);
        BB_TRY(price(out, evaluation, &rows[p]));
        BB_TRY(correct(out, evaluation, &rows[p]));
    }
    BB_TRY(bb_evaluations_publish(&all_evaluations, "nm", results));
    BB_TRY(bb_output_table_publish_records(&bb_wafer_publication_pipelines, rows, sizeof *rows,
                                           out->pipelines, NULL, results));
done:
    BB_RELEASE(&rows);
    return status;
}

// What storage lost, what was certified and where the points went, by axis.
static bb_status publish_axes(const publication *out, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index count = out->pipelines * out->axes;
    bb_coding_report *reports = NULL;            // [pipelines][axes]
    const bb_certificate_tally **tallies = NULL; // likewise
    displacement_row *rows = NULL;               // likewise
    BB_TRY(BB_ALLOCATE(count, &reports));
    BB_TRY(BB_ALLOCATE(count, &tallies));
    BB_TRY(BB_ALLOCATE(count, &rows));
    for (bb_index i = 0; i < count; ++i) {
        const int axis = ((const int *)out->study->response.axes.items)[i % out->axes];
        const bb_wafer_evaluation *evaluation = &out->evaluations[i / out->axes];
        const bb_wafer_displacements *placed = bb_wafer_evaluation_last(evaluation);
        reports[i] = evaluation->coding[axis];
        tallies[i] = &evaluation->certificate[axis];
        rows[i] = (displacement_row){placed->mean[axis], placed->deviation[axis],
                                     placed->residual[axis], placed->residual_deviation[axis]};
    }
    BB_TRY(bb_coding_report_publish(&out->study->pipelines, "axis", out->axes, "m/K", reports,
                                    results));
    BB_TRY(bb_wafer_certificate_publish(tallies, count, results));
    BB_TRY(bb_output_table_publish_records(&bb_wafer_publication_displacements, rows, sizeof *rows,
                                           count, NULL, results));
done:
    BB_RELEASE(&reports);
    BB_RELEASE(&tallies);
    BB_RELEASE(&rows);
    return status;
}

static void name_axes(publication *out)
{
    static const char *const names[BB_WAFER_AXES] = {"x", "y", "z"};
    for (bb_index a = 0; a < out->axes; ++a) {
        out->axis_names[a] = names[((const int *)out->study->response.axes.items)[a]];
    }
}

bb_status bb_wafer_publication_write(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                     const bb_wafer_heating *heating,
                                     bb_wafer_evaluation *evaluations, bb_results *results)
{
    bb_status status = BB_OK;
    publication out = {.study = study,
                       .problem = problem,
                       .evaluations = evaluations,
                       .reference = &evaluations[bb_product_pipelines_reference(&study->pipelines)],
                       .pipelines = study->pipelines.count,
                       .points = problem->point_count,
                       .axes = study->response.axes.count};
    name_axes(&out);
    BB_TRY(gather_points(&out));
    const bb_wafer_overlay overlay = {study, problem, evaluations, out.reference,
                                      out.x, out.y,   out.field_x, out.field_y};
    BB_TRY(bb_wafer_draws_price(&overlay, evaluations));
    BB_TRY(publish_pipelines(&out, results));
    BB_TRY(bb_output_table_publish(&bb_wafer_publication_points, &out, NULL, results));
    BB_TRY(publish_axes(&out, results));
    BB_TRY(bb_wafer_overlay_publish(&overlay, results));
    BB_TRY(bb_lot_overlay_publish(&overlay, results));
    BB_TRY(bb_wafer_view_publish(&overlay, results));
    BB_TRY(bb_wafer_heating_publish(heating, results));
done:
    BB_RELEASE(&out.block);
    return status;
}
