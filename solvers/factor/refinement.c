// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/refinement.h"

#include "core/memory.h"
#include "solvers/factor/refinement_block.h"

#include <math.h>
#include <string.h>

// Right-hand sides per pass over A; gmres needs 21 vectors for each.
enum { BLOCK_ROWS = 512, GMRES_ROWS = 64 };

static void release_block(bb_refine_block *block)
{
    BB_RELEASE(&block->b);
    BB_RELEASE(&block->y);
    BB_RELEASE(&block->r);
    BB_RELEASE(&block->gathered);
    BB_RELEASE(&block->result);
    BB_RELEASE(&block->panel);
    BB_RELEASE(&block->state);
    BB_RELEASE(&block->active);
}

static bb_status create_block(const bb_refinement *refinement, bb_index rows,
                              bb_refine_block *block)
{
    bb_status status = BB_OK;
    bb_index n = refinement->factor->n;
    bb_index width = n < BB_REFINE_PANEL ? n : BB_REFINE_PANEL;
    *block = (bb_refine_block){.refinement = refinement, .rows = rows, .n = n};
    BB_TRY(BB_ALLOCATE(rows * n, &block->b));
    BB_TRY(BB_ALLOCATE(rows * n, &block->y));
    BB_TRY(BB_ALLOCATE(rows * n, &block->r));
    BB_TRY(BB_ALLOCATE(rows * n, &block->gathered));
    BB_TRY(BB_ALLOCATE(rows * n, &block->result));
    BB_TRY(BB_ALLOCATE(n * width, &block->panel));
    BB_TRY(BB_ZEROED(rows, &block->state));
    BB_TRY(BB_ALLOCATE(rows, &block->active));
done:
    return status;
}

// y <- b M^-1, and the residual of every row.
static bb_status start_block(bb_refine_block *block, const double *x)
{
    bb_status status = BB_OK;
    bb_index items = block->rows * block->n;
    size_t bytes = (size_t)items * sizeof *x;
    memcpy(block->b, x, bytes);
    bb_inverse_scale(block->rows, block->n, block->refinement->scale, block->b);
    for (bb_index i = 0; i < block->rows; ++i) {
        const double *b = bb_refine_row_of(block, block->b, i);
        double norm = sqrt(bb_refinement_block_dot(block->n, b, b));
        block->state[i] =
            (bb_refine_row){.target = block->refinement->config.tolerance * norm, .best = INFINITY};
    }
    (void)bb_refinement_block_collect(block, BB_REFINE_ACTIVE);
    memcpy(block->gathered, block->b, bytes);
    BB_TRY(bb_refinement_block_precondition(block));
    memcpy(block->y, block->gathered, bytes);
    BB_TRY(bb_refinement_block_inspect(block));
done:
    return status;
}

typedef struct census {
    bb_index rows[BB_REFINE_NON_FINITE + 1];
} census;

static void count_rows(const bb_refine_block *block, bb_refinement_report *report, census *found)
{
    for (bb_index i = 0; i < block->rows; ++i) {
        const bb_refine_row *row = &block->state[i];
        double relative = row->norm == 0.0 ? 0.0 : row->norm / row->target;
        relative *= block->refinement->config.tolerance;
        ++found->rows[row->state];
        ++report->rows;
        report->iterations += row->iterations;
        report->slowest = row->iterations > report->slowest ? row->iterations : report->slowest;
        report->failed += row->state != BB_REFINE_DONE;
        report->worst = isnan(relative) ? NAN : fmax(report->worst, relative);
    }
}

static bb_status solve_block(bb_refinement *refinement, bb_index rows, double *x, census *found)
{
    bb_status status = BB_OK;
    bb_refine_block block;
    BB_TRY(create_block(refinement, rows, &block));
    BB_TRY(start_block(&block, x));
    switch (refinement->config.method) {
    case BB_REFINE_IR:
        BB_TRY(bb_refinement_block_ir(&block));
        break;
    case BB_REFINE_CG:
        BB_TRY(bb_refinement_block_cg(&block));
        break;
    default:
        BB_TRY(bb_refinement_block_gmres(&block));
    }
    count_rows(&block, &refinement->report, found);
    memcpy(x, block.y, (size_t)(rows * block.n) * sizeof *x);
    bb_inverse_scale(rows, block.n, refinement->scale, x);
done:
    release_block(&block);
    return status;
}

static const char *const method_names[] = {"none", "ir", "cg", "gmres", NULL};

