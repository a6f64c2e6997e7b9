// SPDX-License-Identifier: Apache-2.0
//
// Frames of a command loop on one device against the same algebra in fp64: products within the
// bound of their operator, filtering of means, rounding of slopes, the closed form of the
// controller, non-finite values, and pending frames. The test program opens the device.
#ifndef BB_TESTS_SOLVERS_LOOP_COMMAND_LOOP_CASES_H
#define BB_TESTS_SOLVERS_LOOP_COMMAND_LOOP_CASES_H

#include "solvers/loop/command_loop.h"
#include "solvers/operator/coded_operator.h"
#include "tests/precision/coded.h"
#include "tests/solvers/dense.h"

enum { ROWS = 37, COLUMNS = 9013, GROUPS = 3, MATRICES = 2 }; // more than a GPU block holds

static const bb_index group_begin[GROUPS + 1] = {0, 100, 101, COLUMNS};

// Matrices in a storage, decoded, and their loop.
typedef struct rig {
    bb_coded_matrix *matrix[MATRICES];
    bb_coded_operator *operators[MATRICES];
    bb_command_loop *loop;
    double *stored[MATRICES]; // [ROWS][COLUMNS]
    float *means[MATRICES];   // [ROWS][GROUPS]
    float reference[COLUMNS];
    float slopes[COLUMNS];           // of later frames
    float commands[MATRICES * ROWS]; // of the last frame of `loop`
    bb_sum_rounding rounding;
} rig;

static bb_device *device; // of the program
static const char *storage_text = "fp16";

static inline void code(rig *self, int t)
{
    const bb_matrix_layout layout = {.rows = ROWS, .columns = COLUMNS, .range = 10.0};
    const bb_gemv_arithmetic arithmetic = {BB_FORMAT_FP32, BB_FORMAT_FP32};
    bb_codec_config codec = codec_of(storage_text);
    const bb_row_scale scale =
        bb_codec_allows_row_scale(&codec) ? BB_ROW_SCALE_ROW : BB_ROW_SCALE_NONE;
    self->stored[t] = dense_new((bb_index)ROWS * COLUMNS);
    dense_random((bb_index)ROWS * COLUMNS, (uint64_t)(7 + t), self->stored[t]);
    check_ok(bb_coded_matrix_create(&codec, scale, &layout, &self->matrix[t]));
    check_ok(
        bb_coded_matrix_encode(self->matrix[t], 0, bb_view_matrix(self->stored[t], ROWS, COLUMNS)));
    for (bb_index row = 0; row < ROWS; ++row) {
        double *values = self->stored[t] + row * COLUMNS;
        bb_coded_matrix_decode(self->matrix[t], row, 0, COLUMNS, values);
        for (bb_index j = 0; j < COLUMNS; ++j) {
            values[j] /= bb_coded_matrix_row_scale(self->matrix[t], row);
        }
    }
    check_ok(bb_coded_operator_create(device, self->matrix[t], arithmetic, &self->operators[t]));
    self->rounding = bb_coded_operator_rounding(&codec, arithmetic, 1, COLUMNS);
}

static inline void rig_open(rig *self, bb_command_system system)
{
    *self = (rig){0};
    for (int t = 0; t < MATRICES; ++t) {
        code(self, t);
        check_ok(BB_ALLOCATE((bb_index)ROWS * GROUPS, &self->means[t]));
        for (bb_index i = 0; i < (bb_index)ROWS * GROUPS; ++i) {
            self->means[t][i] =
                (float)bb_random_normal((uint64_t)(90 + t), BB_STREAM_SELF_TEST, (uint64_t)i);
        }
    }
    for (bb_index j = 0; j < COLUMNS; ++j) {
        self->reference[j] = (float)bb_random_normal(3, BB_STREAM_SELF_TEST, (uint64_t)j);
    }
    system.matrix_count = MATRICES;
    system.operators = self->operators;
    system.reference = self->reference;
    system.group_begin = group_begin;
    system.means = (const float *const *)self->means;
    system.gain = system.gain == 0.0 ? 1.0 : system.gain;
    check_ok(bb_command_loop_create(1, &device, &system, &self->loop));
}

