// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/learn/learn.h"

#include "core/memory.h"
#include "physics/ao/learn/learn_triangle.h"

#include <math.h>
#include <string.h>

// Remainder of a sensor's own covariance after subtracting the learned layers: noise and, for a
// laser star, unknown tilt. For slopes along an axis, the remaining covariance of two subapertures
// is the tilt's variance c; the remaining variance of a subaperture is c + noise. Averaged over
// subapertures and both axes; a natural star has no tilt, c = 0.

// Sums of weighted covariances of one sensor's slopes along one axis.
typedef struct sums {
    double own;    // of the variances
    double mutual; // of the covariances of two subapertures
} sums;

static bb_status add_block(const bb_matrix_source *source, bb_index first, bb_index count,
                           double weight, double *block, sums *totals)
{
    BB_RETURN_IF_FAILED(
        bb_matrix_source_fill(source, first, first, bb_view_matrix(block, count, count)));
    for (bb_index k = 0; k < count * count; ++k) {
        *(k % (count + 1) == 0 ? &totals->own : &totals->mutual) += weight * block[k];
    }
    return BB_OK;
}

// Compares layers of `strength` [layers->count] with the mean of `sources`; noise and tilt
// [sensors].
static bb_status learn_remainder(const bb_learn_layers *layers, const double *strength,
                                 bb_index source_count, const bb_matrix_source *sources,
                                 double *noise_arcsec2, double *tilt_arcsec2)
{
    bb_status status = BB_OK;
    const bb_sensor_array *guides = &layers->items[0].guides;
    double *block = NULL;
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        const double n = (double)sensor->count;
        sums total = {0};
        BB_RELEASE(&block);
        BB_TRY(BB_ALLOCATE(sensor->count * sensor->count, &block));
        for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
            const bb_index first = sensor->first + axis * sensor->count;
            for (bb_index k = 0; k < source_count; ++k) {
                BB_TRY(add_block(&sources[k], first, sensor->count, 1.0 / (double)source_count,
                                 block, &total));
            }
            for (bb_index l = 0; l < layers->count; ++l) {
                BB_TRY(add_block(bb_slope_covariance_source(layers->items[l].covariance), first,
                                 sensor->count, -strength[l], block, &total));
            }
        }
        const bool tilted = sensor->star.kind->tilt_unknown && sensor->count > 1;
        tilt_arcsec2[s] = tilted ? total.mutual / (2.0 * n * (n - 1.0)) : 0.0;
        noise_arcsec2[s] = total.own / (2.0 * n) - tilt_arcsec2[s];
    }
done:
    BB_RELEASE(&block);
    return status;
}

static const double log_tolerance = 1e-5;   // of the outer scale
static const double derivative_step = 1e-3; // of the outer scale, relative

// One linear problem: layers of one outer scale, optionally with those of two neighbouring scales.
typedef struct problem {
    const bb_learn_task *task;
    bb_index layers, extra, columns; // columns: layers, extra, sources
    double rows;                     // values represented by the triangle
    const bb_matrix_source **list;   // [columns]
    double *triangle;                // [columns][columns]
    double *norm;                    // [layers] of the layers' columns
    double *unit;                    // [columns][layers] columns of norm 1
    double *side;                    // [columns] mean of the sources
} problem;

static void release_problem(problem *p)
{
    BB_RELEASE(&p->list);
    BB_RELEASE(&p->triangle);
    BB_RELEASE(&p->norm);
    BB_RELEASE(&p->unit);
    BB_RELEASE(&p->side);
}

static void list_layers(const bb_learn_layers *layers, const bb_matrix_source **list)
{
    for (bb_index l = 0; l < layers->count; ++l) {
        list[l] = bb_slope_covariance_source(layers->items[l].covariance);
    }
}

static double norm_of(const double *values, bb_index count)
{
    double sum = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        sum += values[i] * values[i];
    }
    return sqrt(sum);
}

