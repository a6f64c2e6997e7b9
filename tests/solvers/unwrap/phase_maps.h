// SPDX-License-Identifier: Apache-2.0
//
// Phase maps with known cycles, and the number of wrong cycles in a result.
#ifndef BB_TESTS_SOLVERS_UNWRAP_PHASE_MAPS_H
#define BB_TESTS_SOLVERS_UNWRAP_PHASE_MAPS_H

#include "core/random.h"
#include "solvers/unwrap/unwrap_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double turn = 6.283185307179586;

typedef struct phase_map {
    bb_index columns, rows;
    double *truth, *wrapped, *phase; // [rows][columns]
    unsigned char *mask;             // [rows][columns]
} phase_map;

static inline phase_map phase_map_create(bb_index columns, bb_index rows)
{
    phase_map map = {.columns = columns, .rows = rows};
    const size_t points = (size_t)(columns * rows);
    map.truth = calloc(points, sizeof *map.truth);
    map.wrapped = calloc(points, sizeof *map.wrapped);
    map.phase = calloc(points, sizeof *map.phase);
    map.mask = malloc(points);
    memset(map.mask, 1, points);
    return map;
}

static inline void phase_map_release(phase_map *map)
{
    free(map->truth);
    free(map->wrapped);
    free(map->phase);
    free(map->mask);
}

/// Defocus, spherical aberration, coma, astigmatism and tilt on an obscured disc.
static inline double phase_of_zernikes(double x, double y)
{
    const double r2 = x * x + y * y;
    return 30 * (2 * r2 - 1) + 12 * (6 * r2 * r2 - 6 * r2 + 1) + 15 * (3 * r2 - 2) * x +
           8 * (x * x - y * y) + 20 * y;
}

static inline double phase_of_freeform(double x, double y)
{
    return 60 * sin(2.1 * x + 1.3 * y * y) * cos(3 * y) + 15 * sin(9 * x * y + 2) +
           3 * sin(25 * x + 11 * y);
}

static inline double phase_of_bumps(double x, double y)
{
    const double hill = (x - 0.2) * (x - 0.2) + (y + 0.3) * (y + 0.3);
    const double dip = (x + 0.4) * (x + 0.4) + (y - 0.2) * (y - 0.2);
    return 40 * exp(-3 * hill) - 25 * exp(-6 * dip) + 6 * x * y + 10 * x;
}

static inline double phase_of_slope(double x, double y)
{
    return 20 * x * x + 12 * y;
}

typedef double (*phase_function)(double x, double y);

/// Heights are for 1024 columns; smaller maps are lower in proportion, so that slopes are the same.
static inline void phase_map_fill(phase_map *map, phase_function function)
{
    for (bb_index p = 0; p < map->columns * map->rows; ++p) {
        const double x = 2.0 * (double)(p % map->columns) / (double)map->columns - 1.0;
        const double y = 2.0 * (double)(p / map->columns) / (double)map->rows - 1.0;
        const double r2 = x * x + y * y;
        map->truth[p] = function(x, y) * (double)map->columns / 1024.0;
        map->mask[p] = function != phase_of_zernikes || (r2 <= 0.96 && r2 >= 0.09);
    }
}

static inline void phase_map_add_noise(phase_map *map, double sigma, uint64_t seed)
{
    for (bb_index p = 0; p < map->columns * map->rows; ++p) {
        map->truth[p] += sigma * bb_random_normal(seed, BB_STREAM_SELF_TEST, (uint64_t)p);
    }
}

/// A map of a function, with noise of the given RMS in rad. Owner: the caller.
static inline phase_map phase_map_of(phase_function function, bb_index columns, bb_index rows,
                                     double noise, uint64_t seed)
{
    phase_map map = phase_map_create(columns, rows);
    phase_map_fill(&map, function);
    if (noise > 0.0) {
        phase_map_add_noise(&map, noise, seed);
    }
    return map;
}

/// Number of points of a mask.
typedef bool (*mask_function)(bb_index x, bb_index y);

static inline void phase_map_set_mask(phase_map *map, mask_function in)
{
    fill_array(map->mask, map->columns * map->rows, p, in(p % map->columns, p / map->columns));
}

/// A steep freeform of 128 x 128 points on a mask. Owner: the caller.
static inline phase_map phase_map_steep(mask_function in)
{
    phase_map map = phase_map_of(phase_of_freeform, 128, 128, 0.0, 1);
    for (bb_index p = 0; p < 128 * 128; ++p) {
        map.truth[p] *= 4.0;
    }
    phase_map_set_mask(&map, in);
    return map;
}

/// Below the middle, a ramp that begins in the middle and reaches 5 rad at the right edge.
static inline void phase_map_add_shear(phase_map *map)
{
    for (bb_index p = 0; p < map->columns * map->rows; ++p) {
        const double x = 2.0 * (double)(p % map->columns) / (double)map->columns - 1.0;
        map->truth[p] += 2 * (p / map->columns) >= map->rows && x > 0 ? 5.0 * x : 0.0;
    }
}

