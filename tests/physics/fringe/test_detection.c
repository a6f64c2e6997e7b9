// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/detection.h"
#include "tests/physics/fringe/cases.h"

typedef struct measurement {
    bb_scene *scene;
    bb_frames *frames;
    double *phase, *modulation;
} measurement;

static measurement measure(const bb_fringe_config *config, uint64_t seed, bb_index draw)
{
    measurement m = {.scene = make_scene(config, seed, draw)};
    check_ok(bb_frames_create(config, m.scene, seed, draw, &m.frames));
    m.phase = make_plane(m.scene);
    m.modulation = make_plane(m.scene);
    check_ok(bb_detection_run(&config->detection, m.frames, m.phase, m.modulation));
    return m;
}

static void release(measurement *m)
{
    bb_scene_destroy(&m->scene);
    bb_frames_destroy(&m->frames);
    BB_RELEASE(&m->phase);
    BB_RELEASE(&m->modulation);
}

// Detected minus true phase of a pixel, wrapped.
static double error_of(const measurement *m, bb_index i)
{
    return bb_detection_wrap(m->phase[i] - m->scene->phase[i]);
}

static bb_fringe_config slope_case(bb_index columns, bb_index rows)
{
    bb_fringe_config c = fringe_case(columns, rows);
    c.surface.tilt_fringes = (bb_tilt_config){.x = 3.7, .y = -1.3};
    return c;
}

TEST(phases_are_wrapped_into_their_range)
{
    check_close(bb_detection_wrap(7.0), 7.0 - 2.0 * M_PI, 1e-15, 1.0);
    check_close(bb_detection_wrap(-7.0), 2.0 * M_PI - 7.0, 1e-15, 1.0);
    assert_true(bb_detection_wrap(3.0) == 3.0);
    assert_true(bb_detection_wrap(M_PI) == M_PI);
    assert_true(bb_detection_wrap(-M_PI) == M_PI);
    assert_true(bb_detection_wrap(3.0 * M_PI) == M_PI);
    assert_true(isnan(bb_detection_wrap(NAN)));
    double phases[] = {2.0 * M_PI, NAN, -4.0};
    bb_detection_wrap_all(3, phases, phases);
    check_close(phases[0], 0.0, 1e-15, 1.0);
    assert_true(isnan(phases[1]));
    check_relative(phases[2], 2.0 * M_PI - 4.0, 1e-15);
}

TEST(frames_without_noise_give_the_phase)
{
    static const bb_index steps[] = {3, 4, 5, 7, 16};
    bb_fringe_config c = slope_case(53, 31);
    c.camera.contrast = 0.6;
    c.camera.mean = 0.4;
    c.pupil.dead_share = 0.1;
    for (int s = 0; s < 10; ++s) {
        c.detection.steps = steps[s / 2];
        c.detection.step_rad = s % 2 == 0 ? NAN : 0.9; // also steps that do not divide 2 pi
        autocall(release) measurement m = measure(&c, 2, 0);
        for (bb_index i = 0; i < 53 * 31; ++i) {
            if (m.scene->mask[i] == 0) {
                assert_true(isnan(m.phase[i]) && isnan(m.modulation[i]));
                continue;
            }
            check_close(error_of(&m, i), 0.0, 1e-13, 1.0);
            assert_true(m.phase[i] > -M_PI && m.phase[i] <= M_PI);
            check_relative(m.modulation[i], 0.24, 1e-13);
        }
    }
}

