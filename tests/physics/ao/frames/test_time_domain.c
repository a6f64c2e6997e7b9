// SPDX-License-Identifier: Apache-2.0
//
// Frozen flow through sensors and a controller: frames at time 0, covariances of slopes with the
// truth a delay later, long exposures without delay against independent frames.
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/frames/time_domain.h"
#include "physics/ao/tomography.h"
#include "tests/physics/ao/chain.h"

enum { LAYERS = 2 };
static const double winds[LAYERS][2] = {{9.0, -4.0}, {-12.0, 21.0}};
static const bb_monte_carlo_config screens = {
    .frames = 1, .pixels_per_subaperture = 16, .screen_oversize = 3.0, .subharmonics = 4};

// Asymmetric: unequal lenslet counts and kinds of stars, a target off the axis.
static ao_case small_case(bb_index lenslets)
{
    ao_case c = case_without_stars(4.0, lenslets);
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 9.0, -21.0);
    c.stars[0].settings.altitude_km = 90.0;
    c.stars[0].lenslets = lenslets - 1;
    c.stars[0].shift_x_m = 0.2;
    c.stars[1].settings.magnitude = 10.0;
    add_target(&c, 6.0, -4.0);
    return c;
}

typedef struct scene {
    ao_case c;
    bb_ao_config config;
    bb_tomography *problem;
    bb_frame_sampler *sampler;
} scene;

static void enter(bb_index lenslets, scene *s)
{
    *s = (scene){.c = small_case(lenslets)};
    s->config = case_config(&s->c);
    check_ok(bb_tomography_create(&s->config, BB_LGS_TILT_CONSTANT_BLOCK, &s->problem));
    check_ok(bb_frame_sampler_create(s->problem, &screens, &s->sampler));
    assert_int_equal(s->problem->atmosphere.layer_count, LAYERS);
}

static void leave(scene *s)
{
    bb_frame_sampler_destroy(&s->sampler);
    bb_tomography_destroy(&s->problem);
}

// At time 0 a realisation equals a frame; later the targets differ, and a drifted sensor agrees
// with it.
TEST(skies_begin_as_frames)
{
    autocall(leave) scene s;
    autorelease(bb_frame) frame = {0};
    autorelease(bb_frame) moved = {0};
    enter(5, &s);
    check_ok(bb_frame_create(s.sampler, &frame));
    check_ok(bb_frame_create(s.sampler, &moved));
    autoptr(bb_flow_sampler) flow = new_object(bb_flow_sampler, s.sampler, winds);
    check_ok(bb_frame_draw(s.sampler, 5, 8, &frame));
    bb_flow_sampler_start(flow, 5, 8);
    check_ok(bb_flow_sampler_sample(flow, BB_FRAME_WHOLE, 0.0, 0.0, 5, 8, &moved));
    const bb_index n = s.problem->guides.measurement_count;
    const bb_index m = s.problem->targets[0].truth.measurement_count;
    check_all_close(moved.guides, frame.guides, n, 1e-14, 1.0);
    check_all_close(moved.truth[0], frame.truth[0], m, 1e-14, 1.0);
    check_close(moved.phase[0][300], frame.phase[0][300], 1e-18, 1.0);
    // The parts are independent.
    check_ok(bb_flow_sampler_sample(flow, BB_FRAME_TARGETS, 0.02, 0.0, 5, 9, &moved));
    check_close(moved.guides[0], frame.guides[0], 1e-14, 1.0);
    assert_true(fabs(moved.truth[0][0] - frame.truth[0][0]) > 1e-4);
    // Without noise the difference is the smearing over the exposure.
    check_ok(bb_flow_sampler_sample(flow, BB_FRAME_GUIDES, 0.0, 0.01, 5, 8, &moved));
    assert_true(fabs(moved.guides[0] - frame.guides[0]) > 1e-6);
}

// <t(tau) s(0)^T> of skies against the covariance of truth sensors that have drifted.
TEST_FULL(truth_a_delay_later_has_the_covariance_of_drifted_sensors)
{
    enum { SKIES = 700 };
    const double delay_s = 0.05;
    double drift[LAYERS][2];
    autocall(leave) scene s;
    autorelease(bb_sensor_array) late = {0};
    autorelease(bb_frame) frame = {0};
    enter(4, &s);
    const bb_index n = s.problem->guides.measurement_count;
    const bb_index m = s.problem->targets[0].truth.measurement_count;
    for (int l = 0; l < LAYERS; ++l) {
        drift[l][0] = -delay_s * winds[l][0];
        drift[l][1] = -delay_s * winds[l][1];
    }
    check_ok(bb_sensor_array_create_truth(&s.config, 0, &s.problem->atmosphere, &late));
    bb_sensor_array_drift(&late, drift);
    const bb_slope_covariance_parts parts = {.name = "late",
                                             .atmosphere = &s.problem->atmosphere,
                                             .rows = &late,
                                             .columns = &s.problem->guides};
    autoptr(bb_slope_covariance) covariance = new_object(bb_slope_covariance, &parts);
    autofree double *expected = chain_dense(covariance);
    autofree double *still = doubles(m * n);
    check_ok(bb_matrix_source_load(s.problem->targets[0].ctm, still));
    autofree double *sum = zeros(m * n);
    check_ok(bb_frame_create(s.sampler, &frame));
    autoptr(bb_flow_sampler) flow = new_object(bb_flow_sampler, s.sampler, winds);
    for (uint64_t f = 0; f < SKIES; ++f) {
        bb_flow_sampler_start(flow, 2, f);
        check_ok(bb_flow_sampler_sample(flow, BB_FRAME_GUIDES, 1.0, 0.0, 2, f, &frame));
        check_ok(bb_flow_sampler_sample(flow, BB_FRAME_TARGETS, 1.0 + delay_s, 0.0, 2, f, &frame));
        cblas_dger(CblasRowMajor, (int)m, (int)n, 1.0 / SKIES, frame.truth[0], 1, frame.guides, 1,
                   sum, (int)n);
    }
    // Regression of the sampled covariance on both: all of it is in the drifted covariance.
    double aa = 0.0, ab = 0.0, bb = 0.0, as = 0.0, bs = 0.0;
    for (bb_index k = 0; k < m * n; ++k) {
        const double change = still[k] - expected[k];
        aa += expected[k] * expected[k];
        ab += expected[k] * change;
        bb += change * change;
        as += sum[k] * expected[k];
        bs += sum[k] * change;
    }
    const double drifted = (as * bb - bs * ab) / (aa * bb - ab * ab);
    const double share = (bs * aa - as * ab) / (aa * bb - ab * ab);
    print_message("change by the drift %.2f of Ctm; sampled: %.3f of the drifted, %.3f of the "
                  "change\n",
                  sqrt(bb / aa), drifted, share);
    check_close(drifted, 1.0, 0.1, 1.0);
    check_close(share, 0.0, 0.15, 1.0); // without drift 1, with the wind reversed 2 and more
    assert_true(bb > 0.04 * aa);
}

