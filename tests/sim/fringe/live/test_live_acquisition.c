// SPDX-License-Identifier: Apache-2.0
//
// Tests of the acquisition thread: newest frames first for a camera, all frames for a source that
// waits.
#include "core/memory.h"
#include "sim/fringe/live/live_source.h"
#include "tests/check.h"

#include <pthread.h>
#include <unistd.h>

enum { PHASES = 7 };

// Source whose frames arrive when a test allows them.
static struct {
    pthread_mutex_t lock;
    int allowed, given;
    bool ends, fails;
} camera = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void reset(int allowed, bool ends, bool fails)
{
    pthread_mutex_lock(&camera.lock);
    camera.allowed = allowed;
    camera.given = 0;
    camera.ends = ends;
    camera.fails = fails;
    pthread_mutex_unlock(&camera.lock);
}

static int count_given(void)
{
    pthread_mutex_lock(&camera.lock);
    const int given = camera.given;
    pthread_mutex_unlock(&camera.lock);
    return given;
}

// Waits, with a timeout, until this many phases have been dropped.
static void expect_dropped(bb_live_acquisition *acquisition, bb_index count)
{
    for (int try = 0; try < 20000 && bb_live_acquisition_dropped(acquisition) < count; ++try) {
        (void)usleep(1000);
    }
    assert_int_equal(bb_live_acquisition_dropped(acquisition), count);
}

static bb_status open_camera(const bb_live_request *request, void **state)
{
    (void)request;
    *state = &camera;
    return BB_OK;
}

static void close_camera(void **state)
{
    *state = NULL;
}

static bb_status take_from_camera(void *state, bb_live_frames *frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    (void)state;
    pthread_mutex_lock(&camera.lock);
    *event = camera.given < camera.allowed ? BB_LIVE_READ
             : camera.ends                 ? BB_LIVE_ENDED
                                           : BB_LIVE_NOTHING;
    if (*event == BB_LIVE_READ) {
        status = bb_live_frames_shape(frames, 1, 1, 1);
        frames->counts[0] = (uint16_t)camera.given++;
        frames->lost = frames->counts[0] == 2 ? 10 : 0; // the source lost ten before the third
    } else if (*event == BB_LIVE_ENDED && camera.fails) {
        status = bb_status_set(BB_IO, __FILE__, __LINE__, "the camera broke");
    }
    pthread_mutex_unlock(&camera.lock);
    return status;
}

static bb_live_source_kind source = {.name = "camera",
                                     .poll_s = 0.001,
                                     .open = open_camera,
                                     .close = close_camera,
                                     .read = take_from_camera};

// Starts phases of one frame from the camera, waiting or not, with `held` phases in processing.
static bb_live_acquisition *start(bool waits, double rate_hz, bb_index held)
{
    const bb_live_request request = {.count = 1};
    bb_live_acquisition *acquisition = NULL;
    source.waits = waits;
    check_ok(bb_live_acquisition_start(&source, &request, rate_hz, held, &acquisition));
    return acquisition;
}

// Next phase, or the event that arrives instead.
static const bb_live_frames *take(bb_live_acquisition *acquisition, bb_live_event *event)
{
    const bb_live_frames *frames = NULL;
    do {
        check_ok(bb_live_acquisition_wait(acquisition, 0.05, &frames, event));
        assert_true((frames != NULL) == (*event == BB_LIVE_READ));
    } while (*event == BB_LIVE_NOTHING);
    return frames;
}

static void expect(bb_live_acquisition *acquisition, int32_t number)
{
    bb_live_event event = BB_LIVE_NOTHING;
    const bb_live_frames *frames = take(acquisition, &event);
    assert_int_equal(event, BB_LIVE_READ);
    assert_int_equal(frames->counts[0], number);
}

TEST(frames_that_wait_are_all_taken)
{
    bb_live_event event = BB_LIVE_READ;
    reset(PHASES, true, false);
    bb_live_acquisition *acquisition = start(true, 0.0, 1);
    for (int k = 0; k < PHASES; ++k) {
        expect(acquisition, k);
        assert_null(bb_live_acquisition_truth(acquisition, 0));
    }
    assert_null(take(acquisition, &event));
    assert_int_equal(event, BB_LIVE_ENDED);
    assert_int_equal(bb_live_acquisition_dropped(acquisition), 10); // lost by the source only
    bb_live_acquisition_stop(&acquisition);
    assert_null(acquisition);
}

// Frames in processing stay unchanged while others are read, up to `held` phases at once.
TEST(frames_stand_while_they_are_held)
{
    enum { HELD = 3 };
    const bb_live_frames *held[PHASES];
    bb_live_event event = BB_LIVE_NOTHING;
    reset(PHASES, true, false);
    bb_live_acquisition *acquisition = start(true, 0.0, HELD);
    for (int k = 0; k < PHASES; ++k) {
        held[k] = take(acquisition, &event);
        assert_non_null(held[k]);
        (void)usleep(2000); // the thread continues meanwhile
        for (int i = k < HELD ? 0 : k - HELD + 1; i <= k; ++i) {
            assert_int_equal(held[i]->counts[0], i);
        }
    }
    bb_live_acquisition_stop(&acquisition);
}

