// SPDX-License-Identifier: Apache-2.0
//
// Candidates of a search: on the CPU by name and tolerance, and on a CUDA device as maps, which
// need no GPU. A map is valid on the CPU too, so candidates are solved here.
#include "core/memory.h"
#include "sim/pipelines/factor_map.h"
#include "sim/pipelines/factor_search.h"
#include "tests/solvers/dense.h"

enum { N = 300, M = 5, TILE = 16, TILES = 19 };

static double *a, *b, *norms;
static bb_view a_view, b_view;
static bb_matrix_source a_source, b_source;
static const bb_matrix_source *sides[1] = {&b_source};
static const bb_factor_solver_config solver = {.tile = TILE};
static bb_factor_problem problem, measured; // with the norms of its tiles

static int prepare(void)
{
    a = dense_new(N * N);
    b = dense_new(M * N);
    // Not stationary, so that all tiles have different norms.
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            const double distance = (double)(i - j) * (1.0 + 0.7 * (double)(i + j) / N) / 30.0;
            a[i * N + j] = 1.0 / (1.0 + distance * distance) + (i == j ? 0.05 : 0.0);
        }
    }
    memcpy(b, a + (N - M) * N, (size_t)M * N * sizeof *b); // R is the last rows of the identity
    a_view = bb_view_matrix(a, N, N);
    b_view = bb_view_matrix(b, M, N);
    a_source = bb_matrix_source_dense(&a_view, "A", "1");
    b_source = bb_matrix_source_dense(&b_view, "B", "1");
    problem = (bb_factor_problem){
        .solver = &solver, .matrix = &a_source, .target_count = 1, .sides = sides};
    check_ok(bb_factor_problem_prepare(&problem));
    check_ok(bb_factor_map_norms(&problem, &norms));
    measured = problem;
    measured.tile_norms = norms;
    return 0;
}

static void finish(void)
{
    bb_factor_problem_release(&problem);
    BB_RELEASE(&norms);
    BB_RELEASE(&a);
    BB_RELEASE(&b);
}

static bb_factor_pipeline searched_of(bb_variant arithmetic, bb_variant inside)
{
    return (bb_factor_pipeline){
        .name = "test",
        .arithmetic = (int)arithmetic,
        .policy = {.tolerance = NAN, .noise_share = 0.5},
        .storage = {.codec = -1},
        .max_loss = 1e-3,
        .search = {.inside = (int)inside},
        .accumulate_k = 4,
        .sweeps = BB_POLICY_SWEEPS_FOLLOW,
        .escalate = true,
    };
}

static double cost_of(bb_variant variant)
{
    double shares[BB_VARIANT_COUNT] = {0.0};
    shares[variant] = 1.0;
    return bb_variant_relative_cost(shares);
}

