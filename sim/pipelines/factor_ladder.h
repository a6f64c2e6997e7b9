// SPDX-License-Identifier: Apache-2.0
//
// The rungs that a policy `promise` is searched on, from cheap to precise: the pipeline's variant
// throughout, diagonal tiles included; mixtures of it with `inside`; `inside` throughout; dp.
//
// On the cpu a mixture is the product rule (with hp2 and hp3, the tile-norm rule) at tolerances
// 10^-1, 10^-1.5, ..., 10^-6, diagonal tiles following. On a cuda device, which knows one variant a
// tile, it is the tile-norm rule with fp32 diagonal tiles and sweeps, at tolerances of the matrix
// at hand: the lower tiles off the diagonal, in the order of their norms, are narrow as far as they
// hold 32/32, 31/32, ..., 1/32 of the operations. Tile (i, j), i > j, is updated by j products and
// then solved: 2 j + 1. Rungs that come to the same tiles are one, so a rung is a map of its own.
#ifndef BB_SIM_PIPELINES_FACTOR_LADDER_H
#define BB_SIM_PIPELINES_FACTOR_LADDER_H

#include "core/device.h"
#include "sim/pipelines/factor_solving.h"

enum { BB_FACTOR_MIXTURES = 32, BB_FACTOR_RUNG_NAME = 48 };

typedef struct bb_factor_ladder {
    bool by_tile; ///< a variant a tile, not a product
    int mixtures; ///< rungs are 0, 1 to `mixtures`, mixtures + 1, mixtures + 2
    double tolerances[BB_FACTOR_MIXTURES];
} bb_factor_ladder;

/// Rungs of a pipeline that computes on `device`, where `problem` needs its `tile_norms`. Errors:
/// BB_MEMORY, BB_INTERNAL (no norms).
BB_CHECKED bb_status bb_factor_ladder_make(const bb_factor_problem *problem,
                                           const bb_factor_pipeline *pipeline,
                                           bb_device_kind device, bb_factor_ladder *out);

int bb_factor_ladder_rungs(const bb_factor_ladder *ladder);

/// The pipeline of a rung, and what it is called. It does not escalate.
bb_factor_pipeline bb_factor_ladder_climb(const bb_factor_ladder *ladder,
                                          const bb_factor_pipeline *pipeline, int rung,
                                          char name[BB_FACTOR_RUNG_NAME]);

#endif
