// SPDX-License-Identifier: Apache-2.0
//
// Overlay of every wafer of a lot in /results, for studies that score all of several wafers.
#include "core/memory.h"
#include "physics/wafer/overlay/overlay_report.h"
#include "sim/wafer/overlay/wafer_overlay.h"

#include <math.h>

enum { STATISTICS = sizeof(bb_wafer_statistics) / sizeof(double) }; // per wafer and error
static const char *const spread_names[] = {"mean_sigma", "point_sigma", "point_max", "m3s"};
enum { SPREADS = sizeof(bb_overlay_spread) / sizeof(double) }; // [direction][spread] of an error
_Static_assert((int)SPREADS ==
                   (int)BB_WAFER_DIRECTIONS * (int)(sizeof spread_names / sizeof *spread_names),
               "a spread does not match x, y and vector of its axis");

// Displacements of a pipeline, axis and wafer: [points], m.
typedef struct displacement_row {
    const double *mean, *residual;
} displacement_row;

// Results of all pipelines and errors.
typedef struct lot {
    const bb_wafer_work *work;
    bb_index pipelines, axes, wafers, points;
    double *indices;                 // [wafers]
    double *dx, *dy;                 // [wafers][points] of one pipeline and error
    bb_wafer_statistics *statistics; // [pipelines][BB_WAFER_ERRORS][wafers]
    bb_overlay_spread *spreads;      // [pipelines][BB_WAFER_ERRORS]
    double *qoi_errors;              // [pipelines][wafers]
    displacement_row *displacements; // [pipelines][axes][wafers]
} lot;

static const char title[] = "/results, wafer: the overlay report";

static const bb_output rows[] = {
    {"wafer", "wafer", "1", "index of the scored wafer in the lot", BB_MEMBER(lot, indices),
     .count = offsetof(lot, wafers)},
    {"spread", "spread", NULL, "statistic of the differences between wafers",
     .note = "with e_wk the error at point k of wafer w, `mean_sigma` is the standard deviation "
             "over wafers (count - 1) of the wafer's mean over points, `point_sigma` the rms over "
             "points of s_k, the standard deviation over wafers of e_wk, `point_max` the largest "
             "s_k, `m3s` abs(mean) + 3 sigma of the errors of all wafers together",
     BB_OUTPUT_NAMES(spread_names)},
    {"wafer_qoi_relative_error", "pipeline, wafer", "1",
     "error of the quantity of interest on a wafer", .note = "as `qoi_relative_error`",
     BB_MEMBER(lot, qoi_errors)},
};
static const bb_output_table outputs = {
    title,
    "With `wafers: {scored: all}` of more than one wafer, the same scored points on every "
    "wafer.",
    "results", NULL, BB_OUTPUT_ROWS(rows)};

#define BY_WAFER "pipeline, error, wafer"

static const bb_output wafer_rows[] = {
    {"wafer_headline_nm", BY_WAFER, "nm", "larger abs(mean) + 3 sigma of x and y of a wafer",
     BB_MEMBER(bb_wafer_statistics, headline)},
    {"wafer_mean_nm", BY_WAFER ", direction", "nm", "mean of a wafer",
     BB_ARRAY(bb_wafer_statistics, mean)},
    {"wafer_sigma_nm", BY_WAFER ", direction", "nm", "standard deviation of a wafer",
     BB_ARRAY(bb_wafer_statistics, sigma)},
    {"wafer_m3s_nm", BY_WAFER ", direction", "nm", "abs(mean) + 3 sigma of a wafer",
     BB_ARRAY(bb_wafer_statistics, m3s)},
    {"wafer_percentile997_nm", BY_WAFER ", direction", "nm",
     "99.7th percentile of the magnitude on a wafer", BB_ARRAY(bb_wafer_statistics, percentile997)},
    {"wafer_max_nm", BY_WAFER ", direction", "nm", "largest magnitude on a wafer",
     BB_ARRAY(bb_wafer_statistics, max)},
};
static const bb_output_table wafer_outputs = {title, NULL, "results", BY_WAFER,
                                              BB_OUTPUT_ROWS(wafer_rows)};

static const bb_output displacement_rows[] = {
    {"wafer_displacement_nm", "pipeline, axis, wafer, point", "nm",
     "dose-weighted mean displacement over the dwell on each wafer", .note = "as `displacement_nm`",
     BB_MEMBER(displacement_row, mean), .scale = 1e9},
    {"wafer_residual_nm", "pipeline, axis, wafer, point", "nm",
     "dose-weighted mean of the feed-forward residual on each wafer", .note = "as `residual_nm`",
     BB_MEMBER(displacement_row, residual), .scale = 1e9},
};
static const bb_output_table displacement_outputs = {
    title, NULL, "results", "pipeline, axis, wafer", BB_OUTPUT_ROWS(displacement_rows)};

