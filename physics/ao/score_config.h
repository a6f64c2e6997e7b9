// SPDX-License-Identifier: Apache-2.0
//
// What a user configures of the score beyond the covariances: independent frames, and the errors
// that slopes do not know.
#ifndef BB_PHYSICS_AO_SCORE_CONFIG_H
#define BB_PHYSICS_AO_SCORE_CONFIG_H

#include "core/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Independent frames, see monte_carlo.h.
typedef struct bb_monte_carlo_config {
    bb_index frames; ///< 0: none are drawn
    bb_index pixels_per_subaperture;
    double screen_oversize;
    bb_index subharmonics;
} bb_monte_carlo_config;

extern const bb_schema bb_monte_carlo_schema;

#ifdef __cplusplus
}
#endif

#endif
