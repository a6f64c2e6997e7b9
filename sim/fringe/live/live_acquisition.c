// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "core/memory.h"
#include "sim/fringe/live/live_source.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

enum { MOST_BUFFERS = BB_LIVE_MOST_OVERLAP + 2 };

struct bb_live_acquisition {
    const bb_live_source_kind *kind;
    void *source;
    double rate_hz;
    pthread_t thread;
    bool runs; // thread has been started
    pthread_mutex_t lock;
    pthread_cond_t come, gone; // signals: frames have arrived, frames have been taken
    // The members below are protected by the lock.
    bb_live_frames buffers[MOST_BUFFERS]; // the first held + 2 are used
    bb_index filled;                      // buffer with waiting frames; -1: none
    bb_index held, next; // number of buffers in processing; index of the oldest of them
    bb_index used[BB_LIVE_MOST_OVERLAP]; // [held] buffers in processing, used as a ring; -1: none
    bool stops, ended;
    bb_index dropped;
    bb_status failure;
    bb_status_record record;
};

static bool is_stopped(bb_live_acquisition *a)
{
    pthread_mutex_lock(&a->lock);
    const bool stops = a->stops;
    pthread_mutex_unlock(&a->lock);
    return stops;
}

// Sleeps until a given time, in short pieces so that a stop is noticed.
static void sleep_until(bb_live_acquisition *a, int64_t ns)
{
    static const int64_t piece_ns = 20000000;
    int64_t now = bb_clock_ns();
    while (now < ns && !is_stopped(a)) {
        (void)bb_clock_sleep_until(ns - now > piece_ns ? now + piece_ns : ns);
        now = bb_clock_ns();
    }
}

static bool is_used(const bb_live_acquisition *a, bb_index buffer)
{
    bool found = false;
    for (bb_index i = 0; i < a->held; ++i) {
        found = found || a->used[i] == buffer;
    }
    return found;
}

// Index of a buffer that is neither waiting nor in processing.
static bb_index free_buffer(bb_live_acquisition *a)
{
    bb_index buffer = 0;
    pthread_mutex_lock(&a->lock);
    while (buffer == a->filled || is_used(a, buffer)) {
        ++buffer;
    }
    pthread_mutex_unlock(&a->lock);
    return buffer;
}

// Passes a buffer to the consumer. If the source waits, blocks until the previous buffer has been
// taken.
static void publish_buffer(bb_live_acquisition *a, bb_index buffer, bool waits)
{
    pthread_mutex_lock(&a->lock);
    while (waits && a->filled >= 0 && !a->stops) {
        pthread_cond_wait(&a->gone, &a->lock);
    }
    a->dropped += (a->filled >= 0) + a->buffers[buffer].lost;
    a->filled = buffer;
    pthread_cond_signal(&a->come);
    pthread_mutex_unlock(&a->lock);
}

static void end_stream(bb_live_acquisition *a, bb_status failure)
{
    pthread_mutex_lock(&a->lock);
    a->ended = true;
    a->failure = failure;
    if (failure != BB_OK) {
        bb_status_save(&a->record);
    }
    pthread_cond_signal(&a->come);
    pthread_mutex_unlock(&a->lock);
}

static void *acquire(void *context)
{
    bb_live_acquisition *a = context;
    const bool waits = a->kind->waits && a->rate_hz == 0.0;
    const int64_t start = bb_clock_ns();
    bb_status status = BB_OK;
    bb_live_event event = BB_LIVE_NOTHING;
    int64_t released = 0;
    bb_index buffer = free_buffer(a); // frames are collected here until a phase is complete
    while (status == BB_OK && event != BB_LIVE_ENDED && !is_stopped(a)) {
        status = a->kind->read(a->source, &a->buffers[buffer], &event);
        if (status == BB_OK && event == BB_LIVE_READ) {
            if (a->rate_hz > 0.0) {
                sleep_until(a, start + (int64_t)(1e9 * (double)released++ / a->rate_hz));
                a->buffers[buffer].arrival_ns = bb_clock_ns();
            }
            publish_buffer(a, buffer, waits);
            buffer = free_buffer(a);
        } else if (status == BB_OK && event == BB_LIVE_NOTHING) {
            sleep_until(a, bb_clock_ns() + (int64_t)(1e9 * a->kind->poll_s));
        }
    }
    end_stream(a, status);
    return NULL;
}