// The wind of the only layer above the ground times a delay is an angle: drifting sensors agree
// with sensors in another direction, by table and directly.
TEST(a_drift_is_a_direction)
{
    static const bb_layer_config layers[] = {{8000.0, 1.0, NAN, NAN}};
    const double step_arcsec = 3.0;
    ao_case c = small_case(5);
    c.atmosphere.profile = -1;
    c.atmosphere.layers = (bb_list){.items = (void *)(uintptr_t)layers, .count = 1};
    c.atmosphere.r0_m = 0.15;
    c.targets[c.target_count] = c.targets[0];
    c.targets[c.target_count].x_arcsec += step_arcsec;
    c.targets[c.target_count++].y_arcsec -= 2.0 * step_arcsec;
    const bb_ao_config config = case_config(&c);
    autorelease(bb_sensor_array) guides = {0};
    bb_sensor_array truth[2] = {0};
    double *matrix[2];
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &c.atmosphere, 0.0);
    check_ok(bb_sensor_array_create_guides(&config, &atmosphere, &guides));
    const double offset = 8000.0 * step_arcsec / BB_ARCSEC_PER_RADIAN;
    const double drift[1][2] = {{offset, -2.0 * offset}};
    for (int t = 0; t < 2; ++t) {
        check_ok(bb_sensor_array_create_truth(&config, t, &atmosphere, &truth[t]));
        if (t == 0) {
            bb_sensor_array_drift(&truth[t], drift);
        }
        const bb_slope_covariance_parts parts = {
            .name = "Ctm", .atmosphere = &atmosphere, .rows = &truth[t], .columns = &guides};
        autoptr(bb_slope_covariance) covariance = new_object(bb_slope_covariance, &parts);
        matrix[t] = chain_dense(covariance);
    }
    const double entries = bb_slope_covariance_entries(&truth[0], &guides);
    const double direct = bb_slope_covariance_direct_entries(&truth[0], &guides);
    assert_true(direct > 0.0 && direct < entries); // both paths are covered
    check_all_close(matrix[0], matrix[1], (bb_index)entries, 1e-12, 0.1);
    for (int t = 0; t < 2; ++t) {
        BB_RELEASE(&matrix[t]);
        bb_sensor_array_release(&truth[t]);
    }
}

enum { SKIES = 4 };
typedef struct outcome {
    bb_frame_mean correctable, total, loss;
    double residual_m2;
} outcome;

static outcome run(const scene *s, const chain *k, double delay_s, double rate_hz, double gain)
{
    static const double wavelength_m = 1.65e-6;
    outcome out = {0};
    bb_time_domain_estimate estimate = {.rows = k->m,
                                        .q = k->r,
                                        .correctable = &out.correctable,
                                        .total = &out.total,
                                        .loss = &out.loss};
    const bb_time_domain_task task = {.seed = 3,
                                      .realisations = SKIES,
                                      .frames = 2,
                                      .settle = 3,
                                      .frame_s = 1.0 / rate_hz,
                                      .delay_s = delay_s,
                                      .gain = gain,
                                      .wind = winds,
                                      .wavelength_count = 1,
                                      .wavelengths_m = &wavelength_m,
                                      .estimate_count = 1,
                                      .estimates = &estimate};
    check_ok(bb_time_domain_run(s->sampler, &task));
    out.residual_m2 = estimate.residual_m2.mean;
    return out;
}

TEST(numbers_do_not_depend_on_threads)
{
    autocall(leave) scene s;
    enter(4, &s);
    autocall(chain_release) chain k = chain_run(&s.c, true);
    const outcome one = run(&s, &k, 4e-3, 500.0, 0.5);
    check_ok(bb_threads_set(3));
    const outcome three = run(&s, &k, 4e-3, 500.0, 0.5);
    bb_threads_stop();
    assert_memory_equal(&one, &three, sizeof one);
    assert_true(one.correctable.error > 0.0 && one.correctable.mean < 1.0);
    // A longer delay is worse, with the same screens and noise.
    assert_true(run(&s, &k, 0.0, 500.0, 1.0).residual_m2 <
                run(&s, &k, 10e-3, 500.0, 1.0).residual_m2);
    // Old commands in the integrator lag, too.
    assert_true(run(&s, &k, 0.0, 100.0, 1.0).residual_m2 <
                run(&s, &k, 0.0, 100.0, 0.3).residual_m2);
}
