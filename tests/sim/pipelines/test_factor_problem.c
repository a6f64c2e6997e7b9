// SPDX-License-Identifier: Apache-2.0
//
// Work of a pipeline on a covariance: policies on real norms, and handling of failures.
#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_plan.h"
#include "sim/pipelines/factor_problem.h"
#include "tests/sim/allocation_walk.h"
#include "tests/solvers/dense.h"

#include <cblas.h>
#include <unistd.h>

enum { N = 300, M = 7, TILE = 32, TILES = 10 };

static double *a, *b, *expected, noise[N];
static bb_view a_view, b_view;
static bb_matrix_source a_source, b_source;
static const bb_matrix_source *sides[1] = {&b_source};
static bb_factor_solver_config solver = {.tile = TILE};
static bb_factor_problem problem;

// Covariance with a given noise, and B = W A.
static void prepare(double level)
{
    autofree double *w = dense_new(M * N);
    a = dense_new(N * N);
    b = dense_new(M * N);
    expected = dense_new(M * N);
    dense_covariance(N, 20.0, level, a);
    dense_random(M * N, 5, w);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, N, 1.0, w, N, a, N, 0.0, b, N);
    memcpy(expected, w, (size_t)M * N * sizeof *w);
    fill_array(noise, N, i, level);
    a_view = bb_view_matrix(a, N, N);
    b_view = bb_view_matrix(b, M, N);
    a_source = bb_matrix_source_dense(&a_view, "A", "1");
    b_source = bb_matrix_source_dense(&b_view, "B", "1");
    problem = (bb_factor_problem){
        .solver = &solver, .matrix = &a_source, .target_count = 1, .sides = sides, .noise = noise};
    check_ok(bb_factor_problem_prepare(&problem));
}

static void finish(void)
{
    bb_factor_problem_release(&problem);
    BB_RELEASE(&a);
    BB_RELEASE(&b);
    BB_RELEASE(&expected);
}

static bb_factor_pipeline pipeline_of(bb_variant arithmetic, bb_policy_kind kind)
{
    return (bb_factor_pipeline){
        .name = "test",
        .arithmetic = (int)arithmetic,
        .policy = {.kind = kind, .inside = BB_VARIANT_X3, .tolerance = NAN, .noise_share = 0.5},
        .accumulate_k = 4};
}

// Returns ||R - W|| / ||W||, NaN without R.
static double solve(const bb_factor_pipeline *pipeline, bb_evaluation *evaluation)
{
    autofree double *r = NULL;
    double error = NAN;
    *evaluation = bb_evaluation_start("test");
    check_ok(bb_factor_problem_solve(&problem, pipeline, &r, evaluation));
    if (evaluation->outcome.kind == BB_OUTCOME_OK) {
        double norm = dense_norm(M * N, expected);
        for (int i = 0; i < M * N; ++i) {
            r[i] -= expected[i];
        }
        error = dense_norm(M * N, r) / norm;
    }
    return error;
}

TEST(the_noise_floor_is_that_of_the_scaled_matrix)
{
    prepare(0.25);
    check_relative(problem.noise_floor, 0.25 / 1.25, 1e-14);
    finish();
}

// A draw has factors on its rows, which cancel in R; dp gives the same R to rounding.
TEST(draws_change_roundings_alone)
{
    double *r[4] = {NULL};
    bb_evaluation evaluation;
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_DP, BB_POLICY_UNIFORM);
    prepare(0.25);
    for (int i = 0; i < 4; ++i) { // dp, dp, hp1, hp1: draws 0 and 3 of each
        problem.draw = i % 2 * 3;
        pipeline.arithmetic = i < 2 ? BB_VARIANT_DP : BB_VARIANT_HP1;
        evaluation = bb_evaluation_start("test");
        check_ok(bb_factor_problem_solve(&problem, &pipeline, &r[i], &evaluation));
        assert_int_equal(evaluation.outcome.kind, BB_OUTCOME_OK);
    }
    double largest[2] = {0.0, 0.0};
    for (int i = 0; i < M * N; ++i) {
        largest[0] = fmax(largest[0], fabs(r[1][i] - r[0][i]));
        largest[1] = fmax(largest[1], fabs(r[3][i] - r[2][i]));
    }
    print_message("draws differ by %.1e in dp, %.1e in hp1\n", largest[0], largest[1]);
    assert_true(largest[0] > 0.0 && largest[0] < 1e-12);
    assert_true(largest[1] > 1e-6 && largest[1] < 1e-2);
    for (int i = 0; i < 4; ++i) {
        BB_RELEASE(&r[i]);
    }
    finish();
}