static bb_status start_thread(bb_live_acquisition *a)
{
    bb_status status = BB_OK;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->come, &monotonic);
    (void)pthread_cond_init(&a->gone, NULL);
    (void)pthread_condattr_destroy(&monotonic);
    a->runs = pthread_create(&a->thread, NULL, acquire, a) == 0;
    BB_REQUIRE(a->runs, BB_INTERNAL, "cannot start the acquisition thread");
done:
    return status;
}

bb_status bb_live_acquisition_start(const bb_live_source_kind *kind, const bb_live_request *request,
                                    double rate_hz, bb_index held, bb_live_acquisition **out)
{
    bb_status status = BB_OK;
    bb_live_acquisition *acquisition = NULL;
    BB_TRY(BB_ZEROED(1, &acquisition));
    acquisition->kind = kind;
    acquisition->rate_hz = rate_hz;
    acquisition->filled = -1;
    acquisition->held = held;
    for (bb_index i = 0; i < BB_LIVE_MOST_OVERLAP; ++i) {
        acquisition->used[i] = -1;
    }
    for (bb_index i = 0; i < MOST_BUFFERS; ++i) {
        acquisition->buffers[i].device = request->device;
    }
    BB_TRY(kind->open(request, &acquisition->source));
    BB_TRY(start_thread(acquisition));
    *out = acquisition;
    acquisition = NULL;
done:
    bb_live_acquisition_stop(&acquisition);
    return status;
}

void bb_live_acquisition_stop(bb_live_acquisition **acquisition)
{
    bb_live_acquisition *a = *acquisition;
    if (a == NULL) {
        return;
    }
    if (a->runs) {
        pthread_mutex_lock(&a->lock);
        a->stops = true;
        pthread_cond_signal(&a->gone);
        pthread_mutex_unlock(&a->lock);
        (void)pthread_join(a->thread, NULL);
        (void)pthread_mutex_destroy(&a->lock);
        (void)pthread_cond_destroy(&a->come);
        (void)pthread_cond_destroy(&a->gone);
    }
    for (bb_index i = 0; i < MOST_BUFFERS; ++i) {
        bb_live_frames_release(&a->buffers[i]);
    }
    a->kind->close(&a->source);
    BB_RELEASE(acquisition);
}

bb_status bb_live_acquisition_wait(bb_live_acquisition *acquisition, double seconds,
                                   const bb_live_frames **frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    bb_live_acquisition *a = acquisition;
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    const double nanoseconds = (double)until.tv_nsec + 1e9 * (seconds - floor(seconds));
    until.tv_sec += (time_t)floor(seconds) + (nanoseconds >= 1e9);
    until.tv_nsec = (long)(nanoseconds >= 1e9 ? nanoseconds - 1e9 : nanoseconds);
    *frames = NULL;
    pthread_mutex_lock(&a->lock);
    a->used[a->next] = -1;
    for (int late = 0; a->filled < 0 && !a->ended && late == 0;) {
        late = pthread_cond_timedwait(&a->come, &a->lock, &until);
    }
    if (a->filled >= 0) {
        bb_live_frames *taken = &a->buffers[a->filled];
        a->used[a->next] = a->filled;
        a->next = (a->next + 1) % a->held;
        a->filled = -1;
        *frames = taken;
        if (a->kind->waits && a->rate_hz == 0.0) {
            taken->arrival_ns = bb_clock_ns(); // the latency starts when the frames are taken
        }
        pthread_cond_signal(&a->gone);
    }
    *event = *frames != NULL ? BB_LIVE_READ : a->ended ? BB_LIVE_ENDED : BB_LIVE_NOTHING;
    if (*event == BB_LIVE_ENDED && a->failure != BB_OK) {
        status = a->failure;
        bb_status_restore(&a->record);
    }
    pthread_mutex_unlock(&a->lock);
    return status;
}

bb_index bb_live_acquisition_dropped(bb_live_acquisition *acquisition)
{
    pthread_mutex_lock(&acquisition->lock);
    const bb_index dropped = acquisition->dropped;
    pthread_mutex_unlock(&acquisition->lock);
    return dropped;
}

const double *bb_live_acquisition_truth(const bb_live_acquisition *acquisition, bb_index draw)
{
    const bb_live_source_kind *kind = acquisition->kind;
    return kind->truth == NULL || draw < 0 ? NULL : kind->truth(acquisition->source, draw);
}
