// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/scene.h"

#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "physics/fringe/fringe_pupil.h"
#include "physics/fringe/surface.h"

#include <math.h>

enum { ROWS_OF_A_TASK = 16, TRIES = 100 };

// Returns whether the four pixels around a corner are in the pupil; the corner is that of pixel
// (column, row) towards greater x and y.
static bool holds_corner(const bb_scene *scene, bb_index column, bb_index row)
{
    const unsigned char *pixel = scene->mask + row * scene->columns + column;
    return pixel[0] != 0 && pixel[1] != 0 && pixel[scene->columns] != 0 &&
           pixel[scene->columns + 1] != 0;
}

// Returns the position of the first vortex of a pair, such that both are at corners within the
// axis.
static bb_index place_of(double uniform, bb_index pixels, bb_index offset)
{
    const bb_index reach = offset < 0 ? -offset : offset;
    const bb_index first = (bb_index)(uniform * (double)(pixels - 1 - reach));
    return offset < 0 ? first + reach : first;
}

static bb_vortex_pair place_pair(const bb_scene *scene, double separation, uint64_t seed,
                                 bb_index pair)
{
    bb_vortex_pair placed = {0};
    bool found = false;
    for (bb_index t = 0; t < TRIES && !found; ++t) {
        double drawn[3];
        for (int k = 0; k < 3; ++k) {
            drawn[k] = bb_random_uniform(seed, BB_STREAM_VORTEX,
                                         4 * ((uint64_t)pair * TRIES + (uint64_t)t) + (uint64_t)k);
        }
        const double quarter = 0.5 * M_PI * floor(4.0 * drawn[0]);
        const bb_index dx = (bb_index)rint(separation * cos(quarter));
        const bb_index dy = (bb_index)rint(separation * sin(quarter));
        const bb_index column = place_of(drawn[1], scene->columns, dx);
        const bb_index row = place_of(drawn[2], scene->rows, dy);
        placed = (bb_vortex_pair){.plus_x = (double)column + 0.5,
                                  .plus_y = (double)row + 0.5,
                                  .minus_x = (double)(column + dx) + 0.5,
                                  .minus_y = (double)(row + dy) + 0.5};
        found = holds_corner(scene, column, row) && holds_corner(scene, column + dx, row + dy);
    }
    return placed;
}

static bb_status place_pairs(bb_scene *scene, const bb_residue_config *pairs, uint64_t seed)
{
    BB_RETURN_IF_FAILED(BB_ALLOCATE(pairs->count, &scene->pairs));
    for (bb_index p = 0; p < pairs->count; ++p) {
        scene->pairs[p] = place_pair(scene, pairs->separation_px, seed, p);
    }
    scene->pair_count = pairs->count;
    return BB_OK;
}

typedef struct phase_work {
    const bb_fringe_config *config;
    bb_scene *scene;
    uint64_t seed;
    bb_index draw;
} phase_work;

// Computes arg((z - z1) conj(z - z2)), the phase of a pair.
static double vortex_phase(const bb_vortex_pair *pair, double x, double y)
{
    const double ax = x - pair->plus_x;
    const double ay = y - pair->plus_y;
    const double bx = x - pair->minus_x;
    const double by = y - pair->minus_y;
    return atan2(ay * bx - ax * by, ax * bx + ay * by);
}

// Two pixels of a row share an address.
static void add_noise(const phase_work *work, bb_index row, double *phase)
{
    const bb_index columns = work->scene->columns;
    const uint64_t half = ((uint64_t)columns + 1) / 2;
    const uint64_t base = ((uint64_t)work->draw << 32) + (uint64_t)row * half;
    for (bb_index c = 0; c < columns; c += 2) {
        double pair[2];
        bb_random_normal_pair(work->seed, BB_STREAM_PHASE_NOISE, base + (uint64_t)c / 2, pair);
        for (bb_index k = 0; k < 2 && c + k < columns; ++k) {
            phase[c + k] += work->config->surface.noise_rad * pair[k];
        }
    }
}

static bb_status task_phase(void *context, bb_index begin, bb_index end)
{
    const phase_work *work = context;
    const bb_scene *scene = work->scene;
    const bb_tilt_config *tilt = &work->config->surface.tilt_fringes;
    const double rad_per_nm = bb_fringe_config_rad_per_nm(work->config);
    for (bb_index row = begin; row < end; ++row) {
        double *phase = scene->phase + row * scene->columns;
        const unsigned char *mask = scene->mask + row * scene->columns;
        const double y = ((double)row + 0.5) / (double)scene->rows - 0.5;
        for (bb_index c = 0; c < scene->columns; ++c) {
            const double x = ((double)c + 0.5) / (double)scene->columns - 0.5;
            phase[c] = rad_per_nm * phase[c] + 2.0 * M_PI * (tilt->x * x + tilt->y * y);
            for (bb_index p = 0; p < scene->pair_count; ++p) {
                phase[c] += vortex_phase(&scene->pairs[p], (double)c, (double)row);
            }
        }
        if (work->config->surface.noise_rad > 0.0) {
            add_noise(work, row, phase);
        }
        for (bb_index c = 0; c < scene->columns; ++c) {
            phase[c] = mask[c] != 0 ? phase[c] : NAN;
        }
    }
    return BB_OK;
}

bb_status bb_scene_create(const bb_fringe_config *config, uint64_t seed, bb_index draw,
                          bb_scene **out)
{
    bb_status status = BB_OK;
    bb_scene *scene = NULL;
    const bb_index pixels = config->size.columns * config->size.rows;
    BB_REQUIRE(draw >= 0 && draw <= INT32_MAX, BB_INVALID, "draw %td, expected 0..%d", draw,
               INT32_MAX);
    BB_TRY(BB_ZEROED(1, &scene));
    scene->columns = config->size.columns;
    scene->rows = config->size.rows;
    BB_TRY(BB_ALLOCATE(pixels, &scene->mask));
    BB_TRY(BB_ALLOCATE(pixels, &scene->phase));
    BB_TRY(bb_fringe_pupil_draw(config, scene->mask));
    BB_TRY(place_pairs(scene, &config->surface.residue_pairs, seed));
    BB_TRY(bb_surface_draw(config, seed, scene->mask, scene->phase));
    BB_TRY(bb_fringe_pupil_damage(config, seed, scene->mask));
    phase_work work = {.config = config, .scene = scene, .seed = seed, .draw = draw};
    BB_TRY(bb_thread_ranges(scene->rows, ROWS_OF_A_TASK, task_phase, &work));
    *out = scene;
    scene = NULL;
done:
    bb_scene_destroy(&scene);
    return status;
}

void bb_scene_destroy(bb_scene **scene)
{
    if (*scene != NULL) {
        BB_RELEASE(&(*scene)->phase);
        BB_RELEASE(&(*scene)->mask);
        BB_RELEASE(&(*scene)->pairs);
        BB_RELEASE(scene);
    }
}

bb_need bb_scene_need(const bb_fringe_config *config)
{
    const double pixels = (double)config->size.columns * (double)config->size.rows;
    const double pairs = (double)config->surface.residue_pairs.count;
    const bb_need kept = {
        .host_bytes = (double)sizeof(bb_scene) + (double)sizeof(bb_vortex_pair) * pairs +
                      (double)(sizeof(double) + 1) * pixels,
        .seconds = pixels * (1e-8 + 5e-8 * pairs + (config->surface.noise_rad > 0.0 ? 5e-8 : 0.0)),
    };
    return bb_need_together(kept, bb_surface_need(config));
}
