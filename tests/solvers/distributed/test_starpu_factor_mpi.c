// SPDX-License-Identifier: Apache-2.0
//
// Factors and solves over as many processes as mpirun starts have the bits, accounts and outcome of
// one process: on every grid, with either wire format, with one worker or two. Bytes are those
// predicted.
#include "core/memory.h"
#include "solvers/distributed/engine.h"
#include "solvers/distributed/team_mpi.h"
#include "solvers/distributed/tile_window.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/dense.h"

#include <mpi.h>
#include <starpu.h>

enum { N = 1024, TILE = 150, TILE_ROWS = 7, TILES = 28, SIDES = 140, MOST_PROCESSES = 4 };

static double values[N * N];
static double sides[SIDES * N];
static double norms[TILES];
static int processes;

typedef struct factor_case {
    const char *name;
    bb_variant arithmetic;
    bb_policy_config policy;
} factor_case;

static bb_index widths[] = {1, 3};
static int zones[] = {BB_VARIANT_SP, BB_VARIANT_X3, BB_VARIANT_HP1};
// Variants alternate from tile to tile, so that all pairs of variants occur.
static bb_variant turns[TILES];

static const factor_case cases[] = {
    {"dp", BB_VARIANT_DP, {.diagonal = BB_POLICY_FOLLOW}},
    {"sp", BB_VARIANT_SP, {.diagonal = BB_POLICY_FOLLOW_SP}},
    {"hp1", BB_VARIANT_HP1, {.diagonal = BB_POLICY_FOLLOW}},
    {"hp1, diagonal in sp", BB_VARIANT_HP1, {.diagonal = BB_POLICY_FOLLOW_SP}},
    {"hp2", BB_VARIANT_HP2, {.diagonal = BB_POLICY_FOLLOW}},
    {"hp3", BB_VARIANT_HP3, {.diagonal = BB_POLICY_FOLLOW_SP}},
    {"x3", BB_VARIANT_X3, {.diagonal = BB_POLICY_FOLLOW}},
    {"bf16", BB_VARIANT_BF16, {.diagonal = BB_POLICY_FOLLOW_SP}},
    {"tf32", BB_VARIANT_TF32, {.diagonal = BB_POLICY_FOLLOW}},
    {"fp8", BB_VARIANT_FP8, {.diagonal = BB_POLICY_FOLLOW_SP}},
    {"band", BB_VARIANT_HP1, {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_SP}},
    {"dp band", BB_VARIANT_HP2, {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_DP}},
    {"table", BB_VARIANT_HP1, {.kind = BB_POLICY_TABLE, .table = "-"}},
    {"product",
     BB_VARIANT_HP1,
     {.kind = BB_POLICY_PRODUCT,
      .inside = BB_VARIANT_SP,
      .tolerance = 3e-5,
      .diagonal = BB_POLICY_FOLLOW}},
    {"three zones",
     BB_VARIANT_HP1,
     {.kind = BB_POLICY_THREE_ZONES,
      .widths = {.items = widths, .count = 2},
      .zones = {.items = zones, .count = 3}}},
};

// Tiles not listed here: sp.
static const bb_policy_sweeps sweeps[sizeof cases / sizeof *cases] = {
    [2] = BB_POLICY_SWEEPS_FOLLOW, // hp1
    [4] = BB_POLICY_SWEEPS_FORWARD,
    [6] = BB_POLICY_SWEEPS_FOLLOW, // x3
    [14] = BB_POLICY_SWEEPS_LIGHT,
};

static bb_matrix_source source(void)
{
    static bb_view view;
    view = bb_view_matrix(values, N, N);
    return bb_matrix_source_dense(&view, "A", "1");
}

static bb_policy_map *map_of(const factor_case *given)
{
    const bb_policy_facts facts = {.tile_rows = TILE_ROWS,
                                   .tile_size = TILE,
                                   .tile_norms = norms,
                                   .norm = bb_tile_norms_sum(TILE_ROWS, norms),
                                   .noise_floor = NAN,
                                   .table = turns};
    bb_policy_map *map = new_object(bb_policy_map, &given->policy, given->arithmetic, &facts);
    return map;
}

// The team of all processes, and the share that this process received.
static bb_team counted_team;
static const bb_team *world;
static double received;

static bb_status count_and_broadcast(int root, void *bytes, size_t count)
{
    received += root != world->rank ? (double)count : 0.0;
    return world->broadcast(root, bytes, count);
}

/// Results that are equal on every engine.
typedef struct result {
    uint64_t digest;
    bb_tile_work work;
    bb_outcome outcome;
    double sent[MOST_PROCESSES];
    double *x; // [SIDES][N] sides times the inverse, NULL after a breakdown
} result;

