// SPDX-License-Identifier: Apache-2.0
//
// A matrix on its way into a pipeline's storage, and what was lost on it: rows come from a source
// or from the reference's fp64, are encoded, decoded again and compared.
#ifndef BB_SIM_PIPELINES_PRODUCT_CODING_H
#define BB_SIM_PIPELINES_PRODUCT_CODING_H

#include "core/matrix_source.h"
#include "precision/error_norms.h"
#include "precision/row_certificate.h"
#include "sim/output/output_table.h"
#include "sim/pipelines/product_pipeline.h"

/// What matrices of one kind took and lost in storage; start from bb_coding_report_start.
typedef struct bb_coding_report {
    double seconds; ///< encoding and comparing, and making rows that came from the source
    double bytes;
    double values;
    double saturated;
    double underflowed;
    double non_finite;    ///< values beyond what the codec can hold
    bb_error_norms norms; ///< of decoded against exact values, scales undone
} bb_coding_report;

bb_coding_report bb_coding_report_start(void);

/// All NaN: of a matrix that its pipeline cannot hold.
bb_coding_report bb_coding_report_unset(void);

/// Adds `more` to `total`.
void bb_coding_report_add(bb_coding_report *total, const bb_coding_report *more);

/// What is written over `pipeline`, and over `pipeline` and the axis of the matrices.
extern const bb_output_table bb_coding_report_outputs;
extern const bb_output_table bb_coding_report_measures;

/// Writes both: `reports` is [pipelines][axis_count] over the axis of /results called `axis`, which
/// stands already; errors are in `unit`. Errors: those of bb_output_table_publish.
BB_CHECKED bb_status bb_coding_report_publish(const bb_list *pipelines, const char *axis,
                                              bb_index axis_count, const char *unit,
                                              const bb_coding_report *reports, bb_results *results);

/// Where rows come from.
typedef struct bb_exact_rows {
    const bb_matrix_source *source; ///< pulled `batch` rows at once, from multiples of it
    bb_index batch;
    const bb_coded_matrix *matrix; ///< the same rows in fp64 already, or NULL
} bb_exact_rows;

/// A repetition whose roundings are its own (precision/draw.h).
typedef struct bb_coding_draw {
    uint64_t seed;
    bb_index number; ///< 0: nothing is multiplied
    bb_index first;  ///< rows of this pipeline's matrices before this one
} bb_coding_draw;

/// Factors of a draw, by which what is computed with the coded rows is divided again.
typedef struct bb_coding_factors {
    double *rows; ///< [rows of the matrix], NULL for draw 0; owned
} bb_coding_factors;

/// Divides `values` of rows [row, row + count) in place.
void bb_coding_factors_undo(const bb_coding_factors *factors, bb_index row, bb_index count,
                            double *values);
void bb_coding_factors_release(bb_coding_factors *factors);

/// Encodes all rows over the threads and compares what decodes from them. `layout` says what rows
/// and columns are points of; `certificates` [layout rows] takes the norms of each row, NULL:
/// nobody wants them. Errors: BB_INVALID (a value of the source is not finite: row and
/// column are named), BB_MEMORY, the source's. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_product_coding_encode(
    const bb_product_pipeline *pipeline, const bb_exact_rows *rows, const bb_matrix_layout *layout,
    bb_coding_report *report, bb_row_certificate *certificates, bb_coded_matrix **out);

/// The same of a draw: rows are coded times its factors, which `factors` takes (zero-initialised,
/// released by the caller), and compared without them. Errors: those above.
BB_CHECKED bb_status bb_product_coding_encode_draw(const bb_product_pipeline *pipeline,
                                                   const bb_exact_rows *rows,
                                                   const bb_matrix_layout *layout,
                                                   const bb_coding_draw *draw,
                                                   bb_coding_factors *factors,
                                                   bb_coding_report *report, bb_coded_matrix **out);

struct bb_device_matrix; // solvers/operator/device_matrix.h

/// The same on a GPU, of rows `values` [layout rows][layout columns] in its memory, in storage of
/// bb_device_coding_available; `draw` NULL: a plain coding. Errors: those of
/// bb_device_coding_encode. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_product_coding_encode_there(
    const bb_product_pipeline *pipeline, bb_device *device, const double *values,
    const bb_matrix_layout *layout, const bb_coding_draw *draw, bb_coding_factors *factors,
    bb_coding_report *report, bb_row_certificate *certificates, struct bb_device_matrix **out);

/// What coding a matrix once takes, from rows that come `batch` at a time, and what its products
/// hold then: the matrix, unpacked beside where a device wants that, and its operator.
bb_need bb_product_coding_need(const bb_product_pipeline *pipeline, int study_device,
                               const bb_matrix_layout *layout, double batch, double threads);

/// GPUs that a plan of these pipelines is held to: one, or none where one of them computes on a GPU
/// in storage whose bytes the data decide, so that its need is a bound.
bb_index bb_product_coding_gpus(const bb_list *pipelines, int study_device);

/// Decodes a matrix into `out` [rows][columns] over the threads, scales undone. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_product_coding_decode(const bb_coded_matrix *coded, double *out);

/// Decodes a matrix into plain fp32 over the threads, scales undone: exact for codecs that work on
/// floats. `seconds` grows by the time. Errors: BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_product_coding_unpack(const bb_coded_matrix *coded, double *seconds,
                                              bb_coded_matrix **out);

#endif
