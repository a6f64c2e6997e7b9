// SPDX-License-Identifier: Apache-2.0
//
// One field and axis of a pass through the response rows of a wafer study: exact rows, coded rows,
// products and scores of all tasks (wafer_work.h).
#ifndef BB_SIM_WAFER_WAFER_FIELD_H
#define BB_SIM_WAFER_WAFER_FIELD_H

#include "sim/wafer/wafer_work.h"

/// A computation: a pipeline's displacements of a field along an axis, on one wafer.
typedef struct bb_field_job {
    const bb_product_pipeline *pipeline;
    bb_wafer_evaluation *evaluation; ///< of the draw; NULL of a reference that is encoded alone
    bb_index field, first_point;
    int axis;
    bb_index matrix;                  ///< of the axes and fields
    bb_index wafer;                   ///< of the scored ones
    bb_index draw;                    ///< 0: the pipeline as it is
    bool exact;                       ///< bb_wafer_task.exact
    const bb_coding_factors *factors; ///< of the draw
} bb_field_job;

/// Rows of a draw of a pipeline in its storage, ready to be multiplied.
typedef struct bb_field_coded {
    bb_coded_matrix *matrix, *unpacked; ///< on the host; `unpacked` where a device wants that
    bb_coded_operator *operation;
} bb_field_coded;

/// Rows of one field and axis that pipelines are coded from: exact, or of a narrow
/// stage. On the GPU where the pass has one, and on the host as far as something is coded there.
typedef struct bb_field_rows {
    bool there;               ///< in the pass's GPU
    bb_wafer_row_source made; ///< by the host
    bb_coded_matrix *matrix;  ///< in the reference's fp64 on the host; NULL: not made yet
    bb_view copy;             ///< of the GPU's; no data until something needs it
    bb_matrix_source copied;
    double range;             ///< maximum - minimum of the values
    bb_field_coded reference; ///< kept for tasks whose product is the reference's
    bb_stage_formats formats; ///< of narrow rows
} bb_field_rows;

/// Whether a job makes the truth.
bool bb_wafer_field_is_truth(const bb_wafer_pass *pass, const bb_field_job *work);

/// Makes or opens the rows. Zero-initialise; release with bb_wafer_field_release_rows. Errors:
/// those of the generator and of its GPU.
BB_CHECKED bb_status bb_wafer_field_open_rows(const bb_wafer_pass *pass, const bb_field_job *work,
                                              bb_field_rows *out);
void bb_wafer_field_release_rows(bb_field_rows *rows);

/// The exact rows in the reference's fp64 on the host, into `rows->matrix`. Errors: those of
/// bb_product_coding_encode.
BB_CHECKED bb_status bb_wafer_field_download_matrix(const bb_wafer_pass *pass,
                                                    const bb_field_job *work, bb_field_rows *rows);

/// Rows of a pipeline whose stage `rows` is narrow, in fp64 words on the host. Rows of the same
/// formats in `out` stay. Errors: those of bb_narrow_rows_open.
BB_CHECKED bb_status bb_wafer_field_narrow_rows(bb_wafer_pass *pass, const bb_field_job *work,
                                                bb_field_rows *exact, bb_field_rows *out);

/// Codes rows for a draw of a pipeline, whose factors go to `factors`; `range` is what they span.
/// Errors: those of bb_product_coding_encode and bb_product_coding_encode_there.
BB_CHECKED bb_status bb_wafer_field_encode(bb_wafer_pass *pass, const bb_field_job *work,
                                           bb_field_rows *rows, double *range,
                                           bb_coding_factors *factors, bb_field_coded *out);

/// The operator of a matrix that was coded on the host. Errors: those of
/// bb_product_devices_operator.
BB_CHECKED bb_status bb_wafer_field_make_operator(const bb_wafer_pass *pass,
                                                  const bb_field_job *work, bb_field_coded *coded);
void bb_wafer_field_release_coded(bb_field_coded *coded);

/// Computes `count` tasks of a field and axis: `work` is the reference's, without an evaluation
/// where it is known already. Errors: those above and of products.
BB_CHECKED bb_status bb_wafer_field_run(bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                        bb_index count, bb_field_job work);

/// The numbers of an evaluation that grow from field to field.
typedef struct bb_field_part {
    bb_outcome outcome;
    double flops, solve_seconds;
    double live_values;               ///< NaN: the pipeline does not hold
    bb_coding_report coding;          ///< of the axis
    bb_certificate_tally certificate; ///< of the axis
    double *squares;                  ///< [2 wafer_count] squared errors and norms of the wafers
} bb_field_part;

/// All evaluations of some tasks, those of draws too. Zero-initialise.
typedef struct bb_field_parts {
    bb_index count;
    bb_wafer_evaluation **items; ///< [count]
    bb_field_part *totals;       ///< [count] what stood there before a field
    bb_field_part *parts;        ///< [part_count][count] of fields that are not added yet
    bb_index part_count;         ///< most of them at a time
} bb_field_parts;

/// Makes room for the parts of `together` fields. Errors: BB_MEMORY. Release with
/// bb_field_parts_release.
BB_CHECKED bb_status bb_field_parts_list(const bb_wafer_task *tasks, bb_index count,
                                         bb_index together, bb_field_parts *out);
void bb_field_parts_release(bb_field_parts *list);

/// Whether all of them compute on a GPU.
bool bb_field_parts_are_cuda(const bb_field_parts *list);

/// Computes what a field and axis adds by itself, beside the totals, which stand again on return.
/// Errors: those of bb_wafer_field_run.
BB_CHECKED bb_status bb_field_parts_run(bb_wafer_pass *pass, const bb_wafer_task *tasks,
                                        bb_index count, bb_field_job work, bb_field_parts *list);

/// Adds the part of a field and axis, which process `owner` has, to all evaluations. Collective.
/// Errors: BB_MEMORY, those of the team.
BB_CHECKED bb_status bb_field_parts_add(const bb_wafer_pass *pass, const bb_field_job *work,
                                        int owner, bb_field_parts *list);

#endif