static result factored(const bb_engine_row *row, bb_engine *engine, const factor_case *given,
                       bb_tile_matrix **matrix)
{
    result out = {0};
    const bb_matrix_source a = source();
    autoptr(bb_policy_map) map = map_of(given);
    const bb_tile_plan plan = {.tile_size = TILE,
                               .arithmetic = given->arithmetic,
                               .policy = given->policy,
                               .sweeps = sweeps[given - cases],
                               .sweep_energy = 0.05,
                               .map = map};
    check_ok(row->load(engine, &a, NULL, &plan, matrix));
    check_ok(row->factor(engine, *matrix, 4, &out.outcome, out.sent));
    check_ok(row->digest(engine, *matrix, &out.digest));
    out.work = (*matrix)->work;
    if (out.outcome.kind == BB_OUTCOME_OK) {
        out.x = dense_new(SIDES * N);
        memcpy(out.x, sides, sizeof sides);
        received = 0.0;
        check_ok(bb_tile_cholesky_solve(*matrix, SIDES, out.x));
    }
    return out;
}

static void assert_alike(const result *expected, const result *found)
{
    assert_string_equal(found->outcome.detail, expected->outcome.detail);
    assert_int_equal(found->outcome.kind, expected->outcome.kind);
    assert_int_equal(found->work.factored, expected->work.factored);
    if (expected->outcome.kind != BB_OUTCOME_OK) {
        return;
    }
    assert_true(found->digest == expected->digest);
    assert_memory_equal(found->x, expected->x, sizeof sides);
    assert_memory_equal(found->work.flops, expected->work.flops, sizeof found->work.flops);
    assert_int_equal(found->work.saturated, expected->work.saturated);
    assert_true(found->work.certificate == expected->work.certificate ||
                (isnan(found->work.certificate) && isnan(expected->work.certificate)));
}

static void assert_bytes_as_counted(const bb_tile_matrix *matrix, const bb_engine_config *config,
                                    const double *sent)
{
    bool readers[MOST_PROCESSES];
    double counted[MOST_PROCESSES];
    bb_tile_window_traffic(matrix, config->grid, config->wire, counted);
    if (matrix->work.factored ==
        N) { // and solved; the other right-hand sides belong to other processes
        const bool is_narrow = matrix->sweeps != BB_POLICY_SWEEPS_SP;
        const bb_index block = is_narrow ? 128 : 32;
        bb_index begin = 0;
        bb_index end = 0;
        bb_team_part((SIDES + block - 1) / block, world->rank, &begin, &end);
        end = end * block < SIDES ? end * block : SIDES;
        begin = begin * block < end ? begin * block : end;
        assert_true(received ==
                    counted[world->rank] + (double)((SIDES - end + begin) * N) * sizeof(double));
    }
    bb_tile_message_traffic(matrix, config->grid, config->wire, readers, counted);
    check_all_close(sent, counted, processes, 0.0, 1.0);
}

// Cases `first` to `end` by StarPU on one grid against the expected results.
static void compare(const bb_engine_config *config, size_t first, size_t end,
                    const result *expected)
{
    bb_engine *engine = NULL;
    check_ok(bb_engine_starpu.create(config, &engine));
    assert_int_equal(starpu_worker_get_count(), config->workers);
    for (size_t k = first; k < end; ++k) {
        autoptr(bb_tile_matrix) matrix = NULL;
        result found = factored(&bb_engine_starpu, engine, &cases[k], &matrix);
        if (found.digest != expected[k].digest && expected[k].outcome.kind == BB_OUTCOME_OK) {
            print_message("%s on %dx%d\n", cases[k].name, config->grid.rows, config->grid.columns);
        }
        assert_alike(&expected[k], &found);
        assert_bytes_as_counted(matrix, config, found.sent);
        BB_RELEASE(&found.x);
    }
    bb_engine_starpu.destroy(&engine);
}

static void compare_everywhere(size_t first, size_t end, const result *expected)
{
    for (int rows = 1; rows <= processes; rows *= 2) {
        if (processes == 4 && rows != 2) {
            continue; // more processes than cores are slow: with four, the square grid only
        }
        for (int wire = BB_WIRE_FOLLOW; wire <= BB_WIRE_FP32; ++wire) {
            const bb_engine_config config = {.grid = {rows, processes / rows},
                                             .wire = (bb_wire)wire,
                                             .workers = 1 + (rows + wire) % 2};
            compare(&config, first, end, expected);
        }
    }
}

static void expect(size_t first, size_t end, result *out)
{
    bb_engine *engine = NULL;
    const bb_engine_config config = {.grid = {1, 1}, .workers = 1};
    check_ok(bb_engine_own.create(&config, &engine));
    for (size_t k = first; k < end; ++k) {
        autoptr(bb_tile_matrix) matrix = NULL;
        out[k] = factored(&bb_engine_own, engine, &cases[k], &matrix);
    }
    bb_engine_own.destroy(&engine);
}

static void forget(size_t first, size_t end, result *expected)
{
    for (size_t k = first; k < end; ++k) {
        BB_RELEASE(&expected[k].x);
    }
}

