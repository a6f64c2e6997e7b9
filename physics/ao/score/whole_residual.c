// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/whole_residual.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/covariance/phase_slope_covariance.h"
#include "physics/ao/mirrors/mirror_surface.h"
#include "physics/ao/target_commands.h"

#include <cblas.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

// Points per block of the covariance with the slopes, and actuators per task that projects the
// influence. Both are fixed, so that sums do not depend on the threads.
enum { POINTS = 512, TURNED = 16 };

// Limit of values of the covariance of phase and slopes cached for the next estimate.
static const bb_index most_kept = (bb_index)1 << 24;

struct bb_whole_residual {
    const bb_tomography *tomography;
    bb_index target;
    bb_index actuators; // of F
    bb_index own;       // of the target's own mirror
    bb_pair_comb comb;
    double *x_m, *y_m;       // [points] with light
    bb_phase_looks seen;     // directions of the points
    bb_matrix_source source; // of <phi s>
    bb_index looks;
    double *weight;         // [looks]
    bb_sensor_layer *layer; // [looks][layers] from the target at the time of the correction
    bb_mirror_shape shape;  // of its own mirror on the comb
    double *influence;      // F [points][actuators]
    double *metric;         // [own][own]: mean of F^T F without piston, for its own mirror
    double *phase;          // <phi s> [points][n]; NULL: computed for each estimate, or on a device
    double *truth;      // Dx Ctt Dx^T [actuators][actuators]; NULL: mirrors that correct together
    double *cross;      // B [actuators][n]; NULL: mirrors that correct together
    double *stationary; // [edge][edge]
};

static bb_status multiply(const bb_whole_residual *whole, bb_index rows, bb_row_product product)
{
    return bb_tomography_multiply(whole->tomography, rows, &product, NULL);
}

static bb_status place_points(bb_whole_residual *whole, const bb_whole_look *looks)
{
    bb_status status = BB_OK;
    const bb_pair_comb *comb = &whole->comb;
    const bb_index layers = whole->tomography->atmosphere.layer_count;
    const bb_sensor *truth = whole->tomography->targets[whole->target].truth.sensors;
    BB_TRY(BB_ALLOCATE(comb->count, &whole->x_m));
    BB_TRY(BB_ALLOCATE(comb->count, &whole->y_m));
    BB_TRY(BB_ALLOCATE(whole->looks, &whole->weight));
    BB_TRY(BB_ALLOCATE(whole->looks * layers, &whole->layer));
    for (bb_index j = 0; j < comb->edge; ++j) {
        for (bb_index k = comb->first[j]; k < comb->first[j + 1]; ++k) {
            whole->x_m[k] = comb->position_m[comb->column[k]];
            whole->y_m[k] = comb->position_m[j];
        }
    }
    for (bb_index k = 0; k < whole->looks * layers; ++k) {
        const double(*drift_m)[2] = looks[k / layers].drift_m;
        whole->weight[k / layers] = looks[k / layers].weight;
        whole->layer[k] = truth->layer[k % layers];
        // A moved layer is the layer upwind of the drift.
        whole->layer[k].offset_x_m -= drift_m != NULL ? drift_m[k % layers][0] : 0.0;
        whole->layer[k].offset_y_m -= drift_m != NULL ? drift_m[k % layers][1] : 0.0;
    }
    whole->seen = (bb_phase_looks){&whole->tomography->atmosphere,
                                   &whole->tomography->guides,
                                   {comb->count, whole->x_m, whole->y_m, whole->layer},
                                   whole->looks,
                                   whole->weight};
    whole->source = bb_phase_slope_covariance_source(&whole->seen);
done:
    return status;
}

static bb_status fill_influence(bb_whole_residual *whole)
{
    bb_status status = BB_OK;
    const bb_pair_comb *comb = &whole->comb;
    const bb_deformable_mirror *mirror =
        bb_target_commands_mirror(whole->tomography, whole->target);
    BB_TRY(bb_mirror_shape_create(mirror, comb->edge, comb->position_m, &whole->shape));
    BB_TRY(bb_pair_comb_influence(comb, &whole->shape, &whole->influence));
done:
    return status;
}

