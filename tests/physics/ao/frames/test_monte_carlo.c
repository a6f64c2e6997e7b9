// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_check.h"
#include "physics/ao/frames/monte_carlo.h"
#include "physics/ao/tomography.h"
#include "tests/physics/ao/chain.h"

enum { WAVELENGTHS = 2, SEPARATIONS = 2 };
static const double wavelengths_m[WAVELENGTHS] = {1.65e-6, 2.2e-6};
static const bb_index separations[SEPARATIONS] = {1, 4};

typedef struct campaign {
    bb_frame_mean correctable[WAVELENGTHS], total[WAVELENGTHS], structure[SEPARATIONS], fitting;
    double residual_m2, rms_m;
    double psf[16 * 16];
    double pairs[WAVELENGTHS], stationary[WAVELENGTHS];
} campaign;

// Asymmetric: unequal lenslet counts and kinds of stars, a target off the axis.
static ao_case small_case(void)
{
    ao_case c = case_without_stars(8.0, 8);
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_LGS, -12.0, 14.0);
    add_star(&c, BB_GUIDE_STAR_NGS, 9.0, -21.0);
    c.stars[0].settings.altitude_km = 90.0;
    c.stars[0].lenslets = 7;
    c.stars[1].shift_x_m = 0.2;
    c.stars[2].settings.magnitude = 11.0;
    add_target(&c, 6.0, -4.0);
    return c;
}

static campaign run(const ao_case *c, const double *r, const double *cee, bb_index frames)
{
    campaign out = {0};
    const bb_ao_config config = case_config(c);
    const bb_monte_carlo_config screens = {
        .frames = frames, .pixels_per_subaperture = 24, .screen_oversize = 3.0, .subharmonics = 4};
    bb_outcome outcome = {0};
    bb_tomography_score stationary = {.kind = BB_SCORE_STATIONARY, .strehl = out.stationary};
    bb_tomography_score score = {.kind = BB_SCORE_PAIRS, .strehl = out.pairs};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, true);
    check_ok(
        bb_tomography_rate(problem, 0, cee, WAVELENGTHS, wavelengths_m, &stationary, &outcome));
    check_ok(bb_tomography_rate(problem, 0, cee, WAVELENGTHS, wavelengths_m, &score, &outcome));
    out.rms_m = score.residual_rms;
    autoptr(bb_frame_sampler) sampler = new_object(bb_frame_sampler, problem, &screens);
    bb_monte_carlo_estimate estimate = {
        .r = r, .correctable = out.correctable, .total = out.total, .psf = out.psf};
    const bb_monte_carlo_task task = {.seed = 11,
                                      .frames = frames,
                                      .wavelength_count = WAVELENGTHS,
                                      .wavelengths_m = wavelengths_m,
                                      .estimate_count = 1,
                                      .estimates = &estimate,
                                      .psf_pixels = 16,
                                      .separation_count = SEPARATIONS,
                                      .separations = separations,
                                      .structure = out.structure,
                                      .fitting = &out.fitting};
    check_ok(bb_monte_carlo_run(sampler, &task));
    out.residual_m2 = estimate.residual_m2.mean;
    return out;
}