static void scale_columns(problem *p)
{
    const bb_index n = p->columns;
    for (bb_index l = 0; l < p->layers; ++l) {
        p->norm[l] = norm_of(p->triangle + l * n, n);
        for (bb_index i = 0; i < n; ++i) {
            p->unit[l * n + i] = p->norm[l] > 0.0 ? p->triangle[l * n + i] / p->norm[l] : 0.0;
        }
    }
    for (bb_index i = 0; i < n; ++i) {
        p->side[i] = 0.0;
        for (bb_index s = 0; s < p->task->source_count; ++s) {
            p->side[i] += p->triangle[(p->layers + p->extra + s) * n + i];
        }
        p->side[i] /= (double)p->task->source_count;
    }
}

// `around` [2] are the same layers at outer scales above and below, NULL for none.
static bb_status create_problem(const bb_learn_task *task, const bb_learn_layers *layers,
                                const bb_learn_layers *around, problem *out)
{
    bb_status status = BB_OK;
    problem p = {
        .task = task, .layers = layers->count, .extra = around != NULL ? 2 * layers->count : 0};
    p.columns = p.layers + p.extra + task->source_count;
    BB_TRY(BB_ALLOCATE(p.columns, &p.list));
    BB_TRY(BB_ALLOCATE(p.columns * p.columns, &p.triangle));
    BB_TRY(BB_ALLOCATE(p.layers, &p.norm));
    BB_TRY(BB_ALLOCATE(p.columns * p.layers, &p.unit));
    BB_TRY(BB_ALLOCATE(p.columns, &p.side));
    list_layers(layers, p.list);
    if (around != NULL) {
        list_layers(&around[0], p.list + p.layers);
        list_layers(&around[1], p.list + 2 * p.layers);
    }
    for (bb_index s = 0; s < task->source_count; ++s) {
        p.list[p.layers + p.extra + s] = &task->source[s];
    }
    BB_TRY(
        bb_learn_triangle_make(&layers->items[0].guides, p.columns, p.list, p.triangle, &p.rows));
    scale_columns(&p);
    *out = p;
    p = (problem){0};
done:
    release_problem(&p);
    return status;
}

// Strengths at one outer scale and the residual of the covariance.
static bb_status solve(const problem *p, double *strength, double *residual)
{
    bb_status status = BB_OK;
    BB_TRY(bb_learn_triangle_non_negative(p->columns, p->layers, p->unit, p->side, strength,
                                          residual));
    for (bb_index l = 0; l < p->layers; ++l) {
        strength[l] /= p->norm[l];
    }
    *residual /= norm_of(p->side, p->columns);
done:
    return status;
}

// Finds the layer whose covariance is most similar to that of layer `l`.
static bb_index most_similar(const problem *p, bb_index l)
{
    bb_index best = -1;
    double maximum = -1.0;
    for (bb_index k = 0; k < p->layers; ++k) {
        double product = 0.0;
        for (bb_index i = 0; i < p->columns; ++i) {
            product += p->unit[l * p->columns + i] * p->unit[k * p->columns + i];
        }
        if (k != l && fabs(product) > maximum) {
            best = k;
            maximum = fabs(product);
        }
    }
    return best;
}

// Separability of the layers: `own`, `condition`, and an outcome if it is too small.
static bb_status check_separability(const problem *p, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    bb_index weakest = 0;
    if (isnan(p->rows)) {
        bb_outcome_set(&out->outcome, BB_OUTCOME_NON_FINITE,
                       "the covariance of slopes to learn from is not finite");
        goto done;
    }
    for (bb_index l = 0; l < p->layers; ++l) {
        out->own[l] = p->norm[l] > 0.0 ? 1.0 : 0.0;
        if (p->norm[l] == 0.0) {
            bb_outcome_set(
                &out->outcome, BB_OUTCOME_UNDERDETERMINED,
                "no two slopes share the layer at %g m except in modes hidden by unknown tilt",
                out->height_m[l]);
            goto done;
        }
    }
    BB_TRY(bb_learn_triangle_condition(p->columns, p->layers, p->unit, out->own, &out->condition));
    for (bb_index l = 0; l < p->layers; ++l) {
        out->own[l] = 1.0 / sqrt(out->own[l]);
        weakest = out->own[l] < out->own[weakest] ? l : weakest;
    }
    if (!(out->own[weakest] >= p->task->separation)) {
        bb_outcome_set(&out->outcome, BB_OUTCOME_UNDERDETERMINED,
                       "the guide stars cannot separate the layer at %g m from the one at %g m: "
                       "%.1e of its covariance is independent, expected at least %.1e",
                       out->height_m[weakest], out->height_m[most_similar(p, weakest)],
                       out->own[weakest], p->task->separation);
    }
done:
    return status;
}

