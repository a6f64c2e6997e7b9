// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/fringe_pupil.h"

#include "core/random.h"
#include "core/thread.h"

#include <math.h>

enum { MOST_VANES = 16, ROWS_OF_A_TASK = 16 };

static bool in_shape(const bb_fringe_pupil_config *pupil, double radius, double x, double y)
{
    const double square = x * x + y * y;
    const double inner = pupil->obstruction * radius;
    return pupil->kind == BB_FRINGE_PUPIL_RECTANGLE ||
           (square <= radius * radius && square >= inner * inner);
}

static void draw_row(const bb_fringe_config *config, bb_index row, unsigned char *mask)
{
    const bb_fringe_pupil_config *pupil = &config->pupil;
    const bb_index columns = config->size.columns;
    const double radius = bb_fringe_config_radius_px(config);
    const double y = (double)row - 0.5 * (double)(config->size.rows - 1);
    double cosine[MOST_VANES];
    double sine[MOST_VANES];
    for (bb_index v = 0; v < pupil->spiders.count; ++v) {
        const double turn = 2.0 * M_PI * (double)v / (double)pupil->spiders.count;
        cosine[v] = cos(turn + pupil->spiders.angle_deg * M_PI / 180.0);
        sine[v] = sin(turn + pupil->spiders.angle_deg * M_PI / 180.0);
    }
    for (bb_index column = 0; column < columns; ++column) {
        const double x = (double)column - 0.5 * (double)(columns - 1);
        bool open = in_shape(pupil, radius, x, y);
        for (bb_index v = 0; v < pupil->spiders.count && open; ++v) {
            open = x * cosine[v] + y * sine[v] < 0.0 ||
                   fabs(y * cosine[v] - x * sine[v]) >= 0.5 * pupil->spiders.width_px;
        }
        mask[column] = open;
    }
    for (bb_index g = 1; g < pupil->gaps.parts; ++g) {
        const double middle = (double)columns * (double)g / (double)pupil->gaps.parts;
        const bb_index begin = (bb_index)rint(middle - 0.5 * pupil->gaps.width_px);
        const bb_index end = begin + (bb_index)rint(pupil->gaps.width_px);
        for (bb_index c = begin < 0 ? 0 : begin; c < end && c < columns; ++c) {
            mask[c] = 0;
        }
    }
}

typedef struct pupil_work {
    const bb_fringe_config *config;
    uint64_t seed;
    unsigned char *mask;
} pupil_work;

static bb_status task_draw(void *context, bb_index begin, bb_index end)
{
    const pupil_work *work = context;
    for (bb_index row = begin; row < end; ++row) {
        draw_row(work->config, row, work->mask + row * work->config->size.columns);
    }
    return BB_OK;
}

bb_status bb_fringe_pupil_draw(const bb_fringe_config *config, unsigned char *mask)
{
    pupil_work work = {.config = config, .mask = mask};
    return bb_thread_ranges(config->size.rows, ROWS_OF_A_TASK, task_draw, &work);
}

// Removes pixels whose centres are at most `radius` from (x, y), in pixels from the first one's
// centre.
static void punch(const bb_fringe_config *config, double x, double y, double radius,
                  unsigned char *mask)
{
    const bb_index columns = config->size.columns;
    const bb_index top = (bb_index)fmax(0.0, ceil(y - radius));
    const bb_index first = (bb_index)fmax(0.0, ceil(x - radius));
    for (bb_index r = top; r < config->size.rows && (double)r <= y + radius; ++r) {
        for (bb_index c = first; c < columns && (double)c <= x + radius; ++c) {
            const double dx = (double)c - x;
            const double dy = (double)r - y;
            if (dx * dx + dy * dy <= radius * radius) {
                mask[r * columns + c] = 0;
            }
        }
    }
}

static bb_status task_kill(void *context, bb_index begin, bb_index end)
{
    const pupil_work *work = context;
    const bb_index columns = work->config->size.columns;
    for (bb_index p = begin * columns; p < end * columns; ++p) {
        if (work->mask[p] != 0 && bb_random_uniform(work->seed, BB_STREAM_DEAD_PIXEL, (uint64_t)p) <
                                      work->config->pupil.dead_share) {
            work->mask[p] = 0;
        }
    }
    return BB_OK;
}

bb_status bb_fringe_pupil_damage(const bb_fringe_config *config, uint64_t seed, unsigned char *mask)
{
    const bb_fringe_pupil_config *pupil = &config->pupil;
    const double columns = (double)config->size.columns;
    const double rows = (double)config->size.rows;
    for (bb_index h = 0; h < pupil->holes.count; ++h) {
        const uint64_t place = 2 * (uint64_t)h;
        const double x = columns * bb_random_uniform(seed, BB_STREAM_PUPIL_HOLE, place) - 0.5;
        const double y = rows * bb_random_uniform(seed, BB_STREAM_PUPIL_HOLE, place + 1) - 0.5;
        punch(config, x, y, pupil->holes.radius_px, mask);
    }
    if (pupil->dead_share == 0.0) {
        return BB_OK;
    }
    pupil_work work = {.config = config, .seed = seed, .mask = mask};
    return bb_thread_ranges(config->size.rows, ROWS_OF_A_TASK, task_kill, &work);
}