// Uses the surfaces of all mirrors that correct together instead of the own mirror's.
static bb_status fill_surfaces(bb_whole_residual *whole)
{
    bb_status status = BB_OK;
    const bb_pair_comb *comb = &whole->comb;
    const bb_mirror_stack *stack = &whole->tomography->commands->stack;
    const bb_star *star = &whole->tomography->targets[whole->target].truth.sensors[0].star;
    bb_mirror_surface surface = {0};
    BB_TRY(bb_mirror_surface_create(stack, star->x_rad, star->y_rad, comb->edge, comb->position_m,
                                    &surface));
    BB_RELEASE(&whole->influence);
    whole->actuators = stack->actuator_count;
    BB_TRY(BB_ALLOCATE(comb->count * whole->actuators, &whole->influence));
    for (bb_index j = 0; j < comb->edge; ++j) {
        for (bb_index k = comb->first[j]; k < comb->first[j + 1]; ++k) {
            bb_mirror_surface_influence(&surface, comb->column[k], j,
                                        whole->influence + k * whole->actuators);
        }
    }
done:
    bb_mirror_surface_release(&surface);
    return status;
}

typedef struct turning {
    const bb_whole_residual *whole;
    const double *share; // [points] fraction of the light
    double *out;         // [actuators][points]
} turning;

// Rows of actuators begin..end.
static bb_status project_rows(void *context, bb_index begin, bb_index end)
{
    const turning *work = context;
    const bb_index points = work->whole->comb.count;
    const bb_index actuators = work->whole->actuators;
    double means[TURNED] = {0.0};
    for (bb_index k = 0; k < points; ++k) {
        for (bb_index a = begin; a < end; ++a) {
            means[a - begin] += work->share[k] * work->whole->influence[k * actuators + a];
        }
    }
    for (bb_index k = 0; k < points; ++k) {
        for (bb_index a = begin; a < end; ++a) {
            work->out[a * points + k] =
                work->share[k] * (work->whole->influence[k * actuators + a] - means[a - begin]);
        }
    }
    return BB_OK;
}

// Rows of w F' [actuators][points]: projection of a phase map on the mirror's influence.
static bb_status project_influence(const bb_whole_residual *whole, double *out)
{
    bb_status status = BB_OK;
    const bb_pair_comb *comb = &whole->comb;
    double *share = NULL; // [points]
    double light = 0.0;
    BB_TRY(BB_ALLOCATE(comb->count, &share));
    for (bb_index j = 0; j < comb->edge; ++j) {
        for (bb_index k = comb->first[j]; k < comb->first[j + 1]; ++k) {
            share[k] = comb->weight[j * comb->edge + comb->column[k]];
            light += share[k];
        }
    }
    for (bb_index k = 0; k < comb->count; ++k) {
        share[k] /= light;
    }
    turning work = {whole, share, out};
    BB_TRY(bb_thread_ranges(whole->actuators, TURNED, project_rows, &work));
done:
    BB_RELEASE(&share);
    return status;
}

// Mean of F'^T F' over the pupil: w F'^T times F, as the sum of w F' is zero.
static bb_status fill_metric(bb_whole_residual *whole)
{
    bb_status status = BB_OK;
    const bb_index count = whole->actuators;
    double *turned = NULL; // [actuators][points]
    BB_TRY(BB_ALLOCATE(count * whole->comb.count, &turned));
    BB_TRY(BB_ALLOCATE(count * count, &whole->metric));
    BB_TRY(project_influence(whole, turned));
    BB_TRY(multiply(whole, count,
                    (bb_row_product){count, whole->comb.count, 1.0, turned, whole->influence, false,
                                     0.0, whole->metric}));
done:
    BB_RELEASE(&turned);
    return status;
}

// Computes half of D minus the error terms, which enter the exposure on the grid itself.
static bb_status fill_stationary(bb_whole_residual *whole)
{
    bb_status status = BB_OK;
    const bb_tomography_target *aim = &whole->tomography->targets[whole->target];
    const bb_atmosphere *atmosphere = &whole->tomography->atmosphere;
    const bb_point_spread_grid *grid = bb_point_spread_layout(aim->spread);
    const bb_index edge = whole->comb.edge;
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    double strength = 0.0;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        strength += atmosphere->strength[l];
    }
    BB_TRY(BB_ALLOCATE(edge * edge, &whole->stationary));
    for (bb_index k = 0; k < edge * edge; ++k) {
        const bb_index y = k / edge * whole->comb.step;
        const bb_index x = k % edge * whole->comb.step;
        const double r2 = grid->pixel_m * grid->pixel_m * (double)(x * x + y * y);
        const double terms = aim->terms != NULL
                                 ? aim->terms[y % grid->pixels * grid->pixels + x % grid->pixels]
                                 : 0.0;
        whole->stationary[k] = k == 0
                                   ? 0.0
                                   : 0.5 * wave_m * wave_m * strength *
                                             bb_structure_table_value(atmosphere->structure, r2) -
                                         terms;
    }