TEST(carre_does_not_ask_for_the_step)
{
    static const double errors[] = {0.0, 0.2, -0.3};
    bb_fringe_config c = slope_case(53, 31);
    c.detection.algorithm = BB_DETECTION_CARRE;
    for (int e = 0; e < 3; ++e) {
        c.detection.step_error = errors[e];
        autocall(release) measurement m = measure(&c, 2, 0);
        for (bb_index i = 0; i < 53 * 31; ++i) {
            check_close(error_of(&m, i), 0.0, 1e-7, 1.0); // square root of a product near 0
            if (errors[e] == 0.0) {
                check_relative(m.modulation[i], 0.45, 1e-7);
            }
        }
    }
    // Beyond 2 pi / 3 per step the first and last frames differ the other way round.
    c.detection.step_error = 0.0;
    c.detection.step_rad = 2.4;
    measurement wide = measure(&c, 2, 0);
    for (bb_index i = 0; i < 53 * 31; ++i) {
        check_close(error_of(&wide, i), 0.0, 1e-7, 1.0);
        check_relative(wide.modulation[i], 0.45, 1e-7);
    }
    release(&wide);
    c.detection.step_rad = NAN;
    // With Carre's formula the step error has no effect; with nominal steps the error is error x
    // 3/2 steps and a ripple.
    c.detection.algorithm = BB_DETECTION_STEPS;
    c.detection.step_error = 0.2;
    autocall(release) measurement m = measure(&c, 2, 0);
    double sum = 0.0;
    for (bb_index i = 0; i < 53 * 31; ++i) {
        sum += error_of(&m, i) / (53.0 * 31.0);
    }
    check_close(sum, 0.2 * 1.5 * 0.5 * M_PI, 0.05, 1.0);
}

// A slope is exact under a window within the data; at edges the phase is that of a point further
// in.
TEST(a_carrier_gives_the_phase)
{
    static const bb_fringe_carrier_config carriers[] = {{.x = 0.25, .y = 0.0, .window_px = 7},
                                                        {.x = 0.125, .y = -0.375, .window_px = 15}};
    for (int k = 0; k < 2; ++k) {
        bb_fringe_config c = slope_case(160, 128);
        c.camera.contrast = 0.6;
        c.camera.mean = 0.4;
        c.detection.algorithm = BB_DETECTION_CARRIER;
        c.detection.carrier = carriers[k];
        autocall(release) measurement m = measure(&c, 2, 0);
        assert_int_equal(m.frames->steps, 1);
        for (bb_index i = 0; i < 160 * 128; ++i) {
            const bb_index x = i % 160, y = i / 160, reach = carriers[k].window_px;
            const bool within = x >= reach && x < 160 - reach && y >= reach && y < 128 - reach;
            check_close(error_of(&m, i), 0.0, within ? 0.03 : 0.8, 1.0);
            if (within) {
                check_close(m.modulation[i], 0.22, 0.03,
                            1.0); // minus a tenth: the slope is off the window's centre
            }
        }
    }
}

TEST(carre_knows_all_quadrants)
{
    bb_fringe_config c = fringe_case(8, 1);
    c.detection.algorithm = BB_DETECTION_CARRE;
    autoptr(bb_scene) scene = make_scene(&c, 1, 0);
    for (int k = 0; k < 8; ++k) {
        scene->phase[k] = M_PI * (k - 3) / 4.0; // -3/4 pi .. pi
    }
    double phase[8];
    autoptr(bb_frames) frames = new_object(bb_frames, &c, scene, 1, 0);
    check_close(frames->steps_rad[0], -0.75 * M_PI, 1e-15, 1.0);
    check_ok(bb_detection_run(&c.detection, frames, phase, NULL));
    for (int k = 0; k < 8; ++k) {
        check_close(bb_detection_wrap(phase[k] - scene->phase[k]), 0.0, 1e-7, 1.0);
    }
}

