// SPDX-License-Identifier: Apache-2.0
//
// Loaded draws and cached phases of the reference: a trial that returns to a draw does not
// recompute the reference.
#include "sim/fringe/fringe_work.h"
#include "tests/sim/driver.h"

#define CONFIG CONFIG_FRINGE_SMALL
enum { FP32 = 1 }; // pipeline of the study

static bb_fringe_evaluation try_draw(bb_fringe_work *work, bb_index draw)
{
    bb_fringe_evaluation out = {.zernike_nm = NULL};
    const bb_fringe_pipeline record = work->pipelines[FP32];
    check_ok(bb_fringe_work_try(work, FP32, &record, draw, &out));
    assert_null(out.zernike_nm);
    assert_true(work->draw == draw && bb_fringe_work_reference(work) == work->references[draw]);
    return out;
}

TEST(references_of_kept_draws_stay)
{
    autocall(bb_fringe_work_close) bb_fringe_work work = {.kept = 0};
    autoptr(bb_config) config = driver_config(CASE(CONFIG, {NULL}));
    check_ok(bb_fringe_work_open(bb_config_study(config), NULL, 1, &work));
    const double error = try_draw(&work, 0).wavefront_error_reference_nm;
    assert_true(error > 0.0 && error < 0.1);
    const double other = try_draw(&work, 1).wavefront_error_reference_nm;
    assert_true(other != error);
    assert_non_null(work.references[0]);
    assert_non_null(work.references[1]);
    assert_true(try_draw(&work, 0).wavefront_error_reference_nm == error);
    assert_null(work.references[1]);
    for (bb_index p = 0; p < work.points / 2; ++p) { // half a cycle off: not recomputed
        work.references[0][p] += 6.283185307179586;
    }
    assert_true(try_draw(&work, 0).wrong_cycles_reference > 100.0);
    assert_true(try_draw(&work, 0).wrong_cycles == 0.0);
}

// A reference used in a trial is computed once per draw, as in a run.
TEST(the_reference_is_its_own)
{
    autocall(bb_fringe_work_close) bb_fringe_work work = {.kept = 0};
    bb_fringe_evaluation out = {.zernike_nm = NULL};
    autoptr(bb_config) config = driver_config(CASE(CONFIG, {NULL}));
    check_ok(bb_fringe_work_open(bb_config_study(config), NULL, 0, &work));
    const bb_fringe_pipeline record = work.pipelines[work.reference];
    check_ok(bb_fringe_work_try(&work, work.reference, &record, 2, &out));
    assert_true(out.wrong_cycles_reference == 0.0 && out.wavefront_error_reference_nm == 0.0);
    assert_memory_equal(work.phase, bb_fringe_work_reference(&work),
                        (size_t)work.points * sizeof *work.phase);
}
