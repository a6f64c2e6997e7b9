// SPDX-License-Identifier: Apache-2.0
//
// Conversion of structs to YAML that this program and PyYAML read as the same values, and the list
// of all keys of a schema.
#ifndef BB_SIM_CONFIG_EMISSION_H
#define BB_SIM_CONFIG_EMISSION_H

#include "core/schema.h"
#include "core/text.h"

/// Writes every key with its value, including defaults. With `comments`, each line has the unit,
/// range and meaning of its key, unset keys are written as comments, and records omit keys at their
/// default. Without it, unset keys are omitted, as is an optional group in which a required key is
/// unset, and paths of files are absolute. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_emission_write(const bb_schema *schema, const void *object, bool comments,
                                       bb_text *out);

/// True if a key of a bound struct is unset, so that bb_emission_write omits it.
bool bb_emission_is_unset(const bb_key *key, const void *object);

/// Writes a line for each key: path, kind, unit, range or words, default and meaning, in columns.
BB_CHECKED bb_status bb_emission_list(const bb_schema *schema, bb_text *out);

/// Writes the same list as Markdown tables under headings: `name` of the experiment, and each of
/// its groups.
BB_CHECKED bb_status bb_emission_list_markdown(const char *name, const bb_schema *schema,
                                               bb_text *out);

#endif
