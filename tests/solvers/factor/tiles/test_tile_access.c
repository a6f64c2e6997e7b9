// SPDX-License-Identifier: Apache-2.0
//
// Sweeps with a factor whose tiles are loaded a row or a column at a time have the bits of sweeps
// with all tiles in memory: in one process, and in each process of a team that distributes the
// right-hand sides.
#include "core/team.h"
#include "core/thread.h"
#include "solvers/factor/tiles/tile_access.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/solvers/dense.h"

enum { N = 210, TILE = 32, TILE_ROWS = 7, TILES = 28, M = 300, MEMBERS = 3 };

static double a[N * N];
static double given[M * N];
static double expected[M * N];
static double found[M * N];

static const struct {
    const char *name;
    bb_variant arithmetic;
    bb_policy_config policy;
    bb_policy_sweeps sweeps;
} cases[] = {
    {"dp", BB_VARIANT_DP, {.kind = BB_POLICY_UNIFORM}, BB_POLICY_SWEEPS_SP},
    {"sp", BB_VARIANT_SP, {.kind = BB_POLICY_UNIFORM}, BB_POLICY_SWEEPS_SP},
    {"dp in a band",
     BB_VARIANT_HP2,
     {.kind = BB_POLICY_BAND, .width = 1, .inside = BB_VARIANT_DP},
     BB_POLICY_SWEEPS_SP},
    {"hp1", BB_VARIANT_HP1, {.kind = BB_POLICY_UNIFORM}, BB_POLICY_SWEEPS_FOLLOW},
    {"hp3", BB_VARIANT_HP3, {.kind = BB_POLICY_UNIFORM}, BB_POLICY_SWEEPS_FORWARD},
    {"light", BB_VARIANT_HP1, {.kind = BB_POLICY_UNIFORM}, BB_POLICY_SWEEPS_LIGHT},
};
enum { CASES = sizeof cases / sizeof *cases };

// Holds the values of a factor and lends those of one line at a time.
typedef struct vault {
    bb_tile kept[TILES];
    bb_index brought; // tiles
    bb_index line;    // the last
    bb_index failing; // line that fails to load, -1: none
    bool is_empty;
} vault;

static void take_all(vault *held, bb_tile_matrix *matrix)
{
    for (bb_index t = 0; t < TILES; ++t) {
        held->kept[t] = matrix->tiles[t];
        matrix->tiles[t].f64 = NULL;
        matrix->tiles[t].f32 = NULL;
    }
}

static void give_back(const vault *held, bb_tile_matrix *matrix)
{
    memcpy(matrix->tiles, held->kept, sizeof held->kept);
}

static bb_status lend(vault *held, const bb_tile_matrix *matrix, bb_index k, bool is_row)
{
    held->is_empty = false;
    held->line = k;
    for (bb_index t = 0; t < TILES; ++t) {
        matrix->tiles[t].f64 = NULL;
        matrix->tiles[t].f32 = NULL;
    }
    if (k == held->failing) {
        return bb_status_set(BB_IO, __FILE__, __LINE__, "line %td is gone", k);
    }
    for (bb_index t = is_row ? 0 : k; t <= (is_row ? k : TILE_ROWS - 1); ++t) {
        const bb_index place = is_row ? k * (k + 1) / 2 + t : t * (t + 1) / 2 + k;
        matrix->tiles[place] = held->kept[place];
        ++held->brought;
    }
    return BB_OK;
}

static bb_status bring_row(void *context, const bb_tile_matrix *matrix, bb_index k)
{
    return lend(context, matrix, k, true);
}

static bb_status bring_column(void *context, const bb_tile_matrix *matrix, bb_index k)
{
    return lend(context, matrix, k, false);
}

static void leave(void *context, const bb_tile_matrix *matrix)
{
    ((vault *)context)->is_empty = true;
    (void)matrix;
}

// The gathered result of the team is that of one process; rows of the caller are unchanged.
static bb_status hand_over(int root, void *values, size_t bytes)
{
    if (root != bb_team_joined()->rank) {
        memcpy(values, (char *)expected + ((char *)values - (char *)found), bytes);
    }
    return BB_OK;
}

