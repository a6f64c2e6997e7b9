// SPDX-License-Identifier: Apache-2.0
//
// Rayleigh beacons: closed forms of the cone effect, of the elongation by the range gate and of the
// tilt residual, and the rules of their keys.
#include "core/memory.h"
#include "physics/ao/ao_check.h"
#include "physics/ao/covariance/slope_covariance.h"
#include "physics/ao/laser_star.h"
#include "tests/physics/ao/cases.h"

static ao_case beacon(double zenith_angle_deg, int kind)
{
    ao_case c = case_without_stars(8.0, 8);
    c.telescope.zenith_angle_deg = zenith_angle_deg;
    c.telescope.obstruction = 0.0;
    c.atmosphere.r0_m = 0.1;
    c.sensors.rayleigh = (bb_star_settings){.altitude_km = 20.0,
                                            .pixel_arcsec = 1.0,
                                            .wavelength_nm = 532.0,
                                            .transmission = 0.382,
                                            .flux_ph_per_m2_s = 2.0e7,
                                            .power_w = 18.0,
                                            .spot_arcsec = 1.0,
                                            .depth_km = 2.0,
                                            .tilt_variance_arcsec2 = 0.7,
                                            .photons_per_frame = NAN,
                                            .noise_mas = NAN,
                                            .excess_noise = 1.0};
    c.sensors.lgs = c.sensors.rayleigh;
    add_star(&c, kind, 40.0, 0.0);
    c.stars[0].settings = bb_guide_star_kind_unset();
    c.stars[0].settings.altitude_km = kind == BB_GUIDE_STAR_LGS ? 20.0 : NAN;
    add_target(&c, 0.0, 0.0);
    return c;
}

typedef struct seen {
    ao_case c;
    bb_ao_config config;
    bb_atmosphere atmosphere;
    bb_sensor_array guides;
    bb_measurement_noise noise;
} seen;

static void look(seen *s, const ao_case *c)
{
    *s = (seen){.c = *c};
    s->config = case_config(&s->c);
    check_ok(bb_ao_check(&s->config));
    check_ok(
        bb_atmosphere_create(s->config.atmosphere, c->telescope.zenith_angle_deg, &s->atmosphere));
    check_ok(bb_sensor_array_create_guides(&s->config, &s->atmosphere, &s->guides));
    check_ok(bb_measurement_noise_create(&s->guides, &s->atmosphere, &s->noise));
}

static void release(seen *s)
{
    bb_measurement_noise_release(&s->noise);
    bb_sensor_array_release(&s->guides);
    bb_atmosphere_release(&s->atmosphere);
}

// Layers at 30 and 12,500 m under a beacon at 20 km: 1 - h/H, whatever the zenith angle; the upper
// layer is above a beacon at 12 km.
TEST(cone_shrinks_by_the_altitude)
{
    static const double angles[] = {0.0, 60.0};
    for (int a = 0; a < 2; ++a) {
        autocall(release) seen s;
        ao_case c = beacon(angles[a], BB_GUIDE_STAR_RAYLEIGH);
        look(&s, &c);
        check_relative(s.guides.sensors[0].layer[0].scale, 1.0 - 30.0 / 20000.0, 1e-14);
        check_relative(s.guides.sensors[0].layer[1].scale, 0.375, 1e-14);
        release(&s);
        c.stars[0].settings.altitude_km = 12.0;
        look(&s, &c);
        check_relative(s.guides.sensors[0].layer[0].scale, 0.9975, 1e-14);
        assert_true(s.guides.sensors[0].layer[1].scale == 0.0);
    }
}

