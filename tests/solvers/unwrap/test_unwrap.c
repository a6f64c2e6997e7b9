// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_state.h"
#include "tests/need.h"
#include "tests/solvers/unwrap/unwrap_context.h"

// Wraps a map's true phase, unwraps it, and returns the number of wrong points.
static bb_index unwrap(phase_map *map, const bb_unwrap_config *config, bb_unwrap_report *report)
{
    autoptr(bb_unwrap) unwrapper = unwrap_map(map, config, report);
    check_ok(bb_unwrap_verify(unwrapper, map->phase, report));
    const bb_index wrong = phase_map_wrong(map, bb_unwrap_parts_of(unwrapper));
    return wrong;
}

static void check_right(phase_function function, bb_index columns, bb_index rows, double noise)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(function, columns, rows, noise, 5);
    assert_int_equal(unwrap(&map, &config, &report), 0);
}

TEST(smooth_phases_are_right)
{
    check_right(phase_of_zernikes, 192, 192, 0.0);
    check_right(phase_of_freeform, 192, 192, 0.0);
    check_right(phase_of_bumps, 191, 127, 0.0);
}

// Arbitrary values outside the mask do not prolong the reweighting.
TEST(a_phase_that_stays_ends_reweighting)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_zernikes, 160, 160, 0.0, 1);
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_int_equal(report.reweighted, 2);
    assert_int_equal(report.changed, 0);
}

// Residuals of a solution in fp16 do not vanish for the colour swept last. If they were ignored,
// the solution would drift by cycles.
TEST(a_solution_in_fp16_does_not_drift)
{
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_freeform, 320, 240, 0.2, 6);
    config.slots[BB_UNWRAP_SMOOTHER].storage = BB_FORMAT_FP16;
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_int_equal(report.changed, 0);
    assert_int_equal(report.reweighted, 2);
}

TEST(a_shear_is_right)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_slope, 256, 256, 0.0, 1);
    phase_map_add_shear(&map);
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_true(report.rejected_share > 0.0);
}

TEST(noise_of_half_a_radian_is_right)
{
    check_right(phase_of_bumps, 192, 192, 0.3);
    check_right(phase_of_bumps, 193, 161, 0.5);
    check_right(phase_of_zernikes, 256, 256, 0.5);
}

// In 256 x 256 points with noise of 0.7 rad, a fraction of 4.7 / 2^20 has noise beyond pi.
TEST(noise_of_seven_tenths_is_nearly_right)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, 256, 256, 0.7, 11);
    assert_in_range(unwrap(&map, &config, &report), 0, 4); // the limit is 60 of 2^20
    assert_true(fabs(report.scale_rad - 0.7 * sqrt(2.0)) < 0.03);
    assert_true(report.limit_rad == 1.3);
    assert_true(report.rejected_share > 0.17 && report.rejected_share < 0.21);
}

// Discs on a lattice, joined by bridges of three points.
static bool in_bridged_discs(bb_index x, bb_index y)
{
    const bb_index dx = x % 64 - 32, dy = y % 64 - 32;
    return dx * dx + dy * dy < 24 * 24 || (dx >= 0 && dx < 3) || (dy >= 0 && dy < 3);
}

// A serpentine line one point wide.
static bool in_serpentine(bb_index x, bb_index y)
{
    return y % 2 == 0 || x == (y % 4 == 1 ? 0 : 127);
}

// Rooms of 7 points with doors of one point: one row of rooms to the right, the next one back.
static bool in_rooms(bb_index x, bb_index y)
{
    const bb_index along = x / 8, row = y / 8;
    const bool is_door = x % 8 == 0 ? y % 8 == 3 : x % 8 == 4 && along == (row % 2 == 1 ? 15 : 0);
    return (x % 8 != 0 && y % 8 != 0) || (is_door && x > 0 && y > 0);
}

// Number of wrong points of a smooth phase on a mask of 128 x 128 points.
static bb_index unwrap_on(mask_function mask, const bb_unwrap_config *config,
                          bb_unwrap_report *report)
{
    autorelease(phase_map) map = phase_map_steep(mask);
    return unwrap(&map, config, report);
}

