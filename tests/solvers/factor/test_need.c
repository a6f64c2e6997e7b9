// SPDX-License-Identifier: Apache-2.0
//
// Predicted memory of factorizations, solves and scores against the memory allocated, with one
// thread and with three. The need of a cuda device is compared in
// panels/test_panel_cholesky_cuda.c.
#include "solvers/factor/reconstructor.h"
#include "solvers/factor/refinement.h"
#include "solvers/factor/residual_covariance.h"
#include "solvers/factor/residual_noise.h"
#include "solvers/factor/rounding_sweep.h"
#include "solvers/factor/spectrum.h"
#include "solvers/factor/tiles/tile_cholesky.h"
#include "tests/need.h"
#include "tests/solvers/spd_matrices.h"

enum { N = 300, M = 70, TILE = 64, COLUMNS = 4 };

typedef struct fixture {
    double *a, *b;
    bb_view view;
    bb_matrix_source source;
    double threads;
} fixture;

static void enter(fixture *f, bb_index threads)
{
    check_ok(bb_threads_set(threads));
    *f = (fixture){.a = dense_new(N * N), .b = dense_new(M * N), .threads = (double)threads};
    spd_spectrum(N, 1e3, 7, f->a);
    dense_random(M * N, 11, f->b);
    f->view = bb_view_matrix(f->a, N, N);
    f->source = bb_matrix_source_dense(&f->view, "A", "1");
}

static void leave(fixture *f)
{
    BB_RELEASE(&f->a);
    BB_RELEASE(&f->b);
    bb_threads_stop();
}

// One factorization, step by step.
static bb_tile_matrix *hold_factor(const fixture *f, const char *what, const bb_tile_plan *plan)
{
    char text[64];
    bb_outcome outcome = {0};
    bb_variant given[BB_VARIANT_COUNT];
    const int count = bb_policy_variants(&plan->policy, plan->arithmetic, given);
    need_start();
    bb_tile_matrix *factor = new_object(bb_tile_matrix, &f->source, NULL, plan);
    need_stop();
    (void)snprintf(text, sizeof text, "tile_matrix, %s", what);
    need_hold(text, bb_tile_matrix_need(plan, N, f->threads), NEED_LOOSENESS);
    need_start();
    check_ok(bb_tile_cholesky_factor(factor, 4, &outcome));
    need_stop();
    assert_int_equal(outcome.kind, BB_OUTCOME_OK);
    (void)snprintf(text, sizeof text, "tile_cholesky, %s", what);
    need_hold(text, bb_tile_cholesky_factor_need(plan, N, count, given, f->threads),
              NEED_LOOSENESS);
    const bb_need solving = bb_tile_cholesky_solve_need(plan, N, M, f->threads);
    need_start();
    check_ok(bb_tile_cholesky_solve(factor, M, f->b));
    need_stop();
    if (solving.host_bytes > 0.0) {
        (void)snprintf(text, sizeof text, "tile_cholesky_solve, %s", what);
        need_hold(text, solving, NEED_LOOSENESS);
    } else {
        assert_int_equal(need_peak, 0); // dp solves in place
    }
    return factor;
}

static void hold_tiles(const fixture *f)
{
    for (int v = 0; v < BB_VARIANT_COUNT; ++v) {
        const bb_tile_plan plan = {.tile_size = TILE, .arithmetic = (bb_variant)v};
        autoptr(bb_tile_matrix) factor = hold_factor(f, bb_variant_names[v], &plan);
    }
    static const bb_policy_sweeps sweeps[] = {BB_POLICY_SWEEPS_FOLLOW, BB_POLICY_SWEEPS_LIGHT};
    for (size_t k = 0; k < sizeof sweeps / sizeof *sweeps; ++k) {
        const bb_tile_plan plan = {.tile_size = TILE,
                                   .arithmetic = BB_VARIANT_HP1,
                                   .sweeps = sweeps[k],
                                   .sweep_energy = 0.5};
        autoptr(bb_tile_matrix) factor = hold_factor(f, "hp1 in sweeps", &plan);
    }
    // dp next to hp2: copies in fp64, fp32 and fp16.
    const bb_tile_plan band = {
        .tile_size = TILE,
        .arithmetic = BB_VARIANT_HP2,
        .policy = {.kind = BB_POLICY_BAND, .width = 2, .inside = BB_VARIANT_DP}};
    autoptr(bb_tile_matrix) factor = hold_factor(f, "dp in hp2", &band);
}

