// SPDX-License-Identifier: Apache-2.0
//
// What a policy `promise` is searched among: variants throughout, diagonal tiles included, and
// mixtures of two of them.
//
// Variants stand in the order of their nominal cost (precision/variant.h), the more precise first
// where two cost the same. A pipeline's `variants` say which; without them they are its arithmetic,
// `inside`, and all that cost as much as its arithmetic or more, of those of one cost the most
// precise. A variant that costs more than dp has no place then: sp at the nominal rates.
//
// On the cpu a mixture is the product rule (with hp2 and hp3, the tile-norm rule) at tolerances
// 10^-1, 10^(-1 - 1/8), ..., 10^-6, diagonal tiles following. On a cuda device, which knows one
// variant a tile, it is the tile-norm rule with fp32 diagonal tiles and sweeps, at tolerances of
// the matrix at hand: the lower tiles off the diagonal, in the order of their norms, are narrow as
// far as they hold 64/64, 63/64, ..., 1/64 of the operations. Tile (i, j), i > j, is updated by j
// products and then solved: 2 j + 1. Mixtures that come to the same tiles are one, so each is a
// map of its own.
#ifndef BB_SIM_PIPELINES_FACTOR_CANDIDATES_H
#define BB_SIM_PIPELINES_FACTOR_CANDIDATES_H

#include "core/device/device.h"
#include "sim/pipelines/factor_problem.h"

enum { BB_FACTOR_MIXTURES = 64, BB_FACTOR_CANDIDATE_NAME = 48 };

/// Mixtures of a pipeline's arithmetic and its policy's `inside`, from cheap to precise.
typedef struct bb_factor_candidates {
    bool by_tile; ///< a variant a tile, not a product
    int mixtures;
    double tolerances[BB_FACTOR_MIXTURES];
} bb_factor_candidates;

/// What a promise may use throughout, cheap ones first; returns how many.
int bb_factor_candidates_variants(const bb_factor_pipeline *pipeline,
                                  bb_variant out[BB_VARIANT_COUNT]);

/// The pipeline in one variant throughout. It does not escalate.
bb_factor_pipeline bb_factor_candidates_uniform(const bb_factor_pipeline *pipeline,
                                                bb_variant variant, bb_device_kind device);

/// Mixtures on `device`, where `problem` needs its `tile_norms`. Errors: BB_MEMORY, BB_INTERNAL (no
/// norms).
BB_CHECKED bb_status bb_factor_candidates_make(const bb_factor_problem *problem,
                                               const bb_factor_pipeline *pipeline,
                                               bb_device_kind device, bb_factor_candidates *out);

/// The pipeline of a mixture, and what it is called. It does not escalate.
bb_factor_pipeline bb_factor_candidates_mixture(const bb_factor_candidates *candidates,
                                                const bb_factor_pipeline *pipeline, int mixture,
                                                char name[BB_FACTOR_CANDIDATE_NAME]);

#endif
