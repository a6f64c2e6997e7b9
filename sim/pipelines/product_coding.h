// SPDX-License-Identifier: Apache-2.0
//
// Encoding of a matrix in a pipeline's storage, and its errors: rows from a source or from the
// reference's fp64 are encoded, decoded and compared.
#ifndef BB_SIM_PIPELINES_PRODUCT_CODING_H
#define BB_SIM_PIPELINES_PRODUCT_CODING_H

#include "precision/matrix_coding.h"
#include "sim/output/output_table.h"
#include "sim/pipelines/product_pipeline.h"

/// Cost and errors of storing matrices of one kind; start from bb_coding_report_start.
typedef struct bb_coding_report {
    double seconds; ///< time to encode and compare, and to compute rows from the source
    double bytes;
    double values;
    double saturated;
    double underflowed;
    double non_finite;    ///< values outside the codec's range
    bb_error_norms norms; ///< errors of decoded values relative to exact ones, without scales
} bb_coding_report;

bb_coding_report bb_coding_report_start(void);

/// Report with all values NaN, for a matrix that its pipeline cannot represent.
bb_coding_report bb_coding_report_unset(void);

/// Adds `more` to `total`.
void bb_coding_report_add(bb_coding_report *total, const bb_coding_report *more);

/// Output tables over `pipeline`, and over `pipeline` and the axis of the matrices.
extern const bb_output_table bb_coding_report_outputs;
extern const bb_output_table bb_coding_report_measures;

/// Writes both tables. `reports` is [pipelines][axis_count] over the existing axis of /results
/// called `axis`; errors are in `unit`. Errors: from bb_output_table_publish.
BB_CHECKED bb_status bb_coding_report_publish(const bb_list *pipelines, const char *axis,
                                              bb_index axis_count, const char *unit,
                                              const bb_coding_report *reports, bb_results *results);

/// Draw: a repetition with independent rounding (precision/draw.h).
typedef struct bb_coding_draw {
    uint64_t seed;
    bb_index number; ///< 0: no factors
    bb_index first;  ///< number of rows in earlier matrices of this pipeline
} bb_coding_draw;

/// Factors of a draw; results computed with the coded rows are divided by them.
typedef struct bb_coding_factors {
    double *rows; ///< [rows of the matrix], NULL for draw 0; owned
} bb_coding_factors;

/// Divides `values` of rows [row, row + count) in place.
void bb_coding_factors_undo(const bb_coding_factors *factors, bb_index row, bb_index count,
                            double *values);
void bb_coding_factors_release(bb_coding_factors *factors);

/// Encodes all rows over the threads and compares the decoded values. `layout` describes the points
/// of rows and columns. `certificates` [layout rows] receives the norms of each row, NULL: not
/// needed. Errors: BB_INVALID (a value of the source is not finite, with row and column),
/// BB_MEMORY, the source's. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_product_coding_encode(
    const bb_product_pipeline *pipeline, const bb_exact_rows *rows, const bb_matrix_layout *layout,
    bb_coding_report *report, bb_row_certificate *certificates, bb_coded_matrix **out);

/// Encodes a draw in the same way: rows are multiplied by its factors, returned in `factors`
/// (zero-initialised, released by the caller), and compared without them. Errors: as above.
BB_CHECKED bb_status bb_product_coding_encode_draw(const bb_product_pipeline *pipeline,
                                                   const bb_exact_rows *rows,
                                                   const bb_matrix_layout *layout,
                                                   const bb_coding_draw *draw,
                                                   bb_coding_factors *factors,
                                                   bb_coding_report *report, bb_coded_matrix **out);

struct bb_device_matrix; // solvers/operator/device_matrix.h

/// Encodes a matrix on a GPU, from rows `values` [layout rows][layout columns] in its memory, in a
/// storage of bb_device_coding_available; `draw` NULL: draw 0. Errors: those of
/// bb_device_coding_encode. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_product_coding_encode_there(
    const bb_product_pipeline *pipeline, bb_device *device, const double *values,
    const bb_matrix_layout *layout, const bb_coding_draw *draw, bb_coding_factors *factors,
    bb_coding_report *report, bb_row_certificate *certificates, struct bb_device_matrix **out);

/// Need of encoding a matrix once, from rows in batches of `batch`, and of its products: the
/// matrix, an unpacked copy if the device needs one, and its operator.
bb_need bb_product_coding_need(const bb_product_pipeline *pipeline, int study_device,
                               const bb_matrix_layout *layout, double batch, double threads);

/// Number of GPUs whose memory the plan of these pipelines must fit: one, or none if a pipeline on
/// a GPU has a storage of data-dependent size, whose need is only a bound.
bb_index bb_product_coding_gpus(const bb_list *pipelines, int study_device);

#endif