TEST(levels_bound_the_error)
{
    bb_fringe_config c = slope_case(101, 77);
    c.detection.steps = 4;
    bb_index saturated = -1;
    for (bb_index bits = 4; bits <= 16; bits += 4) {
        const double level = 1.0 / (double)((1 << bits) - 1);
        autocall(release) measurement m = measure(&c, 2, 0);
        bb_frames_quantise(m.frames, bits, &saturated);
        assert_int_equal(saturated, 0);
        double worst = 0.0;
        for (bb_index i = 0; i < 4 * 101 * 77; ++i) {
            const double steps = m.frames->intensity[i] / level;
            check_close(steps, rint(steps), 1e-9, 1.0);
        }
        check_ok(bb_detection_run(&c.detection, m.frames, m.phase, NULL));
        for (bb_index i = 0; i < 101 * 77; ++i) {
            worst = fmax(worst, fabs(error_of(&m, i)));
        }
        // a1 and a2 are half of two rounding errors each: at most half a level.
        const double bound = asin(sqrt(2.0) * 0.5 * level / 0.45);
        assert_true(worst <= bound && worst > 0.2 * bound);
    }
}

TEST(what_does_not_fit_saturates_and_is_counted)
{
    double values[] = {-0.1, 0.0, 0.49, 0.5, 0.51, 1.0, 1.2, NAN};
    bb_frames frames = {.steps = 2, .columns = 4, .rows = 1, .intensity = values};
    bb_index saturated = 0;
    double copy[8];
    memcpy(copy, values, sizeof copy);
    bb_frames_quantise(&frames, 1, &saturated);
    assert_int_equal(saturated, 2);
    static const double expected[] = {0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0};
    check_all_close(values, expected, 7, 0.0, 1.0);
    assert_true(isnan(values[7]));
    frames.intensity = copy;
    bb_frames_quantise(&frames, BB_INTEGER_UNSET, NULL);
    assert_true(copy[0] == 0.0 && copy[2] == 0.49 && copy[6] == 1.0 && isnan(copy[7]));
}

TEST(a_pixel_that_is_always_full_has_no_phase)
{
    bb_fringe_config c = slope_case(20, 4);
    c.camera.mean = 5.0;
    c.camera.contrast = 0.5;
    c.detection.least_modulation = 0.0;
    autocall(release) measurement m = measure(&c, 1, 0);
    bb_frames_quantise(m.frames, 8, NULL);
    check_ok(bb_detection_run(&c.detection, m.frames, m.phase, m.modulation));
    for (bb_index i = 0; i < 80; ++i) {
        assert_true(isnan(m.phase[i]));
        check_close(m.modulation[i], 0.0, 1e-14, 1.0);
    }
    release(&m);
    // The threshold applies to the fringe modulation, mean times contrast.
    c.camera.mean = 0.5;
    c.camera.contrast = 0.2;
    c.detection.least_modulation = 0.101;
    m = measure(&c, 1, 0);
    assert_true(isnan(m.phase[7]));
    check_relative(m.modulation[7], 0.1, 1e-12);
    release(&m);
    c.detection.least_modulation = 0.099;
    m = measure(&c, 1, 0);
    check_close(error_of(&m, 7), 0.0, 1e-13, 1.0);
}

TEST(noise_of_frames_becomes_noise_of_the_phase)
{
    bb_fringe_config c = slope_case(151, 100);
    c.camera.noise = 0.01;
    c.camera.contrast = 0.8;
    const double pixels = 151.0 * 100.0;
    for (bb_index steps = 3; steps <= 6; ++steps) {
        c.detection.steps = steps;
        double squares = 0.0;
        double products = 0.0;
        autocall(release) measurement m = measure(&c, 5, 0);
        autocall(release) measurement second = measure(&c, 5, 1);
        for (bb_index i = 0; i < 151 * 100; ++i) {
            squares += error_of(&m, i) * error_of(&m, i) / pixels;
            products += error_of(&m, i) * error_of(&second, i) / pixels;
        }
        const double variance = 2.0 / (double)steps * pow(0.01 / (0.8 * 0.5), 2.0);
        check_relative(squares, variance, 6.0 * sqrt(2.0 / pixels) + 0.003);
        check_close(products, 0.0, 5.0 / sqrt(pixels), variance);
    }
}

