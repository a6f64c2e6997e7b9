// SPDX-License-Identifier: Apache-2.0
//
// Factorizations whose triangle exceeds the memory limit: the bits of those in memory, for any
// variant, policy, limit and number of threads.
#include "solvers/factor/tiles/tile_cholesky.h"
#include "solvers/factor/tiles/tile_panels.h"
#include "solvers/factor/tiles/tile_store.h"
#include "tests/need.h"
#include "tests/solvers/dense.h"
#include "tests/solvers/factor/tiles/swap_file.h"

#include <fcntl.h>

enum { N = 300, TILE = 32, TILE_ROWS = 10, TILES = TILE_ROWS * (TILE_ROWS + 1) / 2, M = 140 };

static double values[N * N];

static bb_matrix_source source_of(bb_view *view)
{
    *view = bb_view_matrix(values, N, N);
    return bb_matrix_source_dense(view, "A", "1");
}

static int begin(void)
{
    dense_covariance(N, 20.0, 0.3, values); // fp8 needs this much noise
    return 0;
}

// Compared results of a factorization.
typedef struct factored {
    uint64_t digest;
    bb_tile_work work;
    double norms[TILES];
    bb_tile_traffic loaded, traffic; // when the matrix is created, and at the end
} factored;

static factored factor_with(const bb_tile_plan *plan)
{
    factored out = {0};
    bb_outcome outcome = {0};
    bb_view view;
    const bb_matrix_source source = source_of(&view);
    autoptr(bb_tile_matrix) matrix = new_object(bb_tile_matrix, &source, NULL, plan);
    out.loaded = bb_tile_matrix_traffic(matrix);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    out.traffic = bb_tile_matrix_traffic(matrix);
    assert_true((matrix->store != NULL) == (plan->memory_limit > 0));
    if (matrix->store != NULL) {
        assert_int_equal(bb_tile_store_holders(matrix->store), 0);
    }
    check_ok(bb_tile_matrix_digest(matrix, &out.digest));
    out.work = matrix->work;
    fill_array(out.norms, TILES, t, matrix->tiles[t].norm);
    return out;
}

static void hold_same(const char *what, const bb_tile_plan *plan)
{
    static const double parts[] = {0.0, 0.35, 0.6, 0.9}; // 0: the minimum
    const factored expected = factor_with(plan);
    const double triangle = bb_tile_plan_memory_bytes(plan, N);
    for (bb_index threads = 1; threads <= 2; ++threads) {
        check_ok(bb_threads_set(threads));
        for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
            bb_tile_plan limited = *plan;
            limited.memory_limit = 1;
            const size_t least = bb_tile_plan_least_memory(&limited, N);
            const size_t part = (size_t)(parts[i] * triangle);
            limited.memory_limit = part > least ? part : least;
            const factored stored = factor_with(&limited);
            print_message("%s, %td thread(s), %.0f kB: read %.0f kB, wrote %.0f kB\n", what,
                          threads, 1e-3 * (double)limited.memory_limit,
                          1e-3 * stored.traffic.read_bytes, 1e-3 * stored.traffic.written_bytes);
            assert_true(stored.digest == expected.digest);
            assert_memory_equal(stored.norms, expected.norms, sizeof stored.norms);
            assert_memory_equal(&stored.work, &expected.work, sizeof stored.work);
            assert_true(stored.traffic.read_bytes > 0.0 && stored.traffic.written_bytes > 0.0);
        }
    }
    bb_threads_stop();
}

TEST_FULL(every_variant_has_the_bits_of_memory)
{
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_tile_plan plan = {.tile_size = TILE, .arithmetic = (bb_variant)v};
        hold_same(bb_variant_names[v], &plan);
    }
}

// Two formats next to each other, of two sizes if one is dp, and diagonals with diagonal_follows.
TEST_FULL(bands_have_the_bits_of_memory)
{
    const bb_variant inside[] = {BB_VARIANT_SP, BB_VARIANT_DP, BB_VARIANT_X3};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; ++i) {
        const bb_tile_plan plan = {
            .tile_size = TILE,
            .arithmetic = BB_VARIANT_HP2,
            .sums_from_c = i == 1,
            .policy = {.kind = BB_POLICY_BAND,
                       .width = 3,
                       .inside = (int)inside[i],
                       .diagonal = i == 2 ? BB_POLICY_FOLLOW : BB_POLICY_FOLLOW_SP}};
        hold_same("band", &plan);
    }
}

