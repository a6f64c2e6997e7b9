// SPDX-License-Identifier: Apache-2.0
//
// Rings, grids, seeing and Cn2 against the same studies written out: the same resolved stars, the
// same bits of results, and a resolved copy that reproduces them.
#include "physics/ao/atmosphere.h"
#include "sim/ao/ao_study.h"
#include "sim/run/experiment.h"
#include "tests/sim/driver.h"

static void put_study(const char *name, const char *lines)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fprintf(file,
                        "experiment: ao\nseed: 3\ntelescope: {diameter_m: 8.0, obstruction: 0.14, "
                        "zenith_angle_deg: 25.0}\nsensors: {lenslets: 6}\n%s"
                        "pipelines: [{name: reference, arithmetic: dp}, {name: sp, arithmetic: "
                        "sp}]\n",
                        lines) > 0);
    assert_int_equal(fclose(file), 0);
}

static void resolve(const char *study, const char *out)
{
    bb_problems problems = {0};
    autoptr(bb_config) config = NULL;
    autorelease(bb_text) resolved = {0};
    if (bb_experiment_load(&bb_experiments, study, NULL, 0, &problems, &config) != BB_OK) {
        print_error("%s\n", bb_text_string(&problems.lines));
        fail();
    }
    check_ok(bb_config_resolved(config, &resolved));
    write_text(out, bb_text_string(&resolved));
}

// The digests of two studies, and of their resolved copies.
static void check_same(const char *first, const char *second)
{
    const char *const studies[] = {first, second, "again-0.yaml", "again-1.yaml"};
    resolve(first, studies[2]);
    resolve(second, studies[3]);
    autoptr(bb_results) expected = driver_results(CASE(first, {NULL}));
    for (int i = 1; i < 4; ++i) {
        autoptr(bb_results) results = driver_results(CASE(studies[i], {NULL}));
        check_same_digest(expected, results);
    }
}

// Explicit stars may be in between and at the end; by hand 20 arcsec at 30, 150 and 270 deg.
TEST(a_ring_is_its_stars_written_out)
{
    put_study(
        "ring.yaml",
        "atmosphere: {profile: moao-2}\n"
        "guide_stars:\n"
        "  - {kind: ngs, x_arcsec: 22.0, y_arcsec: 9.0, magnitude: 11.0}\n"
        "  - {kind: lgs, altitude_km: 90.0, depth_km: 8.0,\n"
        "     ring: {count: 3, radius_arcsec: 20.0, rotation_deg: 30.0, centre_x_arcsec: 1.5}}\n"
        "  - {kind: ngs, x_arcsec: -4.0, y_arcsec: 31.0, magnitude: 12.0}\n"
        "targets:\n"
        "  - {x_arcsec: 6.0, y_arcsec: -4.0}\n"
        "  - {grid: {count: 2, width_arcsec: 10.0, centre_y_arcsec: 1.0}}\n");
    put_study(
        "stars.yaml",
        "atmosphere: {profile: moao-2}\n"
        "guide_stars:\n"
        "  - {kind: ngs, x_arcsec: 22.0, y_arcsec: 9.0, magnitude: 11.0}\n"
        "  - {kind: lgs, altitude_km: 90.0, depth_km: 8.0, x_arcsec: 18.820508076, y_arcsec: "
        "10.0}\n"
        "  - {kind: lgs, altitude_km: 90.0, depth_km: 8.0, x_arcsec: -15.820508076, y_arcsec: "
        "10.0}\n"
        "  - {kind: lgs, altitude_km: 90.0, depth_km: 8.0, x_arcsec: 1.5, y_arcsec: -20.0}\n"
        "  - {kind: ngs, x_arcsec: -4.0, y_arcsec: 31.0, magnitude: 12.0}\n"
        "targets:\n"
        "  - {x_arcsec: 6.0, y_arcsec: -4.0}\n"
        "  - {x_arcsec: -5.0, y_arcsec: -4.0}\n"
        "  - {x_arcsec: 5.0, y_arcsec: -4.0}\n"
        "  - {x_arcsec: -5.0, y_arcsec: 6.0}\n"
        "  - {x_arcsec: 5.0, y_arcsec: 6.0}\n");
    check_same("ring.yaml", "stars.yaml");
}