// Dither cancels in R, changes the rounding of narrow products, and applies to the unit diagonal
// only.
TEST(dither_changes_roundings_alone)
{
    static const double dithers[] = {0.0, 0.04, 0.08};
    bb_evaluation evaluation;
    double errors[3];
    double *r[3] = {NULL};
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1, BB_POLICY_UNIFORM);
    prepare(0.25);
    for (int d = 0; d < 3; ++d) {
        solver.dither = dithers[d];
        errors[d] = solve(&pipeline, &evaluation);
        evaluation = bb_evaluation_start("test");
        check_ok(bb_factor_problem_solve(&problem, &pipeline, &r[d], &evaluation));
    }
    print_message("errors %.2e, %.2e, %.2e\n", errors[0], errors[1], errors[2]);
    for (int d = 1; d < 3; ++d) {
        assert_true(memcmp(r[0], r[d], (size_t)M * N * sizeof(double)) != 0);
        assert_true(errors[d] < 2.0 * errors[0] && errors[0] < 2.0 * errors[d]);
    }
    BB_RELEASE(&r[2]);
    solver.scale = (int)BB_FACTOR_SCALE_NONE;
    evaluation = bb_evaluation_start("test");
    check_ok(bb_factor_problem_solve(&problem, &pipeline, &r[2], &evaluation));
    assert_memory_equal(r[0], r[2], (size_t)M * N * sizeof(double));
    solver = (bb_factor_solver_config){.tile = TILE};
    for (int d = 0; d < 3; ++d) {
        BB_RELEASE(&r[d]);
    }
    finish();
}

// The rule uses the matrix without a draw's factors: a tile just at its threshold would change its
// variant with them.
TEST(the_map_is_decided_once)
{
    autofree double *norms = NULL;
    bb_evaluation plain;
    bb_evaluation drawn;
    prepare(0.25);
    check_ok(bb_factor_map_norms(&problem, &norms));
    const double total = bb_tile_norms_sum(TILES, norms);
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1, BB_POLICY_TILE_NORM);
    const double u = bb_variant_unit_roundoff(BB_VARIANT_HP1);
    pipeline.policy.tolerance = 0.9999 * norms[TILES * (TILES + 1) / 2 - 2] * TILES * u / total;
    problem.draw = 0;
    (void)solve(&pipeline, &plain);
    for (problem.draw = 1; problem.draw < 6; ++problem.draw) {
        (void)solve(&pipeline, &drawn);
        check_all_close(drawn.factor.tile_share, plain.factor.tile_share, BB_VARIANT_COUNT, 0.0,
                        1.0);
        assert_true(drawn.factor.tolerance == plain.factor.tolerance);
    }
    finish();
}

