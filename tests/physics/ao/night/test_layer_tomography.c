// SPDX-License-Identifier: Apache-2.0
//
// The problem of mixed layers against one created with their strengths: every entry of every
// matrix, noise, tilts and error terms.
#include "core/memory.h"
#include "physics/ao/night/layer_tomography.h"
#include "tests/need.h"
#include "tests/physics/ao/cases.h"

enum { LAYERS = 3 };

static const double strengths[LAYERS] = {4.0, 7.0, 0.6}; // different from those at creation
static const double winds[LAYERS] = {5.0, 11.0, 31.0};
static const double HELD = 1e9;

// Layers of case_asymmetric, of the outer scale 25 m.
static void start_series(bb_profile_series *out)
{
    bb_profile_row rows[LAYERS];
    for (int l = 0; l < LAYERS; ++l) {
        rows[l] =
            (bb_profile_row){0.0, case_layers[l].height_m, case_layers[l].strength, winds[l], 25.0};
    }
    check_ok(bb_profile_series_create(rows, LAYERS, out));
}

static bb_error_terms_config all_terms(const bb_list *wind)
{
    return (bb_error_terms_config){.fitting = true,
                                   .fitting_coefficient = 0.23,
                                   .aliasing = true,
                                   .frame_delay_ms = 3.0,
                                   .wind_m_per_s = *wind};
}

// The case with these strengths, as in a study.
static void state_strengths(ao_case *c, bb_layer_config layers[LAYERS])
{
    for (int l = 0; l < LAYERS; ++l) {
        layers[l] = case_layers[l];
        layers[l].strength = strengths[l];
    }
    c->atmosphere.layers = (bb_list){layers, LAYERS};
}

// Largest difference of two matrices over the largest entry, in blocks at irregular positions.
static double distance(const bb_matrix_source *got, const bb_matrix_source *expected)
{
    const bb_index rows = expected->rows;
    const bb_index columns = expected->columns;
    double worst = 0.0;
    double largest = 0.0;
    assert_int_equal(got->rows, rows);
    assert_int_equal(got->columns, columns);
    autofree double *first = doubles(rows * columns);
    autofree double *second = doubles(rows * columns);
    const bb_view whole_view = bb_view_matrix(first, rows, columns);
    for (bb_index i = 0; i < rows; i += 37) {
        for (bb_index j = 0; j < columns; j += 53) {
            const bb_index height = rows - i < 37 ? rows - i : 37;
            const bb_index width = columns - j < 53 ? columns - j : 53;
            check_ok(
                bb_matrix_source_fill(got, i, j, bb_view_block(whole_view, i, height, j, width)));
        }
    }
    check_ok(bb_matrix_source_load(expected, second));
    for (bb_index k = 0; k < rows * columns; ++k) {
        worst = fmax(worst, fabs(first[k] - second[k]));
        largest = fmax(largest, fabs(second[k]));
    }
    for (bb_index i = 0; got->symmetric && i < rows; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            assert_true(first[i * columns + j] == first[j * columns + i]);
        }
    }
    return worst / largest;
}

static void check_terms(const bb_tomography_target *got, const bb_tomography_target *expected)
{
    const bb_index pixels = bb_point_spread_layout(expected->spread)->pixels;
    double worst = 0.0;
    double largest = 0.0;
    for (bb_index k = 0; k < pixels * pixels; ++k) {
        worst = fmax(worst, fabs(got->terms[k] - expected->terms[k]));
        largest = fmax(largest, expected->terms[k]);
    }
    print_message("  error terms %.1e of %.2e m^2\n", worst / largest, largest);
    assert_true(worst < 1e-12 * largest);
}