/// A tilted figure with a tear from the middle to the edge; beyond the tear it is raised by up to
/// `opening` rad. The tear is parallel to the rows, rotated by `angle` rad.
static inline void phase_map_fill_torn(phase_map *map, double opening, double angle)
{
    for (bb_index p = 0; p < map->columns * map->rows; ++p) {
        const double x = 2.0 * (double)(p % map->columns) / (double)map->columns - 1.0;
        const double y = 2.0 * (double)(p / map->columns) / (double)map->rows - 1.0;
        const double along = x * cos(angle) + y * sin(angle);
        const double beyond = y * cos(angle) - x * sin(angle);
        map->truth[p] = 55 * x + 20 * y + 12 * sin(3 * x) * cos(2 * y) +
                        (along > 0 && beyond > 0 ? opening * along : 0.0);
    }
}

/// Four quarters of a disc on 128 x 128 points, separated by a cross one point wide and joined in
/// the middle.
static inline bool in_crossed_disc(bb_index x, bb_index y)
{
    const double dx = (double)x - 63.5, dy = (double)y - 63.5;
    const bool is_joint = fabs((double)x - 64.0) < 4.0 && fabs((double)y - 64.0) < 4.0;
    return hypot(dx, dy) < 60.0 && ((x != 64 && y != 64) || is_joint);
}

static inline bool in_whole_map(bb_index x, bb_index y)
{
    (void)x, (void)y;
    return true;
}

/// Pairs of opposite vortices, one above the other, with a cut of one cycle in between.
static inline void phase_map_add_pairs(phase_map *map, int count, uint64_t seed)
{
    for (int k = 0; k < count; ++k) {
        const double u = bb_random_uniform(seed, BB_STREAM_SELF_TEST, (uint64_t)(3 * k));
        const double v = bb_random_uniform(seed, BB_STREAM_SELF_TEST, (uint64_t)(3 * k + 1));
        const double w = bb_random_uniform(seed, BB_STREAM_SELF_TEST, (uint64_t)(3 * k + 2));
        const double column = 0.05 * (double)map->columns + floor(0.9 * u * (double)map->columns);
        const double row = 0.05 * (double)map->rows + floor(0.85 * v * (double)map->rows);
        const double end = row + floor(6 + 8 * w);
        for (bb_index p = 0; p < map->columns * map->rows; ++p) {
            const double x = (double)(p % map->columns) - floor(column) + 0.5;
            const double y = (double)(p / map->columns) - floor(row) + 0.5;
            const double angle = atan2(y, x) - atan2(y - (end - row), x);
            map->truth[p] += angle - turn * rint(angle / turn);
        }
    }
}

static inline void phase_map_add_holes(phase_map *map, int count, double dead, uint64_t seed)
{
    for (int k = 0; k < count; ++k) {
        double u[3];
        for (int i = 0; i < 3; ++i) {
            u[i] = bb_random_uniform(seed, BB_STREAM_SELF_TEST, (uint64_t)(1000 + 3 * k + i));
        }
        const double radius = 4 + 20 * u[2];
        for (bb_index p = 0; p < map->columns * map->rows; ++p) {
            const double x = (double)(p % map->columns) - u[0] * (double)map->columns;
            const double y = (double)(p / map->columns) - u[1] * (double)map->rows;
            map->mask[p] = map->mask[p] && x * x + y * y >= radius * radius;
        }
    }
    for (bb_index p = 0; p < map->columns * map->rows; ++p) {
        const double u = bb_random_uniform(seed, BB_STREAM_INPUT, (uint64_t)p);
        map->mask[p] = map->mask[p] && u >= dead;
    }
}

static inline void phase_map_wrap(phase_map *map)
{
    for (bb_index p = 0; p < map->columns * map->rows; ++p) {
        map->wrapped[p] =
            map->mask[p] ? map->truth[p] - turn * rint(map->truth[p] / turn) : (double)NAN;
    }
}

/// Number of points whose cycle is not the most frequent one of their part.
static inline bb_index phase_map_wrong(const phase_map *map, const bb_unwrap_parts *parts)
{
    enum { CYCLES = 1024 };
    int32_t *found = calloc((size_t)parts->count * CYCLES, sizeof *found);
    bb_index wrong = 0;
    for (bb_index p = 0; p < map->columns * map->rows; ++p) {
        const double cycle = rint((map->phase[p] - map->truth[p]) / turn) + CYCLES / 2;
        if (map->mask[p] && cycle >= 0 && cycle < CYCLES) {
            ++found[(bb_index)parts->labels[p] * CYCLES + (bb_index)cycle];
        }
    }
    for (bb_index part = 0; part < parts->count; ++part) {
        int32_t largest = 0;
        for (int c = 0; c < CYCLES; ++c) {
            largest = found[part * CYCLES + c] > largest ? found[part * CYCLES + c] : largest;
        }
        wrong += parts->sizes[part] - largest;
    }
    free(found);
    return wrong;
}

#endif
