// SPDX-License-Identifier: Apache-2.0
#include "core/random.h"
#include "physics/fringe/cycles.h"
#include "tests/physics/doubles.h"
#include "tests/physics/fringe/cases.h"

enum { COLUMNS = 20, ROWS = 10, PIXELS = COLUMNS * ROWS };

static double truth[PIXELS];
static double phase[PIXELS];
static int32_t labels[PIXELS];

// Two parts of 80 and 100 pixels left and right of a gap of two columns, with pistons 3 and -5.
static void enter(void)
{
    for (int i = 0; i < PIXELS; ++i) {
        const int column = i % COLUMNS;
        labels[i] = column < 8 ? 0 : column < 10 ? -1 : 1;
        truth[i] = 0.37 * i - 20.0;
        const double noise =
            0.9 * M_PI * (2.0 * bb_random_uniform(1, BB_STREAM_SELF_TEST, i) - 1.0);
        phase[i] = truth[i] + noise + 2.0 * M_PI * (labels[i] == 0 ? 3.0 : -5.0);
    }
}

TEST(pistons_of_parts_are_free)
{
    bb_cycles cycles;
    bb_part_cycles parts[2];
    enter();
    check_ok(bb_cycles_count(PIXELS, phase, truth, labels, 2, parts, &cycles));
    assert_int_equal(cycles.scored, 180);
    assert_int_equal(cycles.wrong, 0);
    assert_int_equal(cycles.missing, 0);
    assert_int_equal(parts[0].piston, 3);
    assert_int_equal(parts[1].piston, -5);
    assert_int_equal(parts[0].cycles.scored, 80);
    assert_int_equal(parts[1].cycles.scored, 100);
    // As one part the smaller half is wrong; gap pixels count too, with the piston of the right
    // half.
    check_ok(bb_cycles_count(PIXELS, phase, truth, NULL, 1, NULL, &cycles));
    assert_int_equal(cycles.scored, 200);
    assert_int_equal(cycles.wrong, 80);
}

TEST(wrong_cycles_are_counted_by_part)
{
    bb_cycles cycles;
    bb_part_cycles parts[2];
    enter();
    phase[0] += 2.0 * M_PI;
    phase[1] -= 4.0 * M_PI;
    phase[2] = NAN;
    phase[3] = INFINITY;
    phase[4] = 1e300;
    phase[8] += 2.0 * M_PI; // in no part
    phase[19] -= 2.0 * M_PI;
    truth[18] = NAN; // not scored, whatever the phase is
    phase[18] = NAN;
    check_ok(bb_cycles_count(PIXELS, phase, truth, labels, 2, parts, &cycles));
    assert_int_equal(cycles.scored, 179);
    assert_int_equal(cycles.wrong, 6);
    assert_int_equal(cycles.missing, 2);
    assert_int_equal(parts[0].cycles.wrong, 5);
    assert_int_equal(parts[0].cycles.missing, 2);
    assert_int_equal(parts[1].cycles.wrong, 1);
    assert_int_equal(parts[1].cycles.scored, 99);
}

TEST(the_most_frequent_wins_and_ties_go_to_the_nearest)
{
    static const double zero[7] = {0.0};
    const double turn = 2.0 * M_PI;
    const double odd[7] = {5 * turn, 5 * turn, turn, turn, turn, -turn, 0.0};
    const double even[4] = {3 * turn, 3 * turn, -2 * turn, -2 * turn};
    const double signs[4] = {-2 * turn, 2 * turn, -2 * turn, 2 * turn};
    bb_cycles cycles;
    bb_part_cycles part;
    check_ok(bb_cycles_count(7, odd, zero, NULL, 1, &part, &cycles));
    assert_int_equal(part.piston, 1);
    assert_int_equal(cycles.wrong, 4);
    check_ok(bb_cycles_count(4, even, zero, NULL, 1, &part, &cycles));
    assert_int_equal(part.piston, -2);
    assert_int_equal(cycles.wrong, 2);
    const double infinite[4] = {INFINITY, INFINITY, -1e300, turn};
    check_ok(bb_cycles_count(4, infinite, zero, NULL, 1, &part, &cycles));
    assert_int_equal(part.piston, 1);
    assert_int_equal(cycles.wrong, 3);
    check_ok(bb_cycles_count(4, signs, zero, NULL, 1, &part, &cycles));
    assert_int_equal(part.piston, 2);
}

TEST(a_part_without_phase_is_all_wrong)
{
    bb_cycles cycles;
    bb_part_cycles parts[3];
    enter();
    fill_array(phase, PIXELS, i, labels[i] == 1 ? NAN : phase[i]);
    check_ok(bb_cycles_count(PIXELS, phase, truth, labels, 3, parts, &cycles));
    assert_int_equal(cycles.wrong, 100);
    assert_int_equal(cycles.missing, 100);
    assert_int_equal(parts[1].piston, 0);
    assert_int_equal(parts[2].cycles.scored, 0);
    check_ok(bb_cycles_count(PIXELS, phase, truth, labels, 3, NULL, &cycles));
    assert_int_equal(cycles.wrong, 100);
    check_ok(bb_cycles_count(0, NULL, NULL, NULL, 1, parts, &cycles));
    assert_int_equal(cycles.scored, 0);
    fill_array(labels, PIXELS, i, -1);
    check_ok(bb_cycles_count(PIXELS, phase, truth, labels, 0, NULL, &cycles));
    assert_int_equal(cycles.scored, 0);
}

// More different k than the initial table size, in many parts: against counts by hand.
TEST(many_values_are_counted)
{
    enum { MANY = 60000, PARTS = 7, SPREAD = 3000 };
    bb_index(*tallies)[SPREAD] = NULL;
    autofree double *far = doubles(MANY);
    autofree double *flat = zeros(MANY);
    autofree int32_t *parts = new_array(int32_t, MANY);
    check_ok(BB_ZEROED(PARTS, &tallies));
    for (int i = 0; i < MANY; ++i) {
        const double drawn = bb_random_uniform(3, BB_STREAM_SELF_TEST, (uint64_t)i);
        const int k = (int)(SPREAD * drawn * drawn);
        parts[i] = i % PARTS;
        far[i] = 2.0 * M_PI * k;
        ++tallies[parts[i]][k];
    }
    bb_cycles cycles;
    bb_part_cycles counted[PARTS];
    check_ok(bb_cycles_count(MANY, far, flat, parts, PARTS, counted, &cycles));
    for (int p = 0; p < PARTS; ++p) {
        bb_index best = 0;
        for (int k = 0; k < SPREAD; ++k) {
            best = tallies[p][k] > best ? tallies[p][k] : best;
        }
        assert_int_equal(tallies[p][counted[p].piston], best);
        assert_int_equal(counted[p].cycles.wrong, counted[p].cycles.scored - best);
    }
    BB_RELEASE(&tallies);
}

TEST(labels_are_checked)
{
    bb_cycles cycles;
    enter();
    check_fails(bb_cycles_count(PIXELS, phase, truth, labels, 1, NULL, &cycles), BB_INVALID,
                "pixel 10 has label 1, expected less than 1");
    check_fails(bb_cycles_count(PIXELS, phase, truth, NULL, 2, NULL, &cycles), BB_INVALID,
                "2 parts without labels, expected 1");
    for (bb_index k = 1; k <= 3; ++k) {
        bb_memory_fail_at(k);
        assert_int_equal(bb_cycles_count(PIXELS, phase, truth, labels, 2, NULL, &cycles),
                         BB_MEMORY);
        bb_memory_fail_at(0);
    }
}
