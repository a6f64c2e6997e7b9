// SPDX-License-Identifier: Apache-2.0
#include "tests/solvers/unwrap/detected.h"

// Weights of phase steps of a quarter cycle from 0.
static bb_unwrap_detection_config four_steps(bb_format arithmetic)
{
    return (bb_unwrap_detection_config){.arithmetic = arithmetic,
                                        .frames = 4,
                                        .cosines = {0.5, 0.0, -0.5, 0.0},
                                        .sines = {0.0, -0.5, 0.0, 0.5}};
}

// All angles, at radii from one count to the maximum of a 16-bit camera, against the C library.
static void check_angles(bb_format arithmetic, double bound)
{
    enum { COLUMNS = 1000, ROWS = 5, POINTS = COLUMNS * ROWS };
    static const double radii[] = {1.0, 7.0, 100.0, 4000.0, 32767.0};
    const bb_unwrap_detection_config config = four_steps(arithmetic);
    static uint16_t frames[4 * POINTS];
    static unsigned char mask[POINTS];
    for (int p = 0; p < POINTS; ++p) {
        const double angle = 2.0 * M_PI * (p % COLUMNS) / COLUMNS;
        const int32_t c = (int32_t)rint(radii[p / COLUMNS] * cos(angle));
        const int32_t s = (int32_t)rint(radii[p / COLUMNS] * sin(angle));
        mask[p] = 1;
        frames[p] = (uint16_t)(32768 + c);
        frames[POINTS + p] = (uint16_t)(32768 - s);
        frames[2 * POINTS + p] = (uint16_t)(32768 - c);
        frames[3 * POINTS + p] = (uint16_t)(32768 + s);
    }
    autofree double *phase = detect(&config, mask, COLUMNS, ROWS, frames);
    for (int p = 0; p < POINTS; ++p) {
        const double truth =
            atan2((double)(frames[3 * POINTS + p] - 32768), (double)(frames[p] - 32768));
        check_close(phase[p], truth, bound, 1.0);
    }
}

TEST(four_frames_give_the_angle)
{
    check_angles(BB_FORMAT_FP64, 1e-11);
    check_angles(BB_FORMAT_FP32, 5e-7);
}

// Neighbours share a word: extreme 16-bit values next to each other, in fields with odd and even
// numbers of pixels. With a window of one pixel the phase is the carrier's, shifted by half a cycle
// where the pixel is darker than the mean.
static void check_halves(bb_index columns, bb_index rows)
{
    static const uint16_t levels[] = {65535, 0, 32768, 65534, 1, 32767, 65535};
    enum { LEVELS = sizeof levels / sizeof levels[0] };
    const bb_unwrap_detection_config config = {.arithmetic = BB_FORMAT_FP64,
                                               .frames = 1,
                                               .carrier_x = 0.21,
                                               .carrier_y = 0.03,
                                               .window_px = 1,
                                               .window = {1.0}};
    const bb_index points = columns * rows;
    autofree uint16_t *frame = new_zeros(uint16_t, points);
    autofree unsigned char *mask = new_zeros(unsigned char, points);
    double mean = 0.0;
    for (bb_index p = 0; p < points; ++p) {
        mask[p] = 1;
        frame[p] = levels[(p + p / LEVELS) % LEVELS];
        mean += (double)frame[p] / (double)points;
    }
    autofree double *phase = detect(&config, mask, columns, rows, frame);
    for (bb_index p = 0; p < points; ++p) {
        const double swing = (double)frame[p] - mean;
        const double angle =
            2.0 * M_PI *
            (config.carrier_x * (double)(p % columns) + config.carrier_y * (double)(p / columns));
        const double truth = atan2(-swing * sin(angle), swing * cos(angle));
        check_close(cos(phase[p] - truth), 1.0, 1e-9, 1.0);
    }
}

TEST(halves_of_words_are_pixels)
{
    check_halves(63, 47);
    check_halves(64, 46);
    check_halves(5, 1);
    check_halves(1, 5);
}

TEST(frames_that_are_alike_have_angle_zero)
{
    const bb_unwrap_detection_config config = four_steps(BB_FORMAT_FP32);
    const unsigned char mask[2] = {1, 1};
    const uint16_t frames[8] = {9, 0, 9, 0, 9, 0, 9, 0};
    autofree double *phase = detect(&config, mask, 2, 1, frames);
    assert_true(phase[0] == 0.0 && phase[1] == 0.0);
}

TEST(what_cannot_be_is_refused)
{
    const unsigned char mask[1] = {1};
    bb_unwrap_field wrapped = {.columns = 1, .rows = 1, .format = BB_FORMAT_FP32};
    bb_unwrap_detection *detection = NULL;
    bb_unwrap_detection_config config = {.arithmetic = BB_FORMAT_FP32, .frames = 5};
    check_fails(bb_unwrap_detection_create(context, &config, mask, &wrapped, &detection),
                BB_INVALID, "phase detection from 5 frames: use 4, or 1 with a carrier");
    config.frames = 1;
    config.window_px = 8;
    check_fails(bb_unwrap_detection_create(context, &config, mask, &wrapped, &detection),
                BB_INVALID, "window of 8 pixels: use an odd number of at most 63");
    assert_null(detection);
}

TEST_GROUP(.enter = open_context, .leave = close_context, .threads = 2);
