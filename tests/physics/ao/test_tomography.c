// SPDX-License-Identifier: Apache-2.0
//
// The tomographic problem from the solver's side: its sources, the low-rank part of the unknown
// tilts of laser stars, and the score of a residual.
#include "core/memory.h"
#include "physics/ao/tomography.h"
#include "tests/physics/ao/cases.h"

static const double wavelengths[] = {1.65e-6, 2.2e-6};

// Two laser stars and a natural one on an 8 m telescope, two targets of one grid, one of another.
static ao_case small_case(void)
{
    ao_case c = case_without_stars(8.0, 6);
    add_star(&c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&c, BB_GUIDE_STAR_LGS, -12.0, 14.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -16.0, -26.0);
    add_target(&c, 0.0, 0.0);
    add_target(&c, 7.0, -4.0);
    add_target(&c, 0.0, 0.0);
    c.targets[2].lenslets = 5;
    return c;
}

static double *whole(const bb_matrix_source *source)
{
    double *values = doubles(source->rows * source->columns);
    check_ok(
        bb_matrix_source_fill(source, 0, 0, bb_view_matrix(values, source->rows, source->columns)));
    return values;
}

TEST(sources_have_the_shapes_of_the_sensors)
{
    const ao_case c = small_case();
    const bb_ao_config config = case_config(&c);
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    bb_index n = problem->cmm->rows;
    assert_int_equal(n, 6 * problem->guides.sensors[0].count);
    assert_int_equal(problem->cmm->columns, n);
    assert_int_equal(problem->cmm_core->rows, n);
    assert_int_equal(problem->target_count, 3);
    for (bb_index t = 0; t < 3; ++t) {
        const bb_tomography_target *target = &problem->targets[t];
        bb_index m = 2 * target->truth.sensors[0].count;
        assert_int_equal(target->ctm->rows, m);
        assert_int_equal(target->ctm->columns, n);
        assert_int_equal(target->ctt->rows, m);
        assert_int_equal(target->ctt->columns, m);
        assert_int_equal(bb_point_spread_layout(target->spread)->measurement_count, m);
    }
    // Targets with the same grid share one mirror.
    assert_ptr_equal(problem->targets[0].spread, problem->targets[1].spread);
    assert_ptr_not_equal(problem->targets[0].spread, problem->targets[2].spread);
    bb_tomography_destroy(&problem);
    assert_null(problem);
}

// Cmm = Ccore + V diag(variance) V^T, and with blocks the core is all of it.
TEST(tilts_complete_the_core)
{
    const ao_case c = small_case();
    const bb_ao_config config = case_config(&c);
    autoptr(bb_tomography) split = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    autoptr(bb_tomography) blocks = new_object(bb_tomography, &config, BB_LGS_TILT_CONSTANT_BLOCK);
    bb_index n = split->cmm->rows;
    assert_int_equal(split->tilts.columns, 4); // two axes of two laser stars
    assert_int_equal(split->tilts.rows, n);
    assert_int_equal(blocks->tilts.columns, 0);
    assert_ptr_equal(blocks->cmm, blocks->cmm_core);
    autofree double *cmm = whole(split->cmm);
    autofree double *core = whole(split->cmm_core);
    autofree double *with_blocks = whole(blocks->cmm_core);
    bb_index changed = 0;
    for (bb_index i = 0; i < n; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            double sum = core[i * n + j];
            for (bb_index k = 0; k < 4; ++k) {
                sum += split->tilts.variance[k] * split->tilts.vectors[i * 4 + k] *
                       split->tilts.vectors[j * 4 + k];
            }
            check_close(sum, cmm[i * n + j], 1e-13, cmm[0]);
            assert_true(cmm[i * n + j] == with_blocks[i * n + j]);
            assert_true(cmm[i * n + j] == cmm[j * n + i]);
            changed += cmm[i * n + j] != core[i * n + j];
        }
    }
    bb_index one = split->guides.sensors[0].count;
    assert_int_equal(changed, 4 * one * one);
}

// With infinite variances the matrices are independent of the tilt variance.
TEST(unknown_tilts_leave_the_core)
{
    const ao_case c = small_case();
    const bb_ao_config config = case_config(&c);
    autoptr(bb_tomography) split = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    autoptr(bb_tomography) unknown = new_object(bb_tomography, &config, BB_LGS_TILT_UNKNOWN);
    const bb_index n = split->cmm->rows;
    assert_ptr_equal(unknown->cmm, unknown->cmm_core);
    assert_int_equal(unknown->tilts.columns, 4);
    for (int k = 0; k < 4; ++k) {
        assert_true(isinf(unknown->tilts.variance[k]) && unknown->tilts.variance[k] > 0.0);
    }
    assert_memory_equal(unknown->tilts.vectors, split->tilts.vectors,
                        (size_t)(n * 4) * sizeof(double));
    autofree double *core = whole(split->cmm_core);
    autofree double *cmm = whole(unknown->cmm);
    assert_memory_equal(core, cmm, (size_t)(n * n) * sizeof *core);
}

