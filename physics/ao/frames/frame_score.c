// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/frame_score.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"

#include <cblas.h>
#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

bb_frame_mean bb_frame_mean_of(const double *numbers, bb_index stride, bb_index count)
{
    bb_frame_mean out = {0.0, NAN};
    double squares = 0.0;
    for (bb_index f = 0; f < count; ++f) {
        out.mean += numbers[f * stride] / (double)count;
    }
    for (bb_index f = 0; f < count; ++f) {
        const double away = numbers[f * stride] - out.mean;
        squares += away * away;
    }
    if (count > 1) {
        out.error = sqrt(squares / (double)(count - 1) / (double)count);
    }
    return out;
}

double bb_frame_mean_sigmas(const bb_frame_mean *mean, double expected, bb_index count)
{
    const double t = (mean->mean - expected) / mean->error;
    const double freedom = (double)(count - 1);
    const double beyond = isfinite(t) ? gsl_cdf_tdist_Q(fabs(t), freedom) : 0.0;
    return beyond > DBL_MIN ? copysign(gsl_cdf_ugaussian_Qinv(beyond), t) : t;
}

double bb_frame_score_strehl(const double *transmission, const double *wavefront, bb_index points,
                             double wavelength_m)
{
    const double wavenumber = 2.0 * BB_PI / wavelength_m;
    double re = 0.0;
    double im = 0.0;
    double sum = 0.0;
    for (bb_index k = 0; k < points; ++k) {
        if (transmission[k] > 0.0) {
            re += transmission[k] * cos(wavenumber * wavefront[k]);
            im += transmission[k] * sin(wavenumber * wavefront[k]);
            sum += transmission[k];
        }
    }
    return (re * re + im * im) / (sum * sum);
}

double bb_frame_score_variance(const double *transmission, const double *wavefront, bb_index points)
{
    double weight = 0.0;
    double sum = 0.0;
    double squares = 0.0;
    for (bb_index k = 0; k < points; ++k) {
        weight += transmission[k];
        sum += transmission[k] * wavefront[k];
        squares += transmission[k] * wavefront[k] * wavefront[k];
    }
    return squares / weight - (sum / weight) * (sum / weight);
}

// Allocates the positions of the points of a target's pupil along an edge, m from the centre; the
// caller releases them.
static bb_status place_points(const bb_tomography *tomography, bb_index target, double **out)
{
    bb_status status = BB_OK;
    const bb_point_spread_grid *grid = bb_point_spread_layout(tomography->targets[target].spread);
    BB_TRY(BB_ALLOCATE(grid->pupil_points, out));
    const bb_index middle = grid->pupil_points / 2;
    for (bb_index i = 0; i < grid->pupil_points; ++i) {
        (*out)[i] = grid->pixel_m * (double)(i - middle);
    }
done:
    return status;
}

bb_status bb_frame_score_shapes(const bb_tomography *tomography, bb_mirror_shape **out)
{
    bb_status status = BB_OK;
    double *position = NULL;
    bb_mirror_shape *shapes = NULL;
    BB_TRY(BB_ZEROED(tomography->target_count, &shapes));
    for (bb_index t = 0; t < tomography->target_count; ++t) {
        const bb_point_spread *spread = tomography->targets[t].spread;
        BB_RELEASE(&position);
        BB_TRY(place_points(tomography, t, &position));
        BB_TRY(bb_mirror_shape_create(bb_point_spread_mirror(spread),
                                      bb_point_spread_layout(spread)->pupil_points, position,
                                      &shapes[t]));
    }
    *out = shapes;
    shapes = NULL;
done:
    BB_RELEASE(&position);
    bb_frame_score_shapes_release(tomography, &shapes);
    return status;
}

void bb_frame_score_shapes_release(const bb_tomography *tomography, bb_mirror_shape **shapes)
{
    for (bb_index t = 0; *shapes != NULL && t < tomography->target_count; ++t) {
        bb_mirror_shape_release(&(*shapes)[t]);
    }
    BB_RELEASE(shapes);
}

bb_status bb_frame_score_surfaces(const bb_tomography *tomography, bb_mirror_surface **out)
{
    bb_status status = BB_OK;
    double *position = NULL;
    bb_mirror_surface *surfaces = NULL;
    *out = NULL;
    if (tomography->commands == NULL) {
        goto done;
    }
    BB_TRY(BB_ZEROED(tomography->target_count, &surfaces));
    for (bb_index t = 0; t < tomography->target_count; ++t) {
        const bb_tomography_target *target = &tomography->targets[t];
        const bb_star *star = &target->truth.sensors[0].star;
        BB_RELEASE(&position);
        BB_TRY(place_points(tomography, t, &position));
        BB_TRY(bb_mirror_surface_create(&tomography->commands->stack, star->x_rad, star->y_rad,
                                        bb_point_spread_layout(target->spread)->pupil_points,
                                        position, &surfaces[t]));
    }
    *out = surfaces;
    surfaces = NULL;
done:
    BB_RELEASE(&position);
    bb_frame_score_surfaces_release(tomography, &surfaces);
    return status;
}