static inline void rig_close(rig *self)
{
    bb_command_loop_destroy(&self->loop);
    for (int t = 0; t < MATRICES; ++t) {
        bb_coded_operator_destroy(&self->operators[t]);
        bb_coded_matrix_destroy(&self->matrix[t]);
        BB_RELEASE(&self->stored[t]);
        BB_RELEASE(&self->means[t]);
    }
}

static inline void put_slopes(rig *self, uint64_t seed)
{
    for (bb_index j = 0; j < COLUMNS; ++j) {
        self->slopes[j] =
            2.0F + (float)bb_random_normal(seed, BB_STREAM_SELF_TEST, (uint64_t)(1000 + j));
    }
}

static inline void step(rig *self, bb_command_loop *loop, bb_command_frame *frame)
{
    bb_command_loop_set_slopes(loop, self->slopes);
    check_ok(bb_command_loop_step(loop, 0, frame));
}

static inline const float *commands_of(rig *self)
{
    bb_command_loop_commands(self->loop, self->commands);
    return self->commands;
}

static inline const float *run(rig *self)
{
    bb_command_frame frame;
    step(self, self->loop, &frame);
    assert_true(frame.slopes_finite && frame.products_finite);
    for (int stage = 0; stage < BB_COMMAND_STAGES; ++stage) {
        assert_true(frame.seconds[stage] >= 0.0);
    }
    return commands_of(self);
}

// x of a frame in fp64: slopes minus the reference, minus the means of their groups if `means` is
// set.
static inline void expect_x(rig *self, double *x, double *means)
{
    fill_array(x, COLUMNS, j, (double)(self->slopes[j] - self->reference[j]));
    for (int k = 0; means != NULL && k < GROUPS; ++k) {
        means[k] = 0.0;
        for (bb_index j = group_begin[k]; j < group_begin[k + 1]; ++j) {
            means[k] += x[j] / (double)(group_begin[k + 1] - group_begin[k]);
        }
        for (bb_index j = group_begin[k]; j < group_begin[k + 1]; ++j) {
            x[j] -= means[k];
        }
    }
}

// Commands against stored x + M means, within the bound of the products plus the fp32 rounding of x
// and commands (`slack`, relative).
static inline void check_matrix(rig *self, int t, const float *commands, const double *x,
                                const double *means, double slack)
{
    for (bb_index i = 0; i < ROWS; ++i) {
        double y = 0.0;
        double magnitude = 0.0;
        for (bb_index j = 0; j < COLUMNS; ++j) {
            y += self->stored[t][i * COLUMNS + j] * x[j];
            magnitude += fabs(self->stored[t][i * COLUMNS + j] * x[j]);
        }
        for (int k = 0; means != NULL && k < GROUPS; ++k) {
            y += (double)self->means[t][i * GROUPS + k] * means[k];
            magnitude += fabs((double)self->means[t][i * GROUPS + k] * means[k]);
        }
        check_close((double)commands[t * ROWS + i], y,
                    (self->rounding.relative + slack) * magnitude + fabs(y) * 0x1p-24, 1.0);
    }
}

static inline void check_products(rig *self, const float *commands, const double *x,
                                  const double *means, double slack)
{
    for (int t = 0; t < MATRICES; ++t) {
        check_matrix(self, t, commands, x, means, slack);
    }
}