static const bb_output spread_rows[] = {
    {"wafer_to_wafer_nm", "pipeline, error, direction, spread", "nm",
     "spread of an error over the wafers",
     .note = "for `vector`: root of the sum of squares of x and y, `m3s` of the lengths",
     .embedded = true},
};
static const bb_output_table spread_outputs = {title, NULL, "results", "pipeline, error",
                                               BB_OUTPUT_ROWS(spread_rows)};

static bb_status open(lot *wafer_lot)
{
    bb_status status = BB_OK;
    const bb_index items = wafer_lot->pipelines * BB_WAFER_ERRORS;
    BB_TRY(BB_ALLOCATE(wafer_lot->wafers, &wafer_lot->indices));
    BB_TRY(BB_ALLOCATE(wafer_lot->wafers * wafer_lot->points, &wafer_lot->dx));
    BB_TRY(BB_ALLOCATE(wafer_lot->wafers * wafer_lot->points, &wafer_lot->dy));
    BB_TRY(BB_ALLOCATE(items * wafer_lot->wafers, &wafer_lot->statistics));
    BB_TRY(BB_ALLOCATE(items, &wafer_lot->spreads));
    BB_TRY(BB_ALLOCATE(wafer_lot->pipelines * wafer_lot->wafers, &wafer_lot->qoi_errors));
    BB_TRY(BB_ALLOCATE(wafer_lot->pipelines * wafer_lot->axes * wafer_lot->wafers,
                       &wafer_lot->displacements));
done:
    return status;
}

static void release(lot *wafer_lot)
{
    BB_RELEASE(&wafer_lot->indices);
    BB_RELEASE(&wafer_lot->dx);
    BB_RELEASE(&wafer_lot->dy);
    BB_RELEASE(&wafer_lot->statistics);
    BB_RELEASE(&wafer_lot->spreads);
    BB_RELEASE(&wafer_lot->qoi_errors);
    BB_RELEASE(&wafer_lot->displacements);
}

static bb_status score(lot *wafer_lot)
{
    bb_status status = BB_OK;
    bb_overlay_statistics statistics;
    for (bb_index item = 0; item < wafer_lot->pipelines * BB_WAFER_ERRORS; ++item) {
        const bb_wafer_evaluation *evaluation =
            &wafer_lot->work->evaluations[item / BB_WAFER_ERRORS];
        const int error = (int)(item % BB_WAFER_ERRORS);
        for (bb_index w = 0; w < wafer_lot->wafers; ++w) {
            double *dx = wafer_lot->dx + w * wafer_lot->points;
            double *dy = wafer_lot->dy + w * wafer_lot->points;
            bb_wafer_overlay_error(wafer_lot->work, evaluation, w, error, BB_AXIS_X, dx);
            bb_wafer_overlay_error(wafer_lot->work, evaluation, w, error, BB_AXIS_Y, dy);
            BB_TRY(bb_overlay_statistics_of(wafer_lot->points, dx, dy, &statistics));
            wafer_lot->statistics[item * wafer_lot->wafers + w] =
                bb_wafer_overlay_statistics(&statistics);
        }
        BB_TRY(bb_overlay_spread_of(wafer_lot->wafers, wafer_lot->points, wafer_lot->dx,
                                    wafer_lot->dy, &wafer_lot->spreads[item]));
    }
done:
    return status;
}

// Computes the errors of every wafer.
static void gather(lot *wafer_lot)
{
    const int *axes = wafer_lot->work->study.response.axes.items;
    displacement_row *row = wafer_lot->displacements;
    for (bb_index w = 0; w < wafer_lot->wafers; ++w) {
        wafer_lot->indices[w] =
            (double)(wafer_lot->work->problem->wafer_count - wafer_lot->wafers + w);
    }
    for (bb_index p = 0; p < wafer_lot->pipelines; ++p) {
        const bb_wafer_displacements *placed = wafer_lot->work->evaluations[p].wafers;
        for (bb_index w = 0; w < wafer_lot->wafers; ++w) {
            wafer_lot->qoi_errors[p * wafer_lot->wafers + w] =
                sqrt(placed[w].squared_error / placed[w].squared_norm);
        }
        for (bb_index i = 0; i < wafer_lot->axes * wafer_lot->wafers; ++i) {
            const int axis = axes[i / wafer_lot->wafers];
            const bb_wafer_displacements *wafer = &placed[i % wafer_lot->wafers];
            *row++ = (displacement_row){wafer->mean[axis], wafer->residual[axis]};
        }
    }
}