void bb_frame_score_surfaces_release(const bb_tomography *tomography, bb_mirror_surface **surfaces)
{
    for (bb_index t = 0; *surfaces != NULL && t < tomography->target_count; ++t) {
        bb_mirror_surface_release(&(*surfaces)[t]);
    }
    BB_RELEASE(surfaces);
}

void bb_frame_score_command(const bb_mirror_shape *shape, const double *slopes, double *volts)
{
    const bb_deformable_mirror *mirror = shape->mirror;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)mirror->actuator_count,
                (int)mirror->measurement_count, 1.0, mirror->projector,
                (int)mirror->measurement_count, slopes, 1, 0.0, volts, 1);
}

bb_status bb_frame_score_shape(const bb_mirror_shape *shape, const double *slopes, double *volts,
                               double *wavefront)
{
    bb_frame_score_command(shape, slopes, volts);
    return bb_mirror_shape_make(shape, volts, wavefront);
}

bb_status bb_frame_score_add(const bb_frame_optics *optics, bb_index target, double share,
                             bb_frame_scratch *scratch, double *numbers)
{
    bb_status status = BB_OK;
    const bb_point_spread *spread = optics->tomography->targets[target].spread;
    const bb_mirror_shape *shape = &optics->shapes[target];
    const double *transmission = bb_point_spread_transmission(spread);
    const bb_index points = shape->points * shape->points;
    if (optics->surfaces != NULL) {
        BB_TRY(
            bb_mirror_surface_make(&optics->surfaces[target], scratch->commands, scratch->shape));
    } else {
        BB_TRY(bb_mirror_shape_make(shape, scratch->volts, scratch->shape));
    }
    for (bb_index k = 0; k < points; ++k) {
        scratch->surface[k] = scratch->frame.phase[target][k] - scratch->shape[k];
    }
    bb_frame_score_command(shape, scratch->frame.truth[target], scratch->wanted);
    for (bb_index i = 0; i < bb_point_spread_layout(spread)->actuator_count; ++i) {
        scratch->wanted[i] -= scratch->volts[i];
    }
    BB_TRY(bb_mirror_shape_make(shape, scratch->wanted, scratch->shape));
    numbers[0] += share * bb_frame_score_variance(transmission, scratch->shape, points);
    for (bb_index w = 0; w < optics->wavelength_count; ++w) {
        const double wavelength = optics->wavelengths_m[w];
        numbers[1 + w] +=
            share * bb_frame_score_strehl(transmission, scratch->shape, points, wavelength);
        numbers[1 + optics->wavelength_count + w] +=
            share * bb_frame_score_strehl(transmission, scratch->surface, points, wavelength);
    }
done:
    return status;
}

static bb_index larger(bb_index a, bb_index b)
{
    return a > b ? a : b;
}

bb_status bb_frame_scratch_create(const bb_frame_sampler *sampler, bb_frame_scratch *out)
{
    bb_status status = BB_OK;
    const bb_tomography *tomography = bb_frame_sampler_tomography(sampler);
    bb_index slopes = 0;
    bb_index actuators = 0;
    bb_index points = 0;
    for (bb_index t = 0; t < tomography->target_count; ++t) {
        const bb_point_spread_grid *grid = bb_point_spread_layout(tomography->targets[t].spread);
        slopes = larger(slopes, grid->measurement_count);
        actuators = larger(actuators, grid->actuator_count);
        points = larger(points, grid->pupil_points);
    }
    BB_TRY(bb_frame_create(sampler, &out->frame));
    BB_TRY(BB_ALLOCATE(slopes, &out->slopes));
    BB_TRY(BB_ALLOCATE(actuators, &out->volts));
    BB_TRY(BB_ALLOCATE(actuators, &out->wanted));
    if (tomography->commands != NULL) {
        BB_TRY(BB_ALLOCATE(tomography->commands->stack.actuator_count, &out->commands));
    }
    BB_TRY(BB_ALLOCATE(points * points, &out->shape));
    BB_TRY(BB_ALLOCATE(points * points, &out->surface));
done:
    return status;
}

void bb_frame_scratch_release(bb_frame_scratch *scratch)
{
    bb_frame_release(&scratch->frame);
    BB_RELEASE(&scratch->slopes);
    BB_RELEASE(&scratch->volts);
    BB_RELEASE(&scratch->wanted);
    BB_RELEASE(&scratch->commands);
    BB_RELEASE(&scratch->shape);
    BB_RELEASE(&scratch->surface);
}