static void hold_refinement(const fixture *f)
{
    const bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_HP1};
    static const char *const names[] = {"refinement, ir", "refinement, cg", "refinement, gmres"};
    bb_outcome outcome = {0};
    autoptr(bb_tile_matrix) factor = new_object(bb_tile_matrix, &f->source, NULL, &plan);
    check_ok(bb_tile_cholesky_factor(factor, 4, &outcome));
    for (int method = BB_REFINE_IR; method <= BB_REFINE_GMRES; ++method) {
        bb_refinement refinement = {
            .matrix = &f->source,
            .factor = factor,
            .config = {.method = method, .tolerance = 1e-8, .iterations = 30}};
        need_start();
        check_ok(bb_refinement_solve(&refinement, M, f->b, &outcome));
        need_stop();
        const bb_need own = bb_refinement_need(&refinement.config, N, M, (bb_need){0}, f->threads);
        need_hold(names[method - BB_REFINE_IR],
                  bb_need_together(own, bb_tile_cholesky_solve_need(&plan, N, M, f->threads)),
                  NEED_LOOSENESS);
    }
}

static void hold_update(const fixture *f)
{
    const bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_DP};
    const double variances[COLUMNS] = {1.0, 2.0, 3.0, INFINITY};
    bb_outcome outcome = {0};
    autofree double *vectors = dense_new(N * COLUMNS);
    dense_random(N * COLUMNS, 5, vectors);
    const bb_low_rank part = {COLUMNS, vectors, variances};
    autoptr(bb_tile_matrix) factor = new_object(bb_tile_matrix, &f->source, NULL, &plan);
    check_ok(bb_tile_cholesky_factor(factor, 4, &outcome));
    need_start();
    autoptr(bb_low_rank_update) update =
        new_object(bb_low_rank_update, factor, NULL, &part, &outcome);
    check_ok(bb_reconstructor_solve(factor, NULL, update, M, f->b, &outcome));
    need_stop();
    need_hold("low_rank_update", bb_low_rank_update_need(N, COLUMNS, M), NEED_LOOSENESS);
}

static double keep(const void *context, bb_index row, bb_index column, double value)
{
    (void)context;
    (void)row;
    (void)column;
    return value;
}

static void hold_sweep(const fixture *f)
{
    const bb_tile_plan plan = {.tile_size = TILE, .arithmetic = BB_VARIANT_DP};
    const bb_rounding_step step = {.round = keep};
    bb_outcome outcome = {0};
    autoptr(bb_tile_matrix) factor = new_object(bb_tile_matrix, &f->source, NULL, &plan);
    check_ok(bb_tile_cholesky_factor(factor, 4, &outcome));
    need_start();
    check_ok(bb_rounding_sweep(factor, &step, M, f->b, NULL));
    need_stop();
    need_hold("rounding_sweep", bb_rounding_sweep_need(N, M, TILE), NEED_LOOSENESS);
}

static void hold_scores(const fixture *f)
{
    const bb_view side = bb_view_matrix(f->b, M, N);
    const bb_view corner = bb_view_block(f->view, 0, M, 0, M);
    const bb_matrix_source ctm = bb_matrix_source_dense(&side, "Ctm", "1");
    const bb_matrix_source ctt = bb_matrix_source_dense(&corner, "Ctt", "1");
    double *cee[2] = {dense_new(M * M), dense_new(M * M)};
    autofree double *values = dense_new(N);
    bb_residual_task tasks[2] = {{.r = f->b, .ctm = &ctm, .ctt = &ctt, .cee = cee[0]},
                                 {.r = f->b, .ctm = &ctm, .ctt = &ctt, .cee = cee[1]}};
    bb_residual_extent extent = {
        .n = N, .rows = 2.0 * M, .squared_rows = 2.0 * M * M, .most_rows = M};
    for (int shared = 0; shared < 2; ++shared) {
        need_start();
        check_ok(bb_residual_covariance(&f->source, 2, tasks));
        need_stop();
        need_hold(shared ? "residual_covariance, shared" : "residual_covariance",
                  bb_residual_covariance_need(&extent, f->threads), NEED_LOOSENESS);
        tasks[0].rows = tasks[1].rows = M;
        extent.shared = 1.0;
        extent.shared_rows = M;
    }
    bb_triplets list = {0};
    bb_csr sparse = {0};
    for (bb_index i = 0; i < N; ++i) {
        check_ok(bb_triplets_add(&list, i, i, 1.0));
    }
    check_ok(bb_csr_assemble(N, N, &list, &sparse));
    need_start();
    check_ok(bb_residual_noise(&sparse, M, f->b, cee[0]));
    need_stop();
    need_hold("residual_noise", bb_residual_noise_need(N, M, f->threads), NEED_LOOSENESS);
    bb_triplets_release(&list);
    bb_csr_release(&sparse);
    need_start();
    check_ok(bb_spectrum_eigenvalues(&f->source, NULL, values));
    need_stop();
    need_hold("spectrum", bb_spectrum_need(N), NEED_LOOSENESS);
    BB_RELEASE(&cee[0]);
    BB_RELEASE(&cee[1]);
}

TEST(needs_cover_what_is_taken)
{
    for (bb_index threads = 1; threads <= 3; threads += 2) {
        autocall(leave) fixture f;
        enter(&f, threads);
        hold_tiles(&f);
        hold_refinement(&f);
        hold_update(&f);
        hold_sweep(&f);
        hold_scores(&f);
    }
}