// Coarse grids join points that the mask separates, so cycles diverge there.
TEST(narrow_joints_are_right)
{
    static const mask_function masks[] = {in_crossed_disc, in_bridged_discs, in_serpentine};
    static const bb_format formats[] = {BB_FORMAT_FP32, BB_FORMAT_FP64};
    for (int i = 0; i < 6; ++i) {
        bb_unwrap_config config = bb_unwrap_config_plain(formats[i % 2]);
        bb_unwrap_report report;
        for (int reweight = 0; reweight <= 12; reweight += 12) {
            config.method.reweight = reweight;
            const bb_index wrong = unwrap_on(masks[i / 2], &config, &report);
            if (wrong > 0 || !report.converged) {
                fail_msg("mask %d, %s, %d reweightings: %td wrong, %s", i / 2,
                         bb_format_describe(formats[i % 2])->name, reweight, wrong,
                         report.converged ? "converged" : "not converged");
            }
            if (masks[i / 2] == in_crossed_disc) { // one step removes most of the error
                assert_in_range(report.cycles, 1, 40);
            }
        }
    }
}

// Number of wrong points of a phase that grows by `slope` per point along serpentine corridors two
// points wide, between walls one point wide.
static bb_index unwrap_path(double slope, const bb_unwrap_config *config, bb_unwrap_report *report)
{
    enum { SIZE = 257, PERIOD = 3, WIDTH = 2 };
    autorelease(phase_map) map = phase_map_create(SIZE, SIZE);
    for (bb_index p = 0; p < SIZE * SIZE; ++p) {
        const bb_index x = p % SIZE, y = p / SIZE, corridor = y / PERIOD;
        const bb_index along = corridor % 2 == 0 ? SIZE - 1 - x : x;
        map.truth[p] = slope * (double)(corridor * SIZE + along);
        map.mask[p] = y % PERIOD < WIDTH || along >= SIZE - WIDTH;
    }
    const bb_index wrong = unwrap(&map, config, report);
    return wrong;
}

// If cycles hardly contract, corrections are small against the error; for flat phases they are
// small from the first cycle on. A residual in bf16 has the range that conjugate gradients need.
TEST(flat_phases_along_corridors_are_right)
{
    static const double slopes[] = {0.004, 0.0005, 0.004};
    for (int i = 0; i < 3; ++i) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
        bb_unwrap_report report;
        config.method.reweight = 0;
        config.slots[BB_UNWRAP_RESIDUAL].storage = i == 2 ? BB_FORMAT_BF16 : BB_FORMAT_FP64;
        const bb_index wrong = unwrap_path(slopes[i], &config, &report);
        if (wrong > 0 || !report.converged) {
            fail_msg("slope %g: %td wrong, %s", slopes[i], wrong,
                     report.converged ? "converged" : "not converged");
        }
    }
}

// Number of wrong points of a map of size x size points. One half is a plane of 2.5 rad per point,
// the other a serpentine corridor one point wide, along which the phase grows by 4 rad in total.
static bb_index unwrap_beside_plane(bb_index size, const bb_unwrap_config *config,
                                    bb_unwrap_report *report)
{
    const bb_index half = size / 2, length = size - half - 1;
    const double slope = 4.0 / (double)(half * length);
    autorelease(phase_map) map = phase_map_create(size, size);
    for (bb_index p = 0; p < size * size; ++p) {
        const bb_index x = p % size, y = p / size, along = y % 4 < 2 ? x - half : size - x;
        const bool is_corridor = y % 2 == 0 ? x > half : along == length;
        map.mask[p] = x < half || is_corridor || (x == half && y == 0);
        map.truth[p] = x < half ? 2.5 * (double)x + 0.4 * (double)y
                                : 2.5 * (double)half + slope * (double)(y / 2 * length + along);
    }
    const bb_index wrong = unwrap(&map, config, report);
    return wrong;
}

// The plane has almost all the energy, so the error of a flat corridor is a small part of it and
// corrections fall quickly. An exact solution has no wrong point.
TEST(a_flat_corridor_beside_a_steep_plane_is_right)
{
    static const bb_index sizes[] = {64, 128};
    for (int i = 0; i < 4; ++i) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
        bb_unwrap_report report;
        config.method.reweight = i / 2 * 12;
        const bb_index wrong = unwrap_beside_plane(sizes[i % 2], &config, &report);
        if (wrong > 0 || !report.converged) {
            fail_msg("%td x %td: %td wrong, %s", sizes[i % 2], sizes[i % 2], wrong,
                     report.converged ? "converged" : "not converged");
        }
        assert_in_range(report.cycles, 1, 200); // 76 and 118
    }
}

