// SPDX-License-Identifier: Apache-2.0
//
// File search for the name of a study: the user's files first, then shipped ones.
//
// `ao/quick` is the first existing file of `ao/quick`, `ao/quick.yaml`, `configs/ao/quick`,
// `configs/ao/quick.yaml` in the working folder and the last two in the share folder
// (shipped_folder.h). Names that start with '/' or '.' refer to the user's files only.
#ifndef BB_SIM_CONFIG_STUDY_FILE_H
#define BB_SIM_CONFIG_STUDY_FILE_H

#include "core/schema.h"
#include "core/text.h"
#include "sim/config/shipped_folder.h"

#include <stdbool.h>

/// Path of the file of a study; "-" (standard input) is returned unchanged. Errors: BB_IO with the
/// nearest names, BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_study_file_find(const char *name, char **out);

/// Path of the base `name` of a study in `folder` (with a trailing '/'), or of a shipped study;
/// independent of the working folder. Errors and ownership as bb_study_file_find.
BB_CHECKED bb_status bb_study_file_find_base(const char *folder, const char *name, char **out);

/// Names of the files in the folders `configs` searched by bb_study_file_find, such as "ao/quick";
/// `configs/kernels`, which contains records of variants, is excluded.
BB_CHECKED bb_status bb_study_file_list(bb_shipped_names *out);

/// True if a file is a table of machines, by a line that starts with the key `machines:`, which no
/// study has. False for files that are not text.
bool bb_study_file_has_machines(const char *path);

/// Appends the text of a study in a form that is valid in any folder: its files, base and tables
/// have absolute paths; all other bytes are unchanged. Errors: BB_IO, BB_INVALID (no YAML; a table
/// of machines), BB_MEMORY.
BB_CHECKED bb_status bb_study_file_copy(const char *path, bb_text *out);

/// Appends the text of a study with keys of earlier versions (bb_binding_renamed) moved to their
/// successors, and to `changes` a line for each rewritten group. Rewritten groups lose their
/// comments; all other bytes are unchanged. Names of keys in axes of a sweep and bases are not
/// changed. A `file` without text is read from disk. `schema` is the experiment's, `search` that of
/// sweep.search. Errors: BB_IO, BB_INVALID (no YAML, a key together with its successor), BB_MEMORY.
struct bb_config_file;
BB_CHECKED bb_status bb_study_file_upgrade(const struct bb_config_file *file,
                                           const bb_schema *schema, const bb_schema *search,
                                           bb_text *out, bb_text *changes);

#endif
