// SPDX-License-Identifier: Apache-2.0
//
// Coded matrices: how an operator is stored. A codec is a row of the table in codec.c; the plain
// formats are its first rows. Values are encoded row by row from fp64 panels, with an optional
// power-of-two scale a row, and decoded to fp64 or fp32.
#ifndef BB_PRECISION_CODEC_H
#define BB_PRECISION_CODEC_H

#include "core/array.h"
#include "core/schema.h"
#include "precision/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The keys under `storage:` of a pipeline; a plain word stands for {codec: word}.
typedef struct bb_codec_config {
    int codec; ///< index into bb_codec_names; the plain formats come first, in bb_format's order
} bb_codec_config;

extern const bb_schema bb_codec_schema;
extern const char *const bb_codec_names[];

typedef enum bb_row_scale { BB_ROW_SCALE_NONE, BB_ROW_SCALE_ROW } bb_row_scale;
extern const char *const bb_row_scale_names[];

/// A matrix [rows][columns] in coded form on the host. Owner: whoever created it.
typedef struct bb_coded_matrix bb_coded_matrix;

/// Allocates room for a matrix of which nothing is encoded. Errors: BB_MEMORY, BB_INVALID.
BB_CHECKED bb_status bb_coded_matrix_create(const bb_codec_config *config, bb_row_scale scale,
                                            bb_index rows, bb_index columns, bb_coded_matrix **out);
void bb_coded_matrix_destroy(bb_coded_matrix **matrix);

/// Encodes a panel [panel rows][columns] (F64, host) as rows [row, row + panel rows). Different
/// rows may be encoded by different threads at once.
BB_CHECKED bb_status bb_coded_matrix_encode(bb_coded_matrix *matrix, bb_index row, bb_view panel);

/// Decodes columns [column, column + count) of a row, the row's scale not undone: the true values
/// are out / scale.
void bb_coded_matrix_decode(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                            bb_index count, double *out);

bb_index bb_coded_matrix_rows(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_columns(const bb_coded_matrix *matrix);

/// Scale of a row: stored value = scale * true value.
double bb_coded_matrix_row_scale(const bb_coded_matrix *matrix, bb_index row);

/// Bytes that a device has to hold and read: words, and scales where there are any.
size_t bb_coded_matrix_bytes(const bb_coded_matrix *matrix);

/// Values that were clipped to a saturating format's range so far, and values other than zero that
/// were too small for the format and became zero.
bb_index bb_coded_matrix_saturated(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_underflowed(const bb_coded_matrix *matrix);

/// The words of a row and the format they are in, for device twins.
const void *bb_coded_matrix_words(const bb_coded_matrix *matrix, bb_index row);
bb_format bb_coded_matrix_format(const bb_coded_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