TEST(vibration_is_common_to_a_frame)
{
    bb_fringe_config c = fringe_case(16, 9);
    c.camera.vibration_rad = 0.2;
    double sum = 0.0;
    double squares = 0.0;
    for (bb_index draw = 0; draw < 400; ++draw) {
        autocall(release) measurement m = measure(&c, 1, draw);
        for (bb_index n = 0; n < 4; ++n) {
            const double *frame = m.frames->intensity + n * 16 * 9;
            for (bb_index i = 1; i < 16 * 9; ++i) {
                assert_true(frame[i] == frame[0]);
            }
        }
        // At phase 0 and steps of pi / 2 the second and fourth frame contain the error's sine.
        const double error = asin((0.5 - m.frames->intensity[16 * 9]) / 0.45);
        sum += error / 400.0;
        squares += error * error / 400.0;
    }
    check_close(sum, 0.0, 0.05, 1.0);
    check_relative(squares, 0.04, 6.0 * sqrt(2.0 / 400.0));
}

TEST(arguments_are_checked_and_threads_do_not_matter)
{
    bb_fringe_config c = slope_case(70, 50);
    c.camera.noise = 0.02;
    c.camera.vibration_rad = 0.1;
    autocall(release) measurement one = measure(&c, 3, 1);
    check_ok(bb_threads_set(3));
    measurement three = measure(&c, 3, 1);
    bb_threads_stop();
    const size_t bytes = 70 * 50 * sizeof(double);
    assert_memory_equal(one.frames->intensity, three.frames->intensity, 4 * bytes);
    assert_memory_equal(one.phase, three.phase, bytes);
    assert_memory_equal(one.modulation, three.modulation, bytes);
    release(&three);
    bb_frames *frames = NULL;
    c.detection.algorithm = BB_DETECTION_NONE;
    check_fails(bb_frames_create(&c, one.scene, 3, 1, &frames), BB_INVALID, "none uses no frames");
    check_fails(bb_detection_run(&c.detection, one.frames, one.phase, NULL), BB_INVALID,
                "none uses no frames");
    c.detection.algorithm = BB_DETECTION_STEPS;
    c.detection.steps = 5;
    check_fails(bb_detection_run(&c.detection, one.frames, one.phase, NULL), BB_INVALID,
                "4 frames, expected detection.steps = 5");
    c.size.rows = 49;
    check_fails(bb_frames_create(&c, one.scene, 3, 1, &frames), BB_INVALID,
                "a scene of 70 x 50 pixels, expected 70 x 49");
    c.size.rows = 50;
    check_fails(bb_frames_create(&c, one.scene, 3, (bb_index)1 << 31, &frames), BB_INVALID,
                "draw 2147483648");
    for (bb_index k = 1; k <= 3; ++k) {
        bb_memory_fail_at(k);
        assert_int_equal(bb_frames_create(&c, one.scene, 3, 1, &frames), BB_MEMORY);
        bb_memory_fail_at(0);
        assert_null(frames);
    }
}

TEST(steps_have_to_determine_a_phase)
{
    const double turn = 2.0 * M_PI;
    const double even[] = {0.0, 0.5 * M_PI, M_PI, 1.5 * M_PI};
    const double alike[] = {0.4, 0.4 + turn, 2.0, 2.0 - turn};
    const double close[] = {0.0, 0.05, 0.1};
    const double uneven[] = {-3.0, 0.2, 1.1};
    const double broken[] = {0.0, 1.0, NAN};
    check_ok(bb_detection_steps_check(4, even));
    check_ok(bb_detection_steps_check(3, even));
    check_ok(bb_detection_steps_check(3, uneven));
    check_fails(bb_detection_steps_check(2, even), BB_INVALID, "2 steps, expected 3 to 16");
    check_fails(bb_detection_steps_check(4, alike), BB_INVALID, "do not determine a phase");
    check_fails(bb_detection_steps_check(3, close), BB_INVALID, "do not determine a phase");
    check_fails(bb_detection_steps_check(3, broken), BB_INVALID, "step 2 is nan");
}