done:
    return status;
}

// Computes rows of <phi s> from `first` on.
static bb_status fill_phase(const bb_whole_residual *whole, bb_index first, bb_index count,
                            double *out)
{
    bb_status status = BB_OK;
    const bb_tomography *tomography = whole->tomography;
    memset(out, 0, (size_t)(count * tomography->guides.measurement_count) * sizeof *out);
    for (bb_index k = 0; k < whole->looks; ++k) {
        const bb_phase_points points = {whole->comb.count, whole->x_m, whole->y_m,
                                        whole->layer + k * tomography->atmosphere.layer_count};
        BB_TRY(bb_phase_slope_covariance_add(&tomography->atmosphere, &points, &tomography->guides,
                                             whole->weight[k], first, count, out));
    }
done:
    return status;
}

static bb_status cache_phase(bb_whole_residual *whole)
{
    bb_status status = BB_OK;
    const bb_index n = whole->tomography->guides.measurement_count;
    if (whole->tomography->projection == NULL && whole->comb.count <= most_kept / n) {
        BB_TRY(BB_ALLOCATE(whole->comb.count * n, &whole->phase));
        BB_TRY(fill_phase(whole, 0, whole->comb.count, whole->phase));
    }
done:
    return status;
}

static bb_status fill_commands(bb_whole_residual *whole, const bb_matrix_source *ctm)
{
    bb_status status = BB_OK;
    const bb_tomography *tomography = whole->tomography;
    double *values = NULL; // Ctm [m][n]
    BB_TRY(BB_ALLOCATE(whole->actuators * whole->actuators, &whole->truth));
    BB_TRY(bb_target_commands_truth(tomography, whole->target, whole->truth, NULL));
    BB_TRY(BB_ALLOCATE(ctm->rows * ctm->columns, &values));
    BB_TRY(bb_matrix_source_load(ctm, values));
    BB_TRY(BB_ALLOCATE(whole->actuators * ctm->columns, &whole->cross));
    BB_TRY(bb_target_commands_project(tomography, whole->target, ctm->columns, values, NULL,
                                      whole->cross));
done:
    BB_RELEASE(&values);
    return status;
}

// The cells of an even step extend farther out of the pupil, where the correction ends: an odd one
// is within 1e-5 of the Strehl ratio of all points, steps of 2 and 4 within 2e-4 and 4e-4.
static bb_index step_of(bb_index lenslets, bb_index pixels_per_lenslet)
{
    const bb_index step = bb_pair_strehl_step(lenslets, pixels_per_lenslet);
    return step > 2 && step % 2 == 0 ? step - 1 : step;
}

bb_status bb_whole_residual_create(const bb_tomography *tomography, bb_index target,
                                   const bb_matrix_source *ctm, bb_index look_count,
                                   const bb_whole_look *looks, bb_whole_residual **out)
{
    bb_status status = BB_OK;
    const bb_point_spread *spread = tomography->targets[target].spread;
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    const bb_index lenslets = bb_point_spread_mirror(spread)->lenslets;
    bb_whole_residual *whole = NULL;
    BB_TRY(BB_ZEROED(1, &whole));
    whole->tomography = tomography;
    whole->target = target;
    whole->looks = look_count;
    whole->actuators = whole->own = grid->actuator_count;
    BB_TRY(bb_pair_comb_create(spread, step_of(lenslets, grid->pixels_per_lenslet), &whole->comb));
    BB_TRY(place_points(whole, looks));
    BB_TRY(fill_influence(whole));
    BB_TRY(fill_metric(whole));
    BB_TRY(fill_stationary(whole));
    if (tomography->commands != NULL) {
        BB_TRY(fill_surfaces(whole));
    } else {
        BB_TRY(fill_commands(whole, ctm != NULL ? ctm : tomography->targets[target].ctm));
    }
    BB_TRY(cache_phase(whole));
    *out = whole;
    whole = NULL;
done:
    bb_whole_residual_destroy(&whole);
    return status;
}

