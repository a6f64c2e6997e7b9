// SPDX-License-Identifier: Apache-2.0
//
// Records that a pattern stands for (core/schema.h, bb_pattern): `{kind: lgs, ring: {..}}` in a
// list becomes a record a direction, before binding. All of them have the place of the one written,
// and the resolved copy has them written out: what runs is what it says, item by item.
#ifndef BB_SIM_CONFIG_RECORD_PATTERN_H
#define BB_SIM_CONFIG_RECORD_PATTERN_H

#include "core/schema.h"
#include "sim/config/node.h"

/// Writes out every pattern in the lists of records in `tree`. What is wrong with one is added to
/// `problems`, and its record then stays as one. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_record_patterns_spread(bb_arena *arena, const bb_schema *schema,
                                               bb_node *tree, bb_problems *problems);

#endif
