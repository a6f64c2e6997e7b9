// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/overlay/lot_overlay.h"

#include "core/memory.h"
#include "physics/wafer/overlay/overlay.h"
#include "physics/wafer/overlay/overlay_spread.h"

#include <math.h>

static const double NANOMETRES = 1e9;

enum { DIRECTIONS = 3 };
enum { MEAN, SIGMA, M3S, PERCENTILE, MAXIMUM, STATISTICS };
enum { MEAN_SIGMA, POINT_SIGMA, POINT_MAX, POOLED, SPREADS };
static const char *const spread_names[SPREADS] = {"mean_sigma", "point_sigma", "point_max", "m3s"};

// Of all pipelines and errors.
typedef struct lot {
    const bb_wafer_overlay *of;
    bb_results *results;
    bb_index pipelines, wafers, points;
    double *dx, *dy;                // [wafers][points] of one pipeline and error
    double *statistics[STATISTICS]; // [pipelines][BB_WAFER_ERRORS][wafers][DIRECTIONS]
    double *headline;               // [pipelines][BB_WAFER_ERRORS][wafers]
    double *spread;                 // [pipelines][BB_WAFER_ERRORS][DIRECTIONS][SPREADS]
} lot;

double bb_lot_overlay_values(double wafers, double pipelines, double axes, double points)
{
    const double of_errors =
        wafers * (1.0 + (double)STATISTICS * (double)DIRECTIONS) + (double)(DIRECTIONS * SPREADS);
    return wafers < 2.0 ? 0.0
                        : wafers + pipelines * ((double)BB_WAFER_ERRORS * of_errors +
                                                wafers * (1.0 + 2.0 * axes * points));
}

static bb_status open(lot *all)
{
    bb_status status = BB_OK;
    const bb_index items = all->pipelines * BB_WAFER_ERRORS;
    BB_TRY(BB_ALLOCATE(all->wafers * all->points, &all->dx));
    BB_TRY(BB_ALLOCATE(all->wafers * all->points, &all->dy));
    for (int s = 0; s < STATISTICS; ++s) {
        BB_TRY(BB_ALLOCATE(items * all->wafers * DIRECTIONS, &all->statistics[s]));
    }
    BB_TRY(BB_ALLOCATE(items * all->wafers, &all->headline));
    BB_TRY(BB_ALLOCATE(items * DIRECTIONS * SPREADS, &all->spread));
done:
    return status;
}

static void release(lot *all)
{
    BB_RELEASE(&all->dx);
    BB_RELEASE(&all->dy);
    for (int s = 0; s < STATISTICS; ++s) {
        BB_RELEASE(&all->statistics[s]);
    }
    BB_RELEASE(&all->headline);
    BB_RELEASE(&all->spread);
}

// `item` counts pipelines, errors and wafers.
static void keep_statistics(lot *all, bb_index item, const bb_overlay_statistics *statistics)
{
    const bb_overlay_axis *const axes[DIRECTIONS] = {&statistics->x, &statistics->y,
                                                     &statistics->vector};
    for (int d = 0; d < DIRECTIONS; ++d) {
        const double values[STATISTICS] = {axes[d]->mean, axes[d]->sigma, axes[d]->m3s,
                                           axes[d]->percentile997, axes[d]->max};
        for (int s = 0; s < STATISTICS; ++s) {
            all->statistics[s][item * DIRECTIONS + d] = values[s];
        }
    }
    const bool known = !isnan(statistics->x.m3s) && !isnan(statistics->y.m3s);
    all->headline[item] = known ? fmax(statistics->x.m3s, statistics->y.m3s) : NAN;
}

// `item` counts pipelines and errors.
static void keep_spread(lot *all, bb_index item, const bb_overlay_spread *spread)
{
    const bb_overlay_spread_axis *const axes[DIRECTIONS] = {&spread->x, &spread->y,
                                                            &spread->vector};
    for (int d = 0; d < DIRECTIONS; ++d) {
        double *out = all->spread + (item * DIRECTIONS + d) * SPREADS;
        out[MEAN_SIGMA] = axes[d]->mean_sigma;
        out[POINT_SIGMA] = axes[d]->point_sigma;
        out[POINT_MAX] = axes[d]->point_max;
        out[POOLED] = axes[d]->m3s;
    }
}

static bb_status score(lot *all)
{
    bb_status status = BB_OK;
    bb_overlay_statistics statistics;
    bb_overlay_spread spread;
    for (bb_index item = 0; item < all->pipelines * BB_WAFER_ERRORS; ++item) {
        const bb_wafer_evaluation *evaluation = &all->of->evaluations[item / BB_WAFER_ERRORS];
        const int error = (int)(item % BB_WAFER_ERRORS);
        for (bb_index w = 0; w < all->wafers; ++w) {
            double *dx = all->dx + w * all->points;
            double *dy = all->dy + w * all->points;
            bb_wafer_overlay_error(all->of, evaluation, w, error, BB_AXIS_X, dx);
            bb_wafer_overlay_error(all->of, evaluation, w, error, BB_AXIS_Y, dy);
            BB_TRY(bb_overlay_statistics_of(all->points, dx, dy, &statistics));
            keep_statistics(all, item * all->wafers + w, &statistics);
        }
        BB_TRY(bb_overlay_spread_of(all->wafers, all->points, all->dx, all->dy, &spread));
        keep_spread(all, item, &spread);
    }
done:
    return status;
}

