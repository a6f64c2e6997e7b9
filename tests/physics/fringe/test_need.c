// SPDX-License-Identifier: Apache-2.0
//
// Need estimates of the fringe physics against actual use, with one thread and with three.
#include "physics/fringe/interferogram.h"
#include "physics/fringe/wavefront.h"
#include "tests/need.h"
#include "tests/physics/fringe/cases.h"

static void hold(bb_index threads)
{
    bb_zernike_term terms[] = {{4, 100.0}, {22, 10.0}};
    bb_scene *scene = NULL;
    bb_frames *frames = NULL;
    check_ok(bb_threads_set(threads));
    for (int what = 0; what < 4; ++what) {
        bb_fringe_config c = fringe_case(200, 120);
        c.surface.zernike = (bb_list){.items = terms, .count = 2};
        c.surface.noise_rad = 0.1;
        c.surface.freeform.rms_nm = what & 1 ? 10.0 : 0.0;
        c.surface.spectrum.rms_nm = what & 2 ? 10.0 : 0.0;
        c.surface.residue_pairs.count = 60;
        need_start();
        check_ok(bb_scene_create(&c, 1, 0, &scene));
        need_stop();
        need_hold("scene", bb_scene_need(&c), NEED_LOOSENESS);
        need_start();
        check_ok(bb_frames_create(&c, scene, 1, 0, &frames));
        need_stop();
        need_hold("frames", bb_frames_need(&c), NEED_LOOSENESS);
        double coefficients[66];
        const char *reason = NULL;
        need_start();
        check_ok(bb_wavefront_fit(200, 120, 60.0, scene->phase, 1.0, 66, coefficients, &reason));
        need_stop();
        need_hold("fit", bb_wavefront_need(200, 120, 66), NEED_LOOSENESS);
        bb_frames_destroy(&frames);
        bb_scene_destroy(&scene);
        c.detection.algorithm = BB_DETECTION_NONE;
        assert_true(bb_frames_need(&c).host_bytes == 0.0);
    }
    bb_threads_stop();
}

TEST(needs_hold_on_one_thread)
{
    hold(1);
}

TEST(needs_hold_on_three_threads)
{
    hold(3);
}