TEST(agrees_with_the_covariances)
{
    const ao_case c = small_case();
    autocall(chain_release) chain k = chain_run(&c, true);
    const campaign got = run(&c, k.r, k.cee, 200);
    for (int w = 0; w < WAVELENGTHS; ++w) {
        const double sigmas = (got.correctable[w].mean - got.pairs[w]) / got.correctable[w].error;
        print_message("Strehl %.4f +- %.4f, by pairs %.4f (%.1f sigma), stationary %.4f\n",
                      got.correctable[w].mean, got.correctable[w].error, got.pairs[w], sigmas,
                      got.stationary[w]);
        assert_true(fabs(sigmas) < 3.0);
        assert_true(got.total[w].mean < got.correctable[w].mean);
    }
    // The residual belonging to the Strehl ratio by pairs: over the pupil, without piston.
    print_message("residual %.1f nm, of frames %.1f nm\n", 1e9 * got.rms_m,
                  1e9 * sqrt(got.residual_m2));
    check_relative(got.rms_m, sqrt(got.residual_m2), 0.02);
    // Edge actuators, predicted worst, have a larger weight in a mean over actuator pairs than in
    // the pupil.
    assert_true(got.stationary[0] < got.pairs[0] - 0.005);
    for (int s = 0; s < SEPARATIONS; ++s) {
        print_message("structure function at %td lenslets: %.3f +- %.3f of theory\n",
                      separations[s], got.structure[s].mean, got.structure[s].error);
        assert_true(fabs(got.structure[s].mean - 1.0) < 3.0 * got.structure[s].error + 0.02);
    }
    // Beyond a circular cutoff, and increased by this mirror.
    print_message("fitting: %.4f +- %.4f (d/r0)^(5/3)\n", got.fitting.mean, got.fitting.error);
    assert_true(got.fitting.mean > 0.2740 && got.fitting.mean < 0.45);
    // The image's value on the axis is the Strehl ratio of the whole residual.
    check_relative(got.psf[8 * 16 + 8], got.total[0].mean, 1e-12);
}

// Mirrors that correct together: slopes R' s are in the correctable residual, surfaces of commands
// M s in the whole one.
TEST(mirrors_together_correct_by_their_surfaces)
{
    enum { ESTIMATES = 3 };
    ao_case c = small_case();
    add_mirror(&c, 0.0, NAN);
    add_mirror(&c, 8000.0, 1.4);
    c.mirrors_condition = 20.0;
    const bb_ao_config config = case_config(&c);
    const bb_monte_carlo_config screens = {
        .frames = 2, .pixels_per_subaperture = 8, .screen_oversize = 2.0, .subharmonics = 4};
    check_ok(bb_ao_check(&config));
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, true);
    autoptr(bb_frame_sampler) sampler = new_object(bb_frame_sampler, problem, &screens);
    const bb_index n = problem->cmm->columns;
    const bb_index slopes = problem->targets[0].ctm->rows * n;
    const bb_index commands = problem->commands->stack.actuator_count * n;
    double *const r[2] = {doubles(slopes), doubles(slopes)};
    double *const m[2] = {doubles(commands), doubles(commands)};
    for (bb_index i = 0; i < slopes; ++i) {
        r[0][i] = 0.0;
        r[1][i] = 0.01 * (double)(i % 7 - 3);
    }
    for (bb_index i = 0; i < commands; ++i) {
        m[0][i] = 0.0;
        m[1][i] = 0.01 * (double)(i % 5 - 2);
    }
    bb_frame_mean part[ESTIMATES][1], whole[ESTIMATES][1];
    bb_monte_carlo_estimate estimates[ESTIMATES] = {
        {.r = r[0], .m = m[0]}, {.r = r[1], .m = m[0]}, {.r = r[0], .m = m[1]}};
    for (int e = 0; e < ESTIMATES; ++e) {
        estimates[e].correctable = part[e];
        estimates[e].total = whole[e];
    }
    bb_frame_mean fitting;
    const bb_monte_carlo_task task = {.seed = 3,
                                      .frames = 2,
                                      .wavelength_count = 1,
                                      .wavelengths_m = wavelengths_m + 1,
                                      .estimate_count = ESTIMATES,
                                      .estimates = estimates,
                                      .fitting = &fitting};
    check_ok(bb_monte_carlo_run(sampler, &task));
    assert_true(whole[1][0].mean == whole[0][0].mean && part[1][0].mean != part[0][0].mean);
    assert_true(whole[2][0].mean != whole[0][0].mean && part[2][0].mean == part[0][0].mean);
    for (int k = 0; k < 2; ++k) {
        double *used[] = {r[k], m[k]};
        BB_RELEASE(&used[0]);
        BB_RELEASE(&used[1]);
    }
}

