// SPDX-License-Identifier: Apache-2.0
//
// One field and axis of a pass through the response rows of a wafer study: exact rows, encoded
// rows, products and scores of all tasks (wafer_work.h).
#ifndef BB_SIM_WAFER_WAFER_FIELD_H
#define BB_SIM_WAFER_WAFER_FIELD_H

#include "sim/wafer/wafer_work.h"

/// Computation of a pipeline's displacements in a field along an axis, on one wafer.
typedef struct bb_field_job {
    const bb_product_pipeline *pipeline;
    bb_wafer_evaluation *evaluation; ///< results of the draw; NULL: encode only
    bb_index field, first_point;
    int axis;
    bb_index matrix;                  ///< index over axes and fields
    bb_index wafer;                   ///< index over the scored wafers
    bb_index draw;                    ///< 0: unperturbed
    bool exact;                       ///< as bb_wafer_task.exact
    const bb_coding_factors *factors; ///< random factors of the draw
} bb_field_job;

/// Encoded rows of a draw of a pipeline, ready for multiplication.
typedef struct bb_field_coded {
    bb_coded_matrix *matrix, *unpacked; ///< rows on the host; `unpacked` if a device needs that
                                        ///< form
    bb_coded_operator *operation;
} bb_field_coded;

/// Rows of one field and axis that are encoded for pipelines: exact, or of a narrow stage. They are
/// on the GPU of the pass if it has one, and on the host if any pipeline encodes there.
typedef struct bb_field_rows {
    bool there;               ///< true if the rows are on the pass's GPU
    bb_wafer_row_source made; ///< rows generated on the host
    bb_coded_matrix *matrix;  ///< rows in the reference's fp64 on the host; NULL until made
    bb_view copy;             ///< host copy of the GPU's rows; empty until needed
    bb_matrix_source copied;
    double range;             ///< maximum - minimum of the values
    bb_field_coded reference; ///< encoded rows of the reference, kept for tasks that use its
                              ///< product
    bb_stage_formats formats; ///< formats of narrow rows
} bb_field_rows;

/// True if a job computes the truth.
bool bb_wafer_field_is_truth(const bb_wafer_pass *pass, const bb_field_job *work);

/// Generates or opens the rows. Zero-initialise; release with bb_wafer_field_release_rows. Errors:
/// those of the generator and of its GPU.
BB_CHECKED bb_status bb_wafer_field_open_rows(const bb_wafer_pass *pass, const bb_field_job *work,
                                              bb_field_rows *out);
void bb_wafer_field_release_rows(bb_field_rows *rows);

/// Creates the exact rows in the reference's fp64 on the host, in `rows->matrix`. Errors: those of
/// bb_product_coding_encode.
BB_CHECKED bb_status bb_wafer_field_download_matrix(const bb_wafer_pass *pass,
                                                    const bb_field_job *work, bb_field_rows *rows);

/// Creates the rows of a pipeline with a narrow stage `rows`, in fp64 words on the host; reuses
/// rows of the same formats in `out`. Errors: from bb_narrow_rows_open.
BB_CHECKED bb_status bb_wafer_field_narrow_rows(bb_wafer_pass *pass, const bb_field_job *work,
                                                bb_field_rows *exact, bb_field_rows *out);

/// Encodes rows for a draw of a pipeline. `factors` receives the draw's random factors, `range` the
/// span of the rows. Errors: from bb_product_coding_encode and bb_product_coding_encode_there.
BB_CHECKED bb_status bb_wafer_field_encode(bb_wafer_pass *pass, const bb_field_job *work,
                                           bb_field_rows *rows, double *range,
                                           bb_coding_factors *factors, bb_field_coded *out);

/// Creates the operator of a matrix encoded on the host. Errors: those of
/// bb_product_devices_operator.
BB_CHECKED bb_status bb_wafer_field_make_operator(const bb_wafer_pass *pass,
                                                  const bb_field_job *work, bb_field_coded *coded);
void bb_wafer_field_release_coded(bb_field_coded *coded);

/// Computes `count` tasks of a field and axis. `work` belongs to the reference; it has no
/// evaluation if the reference is already known. Errors: those above and of products.
BB_CHECKED bb_status bb_wafer_field_run(bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                        bb_index count, bb_field_job work);

/// Sums of an evaluation over fields.
typedef struct bb_field_part {
    bb_outcome outcome;
    double flops, solve_seconds;
    double live_values;               ///< NaN: the pipeline misses its tolerance
    bb_coding_report coding;          ///< losses on the axis
    bb_certificate_tally certificate; ///< tally of the axis
    double *squares;                  ///< [2 wafer_count] squared errors and norms of the wafers
} bb_field_part;

/// Evaluations of some tasks, with those of their draws. Zero-initialise.
typedef struct bb_field_parts {
    bb_index count;
    bb_wafer_evaluation **items; ///< [count]
    bb_field_part *totals;       ///< [count] sums before the current field
    bb_field_part *parts;        ///< [part_count][count] contributions of fields not added yet
    bb_index part_count;         ///< largest number of such fields at a time
} bb_field_parts;

/// Lists the evaluations and allocates the parts of `together` fields. Errors: BB_MEMORY. Release
/// with bb_field_parts_release.
BB_CHECKED bb_status bb_field_parts_list(const bb_wafer_task *tasks, bb_index count,
                                         bb_index together, bb_field_parts *out);
void bb_field_parts_release(bb_field_parts *list);

/// True if all evaluations compute on a GPU.
bool bb_field_parts_are_cuda(const bb_field_parts *list);

/// Computes the contribution of a field and axis separately from the totals, which are restored on
/// return. Errors: from bb_wafer_field_run.
BB_CHECKED bb_status bb_field_parts_run(bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                        bb_index count, bb_field_job work, bb_field_parts *list);

/// Adds the contribution of a field and axis, computed by process `owner`, to all evaluations.
/// Collective. Errors: BB_MEMORY, errors of the team.
BB_CHECKED bb_status bb_field_parts_add(const bb_wafer_pass *pass, const bb_field_job *work,
                                        int owner, bb_field_parts *list);

#endif