// One slot in a format; BB_UNWRAP_SLOTS: all slots.
typedef struct narrowing {
    bb_unwrap_slot slot;
    bb_format storage;
} narrowing;

static bb_unwrap_config narrow(const narrowing *what, bb_index reweight)
{
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    config.method.reweight = reweight;
    for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
        if (what->slot == BB_UNWRAP_SLOTS || what->slot == (bb_unwrap_slot)slot) {
            config.slots[slot].storage = what->storage;
        }
    }
    return config;
}

// A phase has converged if and only if at most one point in a thousand is wrong.
static void check_verdict(const char *mask, const narrowing *what, bb_index wrong, bb_index points,
                          const bb_unwrap_report *report)
{
    if (report->converged != (1000 * wrong <= points)) {
        fail_msg("mask %s, slot %d in %s: %td of %td wrong, %s", mask, (int)what->slot,
                 bb_format_describe(what->storage)->name, wrong, points,
                 report->converged ? "converged" : "not converged");
    }
}

// Cycles that do not contract leave large errors with small corrections, if a narrow slot rounds
// residuals to zero or keeps conjugate gradients from the solution.
TEST_FULL(narrow_slots_do_not_converge_on_narrow_joints)
{
    static const struct {
        const char *name;
        mask_function in;
    } masks[] = {{"cross", in_crossed_disc},
                 {"lattice", in_bridged_discs},
                 {"rooms", in_rooms},
                 {"serpentine", in_serpentine},
                 {"whole", in_whole_map}};
    static const narrowing slots[] = {
        {BB_UNWRAP_RESIDUAL, BB_FORMAT_E4M3}, {BB_UNWRAP_TRANSFER, BB_FORMAT_E4M3},
        {BB_UNWRAP_RESIDUAL, BB_FORMAT_E5M2}, {BB_UNWRAP_RESIDUAL, BB_FORMAT_FP16},
        {BB_UNWRAP_SMOOTHER, BB_FORMAT_FP16}, {BB_UNWRAP_SLOTS, BB_FORMAT_BF16}};
    for (int i = 0; i < 30; ++i) {
        const narrowing *what = &slots[i % 6];
        const bb_unwrap_config config = narrow(what, 0);
        bb_unwrap_report report;
        const bb_index wrong = unwrap_on(masks[i / 6].in, &config, &report);
        check_verdict(masks[i / 6].name, what, wrong, 128 * 128, &report);
    }
}

// In a flat phase all residuals of coarse grids round to zero, and so do the corrections.
TEST(a_flat_phase_does_not_converge_in_few_bits)
{
    enum { COLUMNS = 512, ROWS = 16 };
    const narrowing what = {BB_UNWRAP_RESIDUAL, BB_FORMAT_E4M3};
    const bb_unwrap_config config = narrow(&what, 0);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_create(COLUMNS, ROWS);
    for (bb_index p = 0; p < COLUMNS * ROWS; ++p) {
        map.truth[p] = 3.5 * cos(0.5 * turn * ((double)(p % COLUMNS) + 0.5) / COLUMNS);
    }
    const bb_index wrong = unwrap(&map, &config, &report);
    assert_in_range(wrong, COLUMNS * ROWS / 20, COLUMNS * ROWS);
    check_verdict("whole", &what, wrong, COLUMNS * ROWS, &report);
}

// The same with corrections that are small from the first cycle on, also with reweighting, whose
// weights follow the wrong solution.
TEST(narrow_slots_do_not_converge_along_corridors)
{
    static const narrowing slots[] = {{BB_UNWRAP_RESIDUAL, BB_FORMAT_E4M3},
                                      {BB_UNWRAP_SLOTS, BB_FORMAT_FP16}};
    for (int i = 0; i < 4; ++i) {
        const narrowing *what = &slots[i % 2];
        const bb_unwrap_config config = narrow(what, i / 2 * 12);
        bb_unwrap_report report;
        const bb_index wrong = unwrap_path(0.004, &config, &report);
        check_verdict("corridors", what, wrong, 257 * 257, &report);
        assert_false(report.converged);
    }
}

