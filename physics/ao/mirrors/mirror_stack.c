// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/mirror_stack.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/deformable_mirror.h"

#include <math.h>
#include <stdbool.h>

static const double stroke_m = 1.0e-6; // per volt

// Largest influence at the rim of the grid, relative to the peak.
static const double most_rim = 0.01;

static bb_index truth_lenslets(const bb_ao_config *config)
{
    const bb_index lenslets = config->targets[0].lenslets;
    return lenslets == BB_INTEGER_UNSET ? config->sensors->lenslets : lenslets;
}

// Computes the distance from the axis of the farthest corrected direction.
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

// Positions of the grid's actuators, stored if the arrays are not NULL.
static bb_index place_grid(double pitch_m, double radius_m, double *x_m, double *y_m)
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

// Counts the actuators; for a grid too large to enumerate, estimates the number from its area.
static double count_actuators(const bb_ao_config *config, bb_index index)
{
    const bb_conjugate_config *mirror = &config->mirrors[index];
    if (mirror->influence.file != NULL) {
        return config->influences == NULL ? 0.0 : (double)config->influences[index].actuator_count;
    }
    if (isnan(mirror->pitch_m)) {
        const bb_pupil pupil = bb_ao_config_pupil(config);
        return (double)bb_deformable_mirror_actuators(&pupil, truth_lenslets(config));
    }
    const double radius = outer_radius(config, mirror);
    const double squares = BB_PI * radius * radius / (mirror->pitch_m * mirror->pitch_m);
    return squares > 2.0 * BB_MIRROR_STACK_MOST
               ? squares
               : (double)place_grid(mirror->pitch_m, radius, NULL, NULL);
}

double bb_mirror_stack_actuators(const bb_ao_config *config)
{
    double count = 0.0;
    for (bb_index k = 0; k < config->mirror_count; ++k) {
        count += count_actuators(config, k);
    }
    return count;
}

bb_need bb_mirror_stack_need(const bb_ao_config *config)
{
    return (bb_need){.host_bytes = (double)config->mirror_count * sizeof(bb_conjugate_mirror) +
                                   2.0 * bb_mirror_stack_actuators(config) * sizeof(double)};
}

// At the corners of the lenslets, as in deformable_mirror.h.
static bb_status place_corners(const bb_ao_config *config, bb_conjugate_mirror *mirror)
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

