// SPDX-License-Identifier: Apache-2.0
//
// Detection on a device, compared with physics in double precision.
#include "physics/fringe/detection.h"
#include "tests/physics/fringe/cases.h"
#include "tests/solvers/unwrap/detected.h"

// Frames of a scene as stored counts, detected on the device and by physics in double precision.
static void check_scene(const bb_fringe_config *physics, bb_unwrap_detection_config config,
                        double bound)
{
    autoptr(bb_scene) scene = make_scene(physics, 3, 0);
    const bb_index points = scene->columns * scene->rows;
    autoptr(bb_frames) frames = new_object(bb_frames, physics, scene, 3, 0);
    bb_frames_quantise(frames, 12, NULL);
    autofree uint16_t *counts = new_zeros(uint16_t, frames->steps * points);
    autofree double *expected = new_zeros(double, points);
    for (bb_index i = 0; i < frames->steps * points; ++i) {
        counts[i] = isnan(frames->intensity[i]) ? 0 : (uint16_t)rint(4095.0 * frames->intensity[i]);
    }
    if (frames->steps == 4) {
        bb_detection_weights(4, frames->steps_rad, config.cosines, config.sines);
        fill_array(config.sines, 4, n, -config.sines[n]);
    }
    config.frames = frames->steps;
    check_ok(bb_detection_run(&physics->detection, frames, expected, NULL));
    autofree double *phase = detect(&config, scene->mask, scene->columns, scene->rows, counts);
    for (bb_index p = 0; p < points; ++p) {
        if (scene->mask[p] != 0) {
            check_close(bb_detection_wrap(phase[p] - expected[p]), 0.0, bound, 1.0);
        }
    }
}

static bb_fringe_config disc_case(void)
{
    bb_fringe_config physics = fringe_case(75, 62);
    physics.surface.tilt_fringes = (bb_tilt_config){.x = 2.7, .y = -1.3};
    physics.pupil.kind = BB_FRINGE_PUPIL_DISC;
    physics.pupil.dead_share = 0.02;
    return physics;
}

TEST(any_step_is_as_in_double)
{
    bb_fringe_config physics = disc_case();
    physics.detection.step_rad = 1.1;
    check_scene(&physics, (bb_unwrap_detection_config){.arithmetic = BB_FORMAT_FP64}, 1e-11);
    check_scene(&physics, (bb_unwrap_detection_config){.arithmetic = BB_FORMAT_FP32}, 2e-6);
}

TEST_FULL(a_carrier_is_as_in_double)
{
    bb_fringe_config physics = disc_case();
    physics.detection.algorithm = BB_DETECTION_CARRIER;
    physics.detection.carrier = (bb_fringe_carrier_config){.x = -0.21, .y = 0.26, .window_px = 9};
    bb_unwrap_detection_config config = {
        .arithmetic = BB_FORMAT_FP64, .carrier_x = -0.21, .carrier_y = 0.26, .window_px = 9};
    bb_detection_carrier_window(9, config.window);
    check_scene(&physics, config, 1e-9);
    config.arithmetic = BB_FORMAT_FP32;
    check_scene(&physics, config, 1e-4);
}

TEST_GROUP(.enter = open_context, .leave = close_context, .threads = 2);