TEST(tables_have_the_bits_of_memory)
{
    bb_variant table[TILES];
    fill_array(table, TILES, t, (bb_variant)(t * 7 % BB_VARIANT_COUNT));
    const bb_policy_config policy = {.kind = BB_POLICY_TABLE, .diagonal = BB_POLICY_FOLLOW};
    const bb_policy_facts facts = {
        .tile_rows = TILE_ROWS, .tile_size = TILE, .noise_floor = NAN, .table = table};
    autoptr(bb_policy_map) map = new_object(bb_policy_map, &policy, BB_VARIANT_HP1, &facts);
    const bb_tile_plan plan = {
        .tile_size = TILE, .arithmetic = BB_VARIANT_HP1, .policy = policy, .map = map};
    hold_same("table", &plan);
}

// Norms determine the variants; they have to be norms of final tiles even if those left memory.
TEST(products_chosen_by_norms_have_the_bits_of_memory)
{
    double norms[TILES];
    bb_view view;
    const bb_matrix_source source = source_of(&view);
    check_ok(bb_tile_norms(&source, NULL, TILE, norms));
    const bb_policy_config policy = {.kind = BB_POLICY_PRODUCT,
                                     .inside = BB_VARIANT_X3,
                                     .diagonal = BB_POLICY_FOLLOW,
                                     .tolerance = 1e-3,
                                     .noise_share = 0.5};
    const bb_policy_facts facts = {.tile_rows = TILE_ROWS,
                                   .tile_size = TILE,
                                   .tile_norms = norms,
                                   .norm = bb_tile_norms_sum(TILE_ROWS, norms),
                                   .noise_floor = NAN};
    autoptr(bb_policy_map) map = new_object(bb_policy_map, &policy, BB_VARIANT_HP1, &facts);
    const bb_tile_plan plan = {
        .tile_size = TILE, .arithmetic = BB_VARIANT_HP1, .policy = policy, .map = map};
    const factored expected = factor_with(&plan);
    assert_true(expected.work.flops[BB_VARIANT_HP1] > 0.0); // both are selected
    assert_true(expected.work.flops[BB_VARIANT_X3] > 0.0);
    hold_same("product", &plan);
}

// Two solves of M right-hand sides with a factor, into x [M][N]: the second finds all tiles as the
// first did.
static bb_tile_traffic solve_with(const bb_tile_plan *plan, double *x)
{
    bb_outcome outcome = {0};
    bb_view view;
    const bb_matrix_source source = source_of(&view);
    autoptr(bb_tile_matrix) matrix = new_object(bb_tile_matrix, &source, NULL, plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    const bb_tile_traffic before = bb_tile_matrix_traffic(matrix);
    check_ok(bb_tile_cholesky_solve(matrix, M, x));
    check_ok(bb_tile_cholesky_solve(matrix, M, x));
    bb_tile_traffic traffic = bb_tile_matrix_traffic(matrix);
    traffic.read_bytes -= before.read_bytes;
    assert_true(matrix->store == NULL || bb_tile_store_holders(matrix->store) == 0);
    return traffic;
}

// L is read once forward and once backward for all right-hand sides, in either kind of sweep, also
// if a row of tiles is larger than the columns that a factorization holds (dp far from the
// diagonal: the last row).
TEST_FULL(sweeps_have_the_bits_of_memory)
{
    enum { SECTOR = 4096, SECTORS = 2 * TILES }; // of a triangle of doubles
    const bb_policy_config uniform = {.kind = BB_POLICY_UNIFORM};
    const struct {
        const char *name;
        bb_variant arithmetic;
        bb_policy_config policy;
        bb_policy_sweeps sweeps;
    } cases[] = {
        {"dp", BB_VARIANT_DP, uniform, BB_POLICY_SWEEPS_SP},
        {"sp", BB_VARIANT_SP, uniform, BB_POLICY_SWEEPS_SP},
        {"dp in a band",
         BB_VARIANT_HP2,
         {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_DP},
         BB_POLICY_SWEEPS_SP},
        {"sp in a band of dp",
         BB_VARIANT_DP,
         {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_SP},
         BB_POLICY_SWEEPS_FOLLOW},
        {"hp3", BB_VARIANT_HP3, uniform, BB_POLICY_SWEEPS_FORWARD},
        {"x3", BB_VARIANT_X3, uniform, BB_POLICY_SWEEPS_FOLLOW},
        {"light", BB_VARIANT_HP1, uniform, BB_POLICY_SWEEPS_LIGHT},
    };
    autofree double *x = dense_new(M * N);
    autofree double *expected = dense_new(M * N);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        bb_tile_plan plan = {.tile_size = TILE,
                             .arithmetic = cases[c].arithmetic,
                             .policy = cases[c].policy,
                             .sweeps = cases[c].sweeps,
                             .sweep_energy = 0.1};
        dense_random(M * N, 5, expected);
        (void)solve_with(&plan, expected);
        for (bb_index threads = 1; threads <= 2; ++threads) {
            check_ok(bb_threads_set(threads));
            plan.memory_limit = 1;
            plan.memory_limit = bb_tile_plan_least_memory(&plan, N);
            dense_random(M * N, 5, x);
            const bb_tile_traffic traffic = solve_with(&plan, x);
            assert_memory_equal(x, expected, sizeof *x * M * N);
            print_message("%s: read %.0f kB\n", cases[c].name, 1e-3 * traffic.read_bytes);
            assert_true(traffic.read_bytes > 0.0);
            assert_true(traffic.read_bytes <= 4.0 * SECTORS * SECTOR);
        }
        bb_threads_stop();
    }
}

