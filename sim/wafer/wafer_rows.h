// SPDX-License-Identifier: Apache-2.0
//
// Response rows of one field and axis for the wafer driver, from a generator or from the user's
// file.
#ifndef BB_SIM_WAFER_WAFER_ROWS_H
#define BB_SIM_WAFER_WAFER_ROWS_H

#include "physics/wafer/wafer_problem.h"
#include "sim/input/matrix_file.h"
#include "sim/wafer/wafer_study.h"

/// Source of the rows of one field and axis. Do not move it while `source`, which points into it,
/// is used.
typedef struct bb_wafer_row_source {
    const bb_matrix_source *source; ///< [slit field_points][input_count], m/K
    bb_index batch;                 ///< read this many rows at once, starting at a multiple of it
    bb_wafer_rows physics;
    bb_matrix_file *file;  ///< open file of generator file, else NULL
    bb_view kept_values;   ///< rows cached from an earlier study (core/store.h)
    bb_matrix_source kept; ///< source of the cached rows
} bb_wafer_row_source;

/// Problems with rows in single precision, by operand format; created on first use.
/// Zero-initialise.
typedef struct bb_narrow_problems {
    bb_wafer_problem *items[BB_FORMAT_COUNT];
} bb_narrow_problems;

void bb_narrow_problems_release(bb_narrow_problems *problems);

/// Rows in the formats of a pipeline's stage `rows`, in fp64 words. Do not move it while `source`
/// is used.
typedef struct bb_narrow_rows {
    bb_matrix_source source; ///< read whole rows
    bb_index batch;          ///< rows to read at once, starting at a multiple of it
    bb_wafer_rows physics;
    const bb_coded_matrix *exact; ///< input of fp64 arithmetic, else NULL; borrowed
    bb_format storage;
} bb_narrow_rows;

/// True if rows of a stage are computed in its arithmetic; otherwise fp64 rows are rounded to its
/// storage.
bool bb_narrow_rows_are_computed(const bb_wafer_problem *problem, const bb_stage_formats *formats);

/// Opens rows of a narrow stage. `exact` are the rows in fp64; NULL if rows are computed. fp16 is
/// scaled by a power of two per row. Rows of generator file are rounded, not computed. Errors:
/// those of bb_wafer_problem_narrow and bb_wafer_problem_rows.
BB_CHECKED bb_status bb_narrow_rows_open(const bb_wafer_problem *problem,
                                         const bb_stage_formats *formats, bb_index index, int axis,
                                         const bb_coded_matrix *exact, bb_narrow_problems *problems,
                                         bb_narrow_rows *out);

enum { BB_WAFER_OPERATOR_NAME = 32 };

/// Name of an operator of a field, for example "C_x_40".
void bb_wafer_rows_name(int axis, bb_index field, char out[BB_WAFER_OPERATOR_NAME]);

/// Opens the rows of axis `axis` for scored field `index`. In a process with many studies, rows of
/// an earlier study are reused if no key that affects them differs. Errors: the generator's,
/// bb_matrix_file_open's, BB_INVALID (shape of a matrix in the file). Release with
/// bb_wafer_row_source_release.
BB_CHECKED bb_status bb_wafer_row_source_open(const bb_wafer_study *study,
                                              const bb_wafer_problem *problem, bb_index index,
                                              int axis, bb_wafer_row_source *out);
void bb_wafer_row_source_release(bb_wafer_row_source *row_source);

/// Describes the rows of scored field `index`: grid S, slit points, and as YAML the keys that
/// determine rows of any generator (mechanics of the wafer, stiffness of clamp and burls, the field
/// and its position). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_rows_describe(const bb_wafer_study *study,
                                            const bb_wafer_problem *problem, bb_index index,
                                            bb_matrix_metadata *out);

/// Checks every dataset from which a run reads rows, if the study's generator is file: names,
/// shapes, units and metadata, without values and warnings. Errors: as bb_wafer_row_source_open.
BB_CHECKED bb_status bb_wafer_rows_check(const bb_wafer_study *study);

#endif
