// SPDX-License-Identifier: Apache-2.0
//
// Configuration: a YAML file, the files on which it is based (`base: other.yaml`), and key=value
// overrides, bound to the struct of its experiment.
//
// A base is a file relative to the folder of the file that names it, else the name of a shipped
// study (`base: ao/quick`). The base is read first and the file merged onto it: maps key by key;
// lists and values are replaced. Overrides follow in order, each `path=value` with list items by
// number or by their name (`pipelines.1.draws=2`, `pipelines.hp2.draws=2`) and the value in YAML.
// `seed: random` is replaced by a number drawn at this point and recorded in the resolved copy.
#ifndef BB_SIM_CONFIG_CONFIG_H
#define BB_SIM_CONFIG_CONFIG_H

#include "core/problem.h"
#include "core/schema.h"

typedef struct bb_config bb_config;

/// File read earlier.
typedef struct bb_config_file {
    const char *name, *text;
} bb_config_file;

/// Arguments of a load. Everything is borrowed, during the call only.
typedef struct bb_config_request {
    const char *path;             ///< main file
    const char *const *overrides; ///< [override_count] "key.path=value"
    bb_index override_count;
    const bb_schema *const *schemas; ///< one for each experiment; selected by `experiment:`
    bb_index schema_count;
    const bb_config_file *files; ///< [file_count] used instead of the files of these names on disk
    bb_index file_count;         ///< 0: all files are read from disk
    bool ignores_folders; ///< ignores keys of files, but not of overrides, that name output folders
                          ///< (writes_folder)
    /// Called with the study's `device:` before its keys are bound, so that an absent device is
    /// reported alone; NULL: not called. Its error ends the call.
    bb_status (*begin)(const char *device);
} bb_config_request;

/// Reads, merges and binds. All problems of the content are added to `problems`, which the caller
/// releases, and give BB_INVALID. Errors: BB_INVALID, BB_IO (the file or a base cannot be read),
/// BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_config_load(const bb_config_request *request, bb_problems *problems,
                                    bb_config **out);
void bb_config_destroy(bb_config **config);

/// Files and overrides read and merged once. Configurations are then made from them with further
/// overrides, without reading a file.
typedef struct bb_config_base bb_config_base;

/// Reads and merges; nothing is bound. Errors and ownership as for bb_config_load.
BB_CHECKED bb_status bb_config_base_read(const bb_config_request *request, bb_problems *problems,
                                         bb_config_base **out);
void bb_config_base_destroy(bb_config_base **base);

/// Removes a top-level key and returns its value, NULL if absent; the node lives as long as the
/// base.
struct bb_node;
struct bb_node *bb_config_base_extract(bb_config_base *base, const char *key);

const bb_schema *bb_config_base_schema(const bb_config_base *base);
/// Files read: the main file, its bases, then tables of records.
bb_index bb_config_base_file_count(const bb_config_base *base);
bb_config_file bb_config_base_file(const bb_config_base *base, bb_index file);

/// Makes a configuration from the base and `overrides` [count]. It borrows the base. Errors:
/// BB_INVALID with `problems`, BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_config_base_bind(const bb_config_base *base, const char *const *overrides,
                                         bb_index count, bb_problems *problems, bb_config **out);

/// Bound struct of the type described by the schema; lives as long as the configuration.
const void *bb_config_study(const bb_config *config);
const bb_schema *bb_config_schema(const bb_config *config);

/// Files read: the main file, then its bases; names as typed or joined, texts as read.
bb_index bb_config_file_count(const bb_config *config);
bb_config_file bb_config_file_at(const bb_config *config, bb_index file);

/// Table of records that was read (record_table.h): name as joined, text as read, and digest of its
/// bytes. Tables named by files come first, then those named by overrides.
typedef struct bb_config_table {
    const char *name, *text, *digest;
} bb_config_table;

bb_index bb_config_table_count(const bb_config *config);
bb_config_table bb_config_table_at(const bb_config *config, bb_index table);

/// Place where a key path was written, or that of the nearest enclosing map.
bb_place bb_config_place(const bb_config *config, const char *path);

/// Whole configuration as YAML, including defaults. The caller owns it (bb_text_release).
BB_CHECKED bb_status bb_config_resolved(const bb_config *config, bb_text *out);

/// Commented configuration with every key, generated from the schema tables: values of `starter`
/// (YAML with the required keys) and defaults. Errors: BB_INTERNAL (invalid starter), BB_MEMORY.
BB_CHECKED bb_status bb_config_template(const bb_schema *schema, const char *starter, bb_text *out);

/// Visits the files named by a study: calls `visit` for every set key of kind BB_KEY_PATH, in the
/// order of the tables, with its path as in an override ("response.file",
/// "pipelines.1.policy.table") and its value. Errors: the first of `visit`, BB_MEMORY.
BB_CHECKED bb_status bb_config_visit_files(const bb_schema *schema, const void *object,
                                           bb_status (*visit)(void *context, const char *key,
                                                              const char *file),
                                           void *context);

#endif