static size_t bytes_of(const void *context, bb_index row, bb_index column)
{
    (void)context;
    const bb_index rows = row == TILE_ROWS - 1 ? N % TILE : TILE;
    return (size_t)(rows * (column == TILE_ROWS - 1 ? N % TILE : TILE)) * sizeof(float);
}

// At most the reads that tile_panels.h predicts: tiles that were evicted after loading, and the
// earlier columns for every panel. A tile of sp is one sector of the file here.
TEST(reads_are_those_of_the_panels)
{
    enum { SECTOR = 4096 };
    for (size_t limit = 11 * SECTOR; limit < 47 * SECTOR; limit += 3 * SECTOR) {
        const bb_tile_plan plan = {
            .tile_size = TILE, .arithmetic = BB_VARIANT_SP, .memory_limit = limit};
        const factored stored = factor_with(&plan);
        const double tiles = stored.traffic.read_bytes / SECTOR;
        double floor = stored.loaded.written_bytes / SECTOR;
        autorelease(bb_tile_panels) panels =
            new_struct(bb_tile_panels, TILE_ROWS, limit, bytes_of, NULL);
        for (bb_index p = 0; p < panels.count; ++p) {
            floor += (double)(panels.first[p] * (TILE_ROWS - panels.first[p]));
        }
        print_message("%zu kB: %td panels, read %.0f tiles of %.0f, wrote %.0f\n", limit / 1024,
                      panels.count, tiles, floor, stored.traffic.written_bytes / SECTOR);
        assert_true(tiles <= floor);
        assert_true(stored.traffic.written_bytes / SECTOR <=
                    TILES + stored.loaded.written_bytes / SECTOR);
        assert_true(stored.traffic.waited_seconds >= 0.0);
    }
}

// Allocations of core/memory.h and the page cache stay within the limit and the needs.
TEST(memory_stays_within_the_limit)
{
    bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_HP2, .memory_limit = 1};
    bb_variant given[BB_VARIANT_COUNT];
    bb_outcome outcome = {0};
    bb_view view;
    const bb_matrix_source source = source_of(&view);
    const int count = bb_policy_variants(&plan.policy, plan.arithmetic, given);
    const bb_need scratch = bb_tile_cholesky_factor_need(&plan, N, count, given, 1.0);
    plan.memory_limit = bb_tile_plan_least_memory(&plan, N);
    need_start();
    autoptr(bb_tile_matrix) matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
    assert_true(swap_file_cached_bytes() <= 0);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    need_stop(); // its buffers may have become full only now
    need_hold("stored tiles", bb_need_together(bb_tile_matrix_need(&plan, N, 1.0), scratch),
              NEED_LOOSENESS);
    autofree double *x = dense_new(M * N);
    need_start();
    check_ok(bb_tile_cholesky_solve(matrix, M, x));
    need_stop();
    need_hold("a solve with stored tiles", bb_tile_cholesky_solve_need(&plan, N, M, 1.0),
              NEED_LOOSENESS);
    assert_true(swap_file_cached_bytes() <= 0);
}

