// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_check.h"
#include "tests/physics/ao/cases.h"
#include "tests/physics/complete_schema.h"

static bb_status check_case(const ao_case *c)
{
    const bb_ao_config config = case_config(c);
    return bb_ao_check(&config);
}

// A change that makes a valid case invalid is rejected.
#define check_refused(change, text)                                                                \
    do {                                                                                           \
        c = case_nx456();                                                                          \
        (void)(change);                                                                            \
        check_fails(check_case(&c), BB_INVALID, text);                                             \
    } while (0)

TEST(the_check_case_passes)
{
    const ao_case c = case_nx456();
    check_ok(check_case(&c));
}

TEST(ranges_are_held_with_the_key_named)
{
    ao_case c = case_nx456();
    c.telescope.diameter_m = 0.0;
    check_fails(check_case(&c), BB_INVALID, "telescope.diameter_m = 0 m, expected a finite number");
    check_refused(c.telescope.obstruction = 1.0, "telescope.obstruction");
    check_refused(c.sensors.lgs.depth_km = -5.0, "sensors.lgs.depth_km = -5 km");
    check_refused(c.atmosphere.outer_scale_m = INFINITY, "atmosphere.outer_scale_m");
    check_refused(c.stars[4].x_arcsec = NAN, "guide_stars[4].x_arcsec");
    check_refused(c.mirror.condition = 1.0, "mirror.condition = 1, expected a finite number > 1");
    check_refused(c.sensors.lenslets = 0, "sensors.lenslets = 0, expected 1..1000");
}

TEST(profile_and_layers_exclude_each_other)
{
    bb_layer_config layers[] = {{0.0, 10.0, NAN, NAN}, {8000.0, -1.80, NAN, NAN}};
    ao_case c = case_nx456();
    c.atmosphere.layers = (bb_list){.items = layers, .count = 2};
    check_fails(check_case(&c), BB_INVALID, "profile and layers are both given");
    c.atmosphere.profile = -1;
    check_fails(check_case(&c), BB_INVALID, "atmosphere.layers[1].strength = -1.8");
    layers[0].strength = layers[1].strength = 0.0;
    check_fails(check_case(&c), BB_INVALID, "strengths sum to 0");
    layers[0].strength = 1.0;
    check_ok(check_case(&c));
    layers[1].cn2_m13 = 1e-13;
    check_fails(check_case(&c), BB_INVALID,
                "atmosphere.layers[1]: expected strength in all layers");
    layers[1].strength = NAN;
    check_fails(check_case(&c), BB_INVALID,
                "atmosphere.layers[1]: expected strength in all layers");
    layers[0] = (bb_layer_config){0.0, NAN, 0.0, NAN};
    check_ok(check_case(&c));
    c.atmosphere.r0_m = 0.1;
    check_fails(check_case(&c), BB_INVALID, "atmosphere.r0_m: remove it, r0 follows");
    c.atmosphere.r0_m = NAN;
    c.atmosphere.seeing_arcsec = 0.8;
    check_fails(check_case(&c), BB_INVALID, "atmosphere.seeing_arcsec: remove it, r0 follows");
    layers[1] = layers[0] = (bb_layer_config){0.0, 1.0, NAN, NAN};
    check_ok(check_case(&c));
    c.atmosphere.r0_m = 0.1;
    check_fails(check_case(&c), BB_INVALID, "seeing_arcsec = 0.8: r0_m = 0.1 is set too");
    c.atmosphere.r0_m = c.atmosphere.seeing_arcsec = NAN;
    c.atmosphere.layers.count = 0;
    check_fails(check_case(&c), BB_INVALID, "neither profile nor layers");
    c.atmosphere.profile = BB_PROFILE_COUNT;
    check_fails(check_case(&c), BB_INVALID, "atmosphere.profile");
}

