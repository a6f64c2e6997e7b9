// SPDX-License-Identifier: Apache-2.0
//
// Layers learned from covariances of slopes: analytic ones, with exactly known strengths, and those
// of random frames.
#include "core/thread.h"
#include "physics/ao/frames/learn_frames.h"
#include "physics/ao/learn/learn.h"
#include "physics/ao/tomography.h"
#include "tests/physics/ao/cases.h"

enum { LAYERS = 3 };
static const double heights_m[LAYERS] = {0.0, 4000.0, 11000.0};
static const double strengths[LAYERS] = {18.0, 4.5, 7.25};

// Unequal kinds, lenslet counts, altitudes and radii, a shifted grid, a zenith angle.
static ao_case asymmetric_case(bb_layer_config *layers)
{
    ao_case c = case_without_stars(8.0, 8);
    for (int l = 0; l < LAYERS; ++l) {
        layers[l] =
            (bb_layer_config){.height_m = heights_m[l], .strength = strengths[l], .cn2_m13 = NAN};
    }
    c.atmosphere.profile = -1;
    c.atmosphere.layers = (bb_list){.items = layers, .count = LAYERS};
    c.telescope.zenith_angle_deg = 25.0;
    add_star(&c, BB_GUIDE_STAR_LGS, 31.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_LGS, -22.0, 24.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 19.0, -41.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -33.0, -12.0);
    c.stars[0].settings.altitude_km = 90.0;
    c.stars[0].lenslets = 7;
    c.stars[1].shift_x_m = 0.2;
    c.stars[2].settings.magnitude = 11.0;
    c.stars[3].settings.magnitude = 12.0;
    add_target(&c, 6.0, -4.0);
    return c;
}

static bb_learn_task task_of(const bb_ao_config *config, const bb_matrix_source *source)
{
    return (bb_learn_task){.config = config,
                           .layer_count = LAYERS,
                           .height_m = heights_m,
                           .outer_scale_low_m = 25.0,
                           .outer_scale_high_m = 25.0,
                           .separation = 1e-2,
                           .source_count = 1,
                           .source = source};
}

TEST(known_strengths_come_back)
{
    bb_layer_config layers[LAYERS];
    const ao_case c = asymmetric_case(layers);
    const bb_ao_config config = case_config(&c);
    autorelease(bb_learned_profile) learned = {0};
    double worst = 0.0;
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    const bb_learn_task task = task_of(&config, problem->cmm);
    check_ok(bb_learn_fit(&task, &learned));
    assert_int_equal(learned.outcome.kind, BB_OUTCOME_OK);
    for (int l = 0; l < LAYERS; ++l) {
        worst = fmax(worst, fabs(learned.strength[l] / strengths[l] - 1.0));
        check_relative(learned.strength[l], strengths[l], 1e-8);
        print_message("layer at %5.0f m: own %.3f, sigma %.2e\n", heights_m[l], learned.own[l],
                      learned.sigma[l]);
    }
    print_message("strengths within %.2e, residual %.2e, condition %.1f\n", worst, learned.residual,
                  learned.condition);
    check_close(learned.residual, 0.0, 1e-10, 1.0);
    check_relative(learned.r0_m, pow(18.0 + 4.5 + 7.25, -0.6), 1e-9);
    // Beyond turbulence: the noise of the model and the tilts of laser stars.
    for (bb_index s = 0; s < learned.sensor_count; ++s) {
        const bb_sensor *sensor = &problem->guides.sensors[s];
        double noise = 0.0;
        for (bb_index i = 0; i < sensor->count; ++i) {
            const bb_slope_noise *slope_noise = &problem->noise.subaperture[sensor->first / 2 + i];
            noise += 0.5 * (slope_noise->xx + slope_noise->yy) / (double)sensor->count;
        }
        check_close(learned.noise_arcsec2[s], noise, 1e-10, 0.03);
        check_close(learned.tilt_arcsec2[s], sensor->star.kind == &bb_lgs_star ? 1.0 : 0.0, 1e-9,
                    1.0);
    }
}