// Subtracts the mean over wafers from values[wafer][point].
static void centre(bb_index wafers, bb_index points, double *const *values)
{
    for (bb_index i = 0; i < points; ++i) {
        double sum = 0.0;
        for (bb_index w = 0; w < wafers; ++w) {
            sum += values[w][i];
        }
        for (bb_index w = 0; w < wafers; ++w) {
            values[w][i] -= sum / (double)wafers;
        }
    }
}

// Centres one draw; `means` and `residuals` have one entry per scored wafer.
static void centre_draw(const bb_wafer_study *study, bb_index points,
                        bb_wafer_evaluation *evaluation, double **means, double **residuals)
{
    const bb_list *axes = &study->response.axes;
    for (bb_index a = 0; a < axes->count; ++a) {
        const int axis = ((const int *)axes->items)[a];
        for (bb_index w = 0; w < evaluation->wafer_count; ++w) {
            means[w] = evaluation->wafers[w].mean[axis];
            residuals[w] = evaluation->wafers[w].residual[axis];
        }
        centre(evaluation->wafer_count, points, means);
        centre(evaluation->wafer_count, points, residuals);
    }
}

bb_status bb_wafer_overlay_centre(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                  bb_wafer_evaluation *evaluation)
{
    bb_status status = BB_OK;
    const bb_index points = problem->point_count;
    double **means = NULL; // [scored_wafers]
    double **residuals = NULL;
    if (!study->metrology.lot_mean) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(problem->scored_wafers, &means));
    BB_TRY(BB_ALLOCATE(problem->scored_wafers, &residuals));
    centre_draw(study, points, evaluation, means, residuals);
    for (bb_index d = 0; d < evaluation->drawn_count; ++d) {
        centre_draw(study, points, &evaluation->drawn[d], means, residuals);
    }
done:
    BB_RELEASE(&means);
    BB_RELEASE(&residuals);
    return status;
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    const bb_index pipelines = work->study.pipelines.count;
    const bb_index items = pipelines * BB_WAFER_ERRORS;
    lot wafer_lot = {.work = work,
                     .pipelines = pipelines,
                     .axes = work->study.response.axes.count,
                     .wafers = work->problem->scored_wafers,
                     .points = work->problem->point_count};
    if (wafer_lot.wafers < 2) {
        goto done;
    }
    BB_TRY(open(&wafer_lot));
    BB_TRY(score(&wafer_lot));
    gather(&wafer_lot);
    BB_TRY(bb_output_table_publish(&outputs, &wafer_lot, NULL, results));
    BB_TRY(bb_output_table_publish_records(&wafer_outputs, wafer_lot.statistics,
                                           sizeof *wafer_lot.statistics, items * wafer_lot.wafers,
                                           NULL, results));
    BB_TRY(bb_output_table_publish_records(
        &displacement_outputs, wafer_lot.displacements, sizeof *wafer_lot.displacements,
        pipelines * wafer_lot.axes * wafer_lot.wafers, NULL, results));
    BB_TRY(bb_output_table_publish_records(&spread_outputs, wafer_lot.spreads,
                                           sizeof *wafer_lot.spreads, items, NULL, results));
done:
    release(&wafer_lot);
    return status;
}

static bool wanted(const void *study)
{
    return ((const bb_wafer_study *)study)->wafers.count > 1;
}

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    const bb_wafer_study *study = all;
    const bool has_mean = study->wafers.count > 1 && study->wafers.scored == (int)BB_LOT_ALL;
    return bb_study_refuse(
        study->metrology.lot_mean && !has_mean, config, problems,
        "metrology.lot_mean = true: set wafers.count above 1 and wafers.scored = all, since it "
        "removes the mean over the wafers");
}

static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    const bb_wafer_study *study = all;
    const bb_wafer_extent *span = extent;
    const double wafers = span->scored_wafers;
    const double of_errors = wafers * (double)STATISTICS + (double)SPREADS;
    const double placed = 2.0 * (double)study->response.axes.count * span->metrology;
    const double values = (double)BB_WAFER_ERRORS * of_errors + wafers * (1.0 + placed);
    plan->output_bytes +=
        wafers < 2.0 ? 0.0 : 8.0 * (wafers + (double)study->pipelines.count * values);
    return bb_plan_add(plan, "wafers", "%.0f, %g s between two; %s scored", span->wafers,
                       study->wafers.exchange_s, wafers > 1.0 ? "all" : "only the last");
}

const bb_part bb_lot_overlay_part = {
    .name = "lot",
    .wanted = wanted,
    .check = check,
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&outputs, &wafer_outputs, &displacement_outputs, &spread_outputs),
};
