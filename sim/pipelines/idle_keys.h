// SPDX-License-Identifier: Apache-2.0
//
// Keys of a factorization's pipeline that are idle because of another key: a width without a band,
// an energy of light tiles without light sweeps. They are refused where they were changed, so that
// a forgotten `kind: band` does not run as uniform in silence. Which policy has which keys its row
// says; those that one alone has, it cannot be without.
//
// What is compared is the value, not whether it was written: a resolved study has every key.
#ifndef BB_SIM_PIPELINES_IDLE_KEYS_H
#define BB_SIM_PIPELINES_IDLE_KEYS_H

#include "sim/config/config.h"
#include "sim/pipelines/factor_pipeline.h"

/// Adds a problem for each idle key of pipeline `index` that does not have its default, and for
/// each that its policy lacks. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_idle_keys_check(const bb_factor_pipeline *pipeline, bb_index index,
                                        const bb_config *config, bb_problems *problems);

#endif
