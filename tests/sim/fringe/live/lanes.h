// SPDX-License-Identifier: Apache-2.0
//
// Requirements on the pipelines of a stream, for every device that runs them.
#ifndef BB_TESTS_LANES_H
#define BB_TESTS_LANES_H

#include "core/thread.h"
#include "sim/fringe/fringe_experiment.h"
#include "sim/fringe/live/live_lanes.h"
#include "tests/sim/driver.h"

enum { LANES_PHASES = 7, LANES_DRAWS = 4 };

/// Phases and reports of a stream of a study on a device.
typedef struct lanes_answer {
    bb_index points;
    double *phases; ///< [LANES_PHASES][points]
    double rejected[LANES_PHASES];
} lanes_answer;

static inline void lanes_answer_release(lanes_answer *answer)
{
    BB_RELEASE(&answer->phases);
}

// Next frames of the source, in memory that suits the device.
static inline void lanes_take(void *source, bb_device *device, bb_live_frames *out)
{
    autorelease(bb_live_frames) lent = {.device = device};
    bb_live_event event = BB_LIVE_NOTHING;
    check_ok(bb_live_synthetic.read(source, &lent, &event));
    *out = (bb_live_frames){.device = device};
    check_ok(bb_live_frames_shape(out, lent.count, lent.columns, lent.rows));
    out->bits = lent.bits;
    memcpy(out->counts, lent.counts, (size_t)out->room * sizeof *out->counts);
}

static inline void lanes_make(const bb_fringe_study *study, bb_live_lanes *lanes,
                              const bb_live_frames *frames, lanes_answer *out)
{
    out->points = frames->columns * frames->rows;
    out->phases = new_zeros(double, LANES_PHASES * out->points);
    autofree unsigned char *mask = new_zeros(unsigned char, out->points);
    check_ok(bb_live_pipeline_mask(study, frames, NULL, mask));
    check_ok(bb_live_lanes_make(lanes, frames, mask));
}

// Processes frames that are overwritten once their phase has finished.
static inline void lanes_finish(bb_live_pipeline *pipeline, bb_index k, bb_live_frames *frames,
                                lanes_answer *out)
{
    bb_unwrap_report report;
    check_ok(bb_unwrap_read(pipeline->unwrap, out->phases + k * out->points, &report));
    assert_true(bb_device_is_idle(pipeline->device));
    out->rejected[k] = report.rejected_share;
    memset(frames->counts, 0, (size_t)frames->room * sizeof *frames->counts);
    bb_live_frames_release(frames);
}

/// Runs draws of the study's scene in turn through the first pipeline that is not the reference,
/// with `overlap` phases in flight. Owner: the caller.
static inline lanes_answer lanes_run(const driver_case *study, bb_index overlap)
{
    void *source = NULL;
    bb_live_frames flights[LANES_PHASES] = {{0}};
    lanes_answer answer = {0};
    autoptr(bb_config) config = driver_config(study);
    const bb_fringe_study *fringe = bb_config_study(config);
    autoptr(bb_live_lanes) lanes = new_object(bb_live_lanes, fringe, NULL, overlap, NULL);
    assert_int_equal(lanes->overlap, overlap);
    bb_device *device = bb_live_lanes_device(lanes);
    const bb_live_request request = {.study = fringe, .count = 4, .device = device};
    const bb_live_lane *lane = &lanes->items[0];
    check_ok(bb_live_synthetic.open(&request, &source));
    for (bb_index k = 0; k < LANES_PHASES + overlap; ++k) {
        const bb_index done = k - overlap;
        if (done >= 0 && done < LANES_PHASES) {
            lanes_finish(lane->turns[k % overlap], done, &flights[done], &answer);
        }
        if (k < LANES_PHASES) {
            lanes_take(source, device, &flights[k]);
            if (k == 0) {
                lanes_make(fringe, lanes, &flights[k], &answer);
            }
            check_ok(bb_live_pipeline_start(lane->turns[k % overlap], &flights[k]));
        }
    }
    bb_live_lanes_clear(lanes);
    assert_null(lane->turns[0]);
    bb_live_synthetic.close(&source);
    return answer;
}

static const char *const lanes_few = "unwrap={cycles: 4, reweight: 0}",
                         *const lanes_odd = "size={columns: 95, rows: 71}";

/// On "device=...": each phase differs from the one before it and has the same bits for any number
/// of phases in flight.
static inline void lanes_check_overlap(const char *device)
{
    const driver_case study = {CONFIG_FRINGE_SMALL, {lanes_few, lanes_odd, device}};
    autorelease(lanes_answer) one = lanes_run(&study, 1);
    const size_t bytes = (size_t)one.points * sizeof *one.phases;
    for (bb_index overlap = 2; overlap <= BB_LIVE_MOST_OVERLAP; ++overlap) {
        autorelease(lanes_answer) several = lanes_run(&study, overlap);
        for (int k = 0; k < LANES_PHASES; ++k) {
            assert_memory_equal(several.phases + k * one.points, one.phases + k * one.points,
                                bytes);
            assert_true(several.rejected[k] == one.rejected[k]);
        }
    }
    for (int k = 1; k < LANES_PHASES; ++k) {
        assert_true(one.rejected[k] > 0.0);
        assert_true(memcmp(one.phases + (k - 1) * one.points, one.phases + k * one.points, bytes) !=
                    0);
    }
    assert_memory_equal(one.phases, one.phases + LANES_DRAWS * one.points, bytes);
}

#endif
