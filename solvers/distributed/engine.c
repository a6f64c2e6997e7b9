// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/engine.h"

#include "core/memory.h"
#include "solvers/distributed/tile_window.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <math.h>

static const bb_engine_row *offered;

void bb_engine_register(const bb_engine_row *row)
{
    offered = row;
}

const bb_engine_row *bb_engine_registered(void)
{
    return offered;
}

static bb_status create(const bb_engine_config *config, bb_engine **out)
{
    bb_status status = BB_OK;
    const int processes = bb_process_grid_size(config->grid);
    *out = NULL; // no state: bb_engine is opaque and may be empty
    BB_REQUIRE(processes <= 1, BB_INVALID, "grid %dx%d of engine own, expected 1x1",
               config->grid.rows, config->grid.columns);
done:
    return status;
}

static void destroy(bb_engine **engine)
{
    (void)engine;
}

static bb_status load(bb_engine *engine, const bb_matrix_source *source, const double *scale,
                      const bb_tile_plan *plan, bb_tile_matrix **out)
{
    (void)engine;
    return bb_tile_matrix_create(source, scale, plan, out);
}

static bb_status factor(bb_engine *engine, bb_tile_matrix *matrix, bb_index accumulate_k,
                        bb_outcome *outcome, double *sent)
{
    (void)engine;
    if (sent != NULL) {
        *sent = 0.0;
    }
    return bb_tile_cholesky_factor(matrix, accumulate_k, outcome);
}

static bb_status digest(bb_engine *engine, const bb_tile_matrix *matrix, uint64_t *out)
{
    (void)engine;
    return bb_tile_matrix_digest(matrix, out);
}

const bb_engine_row bb_engine_own = {.name = "own",
                                     .create = create,
                                     .destroy = destroy,
                                     .load = load,
                                     .factor = factor,
                                     .digest = digest};

// Memory of StarPU per tile in every process [bytes] and submission time per task [s].
static const double place_bytes = 4096.0;
static const double task_s = 24e-6;
// Number of columns whose messages are in memory at a time.
enum { OPEN_COLUMNS = 3 };

static bool owns_none(const void *context, bb_index row, bb_index column)
{
    (void)context;
    (void)row;
    (void)column;
    return false;
}

static bb_status fill_nothing(const bb_matrix_source *source, bb_index row, bb_index column,
                              bb_view out)
{
    (void)source;
    (void)row;
    (void)column;
    (void)out;
    return BB_OK;
}

static double largest(int count, const double *values)
{
    double limit = 0.0;
    for (int i = 0; i < count; ++i) {
        limit = fmax(limit, values[i]);
    }
    return limit;
}

static double sum(int count, const double *values)
{
    double total = 0.0;
    for (int i = 0; i < count; ++i) {
        total += values[i];
    }
    return total;
}

// Tasks that every process submits: a pivot, panels, updates and the messages of each step.
static double count_tasks(double tile_rows)
{
    return tile_rows * (tile_rows + 1.0) * (tile_rows + 5.0) / 6.0;
}

// Plan for a rule whose inputs are unknown: use the widest variant that it may select.
static bb_tile_plan known_plan(const bb_tile_plan *plan, int count, const bb_variant *variants)
{
    const bb_policy_row *rule = bb_policy_describe(&plan->policy);
    bb_tile_plan out = *plan;
    if (plan->map != NULL || !(rule->by_table || rule->by_tolerance || rule->by_tile_norms)) {
        return out;
    }
    for (int v = 0; v < count; ++v) {
        const bb_format wide = bb_variant_describe(out.arithmetic)->output;
        const bb_format other = bb_variant_describe(variants[v])->output;
        out.arithmetic = bb_format_describe(other)->bytes > bb_format_describe(wide)->bytes
                             ? variants[v]
                             : out.arithmetic;
    }
    out.policy = (bb_policy_config){.diagonal = plan->policy.diagonal};
    return out;
}

bb_status bb_engine_plan_make(const bb_engine_config *config, const bb_tile_plan *plan, bb_index n,
                              bb_index rows, int count, const bb_variant *variants,
                              bb_engine_plan *out)
{
    bb_status status = BB_OK;
    const int processes = bb_process_grid_size(config->grid);
    const double workers = (double)config->workers * (double)processes;
    const bb_tile_plan known = known_plan(plan, count, variants);
    const bb_tile_share share = {.holds = owns_none};
    const bb_matrix_source source = {.rows = n, .columns = n, .fill = fill_nothing, .name = "A"};
    bb_tile_matrix *matrix = NULL;
    double *bytes = NULL;
    bool *readers = NULL;
    BB_TRY(bb_tile_matrix_create_share(&source, NULL, &known, &share, &matrix));
    BB_TRY(BB_ALLOCATE(processes, &bytes));
    BB_TRY(BB_ALLOCATE(processes, &readers));
    const double tile_rows = (double)matrix->tile_rows;
    const double item_bytes = (double)(matrix->tile_size * matrix->tile_size) * sizeof(float);
    bb_process_grid_bytes(matrix, config->grid, bytes);
    out->tile_bytes = largest(processes, bytes);
    bb_tile_message_traffic(matrix, config->grid, config->wire, readers, bytes);
    const double sent = largest(processes, bytes);
    out->factor_bytes = sum(processes, bytes);
    bb_tile_window_traffic(matrix, config->grid, config->wire, bytes);
    out->sweep_bytes = largest(processes, bytes);
    const double part = ceil((double)rows / (double)processes);
    const bb_need sweeping =
        bb_tile_cholesky_solve_need(plan, n, (bb_index)part, (double)config->workers);
    const bb_need factoring = bb_tile_cholesky_factor_need(plan, n, count, variants, workers);
    // Every block of this process's right-hand sides is being solved at the same time, in fp32.
    const double sides = part * (double)n * sizeof(float);
    const double messages = OPEN_COLUMNS * tile_rows * item_bytes;
    out->host_bytes = out->tile_bytes + place_bytes * tile_rows * (tile_rows + 1.0) / 2.0 +
                      fmax(messages, bb_tile_window_bytes(&known, n) + sides);
    out->seconds = fmax(factoring.seconds, task_s * count_tasks(tile_rows)) +
                   sent / BB_ENGINE_PLAN_WIRE_RATE + sweeping.seconds +
                   out->sweep_bytes / BB_ENGINE_PLAN_WIRE_RATE;
done:
    BB_RELEASE(&readers);
    BB_RELEASE(&bytes);
    bb_tile_matrix_destroy(&matrix);
    return status;
}
