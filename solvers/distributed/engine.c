// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/engine.h"

#include "solvers/factor/tiles/tile_cholesky.h"

static const bb_engine_row *offered;

void bb_engine_offer(const bb_engine_row *row)
{
    offered = row;
}

const bb_engine_row *bb_engine_offered(void)
{
    return offered;
}

static bb_status create(const bb_engine_config *config, bb_engine **out)
{
    bb_status status = BB_OK;
    const int processes = bb_process_grid_size(config->grid);
    *out = NULL; // it needs nothing
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
