// SPDX-License-Identifier: Apache-2.0
//
// A configuration: a YAML file, the files that it is based on (`base: other.yaml`), and key=value
// overrides, bound to the struct of its experiment.
//
// A file names its base relative to its own folder; the base is read first and the file merged onto
// it: maps key by key, lists and values replaced. Overrides follow in order, each `path=value` with
// list items by number (`pipelines.1.name=x`) and the value in YAML. `seed: random` is replaced by
// a number drawn now, which the resolved copy records.
#ifndef BB_SIM_CONFIG_CONFIG_H
#define BB_SIM_CONFIG_CONFIG_H

#include "core/schema.h"
#include "sim/config/problem.h"

typedef struct bb_config bb_config;

/// What to read. Everything is borrowed during the call only.
typedef struct bb_config_request {
    const char *path;             ///< of the file
    const char *const *overrides; ///< [override_count] "key.path=value"
    bb_index override_count;
    const bb_schema *const *schemas; ///< one an experiment; `experiment:` names which
    bb_index schema_count;
} bb_config_request;

/// Reads, merges and binds. What is wrong with the content is added to `problems`, all of it, and
/// gives BB_INVALID; the caller releases `problems`. Errors: BB_INVALID, BB_IO (the file or a base
/// cannot be read), BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_config_load(const bb_config_request *request, bb_problems *problems,
                                    bb_config **out);
void bb_config_destroy(bb_config **config);

/// The bound struct, of the type that the schema describes; lives as long as the configuration.
const void *bb_config_study(const bb_config *config);
const bb_schema *bb_config_schema(const bb_config *config);

/// Files read, the one asked for first, then its bases; names as typed or joined, texts as read.
bb_index bb_config_file_count(const bb_config *config);
const char *bb_config_file_name(const bb_config *config, bb_index file);
const char *bb_config_file_text(const bb_config *config, bb_index file);

/// Tables that records were read from (record_table.h): names as joined, texts as read, and the
/// digests of their bytes.
bb_index bb_config_table_count(const bb_config *config);
const char *bb_config_table_name(const bb_config *config, bb_index table);
const char *bb_config_table_text(const bb_config *config, bb_index table);
const char *bb_config_table_digest(const bb_config *config, bb_index table);

/// Where a key path was written, or the nearest map around it.
bb_place bb_config_place(const bb_config *config, const char *path);

/// The whole configuration as YAML, defaults included. Owner: the caller (bb_text_release).
BB_CHECKED bb_status bb_config_resolved(const bb_config *config, bb_text *out);

/// A commented configuration with every key, from the tables: values from `starter` (YAML that has
/// the required keys) and defaults. Errors: BB_INTERNAL (the starter does not fit its tables),
/// BB_MEMORY.
BB_CHECKED bb_status bb_config_template(const bb_schema *schema, const char *starter, bb_text *out);

#endif