// Variants are ordered by cost. sp is left out, because it costs no less than dp and is less
// precise.
TEST(variants_stand_in_the_order_of_their_cost)
{
    static const struct {
        bb_variant arithmetic, inside;
        int count;
        bb_variant expected[BB_VARIANT_COUNT];
    } cases[] = {
        {BB_VARIANT_HP1,
         BB_VARIANT_X3,
         4,
         {BB_VARIANT_HP1, BB_VARIANT_TF32, BB_VARIANT_X3, BB_VARIANT_DP}},
        {BB_VARIANT_HP3,
         BB_VARIANT_SP,
         6,
         {BB_VARIANT_HP3, BB_VARIANT_HP2, BB_VARIANT_HP1, BB_VARIANT_TF32, BB_VARIANT_X3,
          BB_VARIANT_DP}},
        {BB_VARIANT_BF16,
         BB_VARIANT_FP8,
         5, // as expensive as bf16, and coarser
         {BB_VARIANT_HP1, BB_VARIANT_BF16, BB_VARIANT_TF32, BB_VARIANT_X3, BB_VARIANT_DP}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const bb_factor_pipeline pipeline = searched_of(cases[i].arithmetic, cases[i].inside);
        bb_variant got[BB_VARIANT_COUNT];
        assert_int_equal(bb_factor_candidates_variants(&pipeline, got), cases[i].count);
        for (int v = 0; v < cases[i].count; ++v) {
            assert_int_equal(got[v], cases[i].expected[v]);
            assert_true(v == 0 || cost_of(got[v]) >= cost_of(got[v - 1]));
        }
    }
    int listed[] = {BB_VARIANT_SP, BB_VARIANT_X3, BB_VARIANT_BF16};
    bb_factor_pipeline chosen = searched_of(BB_VARIANT_HP1, BB_VARIANT_X3);
    chosen.search.variants = (bb_list){.items = listed, .count = 3};
    bb_variant got[BB_VARIANT_COUNT];
    assert_int_equal(bb_factor_candidates_variants(&chosen, got), 3);
    assert_int_equal(got[0], BB_VARIANT_BF16);
    assert_int_equal(got[1], BB_VARIANT_X3);
    assert_int_equal(got[2], BB_VARIANT_SP);
}

TEST(one_variant_throughout)
{
    const bb_factor_pipeline pipeline = searched_of(BB_VARIANT_HP1, BB_VARIANT_X3);
    bb_factor_pipeline candidate =
        bb_factor_candidates_uniform(&pipeline, BB_VARIANT_TF32, BB_DEVICE_CPU);
    assert_int_equal(candidate.arithmetic, BB_VARIANT_TF32);
    assert_int_equal(candidate.policy.kind, BB_POLICY_UNIFORM);
    assert_int_equal(candidate.policy.diagonal, BB_POLICY_FOLLOW);
    assert_int_equal(candidate.sweeps, BB_POLICY_SWEEPS_FOLLOW);
    assert_false(candidate.escalate);
    candidate = bb_factor_candidates_uniform(&pipeline, BB_VARIANT_TF32, BB_DEVICE_CUDA);
    assert_int_equal(candidate.policy.diagonal, BB_POLICY_FOLLOW_SP);
    assert_int_equal(candidate.sweeps, BB_POLICY_SWEEPS_SP);
    candidate = bb_factor_candidates_uniform(&pipeline, BB_VARIANT_DP, BB_DEVICE_CPU);
    assert_int_equal(candidate.sweeps, BB_POLICY_SWEEPS_SP);
}

TEST(the_cpu_goes_by_products)
{
    const bb_factor_pipeline pipeline = searched_of(BB_VARIANT_HP1, BB_VARIANT_X3);
    bb_factor_candidates candidates;
    char name[BB_FACTOR_CANDIDATE_NAME];
    check_ok(bb_factor_candidates_make(&problem, &pipeline, BB_DEVICE_CPU, &candidates));
    assert_int_equal(candidates.mixtures, 41);
    for (int k = 0; k < candidates.mixtures; ++k) {
        const bb_factor_pipeline candidate =
            bb_factor_candidates_mixture(&candidates, &pipeline, k, name);
        assert_string_equal(name, "hp1, else x3, by product");
        assert_int_equal(candidate.policy.diagonal, BB_POLICY_FOLLOW);
        assert_false(candidate.escalate);
        check_relative(candidate.policy.tolerance, pow(10.0, -1.0 - k / 8.0), 1e-15);
    }
    const bb_factor_pipeline halves = searched_of(BB_VARIANT_HP3, BB_VARIANT_SP);
    check_ok(bb_factor_candidates_make(&problem, &halves, BB_DEVICE_CPU, &candidates));
    (void)bb_factor_candidates_mixture(&candidates, &halves, 5, name);
    assert_string_equal(name, "hp3, else sp, by tile_norm");
}

// Fraction of the off-diagonal operations that a map assigns to hp1; its diagonal tiles are sp.
static double narrow_share(const bb_policy_map *map)
{
    double narrow = 0.0;
    double total = 0.0;
    for (bb_index i = 0; i < TILES; ++i) {
        assert_int_equal(bb_policy_map_at(map, i, i), BB_VARIANT_SP);
        for (bb_index j = 0; j < i; ++j) {
            const double operations = 2.0 * (double)j + 1.0;
            total += operations;
            narrow += bb_policy_map_at(map, i, j) == BB_VARIANT_HP1 ? operations : 0.0;
        }
    }
    return narrow / total;
}

static void check_nested(const bb_policy_map *wide, const bb_policy_map *narrow)
{
    for (bb_index i = 0; i < TILES; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            assert_true(bb_policy_map_at(wide, i, j) == BB_VARIANT_HP1 ||
                        bb_policy_map_at(narrow, i, j) == BB_VARIANT_X3);
        }
    }
}

// From all off-diagonal tiles to few, each candidate a subset of the one before.
TEST(a_device_goes_by_tiles)
{
    const bb_factor_pipeline pipeline = searched_of(BB_VARIANT_HP1, BB_VARIANT_SP);
    bb_factor_candidates candidates;
    autoptr(bb_policy_map) before = NULL;
    char name[BB_FACTOR_CANDIDATE_NAME];
    double previous = 2.0;
    check_ok(bb_factor_candidates_make(&measured, &pipeline, BB_DEVICE_CUDA, &candidates));
    // Candidates with the same tiles are merged: 171 tiles leave most of 64 distinct.
    assert_in_range(candidates.mixtures, 48, BB_FACTOR_MIXTURES);
    for (int r = 0; r < candidates.mixtures; ++r) {
        bb_policy_map *map = NULL;
        const bb_factor_pipeline candidate =
            bb_factor_candidates_mixture(&candidates, &pipeline, r, name);
        assert_string_equal(name, "hp1, else x3, by tile_norm");
        assert_int_equal(candidate.sweeps, BB_POLICY_SWEEPS_SP);
        check_ok(bb_factor_map_create(&measured, &candidate.policy, BB_VARIANT_HP1, &map));
        const double share = narrow_share(map);
        assert_true(share < previous && share <= 1.0 - (double)r / BB_FACTOR_MIXTURES + 1e-12);
        if (before != NULL) {
            check_nested(before, map);
        }
        previous = share;
        bb_policy_map_destroy(&before);
        before = map;
    }
    assert_true(previous > 0.0 && previous < 0.06);
    bb_policy_map_destroy(&before);
    const bb_factor_pipeline first = bb_factor_candidates_mixture(&candidates, &pipeline, 0, name);
    check_ok(bb_factor_map_create(&measured, &first.policy, BB_VARIANT_HP1, &before));
    check_relative(narrow_share(before), 1.0, 1e-12);
}