TEST(does_not_depend_on_threads)
{
    const ao_case c = small_case();
    autocall(chain_release) chain k = chain_run(&c, true);
    const campaign one = run(&c, k.r, k.cee, 5);
    check_ok(bb_threads_set(3));
    const campaign three = run(&c, k.r, k.cee, 5);
    bb_threads_stop();
    assert_memory_equal(one.psf, three.psf, sizeof one.psf);
    assert_memory_equal(one.correctable, three.correctable, sizeof one.correctable);
    assert_memory_equal(one.structure, three.structure, sizeof one.structure);
}

// Slopes of frames have the covariance of the sources, noise and tilts included; point differences
// for laser stars and averaged gradients for the natural star, whose variance is 0.83 of that of
// point differences.
TEST(slopes_have_their_covariance)
{
    enum { FRAMES = 600 };
    ao_case c = small_case();
    c.sensors.lenslets = 4;
    c.stars[0].lenslets = 3;
    c.stars[2].slope_model = BB_SLOPE_AVERAGED_GRADIENT;
    const bb_ao_config config = case_config(&c);
    const bb_monte_carlo_config screens = {
        .frames = 1, .pixels_per_subaperture = 24, .screen_oversize = 3.0, .subharmonics = 4};
    autorelease(bb_frame) frame = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, true);
    const bb_index n = problem->cmm->rows;
    const bb_index m = problem->targets[0].ctm->rows;
    autofree double *expected = doubles(n * n + m * n);
    autofree double *sum = zeros(n * n + m * n);
    check_ok(bb_matrix_source_load(problem->cmm, expected));
    check_ok(bb_matrix_source_load(problem->targets[0].ctm, expected + n * n));
    autoptr(bb_frame_sampler) sampler = new_object(bb_frame_sampler, problem, &screens);
    check_ok(bb_frame_create(sampler, &frame));
    for (uint64_t f = 0; f < FRAMES; ++f) {
        check_ok(bb_frame_draw(sampler, 2, f, &frame));
        cblas_dger(CblasRowMajor, (int)n, (int)n, 1.0 / FRAMES, frame.guides, 1, frame.guides, 1,
                   sum, (int)n);
        cblas_dger(CblasRowMajor, (int)m, (int)n, 1.0 / FRAMES, frame.truth[0], 1, frame.guides, 1,
                   sum + n * n, (int)n);
    }
    // The error of a sample covariance is sqrt((c_ii c_jj + c_ij^2) / FRAMES), rms.
    double off = 0.0;
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            const double spread = sqrt((expected[i * n + i] * expected[j * n + j] +
                                        expected[i * n + j] * expected[i * n + j]) /
                                       FRAMES);
            const double sigmas = (sum[i * n + j] - expected[i * n + j]) / spread;
            off += sigmas * sigmas / (double)(n * n);
        }
    }
    double variance = 0.0;
    double expected_variance = 0.0;
    for (bb_index i = problem->guides.sensors[2].first; i < n; ++i) {
        variance += sum[i * n + i];
        expected_variance += expected[i * n + i];
    }
    check_close(variance / expected_variance, 1.0, 0.08, 1.0);
    double cross = 0.0;
    for (bb_index k = n * n; k < n * n + m * n; ++k) {
        cross += (sum[k] - expected[k]) * expected[k];
    }
    const double norm = frobenius(expected + n * n, m * n);
    print_message("covariance of slopes: %.3f of its sampling error, variance of a star %.3f; Ctm "
                  "%.3f of itself\n",
                  sqrt(off), variance / expected_variance, 1.0 + cross / (norm * norm));
    assert_true(off > 0.5 && off < 1.6);
    check_close(cross / (norm * norm), 0.0, 0.06, 1.0);
}