static bb_status residual_at(const bb_learn_task *task, double outer_scale_m, double *strength,
                             double *residual)
{
    bb_status status = BB_OK;
    bb_learn_layers layers = {0};
    problem p = {0};
    BB_TRY(bb_learn_layers_create(task->config, task->layer_count, task->height_m, outer_scale_m,
                                  &layers));
    BB_TRY(create_problem(task, &layers, NULL, &p));
    BB_TRY(solve(&p, strength, residual));
done:
    release_problem(&p);
    bb_learn_layers_release(&layers);
    return status;
}

// Searches log L0 by golden sections.
static bb_status find_outer_scale(const bb_learn_task *task, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    const double golden = 0.5 * (sqrt(5.0) - 1.0);
    const double ends[2] = {log(task->outer_scale_low_m), log(task->outer_scale_high_m)};
    double low = ends[0];
    double high = ends[1];
    double point[2] = {high - golden * (high - low), low + golden * (high - low)};
    double remainder[2];
    for (int k = 0; k < 2; ++k) {
        BB_TRY(residual_at(task, exp(point[k]), out->strength, &remainder[k]));
    }
    while (high - low > log_tolerance) {
        const int worse = remainder[0] < remainder[1] ? 1 : 0;
        *(worse == 1 ? &high : &low) = point[worse];
        point[worse] = point[1 - worse];
        remainder[worse] = remainder[1 - worse];
        // The new point is on the other side of the remaining one.
        point[1 - worse] = worse == 1 ? high - golden * (high - low) : low + golden * (high - low);
        BB_TRY(residual_at(task, exp(point[1 - worse]), out->strength, &remainder[1 - worse]));
    }
    out->outer_scale_m = exp(0.5 * (low + high));
    out->outer_scale_bounded =
        low - ends[0] < 2.0 * log_tolerance || ends[1] - high < 2.0 * log_tolerance;
done:
    return status;
}

// The columns with uncertain coefficients: the layers, and the derivative with respect to L0, per
// m.
static bb_index uncertain_columns(const problem *p, const bb_learned_profile *profile, double *out)
{
    const bb_index n = p->columns;
    memcpy(out, p->unit, (size_t)(n * p->layers) * sizeof *out);
    if (p->extra == 0) {
        return p->layers;
    }
    double *change = out + p->layers * n;
    const double width_m = 2.0 * derivative_step * profile->outer_scale_m;
    for (bb_index i = 0; i < n; ++i) {
        change[i] = 0.0;
        for (bb_index l = 0; l < p->layers; ++l) {
            const double *column = p->triangle + (p->layers + l) * n;
            change[i] += profile->strength[l] * (column[i] - column[p->layers * n + i]) / width_m;
        }
    }
    return p->layers + 1;
}

