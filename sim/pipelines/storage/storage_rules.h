// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline may say of how its reconstructor is stored (factor_storage.h).
#ifndef BB_SIM_PIPELINES_STORAGE_STORAGE_RULES_H
#define BB_SIM_PIPELINES_STORAGE_STORAGE_RULES_H

#include "sim/pipelines/factor_pipeline.h"

/// The rules between `storage`, `promise`, `scale`, `filter` and the rest of a pipeline. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_storage_rules_check(const bb_factor_pipeline *pipeline, bb_index index,
                                            const bb_config *config, bb_problems *problems);

#endif