// Reads a phase of two frames; the second arrives when the test allows one more.
static bb_status take_in_parts(void *state, bb_live_frames *frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    (void)state;
    pthread_mutex_lock(&camera.lock);
    *event = BB_LIVE_NOTHING;
    if (camera.given < camera.allowed) {
        const int part = camera.given % 2;
        status = bb_live_frames_shape(frames, 2, 1, 1);
        frames->counts[part] = (uint16_t)camera.given++;
        *event = part == 1 ? BB_LIVE_READ : BB_LIVE_NOTHING;
    }
    pthread_mutex_unlock(&camera.lock);
    return status;
}

static void allow(int count)
{
    pthread_mutex_lock(&camera.lock);
    camera.allowed = count;
    pthread_mutex_unlock(&camera.lock);
    for (int try = 0; try < 20000 && count_given() < count; ++try) {
        (void)usleep(1000);
    }
    assert_int_equal(count_given(), count);
}

// A phase is assembled in one buffer, whatever is read between its frames.
TEST(a_phase_may_come_in_parts)
{
    bb_live_source_kind kind = source;
    const bb_live_request request = {.count = 2};
    const bb_live_frames *frames = NULL;
    bb_live_event event = BB_LIVE_NOTHING;
    bb_live_acquisition *acquisition = NULL;
    kind.waits = true;
    kind.read = take_in_parts;
    reset(0, false, false);
    check_ok(bb_live_acquisition_start(&kind, &request, 0.0, 1, &acquisition));
    for (int k = 0; k < PHASES; ++k) {
        allow(2 * k + 3); // part of the next phase
        check_ok(bb_live_acquisition_wait(acquisition, 10.0, &frames, &event));
        assert_non_null(frames);
        assert_int_equal(frames->counts[0], 2 * k);
        assert_int_equal(frames->counts[1], 2 * k + 1);
    }
    bb_live_acquisition_stop(&acquisition);
}

TEST(a_camera_goes_on_and_the_newest_is_taken)
{
    const bb_live_frames *frames = NULL;
    bb_live_event event = BB_LIVE_READ;
    reset(0, false, false);
    bb_live_acquisition *acquisition = start(false, 0.0, 1);
    check_ok(bb_live_acquisition_wait(acquisition, 0.01, &frames, &event));
    assert_int_equal(event, BB_LIVE_NOTHING);
    assert_null(frames);
    reset(2, false, false);
    expect_dropped(acquisition, 1); // both arrived before anything was read
    expect(acquisition, 1);
    pthread_mutex_lock(&camera.lock);
    camera.allowed = PHASES;
    pthread_mutex_unlock(&camera.lock);
    expect_dropped(acquisition, 1 + 10 + PHASES - 3); // four of five, and ten lost by the source
    expect(acquisition, PHASES - 1);
    bb_live_acquisition_stop(&acquisition);
}

TEST(a_rate_releases_frames_that_would_wait)
{
    reset(PHASES, true, false);
    bb_live_acquisition *acquisition = start(true, 2000.0, 1);
    expect_dropped(acquisition, PHASES - 1 + 10); // all but the last are replaced
    expect(acquisition, PHASES - 1);
    bb_live_acquisition_stop(&acquisition);
}

TEST(failures_come_behind_what_was_taken)
{
    const bb_live_frames *frames = NULL;
    bb_live_event event = BB_LIVE_NOTHING;
    reset(1, true, true);
    bb_live_acquisition *acquisition = start(true, 0.0, 1);
    expect(acquisition, 0);
    bb_status status = BB_OK;
    while (event != BB_LIVE_ENDED) {
        status = bb_live_acquisition_wait(acquisition, 0.05, &frames, &event);
    }
    assert_int_equal(status, BB_IO);
    assert_string_equal(bb_status_message(), "the camera broke");
    bb_live_acquisition_stop(&acquisition);
}

// A thread can be stopped while it waits to publish frames or for a late release.
TEST(it_stops_at_any_time)
{
    for (int late = 0; late < 2; ++late) {
        reset(PHASES, false, false);
        bb_live_acquisition *acquisition = start(true, late ? 0.001 : 0.0, 1);
        for (int try = 0; try < 20000 && count_given() < 2; ++try) {
            (void)usleep(1000);
        }
        assert_true(count_given() >= 2); // the second frame waits
        bb_live_acquisition_stop(&acquisition);
    }
    assert_int_equal(bb_memory_blocks(), 0);
}