// A gate of 2 km at 20 km from 8 m aside: 206264.806 x 2000 x 8 / 4e8 = 8.25059225 arcsec. At a
// zenith angle of 60 degrees the beacon is twice as far with the same gate: a quarter.
TEST(gate_elongates_the_spot)
{
    static const double angles[] = {0.0, 60.0};
    static const double lengths[] = {8.25059224988, 8.25059224988 / 4.0};
    for (int a = 0; a < 2; ++a) {
        autocall(release) seen s;
        const ao_case c = beacon(angles[a], BB_GUIDE_STAR_RAYLEIGH);
        look(&s, &c);
        const bb_sensor *sensor = &s.guides.sensors[0];
        const double far = bb_laser_star_elongation_arcsec(&sensor->star, 8.0);
        check_relative(far, lengths[a], 1e-10);
        // Launched at (4, 0): on the row at y = 0.5 the long axis deviates little from x.
        const double seeing = bb_atmosphere_seeing_arcsec(&s.atmosphere, 532e-9);
        const double spot = seeing * seeing + 1.0;
        const double electrons = 2.0e7 * 4e-3 * 0.382 / 0.84;
        const double read = 0.82 * 9.0 / (electrons * electrons);
        for (bb_index i = 0; i < sensor->count; ++i) {
            const double baseline = hypot(sensor->x_m[i] - 4.0, sensor->y_m[i]);
            const double length = far * baseline / 8.0;
            const double stretched = spot + length * length;
            const double trace = 0.32 * (spot + stretched) / electrons + read * spot * spot +
                                 read * pow(stretched, 1.5) * sqrt(spot);
            check_relative(s.noise.subaperture[i].xx + s.noise.subaperture[i].yy, trace, 1e-10);
        }
    }
}

// The mean slopes are unknown: one column per axis, and the variance in Cmm.
TEST(tilt_is_unknown)
{
    autocall(release) seen s;
    const ao_case c = beacon(0.0, BB_GUIDE_STAR_RAYLEIGH);
    look(&s, &c);
    autorelease(bb_tilt_vectors) tilts = new_struct(bb_tilt_vectors, &s.guides, false);
    assert_int_equal(tilts.columns, 2);
    assert_true(tilts.variance[0] == 0.7);
}

// At zenith a sodium star with the same numbers is equivalent.
TEST(at_zenith_it_is_any_laser_star)
{
    double *values[2] = {NULL, NULL};
    bb_index n = 0;
    for (int k = 0; k < 2; ++k) {
        autocall(release) seen s;
        const ao_case c = beacon(0.0, k == 0 ? BB_GUIDE_STAR_RAYLEIGH : BB_GUIDE_STAR_LGS);
        look(&s, &c);
        const bb_slope_covariance_parts parts = {.name = "Cmm",
                                                 .atmosphere = &s.atmosphere,
                                                 .rows = &s.guides,
                                                 .columns = &s.guides,
                                                 .noise = &s.noise,
                                                 .tilt_blocks = true};
        autoptr(bb_slope_covariance) covariance = new_object(bb_slope_covariance, &parts);
        n = s.guides.measurement_count;
        check_ok(BB_ALLOCATE(n * n, &values[k]));
        check_ok(bb_matrix_source_fill(bb_slope_covariance_source(covariance), 0, 0,
                                       bb_view_matrix(values[k], n, n)));
    }
    assert_memory_equal(values[0], values[1], (size_t)(n * n) * sizeof(double));
    BB_RELEASE(&values[0]);
    BB_RELEASE(&values[1]);
}

static double flux_of(const ao_case *c)
{
    autocall(release) seen s;
    look(&s, c);
    const double flux = s.guides.sensors[0].star.flux_ph_per_m2_s;
    return flux;
}

