// SPDX-License-Identifier: Apache-2.0
#include "tests/solvers/unwrap/detected.h"

// Weights of steps of a quarter of a turn from 0.
static bb_unwrap_detection_config four_steps(bb_format arithmetic)
{
    return (bb_unwrap_detection_config){.arithmetic = arithmetic,
                                        .frames = 4,
                                        .cosines = {0.5, 0.0, -0.5, 0.0},
                                        .sines = {0.0, -0.5, 0.0, 0.5}};
}

// All around, at radii from one count to what a camera of 16 bits has, against the C library.
static void check_angles(bb_format arithmetic, double bound)
{
    enum { COLUMNS = 1000, ROWS = 5, POINTS = COLUMNS * ROWS };
    static const double radii[] = {1.0, 7.0, 100.0, 4000.0, 32767.0};
    const bb_unwrap_detection_config config = four_steps(arithmetic);
    static int32_t frames[4 * POINTS];
    static unsigned char mask[POINTS];
    for (int p = 0; p < POINTS; ++p) {
        const double angle = 2.0 * M_PI * (p % COLUMNS) / COLUMNS;
        const int32_t c = (int32_t)rint(radii[p / COLUMNS] * cos(angle));
        const int32_t s = (int32_t)rint(radii[p / COLUMNS] * sin(angle));
        mask[p] = 1;
        frames[p] = 32768 + c;
        frames[POINTS + p] = 32768 - s;
        frames[2 * POINTS + p] = 32768 - c;
        frames[3 * POINTS + p] = 32768 + s;
    }
    double *phase = detect(&config, mask, COLUMNS, ROWS, frames);
    for (int p = 0; p < POINTS; ++p) {
        const double truth =
            atan2((double)(frames[3 * POINTS + p] - 32768), (double)(frames[p] - 32768));
        check_close(phase[p], truth, bound, 1.0);
    }
    free(phase);
}

static void four_frames_give_the_angle(void **state)
{
    (void)state;
    check_angles(BB_FORMAT_FP64, 1e-11);
    check_angles(BB_FORMAT_FP32, 5e-7);
}

static void frames_that_are_alike_have_angle_zero(void **state)
{
    (void)state;
    const bb_unwrap_detection_config config = four_steps(BB_FORMAT_FP32);
    const unsigned char mask[2] = {1, 1};
    const int32_t frames[8] = {9, 0, 9, 0, 9, 0, 9, 0};
    double *phase = detect(&config, mask, 2, 1, frames);
    assert_true(phase[0] == 0.0 && phase[1] == 0.0);
    free(phase);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const unsigned char mask[1] = {1};
    bb_unwrap_field wrapped = {.columns = 1, .rows = 1, .format = BB_FORMAT_FP32};
    bb_unwrap_detection *detection = NULL;
    bb_unwrap_detection_config config = {.arithmetic = BB_FORMAT_FP32, .frames = 5};
    check_fails(bb_unwrap_detection_create(context, &config, mask, &wrapped, &detection),
                BB_INVALID, "a phase of 5 frames, expected 4, or 1 with a carrier");
    config.frames = 1;
    config.window_px = 8;
    check_fails(bb_unwrap_detection_create(context, &config, mask, &wrapped, &detection),
                BB_INVALID, "a window of 8 pixels, expected an odd number of at most 63");
    assert_null(detection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_frames_give_the_angle),
        cmocka_unit_test(frames_that_are_alike_have_angle_zero),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    const int failures = cmocka_run_group_tests(tests, open_detection, close_detection);
    bb_threads_stop();
    return failures;
}
