// SPDX-License-Identifier: Apache-2.0
//
// Results of a run in memory: datasets of doubles or texts over named axes, in groups, with
// attributes. The same structure is used by the driver, the HDF5 file, the table on the terminal
// and the reader.
//
// Paths are "name" (in the root) or "group/name"; groups are created with their first entry. An
// axis is a one-dimensional coordinate with its own name. A dataset names its axes, slowest first,
// as "pipeline, target"; each is looked up in the dataset's group, then in the root, because
// readers search coordinates only there. Missing numbers are NaN. Data are copied.
#ifndef BB_SIM_OUTPUT_RESULTS_H
#define BB_SIM_OUTPUT_RESULTS_H

#include "core/digest.h"
#include "core/matrix_source.h"
#include "core/text.h"
#include "sim/input/matrix_metadata.h"

#include <stdbool.h>

enum { BB_RESULTS_RANK = 8 };

typedef struct bb_results bb_results;

/// Dataset, for readers of the results; owned by the results.
typedef struct bb_dataset {
    char *group; ///< "" for the root
    char *name;
    char *unit; ///< "" for texts
    char *long_name;
    bool is_axis; ///< axis: a coordinate with its own name
    bool is_text;
    bool measured;      ///< depends on the machine and the time: a time, an energy
    bool is_coordinate; ///< gives the positions of items of other datasets; not an axis
    int rank;           ///< 0 for a single value
    bb_index shape[BB_RESULTS_RANK];
    char *axes[BB_RESULTS_RANK];
    bb_index count;  ///< number of items: product of the shape
    double *numbers; ///< [shape], NULL for texts
    char **texts;    ///< [shape], NULL for numbers
} bb_dataset;

/// Attribute of the root (group ""), of a group or of a dataset (group "results/strehl").
typedef struct bb_attribute {
    char *owner;
    char *name;
    char *text; ///< NULL for a number
    double number;
} bb_attribute;

/// Storage of an operator: zfp with fixed accuracy, a row as the mesh of its columns, or
/// uncompressed if tolerance is 0.
typedef struct bb_operator_storage {
    double tolerance;      ///< absolute error of a value, in the operator's unit
    bb_index mesh_columns; ///< divides the columns
} bb_operator_storage;

/// Matrix written to the file in full, as /operators/<name>, panel by panel from its source.
typedef struct bb_operator {
    char *name;
    char *long_name;
    const bb_matrix_source *source; ///< borrowed
    bb_operator_storage storage;
    bb_matrix_metadata metadata;
} bb_operator;

BB_CHECKED bb_status bb_results_create(bb_results **out);
void bb_results_destroy(bb_results **results);

/// Properties of a new dataset.
typedef struct bb_results_form {
    const char *unit; ///< "1" for a pure number, "s" for seconds, which readers interpret as time
                      ///< spans; NULL: texts
    const char *long_name;
    const char *axes; ///< "pipeline, target"; "" for a single value; NULL: an axis
    bb_index count;   ///< length of an axis, at least 1
    bool measured;    ///< measured, not computed: excluded from the reproducible digest
} bb_results_form;

/// Adds a dataset of doubles or texts, `data` row-major over the axes: NULL for all NaN or "", like
/// a NULL text. Errors: BB_INVALID (a duplicate name, a missing axis, characters other than
/// letters, digits and _), BB_MEMORY.
BB_CHECKED bb_status bb_results_add(bb_results *results, const char *path,
                                    const bb_results_form *form, const void *data);

/// Marks an existing dataset of rank 1 or more as a coordinate: datasets of its group with all of
/// its axes name it in their attribute `coordinates` (CF conventions, section 5), which gives the
/// positions of their items. A coordinate in the root applies to all groups. Errors: BB_INVALID (no
/// such dataset, an axis, a single value).
BB_CHECKED bb_status bb_results_coordinate(bb_results *results, const char *path);

/// Removes a dataset, so that another may have its name; its attributes remain. Errors: BB_INVALID
/// (no such dataset, an axis of other datasets).
BB_CHECKED bb_status bb_results_drop(bb_results *results, const char *path);

/// Gives datasets of earlier versions their current names (former_name.h), in place. Errors:
/// BB_INVALID (a dataset has that name already), BB_MEMORY.
BB_CHECKED bb_status bb_results_update_names(bb_results *results);

/// Adds an attribute of the root ("") or of a group ("provenance"); a second one of the same name
/// replaces it.
BB_CHECKED bb_status bb_results_note(bb_results *results, const char *group, const char *name,
                                     const char *text);
BB_CHECKED bb_status bb_results_note_number(bb_results *results, const char *group,
                                            const char *name, double number);

/// Adds an operator with a name of letters, digits and _. Its source is read when the file is
/// written; pass the objects that it needs to bb_results_own. Errors: BB_INVALID (a duplicate
/// name), BB_MEMORY.
BB_CHECKED bb_status bb_results_operator(bb_results *results, const char *name,
                                         const char *long_name, const bb_matrix_source *source);

/// Adds an operator as above, with the given storage. Errors: also BB_INVALID (mesh columns that do
/// not divide the columns).
BB_CHECKED bb_status bb_results_stored_operator(bb_results *results, const char *name,
                                                const char *long_name,
                                                const bb_matrix_source *source,
                                                bb_operator_storage storage);

/// Sets the metadata of the operator added last.
void bb_results_operator_metadata(bb_results *results, const bb_matrix_metadata *metadata);

/// Transfers ownership of an object used by operators. `release` is called when the results are
/// destroyed, in reverse order, or at once on failure. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_results_own(bb_results *results, void *object, void (*release)(void *));

bb_index bb_results_operator_count(const bb_results *results);
const bb_operator *bb_results_operator_at(const bb_results *results, bb_index index);

/// Dataset by path, NULL if absent; valid until the results change.
const bb_dataset *bb_results_find(const bb_results *results, const char *path);

/// Dataset by group and name, NULL if absent.
const bb_dataset *bb_results_in(const bb_results *results, const char *group, const char *name);

/// Text of an attribute; NULL if absent or a number.
const char *bb_results_note_text(const bb_results *results, const char *group, const char *name);

bb_index bb_results_count(const bb_results *results);
const bb_dataset *bb_results_dataset(const bb_results *results, bb_index index);
bb_index bb_results_note_count(const bb_results *results);
const bb_attribute *bb_results_attribute(const bb_results *results, bb_index index);

/// XXH3-128 of names, shapes and values of /results as 32 hexadecimal digits. With
/// `reproducible_only`, measured datasets are excluded: the same binary, seed and device give the
/// same digest.
BB_CHECKED bb_status bb_results_digest(const bb_results *results, bool reproducible_only,
                                       char out[BB_DIGEST_BYTES]);

/// Name of the sheet of `group` next to the result file `path`: outputs/a.h5, probes ->
/// outputs/a-probes.csv. Errors: BB_MEMORY. The caller owns `*out`.
BB_CHECKED bb_status bb_results_sheet_path(const char *path, const char *group, char **out);

/// Writes the group's axis and its numeric datasets over that axis as CSV, one column each, with
/// the axis first. Numbers read back to the same bits; the axis has 12 digits or as many as
/// distinguish its steps; absent values are nan. Writes nothing if the results have no such group.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_results_write_sheet(const bb_results *results, const char *group,
                                            bb_text *out);

#endif