// Noise of 1e-5: the smallest eigenvalue is below fp16's rounding of A, above x3's.
TEST(a_failure_escalates_until_it_holds)
{
    bb_evaluation evaluation;
    prepare(1e-5);
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1, BB_POLICY_UNIFORM);
    assert_true(isnan(solve(&pipeline, &evaluation)));
    assert_int_equal(evaluation.outcome.kind, BB_OUTCOME_NOT_SPD);
    assert_true(isnan(evaluation.flops));
    double once = evaluation.operator_bytes;
    pipeline.escalate = true;
    double error = solve(&pipeline, &evaluation);
    assert_int_equal(evaluation.outcome.kind, BB_OUTCOME_OK);
    print_message("'%s', error %.1e\n", evaluation.outcome.detail, error);
    assert_true(error < 0.1);
    assert_true(evaluation.factor.escalations == 1.0);
    assert_non_null(strstr(evaluation.outcome.detail, "hp1: not_spd, tile ("));
    assert_non_null(strstr(evaluation.outcome.detail, "; then x3"));
    assert_true(evaluation.operator_bytes == 2.0 * once);
    // Tile (2, 2) failed: 64 rows were factored.
    check_relative(evaluation.flops - evaluation.flops_dense, 64.0 * 64.0 * 64.0 / 3.0, 1e-9);
    check_relative(evaluation.factor.product_share[BB_VARIANT_X3] +
                       evaluation.factor.product_share[BB_VARIANT_SP],
                   1.0, 1e-14);
    finish();
}

TEST(what_holds_does_not_escalate)
{
    bb_evaluation once, again;
    prepare(0.1);
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1, BB_POLICY_UNIFORM);
    double error = solve(&pipeline, &once);
    pipeline.escalate = true;
    assert_true(error == solve(&pipeline, &again));
    assert_true(again.factor.escalations == 0.0);
    assert_string_equal(again.outcome.detail, "");
    assert_true(once.flops == again.flops && once.operator_bytes == again.operator_bytes);
    finish();
}

// Not even dp factors an indefinite matrix: after three failures, the last one is the outcome.
TEST(an_indefinite_matrix_fails_in_every_variant)
{
    bb_evaluation evaluation;
    prepare(0.1);
    a[(N - 1) * N + N - 1] = 0.1; // smaller than its Schur complement allows
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_FP8, BB_POLICY_UNIFORM);
    pipeline.escalate = true;
    (void)solve(&pipeline, &evaluation);
    assert_int_equal(evaluation.outcome.kind, BB_OUTCOME_NOT_SPD);
    assert_true(evaluation.factor.escalations == 2.0);
    assert_true(isnan(evaluation.solve_seconds));
    finish();
}

// A larger tolerance gives more products to hp1, and the worst-case rule keeps its bound: the
// certificate of the hp1 products is below the tolerance.
TEST(rules_take_more_of_the_cheap_variant_with_tolerance)
{
    const bb_policy_kind kinds[] = {BB_POLICY_TILE_NORM, BB_POLICY_PRODUCT};
    const double tolerances[] = {1e-5, 1e-4, 1e-3, 1e-2};
    prepare(0.1);
    for (int k = 0; k < 2; ++k) {
        double previous = -1.0;
        for (int t = 0; t < 4; ++t) {
            bb_evaluation evaluation;
            bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1, kinds[k]);
            pipeline.policy.tolerance = tolerances[t];
            double error = solve(&pipeline, &evaluation);
            double share = evaluation.factor.product_share[BB_VARIANT_HP1];
            print_message("%d, %.0e: hp1 %.3f, certificate %.1e, error %.1e\n", k, tolerances[t],
                          share, evaluation.factor.certificate, error);
            assert_true(share >= previous);
            previous = share;
            check_relative(evaluation.factor.tolerance, tolerances[t], 0.0);
            if (kinds[k] == BB_POLICY_PRODUCT) {
                assert_true(evaluation.factor.certificate < tolerances[t]);
            }
        }
        assert_true(previous > 0.5);
    }
    finish();
}

TEST(noise_floors_give_a_tolerance)
{
    bb_evaluation evaluation;
    prepare(0.25);
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1, BB_POLICY_PRODUCT);
    double error = solve(&pipeline, &evaluation);
    assert_true(error < 1e-2);
    assert_true(evaluation.factor.tolerance > 0.0 && evaluation.factor.tolerance < 0.2);
    problem.noise_floor = NAN;
    evaluation = bb_evaluation_start("test");
    double *r = NULL;
    check_ok(bb_factor_problem_solve(&problem, &pipeline, &r, &evaluation));
    assert_null(r);
    assert_int_equal(evaluation.outcome.kind, BB_OUTCOME_UNDERDETERMINED);
    problem.noise = NULL; // not that it has no floor, because the noise is not given
    evaluation = bb_evaluation_start("test");
    check_fails(bb_factor_problem_solve(&problem, &pipeline, &r, &evaluation), BB_INVALID,
                "a tolerance is required");
    finish();
}

