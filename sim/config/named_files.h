// SPDX-License-Identifier: Apache-2.0
//
// The files that a study names beside its configuration: matrices, tables, pupils.
#ifndef BB_SIM_CONFIG_NAMED_FILES_H
#define BB_SIM_CONFIG_NAMED_FILES_H

#include "core/schema.h"

/// Calls `visit` for every key of kind BB_KEY_PATH that is set, in the order of the tables, with
/// its path as an override has it ("response.file", "pipelines.1.policy.table") and its value.
/// Errors: the first of `visit`, BB_MEMORY.
BB_CHECKED bb_status bb_named_files_visit(const bb_schema *schema, const void *object,
                                          bb_status (*visit)(void *context, const char *key,
                                                             const char *file),
                                          void *context);

#endif