static bb_tile_matrix *factored(int c)
{
    bb_outcome outcome = {0};
    const bb_view view = bb_view_matrix(a, N, N);
    const bb_matrix_source source = bb_matrix_source_dense(&view, "A", "1");
    const bb_tile_plan plan = {.tile_size = TILE,
                               .arithmetic = cases[c].arithmetic,
                               .policy = cases[c].policy,
                               .sweeps = cases[c].sweeps,
                               .sweep_energy = 0.05};
    bb_tile_matrix *matrix = new_object(bb_tile_matrix, &source, NULL, &plan);
    check_ok(bb_tile_cholesky_factor(matrix, 4, &outcome));
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    memcpy(expected, given, sizeof expected);
    check_ok(bb_tile_cholesky_solve(matrix, M, expected));
    return matrix;
}

TEST(brought_tiles_give_the_same_bits)
{
    for (int c = 0; c < CASES; ++c) {
        autoptr(bb_tile_matrix) matrix = factored(c);
        vault held = {.failing = -1};
        const bb_tile_access access = {
            .load_row = bring_row, .load_column = bring_column, .release = leave, .context = &held};
        take_all(&held, matrix);
        matrix->access = &access;
        for (int threads = 1; threads <= 2; ++threads) {
            check_ok(bb_threads_set(threads));
            held.brought = 0;
            memcpy(found, given, sizeof found);
            check_ok(bb_tile_cholesky_solve(matrix, M, found));
            assert_memory_equal(found, expected, sizeof found);
            assert_int_equal(held.brought, 2 * TILES); // the triangle once per sweep
            assert_int_equal(held.line, 0);
            assert_true(held.is_empty);
        }
        give_back(&held, matrix);
    }
}

// A process solves its own blocks; those of the other processes are unchanged until they are
// gathered.
TEST(a_team_deals_the_right_hand_sides)
{
    autoptr(bb_tile_matrix) matrix = factored(1);
    vault held = {.failing = -1};
    bb_tile_access access = {.load_row = bring_row,
                             .load_column = bring_column,
                             .release = leave,
                             .distributes_sides = true,
                             .context = &held};
    static double single[N];
    memcpy(single, given, sizeof single);
    check_ok(bb_tile_cholesky_solve(matrix, 1, single));
    take_all(&held, matrix);
    matrix->access = &access;
    for (int rank = 0; rank < MEMBERS; ++rank) {
        const bb_team team = {.rank = rank, .size = MEMBERS, .broadcast = hand_over};
        bb_team_join(&team);
        memcpy(found, given, sizeof found);
        check_ok(bb_tile_cholesky_solve(matrix, M, found));
        assert_memory_equal(found, expected, sizeof found);
        // One right-hand side: it belongs to the last process of the team.
        memcpy(found, given, sizeof found);
        check_ok(bb_tile_cholesky_solve(matrix, 1, found));
        assert_memory_equal(found, rank == MEMBERS - 1 ? single : expected, sizeof single);
        assert_memory_equal(found + N, given + N, sizeof single);
    }
    bb_team_join(NULL);
    give_back(&held, matrix);
}

TEST(a_line_that_is_gone_is_an_error)
{
    autoptr(bb_tile_matrix) matrix = factored(1);
    vault held = {.failing = 3};
    const bb_tile_access access = {
        .load_row = bring_row, .load_column = bring_column, .release = leave, .context = &held};
    take_all(&held, matrix);
    matrix->access = &access;
    memcpy(found, given, sizeof found);
    check_fails(bb_tile_cholesky_solve(matrix, M, found), BB_IO, "line 3 is gone");
    assert_true(held.is_empty);
    assert_memory_equal(found, given, sizeof found);
    give_back(&held, matrix);
}

static int start(void)
{
    dense_covariance(N, 20.0, 0.3, a);
    dense_random(M * N, 4, given);
    return 0;
}

TEST_GROUP(.begin = start);
