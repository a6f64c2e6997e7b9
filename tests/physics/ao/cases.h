// SPDX-License-Identifier: Apache-2.0
//
// Configurations shared by the tests of the adaptive-optics physics, filled by hand with the
// defaults of the tables in ao_config.c.
#ifndef BB_TESTS_PHYSICS_AO_CASES_H
#define BB_TESTS_PHYSICS_AO_CASES_H

#include "physics/ao/ao_config.h"
#include "tests/physics/doubles.h"

enum { MOST_STARS = 12, MOST_TARGETS = 5, MOST_MIRRORS = 3 };

/// Owns the structs that case_config points to.
typedef struct ao_case {
    bb_telescope_config telescope;
    bb_atmosphere_config atmosphere;
    bb_sensors_config sensors;
    bb_mirror_config mirror;
    bb_conjugate_config mirrors[MOST_MIRRORS];
    bb_index mirror_count;
    double mirrors_condition;
    const bb_influence_cube *influences; ///< [mirror_count] or NULL
    bb_guide_star_config stars[MOST_STARS];
    bb_target_config targets[MOST_TARGETS];
    bb_index star_count, target_count;
    const double *mask; ///< of the pupil, [mask_edge][mask_edge], or NULL
    bb_index mask_edge;
} ao_case;

static inline bb_ao_config case_config(const ao_case *c)
{
    return (bb_ao_config){.telescope = &c->telescope,
                          .atmosphere = &c->atmosphere,
                          .sensors = &c->sensors,
                          .mirror = &c->mirror,
                          .mirrors = c->mirrors,
                          .mirror_count = c->mirror_count,
                          .mirrors_condition = c->mirrors_condition,
                          .influences = c->influences,
                          .guide_stars = c->stars,
                          .guide_star_count = c->star_count,
                          .targets = c->targets,
                          .target_count = c->target_count,
                          .pupil_mask = c->mask,
                          .pupil_edge = c->mask_edge};
}

static inline bb_guide_star_config star(int kind, double x_arcsec, double y_arcsec)
{
    bb_guide_star_config s = {.kind = kind,
                              .x_arcsec = x_arcsec,
                              .y_arcsec = y_arcsec,
                              .magnification = 1.0,
                              .settings = bb_guide_star_kind_unset(),
                              .lenslets = BB_INTEGER_UNSET,
                              .slope_model = -1,
                              .frame_ms = NAN,
                              .read_noise_e = NAN,
                              .launch_x_m = NAN,
                              .launch_y_m = NAN};
    if (kind == BB_GUIDE_STAR_LGS) {
        s.settings.altitude_km = 100.0;
    } else {
        s.settings.magnitude = 13.0;
    }
    return s;
}

static inline void add_star(ao_case *c, int kind, double x_arcsec, double y_arcsec)
{
    c->stars[c->star_count++] = star(kind, x_arcsec, y_arcsec);
}

static inline void add_target(ao_case *c, double x_arcsec, double y_arcsec)
{
    c->targets[c->target_count++] = (bb_target_config){
        .x_arcsec = x_arcsec, .y_arcsec = y_arcsec, .lenslets = BB_INTEGER_UNSET, .weight = 1.0};
}

static inline void add_mirror(ao_case *c, double height_m, double pitch_m)
{
    c->mirrors[c->mirror_count++] =
        (bb_conjugate_config){height_m, pitch_m, NAN, {NULL, NULL, NAN}};
}

/// With its own influence functions, provided by a test.
static inline void add_own_mirror(ao_case *c, double height_m)
{
    c->mirrors[c->mirror_count++] =
        (bb_conjugate_config){height_m, NAN, NAN, {"given by hand", NULL, NAN}};
}

