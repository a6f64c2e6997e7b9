// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/mirror_stack.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/deformable_mirror.h"

#include <math.h>
#include <stdbool.h>

static const double stroke_m = 1.0e-6; // per volt

static bb_index truth_lenslets(const bb_ao_config *config)
{
    const bb_index lenslets = config->targets[0].lenslets;
    return lenslets == BB_INTEGER_UNSET ? config->sensors->lenslets : lenslets;
}

// Distance from the axis of the farthest direction that is corrected.
static double field_rad(const bb_ao_config *config)
{
    double field = 0.0;
    for (bb_index t = 0; t < config->target_count; ++t) {
        const bb_target_config *target = &config->targets[t];
        if (target->weight > 0.0) {
            field = fmax(field, hypot(target->x_arcsec, target->y_arcsec));
        }
    }
    return field / BB_ARCSEC_PER_RADIAN;
}

static double outer_radius(const bb_ao_config *config, const bb_conjugate_config *mirror)
{
    return 0.5 * config->telescope->diameter_m + mirror->height_m * field_rad(config) +
           0.7 * mirror->pitch_m;
}

// Actuators of the grid, written where there is room for them.
static bb_index lay_grid(double pitch_m, double radius_m, double *x_m, double *y_m)
{
    const bb_index reach = (bb_index)floor(radius_m / pitch_m);
    bb_index count = 0;
    for (bb_index j = -reach; j <= reach; ++j) {
        for (bb_index i = -reach; i <= reach; ++i) {
            const double x = pitch_m * (double)i;
            const double y = pitch_m * (double)j;
            if (hypot(x, y) > radius_m) {
                continue;
            }
            if (x_m != NULL) {
                x_m[count] = x;
                y_m[count] = y;
            }
            ++count;
        }
    }
    return count;
}

// A mirror of so many actuators that the grid is not worth counting has about as many as squares.
static double count_actuators(const bb_ao_config *config, const bb_conjugate_config *mirror)
{
    if (isnan(mirror->pitch_m)) {
        const bb_pupil pupil = bb_ao_config_pupil(config);
        return (double)bb_deformable_mirror_actuators(&pupil, truth_lenslets(config));
    }
    const double radius = outer_radius(config, mirror);
    const double squares = BB_PI * radius * radius / (mirror->pitch_m * mirror->pitch_m);
    return squares > 2.0 * BB_MIRROR_STACK_MOST
               ? squares
               : (double)lay_grid(mirror->pitch_m, radius, NULL, NULL);
}

double bb_mirror_stack_actuators(const bb_ao_config *config)
{
    double count = 0.0;
    for (bb_index k = 0; k < config->mirror_count; ++k) {
        count += count_actuators(config, &config->mirrors[k]);
    }
    return count;
}

bb_need bb_mirror_stack_need(const bb_ao_config *config)
{
    return (bb_need){.host_bytes = (double)config->mirror_count * sizeof(bb_conjugate_mirror) +
                                   2.0 * bb_mirror_stack_actuators(config) * sizeof(double)};
}

// On the corners of the lenslets, as the one mirror of deformable_mirror.h has them.
static bb_status lay_corners(const bb_ao_config *config, bb_conjugate_mirror *mirror)
{
    bb_status status = BB_OK;
    const bb_pupil pupil = bb_ao_config_pupil(config);
    const bb_index lenslets = truth_lenslets(config);
    const double half = 0.5 * config->telescope->diameter_m;
    bb_index *column = NULL;
    bb_index *row = NULL;
    BB_TRY(BB_ALLOCATE(mirror->count, &column));
    BB_TRY(BB_ALLOCATE(mirror->count, &row));
    bb_deformable_mirror_corners(&pupil, lenslets, column, row);
    mirror->pitch_m = config->telescope->diameter_m / (double)lenslets;
    for (bb_index a = 0; a < mirror->count; ++a) {
        mirror->x_m[a] = mirror->pitch_m * (double)column[a] - half;
        mirror->y_m[a] = mirror->pitch_m * (double)row[a] - half;
    }
done:
    BB_RELEASE(&column);
    BB_RELEASE(&row);
    return status;
}

static bb_status lay_out(const bb_ao_config *config, const bb_conjugate_config *asked,
                         bb_conjugate_mirror *mirror)
{
    bb_status status = BB_OK;
    *mirror = (bb_conjugate_mirror){.height_m = asked->height_m,
                                    .pitch_m = asked->pitch_m,
                                    .coupling = asked->coupling,
                                    .count = (bb_index)count_actuators(config, asked)};
    BB_TRY(BB_ALLOCATE(mirror->count, &mirror->x_m));
    BB_TRY(BB_ALLOCATE(mirror->count, &mirror->y_m));
    if (isnan(asked->pitch_m)) {
        BB_TRY(lay_corners(config, mirror));
    } else {
        (void)lay_grid(asked->pitch_m, outer_radius(config, asked), mirror->x_m, mirror->y_m);
    }
done:
    return status;
}

bb_status bb_mirror_stack_create(const bb_ao_config *config, bb_mirror_stack *out)
{
    bb_status status = BB_OK;
    bb_mirror_stack stack = {.mirror_count = config->mirror_count};
    const double actuators = bb_mirror_stack_actuators(config);
    BB_REQUIRE(actuators <= BB_MIRROR_STACK_MOST, BB_INVALID,
               "mirrors: %.3g actuators, expected at most %d", actuators, BB_MIRROR_STACK_MOST);
    BB_TRY(BB_ZEROED(config->mirror_count, &stack.mirrors));
    for (bb_index k = 0; k < config->mirror_count; ++k) {
        BB_TRY(lay_out(config, &config->mirrors[k], &stack.mirrors[k]));
        stack.mirrors[k].first = stack.actuator_count;
        stack.actuator_count += stack.mirrors[k].count;
    }
    *out = stack;
    stack = (bb_mirror_stack){0};
done:
    bb_mirror_stack_release(&stack);
    return status;
}

