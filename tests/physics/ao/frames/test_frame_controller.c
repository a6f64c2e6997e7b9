// SPDX-License-Identifier: Apache-2.0
//
// The frame controller on small matrices, with results by hand.
#include "physics/ao/frames/time_domain.h"
#include "tests/check.h"

enum { ROWS = 2, SLOPES = 3, FRAMES = 12 };
static const double q[ROWS * SLOPES] = {0.5, -1.0, 0.25, 2.0, 0.125, -0.75};
static const double seen[SLOPES * ROWS] = {1.5, -0.5, 0.75, 0.3, -1.1, 0.9};

static double slope(int frame, int i)
{
    return sin(1.0 + 0.7 * frame + 2.1 * i * i);
}

static bb_control_law law_of(double gain, double delay, double exposure, const double *echo)
{
    return (bb_control_law){.rows = ROWS,
                            .slopes = SLOPES,
                            .q = q,
                            .seen = echo,
                            .gain = gain,
                            .delay = delay,
                            .exposure = exposure};
}

// c_k = sum_j g (1 - g)^j u_(k-j), where the first estimate has the remaining weight.
TEST(commands_are_weighted_estimates)
{
    static const double gains[] = {1.0, 0.6, 0.25};
    for (int g = 0; g < 3; ++g) {
        const bb_control_law law = law_of(gains[g], 2.4, 0.0, NULL);
        autorelease(bb_frame_controller) loop = new_struct(bb_frame_controller, &law);
        for (int run = 0; run < 2; ++run) { // a restart clears the state
            bb_frame_controller_restart(&loop);
            for (int k = 0; k < FRAMES; ++k) {
                const double frame[SLOPES] = {slope(k, 0), slope(k, 1), slope(k, 2)};
                const double *command = bb_frame_controller_step(&loop, frame);
                for (int r = 0; r < ROWS; ++r) {
                    double expected = 0.0;
                    for (int j = 0; j <= k; ++j) {
                        const double weight = pow(1.0 - gains[g], j) * (j == k ? 1.0 : gains[g]);
                        for (int i = 0; i < SLOPES; ++i) {
                            expected += weight * q[r * SLOPES + i] * slope(k - j, i);
                        }
                    }
                    check_close(command[r], expected, 1e-14, 4.0);
                }
            }
        }
    }
}

// Pseudo-open loop: the mirrors' contribution is added back exactly, so that it cancels.
TEST(closed_and_open_loops_command_alike)
{
    static const double times[][3] = {
        {1.0, 1.0, 0.0}, {1.0, 2.5, 1.0}, {0.3, 0.7, 1.0}, {0.5, 3.0, 0.5}, {1.0, 0.01, 0.0}};
    for (size_t c = 0; c < sizeof times / sizeof *times; ++c) {
        const bb_control_law open = law_of(times[c][0], times[c][1], times[c][2], NULL);
        const bb_control_law closed = law_of(times[c][0], times[c][1], times[c][2], seen);
        autorelease(bb_frame_controller) a = new_struct(bb_frame_controller, &open);
        autorelease(bb_frame_controller) b = new_struct(bb_frame_controller, &closed);
        for (int k = 0; k < FRAMES; ++k) {
            const double frame[SLOPES] = {slope(k, 0), slope(k, 1), slope(k, 2)};
            const double *expected = bb_frame_controller_step(&a, frame);
            const double *got = bb_frame_controller_step(&b, frame);
            check_close(got[0], expected[0], 1e-14, 4.0);
            check_close(got[1], expected[1], 1e-14, 4.0);
        }
        assert_true(fabs(b.echo[0]) > 0.01); // the mirrors are measured
    }
}

// Mean command on the mirrors over an exposure, against 2000 time steps.
TEST(an_exposure_sees_commands_as_they_arrive)
{
    enum { STEPS = 2000 };
    static const double times[][2] = {{1.0, 0.0}, {2.0, 0.0},  {1.3, 0.0}, {1.0, 1.0},
                                      {0.5, 0.6}, {2.25, 1.0}, {1.75, 0.5}};
    for (size_t c = 0; c < sizeof times / sizeof *times; ++c) {
        const double delay = times[c][0];
        const double exposure = times[c][1];
        const bb_control_law law = law_of(1.0, delay, exposure, seen);
        double sent[FRAMES];
        autorelease(bb_frame_controller) loop = new_struct(bb_frame_controller, &law);
        for (int k = 0; k < FRAMES; ++k) {
            const double frame[SLOPES] = {slope(k, 0), slope(k, 1), slope(k, 2)};
            sent[k] = bb_frame_controller_step(&loop, frame)[0];
            double expected = 0.0;
            for (int s = 0; s < STEPS; ++s) {
                const double time = k + exposure * ((s + 0.5) / STEPS - 0.5);
                const int newest = (int)floor(time - delay + 1e-12);
                expected += newest >= 0 ? sent[newest] / STEPS : 0.0;
            }
            check_close(loop.applied[0], expected, 2.0 / STEPS, 2.0);
        }
    }
}

TEST(a_loop_without_time_is_refused)
{
    static const struct {
        double gain, delay, exposure;
        bool closed;
    } bad[] = {{0.0, 1.0, 0.0, false}, {1.5, 1.0, 0.0, false}, {1.0, 0.2, 0.5, false},
               {1.0, 0.0, 0.0, true},  {1.0, 0.25, 0.5, true}, {1.0, 2.0, 1.1, false}};
    for (size_t c = 0; c < sizeof bad / sizeof *bad; ++c) {
        const bb_control_law law =
            law_of(bad[c].gain, bad[c].delay, bad[c].exposure, bad[c].closed ? seen : NULL);
        bb_frame_controller loop = {0};
        assert_int_equal(bb_frame_controller_create(&law, &loop), BB_INVALID);
    }
    const bb_control_law instant = law_of(1.0, 0.0, 0.0, NULL);
    autorelease(bb_frame_controller) loop = new_struct(bb_frame_controller, &instant);
}