/// Defaults from the tables of the kinds of guide star, so that a new kind needs no change here.
static inline void default_settings(bb_sensors_config *sensors)
{
    for (int kind = 0; kind < (int)BB_GUIDE_STAR_COUNT; ++kind) {
        const bb_schema *schema = bb_guide_star_kinds[kind]->schema;
        char *settings = (char *)(uintptr_t)bb_sensors_config_star(sensors, kind);
        for (bb_index k = 0; k < schema->key_count; ++k) {
            const char *text = schema->keys[k].default_text;
            *(double *)(void *)(settings + schema->keys[k].offset) =
                text == NULL ? NAN : strtod(text, NULL);
        }
    }
}

/// Telescope, atmosphere and sensors without stars or targets.
static inline ao_case case_without_stars(double diameter_m, bb_index lenslets)
{
    ao_case c = {0};
    c.telescope.diameter_m = diameter_m;
    c.telescope.obstruction = 0.2;
    c.telescope.subaperture_threshold = 0.5;
    c.atmosphere.profile = BB_PROFILE_MOAO_2;
    c.atmosphere.outer_scale_m = 25.0;
    c.atmosphere.r0_m = NAN;
    c.atmosphere.seeing_arcsec = NAN;
    c.atmosphere.seeing_wavelength_nm = 500.0;
    c.mirror.condition = NAN;
    c.sensors.lenslets = lenslets;
    c.sensors.slope_model = BB_SLOPE_POINT_DIFFERENCE;
    c.sensors.frame_ms = 4.0;
    c.sensors.read_noise_e = 3.0;
    c.sensors.atmosphere_transmission = 0.84;
    default_settings(&c.sensors);
    c.sensors.ngs.pixel_arcsec = 0.3;
    c.sensors.ngs.wavelength_nm = 650.0;
    c.sensors.ngs.bandwidth_nm = 330.0;
    c.sensors.ngs.transmission = 0.425;
    c.sensors.lgs.pixel_arcsec = 1.0;
    c.sensors.lgs.wavelength_nm = 589.0;
    c.sensors.lgs.transmission = 0.382;
    c.sensors.lgs.flux_ph_per_m2_s = 6.0e7;
    c.sensors.lgs.spot_arcsec = 1.0;
    c.sensors.lgs.depth_km = 5.0;
    c.sensors.lgs.tilt_variance_arcsec2 = 1.0;
    return c;
}

/// An 8 m telescope with 4 laser and 3 natural stars, corrected towards 5 directions by the added
/// mirrors; 1064 measurements.
static inline ao_case case_mcao(void)
{
    static const bb_layer_config layers[] = {
        {0.0, 0.6, NAN, NAN}, {4500.0, 0.25, NAN, NAN}, {11000.0, 0.15, NAN, NAN}};
    static const double ngs[3][2] = {{35.0, 20.0}, {-30.0, 28.0}, {5.0, -40.0}};
    ao_case c = case_without_stars(8.0, 10);
    c.atmosphere.profile = -1;
    c.atmosphere.layers = (bb_list){.items = (void *)(uintptr_t)layers, .count = 3};
    c.atmosphere.r0_m = 0.15;
    c.sensors.frame_ms = 2.0;
    c.sensors.lgs.flux_ph_per_m2_s = 7.0e6;
    for (int s = 0; s < 4; ++s) {
        add_star(&c, BB_GUIDE_STAR_LGS, s % 2 == 0 ? 30.0 - 30.0 * s : 0.0,
                 s % 2 == 1 ? 60.0 - 30.0 * s : 0.0);
        c.stars[s].settings.altitude_km = 90.0;
    }
    for (int s = 0; s < 3; ++s) {
        add_star(&c, BB_GUIDE_STAR_NGS, ngs[s][0], ngs[s][1]);
        c.stars[4 + s].settings.magnitude = 11.0;
    }
    add_target(&c, 0.0, 0.0);
    add_target(&c, 20.0, 0.0);
    add_target(&c, 0.0, 20.0);
    add_target(&c, -20.0, 0.0);
    add_target(&c, 0.0, -20.0);
    return c;
}