bb_status bb_mirror_stack_of_pupil(const bb_deformable_mirror *mirror, bb_mirror_stack *out)
{
    bb_status status = BB_OK;
    bb_mirror_stack stack = {.mirror_count = 1, .actuator_count = mirror->actuator_count};
    const double pitch = mirror->diameter_m / (double)mirror->lenslets;
    BB_TRY(BB_ZEROED(1, &stack.mirrors));
    stack.mirrors[0] = (bb_conjugate_mirror){.pitch_m = pitch,
                                             .coupling = BB_DEFORMABLE_MIRROR_COUPLING,
                                             .count = mirror->actuator_count};
    BB_TRY(BB_ALLOCATE(mirror->actuator_count, &stack.mirrors[0].x_m));
    BB_TRY(BB_ALLOCATE(mirror->actuator_count, &stack.mirrors[0].y_m));
    for (bb_index a = 0; a < mirror->actuator_count; ++a) {
        stack.mirrors[0].x_m[a] = pitch * (double)mirror->column[a] - 0.5 * mirror->diameter_m;
        stack.mirrors[0].y_m[a] = pitch * (double)mirror->row[a] - 0.5 * mirror->diameter_m;
    }
    *out = stack;
    stack = (bb_mirror_stack){0};
done:
    bb_mirror_stack_release(&stack);
    return status;
}

void bb_mirror_stack_release(bb_mirror_stack *stack)
{
    for (bb_index k = 0; stack->mirrors != NULL && k < stack->mirror_count; ++k) {
        BB_RELEASE(&stack->mirrors[k].x_m);
        BB_RELEASE(&stack->mirrors[k].y_m);
    }
    BB_RELEASE(&stack->mirrors);
    stack->mirror_count = stack->actuator_count = 0;
}

double bb_mirror_stack_influence(const bb_conjugate_mirror *mirror, double dx_m, double dy_m)
{
    const double square = (dx_m * dx_m + dy_m * dy_m) / (mirror->pitch_m * mirror->pitch_m);
    return stroke_m * exp(square * log(mirror->coupling));
}

typedef struct poking {
    const bb_mirror_stack *stack;
    const bb_sensor *sensor;
    double *matrix;
} poking;

// The slopes of one subaperture for a volt on each actuator of one mirror.
static void poke_mirror(const bb_conjugate_mirror *mirror, const bb_sensor *sensor, bb_index i,
                        double *x_slopes, double *y_slopes)
{
    const double cone = fmax(0.0, 1.0 - mirror->height_m / sensor->star.altitude_m);
    const double half = 0.5 * cone * sensor->size_m;
    const double scale = BB_ARCSEC_PER_RADIAN / sensor->size_m;
    const double x = cone * sensor->x_m[i] + mirror->height_m * sensor->star.x_rad;
    const double y = cone * sensor->y_m[i] + mirror->height_m * sensor->star.y_rad;
    double along[2]; // half a subaperture along the grid's x, then along its y
    double across[2];
    bb_sensor_frame_turn(&sensor->frame, half, 0.0, &along[0], &along[1]);
    bb_sensor_frame_turn(&sensor->frame, 0.0, half, &across[0], &across[1]);
    for (bb_index a = 0; a < mirror->count; ++a) {
        const double dx = x - mirror->x_m[a];
        const double dy = y - mirror->y_m[a];
        x_slopes[mirror->first + a] =
            scale * (bb_mirror_stack_influence(mirror, dx + along[0], dy + along[1]) -
                     bb_mirror_stack_influence(mirror, dx - along[0], dy - along[1]));
        y_slopes[mirror->first + a] =
            scale * (bb_mirror_stack_influence(mirror, dx + across[0], dy + across[1]) -
                     bb_mirror_stack_influence(mirror, dx - across[0], dy - across[1]));
    }
}

bool bb_mirror_stack_moves(const bb_mirror_stack *stack, const bb_sensor *truth)
{
    const double half = 0.5 * truth->size_m;
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        for (bb_index i = 0; i < truth->count; ++i) {
            const double x = truth->x_m[i] + mirror->height_m * truth->star.x_rad;
            const double y = truth->y_m[i] + mirror->height_m * truth->star.y_rad;
            for (bb_index a = 0; a < mirror->count; ++a) {
                const double dx = x - mirror->x_m[a];
                const double dy = y - mirror->y_m[a];
                if (bb_mirror_stack_influence(mirror, dx + half, dy) !=
                        bb_mirror_stack_influence(mirror, dx - half, dy) ||
                    bb_mirror_stack_influence(mirror, dx, dy + half) !=
                        bb_mirror_stack_influence(mirror, dx, dy - half)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bb_status poke(void *context, bb_index begin, bb_index end)
{
    const poking *work = context;
    const bb_index actuators = work->stack->actuator_count;
    for (bb_index i = begin; i < end; ++i) {
        double *x_slopes = work->matrix + i * actuators;
        double *y_slopes = work->matrix + (work->sensor->count + i) * actuators;
        for (bb_index k = 0; k < work->stack->mirror_count; ++k) {
            poke_mirror(&work->stack->mirrors[k], work->sensor, i, x_slopes, y_slopes);
        }
    }
    return BB_OK;
}

bb_status bb_mirror_stack_interaction(const bb_mirror_stack *stack, const bb_sensor *sensor,
                                      double *matrix)
{
    poking work = {stack, sensor, matrix};
    return bb_thread_ranges(sensor->count, 32, poke, &work);
}