TEST(absent_layers_get_nothing)
{
    bb_layer_config layers[LAYERS];
    const ao_case c = asymmetric_case(layers);
    const bb_ao_config config = case_config(&c);
    const double more_m[LAYERS + 2] = {0.0, 2000.0, 4000.0, 7500.0, 11000.0};
    const double expected[LAYERS + 2] = {18.0, 0.0, 4.5, 0.0, 7.25};
    autorelease(bb_learned_profile) learned = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    bb_learn_task task = task_of(&config, problem->cmm);
    task.layer_count = LAYERS + 2;
    task.height_m = more_m;
    check_ok(bb_learn_fit(&task, &learned));
    assert_int_equal(learned.outcome.kind, BB_OUTCOME_OK);
    for (int l = 0; l < LAYERS + 2; ++l) {
        check_close(learned.strength[l], expected[l], 1e-8, 18.0);
        assert_true(learned.strength[l] >= 0.0);
    }
}

TEST_FULL(the_outer_scale_comes_back)
{
    bb_layer_config layers[LAYERS];
    ao_case c = asymmetric_case(layers);
    c.atmosphere.outer_scale_m = 17.0;
    const bb_ao_config config = case_config(&c);
    autorelease(bb_learned_profile) learned = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    bb_learn_task task = task_of(&config, problem->cmm);
    task.outer_scale_low_m = 8.0;
    task.outer_scale_high_m = 80.0;
    check_ok(bb_learn_fit(&task, &learned));
    print_message("L0 %.8f +- %.1e m, strength 0 within %.1e\n", learned.outer_scale_m,
                  learned.outer_scale_sigma_m, fabs(learned.strength[0] / 18.0 - 1.0));
    check_relative(learned.outer_scale_m, 17.0, 1e-3);
    check_relative(learned.strength[0], 18.0, 1e-3);
    assert_false(learned.outer_scale_bounded);
    bb_learned_profile_release(&learned);
    task.outer_scale_low_m = 20.0;
    task.outer_scale_high_m = 24.0;
    check_ok(bb_learn_fit(&task, &learned));
    assert_true(learned.outer_scale_bounded);
    check_relative(learned.outer_scale_m, 20.0, 1e-4);
}

// Laser stars at 30 km, a layer at 40: only natural stars measure it.
TEST(natural_stars_see_above_laser_stars)
{
    bb_layer_config layers[LAYERS];
    ao_case c = asymmetric_case(layers);
    const double high_m[LAYERS] = {0.0, 4000.0, 40000.0};
    layers[2].height_m = high_m[2];
    c.stars[0].settings.altitude_km = c.stars[1].settings.altitude_km = 30.0;
    // Closer together, so that beams overlap at that height.
    c.stars[2].x_arcsec = 7.0;
    c.stars[2].y_arcsec = -9.0;
    c.stars[3].x_arcsec = -6.0;
    c.stars[3].y_arcsec = 5.0;
    bb_ao_config config = case_config(&c);
    autorelease(bb_learned_profile) learned = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    bb_learn_task task = task_of(&config, problem->cmm);
    task.height_m = high_m;
    check_ok(bb_learn_fit(&task, &learned));
    check_all_relative(learned.strength, strengths, LAYERS, 1e-8);
    bb_learned_profile_release(&learned);
    // Without natural stars none does.
    bb_tomography_destroy(&problem);
    config.guide_star_count = 2;
    check_ok(bb_tomography_create(&config, BB_LGS_TILT_CONSTANT_BLOCK, &problem));
    task.source = problem->cmm;
    check_ok(bb_learn_fit(&task, &learned));
    assert_int_equal(learned.outcome.kind, BB_OUTCOME_UNDERDETERMINED);
    assert_non_null(strstr(learned.outcome.detail, "no two slopes share the layer at 40000 m"));
    assert_true(isnan(learned.strength[0]) && isnan(learned.r0_m) && isnan(learned.outer_scale_m));
}

TEST(layers_too_close_are_named)
{
    bb_layer_config layers[LAYERS];
    ao_case c = asymmetric_case(layers);
    bb_ao_config config = case_config(&c);
    const double close_m[LAYERS] = {0.0, 11000.0, 11020.0};
    autorelease(bb_learned_profile) learned = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    bb_learn_task task = task_of(&config, problem->cmm);
    task.height_m = close_m;
    check_ok(bb_learn_fit(&task, &learned));
    print_message("%s\n", learned.outcome.detail);
    assert_int_equal(learned.outcome.kind, BB_OUTCOME_UNDERDETERMINED);
    assert_non_null(strstr(learned.outcome.detail, "cannot separate the layer at 110"));
    assert_non_null(strstr(learned.outcome.detail, "from the one at 110"));
    assert_true(isnan(learned.strength[2]));
    bb_learned_profile_release(&learned);
    // A single star gives no information on heights.
    bb_tomography_destroy(&problem);
    c.stars[0] = c.stars[3];
    config.guide_star_count = 1;
    check_ok(bb_tomography_create(&config, BB_LGS_TILT_CONSTANT_BLOCK, &problem));
    task = task_of(&config, problem->cmm);
    check_ok(bb_learn_fit(&task, &learned));
    assert_int_equal(learned.outcome.kind, BB_OUTCOME_UNDERDETERMINED);
}