TEST(products_are_those_of_fp64)
{
    static const char *const storages[] = {"fp16", "fp32", "integer bits=8", "bfp bits=8",
                                           "quantiser tolerance=0.02"};
    for (size_t s = 0; s < sizeof storages / sizeof *storages; ++s) {
        rig self;
        double x[COLUMNS];
        storage_text = storages[s];
        bb_codec_config codec = codec_of(storage_text);
        if (bb_codec_absent(&codec, bb_device_kind_of(device)) != NULL) {
            continue;
        }
        rig_open(&self, (bb_command_system){0});
        put_slopes(&self, 11);
        const float *commands = run(&self);
        expect_x(&self, x, NULL);
        check_products(&self, commands, x, NULL, 0.0);
        rig_close(&self);
    }
    storage_text = "fp16";
}

// y = Q P x + (R V) V^+ x, as sim/pipelines/factor_storage.h scores it.
TEST(means_are_multiplied_apart)
{
    autocall(rig_close) rig self;
    double x[COLUMNS];
    double means[GROUPS];
    rig_open(&self, (bb_command_system){.group_count = GROUPS});
    put_slopes(&self, 12);
    const float *commands = run(&self);
    expect_x(&self, x, means);
    assert_true(fabs(means[0]) > 1.0); // the filter removes something
    check_products(&self, commands, x, means, 0x1p-22);
}

// Slopes are divided by the column scales of each matrix, after the filter.
TEST(columns_may_have_scales)
{
    autocall(rig_close) rig self;
    bb_command_frame frame;
    double x[COLUMNS];
    double means[GROUPS];
    double scaled[COLUMNS];
    float values[MATRICES][COLUMNS];
    const float *scales[MATRICES] = {values[0], values[1]};
    rig_open(&self, (bb_command_system){.group_count = GROUPS});
    for (int k = 0; k < MATRICES * COLUMNS; ++k) {
        values[k / COLUMNS][k % COLUMNS] = 0.5F + 0.01F * (float)(k % 171);
    }
    const bb_command_system system = {.matrix_count = MATRICES,
                                      .operators = self.operators,
                                      .reference = self.reference,
                                      .group_count = GROUPS,
                                      .group_begin = group_begin,
                                      .means = (const float *const *)self.means,
                                      .scales = scales,
                                      .gain = 1.0};
    autoptr(bb_command_loop) loop = new_object(bb_command_loop, 1, &device, &system);
    put_slopes(&self, 12);
    step(&self, loop, &frame);
    bb_command_loop_commands(loop, self.commands);
    expect_x(&self, x, means);
    for (int t = 0; t < MATRICES; ++t) {
        fill_array(scaled, COLUMNS, j, x[j] / (double)values[t][j]);
        check_matrix(&self, t, self.commands, scaled, means, 0x1p-21);
    }
}

TEST(slopes_are_rounded_after_the_filter)
{
    autocall(rig_close) rig self;
    double x[COLUMNS];
    double means[GROUPS];
    rig_open(&self,
             (bb_command_system){.group_count = GROUPS, .rounding = {.step = 0.25, .steps = 8.0}});
    put_slopes(&self, 13);
    self.slopes[5] = 90.0F; // clipped to 7 steps
    const float *commands = run(&self);
    expect_x(&self, x, means);
    fill_array(x, COLUMNS, j, fmin(fmax(rint(x[j] / 0.25), -8.0), 7.0) * 0.25);
    assert_true(x[5] == 1.75);
    check_products(&self, commands, x, means, 0x1p-22);
    rig_close(&self);
    rig_open(&self, (bb_command_system){.rounding = {.format = BB_FORMAT_E4M3}});
    put_slopes(&self, 13);
    commands = run(&self);
    expect_x(&self, x, NULL);
    fill_array(x, COLUMNS, j, bb_format_round(BB_FORMAT_E4M3, x[j]));
    check_products(&self, commands, x, NULL, 0.0);
}