static void compare_problems(bb_lgs_tilt tilt, bool with_terms, double held_bytes)
{
    const bb_list wind = {(void *)(uintptr_t)winds, LAYERS};
    const bb_list none = {0};
    ao_case c = case_asymmetric();
    bb_layer_config layers[LAYERS];
    bb_error_terms_config terms = all_terms(&none);
    bb_error_terms_config known_terms = all_terms(&wind);
    autorelease(bb_profile_series) series = {0};
    add_target(&c, -14.0, 6.0);
    c.targets[1].lenslets = 4;
    bb_ao_config config = case_config(&c);
    config.error_terms = with_terms ? &known_terms : NULL;
    start_series(&series);
    autoptr(bb_tomography) base = new_object(bb_tomography, &config, tilt);
    ao_case changed = c;
    state_strengths(&changed, layers);
    bb_ao_config known = case_config(&changed);
    known.error_terms = with_terms ? &known_terms : NULL;
    autoptr(bb_tomography) expected = new_object(bb_tomography, &known, tilt);
    config.error_terms = with_terms ? &terms : NULL;
    autoptr(bb_layer_tomography) mixed =
        new_object(bb_layer_tomography, &config, tilt, base, 2, &series, held_bytes);
    const bb_tomography *got = bb_layer_tomography_problem(mixed);
    check_ok(bb_layer_tomography_set(mixed, winds, NULL)); // other strengths before
    check_ok(bb_layer_tomography_set(mixed, strengths, winds));
    check_relative(got->atmosphere.r0_m, expected->atmosphere.r0_m, 1e-14);
    double worst =
        fmax(distance(got->cmm, expected->cmm), distance(got->cmm_core, expected->cmm_core));
    for (int t = 0; t < 2; ++t) {
        worst = fmax(worst, distance(got->targets[t].ctm, expected->targets[t].ctm));
        worst = fmax(worst, distance(got->targets[t].ctt, expected->targets[t].ctt));
        if (with_terms) {
            check_terms(&got->targets[t], &expected->targets[t]);
        }
    }
    print_message("tilt %d, %s: %.1e\n", (int)tilt, held_bytes > 0.0 ? "held" : "asked", worst);
    assert_true(worst < 1e-12);
}

TEST_FULL(mixed_layers_are_the_problem_of_their_strengths)
{
    for (int tilt = 0; tilt < 3; ++tilt) {
        compare_problems((bb_lgs_tilt)tilt, false, HELD);
        compare_problems((bb_lgs_tilt)tilt, false, 0.0);
    }
    compare_problems(BB_LGS_TILT_UPDATE, true, HELD);
    compare_problems(BB_LGS_TILT_UPDATE, true, 0.0);
}

// Two layers at one height, of 25 m and of 60 m: the matrix of truth slopes is the sum of those of
// studies with one outer scale.
TEST(layers_have_outer_scales_of_their_own)
{
    const bb_profile_row rows[] = {{0.0, 4000.0, 2.0, NAN, 25.0}, {0.0, 4000.0, 3.0, NAN, 60.0}};
    static const bb_layer_config layer[] = {{4000.0, 1.0, NAN, NAN}};
    const double strength[] = {2.0, 3.0};
    bb_tomography *alone[2] = {NULL, NULL};
    ao_case c = case_asymmetric();
    c.atmosphere.layers = (bb_list){(void *)(uintptr_t)layer, 1};
    bb_ao_config config = case_config(&c);
    autorelease(bb_profile_series) series = new_struct(bb_profile_series, rows, 2);
    for (int k = 0; k < 2; ++k) {
        c.atmosphere.outer_scale_m = rows[k].outer_scale_m;
        check_ok(bb_tomography_create(&config, BB_LGS_TILT_UPDATE, &alone[k]));
    }
    bb_layer_tomography *mixed =
        new_object(bb_layer_tomography, &config, BB_LGS_TILT_UPDATE, alone[0], 1, &series, HELD);
    check_ok(bb_layer_tomography_set(mixed, strength, NULL));
    const bb_index m = alone[0]->targets[0].ctt->rows;
    autofree double *sum = zeros(m * m);
    for (int k = 0; k < 2; ++k) {
        autofree double *part = doubles(m * m);
        check_ok(bb_matrix_source_load(alone[k]->targets[0].ctt, part));
        for (bb_index i = 0; i < m * m; ++i) {
            sum[i] += strength[k] * part[i];
        }
    }
    const bb_view view = bb_view_matrix(sum, m, m);
    const bb_matrix_source expected = bb_matrix_source_dense(&view, "Ctt", "arcsec^2");
    const double off = distance(bb_layer_tomography_problem(mixed)->targets[0].ctt, &expected);
    const double apart =
        distance(alone[0]->targets[0].ctt, alone[1]->targets[0].ctt); // the scales matter
    print_message("mixed: %.1e, between the two scales %.2g\n", off, apart);
    assert_true(off < 1e-13 && apart > 1e-3);
    bb_layer_tomography_destroy(&mixed);
    bb_tomography_destroy(&alone[0]);
    bb_tomography_destroy(&alone[1]);
}