// Computes standard errors from the scatter of the sources, each solved with the same columns.
static bb_status find_scatter(const problem *p, bb_index unknowns, const double *columns,
                              double *sigma)
{
    bb_status status = BB_OK;
    const bb_index sources = p->task->source_count;
    double *solutions = NULL; // [sources][unknowns]
    BB_TRY(BB_ALLOCATE(sources * unknowns, &solutions));
    for (bb_index s = 0; s < sources; ++s) {
        BB_TRY(bb_learn_triangle_least_squares(
            p->columns, unknowns, columns, p->triangle + (p->layers + p->extra + s) * p->columns,
            solutions + s * unknowns));
    }
    for (bb_index u = 0; u < unknowns; ++u) {
        double mean = 0.0;
        double square = 0.0;
        for (bb_index s = 0; s < sources; ++s) {
            mean += solutions[s * unknowns + u] / (double)sources;
        }
        for (bb_index s = 0; s < sources; ++s) {
            square += pow(solutions[s * unknowns + u] - mean, 2.0);
        }
        sigma[u] = sqrt(square / (double)(sources * (sources - 1)));
    }
done:
    BB_RELEASE(&solutions);
    return status;
}

// Computes standard errors from the residual and the normal matrix.
static bb_status find_spread(const problem *p, bb_index unknowns, double *columns, double residual,
                             double *sigma)
{
    bb_status status = BB_OK;
    const bb_index n = p->columns;
    const double scatter =
        residual * norm_of(p->side, n) / sqrt(fmax(1.0, p->rows - (double)unknowns));
    double norm = 1.0;
    double condition = 0.0;
    if (unknowns > p->layers) {
        norm = norm_of(columns + p->layers * n, n);
        for (bb_index i = 0; i < n; ++i) {
            columns[p->layers * n + i] /= norm;
        }
    }
    BB_TRY(bb_learn_triangle_condition(n, unknowns, columns, sigma, &condition));
    for (bb_index u = 0; u < unknowns; ++u) {
        sigma[u] = scatter * sqrt(sigma[u]) / (u < p->layers ? 1.0 : norm);
    }
done:
    return status;
}

static bb_status find_sigmas(const problem *p, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    double *columns = NULL;
    double *sigma = NULL;
    BB_TRY(BB_ALLOCATE(p->columns * (p->layers + 1), &columns));
    BB_TRY(BB_ALLOCATE(p->layers + 1, &sigma));
    const bb_index unknowns = uncertain_columns(p, out, columns);
    if (p->task->source_count > 1) {
        BB_TRY(find_scatter(p, unknowns, columns, sigma));
    } else {
        BB_TRY(find_spread(p, unknowns, columns, out->residual, sigma));
    }
    for (bb_index l = 0; l < p->layers; ++l) {
        out->sigma[l] = sigma[l] / p->norm[l];
    }
    out->outer_scale_sigma_m = unknowns > p->layers ? sigma[p->layers] : 0.0;
done:
    BB_RELEASE(&columns);
    BB_RELEASE(&sigma);
    return status;
}

static bb_status create_around(const bb_learn_task *task, double outer_scale_m,
                               bb_learn_layers around[2])
{
    bb_status status = BB_OK;
    for (int k = 0; k < 2; ++k) {
        const double step = k == 0 ? derivative_step : -derivative_step;
        BB_TRY(bb_learn_layers_create(task->config, task->layer_count, task->height_m,
                                      (1.0 + step) * outer_scale_m, &around[k]));
    }
done:
    return status;
}

// Completes the result at the outer scale found.
static bb_status complete_result(const bb_learn_task *task, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    const bool fitted = task->outer_scale_low_m < task->outer_scale_high_m;
    bb_learn_layers layers = {0};
    bb_learn_layers around[2] = {{0}, {0}};
    problem p = {0};
    BB_TRY(bb_learn_layers_create(task->config, task->layer_count, task->height_m,
                                  out->outer_scale_m, &layers));
    if (fitted) {
        BB_TRY(create_around(task, out->outer_scale_m, around));
    }
    BB_TRY(create_problem(task, &layers, fitted ? around : NULL, &p));
    BB_TRY(check_separability(&p, out));
    if (out->outcome.kind != BB_OUTCOME_OK) {
        goto done;
    }
    BB_TRY(solve(&p, out->strength, &out->residual));
    BB_TRY(find_sigmas(&p, out));
    BB_TRY(learn_remainder(&layers, out->strength, task->source_count, task->source,
                           out->noise_arcsec2, out->tilt_arcsec2));
    double total = 0.0;
    for (bb_index l = 0; l < task->layer_count; ++l) {
        total += out->strength[l];
    }
    out->r0_m = pow(total, -3.0 / 5.0);
    if (!(total > 0.0)) {
        bb_outcome_set(&out->outcome, BB_OUTCOME_UNDERDETERMINED,
                       "the covariance has no contribution from any of the layers");
    }
done:
    release_problem(&p);
    bb_learn_layers_release(&layers);
    bb_learn_layers_release(&around[0]);
    bb_learn_layers_release(&around[1]);
    return status;
}

