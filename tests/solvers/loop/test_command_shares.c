// SPDX-License-Identifier: Apache-2.0
//
// Frames shared by several devices, here CPU loops, against one loop of all rows: the same bits,
// the end time of the last, and held commands if a product is not finite.
#include "solvers/loop/command_loop.h"
#include "tests/cpu_device.h"
#include "tests/manual_clock.h"
#include "tests/solvers/dense.h"

enum { MATRICES = 2, COLUMNS = 300, GROUPS = 2, MOST_ROWS = 38, COMMANDS = 75, DEVICES = 3 };

static const bb_index rows_of[MATRICES] = {MOST_ROWS, COMMANDS - MOST_ROWS};
static const bb_index group_begin[GROUPS + 1] = {0, 120, COLUMNS};
static const bb_gemv_arithmetic arithmetic = {BB_FORMAT_FP32, BB_FORMAT_FP64};

typedef struct rig {
    bb_coded_matrix *matrices[MATRICES];
    float means[MATRICES][MOST_ROWS * GROUPS];
    float scales[MATRICES][COLUMNS];
    float slopes[COLUMNS];
    bb_coded_operator *operators[DEVICES][MATRICES];
    bb_command_loop *loop;
} rig;

static void encode(rig *self, int t, double largest)
{
    const bb_codec_config codec = bb_codec_plain(BB_FORMAT_FP32);
    const bb_matrix_layout layout = {.rows = rows_of[t], .columns = COLUMNS};
    autofree double *values = dense_new(rows_of[t] * COLUMNS);
    dense_random(rows_of[t] * COLUMNS, (uint64_t)(11 + t), values);
    values[(rows_of[t] - 1) * COLUMNS + 5] = largest;
    check_ok(bb_coded_matrix_create(&codec, BB_ROW_SCALE_NONE, &layout, &self->matrices[t]));
    check_ok(
        bb_coded_matrix_encode(self->matrices[t], 0, bb_view_matrix(values, rows_of[t], COLUMNS)));
}

// `largest` is a value of the very last row.
static void rig_make(rig *self, double largest)
{
    *self = (rig){0};
    encode(self, 0, 1.0);
    encode(self, 1, largest);
    for (int t = 0; t < MATRICES; ++t) {
        for (int i = 0; i < MOST_ROWS * GROUPS; ++i) {
            self->means[t][i] = (float)sin(i + 100.0 * t);
        }
        for (int j = 0; j < COLUMNS; ++j) {
            self->scales[t][j] = 1.0F + (float)(j % 3 + t);
        }
    }
}

static void put(rig *self, int frame)
{
    fill_array(self->slopes, COLUMNS, j, 150.0F + 100.0F * (float)cos(0.3 * j + frame));
    bb_command_loop_set_slopes(self->loop, self->slopes);
}

static void open_loop(rig *self, int devices)
{
    bb_device *const places[DEVICES] = {cpu, cpu, cpu};
    const float *means[DEVICES][MATRICES];
    const float *scales[MATRICES];
    bb_command_system systems[DEVICES];
    for (int d = 0; d < devices; ++d) {
        for (int t = 0; t < MATRICES; ++t) {
            const bb_command_share share = bb_command_share_of(rows_of[t], devices, d);
            check_ok(bb_coded_operator_create_rows(cpu, self->matrices[t], share.first, share.count,
                                                   arithmetic, &self->operators[d][t]));
            means[d][t] = self->means[t] + share.first * GROUPS;
            scales[t] = self->scales[t];
        }
        systems[d] = (bb_command_system){.matrix_count = MATRICES,
                                         .operators = self->operators[d],
                                         .group_count = GROUPS,
                                         .group_begin = group_begin,
                                         .means = means[d],
                                         .scales = scales,
                                         .gain = 0.4,
                                         .delay = 1};
    }
    check_ok(bb_command_loop_create(devices, places, systems, &self->loop));
}

static void close_loop(rig *self)
{
    bb_command_loop_destroy(&self->loop);
    for (int d = 0; d < DEVICES; ++d) {
        for (int t = 0; t < MATRICES; ++t) {
            bb_coded_operator_destroy(&self->operators[d][t]);
        }
    }
}

static void rig_release(rig *self)
{
    close_loop(self);
    for (int t = 0; t < MATRICES; ++t) {
        bb_coded_matrix_destroy(&self->matrices[t]);
    }
}

TEST(shares_cover_all_rows)
{
    for (bb_index rows = 1; rows < 40; ++rows) {
        for (int devices = 1; devices <= (int)BB_COMMAND_DEVICES; ++devices) {
            bb_index next = 0;
            for (int d = 0; d < devices; ++d) {
                const bb_command_share share = bb_command_share_of(rows, devices, d);
                assert_int_equal(share.first, next);
                assert_true(share.count == rows / devices || share.count == rows / devices + 1);
                next += share.count;
            }
            assert_int_equal(next, rows);
        }
    }
}

// Including means, scales, delay and controller; pending frames, with a reset in between.
TEST(all_devices_together_have_the_bits_of_one)
{
    float one[COMMANDS], commands[COMMANDS];
    autocall(rig_release) rig self;
    rig_make(&self, 1.0);
    for (int devices = 1; devices <= DEVICES; ++devices) {
        bb_command_frame frame;
        open_loop(&self, devices);
        put(&self, 9);
        check_ok(bb_command_loop_step(self.loop, 0, &frame));
        check_ok(bb_command_loop_reset(self.loop));
        for (int k = 0; k < 4; ++k) {
            put(&self, k);
            check_ok(bb_command_loop_arm(self.loop));
            check_ok(bb_command_loop_post(self.loop, 0));
        }
        check_fails(bb_command_loop_step(self.loop, 0, &frame), BB_INVALID, "4 frames are pending");
        for (int k = 0; k < 4; ++k) {
            check_ok(bb_command_loop_wait(self.loop, &frame));
            assert_true(frame.slopes_finite && frame.products_finite);
        }
        bb_command_loop_commands(self.loop, commands);
        if (devices == 1) {
            memcpy(one, commands, sizeof one);
            assert_true(fabsf(one[COMMANDS - 1]) > 0.0F);
        }
        assert_memory_equal(one, commands, sizeof one);
        close_loop(&self);
    }
}