void bb_whole_residual_destroy(bb_whole_residual **owner)
{
    bb_whole_residual *whole = *owner;
    if (whole == NULL) {
        return;
    }
    bb_pair_comb_release(&whole->comb);
    bb_mirror_shape_release(&whole->shape);
    BB_RELEASE(&whole->x_m);
    BB_RELEASE(&whole->y_m);
    BB_RELEASE(&whole->weight);
    BB_RELEASE(&whole->layer);
    BB_RELEASE(&whole->influence);
    BB_RELEASE(&whole->metric);
    BB_RELEASE(&whole->phase);
    BB_RELEASE(&whole->truth);
    BB_RELEASE(&whole->cross);
    BB_RELEASE(&whole->stationary);
    BB_RELEASE(owner);
}

typedef struct closing {
    const bb_whole_residual *whole;
    const double *residual, *known;
    double *w;
} closing;

// Completes rows begin..end together with their mirror images.
static bb_status close_rows(void *context, bb_index begin, bb_index end)
{
    const closing *work = context;
    const double *residual = work->residual;
    const double *truth = work->whole->truth;
    const bb_index actuators = work->whole->actuators;
    for (bb_index j = 0; j < actuators; ++j) {
        for (bb_index i = begin; i < end; ++i) {
            const bb_index here = i * actuators + j;
            const bb_index there = j * actuators + i;
            work->w[here] = 0.5 * (residual[here] + residual[there]) -
                            0.5 * (truth[here] + truth[there]) +
                            (work->known[here] + work->known[there]);
        }
    }
    return BB_OK;
}

// Computes W = U - T + M B^T + B M^T, symmetric to the bit.
static bb_status find_commands(const bb_whole_residual *whole, const double *m,
                               const double *residual, double *w)
{
    bb_status status = BB_OK;
    const bb_index actuators = whole->actuators;
    const bb_index n = whole->tomography->guides.measurement_count;
    double *known = NULL; // M B^T
    BB_TRY(BB_ALLOCATE(actuators * actuators, &known));
    BB_TRY(multiply(whole, actuators,
                    (bb_row_product){actuators, n, 1.0, m, whole->cross, true, 0.0, known}));
    closing work = {whole, residual, known, w};
    BB_TRY(bb_thread_ranges(actuators, TURNED, close_rows, &work));
done:
    BB_RELEASE(&known);
    return status;
}

// Computes z = F W - 2 <phi s> M^T, in blocks of points.
static bb_status compute_z(const bb_whole_residual *whole, const double *m, const double *w,
                           double *twisted)
{
    bb_status status = BB_OK;
    const bb_index points = whole->comb.count;
    const bb_index actuators = whole->actuators;
    const bb_index n = whole->tomography->guides.measurement_count;
    double *block = NULL; // [POINTS][n]
    BB_TRY(multiply(
        whole, points,
        (bb_row_product){actuators, actuators, 1.0, whole->influence, w, false, 0.0, twisted}));
    if (whole->phase == NULL) {
        BB_TRY(BB_ALLOCATE(POINTS * n, &block));
    }
    for (bb_index first = 0; first < points; first += POINTS) {
        const bb_index count = points - first < POINTS ? points - first : POINTS;
        const double *phase = block;
        if (whole->phase != NULL) {
            phase = whole->phase + first * n;
        } else {
            BB_TRY(fill_phase(whole, first, count, block));
        }
        BB_TRY(multiply(whole, count,
                        (bb_row_product){actuators, n, -2.0, phase, m, true, 1.0,
                                         twisted + first * actuators}));
    }
done:
    BB_RELEASE(&block);
    return status;
}