bb_status bb_learn_source_check(const bb_matrix_source *source, bb_index slopes)
{
    bb_status status = BB_OK;
    BB_REQUIRE(source->rows == slopes && source->columns == slopes, BB_INVALID,
               "learn: the covariance is %td x %td, expected %td x %td (slopes of the guide stars)",
               source->rows, source->columns, slopes, slopes);
done:
    return status;
}

// Checks one outer scale first, so that a hopeless problem is not searched.
static bb_status check_first_scale(const bb_learn_task *task, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    const double middle = sqrt(task->outer_scale_low_m * task->outer_scale_high_m);
    bb_learn_layers layers = {0};
    problem p = {0};
    BB_TRY(
        bb_learn_layers_create(task->config, task->layer_count, task->height_m, middle, &layers));
    const bb_index n = layers.items[0].guides.measurement_count;
    for (bb_index s = 0; s < task->source_count; ++s) {
        BB_TRY(bb_learn_source_check(&task->source[s], n));
    }
    BB_TRY(create_problem(task, &layers, NULL, &p));
    BB_TRY(check_separability(&p, out));
done:
    release_problem(&p);
    bb_learn_layers_release(&layers);
    return status;
}

static bb_status create_profile(const bb_learn_task *task, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    const bb_index layers = task->layer_count;
    const bb_index sensors = task->config->guide_star_count;
    *out = (bb_learned_profile){.layer_count = layers,
                                .sensor_count = sensors,
                                .r0_m = NAN,
                                .outer_scale_m = NAN,
                                .outer_scale_sigma_m = NAN,
                                .residual = NAN,
                                .condition = INFINITY};
    BB_TRY(BB_ALLOCATE(layers, &out->height_m));
    BB_TRY(BB_ALLOCATE(layers, &out->strength));
    BB_TRY(BB_ALLOCATE(layers, &out->sigma));
    BB_TRY(BB_ALLOCATE(layers, &out->own));
    BB_TRY(BB_ALLOCATE(sensors, &out->noise_arcsec2));
    BB_TRY(BB_ALLOCATE(sensors, &out->tilt_arcsec2));
    for (bb_index l = 0; l < layers; ++l) {
        out->height_m[l] = task->height_m[l];
        out->strength[l] = out->sigma[l] = out->own[l] = NAN;
    }
    for (bb_index s = 0; s < sensors; ++s) {
        out->noise_arcsec2[s] = out->tilt_arcsec2[s] = NAN;
    }
done:
    return status;
}

bb_status bb_learn_fit(const bb_learn_task *task, bb_learned_profile *out)
{
    bb_status status = BB_OK;
    bb_learned_profile profile = {0};
    BB_REQUIRE(task->layer_count > 0 && task->source_count > 0, BB_INVALID,
               "learn: %td layers from %td covariances, expected at least one of each",
               task->layer_count, task->source_count);
    BB_REQUIRE(task->outer_scale_low_m > 0.0 && task->outer_scale_low_m <= task->outer_scale_high_m,
               BB_INVALID,
               "learn: outer scale from %g to %g m, expected a positive, increasing range",
               task->outer_scale_low_m, task->outer_scale_high_m);
    BB_TRY(create_profile(task, &profile));
    BB_TRY(check_first_scale(task, &profile));
    profile.outer_scale_m = task->outer_scale_low_m;
    if (profile.outcome.kind == BB_OUTCOME_OK &&
        task->outer_scale_low_m < task->outer_scale_high_m) {
        BB_TRY(find_outer_scale(task, &profile));
    }
    if (profile.outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(complete_result(task, &profile));
    }
    for (bb_index l = 0; profile.outcome.kind != BB_OUTCOME_OK && l < profile.layer_count; ++l) {
        profile.strength[l] = profile.sigma[l] = profile.outer_scale_m = NAN;
    }
    *out = profile;
    profile = (bb_learned_profile){0};
done:
    bb_learned_profile_release(&profile);
    return status;
}

