// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/learn_frames.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"

enum { GRAIN = 16 }; // frames that share the workspace of a draw

// The frames of one batch.
typedef struct batch {
    const bb_frame_sampler *sampler;
    uint64_t seed, first;
    bb_index frames, measurements;
    double *slopes;     // [measurements][frames]
    double *covariance; // [measurements][measurements]
} batch;

static bb_status draw(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const batch *b = context;
    bb_frame frame = {0};
    BB_TRY(bb_frame_create(b->sampler, &frame));
    for (bb_index f = begin; f < end; ++f) {
        BB_TRY(bb_frame_draw(b->sampler, b->seed, b->first + (uint64_t)f, &frame));
        for (bb_index i = 0; i < b->measurements; ++i) {
            b->slopes[i * b->frames + f] = frame.guides[i];
        }
    }
done:
    bb_frame_release(&frame);
    return status;
}

// Uses four sums, so that the additions of one entry do not depend on each other.
static double mean_product(const double *a, const double *b, bb_index count)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (bb_index k = 0; k < count; ++k) {
        sum[k % 4] += a[k] * b[k];
    }
    return ((sum[0] + sum[2]) + (sum[1] + sum[3])) / (double)count;
}

static bb_status covary_row(void *context, bb_index i)
{
    const batch *b = context;
    for (bb_index j = 0; j < b->measurements; ++j) {
        b->covariance[i * b->measurements + j] =
            mean_product(b->slopes + i * b->frames, b->slopes + j * b->frames, b->frames);
    }
    return BB_OK;
}

bb_status bb_learn_frames_draw(const bb_frame_sampler *sampler, uint64_t seed, uint64_t first,
                               bb_index frames, bb_learn_frames *out)
{
    bb_status status = BB_OK;
    const bb_index n = bb_frame_sampler_tomography(sampler)->guides.measurement_count;
    const bb_index size = (frames + BB_LEARN_BATCHES - 1) / BB_LEARN_BATCHES;
    bb_learn_frames made = {.measurements = n};
    batch b = {.sampler = sampler, .seed = seed, .frames = size, .measurements = n};
    BB_REQUIRE(frames > 0, BB_INVALID, "learn: %td frames, expected at least 1", frames);
    BB_TRY(BB_ALLOCATE(BB_LEARN_BATCHES * n * n, &made.values));
    BB_TRY(BB_ALLOCATE(BB_LEARN_BATCHES, &made.views));
    BB_TRY(BB_ALLOCATE(BB_LEARN_BATCHES, &made.source));
    BB_TRY(BB_ALLOCATE(n * size, &b.slopes));
    for (bb_index k = 0; k < BB_LEARN_BATCHES; ++k) {
        bb_log_progress("drawing frames", k, BB_LEARN_BATCHES);
        b.first = first + (uint64_t)(k * size);
        b.covariance = made.values + k * n * n;
        BB_TRY(bb_thread_ranges(size, GRAIN, draw, &b));
        BB_TRY(bb_thread_for(n, covary_row, &b));
        made.views[k] = bb_view_matrix(b.covariance, n, n);
        made.source[k] = bb_matrix_source_dense(&made.views[k], "covariance of frames", "arcsec^2");
    }
    bb_log_progress("drawing frames", BB_LEARN_BATCHES, BB_LEARN_BATCHES);
    *out = made;
    made = (bb_learn_frames){0};
done:
    BB_RELEASE(&b.slopes);
    bb_learn_frames_release(&made);
    return status;
}

bb_need bb_learn_frames_resident(bb_index measurements)
{
    const double n = (double)measurements;
    return (bb_need){.host_bytes = BB_LEARN_BATCHES * (n * n * sizeof(double) + sizeof(bb_view) +
                                                       sizeof(bb_matrix_source))};
}

bb_need bb_learn_frames_need(const bb_frame_sampler_extent *frames, bb_index measurements,
                             double threads)
{
    static const double seconds_per_product = 4.0e-10; // of two slopes
    const double n = (double)measurements;
    const double size = ceil(frames->frames / BB_LEARN_BATCHES);
    bb_frame_sampler_extent drawn = *frames;
    drawn.frames = size * BB_LEARN_BATCHES;
    const bb_need sums = {.host_bytes = n * size * sizeof(double),
                          .seconds = seconds_per_product * drawn.frames * n * n / threads};
    const double busy = fmin(threads, ceil(size / GRAIN)); // within a batch
    bb_need frame = bb_frame_need(&drawn, threads);
    frame.host_bytes *= busy / fmin(threads, drawn.frames);
    return bb_need_together(bb_learn_frames_resident(measurements), bb_need_together(sums, frame));
}

void bb_learn_frames_release(bb_learn_frames *frames)
{
    BB_RELEASE(&frames->values);
    BB_RELEASE(&frames->views);
    BB_RELEASE(&frames->source);
}
