// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_publication.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/wafer/overlay/overlay.h"
#include "sim/wafer/overlay/lot_overlay.h"
#include "sim/wafer/overlay/wafer_draws.h"
#include "sim/wafer/wafer_view.h"

#include <math.h>
#include <string.h>

// What the publishing steps share: the scored points of all fields and the pipelines.
typedef struct publication {
    const bb_wafer_study *study;
    const bb_wafer_problem *problem;
    bb_wafer_evaluation *evaluations;
    const bb_wafer_evaluation *reference;
    bb_index pipelines, points;
    double *x, *y, *field_x, *field_y, *field; // [points], m and exposure index
    double *zero;                              // [points], stands for a second axis
    double *dx, *dy;                           // [points], scratch
    double *residual_x, *residual_y;           // [points], scratch
    bb_results *results;
} publication;

static bb_status gather_points(publication *out)
{
    bb_status status = BB_OK;
    bb_index index = 0;
    double **arrays[] = {&out->x,    &out->y,  &out->field_x, &out->field_y,    &out->field,
                         &out->zero, &out->dx, &out->dy,      &out->residual_x, &out->residual_y};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
        BB_TRY(BB_ZEROED(out->points, arrays[i]));
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

static void release(publication *out)
{
    BB_RELEASE(&out->x);
    BB_RELEASE(&out->y);
    BB_RELEASE(&out->field_x);
    BB_RELEASE(&out->field_y);
    BB_RELEASE(&out->field);
    BB_RELEASE(&out->zero);
    BB_RELEASE(&out->dx);
    BB_RELEASE(&out->dy);
    BB_RELEASE(&out->residual_x);
    BB_RELEASE(&out->residual_y);
}

// |mean| + 3 sigma of candidate minus reference, an axis at a time.
static bb_status publish_errors(publication *out)
{
    static const struct {
        int axis;
        const char *name, *long_name;
    } prices[] = {
        {BB_AXIS_X, "results/overlay_error_x_nm", "|mean| + 3 sigma of x minus the reference's"},
        {BB_AXIS_Y, "results/overlay_error_y_nm", "|mean| + 3 sigma of y minus the reference's"},
        {BB_AXIS_Z, "results/height_error_nm", "|mean| + 3 sigma of height minus the reference's"},
    };
    bb_status status = BB_OK;
    double values[BB_STUDY_PIPELINES];
    bb_overlay_statistics statistics;
    for (size_t i = 0; i < sizeof prices / sizeof *prices; ++i) {
        int axis = prices[i].axis;
        for (bb_index p = 0; p < out->pipelines; ++p) {
            const double *mean = bb_wafer_evaluation_last(&out->evaluations[p])->mean[axis];
            const double *truth = bb_wafer_evaluation_last(out->reference)->mean[axis];
            values[p] = NAN;
            for (bb_index k = 0; mean != NULL && k < out->points; ++k) {
                out->dx[k] = mean[k] - truth[k];
            }
            if (mean != NULL) {
                BB_TRY(bb_overlay_statistics_of(out->points, out->dx, out->zero, &statistics));
                values[p] = statistics.x.m3s;
            }
        }
        BB_TRY(bb_results_values(out->results, prices[i].name, "nm", prices[i].long_name,
                                 "pipeline", values));
    }
done:
    return status;
}

enum { MODELS = 4 };
static const char *const model_names[MODELS] = {"raw", "wafer_6", "wafer_10", "field_6"};
static const bb_overlay_model models[MODELS] = {BB_OVERLAY_RAW, BB_OVERLAY_WAFER_6,
                                                BB_OVERLAY_WAFER_10, BB_OVERLAY_FIELD_6};

typedef struct overlay_table {
    double x[BB_STUDY_PIPELINES * MODELS];
    double y[BB_STUDY_PIPELINES * MODELS];
    const char *state[BB_STUDY_PIPELINES * MODELS];
    char detail[MODELS][240]; // of the reference: it is the points that decide
} overlay_table;

static bb_status score_overlay(publication *out, overlay_table *table)
{
    bb_status status = BB_OK;
    bb_overlay_statistics statistics;
    bb_overlay_fit fit;
    for (bb_index p = 0; p < out->pipelines; ++p) {
        const bb_wafer_displacements *placed = bb_wafer_evaluation_last(&out->evaluations[p]);
        const bb_overlay_points points = {out->points,
                                          out->x,
                                          out->y,
                                          out->field_x,
                                          out->field_y,
                                          placed->mean[BB_AXIS_X],
                                          placed->mean[BB_AXIS_Y]};
        for (int m = 0; m < MODELS; ++m) {
            bb_index index = p * MODELS + m;
            BB_TRY(
                bb_overlay_fit_model(models[m], &points, &fit, out->residual_x, out->residual_y));
            if (out->points < 2) {
                bb_outcome_set(&fit.outcome, BB_OUTCOME_UNDERDETERMINED,
                               "no sigma from %td scored point", out->points);
            }
            BB_TRY(bb_overlay_statistics_of(out->points, out->residual_x, out->residual_y,
                                            &statistics));
            table->x[index] = statistics.x.m3s;
            table->y[index] = statistics.y.m3s;
            table->state[index] = bb_outcome_name(fit.outcome.kind);
            if (&out->evaluations[p] == out->reference) {
                memcpy(table->detail[m], fit.outcome.detail, sizeof table->detail[m]);
            }
        }
    }
done:
    return status;
}

// The overlay itself, raw and after what a scanner corrects anyway.
static bb_status publish_overlay(publication *out)
{
    bb_status status = BB_OK;
    overlay_table *table = NULL;
    const char *details[MODELS];
    BB_TRY(BB_ZEROED(1, &table));
    BB_TRY(score_overlay(out, table));
    for (int m = 0; m < MODELS; ++m) {
        details[m] = table->detail[m];
    }
    BB_TRY(bb_results_text_axis(out->results, "results/correction",
                                "linear model taken out before the statistics", MODELS,
                                model_names));
    BB_TRY(bb_results_values(out->results, "results/overlay_x_nm", "nm",
                             "|mean| + 3 sigma of the displacement in x after a correction",
                             "pipeline, correction", table->x));
    BB_TRY(bb_results_values(out->results, "results/overlay_y_nm", "nm",
                             "|mean| + 3 sigma of the displacement in y after a correction",
                             "pipeline, correction", table->y));
    BB_TRY(bb_results_texts(out->results, "results/overlay_status",
                            "ok, or underdetermined by the scored points", "pipeline, correction",
                            table->state));
    BB_TRY(bb_results_texts(out->results, "results/correction_detail",
                            "why a correction is not determined", "correction", details));
done:
    BB_RELEASE(&table);
    return status;
}

enum { MEAN, DEVIATION, RESIDUAL, RESIDUAL_DEVIATION };

static bb_status publish_displacements(publication *out, const char *path, const char *long_name,
                                       int which)
{
    bb_status status = BB_OK;
    const int *axes = out->study->response.axes.items;
    bb_index axis_count = out->study->response.axes.count;
    double *values = NULL; // [pipelines][axes][points]
    BB_TRY(BB_ALLOCATE(out->pipelines * axis_count * out->points, &values));
    double *cursor = values;
    for (bb_index p = 0; p < out->pipelines; ++p) {
        for (bb_index a = 0; a < axis_count; ++a) {
            const bb_wafer_displacements *placed = bb_wafer_evaluation_last(&out->evaluations[p]);
            double *const *const by_axis[] = {placed->mean, placed->deviation, placed->residual,
                                              placed->residual_deviation};
            const double *source = by_axis[which][axes[a]];
            for (bb_index i = 0; i < out->points; ++i) {
                *cursor++ = 1e9 * source[i];
            }
        }
    }
    BB_TRY(bb_results_values(out->results, path, "nm", long_name, "pipeline, axis, point", values));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status publish_point(publication *out, const char *path, const char *unit,
                               const char *long_name, const double *values, double factor)
{
    for (bb_index i = 0; i < out->points; ++i) {
        out->dx[i] = factor * values[i];
    }
    return bb_results_values(out->results, path, unit, long_name, "point", out->dx);
}

static bb_status publish_points(publication *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < out->points; ++i) {
        out->dx[i] = (double)i;
    }
    BB_TRY(bb_results_axis(out->results, "results/point", "1", "index of the scored point",
                           out->points, out->dx));
    BB_TRY(publish_point(out, "results/point_x_mm", "mm", "x on the wafer", out->x, 1e3));
    BB_TRY(publish_point(out, "results/point_y_mm", "mm", "y on the wafer", out->y, 1e3));
    BB_TRY(publish_point(out, "results/point_field", "1", "exposure index of the point's field",
                         out->field, 1.0));
    BB_TRY(publish_displacements(out, "results/displacement_nm",
                                 "dose-weighted mean displacement over the dwell", MEAN));
    BB_TRY(publish_displacements(out, "results/displacement_deviation_nm",
                                 "dose-weighted deviation from that mean (fading)", DEVIATION));
    BB_TRY(publish_displacements(out, "results/residual_nm",
                                 "dose-weighted mean of what the corrections in force leave",
                                 RESIDUAL));
    BB_TRY(publish_displacements(out, "results/residual_deviation_nm",
                                 "dose-weighted deviation from that mean", RESIDUAL_DEVIATION));
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

static bb_status publish_scalars(publication *out)
{
    bb_status status = BB_OK;
    double live[BB_STUDY_PIPELINES];
    const bb_evaluations all_evaluations = {&out->evaluations->common, sizeof *out->evaluations,
                                            out->pipelines};
    for (bb_index p = 0; p < out->pipelines; ++p) {
        bb_wafer_evaluation *evaluation = &out->evaluations[p];
        sum_coding(out->study, evaluation);
        const bb_wafer_displacements *placed = bb_wafer_evaluation_last(evaluation);
        evaluation->common.qoi_relative_error = sqrt(placed->squared_error / placed->squared_norm);
        evaluation->common.flops_dense = evaluation->common.flops;
        live[p] = bb_evaluation_compression(4.0 * evaluation->live_values,
                                            evaluation->common.operator_bytes);
    }
    BB_TRY(bb_evaluations_publish(&all_evaluations, "nm", out->results));
    BB_TRY(bb_results_values(out->results, "results/compression_ratio_live", "1",
                             "bytes in fp32 without the columns off the wafer over operator_bytes",
                             "pipeline", live));
done:
    return status;
}

static bb_status publish_axes(publication *out)
{
    static const char *const names[BB_WAFER_AXES] = {"x", "y", "z"};
    const bb_list *axes = &out->study->response.axes;
    const char *axis_names[BB_WAFER_AXES];
    for (bb_index a = 0; a < axes->count; ++a) {
        axis_names[a] = names[((const int *)axes->items)[a]];
    }
    return bb_results_text_axis(out->results, "results/axis", "axis of the displacement",
                                axes->count, axis_names);
}

// What storage lost, by axis.
static bb_status publish_coding(publication *out)
{
    bb_status status = BB_OK;
    const bb_list *axes = &out->study->response.axes;
    bb_coding_report *reports = NULL; // [pipelines][axes]
    BB_TRY(BB_ALLOCATE(out->pipelines * axes->count, &reports));
    for (bb_index i = 0; i < out->pipelines * axes->count; ++i) {
        int axis = ((const int *)axes->items)[i % axes->count];
        reports[i] = out->evaluations[i / axes->count].coding[axis];
    }
    BB_TRY(bb_coding_report_publish(&out->study->pipelines, "axis", axes->count, "m/K", reports,
                                    out->results));
done:
    BB_RELEASE(&reports);
    return status;
}

// What was certified, by axis.
static bb_status publish_certificates(publication *out)
{
    bb_status status = BB_OK;
    const bb_list *axes = &out->study->response.axes;
    const bb_certificate_tally **tallies = NULL; // [pipelines][axes]
    BB_TRY(BB_ALLOCATE(out->pipelines * axes->count, &tallies));
    for (bb_index i = 0; i < out->pipelines * axes->count; ++i) {
        int axis = ((const int *)axes->items)[i % axes->count];
        tallies[i] = &out->evaluations[i / axes->count].certificate[axis];
    }
    BB_TRY(bb_wafer_certificate_publish(out->results, out->pipelines, axes->count, tallies));
done:
    BB_RELEASE(&tallies);
    return status;
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
                       .results = results};
    BB_TRY(gather_points(&out));
    const bb_wafer_overlay overlay = {study, problem, evaluations, out.reference,
                                      out.x, out.y,   out.field_x, out.field_y};
    BB_TRY(bb_wafer_draws_price(&overlay, evaluations));
    BB_TRY(publish_scalars(&out));
    BB_TRY(publish_axes(&out));
    BB_TRY(publish_coding(&out));
    BB_TRY(publish_certificates(&out));
    BB_TRY(publish_errors(&out));
    BB_TRY(publish_overlay(&out));
    BB_TRY(publish_points(&out));
    BB_TRY(bb_wafer_overlay_publish(&overlay, results));
    BB_TRY(bb_lot_overlay_publish(&overlay, results));
    BB_TRY(bb_wafer_view_publish(&overlay, results));
    BB_TRY(bb_wafer_heating_publish(heating, results));
done:
    release(&out);
    return status;
}