TEST(tables_are_held_to_the_tiles)
{
    char path[] = "/tmp/bb-map-XXXXXX";
    bb_evaluation evaluation;
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "wb");
    assert_non_null(file);
    for (int row = 0; row < TILES; ++row) {
        if (row > 0) {
            (void)fprintf(file, "hp1*%d ", row);
        }
        (void)fprintf(file, "sp\n");
    }
    (void)fclose(file);
    prepare(0.1);
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_DP, BB_POLICY_TABLE);
    bb_factor_pipeline uniform = pipeline_of(BB_VARIANT_HP1, BB_POLICY_UNIFORM);
    pipeline.policy.table = path;
    assert_true(solve(&pipeline, &evaluation) == solve(&uniform, &evaluation));
    bb_factor_solver_config other = {.tile = 64};
    double *r = NULL;
    problem.solver = &other;
    check_fails(bb_factor_problem_solve(&problem, &pipeline, &r, &evaluation), BB_INVALID,
                "has 10 tile rows, expected 5: 300 measurements in tiles of 64");
    finish();
    (void)unlink(path);
}

static bb_status solve_and_release(void *context)
{
    autofree double *r = NULL;
    bb_evaluation evaluation = bb_evaluation_start("walk");
    bb_status status = bb_factor_problem_solve(&problem, context, &r, &evaluation);
    return status;
}

// Rules, the failed and the repeated factorization, and a refinement, with every allocation
// failing in turn.
TEST(allocations_may_fail_anywhere)
{
    prepare(1e-5);
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP1, BB_POLICY_UNIFORM);
    pipeline.escalate = true;
    pipeline.refine =
        (bb_refine_config){.method = BB_REFINE_GMRES, .tolerance = 1e-8, .iterations = 100};
    allocation_walk("gmres", solve_and_release, &pipeline, 1, 100);
    finish();
    prepare(0.1);
    pipeline = pipeline_of(BB_VARIANT_HP1, BB_POLICY_PRODUCT);
    pipeline.sweeps = BB_POLICY_FOLLOW;
    pipeline.refine =
        (bb_refine_config){.method = BB_REFINE_CG, .tolerance = 1e-8, .iterations = 100};
    allocation_walk("cg", solve_and_release, &pipeline, 1, 100);
    finish();
}

TEST(needs_are_planned)
{
    bb_need once, refined;
    double stored[2];
    const bb_factor_extent extent = {.n = N, .rows = M, .threads = 1.0};
    const int cpu = (int)BB_DEVICE_CPU;
    bb_factor_pipeline pipeline = pipeline_of(BB_VARIANT_HP2, BB_POLICY_UNIFORM);
    check_ok(bb_factor_pipeline_need(&solver, &pipeline, cpu, &extent, NULL, &once, &stored[0]));
    pipeline.refine.method = BB_REFINE_CG;
    check_ok(bb_factor_pipeline_need(&solver, &pipeline, cpu, &extent, NULL, &refined, &stored[1]));
    assert_true(stored[0] == stored[1]);
    // Six vectors for each right-hand side and a panel of all columns.
    assert_true(refined.host_bytes > once.host_bytes);
    assert_true(refined.host_bytes > 8.0 * N * (6.0 * M + N) + stored[0]);
    bb_factor_tile beyond = {.row = 10, .column = 2};
    bb_factor_solver_config other = {.tile = TILE, .spectrum = {.tiles = {&beyond, 1}}};
    check_fails(
        bb_factor_pipeline_need(&other, &pipeline, cpu, &extent, NULL, &once, stored), BB_INVALID,
        "solver.spectrum.tiles[0]: tile (10, 2), expected indices below 10: 300 measurements");
}