// v_k = y (1 - (1 - g)^(k + 1)) for constant slopes, output `delay` frames later.
TEST(the_integrator_has_its_closed_form)
{
    enum { FRAMES = 40, DELAY = 3 };
    autocall(rig_close) rig plain, self;
    float y[MATRICES * ROWS];
    const double gain = 0.3;
    rig_open(&plain, (bb_command_system){0});
    rig_open(&self, (bb_command_system){.gain = gain, .delay = DELAY});
    put_slopes(&plain, 14);
    put_slopes(&self, 14);
    memcpy(y, run(&plain), sizeof y);
    for (int k = 0; k < FRAMES; ++k) {
        const float *commands = run(&self);
        const double share = k < DELAY ? 0.0 : 1.0 - pow(1.0 - gain, k - DELAY + 1);
        for (int i = 0; i < MATRICES * ROWS; ++i) {
            check_close((double)commands[i], share * (double)y[i], 2.0 * 0x1p-24,
                        fabs((double)y[i]));
        }
    }
    check_ok(bb_command_loop_reset(self.loop));
    for (int k = 0; k <= DELAY; ++k) {
        const float *commands = run(&self);
        assert_true(k == DELAY ? commands[0] != 0.0F : commands[0] == 0.0F);
    }
}

// Non-finite values at the input or output leave the commands unchanged.
TEST(what_is_not_finite_holds_the_commands)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3.4e38F};
    for (int rounded = 0; rounded < 2; ++rounded) {
        autocall(rig_close) rig self;
        float before[MATRICES * ROWS];
        bb_command_frame frame;
        rig_open(&self, (bb_command_system){.group_count = rounded * GROUPS,
                                            .rounding = {.step = rounded * 0.25, .steps = 8.0}});
        put_slopes(&self, 30);
        memcpy(before, run(&self), sizeof before);
        for (size_t b = 0; b < sizeof bad / sizeof *bad - (size_t)rounded; ++b) {
            put_slopes(&self, 31);
            self.slopes[COLUMNS - 1] = bad[b];
            step(&self, self.loop, &frame);
            assert_int_equal(frame.slopes_finite, b == 3);
            assert_true(b == 3 ? !frame.products_finite : frame.products_finite);
            assert_memory_equal(before, commands_of(&self), sizeof before);
        }
        put_slopes(&self, 31);
        assert_memory_not_equal(before, run(&self), sizeof before);
    }
}

// Slopes of pending frame k; those of frame 9 are not finite.
static inline void put_frame(rig *self, int k)
{
    put_slopes(self, (uint64_t)(50 + k));
    self->slopes[7] = k == 9 ? NAN : self->slopes[7];
}

static inline void post_frame(rig *self, int k)
{
    put_frame(self, k);
    bb_command_loop_set_slopes(self->loop, self->slopes);
    check_ok(bb_command_loop_post(self->loop, 0));
}

// For any number of pending frames, armed early or not, each frame has its own slopes, commands and
// flags: those of frames run one by one, over several turns of the ring.
TEST(frames_posted_ahead_are_those_one_by_one)
{
    enum { FRAMES = 3 * BB_COMMAND_AHEAD + 5 };
    static const int aheads[] = {1, 2, BB_COMMAND_AHEAD - 1, BB_COMMAND_AHEAD};
    static float expected[FRAMES][MATRICES * ROWS];
    autocall(rig_close) rig self;
    bb_command_frame frame;
    rig_open(&self, (bb_command_system){.group_count = GROUPS, .gain = 0.6, .delay = 2});
    for (int k = 0; k < FRAMES; ++k) {
        put_frame(&self, k);
        step(&self, self.loop, &frame);
        assert_int_equal(frame.slopes_finite, k != 9);
        memcpy(expected[k], commands_of(&self), sizeof *expected);
        // Two frames late, the commands of frame 9 are held.
        assert_int_equal(k == 0 || memcmp(expected[k], expected[k - 1], sizeof *expected) == 0,
                         k < 2 || k == 11);
    }
    for (size_t a = 0; a < sizeof aheads / sizeof *aheads; ++a) {
        int64_t end = 0;
        int posted = 0;
        check_ok(bb_command_loop_reset(self.loop));
        for (int k = 0; k < FRAMES; ++k) {
            for (; posted < FRAMES && posted < k + aheads[a]; ++posted) {
                post_frame(&self, posted);
            }
            if (k % 5 == 0) {
                check_ok(bb_command_loop_arm(self.loop));
            }
            check_ok(bb_command_loop_wait(self.loop, &frame));
            assert_int_equal(frame.slopes_finite, k != 9);
            assert_memory_equal(commands_of(&self), expected[k], sizeof *expected);
            assert_true(frame.begin_ns >= end && frame.end_ns >= frame.begin_ns);
            end = frame.end_ns;
        }
    }
}