// A shear whose edges are rejected, in a format of three significand bits.
TEST(a_right_phase_in_few_bits_converges)
{
    const narrowing what = {BB_UNWRAP_SLOTS, BB_FORMAT_E4M3};
    const bb_unwrap_config config = narrow(&what, 0);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_slope, 96, 72, 0.0, 1);
    phase_map_add_shear(&map);
    phase_map_add_noise(&map, 0.1, 3);
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_true(report.converged);
}

// Edges across a step are rejected. In the first least-squares solve they have the mean of their
// neighbours, for which the true phase is the solution. Cycles do not find it.
TEST(rejected_edges_are_verified_by_their_mean)
{
    enum { COLUMNS = 96, ROWS = 72 };
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_create(COLUMNS, ROWS);
    config.method.reweight = 0;
    config.slots[BB_UNWRAP_RESIDUAL].storage = BB_FORMAT_FP16;
    for (bb_index p = 0; p < COLUMNS * ROWS; ++p) {
        const bb_index x = p % COLUMNS;
        map.truth[p] = 1.5 * (double)x + (x >= 40 ? 2.5 : 0.0);
    }
    autoptr(bb_unwrap) unwrapper = unwrap_map(&map, &config, &report);
    check_ok(bb_unwrap_verify(unwrapper, map.phase, &report));
    assert_int_equal(report.converged, phase_map_wrong(&map, bb_unwrap_parts_of(unwrapper)) == 0);
    check_ok(bb_unwrap_verify(unwrapper, map.truth, &report));
    assert_true(report.converged);
    map.truth[COLUMNS * ROWS / 2] = 1e200; // an infinite energy
    check_ok(bb_unwrap_verify(unwrapper, map.truth, &report));
    assert_false(report.converged);
}

// One cycle does not show whether cycles contract, and two or three leave errors of several
// corrections. Such phases are therefore verified.
TEST(few_cycles_are_verified)
{
    for (int i = 0; i < 6; ++i) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
        bb_unwrap_report report;
        autorelease(phase_map) map = phase_map_of(phase_of_freeform, 128, 128, 0.0, 1);
        for (bb_index p = 0; p < 128 * 128; ++p) {
            map.truth[p] *= i < 3 ? 8.0 : 0.4; // 120 and 6 rad
        }
        config.method.cycles = 1 + i % 3;
        config.method.reweight = 0;
        const bb_index wrong = unwrap(&map, &config, &report);
        if (report.converged != (i >= 3) || report.converged != (wrong == 0)) {
            fail_msg("%td cycles, case %d: %td wrong, %s", report.cycles, i, wrong,
                     report.converged ? "converged" : "not converged");
        }
    }
}

// Rounding of the solution leaves corrections that do not decrease. This must not start conjugate
// gradients, whose fields would be counted.
TEST(rounding_starts_no_conjugate_gradients)
{
    enum { SIZE = 128 };
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report, first;
    autorelease(phase_map) map = phase_map_of(phase_of_slope, SIZE, SIZE, 0.0, 1);
    for (bb_index p = 0; p < SIZE * SIZE; ++p) {
        map.truth[p] += 2.2 * (double)(p % SIZE) - 1.9 * (double)(p / SIZE);
    }
    assert_int_equal(unwrap(&map, &config, &report), 0);
    config.method.reweight = 0;
    assert_int_equal(unwrap(&map, &config, &first), 0);
    assert_true(report.converged && first.converged);
    assert_true(report.bytes == first.bytes);
    assert_int_equal(report.cycles, first.cycles + 4 * report.reweighted);
}

// Multiplies the weights of 128 x 128 points by random powers of `contrast`.
static void spread_weights(bb_unwrap_grids *grids, double contrast)
{
    static float words[128 * 128];
    bb_unwrap_field *const weights[] = {&grids->wx, &grids->wy};
    for (uint64_t axis = 0; axis < 2; ++axis) {
        check_ok(bb_device_download(device, words, weights[axis]->block, sizeof words));
        for (uint64_t p = 0; p < 128 * 128; ++p) {
            words[p] *= (float)pow(contrast, bb_random_uniform(axis, BB_STREAM_SELF_TEST, p));
        }
        check_ok(bb_device_upload(device, weights[axis]->block, words, sizeof words));
    }
    check_ok(bb_unwrap_grids_load(grids));
}