bb_status bb_whole_residual_field(const bb_whole_estimate *estimate, const double *residual,
                                  double **memory, bb_pair_field *out)
{
    bb_status status = BB_OK;
    const bb_whole_residual *whole = estimate->whole;
    const bb_projection *projection = whole->tomography->projection;
    const bb_index n = whole->tomography->guides.measurement_count;
    const bb_index size = whole->actuators;
    const bool together = estimate->product != NULL;
    const bool slopes = !together && estimate->kind == BB_RESIDUAL_SLOPES;
    const bb_index commands = slopes ? size * n : 0;   // M, if r is of slopes
    const bb_index known = together ? 0 : size * size; // W
    const bb_index twisted = projection != NULL ? 0 : whole->comb.count * size; // z
    BB_TRY(BB_ALLOCATE(commands + known + twisted, memory));
    double *z = *memory + commands + known;
    const double *m = slopes ? *memory : estimate->r;
    const double *w = together ? estimate->product : *memory + commands;
    if (slopes) {
        BB_TRY(bb_target_commands_project(whole->tomography, whole->target, n, estimate->r,
                                          estimate->resident, *memory));
    }
    if (!together) {
        BB_TRY(find_commands(whole, m, residual, *memory + commands));
    }
    if (projection == NULL) {
        BB_TRY(compute_z(whole, m, w, z));
    }
    *out = (bb_pair_field){.comb = &whole->comb,
                           .actuators = size,
                           .influence = whole->influence,
                           .shape = whole->truth != NULL ? &whole->shape : NULL,
                           .twisted = projection == NULL ? z : NULL,
                           .stationary = whole->stationary,
                           .sum = projection != NULL ? projection->sum_pairs : NULL,
                           .context = projection != NULL ? projection->context : NULL,
                           .known = w,
                           .source = &whole->source,
                           .commands = m};
done:
    return status;
}

// Computes the pseudo-inverse of the metric: modes that move nothing in the pupil are dropped.
static bb_status invert_metric(const bb_whole_residual *whole, double *out)
{
    static const double least = 1e-8; // relative to the largest eigenvalue
    bb_status status = BB_OK;
    const bb_index count = whole->own;
    double *modes = NULL;  // [count][count], one mode per row
    double *values = NULL; // [count] increasing
    double *scaled = NULL; // modes over their values
    lapack_int info = 0;
    BB_TRY(BB_ALLOCATE(count * count, &modes));
    BB_TRY(BB_ALLOCATE(count, &values));
    BB_TRY(BB_ALLOCATE(count * count, &scaled));
    memcpy(modes, whole->metric, (size_t)(count * count) * sizeof *modes);
    info = LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)count, modes, (lapack_int)count,
                         values);
    BB_REQUIRE(info == 0, BB_INTERNAL, "LAPACK dsyev failed: info %d", (int)info);
    for (bb_index k = 0; k < count * count; ++k) {
        const double value = values[k / count];
        scaled[k] = value > least * values[count - 1] ? modes[k] / value : 0.0;
    }
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)count, (int)count, (int)count, 1.0,
                modes, (int)count, scaled, (int)count, 0.0, out, (int)count);
done:
    BB_RELEASE(&modes);
    BB_RELEASE(&values);
    BB_RELEASE(&scaled);
    return status;
}

bb_status bb_whole_residual_project(const bb_whole_residual *whole, double *out)
{
    bb_status status = BB_OK;
    const bb_index points = whole->comb.count;
    const bb_index count = whole->own;
    const bb_index n = whole->tomography->guides.measurement_count;
    double *turned = NULL;  // w F'^T [count][points]
    double *inverse = NULL; // [count][count]
    double *phase = NULL;   // [points][n]
    double *sums = NULL;    // [count][n]
    BB_TRY(BB_ALLOCATE(count * points, &turned));
    BB_TRY(BB_ALLOCATE(count * count, &inverse));
    BB_TRY(BB_ALLOCATE(points * n, &phase));
    BB_TRY(BB_ALLOCATE(count * n, &sums));
    BB_TRY(project_influence(whole, turned));
    BB_TRY(invert_metric(whole, inverse));
    BB_TRY(fill_phase(whole, 0, points, phase));
    BB_TRY(
        multiply(whole, count, (bb_row_product){n, points, 1.0, turned, phase, false, 0.0, sums}));
    BB_TRY(multiply(whole, count, (bb_row_product){n, count, 1.0, inverse, sums, false, 0.0, out}));
done:
    BB_RELEASE(&turned);
    BB_RELEASE(&inverse);
    BB_RELEASE(&phase);
    BB_RELEASE(&sums);
    return status;
}

double bb_whole_residual_variance(const bb_whole_residual *whole, const double *voltages)
{
    double sum = 0.0;
    for (bb_index i = 0; i < whole->own * whole->own; ++i) {
        sum += whole->metric[i] * voltages[i];
    }
    return sum;
}