TEST(keys_must_fit_the_kind_of_star)
{
    ao_case c = case_nx456();
    c.stars[1].settings.altitude_km = NAN;
    check_fails(check_case(&c), BB_INVALID, "guide_stars[1].altitude_km is missing");
    check_refused(c.stars[3].settings.altitude_km = 90.0,
                  "guide_stars[3].altitude_km does not apply to a star of kind ngs");
    check_refused(c.stars[5].settings.magnitude = NAN, "guide_stars[5].magnitude is missing");
    check_refused(c.stars[0].settings.magnitude = 10.0, "guide_stars[0].magnitude does not apply");
    c = case_nx456();
    c.stars[2].launch_x_m = 3.0;
    check_fails(check_case(&c), BB_INVALID, "guide_stars[2]: launch_x_m and launch_y_m");
    c.stars[2].launch_y_m = 0.0;
    c.stars[2].launch = BB_LAUNCH_CENTRAL;
    check_fails(check_case(&c), BB_INVALID,
                "guide_stars[2]: launch: central and launch_x_m exclude each other");
    check_refused(c.stars[2].kind = 7, "guide_stars[2].kind = 7");
}

TEST(there_must_be_stars_targets_and_subapertures)
{
    ao_case c = case_nx456();
    c.star_count = 0;
    check_fails(check_case(&c), BB_INVALID, "guide_stars: 0 stars");
    check_refused(c.target_count = 0, "targets: 0");
    c = case_nx456();
    c.telescope.obstruction = 0.8; // half of a single lenslet is dark: pi/4 0.8^2 > 0.5
    c.targets[0].lenslets = 1;
    check_fails(check_case(&c), BB_INVALID, "targets[0].lenslets = 1 leaves no valid subaperture");
    check_refused((c.telescope.obstruction = 0.8, c.stars[3].lenslets = 1),
                  "guide_stars[3].lenslets = 1 leaves no valid");
}

TEST(masks_are_held_to_their_rules)
{
    static double mask[20 * 20];
    ao_case c = case_nx456();
    c.mask = mask;
    c.mask_edge = 20;
    check_fails(check_case(&c), BB_INVALID, "telescope.pupil: all 20 x 20 pixels are 0");
    mask[3 * 20 + 7] = 1.0;
    check_fails(
        check_case(&c), BB_INVALID,
        "sensors.lenslets = 10 leaves no valid subaperture: none has a mean transmission of "
        "telescope.subaperture_threshold = 0.5");
    c.telescope.subaperture_threshold = 0.25; // one pixel of four
    check_ok(check_case(&c));
    c.stars[4].lenslets = 11;
    check_fails(check_case(&c), BB_INVALID,
                "20 x 20 pixels, expected at least 2 a lenslet: guide_stars[4].lenslets = 11");
    c.stars[4].lenslets = 10;
    mask[399] = 1.0 + 1e-9;
    check_fails(check_case(&c), BB_INVALID,
                "telescope.pupil: row 19, column 19 is 1.0000000010000001"
                ", expected");
    mask[399] = NAN;
    check_fails(check_case(&c), BB_INVALID, "telescope.pupil: row 19, column 19 is nan");
    mask[399] = 0.0;
    mask[20] = -0.5;
    check_fails(check_case(&c), BB_INVALID, "row 1, column 0 is -0.5, expected a transmission");
    mask[20] = 0.0;
    // A file not yet read gives no information on subapertures; no sensor can be created without
    // it.
    c = case_nx456();
    c.telescope.pupil.file = "pupil.h5";
    c.sensors.lenslets = 1;
    check_ok(check_case(&c));
    c.telescope.subaperture_threshold = 0.0;
    check_fails(check_case(&c), BB_INVALID, "telescope.subaperture_threshold = 0");
}

TEST(tables_are_complete)
{
    check_schema(&bb_telescope_schema);
    check_schema(&bb_atmosphere_schema);
    check_schema(&bb_sensors_schema);
    check_schema(&bb_mirror_schema);
    check_schema(&bb_guide_star_schema);
    check_schema(&bb_target_schema);
}