// A frame cannot be posted into an occupied slot, nor received before it is posted; a reset
// discards pending frames.
TEST(frames_are_posted_taken_and_lost_in_order)
{
    autocall(rig_close) rig self;
    bb_command_frame frame;
    float first[MATRICES * ROWS];
    rig_open(&self, (bb_command_system){.gain = 0.6, .delay = 1});
    check_fails(bb_command_loop_wait(self.loop, &frame), BB_INVALID,
                "no frame is pending: post one before receiving");
    for (int k = 0; k < 2; ++k) {
        put_frame(&self, k);
        step(&self, self.loop, &frame);
    }
    memcpy(first, commands_of(&self), sizeof first);
    for (int posted = 1; posted <= BB_COMMAND_AHEAD; posted += 5) {
        check_ok(bb_command_loop_reset(self.loop));
        for (int k = 0; k < posted; ++k) {
            post_frame(&self, 2 + k);
        }
        check_fails(bb_command_loop_step(self.loop, 0, &frame), BB_INVALID,
                    "frames are pending: receive all of them before a step");
    }
    check_fails(bb_command_loop_post(self.loop, 0), BB_INVALID,
                "16 frames are pending: receive one before posting the next");
    check_ok(bb_command_loop_arm(self.loop));
    check_ok(bb_command_loop_reset(self.loop));
    check_fails(bb_command_loop_wait(self.loop, &frame), BB_INVALID, "no frame is pending");
    // Restart from rest.
    for (int k = 0; k < 2; ++k) {
        put_frame(&self, k);
        step(&self, self.loop, &frame);
    }
    assert_memory_equal(commands_of(&self), first, sizeof first);
    post_frame(&self, 2); // not received before the loop ends
}

TEST(what_does_not_fit_is_refused)
{
    autocall(rig_close) rig self;
    bb_command_loop *loop = NULL;
    static const bb_index gap[] = {0, 100, COLUMNS - 1};
    static const bb_index empty[] = {0, 0, COLUMNS};
    rig_open(&self, (bb_command_system){0});
    bb_command_system system = {.matrix_count = 1, .operators = self.operators, .gain = 1.0};
    system.gain = 0.0;
    check_fails(bb_command_loop_create(1, &device, &system, &loop), BB_INVALID,
                "controller gain 0 is outside (0, 1]");
    system.gain = 1.0;
    system.delay = -1;
    check_fails(bb_command_loop_create(1, &device, &system, &loop), BB_INVALID,
                "delay of -1 frames is outside 0 to 1000");
    system.delay = 0;
    system.group_count = 2;
    system.group_begin = gap;
    check_fails(bb_command_loop_create(1, &device, &system, &loop), BB_INVALID,
                "slope groups span 0 to 9012; they must cover all 9013 slopes");
    system.group_begin = empty;
    check_fails(bb_command_loop_create(1, &device, &system, &loop), BB_INVALID,
                "slope group 0 spans 0 to 0; it needs at least one slope");
    system.matrix_count = 0;
    check_fails(bb_command_loop_create(1, &device, &system, &loop), BB_INVALID,
                "0 matrices per frame, expected 1 to 16");
}

#endif