// Points with light, without the obstruction.
static bb_index edge_of(const bb_whole_extent *extent)
{
    const bb_index fine = bb_point_spread_pixels_per_lenslet(extent->lenslets);
    return bb_pair_comb_edge(extent->lenslets, fine, step_of(extent->lenslets, fine));
}

double bb_whole_residual_points(const bb_whole_extent *extent)
{
    const double edge = (double)edge_of(extent);
    return 0.25 * BB_PI * edge * edge;
}

static bool caches_phase(const bb_whole_extent *extent)
{
    return bb_whole_residual_points(extent) * (double)extent->guides->measurement_count <=
           (double)most_kept;
}

bb_need bb_whole_residual_resident(const bb_whole_extent *extent)
{
    const double points = bb_whole_residual_points(extent);
    const double n = (double)extent->guides->measurement_count;
    const double edge = (double)edge_of(extent);
    const bool together = extent->actuators != extent->own;
    const double commands = together ? 0.0 : extent->own * (extent->own + n);
    const double values = points * (extent->actuators + 2.0) + extent->own * extent->own +
                          commands + 3.0 * edge * edge + (caches_phase(extent) ? points * n : 0.0);
    return (bb_need){.host_bytes = sizeof(bb_whole_residual) + sizeof(double) * values};
}

bb_need bb_whole_residual_need(const bb_whole_extent *extent, double threads)
{
    const double points = bb_whole_residual_points(extent);
    const double own = extent->own;
    const double n = (double)extent->guides->measurement_count;
    const bool together = extent->actuators != extent->own;
    const bb_need metric = {.host_bytes = sizeof(double) * own * points,
                            .seconds = 2.0 * own * own * points / (BB_NEED_FP64_RATE * threads)};
    bb_need commands = {.host_bytes = sizeof(double) * extent->slopes * n,
                        .seconds = 2.0 * own * extent->slopes * n / (BB_NEED_FP64_RATE * threads)};
    commands = bb_need_in_turn(bb_target_commands_need(extent->slopes, own, threads), commands);
    bb_need need = bb_need_in_turn(metric, together ? (bb_need){0} : commands);
    if (caches_phase(extent)) {
        need =
            bb_need_in_turn(need, bb_phase_slope_covariance_need(points, extent->guides, threads));
    }
    return bb_need_together(bb_whole_residual_resident(extent), need);
}

bb_need bb_whole_residual_field_need(const bb_whole_extent *extent, bb_index wavelength_count,
                                     double threads)
{
    const double points = bb_whole_residual_points(extent);
    const double count = extent->actuators;
    const double n = (double)extent->guides->measurement_count;
    const bool together = extent->actuators != extent->own;
    const double block = caches_phase(extent) ? 0.0 : (double)POINTS * n;
    const double commands = together ? 0.0 : count * (n + 2.0 * count);
    const double pairs = together ? count : 2.0 * ((double)extent->lenslets + 1.0); // of a product
    double flops = 2.0 * points * (count * (count + n) + pairs * points);
    flops += together ? 0.0 : 2.0 * count * n * (extent->slopes + count);
    const bb_need field = {.host_bytes = sizeof(double) * (points * count + commands + block),
                           .seconds = flops / (BB_NEED_FP64_RATE * threads)};
    bb_need need =
        bb_need_together(field, bb_pair_comb_need(edge_of(extent), wavelength_count, threads));
    if (!caches_phase(extent)) {
        need.seconds += bb_phase_slope_covariance_need(points, extent->guides, threads).seconds;
    }
    return need;
}

bb_need bb_whole_residual_project_need(const bb_whole_extent *extent, double threads)
{
    const double points = bb_whole_residual_points(extent);
    const double own = extent->own;
    const double n = (double)extent->guides->measurement_count;
    const double flops = 2.0 * own * n * (points + own) + 20.0 * own * own * own;
    const bb_need need = {.host_bytes = sizeof(double) *
                                        (points * (own + n) + 3.0 * own * n + 3.0 * own * own),
                          .seconds = flops / (BB_NEED_FP64_RATE * threads)};
    return bb_need_together(
        need,
        (bb_need){.seconds =
                      bb_phase_slope_covariance_need(points, extent->guides, threads).seconds});
}