// The same bits from one thread and two; a faint star and other tilts change nothing.
TEST(noise_and_tilts_do_not_bias)
{
    bb_layer_config layers[LAYERS];
    ao_case c = asymmetric_case(layers);
    bb_ao_config config = case_config(&c);
    autorelease(bb_learned_profile) quiet = {0};
    autorelease(bb_learned_profile) noisy = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    bb_learn_task task = task_of(&config, problem->cmm);
    check_ok(bb_learn_fit(&task, &quiet));
    check_ok(bb_threads_set(2));
    check_ok(bb_learn_fit(&task, &noisy));
    check_ok(bb_threads_set(1));
    assert_memory_equal(quiet.strength, noisy.strength, sizeof strengths);
    bb_learned_profile_release(&noisy);
    bb_tomography_destroy(&problem);
    c.stars[2].settings.magnitude = 16.0;
    c.sensors.lgs.tilt_variance_arcsec2 = 7.0;
    check_ok(bb_tomography_create(&config, BB_LGS_TILT_CONSTANT_BLOCK, &problem));
    task.source = problem->cmm;
    check_ok(bb_learn_fit(&task, &noisy));
    check_all_relative(noisy.strength, quiet.strength, LAYERS, 1e-8);
    check_relative(noisy.tilt_arcsec2[0], 7.0, 1e-8);
    assert_true(noisy.noise_arcsec2[2] > 10.0 * quiet.noise_arcsec2[2]);
}

TEST_FULL(frames_teach_within_their_error)
{
    bb_layer_config layers[LAYERS];
    const ao_case c = asymmetric_case(layers);
    const bb_ao_config config = case_config(&c);
    const bb_monte_carlo_config screens = {
        .frames = 0, .pixels_per_subaperture = 16, .screen_oversize = 2.0, .subharmonics = 4};
    bb_learn_frames frames = {0};
    bb_learned_profile learned = {0};
    check_ok(bb_threads_set(2));
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    problem->target_count = 0; // no phase over pupils is needed
    bb_frame_sampler *sampler = new_object(bb_frame_sampler, problem, &screens);
    check_ok(bb_learn_frames_draw(sampler, 3, 0, 480, &frames));
    bb_learn_task task = task_of(&config, frames.source);
    task.source_count = BB_LEARN_BATCHES;
    check_ok(bb_learn_fit(&task, &learned));
    for (int l = 0; l < LAYERS; ++l) {
        print_message("layer at %5.0f m: %.3f +- %.3f, true %.3f: %+.2f sigma\n", heights_m[l],
                      learned.strength[l], learned.sigma[l], strengths[l],
                      (learned.strength[l] - strengths[l]) / learned.sigma[l]);
        check_close(learned.strength[l], strengths[l], 3.0, learned.sigma[l]);
        assert_true(learned.sigma[l] < 0.1 * 18.0);
    }
    print_message("residual %.3f\n", learned.residual);
    bb_learned_profile_release(&learned);
    bb_learn_frames_release(&frames);
    bb_frame_sampler_destroy(&sampler);
    problem->target_count = c.target_count;
}

TEST(what_cannot_be_fitted_is_refused)
{
    bb_layer_config layers[LAYERS];
    const ao_case c = asymmetric_case(layers);
    const bb_ao_config config = case_config(&c);
    double four[4] = {1.0, 0.0, 0.0, 1.0};
    const bb_view view = bb_view_matrix(four, 2, 2);
    const bb_matrix_source small = bb_matrix_source_dense(&view, "C", "arcsec^2");
    bb_learned_profile learned = {0};
    bb_learn_task task = task_of(&config, &small);
    check_fails(bb_learn_fit(&task, &learned), BB_INVALID, "the covariance is 2 x 2");
    task.outer_scale_low_m = 30.0;
    check_fails(bb_learn_fit(&task, &learned), BB_INVALID, "outer scale from 30 to 25 m");
    task.layer_count = 0;
    check_fails(bb_learn_fit(&task, &learned), BB_INVALID, "0 layers from 1 covariances");
}
