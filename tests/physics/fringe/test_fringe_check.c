// SPDX-License-Identifier: Apache-2.0
#include "tests/physics/complete_schema.h"
#include "tests/physics/fringe/cases.h"

// A change that makes a valid case invalid is rejected.
#define check_refused(change, text)                                                                \
    do {                                                                                           \
        c = fringe_case(64, 48);                                                                   \
        (void)(change);                                                                            \
        check_fails(bb_fringe_config_check(&c), BB_INVALID, text);                                 \
    } while (0)

TEST(the_defaults_pass)
{
    bb_fringe_config config = {0};
    fill_defaults(&bb_fringe_schema, &config);
    check_ok(bb_fringe_config_check(&config));
    assert_int_equal(config.size.columns, 256);
    assert_int_equal(config.pupil.kind, BB_FRINGE_PUPIL_DISC);
    assert_int_equal(config.camera.bits, BB_INTEGER_UNSET);
    check_relative(bb_fringe_config_rad_per_nm(&config), 2.0 * M_PI / 316.4, 1e-15);
    check_relative(bb_fringe_config_radius_px(&config), 128.0, 1e-15);
    check_relative(bb_fringe_config_step_rad(&config.detection), 0.5 * M_PI, 1e-15);
    config.detection.steps = 5;
    check_relative(bb_fringe_config_step_rad(&config.detection), 0.4 * M_PI, 1e-15);
    config.detection.algorithm = BB_DETECTION_CARRE;
    check_relative(bb_fringe_config_step_rad(&config.detection), 0.5 * M_PI, 1e-15);
    config.detection.step_rad = 1.25;
    check_relative(bb_fringe_config_step_rad(&config.detection), 1.25, 0.0);
}

TEST(ranges_are_held_with_the_key_named)
{
    bb_fringe_config c = fringe_case(64, 48);
    c.size.rows = 0;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "size.rows = 0, expected 1..16384");
    c = fringe_case(16385, 48);
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "size.columns = 16385, expected 1..16384");
    c = fringe_case(64, 48);
    c.wavelength_nm = 0.0;
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "wavelength_nm = 0 nm, expected a finite number > 0");
    assert_int_equal(strncmp(bb_status_message(), "wavelength_nm", 13), 0);
    check_refused(c.surface.noise_rad = NAN, "surface.noise_rad = nan rad");
    check_refused(c.surface.freeform.bumps = 0, "surface.freeform.bumps = 0");
    check_refused(c.pupil.dead_share = 1.0, "pupil.dead_share = 1, expected");
    check_refused(c.camera.bits = 17, "camera.bits = 17, expected 1..16");
    check_refused(c.camera.contrast = 1.5, "camera.contrast = 1.5");
    check_refused(c.detection.steps = 2, "detection.steps = 2, expected 3..16");
    check_refused(c.detection.step_rad = 3.2, "detection.step_rad = 3.2 rad");
    check_refused(c.detection.algorithm = 4, "detection.algorithm = 4, expected 0..3");
    check_refused(c.pupil.kind = -1, "pupil.kind = -1, expected 0..2");
}

TEST(polynomials_are_given_once)
{
    bb_zernike_term terms[] = {{4, 100.0}, {11, -30.0}, {4, 1.0}};
    bb_fringe_config c = fringe_case(64, 48);
    c.surface.zernike = (bb_list){.items = terms, .count = 3};
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.zernike[2].j = 4 is already used by surface.zernike[0]");
    terms[2].j = 0;
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.zernike[2].j = 0, expected 1..1000");
    terms[2].j = 5;
    terms[1].rms_nm = INFINITY;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "surface.zernike[1].rms_nm = inf nm");
    terms[1].rms_nm = 3.0;
    check_ok(bb_fringe_config_check(&c));
}