// Weights with contrast 1e12 between rooms, in single precision: no step makes progress.
TEST(a_descent_that_stalls_ends)
{
    enum { SIZE = 128 };
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap *unwrapper = NULL;
    bb_unwrap_report report;
    bb_unwrap_descent descent;
    bb_index steps = 0;
    bool reached = true;
    phase_map map = phase_map_create(SIZE, SIZE);
    phase_map_fill(&map, phase_of_freeform);
    for (bb_index p = 0; p < SIZE * SIZE; ++p) {
        map.mask[p] = in_rooms(p % SIZE, p / SIZE);
    }
    phase_map_wrap(&map);
    check_ok(bb_unwrap_create(context, &config, map.mask, SIZE, SIZE, &unwrapper));
    check_ok(bb_unwrap_run(unwrapper, map.wrapped, map.phase, &report));
    spread_weights(&unwrapper->grids, 1e-12);
    check_ok(bb_unwrap_descent_create(&unwrapper->grids, &unwrapper->parts, &config, &descent));
    check_ok(bb_unwrap_descent_solve(&descent, &unwrapper->divergence, &steps, &reached));
    assert_false(reached);
    assert_in_range(steps, 200, 400);
    bb_unwrap_descent_release(&descent);
    bb_unwrap_destroy(&unwrapper);
    phase_map_release(&map);
}

// The verification overwrites fields of the run.
TEST(a_verified_run_repeats_its_bits)
{
    enum { COLUMNS = 64, ROWS = 48 };
    const narrowing what = {BB_UNWRAP_SLOTS, BB_FORMAT_FP16};
    const bb_unwrap_config config = narrow(&what, 3);
    static double first[COLUMNS * ROWS];
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, COLUMNS, ROWS, 0.8, 3);
    autoptr(bb_unwrap) unwrapper = make_unwrapper(&map, &config);
    check_ok(bb_unwrap_run(unwrapper, map.wrapped, first, &report));
    assert_true(report.jumps > 0.0);
    check_ok(bb_unwrap_run(unwrapper, map.wrapped, map.phase, &report));
    assert_memory_equal(first, map.phase, sizeof first);
}

// A format whose rounding exceeds one cycle, or a single multigrid cycle, gives no solution.
TEST(what_is_not_solved_has_not_converged)
{
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_freeform, 128, 128, 0.0, 1);
    for (bb_index p = 0; p < 128 * 128; ++p) {
        map.truth[p] *= 4.0; // e5m2 has a spacing of more than one cycle
    }
    config.method.reweight = 0;
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_true(report.converged);
    config.method.cycles = 1;
    (void)unwrap(&map, &config, &report);
    assert_false(report.converged);
    config.method.cycles = 8;
    config.slots[BB_UNWRAP_SMOOTHER].storage = BB_FORMAT_E5M2;
    assert_true(unwrap(&map, &config, &report) > 0);
    assert_false(report.converged);
}

// Weights that followed rounding would have unbounded contrast.
TEST(many_reweightings_keep_a_right_phase)
{
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, 96, 96, 0.7, 3);
    config.method.reweight = 12;
    const bb_index wrong = unwrap(&map, &config, &report);
    config.method.reweight = 100;
    config.method.reweight_cycles = 1;
    assert_in_range(unwrap(&map, &config, &report), 0, wrong + 1);
    assert_true(report.converged);
}

// Reweighting moves points on the way to the least cost of jumps; unweighted least squares may be
// wrong.
TEST(tears_of_several_turns_are_right)
{
    static const double openings[] = {7.0, 11.0, 15.0};
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    for (int k = 0; k < 6; ++k) {
        phase_map map = phase_map_create(256, 256);
        phase_map_fill_torn(&map, openings[k / 2], k % 2 == 0 ? 0.0 : 0.25 * turn);
        assert_int_equal(unwrap(&map, &config, &report), 0);
        assert_true(report.converged);
        phase_map_release(&map);
    }
}

// Much noise: the last phase of these maps has a larger cost of jumps than an earlier one, and 90
// wrong points.
TEST(the_phase_with_the_least_jumps_is_kept)
{
    static const uint64_t seeds[] = {11, 23, 35};
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    bb_index wrong = 0;
    for (int k = 0; k < 3; ++k) {
        autorelease(phase_map) map = phase_map_of(phase_of_bumps, 64, 64, 0.9, seeds[k]);
        phase_map_add_pairs(&map, 3, seeds[k]);
        wrong += unwrap(&map, &config, &report);
    }
    assert_in_range(wrong, 0, 80);
}