// A file that fails under a factorization ends it with an error, with any number of threads.
TEST(failing_files_end_the_factorization)
{
    for (bb_index threads = 1; threads <= 2; ++threads) {
        bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_HP1, .memory_limit = 1};
        bb_outcome outcome = {0};
        bb_view view;
        uint64_t digest = 0;
        const bb_matrix_source source = source_of(&view);
        plan.memory_limit = bb_tile_plan_least_memory(&plan, N);
        check_ok(bb_threads_set(threads));
        bb_tile_matrix *matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
        const int nothing = open("/dev/null", O_RDONLY);
        assert_true(dup2(nothing, swap_file_find("self")) >= 0);
        assert_int_equal(close(nothing), 0);
        check_fails(bb_tile_cholesky_factor(matrix, 4, &outcome), BB_IO, "bytes of a tile");
        assert_int_equal(bb_tile_store_holders(matrix->store), 0);
        check_fails(bb_tile_matrix_digest(matrix, &digest), BB_IO, "bytes of a tile");
        bb_tile_matrix_destroy(&matrix);
        bb_threads_stop();
        assert_int_equal(bb_memory_blocks(), 0);
    }
}

TEST(failed_allocations_end_the_factorization)
{
    bb_status status = BB_OK;
    bb_tile_plan plan = {.tile_size = 64, .arithmetic = BB_VARIANT_HP1, .memory_limit = 1};
    plan.memory_limit = bb_tile_plan_least_memory(&plan, N);
    for (failing_allocation walk = {0}; fail_next(&walk, status);) {
        bb_outcome outcome = {0};
        autoptr(bb_tile_matrix) matrix = NULL;
        bb_view view;
        const bb_matrix_source source = source_of(&view);
        status = bb_tile_matrix_create(&source, NULL, &plan, &matrix);
        if (status == BB_OK) {
            status = bb_tile_cholesky_factor(matrix, 4, &outcome);
        }
    }
}

TEST(too_small_limits_are_refused_with_the_least)
{
    bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_SP, .memory_limit = 1};
    bb_tile_matrix *matrix = NULL;
    bb_view view;
    const bb_matrix_source source = source_of(&view);
    // Column 1 with its head and one tile more: 8 tiles of 32 x 32, one of 12 x 32, and two.
    const size_t least = bb_tile_plan_least_memory(&plan, N);
    assert_int_equal(least, (8 * 32 * 32 + 12 * 32 + 2 * 32 * 32) * 4);
    plan.memory_limit = least - 1;
    check_fails(
        bb_tile_matrix_create(&source, NULL, &plan, &matrix), BB_INVALID,
        "memory limit of 4.2495e-05 GB is below the minimum of 4.2496e-05 GB for 300 rows in "
        "tiles of 32");
    assert_null(matrix);
    plan.memory_limit = 0; // none
    assert_int_equal(bb_tile_plan_least_memory(&plan, N), 0);
    plan.memory_limit = (size_t)1 << 40; // larger than any need
    assert_int_equal(bb_tile_plan_least_memory(&plan, N), 0);
}

// A breakdown also ends the stream, at any position.
TEST(breakdowns_end_the_stream)
{
    static const bb_index rows[] = {0, 40, 170, 299};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_HP1, .memory_limit = 1};
        bb_outcome outcome = {0};
        bb_view view;
        const bb_matrix_source source = source_of(&view);
        const double usual = values[rows[i] * (N + 1)];
        values[rows[i] * (N + 1)] = -1.0;
        plan.memory_limit = bb_tile_plan_least_memory(&plan, N);
        check_ok(bb_threads_set(2));
        autoptr(bb_tile_matrix) matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
        check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
        assert_int_equal(outcome.kind, BB_OUTCOME_NOT_SPD);
        assert_int_equal(matrix->work.factored, rows[i] / TILE * TILE);
        assert_int_equal(bb_tile_store_holders(matrix->store), 0);
        bb_threads_stop();
        values[rows[i] * (N + 1)] = usual;
    }
}

TEST_GROUP(.begin = begin);