// The truth sensor has its target's direction: targets differ in the direction of Ctm, not in the
// turbulence.
TEST(targets_differ_in_where_they_look)
{
    const ao_case c = small_case();
    const bb_ao_config config = case_config(&c);
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    double *ctt[2] = {whole(problem->targets[0].ctt), whole(problem->targets[1].ctt)};
    double *ctm[2] = {whole(problem->targets[0].ctm), whole(problem->targets[1].ctm)};
    bb_index m = problem->targets[0].ctt->rows;
    bb_index n = problem->cmm->rows;
    double moved = 0.0;
    check_all_close(ctt[1], ctt[0], m * m, 1e-12, ctt[0][0]);
    for (bb_index i = 0; i < m * n; ++i) {
        moved = fmax(moved, fabs(ctm[1][i] - ctm[0][i]));
        // Cauchy-Schwarz, for any directions.
        assert_true(fabs(ctm[0][i]) <= ctt[0][0] * (1.0 + 1e-9));
    }
    assert_true(moved > 1e-3 * ctt[0][0]);
    for (int t = 0; t < 2; ++t) {
        BB_RELEASE(&ctt[t]);
        BB_RELEASE(&ctm[t]);
    }
}

// A zero residual is a perfect image; uncorrected turbulence is worse; a non-finite residual has no
// score.
static void check_rating(bb_score kind)
{
    const ao_case c = small_case();
    const bb_ao_config config = case_config(&c);
    double strehl[2] = {NAN, NAN};
    bb_tomography_score score = {.kind = kind, .strehl = strehl};
    bb_outcome outcome = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    bb_index m = problem->targets[0].ctt->rows;
    bb_index pixels = bb_point_spread_layout(problem->targets[0].spread)->pixels;
    autofree double *cee = zeros(m * m);
    autofree double *image = doubles(pixels * pixels);
    score.psf_count = 1;
    score.psf = image;
    check_ok(bb_tomography_rate(problem, 0, cee, 2, wavelengths, &score, &outcome));
    score.psf_count = 0;
    check_relative(strehl[0], 1.0, 1e-12);
    check_relative(strehl[1], 1.0, 1e-12);
    check_close(score.residual_rms, 0.0, 1e-15, 1.0);
    check_relative(image[pixels / 2 * pixels + pixels / 2], 1.0, 1e-12);
    autofree double *ctt = whole(problem->targets[0].ctt);
    check_ok(bb_tomography_rate(problem, 0, ctt, 2, wavelengths, &score, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    assert_true(strehl[0] > 0.0 && strehl[0] < 0.1 && strehl[0] < strehl[1]);
    assert_true(score.residual_rms > 3e-7);
    ctt[3] = NAN;
    check_ok(bb_tomography_rate(problem, 0, ctt, 2, wavelengths, &score, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_NON_FINITE);
    assert_true(isnan(strehl[0]) && isnan(strehl[1]) && isnan(score.residual_rms));
}

TEST(rating_spans_perfect_to_uncorrected)
{
    check_rating(BB_SCORE_PAIRS);
    check_rating(BB_SCORE_STATIONARY);
}

// White errors of slopes on a mirror that keeps a mode of the edge: the mean over pairs is not a
// covariance, and its Strehl ratio would be thousands.
TEST(a_residual_far_from_stationary_has_no_price)
{
    ao_case c = small_case();
    c.telescope.obstruction = 0.3;
    bb_ao_config config = case_config(&c);
    const bb_mirror_config mirror = {.condition = 100.0};
    config.mirror = &mirror;
    double strehl = 0.0;
    const double wavelength_m = 1.65e-6;
    bb_tomography_score score = {.kind = BB_SCORE_STATIONARY, .strehl = &strehl};
    bb_outcome outcome = {0};
    autoptr(bb_tomography) problem = new_object(bb_tomography, &config, BB_LGS_TILT_UPDATE);
    const bb_index m = problem->targets[2].ctt->rows;
    autofree double *cee = zeros(m * m);
    for (bb_index i = 0; i < m; ++i) {
        cee[i * m + i] = 1e-2;
    }
    check_ok(bb_tomography_rate(problem, 2, cee, 1, &wavelength_m, &score, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_NOT_SPD);
    assert_non_null(strstr(outcome.detail, "too far from stationary"));
    assert_true(isnan(strehl) && isnan(score.residual_rms));
}

TEST_FULL(every_allocation_may_fail)
{
    const ao_case c = small_case();
    const bb_ao_config config = case_config(&c);
    failing_allocation walk = {0};
    bb_status status = BB_OK;
    while (fail_next(&walk, status)) {
        autoptr(bb_tomography) problem = NULL;
        status = bb_tomography_create(&config, BB_LGS_TILT_UPDATE, &problem);
        assert_true((status == BB_OK) == (problem != NULL));
    }
    assert_true(walk.k > 50);
}
