// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/interferogram.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/random.h"
#include "core/thread.h"

#include <math.h>

enum { ROWS_OF_A_TASK = 16, STEPS_OF_A_DRAW = 16 };

typedef struct frame_work {
    const bb_fringe_config *config;
    const bb_scene *scene;
    bb_frames *frames;
    uint64_t seed;
    bb_index draw;
} frame_work;

// Two pixels of a row share an address.
static void add_noise(const frame_work *work, bb_index step, bb_index row, double *line)
{
    const bb_index columns = work->scene->columns;
    const uint64_t frame = (uint64_t)work->draw * STEPS_OF_A_DRAW + (uint64_t)step;
    const uint64_t half = ((uint64_t)columns + 1) / 2;
    const uint64_t base = (frame << 28) + (uint64_t)row * half;
    for (bb_index c = 0; c < columns; c += 2) {
        double pair[2];
        bb_random_normal_pair(work->seed, BB_STREAM_FRAME_NOISE, base + (uint64_t)c / 2, pair);
        for (bb_index k = 0; k < 2 && c + k < columns; ++k) {
            line[c + k] += work->config->camera.noise * pair[k];
        }
    }
}

// The cosine and sine of the row's phase are given: a shifted frame is their linear combination.
static void draw_row(const frame_work *work, bb_index step, bb_index row, const double *cosine,
                     const double *sine)
{
    const bb_fringe_camera_config *camera = &work->config->camera;
    const bb_index columns = work->scene->columns;
    const bb_index rows = work->scene->rows;
    double *line = work->frames->intensity + (step * rows + row) * columns;
    const uint64_t frame = (uint64_t)work->draw * STEPS_OF_A_DRAW + (uint64_t)step;
    const double shift =
        work->frames->steps_rad[step] * (1.0 + work->config->detection.step_error) +
        camera->vibration_rad * bb_random_normal(work->seed, BB_STREAM_FRAME_VIBRATION, frame);
    const double along = camera->mean * camera->contrast * cos(shift);
    const double across = camera->mean * camera->contrast * sin(shift);
    for (bb_index c = 0; c < columns; ++c) {
        line[c] = camera->mean + (along * cosine[c] - across * sine[c]);
    }
    if (camera->noise > 0.0) {
        add_noise(work, step, row, line);
    }
}

// Returns the phase of the carrier at a pixel.
static double carrier_phase(const bb_fringe_detection_config *detection, bb_index column,
                            bb_index row)
{
    const bb_fringe_carrier_config *carrier = &detection->carrier;
    return detection->algorithm == BB_DETECTION_CARRIER
               ? 2.0 * M_PI * (carrier->x * (double)column + carrier->y * (double)row)
               : 0.0;
}

static bb_status task_frames(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const frame_work *work = context;
    const bb_index columns = work->scene->columns;
    double *lines = NULL;
    BB_TRY(BB_ALLOCATE(2 * columns, &lines));
    for (bb_index row = begin; row < end; ++row) {
        const double *phase = work->scene->phase + row * columns;
        for (bb_index c = 0; c < columns; ++c) {
            const double tilted = phase[c] + carrier_phase(&work->config->detection, c, row);
            lines[c] = cos(tilted);
            lines[columns + c] = sin(tilted);
        }
        for (bb_index step = 0; step < work->frames->steps; ++step) {
            draw_row(work, step, row, lines, lines + columns);
        }
    }
done:
    BB_RELEASE(&lines);
    return status;
}

bb_status bb_frames_create(const bb_fringe_config *config, const bb_scene *scene, uint64_t seed,
                           bb_index draw, bb_frames **out)
{
    bb_status status = BB_OK;
    bb_frames *frames = NULL;
    const bb_fringe_detection_config *detection = &config->detection;
    const bool middle = detection->algorithm == BB_DETECTION_CARRE;
    BB_REQUIRE(draw >= 0 && draw <= INT32_MAX, BB_INVALID, "draw %td, expected 0..%d", draw,
               INT32_MAX);
    BB_REQUIRE(detection->algorithm != BB_DETECTION_NONE, BB_INVALID,
               "detection.algorithm: none uses no frames");
    BB_REQUIRE(scene->columns == config->size.columns && scene->rows == config->size.rows,
               BB_INVALID, "a scene of %td x %td pixels, expected %td x %td", scene->columns,
               scene->rows, config->size.columns, config->size.rows);
    BB_TRY(BB_ZEROED(1, &frames));
    frames->steps = bb_fringe_config_frames(detection);
    frames->columns = scene->columns;
    frames->rows = scene->rows;
    BB_TRY(BB_ALLOCATE(frames->steps, &frames->steps_rad));
    BB_TRY(BB_ALLOCATE(frames->steps * frames->rows * frames->columns, &frames->intensity));
    for (bb_index n = 0; n < frames->steps; ++n) {
        const double place = (double)n - (middle ? 0.5 * (double)(frames->steps - 1) : 0.0);
        frames->steps_rad[n] = place * bb_fringe_config_step_rad(detection);
    }
    frame_work work = {
        .config = config, .scene = scene, .frames = frames, .seed = seed, .draw = draw};
    BB_TRY(bb_thread_ranges(frames->rows, ROWS_OF_A_TASK, task_frames, &work));
    *out = frames;
    frames = NULL;
done:
    bb_frames_destroy(&frames);
    return status;
}

// The comparisons let NaN pass. Returns how many are outside 0..1.
BB_CLONES static bb_index clip(bb_index count, double *values)
{
    bb_index outside = 0;
    for (bb_index i = 0; i < count; ++i) {
        const double value = values[i];
        outside += (value < 0.0) + (value > 1.0);
        values[i] = value < 0.0 ? 0.0 : value > 1.0 ? 1.0 : value;
    }
    return outside;
}

BB_CLONES static void round_to(bb_index count, double levels, double *values)
{
    for (bb_index i = 0; i < count; ++i) {
        values[i] = rint(values[i] * levels) / levels;
    }
}

void bb_frames_quantise(bb_frames *frames, bb_index bits, bb_index *saturated)
{
    const bb_index count = frames->steps * frames->rows * frames->columns;
    const bb_index outside = clip(count, frames->intensity);
    if (bits != BB_INTEGER_UNSET) {
        round_to(count, (double)((1 << bits) - 1), frames->intensity);
    }
    if (saturated != NULL) {
        *saturated = outside;
    }
}

void bb_frames_destroy(bb_frames **frames)
{
    if (*frames != NULL) {
        BB_RELEASE(&(*frames)->steps_rad);
        BB_RELEASE(&(*frames)->intensity);
        BB_RELEASE(frames);
    }
}

bb_need bb_frames_need(const bb_fringe_config *config)
{
    const double pixels = (double)config->size.columns * (double)config->size.rows;
    const double steps = (double)bb_fringe_config_frames(&config->detection);
    if (config->detection.algorithm == BB_DETECTION_NONE) {
        return (bb_need){0};
    }
    const double lines = 2.0 * (double)config->size.columns * (double)bb_threads_count();
    return (bb_need){.host_bytes = (double)sizeof(bb_frames) +
                                   (double)sizeof(double) * (steps * (pixels + 1.0) + lines),
                     .seconds = steps * pixels * (config->camera.noise > 0.0 ? 8e-8 : 3e-8)};
}