// A value near fp32's maximum times a slope is not representable as a command.
TEST(a_device_holds_its_own_rows)
{
    float before[COMMANDS], after[COMMANDS];
    bb_command_frame frame;
    autocall(rig_release) rig self;
    rig_make(&self, 3e38);
    open_loop(&self, 2);
    for (int k = 0; k < 2; ++k) { // the commands of the second loop equal those of the first
        put(&self, 0);
        check_ok(bb_command_loop_step(self.loop, 0, &frame));
        assert_true(frame.slopes_finite && !frame.products_finite);
    }
    bb_command_loop_commands(self.loop, before);
    for (int t = 0, row = 0; t < MATRICES; ++t) {
        for (bb_index i = 0; i < rows_of[t]; ++i, ++row) {
            const bool held = i >= bb_command_share_of(rows_of[t], 2, 1).first;
            assert_true((before[row] == 0.0F) == held);
        }
    }
    self.slopes[7] = NAN;
    bb_command_loop_set_slopes(self.loop, self.slopes);
    check_ok(bb_command_loop_step(self.loop, 0, &frame));
    assert_true(!frame.slopes_finite);
    bb_command_loop_set_slopes(self.loop, self.slopes);
    check_ok(bb_command_loop_step(self.loop, 0, &frame));
    bb_command_loop_commands(self.loop, after);
    bb_command_loop_set_slopes(self.loop, self.slopes);
    check_ok(bb_command_loop_step(self.loop, 0, &frame));
    bb_command_loop_commands(self.loop, before);
    assert_memory_equal(before, after, sizeof after);
}

// CPU loops run one after the other, so the last ends last. With one clock, which advances when it
// is read, no device is ahead.
TEST(a_frame_ends_with_its_last_device)
{
    enum { READINGS = BB_COMMAND_STAGES + 2 * MATRICES };
    const int64_t release = 2000000000;
    bb_command_frame frame;
    autocall(rig_release) rig self;
    rig_make(&self, 1.0);
    manual_clock_start();
    open_loop(&self, DEVICES);
    put(&self, 0);
    check_ok(bb_command_loop_step(self.loop, release, &frame));
    assert_int_equal(frame.end_ns,
                     release + (DEVICES * (READINGS + 1) - 1) * (int64_t)MANUAL_READING_NS);
    assert_int_equal(frame.begin_ns, frame.end_ns - READINGS * (int64_t)MANUAL_READING_NS);
    manual_clock_stop();
}

// Times are those of the first device; each device is released by its own clock and counts from
// there.
TEST(clocks_differ)
{
    const int64_t release = 2000000000;
    bb_command_frame frame;
    autocall(rig_release) rig self;
    rig_make(&self, 1.0);
    manual_clock_start();
    open_loop(&self, 2);
    assert_true(self.loop->ahead_ns[0] == 0 && self.loop->ahead_ns[1] == 0);
    self.loop->ahead_ns[1] = 1000000;
    put(&self, 0);
    check_ok(bb_command_loop_step(self.loop, release, &frame));
    assert_int_equal(frame.begin_ns, release);
    assert_true(manual_clock_read() > release + 1000000);
    put(&self, 0);
    self.loop->ahead_ns[1] = INT64_C(1) << 40; // a release on this clock would be far in the future
    check_ok(bb_command_loop_step(self.loop, 0, &frame));
    assert_true(manual_clock_read() < release + 100000000);
    assert_true(frame.end_ns - frame.begin_ns < 100000);
    check_ok(bb_command_loop_read_clocks(self.loop));
    assert_int_equal(self.loop->ahead_ns[1], 0);
    manual_clock_stop();
}

TEST(a_reset_forgets_what_is_posted)
{
    bb_command_frame frame;
    autocall(rig_release) rig self;
    rig_make(&self, 1.0);
    open_loop(&self, 2);
    put(&self, 0);
    check_ok(bb_command_loop_post(self.loop, 0));
    check_ok(bb_command_loop_reset(self.loop));
    put(&self, 0);
    check_ok(bb_command_loop_step(self.loop, 0, &frame));
}

TEST(what_does_not_fit_is_refused)
{
    autocall(rig_release) rig self;
    rig_make(&self, 1.0);
    open_loop(&self, 2);
    bb_device *const places[2] = {cpu, cpu};
    const bb_command_system all_rows = {
        .matrix_count = 2, .operators = self.operators[0], .gain = 1.0};
    const bb_command_system one_matrix = {
        .matrix_count = 1, .operators = self.operators[1], .gain = 1.0};
    const bb_command_system systems[2] = {all_rows, one_matrix};
    bb_command_loop *loop = NULL;
    check_fails(bb_command_loop_create(2, places, systems, &loop), BB_INVALID,
                "device 1 of a frame has 1 matrices, but the first has 2");
    check_fails(bb_command_loop_create(9, places, systems, &loop), BB_INVALID,
                "9 devices per frame, expected 1 to 8");
}

TEST_GROUP(.begin = open_cpu, .end = close_cpu);