// Densities of the tables of the U.S. Standard Atmosphere 1976, kg/m^3 by geometric altitude.
TEST(flux_follows_the_lidar_equation)
{
    static const double altitude_km[] = {5.0, 10.0, 15.0, 20.0, 25.0, 30.0};
    static const double density[] = {0.73643, 0.41351, 0.19476, 0.088910, 0.040084, 0.018410};
    ao_case c = beacon(0.0, BB_GUIDE_STAR_RAYLEIGH);
    c.sensors.rayleigh.flux_ph_per_m2_s = NAN;
    c.stars[0].settings.depth_km = 1.0;
    c.telescope.altitude_m = 2000.0;
    const double photons = 18.0 * 532e-9 / (6.62607015e-34 * 299792458.0);
    const double sigma = 5.45e-32 * pow(550.0 / 532.0, 4.0);
    for (int k = 0; k < 6; ++k) {
        const double height_m = 1e3 * altitude_km[k] - 2000.0;
        c.stars[0].settings.altitude_km = 1e-3 * height_m;
        const double molecules = density[k] / 28.9644e-3 * 6.02214076e23;
        const double wanted =
            photons * 0.84 * 0.84 * molecules * sigma * 1000.0 / (height_m * height_m);
        check_relative(flux_of(&c), wanted, 1e-4);
    }
    // Twice the distance, twice the air: the gate depth is unchanged.
    const double zenith = flux_of(&c);
    c.telescope.zenith_angle_deg = 60.0;
    check_relative(flux_of(&c), zenith / 4.0 * 0.84 * 0.84, 1e-12);
    c.telescope.zenith_angle_deg = 0.0;
    c.stars[0].settings.power_w = 36.0;
    c.stars[0].settings.depth_km = 0.5;
    check_relative(flux_of(&c), zenith, 1e-12);
    // Photons scale with lambda, backscatter with lambda^-4.
    c.stars[0].settings.wavelength_nm = 266.0;
    check_relative(flux_of(&c), 8.0 * zenith, 1e-12);
    c.stars[0].settings.power_w = NAN;
    c.stars[0].settings.flux_ph_per_m2_s = 3.0e6;
    assert_true(flux_of(&c) == 3.0e6);
}

TEST(rules_of_the_keys)
{
    ao_case c = beacon(0.0, BB_GUIDE_STAR_RAYLEIGH);
    bb_ao_config config = case_config(&c);
    c.stars[0].settings.depth_km = 10.1;
    check_fails(bb_ao_check(&config), BB_INVALID,
                "guide_stars[0].depth_km = 10.1 km at altitude_km = 20 km");
    c.stars[0].settings.depth_km = 10.0;
    check_ok(bb_ao_check(&config));
    c.stars[0].settings.altitude_km = 19.0;
    check_fails(bb_ao_check(&config), BB_INVALID, "expected a depth of at most 9.5 km");
    c.stars[0].settings.depth_km = 0.0; // a sodium layer may be a sheet, a gate is not
    check_fails(bb_ao_check(&config), BB_INVALID, "guide_stars[0].depth_km = 0 km");
    c = beacon(0.0, BB_GUIDE_STAR_RAYLEIGH);
    c.stars[0].settings.power_w = 20.0;
    check_fails(bb_ao_check(&config), BB_INVALID,
                "guide_stars[0].power_w: flux_ph_per_m2_s = 2e+07 ph/m^2/s is set too");
    c = beacon(0.0, BB_GUIDE_STAR_RAYLEIGH);
    c.stars[0].settings.magnitude = 8.0;
    check_fails(bb_ao_check(&config), BB_INVALID,
                "guide_stars[0].magnitude does not apply to a star of kind rayleigh");
}

// Every setting of a kind can be overridden by a star too.
TEST(stars_may_override_every_setting)
{
    for (int kind = 0; kind < (int)BB_GUIDE_STAR_COUNT; ++kind) {
        const bb_schema *schema = bb_guide_star_kinds[kind]->schema;
        assert_string_equal(schema->name, bb_guide_star_kind_names[kind]);
        for (bb_index k = 0; k < schema->key_count; ++k) {
            bool found = false;
            for (bb_index g = 0; g < bb_guide_star_schema.key_count; ++g) {
                const bb_key *key = &bb_guide_star_schema.keys[g];
                found = found || (strcmp(key->name, schema->keys[k].name) == 0 && key->optional &&
                                  key->offset == offsetof(bb_guide_star_config, settings) +
                                                     schema->keys[k].offset);
            }
            if (!found) {
                fail_msg("sensors.%s.%s cannot be given with a star", schema->name,
                         schema->keys[k].name);
            }
        }
    }
}