TEST(norms_that_are_known_give_the_same_map)
{
    const bb_factor_pipeline pipeline = searched_of(BB_VARIANT_HP1, BB_VARIANT_X3);
    bb_factor_candidates candidates;
    char name[BB_FACTOR_CANDIDATE_NAME];
    check_ok(bb_factor_candidates_make(&measured, &pipeline, BB_DEVICE_CUDA, &candidates));
    const bb_factor_pipeline candidate =
        bb_factor_candidates_mixture(&candidates, &pipeline, 9, name);
    bb_policy_map *maps[2] = {NULL, NULL};
    check_ok(bb_factor_map_create(&problem, &candidate.policy, BB_VARIANT_HP1, &maps[0]));
    check_ok(bb_factor_map_create(&measured, &candidate.policy, BB_VARIANT_HP1, &maps[1]));
    assert_memory_equal(maps[0]->variants, maps[1]->variants,
                        (size_t)(TILES * (TILES + 1) / 2) * sizeof *maps[0]->variants);
    bb_policy_map_destroy(&maps[0]);
    bb_policy_map_destroy(&maps[1]);
}

static double solve(const bb_factor_pipeline *pipeline, double *cost)
{
    autofree double *r = NULL;
    double sum = 0.0;
    bb_evaluation evaluation = bb_evaluation_start("test");
    check_ok(bb_factor_problem_solve(&problem, pipeline, &r, &evaluation));
    assert_int_equal(evaluation.outcome.kind, BB_OUTCOME_OK);
    for (bb_index i = 0; i < M; ++i) {
        for (bb_index j = 0; j < N; ++j) {
            const double error = r[i * N + j] - (j == N - M + i ? 1.0 : 0.0);
            sum += error * error;
        }
    }
    *cost = evaluation.factor.cost;
    return sqrt(sum / M);
}

// More expensive candidates are more accurate, from a few percent to fp64.
TEST(candidates_lead_from_cheap_to_precise)
{
    const bb_factor_pipeline pipeline = searched_of(BB_VARIANT_HP1, BB_VARIANT_X3);
    bb_factor_candidates candidates;
    char name[BB_FACTOR_CANDIDATE_NAME];
    check_ok(bb_factor_candidates_make(&measured, &pipeline, BB_DEVICE_CUDA, &candidates));
    const int mixtures[] = {0, candidates.mixtures / 2, candidates.mixtures - 1};
    double error[5];
    double cost[5];
    for (int k = 0; k < 5; ++k) {
        const bb_factor_pipeline candidate =
            k < 3 ? bb_factor_candidates_mixture(&candidates, &pipeline, mixtures[k], name)
                  : bb_factor_candidates_uniform(&pipeline, k == 3 ? BB_VARIANT_X3 : BB_VARIANT_DP,
                                                 BB_DEVICE_CPU);
        error[k] = solve(&candidate, &cost[k]);
        print_message("candidate %d: error %.1e, cost %.3f\n", k, error[k], cost[k]);
    }
    for (int k = 1; k < 3; ++k) {
        assert_true(cost[k] > cost[k - 1] && error[k] < error[k - 1]);
    }
    assert_true(error[3] < error[2] && error[4] < 1e-11);
}

TEST(tiles_are_measured_before)
{
    const bb_factor_pipeline pipeline = searched_of(BB_VARIANT_HP1, BB_VARIANT_X3);
    bb_factor_candidates candidates;
    check_fails(bb_factor_candidates_make(&problem, &pipeline, BB_DEVICE_CUDA, &candidates),
                BB_INTERNAL, "norms of the candidates are missing");
}

TEST(one_tile_has_no_mixtures)
{
    const bb_factor_solver_config wide = {.tile = 512};
    const bb_factor_pipeline pipeline = searched_of(BB_VARIANT_HP1, BB_VARIANT_X3);
    bb_factor_problem single = measured;
    bb_factor_candidates candidates;
    single.solver = &wide;
    check_ok(bb_factor_candidates_make(&single, &pipeline, BB_DEVICE_CUDA, &candidates));
    assert_int_equal(candidates.mixtures, 0);
}

TEST_GROUP(.begin = prepare, .end = finish);
