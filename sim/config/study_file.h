// SPDX-License-Identifier: Apache-2.0
//
// Which file a name of a study stands for: the user's own first, then one that is shipped.
//
// `ao/quick` is the first there is of `ao/quick`, `ao/quick.yaml`, `configs/ao/quick`,
// `configs/ao/quick.yaml` in the working folder and the last two in the share folder
// (shipped_folder.h). Names that begin with '/' or '.' are of the user's alone.
#ifndef BB_SIM_CONFIG_STUDY_FILE_H
#define BB_SIM_CONFIG_STUDY_FILE_H

#include "core/schema.h"
#include "core/text.h"
#include "sim/config/shipped_folder.h"

#include <stdbool.h>

/// The file of a study; "-" is standard input and stays. Errors: BB_IO with the nearest names,
/// BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_study_file_find(const char *name, char **out);

/// The base `name` of a study in `folder` (with a '/' at its end), or a shipped one, which does not
/// depend on the working folder. Errors and ownership as bb_study_file_find.
BB_CHECKED bb_status bb_study_file_find_base(const char *folder, const char *name, char **out);

/// Names of the files in the folders `configs` that bb_study_file_find looks through, "ao/quick";
/// `configs/kernels`, which has records of variants, is left out.
BB_CHECKED bb_status bb_study_file_list(bb_shipped_names *out);

/// Whether a file is a table of machines (sim/report/machine_table.h), whatever its name: by a line
/// that begins with the key `machines:`, which no study has. Of what is no file of text: false.
bool bb_study_file_has_machines(const char *path);

/// Appends the text of a study as it can stand in any folder: files that it names, its base and its
/// tables, by their absolute paths; all else to the byte. Errors: BB_IO, BB_INVALID (no YAML; a
/// table of machines), BB_MEMORY.
BB_CHECKED bb_status bb_study_file_copy(const char *path, bb_text *out);

/// Appends the text of a study with keys of earlier versions (bb_binding_renamed) moved to their
/// successors, and to `changes` a line for each group that was rewritten, whose comments go; all
/// else to the byte. Names of keys in axes of a sweep stay, and so does a base. A `file` without a
/// text is read from disk. `schema` is the experiment's, `search` that of sweep.search. Errors:
/// BB_IO, BB_INVALID (no YAML, a key beside its successor), BB_MEMORY.
struct bb_config_file;
BB_CHECKED bb_status bb_study_file_upgrade(const struct bb_config_file *file,
                                           const bb_schema *schema, const bb_schema *search,
                                           bb_text *out, bb_text *changes);

#endif