static const char rest[] = "guide_stars:\n"
                           "  - {kind: lgs, altitude_km: 90.0, x_arcsec: 12.0, y_arcsec: 3.0}\n"
                           "  - {kind: ngs, x_arcsec: -4.0, y_arcsec: 31.0, magnitude: 12.0}\n"
                           "targets: [{x_arcsec: 6.0, y_arcsec: -4.0}]\n";

// 0.98 lambda/r0 in arcsec, and r0 with 17 digits, are the same study.
TEST(a_seeing_is_its_fried_parameter)
{
    char lines[1000];
    (void)snprintf(lines, sizeof lines,
                   "atmosphere: {profile: eris-10, seeing_arcsec: 0.8, seeing_wavelength_nm: "
                   "650.0}\n%s",
                   rest);
    put_study("seeing.yaml", lines);
    (void)snprintf(lines, sizeof lines, "atmosphere: {profile: eris-10, r0_m: %.17g}\n%s",
                   bb_atmosphere_r0_of_seeing(0.8, 1e-9 * 650.0), rest);
    put_study("r0.yaml", lines);
    check_same("seeing.yaml", "r0.yaml");
}

TEST(layers_of_cn2_are_their_strengths)
{
    char lines[1000];
    const bb_layer_config low = {200.0, NAN, 2.5e-13, NAN};
    const bb_layer_config high = {9000.0, NAN, 1e-13, NAN};
    (void)snprintf(lines, sizeof lines,
                   "atmosphere: {layers: [{height_m: 200.0, cn2_m13: 2.5e-13}, {height_m: 9000.0, "
                   "cn2_m13: 1.0e-13}]}\n%s",
                   rest);
    put_study("cn2.yaml", lines);
    (void)snprintf(lines, sizeof lines,
                   "atmosphere: {layers: [{height_m: 200.0, strength: %.17g}, {height_m: 9000.0, "
                   "strength: %.17g}]}\n%s",
                   bb_atmosphere_layer_strength(&low), bb_atmosphere_layer_strength(&high), rest);
    put_study("strengths.yaml", lines);
    check_same("cn2.yaml", "strengths.yaml");
}

// The wind of layers in a CSV file is that of the error terms.
TEST(layers_of_a_table_have_their_wind)
{
    char lines[1000];
    write_text("profile.csv", "height_m,strength,wind_m_per_s\n200,20,6\n9000,5,25\n");
    (void)snprintf(lines, sizeof lines,
                   "atmosphere: {layers: profile.csv}\nerror_terms: {frame_delay_ms: 2.0}\n%s",
                   rest);
    put_study("table.yaml", lines);
    (void)snprintf(lines, sizeof lines,
                   "atmosphere: {layers: [{height_m: 200.0, strength: 20.0}, {height_m: 9000.0, "
                   "strength: 5.0}]}\nerror_terms: {frame_delay_ms: 2.0, wind_m_per_s: [6.0, "
                   "25.0]}\n%s",
                   rest);
    put_study("list.yaml", lines);
    check_same("table.yaml", "list.yaml");
}

// A sweep rotates a ring by its key, also if the study was read once for all points.
TEST(a_ring_is_changed_by_overrides)
{
    bb_problems problems = {0};
    autoptr(bb_config_base) base = NULL;
    const bb_schema *schemas[] = {&bb_ao_study_schema};
    const bb_config_request request = {.path = "ring.yaml", .schemas = schemas, .schema_count = 1};
    check_ok(bb_config_base_read(&request, &problems, &base));
    const char *const overrides[] = {"guide_stars.1.ring.radius_arcsec=40.0",
                                     "guide_stars.1.ring.count=5"};
    for (bb_index count = 1; count <= 2; ++count) {
        autoptr(bb_config) config = NULL;
        if (bb_config_base_bind(base, overrides, count, &problems, &config) != BB_OK) {
            print_error("%s\n", bb_text_string(&problems.lines));
            fail();
        }
        const bb_ao_study *study = bb_config_study(config);
        const bb_guide_star_config *stars = study->guide_stars.items;
        assert_int_equal(study->guide_stars.count, count == 1 ? 5 : 7);
        check_close(hypot(stars[2].x_arcsec - 1.5, stars[2].y_arcsec), 40.0, 1e-9, 1.0);
    }
}

TEST_GROUP(.has_folder = true);