// Least squares alone is wrong between the vortices of a pair.
TEST(reweighting_finds_cuts_between_residues)
{
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, 256, 256, 0.0, 1);
    phase_map_add_pairs(&map, 4, 3);
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_true(report.reweighted > 2);
    config.method.reweight = 0;
    assert_true(unwrap(&map, &config, &report) > 0);
    assert_int_equal(report.reweighted, 0);
    assert_int_equal(report.cycles,
                     4); // five if a part of a cycle is less effective than it should be
}

TEST(each_part_has_its_piston)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, 200, 160, 0.0, 1);
    phase_map_add_holes(&map, 12, 0.01, 2);
    for (bb_index y = 0; y < 160; ++y) {
        map.mask[y * 200 + 90] = map.mask[y * 200 + 91] = 0;
    }
    for (bb_index p = 0; p < 200 * 160; ++p) {
        map.truth[p] += p % 200 > 90 ? 10.0 : 0.0;
    }
    assert_int_equal(unwrap(&map, &config, &report), 0);
    for (bb_index p = 0; p < 200 * 160; ++p) {
        assert_true(isnan(map.phase[p]) == !map.mask[p]);
    }
}

// For any piston within the cycle: half a cycle off, noise would split the cycles.
TEST(any_piston_is_found)
{
    enum { PISTONS = 120 };
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    for (int k = 0; k < PISTONS; ++k) {
        autorelease(phase_map) map = phase_map_of(phase_of_bumps, 24, 20, 0.4, 8);
        for (bb_index p = 0; p < 24 * 20; ++p) {
            map.truth[p] += turn * k / PISTONS;
        }
        assert_int_equal(unwrap(&map, &config, &report), 0);
    }
}

// The phase differs from the wrapped phase by whole cycles, exactly in double.
TEST(the_phase_is_congruent)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_freeform, 97, 64, 0.6, 4);
    (void)unwrap(&map, &config, &report);
    for (bb_index p = 0; p < 97 * 64; ++p) {
        const double turns = (map.phase[p] - map.wrapped[p]) / turn;
        assert_true(fabs(turns - rint(turns)) < 1e-14 * (1.0 + fabs(turns)));
    }
}

// A map and its image have the same cycles: transposed, mirrored, with another piston.
TEST(images_are_unwrapped_alike)
{
    enum { N = 96 };
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_zernikes, N, N, 0.4, 9);
    autorelease(phase_map) image = phase_map_create(N, N);
    for (bb_index p = 0; p < N * N; ++p) {
        const bb_index other = (N - 1 - p % N) * N + p / N; // rotation by 90 degrees
        image.truth[other] = map.truth[p] + 2.0;
        image.mask[other] = map.mask[p];
    }
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_int_equal(unwrap(&image, &config, &report), 0);
}

TEST(threads_and_repetition_change_no_bit)
{
    enum { N = 130 };
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    static double first[N * N];
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, N, N, 0.7, 3);
    check_ok(bb_threads_set(2));
    (void)unwrap(&map, &config, &report);
    memcpy(first, map.phase, sizeof first);
    check_ok(bb_threads_set(1));
    (void)unwrap(&map, &config, &report);
    check_ok(bb_threads_set(2));
    assert_memory_equal(first, map.phase, sizeof first);
}

TEST(any_size_has_an_answer)
{
    static const bb_index sizes[][2] = {{1, 1}, {2, 1}, {1, 2}, {1, 57}, {64, 1}, {3, 5}};
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        autorelease(phase_map) map = phase_map_create(sizes[i][0], sizes[i][1]);
        for (bb_index p = 0; p < map.columns * map.rows; ++p) {
            map.truth[p] = 0.9 * (double)p;
        }
        assert_int_equal(unwrap(&map, &config, &report), 0);
    }
}