static bb_status publish_axes(const lot *all)
{
    bb_status status = BB_OK;
    double *index = NULL;
    const bb_index first = all->of->problem->wafer_count - all->wafers;
    BB_TRY(BB_ALLOCATE(all->wafers, &index));
    for (bb_index w = 0; w < all->wafers; ++w) {
        index[w] = (double)(first + w);
    }
    BB_TRY(bb_results_axis(all->results, "results/wafer", "1", "index of the scored wafer",
                           all->wafers, index));
    BB_TRY(bb_results_text_axis(all->results, "results/spread",
                                "how errors differ from wafer to wafer", SPREADS, spread_names));
done:
    BB_RELEASE(&index);
    return status;
}

static bb_status publish_statistics(const lot *all)
{
    static const struct {
        const char *path, *long_name;
    } entries[STATISTICS] = {
        {"results/wafer_mean_nm", "mean of a wafer"},
        {"results/wafer_sigma_nm", "standard deviation of a wafer"},
        {"results/wafer_m3s_nm", "|mean| + 3 sigma of a wafer"},
        {"results/wafer_percentile997_nm", "99.7 percentile of the size on a wafer"},
        {"results/wafer_max_nm", "largest size on a wafer"},
    };
    bb_status status = BB_OK;
    for (int s = 0; s < STATISTICS; ++s) {
        BB_TRY(bb_results_values(all->results, entries[s].path, "nm", entries[s].long_name,
                                 "pipeline, error, wafer, direction", all->statistics[s]));
    }
    BB_TRY(bb_results_values(all->results, "results/wafer_headline_nm", "nm",
                             "larger |mean| + 3 sigma of x and y of a wafer",
                             "pipeline, error, wafer", all->headline));
    BB_TRY(bb_results_values(all->results, "results/wafer_to_wafer_nm", "nm",
                             "spread of an error over the wafers",
                             "pipeline, error, direction, spread", all->spread));
done:
    return status;
}

static bb_status publish_qoi(const lot *all)
{
    bb_status status = BB_OK;
    double *values = NULL; // [pipelines][wafers]
    BB_TRY(BB_ALLOCATE(all->pipelines * all->wafers, &values));
    for (bb_index i = 0; i < all->pipelines * all->wafers; ++i) {
        const bb_wafer_displacements *placed =
            &all->of->evaluations[i / all->wafers].wafers[i % all->wafers];
        values[i] = sqrt(placed->squared_error / placed->squared_norm);
    }
    BB_TRY(bb_results_values(all->results, "results/wafer_qoi_relative_error", "1",
                             "error of the quantity of interest on a wafer", "pipeline, wafer",
                             values));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status publish_points(const lot *all, bool residual, const char *path,
                                const char *long_name)
{
    bb_status status = BB_OK;
    const bb_list *axes = &all->of->study->response.axes;
    double *values = NULL; // [pipelines][axes][wafers][points]
    BB_TRY(BB_ALLOCATE(all->pipelines * axes->count * all->wafers * all->points, &values));
    double *cursor = values;
    for (bb_index p = 0; p < all->pipelines; ++p) {
        for (bb_index a = 0; a < axes->count; ++a) {
            const int axis = ((const int *)axes->items)[a];
            for (bb_index w = 0; w < all->wafers; ++w) {
                const bb_wafer_displacements *placed = &all->of->evaluations[p].wafers[w];
                const double *source = residual ? placed->residual[axis] : placed->mean[axis];
                for (bb_index i = 0; i < all->points; ++i) {
                    *cursor++ = NANOMETRES * source[i];
                }
            }
        }
    }
    BB_TRY(bb_results_values(all->results, path, "nm", long_name, "pipeline, axis, wafer, point",
                             values));
done:
    BB_RELEASE(&values);
    return status;
}

// values[wafer][point] - mean over wafers.
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

// One draw; `means` and `residuals` have room for the scored wafers.
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

bb_status bb_lot_overlay_centre(const bb_wafer_study *study, const bb_wafer_problem *problem,
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

bb_status bb_lot_overlay_publish(const bb_wafer_overlay *overlay, bb_results *results)
{
    bb_status status = BB_OK;
    lot all = {.of = overlay,
               .results = results,
               .pipelines = overlay->study->pipelines.count,
               .wafers = overlay->problem->scored_wafers,
               .points = overlay->problem->point_count};
    if (all.wafers < 2) {
        goto done;
    }
    BB_TRY(open(&all));
    BB_TRY(score(&all));
    BB_TRY(publish_axes(&all));
    BB_TRY(publish_statistics(&all));
    BB_TRY(publish_qoi(&all));
    BB_TRY(publish_points(&all, false, "results/wafer_displacement_nm",
                          "dose-weighted mean displacement over the dwell on each wafer"));
    BB_TRY(
        publish_points(&all, true, "results/wafer_residual_nm",
                       "dose-weighted mean of what the corrections in force leave on each wafer"));
done:
    release(&all);
    return status;
}