bb_status bb_refinement_solve(bb_refinement *refinement, bb_index rows, double *x,
                              bb_outcome *outcome)
{
    bb_status status = BB_OK;
    census found = {{0}};
    bb_index n = refinement->factor->n;
    const bb_refine_config *config = &refinement->config;
    bb_index limit = config->method == (int)BB_REFINE_GMRES ? GMRES_ROWS : BLOCK_ROWS;
    BB_REQUIRE(config->method != (int)BB_REFINE_NONE && config->tolerance > 0.0, BB_INVALID,
               "refinement by %s to %g: choose a method and a positive tolerance",
               method_names[config->method], config->tolerance);
    BB_REQUIRE(refinement->matrix->rows == n && refinement->matrix->columns == n, BB_INVALID,
               "matrix %s is %td x %td, but the factor has %td rows", refinement->matrix->name,
               refinement->matrix->rows, refinement->matrix->columns, n);
    for (bb_index first = 0; first < rows; first += limit) {
        bb_index count = rows - first < limit ? rows - first : limit;
        BB_TRY(solve_block(refinement, count, x + first * n, &found));
    }
    if (found.rows[BB_REFINE_NON_FINITE] > 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE,
                       "refinement by %s: %td of %td right-hand sides became NaN or infinite",
                       method_names[config->method], found.rows[BB_REFINE_NON_FINITE], rows);
    } else if (found.rows[BB_REFINE_DONE] < rows) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_CONVERGED,
                       "refinement by %s: of %td right-hand sides %td reached the limit of %td "
                       "iterations, %td stagnated, %td broke down; worst residual %.1e",
                       method_names[config->method], rows, found.rows[BB_REFINE_LIMIT],
                       config->iterations, found.rows[BB_REFINE_STAGNATED],
                       found.rows[BB_REFINE_BROKEN], refinement->report.worst);
    }
done:
    return status;
}

static bb_status apply_refined(const bb_inverse *inverse, bb_index rows, double *x,
                               bb_outcome *outcome)
{
    return bb_refinement_solve(inverse->context, rows, x, outcome);
}

bb_inverse bb_inverse_of_refinement(bb_refinement *context)
{
    return (bb_inverse){.n = context->factor->n, .apply = apply_refined, .context = context};
}

// Typical number of iterations for a factor that is worth refining; the actual number is not known
// in advance.
enum { USUAL_ITERATIONS = 8 };

bb_need bb_refinement_need(const bb_refine_config *config, bb_index n, bb_index rows, bb_need fill,
                           double threads)
{
    const bool gmres = config->method == (int)BB_REFINE_GMRES;
    const bb_index limit = gmres ? GMRES_ROWS : BLOCK_ROWS;
    const double block = (double)(rows < limit ? rows : limit);
    const double blocks = ceil((double)rows / (double)limit);
    const double width = (double)(n < BB_REFINE_PANEL ? n : BB_REFINE_PANEL);
    const bb_index iterations =
        config->iterations < USUAL_ITERATIONS ? config->iterations : USUAL_ITERATIONS;
    const bb_refinement_report usual = {.rows = rows, .iterations = rows * iterations};
    // Memory: b, y, r, two packed copies, a panel, and the states of the rows.
    const bb_need products = {.host_bytes = sizeof(double) * (double)n * (5.0 * block + width) +
                                            block * (sizeof(bb_refine_row) + sizeof(bb_index)),
                              .seconds =
                                  bb_refinement_flops(n, &usual) / (BB_NEED_FP64_RATE * threads)};
    const bb_need passes = bb_need_repeated(fill, blocks * (double)(1 + iterations));
    const bb_need need = bb_need_together(products, passes);
    switch (config->method) {
    case BB_REFINE_IR:
        return need;
    case BB_REFINE_CG:
        return bb_need_together(need, bb_refinement_block_cg_need(n, (bb_index)block));
    case BB_REFINE_GMRES:
        return bb_need_together(need, bb_refinement_block_gmres_need(n, (bb_index)block));
    default:
        return (bb_need){0};
    }
}

double bb_refinement_break_even(bb_index n, bb_index rows)
{
    return (double)n / (12.0 * (double)rows);
}

double bb_refinement_flops(bb_index n, const bb_refinement_report *report)
{
    double squared = (double)n * (double)n;
    return squared * (2.0 * (double)report->rows + 4.0 * (double)report->iterations);
}

// clang-format off
static const bb_key keys[] = {
    {.name = "method", .kind = BB_KEY_CHOICE, .choices = method_names,
     .offset = offsetof(bb_refine_config, method), .default_text = "none",
     .meaning = "none, ir (iterative refinement), cg or gmres (preconditioned by the factor)."},
    {.name = "tolerance", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .default_text = "1e-10",
     .offset = offsetof(bb_refine_config, tolerance),
     .meaning = "Tolerance of each right-hand side: norm of its residual over its own norm, in "
                "scaled variables."},
    {.name = "iterations", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 10000.0,
     .offset = offsetof(bb_refine_config, iterations), .default_text = "50",
     .meaning = "Largest number of iterations per right-hand side."},
};
// clang-format on
const bb_schema bb_refine_schema = BB_SCHEMA("refine", bb_refine_config, keys);