TEST(masks_without_neighbours_have_an_answer)
{
    const bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap *unwrapper = NULL;
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, 40, 30, 0.0, 1);
    for (bb_index p = 0; p < 40 * 30; ++p) { // single points, none adjacent to another
        map.mask[p] = (p % 40 + p / 40) % 2 == 0 && p / 40 != 7;
    }
    assert_int_equal(unwrap(&map, &config, &report), 0);
    assert_true(isnan(report.rejected_share));
    memset(map.mask, 0, 40 * 30);
    check_fails(bb_unwrap_create(context, &config, map.mask, 40, 30, &unwrapper), BB_INVALID,
                "a mask of 40 x 30 without a point: there is no phase to unwrap");
}

// The last three cases use conjugate gradients; fp16 uses them in the verification.
TEST(what_it_takes_is_announced)
{
    static const bb_format formats[] = {BB_FORMAT_FP32, BB_FORMAT_FP64, BB_FORMAT_FP32,
                                        BB_FORMAT_FP64, BB_FORMAT_FP16};
    for (int i = 0; i < 5; ++i) {
        bb_unwrap_config config = bb_unwrap_config_plain(i == 4 ? BB_FORMAT_FP32 : formats[i]);
        bb_unwrap *unwrapper = NULL;
        bb_unwrap_report report;
        phase_map map = phase_map_create(512, 384);
        phase_map_fill(&map, phase_of_bumps);
        for (bb_index p = 0; p < 512 * 384 && i >= 2; ++p) {
            map.mask[p] = p % 512 != 256 || p < 4 * 512;
        }
        for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
            config.slots[slot].storage = formats[i];
        }
        config.method.reweight = i < 4 ? config.method.reweight : 0;
        phase_map_wrap(&map);
        need_start();
        check_ok(bb_unwrap_create(context, &config, map.mask, 512, 384, &unwrapper));
        check_ok(bb_unwrap_run(unwrapper, map.wrapped, map.phase, &report));
        check_ok(bb_unwrap_verify(unwrapper, map.phase, &report));
        need_stop();
        assert_true((unwrapper->descent.grids != NULL) == (i >= 2));
        need_hold(bb_format_describe(formats[i])->name, bb_unwrap_need(&config, 512, 384, false),
                  NEED_LOOSENESS);
        bb_unwrap_destroy(&unwrapper);
        phase_map_release(&map);
    }
}

TEST(limits_are_held_to_their_range)
{
    double limit = NAN;
    bb_unwrap_method method = {.reject = "0.8"};
    check_ok(bb_unwrap_method_limit(&method, &limit));
    assert_true(limit == 0.8);
    method.reject = "off";
    check_ok(bb_unwrap_method_limit(&method, &limit));
    assert_true(isinf(limit));
    method.reject = "-1";
    check_fails(bb_unwrap_method_limit(&method, &limit), BB_INVALID,
                "unwrap.reject '-1', expected auto, off or a limit in (0, 4] rad");
}

TEST(nothing_is_rejected_where_it_is_off)
{
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    autorelease(phase_map) map = phase_map_of(phase_of_bumps, 128, 128, 0.7, 3);
    config.method.reject = "off";
    (void)unwrap(&map, &config, &report);
    assert_true(report.rejected_share == 0.0);
    config.method.reject = "0.9";
    (void)unwrap(&map, &config, &report);
    assert_true(report.limit_rad == 0.9 && report.rejected_share > 0.3);
}

// Narrow storage is rounded as in precision/: the phase has values of the format.
TEST(narrow_storage_holds_values_of_its_format)
{
    static const bb_format formats[] = {BB_FORMAT_TF32, BB_FORMAT_BF16, BB_FORMAT_FP16};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
        bb_unwrap_report report;
        autorelease(phase_map) map = phase_map_of(phase_of_bumps, 64, 48, 0.0, 1);
        for (int slot = 0; slot < BB_UNWRAP_SLOTS; ++slot) {
            config.slots[slot].storage = formats[i];
        }
        (void)unwrap(&map, &config, &report);
        for (bb_index p = 0; p < 64 * 48; ++p) {
            assert_true(map.phase[p] == bb_format_round(formats[i], map.phase[p]));
        }
        assert_true(report.bytes ==
                    report.fp32_bytes * bb_format_describe(formats[i])->bytes / 4.0);
    }
}

