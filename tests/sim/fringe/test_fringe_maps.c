// SPDX-License-Identifier: Apache-2.0
//
// Maps and parts by hand: thinning, pistons, and failing allocations.
#include "core/memory.h"
#include "sim/fringe/fringe_work.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/fixture.h"

static const double turn = 6.283185307179586;

static bb_fringe_pipeline pipelines[] = {{.name = "reference"}, {.name = "fp16"}};
static const bb_fringe_study study = {.pipelines = {pipelines, 2}};

// Five points right of a gap, three left of it, which come first; the middle row of the right part
// is one cycle off, and all points have a small offset.
enum { COLUMNS = 4, ROWS = 3, POINTS = COLUMNS * ROWS };
static const unsigned char mask[POINTS] = {1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1};

// Owner of `*out`, whatever the status: the caller.
static bb_status gather(bb_results **out)
{
    bb_status status = BB_OK;
    double truth[POINTS], phase[POINTS], zeros[POINTS] = {0.0};
    autoptr(bb_fringe_maps) maps = NULL;
    autorelease(bb_unwrap_parts) parts = {0};
    BB_TRY(bb_unwrap_parts_create(mask, COLUMNS, ROWS, &parts));
    for (int p = 0; p < POINTS; ++p) {
        const bool right = p % COLUMNS >= 2;
        truth[p] = mask[p] != 0 ? 0.7 * p : (double)NAN;
        phase[p] = truth[p] + (right ? 3.0 * turn + 0.25 : -2.0 * turn - 0.5) +
                   (right && p / COLUMNS == 1 ? turn : 0.0);
    }
    const bb_fringe_sight sight = {
        .wrapped = zeros, .truth = truth, .quality = zeros, .parts = &parts};
    BB_TRY(bb_fringe_maps_create(&study, COLUMNS, ROWS, &maps));
    BB_TRY(bb_fringe_maps_set_data(maps, &sight));
    BB_TRY(bb_fringe_maps_add(maps, 0, true, &parts, truth, truth));
    BB_TRY(bb_fringe_maps_add(maps, 1, false, &parts, phase, truth));
    BB_TRY(bb_fringe_maps_add(maps, 0, true, &parts, phase, truth));
    BB_TRY(bb_results_create(out));
    BB_TRY(bb_fringe_maps_publish(maps, *out));
done:
    return status;
}

TEST(pistons_are_of_the_most_frequent_cycle)
{
    autoptr(bb_results) results = NULL;
    check_ok(gather(&results));
    const double *error = numbers_at(results, "maps/error") + POINTS;
    const double *unwrapped = numbers_at(results, "maps/unwrapped") + POINTS;
    for (int p = 0; p < POINTS; ++p) {
        if (mask[p] == 0) {
            assert_true(isnan(error[p]) && isnan(unwrapped[p]));
        } else {
            check_close(error[p], p == 7 ? turn : 0.0, 1e-12, turn);
        }
    }
    check_close(unwrapped[2], 1.4 + 3.0 * turn + 0.25, 1e-12, turn);
    const double *part = numbers_at(results, "parts/part"),
                 *sizes = numbers_at(results, "parts/points");
    const double *piston = numbers_at(results, "parts/piston");
    assert_true(part[0] == 1.0 && part[1] == 0.0 && sizes[0] == 5.0 && sizes[1] == 3.0);
    check_close(piston[0], 3.0 * turn + 0.25, 1e-12, turn);
    check_close(piston[1], -2.0 * turn - 0.5, 1e-12, turn);
    assert_true(numbers_at(results, "maps/parts")[0] == 0.0 &&
                numbers_at(results, "maps/parts")[2] == 1.0);
    assert_null(bb_results_find(results, "maps/interferogram"));
    assert_true(numbers_at(results, "maps/stride")[0] == 1.0);
}

// 257 x 3 points are thinned by three, 100 parts to the largest 64.
TEST(large_maps_are_thinned)
{
    enum { WIDE = 257, HIGH = 3, PARTS = 64 };
    static unsigned char stripes[WIDE * HIGH];
    static double values[WIDE * HIGH];
    autorelease(bb_unwrap_parts) parts = {0};
    for (int p = 0; p < WIDE * HIGH; ++p) { // every second column; the last ones are higher
        stripes[p] = p % WIDE % 2 == 0 && (p / WIDE == 0 || p % WIDE > 200);
        values[p] = p;
    }
    check_ok(bb_unwrap_parts_create(stripes, WIDE, HIGH, &parts));
    const bb_fringe_sight sight = {
        .interferogram = values, .wrapped = values, .quality = values, .parts = &parts};
    autoptr(bb_fringe_maps) maps = new_object(bb_fringe_maps, &study, WIDE, HIGH);
    check_ok(bb_fringe_maps_set_data(maps, &sight));
    autoptr(bb_results) results = empty_results();
    check_ok(bb_fringe_maps_publish(maps, results));
    assert_true(numbers_at(results, "maps/stride")[0] == 3.0);
    const bb_dataset *wrapped = bb_results_find(results, "maps/wrapped");
    assert_true(wrapped->shape[0] == 1 && wrapped->shape[1] == 86);
    assert_true(wrapped->numbers[85] == 255.0 && numbers_at(results, "maps/column")[85] == 255.0);
    assert_true(isnan(numbers_at(results, "maps/unwrapped")[0])); // no pipeline added yet
    const bb_dataset *sizes = bb_results_find(results, "parts/points");
    assert_int_equal(sizes->count, PARTS);
    assert_true(sizes->numbers[0] == 3.0 && sizes->numbers[27] == 3.0 && sizes->numbers[28] == 1.0);
    assert_true(numbers_at(results, "parts/part")[28] == 0.0);
    assert_null(bb_results_find(results, "maps/truth"));
}

static bb_status gather_and_release(void *context)
{
    (void)context;
    autoptr(bb_results) results = NULL;
    const bb_status status = gather(&results);
    return status;
}

TEST(allocations_may_fail)
{
    allocation_walk("maps", gather_and_release, NULL, 1, 20);
}