TEST(factors_have_the_bits_of_one_process)
{
    enum { COUNT = sizeof cases / sizeof *cases };
    static result expected[COUNT];
    expect(0, COUNT, expected);
    for (size_t k = 0; k < COUNT; ++k) {
        assert_int_equal(expected[k].outcome.kind, BB_OUTCOME_OK);
    }
    assert_true(expected[9].work.flops[BB_VARIANT_FP8] > 0.0);
    // A rule selects variants product by product; both occur.
    assert_true(expected[13].work.flops[BB_VARIANT_HP1] > 0.0);
    assert_true(expected[13].work.flops[BB_VARIANT_SP] > 0.0);
    compare_everywhere(0, COUNT, expected);
    forget(0, COUNT, expected);
}

// The same failing tile and row on every grid; nothing hangs, and the next factorization is right.
TEST(breakdowns_are_those_of_one_process)
{
    result expected[4];
    const double pivot = values[517 * N + 517];
    values[517 * N + 517] = -1.0;
    expect(1, 3, expected);
    assert_int_equal(expected[1].outcome.kind, BB_OUTCOME_NOT_SPD);
    compare_everywhere(1, 3, expected);
    values[517 * N + 517] = NAN;
    expect(1, 3, expected);
    assert_int_equal(expected[1].outcome.kind, BB_OUTCOME_NON_FINITE);
    compare_everywhere(1, 3, expected);
    values[517 * N + 517] = pivot;
    expect(1, 3, expected);
    compare_everywhere(1, 3, expected);
    forget(1, 3, expected);
}

TEST(grids_of_other_counts_are_refused)
{
    bb_engine *engine = NULL;
    const bb_engine_config config = {.grid = {1, processes + 1}, .workers = 1};
    check_fails(bb_engine_starpu.create(&config, &engine), BB_INVALID, "were started");
    const bb_engine_config two = {.grid = {1, 2}, .workers = 1};
    check_fails(bb_engine_own.create(&two, &engine), BB_INVALID, "grid 1x2 of engine own");
    const bb_engine_config half = {.grid = {2, 0}, .workers = 1};
    check_fails(bb_engine_starpu.create(&half, &engine), BB_INVALID, "grid 2x0");
    const bb_engine_config idle = {.workers = 0};
    check_fails(bb_engine_starpu.create(&idle, &engine), BB_INVALID, "0 workers");
}

// The k-th allocation fails on the last process: all processes return its status. k rises until
// none fails.
TEST(a_process_out_of_memory_stops_all)
{
    enum { MOST_ALLOCATIONS = 200 };
    const bb_engine_config config = {.workers = 1};
    const bb_matrix_source a = source();
    const bb_tile_plan plan = {.tile_size = 512, .arithmetic = BB_VARIANT_SP};
    int rank = 0;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bool is_reached = true;
    int k = 1;
    // More processes than cores start slowly; two processes cover what four would.
    for (; processes <= 2 && is_reached && k < MOST_ALLOCATIONS; ++k) {
        bb_engine *engine = NULL;
        autoptr(bb_tile_matrix) matrix = NULL;
        bb_outcome outcome = {0};
        bb_memory_fail_at(rank == processes - 1 ? k : 0);
        bb_status status = bb_engine_starpu.create(&config, &engine);
        status = status != BB_OK ? status : bb_engine_starpu.load(engine, &a, NULL, &plan, &matrix);
        status =
            status != BB_OK ? status : bb_engine_starpu.factor(engine, matrix, 4, &outcome, NULL);
        bb_memory_fail_at(0);
        is_reached = status != BB_OK;
        assert_true(status == BB_OK || status == BB_MEMORY);
        assert_true(rank == processes - 1 || !is_reached ||
                    strstr(bb_status_message(), "failed; see its messages") != NULL);
        bb_engine_starpu.destroy(&engine);
    }
    assert_true(processes > 2 || (k > 8 && !is_reached));
}

static int begin(void)
{
    int level = MPI_THREAD_SINGLE;
    (void)MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &processes);
    bb_team_mpi_join();
    world = bb_team_joined();
    counted_team = *world;
    counted_team.broadcast = count_and_broadcast;
    bb_team_join(&counted_team);
    if (processes > MOST_PROCESSES) {
        print_error("%d processes, expected at most %d\n", processes, MOST_PROCESSES);
        (void)MPI_Finalize();
        return 2;
    }
    dense_covariance(N, 40.0, 0.3, values);
    dense_random(SIDES * N, 5, sides);
    fill_array(turns, TILES, t, (bb_variant)(t * 7 % BB_VARIANT_COUNT));
    const bb_matrix_source a = source();
    return bb_tile_norms(&a, NULL, TILE, norms) == BB_OK ? 0 : 1;
}

static void end(void)
{
    (void)MPI_Finalize();
}

TEST_GROUP(.begin = begin, .end = end);
