// SPDX-License-Identifier: Apache-2.0
//
// The results of a run in memory: datasets of doubles or texts over named axes, in groups, with
// attributes. One shape of data from the driver to the HDF5 file, the table on the terminal and
// back.
//
// Paths are "name" (in the root) or "group/name"; groups come into being with their first entry. An
// axis is a one-dimensional coordinate of its own name. A dataset names its axes, slowest first, as
// "pipeline, target"; each is looked up in the dataset's own group, then in the root, because
// readers find coordinates nowhere else. Numbers that were not given are NaN. Data are copied in.
#ifndef BB_SIM_OUTPUT_RESULTS_H
#define BB_SIM_OUTPUT_RESULTS_H

#include "core/digest.h"
#include "core/matrix_source.h"
#include "core/text.h"
#include "sim/input/matrix_metadata.h"

#include <stdbool.h>

enum { BB_RESULTS_RANK = 8 };

typedef struct bb_results bb_results;

/// One dataset, for readers of the results; everything belongs to the results.
typedef struct bb_dataset {
    char *group; ///< "" for the root
    char *name;
    char *unit; ///< "" for texts
    char *long_name;
    bool is_axis; ///< an axis: a coordinate of its own name
    bool is_text;
    bool measured;      ///< depends on the machine and the moment: a time, an energy
    bool is_coordinate; ///< says where items of other datasets stand; not an axis
    int rank;           ///< 0 for a single value
    bb_index shape[BB_RESULTS_RANK];
    char *axes[BB_RESULTS_RANK];
    bb_index count;  ///< items: the product of the shape
    double *numbers; ///< [shape], NULL for texts
    char **texts;    ///< [shape], NULL for numbers
} bb_dataset;

/// An attribute of the root (group ""), of a group or of a dataset (group "results/strehl").
typedef struct bb_attribute {
    char *owner;
    char *name;
    char *text; ///< NULL for a number
    double number;
} bb_attribute;

/// How an operator is stored: zfp at fixed accuracy, a row as the mesh that its columns are, or,
/// with a tolerance of 0, as it is.
typedef struct bb_operator_storage {
    double tolerance;      ///< of a value, in the operator's unit
    bb_index mesh_columns; ///< divides the columns
} bb_operator_storage;

/// A matrix that goes into the file whole, as /operators/<name>, panel by panel from its source.
typedef struct bb_operator {
    char *name;
    char *long_name;
    const bb_matrix_source *source; ///< borrowed
    bb_operator_storage storage;
    bb_matrix_metadata metadata;
} bb_operator;

BB_CHECKED bb_status bb_results_create(bb_results **out);
void bb_results_destroy(bb_results **results);

/// What a dataset is added as.
typedef struct bb_results_form {
    const char *unit; ///< "1" a pure number, "s" seconds, which readers take for spans; NULL: texts
    const char *long_name;
    const char *axes; ///< "pipeline, target"; "" a single value; NULL: it is an axis itself
    bb_index count;   ///< of an axis, at least 1
    bool measured;    ///< rather than computed: it stays out of the reproducible digest
} bb_results_form;

/// Adds a dataset of doubles or texts, `data` row-major over the axes: NULL for all NaN or "", as a
/// NULL text is. Errors: BB_INVALID (a name that is taken, an axis that is missing, a name with
/// characters beyond letters, digits and _), BB_MEMORY.
BB_CHECKED bb_status bb_results_add(bb_results *results, const char *path,
                                    const bb_results_form *form, const void *data);

/// Marks a dataset that stands, of rank 1 or more, as a coordinate: those of its group that have
/// all of its axes name it in their attribute `coordinates` (CF conventions, section 5), by which
/// readers know where items stand. One of the root is a coordinate of all groups. Errors:
/// BB_INVALID (no such dataset, an axis, a single value).
BB_CHECKED bb_status bb_results_coordinate(bb_results *results, const char *path);

/// Takes a dataset out again, for another of its name; its attributes stay. Errors: BB_INVALID (no
/// such dataset, an axis that others have).
BB_CHECKED bb_status bb_results_drop(bb_results *results, const char *path);

/// Attributes of the root ("") or of a group ("provenance"); a second one of a name replaces it.
BB_CHECKED bb_status bb_results_note(bb_results *results, const char *group, const char *name,
                                     const char *text);
BB_CHECKED bb_status bb_results_note_number(bb_results *results, const char *group,
                                            const char *name, double number);

/// Adds an operator by a name of letters, digits and _. Its source is read when the file is
/// written: hand what it needs to bb_results_own. Errors: BB_INVALID (a name that is taken),
/// BB_MEMORY.
BB_CHECKED bb_status bb_results_operator(bb_results *results, const char *name,
                                         const char *long_name, const bb_matrix_source *source);

/// The same, stored as said. Errors: also BB_INVALID (a mesh that does not divide the columns).
BB_CHECKED bb_status bb_results_stored_operator(bb_results *results, const char *name,
                                                const char *long_name,
                                                const bb_matrix_source *source,
                                                bb_operator_storage storage);

/// Says what the operator that was added last was made for.
void bb_results_operator_metadata(bb_results *results, const bb_matrix_metadata *metadata);

/// Keeps an object alive for the operators and calls `release` with it when the results are
/// destroyed, last come first. On failure the object is released at once. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_results_own(bb_results *results, void *object, void (*release)(void *));

bb_index bb_results_operator_count(const bb_results *results);
const bb_operator *bb_results_operator_at(const bb_results *results, bb_index index);

/// Dataset by path, NULL where absent; valid until the results change.
const bb_dataset *bb_results_find(const bb_results *results, const char *path);

/// The same by group and name.
const bb_dataset *bb_results_in(const bb_results *results, const char *group, const char *name);

/// Text of an attribute, NULL where absent or a number.
const char *bb_results_note_text(const bb_results *results, const char *group, const char *name);

bb_index bb_results_count(const bb_results *results);
const bb_dataset *bb_results_dataset(const bb_results *results, bb_index index);
bb_index bb_results_note_count(const bb_results *results);
const bb_attribute *bb_results_attribute(const bb_results *results, bb_index index);

/// XXH3-128 over names, shapes and values of /results as 32 hexadecimal digits. With
/// `reproducible_only`, measured datasets stay out: same binary, seed and device, same digest.
BB_CHECKED bb_status bb_results_digest(const bb_results *results, bool reproducible_only,
                                       char out[BB_DIGEST_BYTES]);

/// Name of the sheet of `group` beside the result file `path`: outputs/a.h5, probes ->
/// outputs/a-probes.csv. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_results_sheet_path(const char *path, const char *group, char **out);

/// Writes the group's axis and its datasets of numbers over that axis as CSV, a column a dataset,
/// named like it, the axis first. Numbers read back to the same bits, the axis has 12 digits or as
/// many as distinguish its steps; nan where there is no value. Nothing is added where the results
/// have no such group. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_results_write_sheet(const bb_results *results, const char *group,
                                            bb_text *out);

#endif