TEST(keys_must_fit_the_kind_of_step)
{
    bb_surface_step step = {
        .kind = BB_SURFACE_STEP_EDGE, .height_nm = 50.0, .x = 0.3, .y = 0.5, .width = NAN};
    bb_fringe_config c = fringe_case(64, 48);
    c.surface.steps = (bb_list){.items = &step, .count = 1};
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.steps[0].y does not apply to a step of kind edge");
    step.y = NAN;
    check_ok(bb_fringe_config_check(&c));
    step.kind = BB_SURFACE_STEP_SHEAR;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "surface.steps[0].x does not apply");
    step.x = NAN;
    step.width = 0.1;
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.steps[0].width does not apply to a step of kind shear");
    step.kind = BB_SURFACE_STEP_MESA;
    check_ok(bb_fringe_config_check(&c));
    step.width = 1.5;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "surface.steps[0].width = 1.5");
    step.kind = 3;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "surface.steps[0].kind = 3, expected 0..2");
}

TEST(spectra_need_a_wave_and_vortices_room)
{
    bb_fringe_config c = fringe_case(64, 48); // a wave across the columns: 0.75 cycles a diameter
    c.surface.spectrum = (bb_spectrum_config){.rms_nm = 1.0, .exponent = 3.0};
    c.surface.spectrum.low_cycles = c.surface.spectrum.high_cycles = 2.0;
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.spectrum.high_cycles = 2, expected more than low_cycles = 2");
    c.surface.spectrum.low_cycles = 0.76;
    c.surface.spectrum.high_cycles = 0.99;
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.spectrum: no wave of 64 x 48 pixels");
    c.surface.spectrum.low_cycles = 0.74;
    check_ok(bb_fringe_config_check(&c));
    c.surface.spectrum.low_cycles = 34.0; // over half a cycle a pixel even across the diagonal
    c.surface.spectrum.high_cycles = 50.0;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "surface.spectrum: no wave");
    c.surface.spectrum.rms_nm = 0.0;
    check_ok(bb_fringe_config_check(&c));
    c = fringe_case(8, 8); // 4 cycles are two pixels a wave, whose phase is not free
    c.surface.spectrum =
        (bb_spectrum_config){.rms_nm = 1.0, .exponent = 3.0, .low_cycles = 3.9, .high_cycles = 4.1};
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.spectrum: no wave of 8 x 8 pixels");
    c = fringe_case(64, 48);
    c.surface.residue_pairs = (bb_residue_config){.count = 1, .separation_px = 46.5};
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "surface.residue_pairs.separation_px = 46.5, expected at most 46");
    c.surface.residue_pairs.separation_px = 46.0;
    check_ok(bb_fringe_config_check(&c));
    c = fringe_case(64, 1);
    c.surface.residue_pairs.count = 1;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "surface.residue_pairs.separation_px");
}

TEST(obstructions_are_of_an_annulus_and_carre_takes_four)
{
    bb_fringe_config c = fringe_case(64, 48);
    c.pupil.obstruction = 0.2;
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "pupil.obstruction = 0.2 does not apply to a pupil of kind rectangle");
    c.pupil.kind = BB_FRINGE_PUPIL_ANNULUS;
    check_ok(bb_fringe_config_check(&c));
    c.pupil.obstruction = 0.0;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "pupil.obstruction is missing");
    c = fringe_case(64, 48);
    c.detection.algorithm = BB_DETECTION_CARRE;
    check_ok(bb_fringe_config_check(&c));
    c.detection.steps = 5;
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "detection.steps = 5, expected 4: Carre");
}

TEST(tables_are_complete)
{
    check_schema(&bb_fringe_schema);
}

TEST(a_carrier_is_held_to_its_window)
{
    bb_fringe_config c = fringe_case(64, 48);
    c.detection.carrier.window_px = 8; // unused without a carrier
    check_ok(bb_fringe_config_check(&c));
    c.detection.algorithm = BB_DETECTION_CARRIER;
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "detection.carrier.window_px = 8, expected an odd number");
    c.detection.carrier = (bb_fringe_carrier_config){.x = 0.25, .y = 0.0, .window_px = 7};
    check_ok(bb_fringe_config_check(&c));
    c.detection.carrier.x = 0.24; // the mean of the frame is not rejected
    check_fails(bb_fringe_config_check(&c), BB_INVALID, "expected |x| or |y| of at least 0.25");
    c.detection.carrier.x = 0.45; // nor is the mirror image, at 0.9
    check_fails(bb_fringe_config_check(&c), BB_INVALID,
                "twice x or y at least as far from an integer");
    c.detection.carrier.y = -0.25;
    check_ok(bb_fringe_config_check(&c));
}