static bb_status lay_out(const bb_ao_config *config, bb_index index, bb_conjugate_mirror *mirror)
{
    bb_status status = BB_OK;
    const bb_conjugate_config *request = &config->mirrors[index];
    const bool own = request->influence.file != NULL;
    BB_REQUIRE(!own || config->influences != NULL, BB_INTERNAL,
               "the influence functions of mirrors[%td].influence.file = %s have not been loaded",
               index, request->influence.file);
    *mirror = (bb_conjugate_mirror){.height_m = request->height_m,
                                    .pitch_m = request->pitch_m,
                                    .coupling = request->coupling,
                                    .stroke_m = stroke_m,
                                    .count = (bb_index)count_actuators(config, index)};
    BB_TRY(BB_ALLOCATE(mirror->count, &mirror->x_m));
    BB_TRY(BB_ALLOCATE(mirror->count, &mirror->y_m));
    if (own) {
        mirror->cube = &config->influences[index];
        mirror->stroke_m = bb_influence_cube_peak(mirror->cube);
        bb_influence_cube_centres(mirror->cube, mirror->x_m, mirror->y_m);
        goto done;
    }
    mirror->coupling = isnan(request->coupling) ? BB_DEFORMABLE_MIRROR_COUPLING : request->coupling;
    if (isnan(request->pitch_m)) {
        BB_TRY(place_corners(config, mirror));
    } else {
        (void)place_grid(request->pitch_m, outer_radius(config, request), mirror->x_m, mirror->y_m);
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
        BB_TRY(lay_out(config, k, &stack.mirrors[k]));
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
                                             .stroke_m = stroke_m,
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

// Centre of a subaperture on a mirror's conjugate, and the offsets to the ends of its slope along
// the grid's x and y.
typedef struct footprint {
    double x, y;
    double along[2], across[2];
} footprint;

static footprint find_footprint(const bb_conjugate_mirror *mirror, const bb_sensor *sensor,
                                bb_index i)
{
    const double cone = fmax(0.0, 1.0 - mirror->height_m / sensor->star.altitude_m);
    const double half = 0.5 * cone * sensor->size_m;
    footprint spot = {.x = cone * sensor->x_m[i] + mirror->height_m * sensor->star.x_rad,
                      .y = cone * sensor->y_m[i] + mirror->height_m * sensor->star.y_rad};
    bb_sensor_frame_turn(&sensor->frame, half, 0.0, &spot.along[0], &spot.along[1]);
    bb_sensor_frame_turn(&sensor->frame, 0.0, half, &spot.across[0], &spot.across[1]);
    return spot;
}

// Positions among the samples of either end of the slopes along x and along y.
typedef struct cube_ends {
    bb_influence_place plus[2], minus[2];
} cube_ends;

static cube_ends find_ends(const bb_influence_cube *cube, const footprint *spot)
{
    const double *const ways[2] = {spot->along, spot->across};
    cube_ends ends;
    for (int axis = 0; axis < 2; ++axis) {
        const double *way = ways[axis];
        ends.plus[axis] = bb_influence_cube_find(cube, spot->x + way[0], spot->y + way[1]);
        ends.minus[axis] = bb_influence_cube_find(cube, spot->x - way[0], spot->y - way[1]);
    }
    return ends;
}

static double cube_difference(const bb_influence_cube *cube, bb_index actuator,
                              const cube_ends *ends, int axis)
{
    return bb_influence_cube_value(cube, actuator, &ends->plus[axis]) -
           bb_influence_cube_value(cube, actuator, &ends->minus[axis]);
}

// Slopes of one subaperture for a volt on each actuator of one mirror.
static void poke_mirror(const bb_conjugate_mirror *mirror, const bb_sensor *sensor, bb_index i,
                        double *x_slopes, double *y_slopes)
{
    const double scale = BB_ARCSEC_PER_RADIAN / sensor->size_m;
    const footprint spot = find_footprint(mirror, sensor, i);
    const double *along = spot.along;
    const double *across = spot.across;
    for (bb_index a = 0; a < mirror->count; ++a) {
        const double dx = spot.x - mirror->x_m[a];
        const double dy = spot.y - mirror->y_m[a];
        x_slopes[mirror->first + a] =
            scale * (bb_mirror_stack_influence(mirror, dx + along[0], dy + along[1]) -
                     bb_mirror_stack_influence(mirror, dx - along[0], dy - along[1]));
        y_slopes[mirror->first + a] =
            scale * (bb_mirror_stack_influence(mirror, dx + across[0], dy + across[1]) -
                     bb_mirror_stack_influence(mirror, dx - across[0], dy - across[1]));
    }
}

// As poke_mirror, for a mirror with its own influence functions.
static void poke_cube(const bb_conjugate_mirror *mirror, const bb_sensor *sensor, bb_index i,
                      double *x_slopes, double *y_slopes)
{
    const double scale = BB_ARCSEC_PER_RADIAN / sensor->size_m;
    const footprint spot = find_footprint(mirror, sensor, i);
    const cube_ends ends = find_ends(mirror->cube, &spot);
    for (bb_index a = 0; a < mirror->count; ++a) {
        x_slopes[mirror->first + a] = scale * cube_difference(mirror->cube, a, &ends, 0);
        y_slopes[mirror->first + a] = scale * cube_difference(mirror->cube, a, &ends, 1);
    }
}

// Whether an actuator of one mirror affects a slope of one subaperture of a truth sensor.
static bool moves_gaussian(const bb_conjugate_mirror *mirror, const bb_sensor *truth, bb_index i)
{
    const double half = 0.5 * truth->size_m;
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
    return false;
}

static bool moves_cube(const bb_conjugate_mirror *mirror, const bb_sensor *truth, bb_index i)
{
    const footprint spot = find_footprint(mirror, truth, i);
    const cube_ends ends = find_ends(mirror->cube, &spot);
    for (bb_index a = 0; a < mirror->count; ++a) {
        if (cube_difference(mirror->cube, a, &ends, 0) != 0.0 ||
            cube_difference(mirror->cube, a, &ends, 1) != 0.0) {
            return true;
        }
    }
    return false;
}

bool bb_mirror_stack_moves(const bb_mirror_stack *stack, const bb_sensor *truth)
{
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        for (bb_index i = 0; i < truth->count; ++i) {
            if (mirror->cube != NULL ? moves_cube(mirror, truth, i)
                                     : moves_gaussian(mirror, truth, i)) {
                return true;
            }
        }
    }
    return false;
}

// Extent of a sensor's footprint on a mirror along x and y; none above its star.
static void find_reach(const bb_conjugate_mirror *mirror, const bb_sensor *sensor, double out[2])
{
    const bb_index count = mirror->height_m < sensor->star.altitude_m ? sensor->count : 0;
    out[0] = out[1] = 0.0;
    for (bb_index i = 0; i < count; ++i) {
        const footprint spot = find_footprint(mirror, sensor, i);
        out[0] = fmax(out[0], fabs(spot.x) + fmax(fabs(spot.along[0]), fabs(spot.across[0])));
        out[1] = fmax(out[1], fabs(spot.y) + fmax(fabs(spot.along[1]), fabs(spot.across[1])));
    }
}

static bb_status cover_mirror(const bb_conjugate_mirror *mirror, bb_index index,
                              const bb_sensor *sensor, bool corrected, const char *who)
{
    bb_status status = BB_OK;
    const bb_influence_cube *cube = mirror->cube;
    const double grid[2] = {bb_influence_cube_reach_x(cube), bb_influence_cube_reach_y(cube)};
    double seen[2];
    find_reach(mirror, sensor, seen);
    for (int axis = 0; axis < 2; ++axis) {
        const char letter = axis == 0 ? 'x' : 'y';
        if (seen[axis] <= grid[axis] * (1.0 + 1e-9)) {
            continue;
        }
        BB_REQUIRE(!corrected, BB_INVALID,
                   "mirrors[%td].influence: the grid of %td x %td samples %.6g m apart reaches "
                   "%.6g m from the axis along %c, expected %.6g m: the footprint of %s on the "
                   "conjugate at %.6g m",
                   index, cube->rows, cube->columns, cube->spacing_m, grid[axis], letter,
                   seen[axis], who, mirror->height_m);
        const double rim = bb_influence_cube_rim(cube) / mirror->stroke_m;
        BB_REQUIRE(rim <= most_rim, BB_INVALID,
                   "mirrors[%td].influence: %.2g of the peak at the rim of the grid, %.6g m from "
                   "the axis along %c, expected at most %g: the footprint of %s on the conjugate "
                   "at %.6g m extends to %.6g m",
                   index, rim, grid[axis], letter, most_rim, who, mirror->height_m, seen[axis]);
    }
done:
    return status;
}

bb_status bb_mirror_stack_check_coverage(const bb_mirror_stack *stack, const bb_sensor *sensor,
                                         bool corrected, const char *who)
{
    bb_status status = BB_OK;
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        if (stack->mirrors[k].cube != NULL) {
            BB_TRY(cover_mirror(&stack->mirrors[k], k, sensor, corrected, who));
        }
    }
done:
    return status;
}

static bb_status poke(void *context, bb_index begin, bb_index end)
{
    const poking *work = context;
    const bb_index actuators = work->stack->actuator_count;
    for (bb_index i = begin; i < end; ++i) {
        double *x_slopes = work->matrix + i * actuators;
        double *y_slopes = work->matrix + (work->sensor->count + i) * actuators;
        for (bb_index k = 0; k < work->stack->mirror_count; ++k) {
            const bb_conjugate_mirror *mirror = &work->stack->mirrors[k];
            (mirror->cube != NULL ? poke_cube : poke_mirror)(mirror, work->sensor, i, x_slopes,
                                                             y_slopes);
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