void bb_learned_profile_release(bb_learned_profile *profile)
{
    BB_RELEASE(&profile->height_m);
    BB_RELEASE(&profile->strength);
    BB_RELEASE(&profile->sigma);
    BB_RELEASE(&profile->own);
    BB_RELEASE(&profile->noise_arcsec2);
    BB_RELEASE(&profile->tilt_arcsec2);
}

static bool fits_outer_scale(const bb_learn_extent *extent)
{
    return extent->outer_scale_low_m < extent->outer_scale_high_m;
}

double bb_learn_trials(const bb_learn_extent *extent)
{
    const double shrinking = -log(0.5 * (sqrt(5.0) - 1.0)); // of a golden-section step
    const double range = log(extent->outer_scale_high_m / extent->outer_scale_low_m);
    if (!fits_outer_scale(extent)) {
        return 2.0;
    }
    // Two to start the search, and at the end the layers at two scales around the optimum.
    return 6.0 + ceil(log(fmax(1.0, range / log_tolerance)) / shrinking);
}

// One layer: its table of D, its sensors, its displacement tables.
static bb_need layer_need(const bb_sensor_array *guides)
{
    bb_need tables = bb_slope_covariance_need(guides, guides, 1.0);
    bb_need need = bb_structure_table_need();
    tables.seconds /= (double)guides->layer_count;
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        need = bb_need_together(need, bb_sensor_array_need(sensor->lenslets, sensor->count, 1));
    }
    return bb_need_together(need, tables);
}

bb_need bb_learn_need(const bb_learn_extent *extent, double threads)
{
    static const double reflection_rate = 1.0e9; // Householder operations per second on tall blocks
    const bb_sensor_array *guides = extent->guides;
    const double columns = extent->layers + extent->sources;
    const double layers = (fits_outer_scale(extent) ? 3.0 : 1.0) * extent->layers;
    const double widest = layers + extent->sources; // the problem for the standard error of L0
    double rows = 0.0;
    double most_rows = 0.0;
    double scratch = 0.0;
    for (bb_index b = 0; b < bb_learn_block_count(guides); ++b) {
        const bb_learn_block block = bb_learn_block_at(guides, b);
        const double values = (double)bb_learn_block_values(&block);
        rows += values;
        most_rows = fmax(most_rows, values);
        scratch = fmax(scratch, (double)bb_learn_block_scratch(&block));
    }
    const bb_need fill = bb_slope_covariance_fill_need(guides, guides, 1.0); // all layers, once
    const double columns_at_once = fmin(threads, widest);
    // The triangle with its normalised layers and their sums, a stack of all columns, and for each
    // thread a block and its fill.
    const bb_need reducing = {.host_bytes =
                                  sizeof(double) * (widest * (widest + extent->layers + 4.0) +
                                                    widest * (widest + most_rows)) +
                                  columns_at_once * (sizeof(double) * scratch + fill.host_bytes),
                              .seconds = 2.0 * rows * columns * columns / reflection_rate};
    const double share = extent->layers / (double)guides->layer_count / fmin(threads, columns);
    bb_need trial = bb_need_copies(layer_need(guides), layers);
    trial.seconds = trial.seconds / layers * extent->layers + 0.5 * fill.seconds * share;
    return bb_need_repeated(bb_need_together(trial, reducing), bb_learn_trials(extent));
}
