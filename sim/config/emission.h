// SPDX-License-Identifier: Apache-2.0
//
// From structs back to YAML that this program and PyYAML read to the same values, and the listing
// of every key that a schema has.
#ifndef BB_SIM_CONFIG_EMISSION_H
#define BB_SIM_CONFIG_EMISSION_H

#include "core/schema.h"
#include "core/text.h"

/// Writes every key with its value, defaults included. With `comments`, each line carries the unit,
/// range and meaning of its key, keys that are unset stand as comments, and records are without the
/// keys at their default. Otherwise unset keys are left out, and so is an optional group in which a
/// required key is unset, and paths of files are from the root. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_emission_write(const bb_schema *schema, const void *object, bool comments,
                                       bb_text *out);

/// Whether a key of a bound struct is unset: bb_emission_write leaves it out.
bool bb_emission_is_unset(const bb_key *key, const void *object);

/// Writes one line a key: path, kind, unit, range or words, default and meaning, in columns.
BB_CHECKED bb_status bb_emission_list(const bb_schema *schema, bb_text *out);

/// The same as tables of Markdown under headings: `name` of the experiment, and each of its groups.
BB_CHECKED bb_status bb_emission_list_markdown(const char *name, const bb_schema *schema,
                                               bb_text *out);

#endif