/// The 39 m check case of 912 measurements: 3 laser and 3 natural stars, target on the axis.
static inline ao_case case_nx456(void)
{
    ao_case c = case_without_stars(39.0, 10);
    add_star(&c, BB_GUIDE_STAR_LGS, 23.0, 0.0);
    add_star(&c, BB_GUIDE_STAR_LGS, -11.5, 19.9186);
    add_star(&c, BB_GUIDE_STAR_LGS, -11.5, -19.9186);
    add_star(&c, BB_GUIDE_STAR_NGS, -16.0, -36.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -32.0, 38.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 52.0, -5.0);
    add_target(&c, 0.0, 0.0);
    return c;
}

/// configs/ao/vlt-3136.yaml: 5 laser stars on a 30 arcsec ring and 3 natural stars.
static inline ao_case case_vlt3136(void)
{
    ao_case c = case_without_stars(8.0, 16);
    c.atmosphere.profile = BB_PROFILE_MOAO_10;
    c.sensors.lgs.flux_ph_per_m2_s = 7.0e6;
    c.sensors.lgs.tilt_variance_arcsec2 = 0.1;
    for (int s = 0; s < 5; ++s) {
        const double azimuth = 2.0 * M_PI * s / 5.0;
        add_star(&c, BB_GUIDE_STAR_LGS, 30.0 * cos(azimuth), 30.0 * sin(azimuth));
    }
    add_star(&c, BB_GUIDE_STAR_NGS, -16.0, -36.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -32.0, 38.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 52.0, -5.0);
    add_target(&c, 0.0, 0.0);
    return c;
}

static const bb_layer_config case_layers[] = {
    {100.0, 9.0, NAN, NAN}, {4000.0, 3.5, NAN, NAN}, {12500.0, 1.7, NAN, NAN}};

/// No symmetry: unequal lenslet counts, altitudes, shifts, a layer above one star, a zenith angle.
/// Two natural and two laser stars share a grid, and so a displacement table.
static inline ao_case case_asymmetric(void)
{
    ao_case c = case_without_stars(8.0, 6);
    c.telescope.zenith_angle_deg = 25.0;
    c.telescope.obstruction = 0.14;
    c.atmosphere.profile = -1;
    c.atmosphere.layers = (bb_list){.items = (void *)(uintptr_t)case_layers, .count = 3};
    add_star(&c, BB_GUIDE_STAR_LGS, 31.0, 7.0);
    c.stars[0].settings.altitude_km = 90.0;
    c.stars[0].lenslets = 7;
    add_star(&c, BB_GUIDE_STAR_NGS, -12.0, 44.0);
    c.stars[1].shift_x_m = 0.21;
    c.stars[1].shift_y_m = -0.08;
    add_star(&c, BB_GUIDE_STAR_LGS, -20.0, -13.0);
    c.stars[2].settings.altitude_km = 11.0;
    c.stars[2].lenslets = 5;
    c.stars[2].settings.tilt_variance_arcsec2 = 0.3;
    add_star(&c, BB_GUIDE_STAR_NGS, 25.0, 3.0);
    c.stars[3].shift_x_m = -0.13;
    add_star(&c, BB_GUIDE_STAR_LGS, -27.0, 15.0);
    c.stars[4].settings.altitude_km = 90.0;
    c.stars[4].lenslets = 7;
    add_target(&c, 9.0, -17.0);
    c.targets[0].lenslets = 4;
    return c;
}

/// case_asymmetric with averaged gradients, except point differences for a laser and a natural
/// star; the other natural star on its grid has averaged gradients.
static inline ao_case case_mixed_slopes(void)
{
    ao_case c = case_asymmetric();
    c.sensors.slope_model = BB_SLOPE_AVERAGED_GRADIENT;
    c.stars[2].slope_model = BB_SLOPE_POINT_DIFFERENCE;
    c.stars[3].slope_model = BB_SLOPE_POINT_DIFFERENCE;
    return c;
}

#endif