TEST(memory_is_what_was_said)
{
    const bb_list none = {0};
    bb_error_terms_config terms = all_terms(&none);
    terms.frame_delay_ms = 0.0;
    ao_case c = case_asymmetric();
    bb_ao_config config = case_config(&c);
    config.error_terms = &terms;
    autorelease(bb_profile_series) series = {0};
    bb_layer_tomography *mixed = NULL;
    bb_need making, held, filling;
    start_series(&series);
    autoptr(bb_tomography) base = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    for (int holds = 0; holds < 2; ++holds) {
        const double limit = holds ? HELD : 0.0;
        check_ok(
            bb_layer_tomography_need(&config, &series, 1, limit, 1.0, &making, &held, &filling));
        const size_t before = bb_memory_bytes();
        bb_memory_peak_reset();
        check_ok(bb_layer_tomography_create(&config, BB_LGS_TILT_UPDATE, base, 1, &series, limit,
                                            &mixed));
        check_ok(bb_layer_tomography_set(mixed, strengths, winds));
        const double peak = (double)(bb_memory_peak_bytes() - before);
        const double kept = (double)(bb_memory_bytes() - before);
        print_message("%s: peak %.0f of %.0f, held %.0f of %.0f bytes\n", holds ? "held" : "asked",
                      peak, making.host_bytes, kept, held.host_bytes);
        assert_true(peak <= making.host_bytes && making.host_bytes <= 2.0 * peak);
        assert_true(kept <= held.host_bytes && held.host_bytes <= 2.0 * kept);
        assert_true(making.seconds > 0.0 && filling.seconds > 0.0);
        bb_layer_tomography_destroy(&mixed);
    }
}

// Without error terms, whose tables are slow.
TEST_FULL(memory_may_run_out_anywhere)
{
    ao_case c = case_without_stars(8.0, 2);
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -16.0, -26.0);
    add_target(&c, 5.0, -3.0);
    const bb_ao_config config = case_config(&c);
    autorelease(bb_profile_series) series = {0};
    bb_layer_tomography *mixed = NULL;
    start_series(&series);
    autoptr(bb_tomography) base = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    const size_t before = bb_memory_bytes();
    for (int holds = 0; holds < 2; ++holds) {
        bb_index failures = 0;
        for (bb_status status = BB_MEMORY; status != BB_OK; ++failures) {
            bb_memory_fail_at(1 + 17 * failures); // of hundreds
            status = bb_layer_tomography_create(&config, BB_LGS_TILT_UPDATE, base, 1, &series,
                                                holds ? HELD : 0.0, &mixed);
            bb_memory_fail_at(0);
            assert_true(status == BB_OK || (status == BB_MEMORY && mixed == NULL));
            bb_layer_tomography_destroy(&mixed);
            assert_true(bb_memory_bytes() == before);
        }
        print_message("%td allocations failed\n", failures - 1);
        assert_true(failures > 12);
    }
}
