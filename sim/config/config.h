// SPDX-License-Identifier: Apache-2.0
//
// A configuration: a YAML file, the files that it is based on (`base: other.yaml`), and key=value
// overrides, bound to the struct of its experiment.
//
// A base is a file relative to the folder of the file that names it, else the name of a shipped
// study (`base: ao/quick`). It is read first and the file merged onto it: maps key by key, lists
// and values replaced. Overrides follow in order, each `path=value` with list items by number or by
// their name (`pipelines.1.draws=2`, `pipelines.hp2.draws=2`) and the value in YAML. `seed: random`
// is replaced by a number drawn now, which the resolved copy records.
#ifndef BB_SIM_CONFIG_CONFIG_H
#define BB_SIM_CONFIG_CONFIG_H

#include "core/problem.h"
#include "core/schema.h"

typedef struct bb_config bb_config;

/// A file that was read before.
typedef struct bb_config_file {
    const char *name, *text;
} bb_config_file;

/// What to read. Everything is borrowed during the call only.
typedef struct bb_config_request {
    const char *path;             ///< of the file
    const char *const *overrides; ///< [override_count] "key.path=value"
    bb_index override_count;
    const bb_schema *const *schemas; ///< one an experiment; `experiment:` names which
    bb_index schema_count;
    const bb_config_file *files; ///< [file_count] read in the place of those of their names on disk
    bb_index file_count;         ///< 0: all are read from disk
    bool ignores_folders;        ///< of the files' keys, not of overrides, those that name a folder
                                 ///< to write to (writes_folder)
    /// Called with the study's `device:` before its keys are bound, so that an absent device is
    /// reported alone; NULL: not called. Its error ends the call.
    bb_status (*begin)(const char *device);
} bb_config_request;

/// Reads, merges and binds. What is wrong with the content is added to `problems`, all of it, and
/// gives BB_INVALID; the caller releases `problems`. Errors: BB_INVALID, BB_IO (the file or a base
/// cannot be read), BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_config_load(const bb_config_request *request, bb_problems *problems,
                                    bb_config **out);
void bb_config_destroy(bb_config **config);

/// Files and overrides, read and merged once: configurations are made of it by overrides of their
/// own, without a file being read.
typedef struct bb_config_base bb_config_base;

/// Reads and merges; nothing is bound. Errors and ownership as bb_config_load.
BB_CHECKED bb_status bb_config_base_read(const bb_config_request *request, bb_problems *problems,
                                         bb_config_base **out);
void bb_config_base_destroy(bb_config_base **base);

/// Takes a key of the outermost level out, NULL where it is absent; the node lives as long as the
/// base.
struct bb_node;
struct bb_node *bb_config_base_extract(bb_config_base *base, const char *key);

const bb_schema *bb_config_base_schema(const bb_config_base *base);
/// Files read: the one asked for first, its bases, then tables that records were read from.
bb_index bb_config_base_file_count(const bb_config_base *base);
bb_config_file bb_config_base_file(const bb_config_base *base, bb_index file);

/// A configuration of the base and `overrides` [count]. It borrows the base. Errors: BB_INVALID
/// with `problems`, BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_config_base_bind(const bb_config_base *base, const char *const *overrides,
                                         bb_index count, bb_problems *problems, bb_config **out);

/// The bound struct, of the type that the schema describes; lives as long as the configuration.
const void *bb_config_study(const bb_config *config);
const bb_schema *bb_config_schema(const bb_config *config);

/// Files read, the one asked for first, then its bases; names as typed or joined, texts as read.
bb_index bb_config_file_count(const bb_config *config);
bb_config_file bb_config_file_at(const bb_config *config, bb_index file);

/// A table that records were read from (record_table.h): name as joined, text as read, and the
/// digest of its bytes. Those of the files come first, then those that overrides name.
typedef struct bb_config_table {
    const char *name, *text, *digest;
} bb_config_table;

bb_index bb_config_table_count(const bb_config *config);
bb_config_table bb_config_table_at(const bb_config *config, bb_index table);

/// Where a key path was written, or the nearest map around it.
bb_place bb_config_place(const bb_config *config, const char *path);

/// The whole configuration as YAML, defaults included. Owner: the caller (bb_text_release).
BB_CHECKED bb_status bb_config_resolved(const bb_config *config, bb_text *out);

/// A commented configuration with every key, from the tables: values from `starter` (YAML that has
/// the required keys) and defaults. Errors: BB_INTERNAL (the starter does not fit its tables),
/// BB_MEMORY.
BB_CHECKED bb_status bb_config_template(const bb_schema *schema, const char *starter, bb_text *out);

/// Visits the files that a study names: calls `visit` for every key of kind BB_KEY_PATH that is
/// set, in the order of the tables, with its path as an override has it ("response.file",
/// "pipelines.1.policy.table") and its value. Errors: the first of `visit`, BB_MEMORY.
BB_CHECKED bb_status bb_config_visit_files(const bb_schema *schema, const void *object,
                                           bb_status (*visit)(void *context, const char *key,
                                                              const char *file),
                                           void *context);

#endif