// Large noise of columns and small noise of rows: samples of both directions have equal weight, so
// the transposed map has the same scale.
TEST(scales_are_of_both_directions)
{
    enum { SIZE = 96 };
    double scales[2];
    for (int side = 0; side < 2; ++side) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP64);
        bb_unwrap_report report;
        autorelease(phase_map) map = phase_map_of(phase_of_bumps, SIZE, SIZE, 0.0, 1);
        for (int p = 0; p < SIZE * SIZE; ++p) {
            const uint64_t column = (uint64_t)(p % SIZE), row = (uint64_t)(p / SIZE);
            const uint64_t noisy = side == 0 ? column : row, quiet = side == 0 ? row : column;
            map.truth[p] = 0.4 * bb_random_normal(1, BB_STREAM_SELF_TEST, noisy) +
                           0.1 * bb_random_normal(2, BB_STREAM_SELF_TEST, quiet);
        }
        (void)unwrap(&map, &config, &report);
        scales[side] = report.scale_rad;
    }
    assert_true(scales[0] > 0.1);
    check_relative(scales[0], scales[1], 1e-3);
}

// Each slot in turn has a wider storage or a wider arithmetic than the others.
TEST(slots_of_two_precisions_are_right)
{
    for (int i = 0; i < 2 * BB_UNWRAP_SLOTS; ++i) {
        bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
        bb_unwrap_report report;
        autorelease(phase_map) map = phase_map_of(phase_of_bumps, 40, 30, 0.0, 1);
        bb_unwrap_numbers *slot = &config.slots[i / 2];
        *(i % 2 == 0 ? &slot->storage : &slot->arithmetic) = BB_FORMAT_FP64;
        assert_int_equal(unwrap(&map, &config, &report), 0);
    }
}

// Runs a smooth phase on a mask `times` times.
static void run_on(mask_function in, bb_index reweight, int times, bb_unwrap **unwrapper)
{
    enum { SIZE = 128 };
    bb_unwrap_config config = bb_unwrap_config_plain(BB_FORMAT_FP32);
    bb_unwrap_report report;
    phase_map map = phase_map_create(SIZE, SIZE);
    phase_map_fill(&map, phase_of_freeform);
    for (bb_index p = 0; p < SIZE * SIZE; ++p) {
        map.mask[p] = in(p % SIZE, p / SIZE);
    }
    phase_map_wrap(&map);
    config.method.reweight = reweight;
    check_ok(bb_unwrap_create(context, &config, map.mask, SIZE, SIZE, unwrapper));
    for (int i = 0; i < times; ++i) {
        check_ok(bb_unwrap_run(*unwrapper, map.wrapped, map.phase, &report));
    }
    phase_map_release(&map);
}

// Trees are reused over reweightings until weights differ so much that their bound does not end
// conjugate gradients.
TEST(trees_of_a_bound_are_kept_while_they_are_good)
{
    bb_unwrap *unwrapper = NULL;
    bb_index steps = 0;
    bool reached = false;
    run_on(in_crossed_disc, 12, 1, &unwrapper);
    assert_true(unwrapper->descent.has_old_trees);
    spread_weights(&unwrapper->grids, 1e-6);
    check_ok(
        bb_unwrap_descent_solve(&unwrapper->descent, &unwrapper->divergence, &steps, &reached));
    assert_true(reached && !unwrapper->descent.has_old_trees);
    bb_unwrap_destroy(&unwrapper);
}

// Bits of a phase do not depend on earlier phases.
TEST(trees_of_another_phase_are_not_used)
{
    bb_unwrap *unwrapper = NULL;
    run_on(in_crossed_disc, 0, 2, &unwrapper);
    assert_true(unwrapper->descent.grids != NULL && !unwrapper->descent.has_old_trees);
    bb_unwrap_destroy(&unwrapper);
}

// Corrections of cycles do not measure the error on these masks.
TEST(winding_pupils_need_no_cycles)
{
    static const mask_function masks[] = {in_crossed_disc, in_serpentine};
    for (int i = 0; i < 2; ++i) {
        bb_unwrap *unwrapper = NULL;
        run_on(masks[i], 12, 1, &unwrapper);
        assert_true(unwrapper->descends && unwrapper->is_solved);
        assert_true((unwrapper->sections[BB_SECTION_CYCLE] == NULL) == (i == 1));
        bb_unwrap_destroy(&unwrapper);
    }
}

TEST_GROUP(.enter = open_context, .leave = close_context);
