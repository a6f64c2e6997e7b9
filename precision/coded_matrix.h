// SPDX-License-Identifier: Apache-2.0
//
// Encoded matrix on the host: panels of fp64 are scaled by a power of two per row if the pipeline
// requests it, and encoded; they are decoded to fp32 or fp64.
//
// Bands: rows that must be encoded together (zfp in 3 and 4 dimensions couples rows; the other
// codecs encode single rows or bands of lines). Groups and pieces: units that can be decoded
// independently, a few rows of a band by a run of columns. Each piece has an entry in the codec's
// own index, separate from the stream.
//
// A NaN or infinity that a codec cannot represent is counted and poisons its block or piece: all of
// it decodes to NaN, so that it cannot be mistaken for a number.
#ifndef BB_PRECISION_CODED_MATRIX_H
#define BB_PRECISION_CODED_MATRIX_H

#include "core/array.h"
#include "core/need.h"
#include "precision/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Checks that a codec accepted by bb_codec_check can encode a matrix of this layout. Errors:
/// BB_INVALID (a mesh that does not divide the columns or a grid that does not divide the rows, a
/// dimension without its mesh or grid).
BB_CHECKED bb_status bb_matrix_layout_check(const bb_matrix_layout *layout,
                                            const bb_codec_config *config);

/// An encoded matrix [rows][columns] on the host. Owner: the creator.
typedef struct bb_coded_matrix bb_coded_matrix;

/// Allocates an empty encoded matrix; variable-rate codecs grow as they encode. Errors: BB_MEMORY,
/// BB_INVALID (a configuration rejected by bb_codec_check, a layout rejected by
/// bb_matrix_layout_check, or a range for which bb_codec_supports_tolerance is false).
BB_CHECKED bb_status bb_coded_matrix_create(const bb_codec_config *config, bb_row_scale scale,
                                            const bb_matrix_layout *layout, bb_coded_matrix **out);
void bb_coded_matrix_destroy(bb_coded_matrix **matrix);

/// Memory and time of a finished matrix, a maximum if it depends on the data; and of encoding it
/// with `threads` threads, each with its own panel. Seconds are for encoding and comparing all
/// values.
bb_need bb_coded_matrix_resident(const bb_codec_config *config, const bb_matrix_layout *layout);
bb_need bb_coded_matrix_need(const bb_codec_config *config, const bb_matrix_layout *layout,
                             double threads);

/// Returns the number of rows in a band: 1, a line of the row grid (zfp 3-D), four lines (zfp 4-D),
/// or band_lines of them (low_rank, transform).
bb_index bb_coded_matrix_band(const bb_coded_matrix *matrix);

/// Encodes a panel [panel rows][columns] (F64, host) as rows [row, row + panel rows): whole bands,
/// except for the matrix's last. Different bands may be encoded by different threads at once.
/// Rounding in the sweep is replaced by rounding to nearest here. Errors: BB_INVALID (a panel that
/// does not fit), BB_MEMORY.
BB_CHECKED bb_status bb_coded_matrix_encode(bb_coded_matrix *matrix, bb_index row, bb_view panel);

/// Column-by-column rounding, for a caller that knows the error of one column before it solves for
/// the next. Three steps per row: the codec's shared data is set from the unrounded values of the
/// whole row, each column is rounded with it, and the results are encoded without further error.
/// For configurations accepted by bb_codec_rounds_columns.
///
/// Sets a row's scale, step or block exponents from its unrounded values[columns]. Different rows
/// may be set at once. Errors: BB_INVALID (an invalid row or configuration, or a non-finite value,
/// with row and column).
BB_CHECKED bb_status bb_coded_matrix_fix_row(bb_coded_matrix *matrix, bb_index row,
                                             const double *values);

/// As bb_coded_matrix_fix_row with clip level `clip` of bb_codec_clip_count instead of the one with
/// the smallest sum of squared errors of `values` [columns]: for a caller with its own norm.
/// Errors: from bb_coded_matrix_fix_row, and of an invalid clip level.
BB_CHECKED bb_status bb_coded_matrix_clip_row(bb_coded_matrix *matrix, bb_index row, bb_index clip,
                                              const double *values);

/// Updates the shared data of columns [column, column + count): a whole block of
/// bb_codec_rounding_block columns, except for the row's last, none of them rounded yet, from the
/// current `values` [count]. Non-finite values count as zero. Different rows may be set at once.
/// Does nothing for codecs whose blocks share no data.
void bb_coded_matrix_fix_block(bb_coded_matrix *matrix, bb_index row, bb_index column,
                               bb_index count, const double *values);

/// Returns the stored value of a value in a fixed row, its scale undone: rounded to nearest, ties
/// to even, as in bb_coded_matrix_encode, and clipped to the largest of the row or block, also
/// instead of infinity. Non-finite values are returned unchanged. Pitfall: a block of bfp and mx
/// represents little more than the values that it was fixed by, so errors passed on to a block of
/// small values are clipped; integer has the whole row's range. Pure, safe from several threads at
/// once.
double bb_coded_matrix_round(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                             double value);

/// Encodes a panel, as bb_coded_matrix_encode, of fixed rows with values returned by
/// bb_coded_matrix_round, so that it decodes to the same doubles. A row with a non-finite value is
/// encoded as by bb_coded_matrix_encode, and counted. Errors: BB_INVALID (a panel that does not
/// fit, a configuration that cannot round columns), BB_MEMORY.
BB_CHECKED bb_status bb_coded_matrix_encode_fixed(bb_coded_matrix *matrix, bb_index row,
                                                  bb_view panel);

enum {
    BB_GROUP_ROWS = 16, ///< maximum rows of a group
};

/// Groups of rows that decode together: one row, four rows of a line (zfp 3-D), four by four (zfp
/// 4-D) or one of each line of a band (low_rank, transform). Groups are in the order of their
/// first row.
bb_index bb_coded_matrix_group_count(const bb_coded_matrix *matrix);

/// Lists the rows of a group, ascending; returns their number.
bb_index bb_coded_matrix_group_rows(const bb_coded_matrix *matrix, bb_index group,
                                    bb_index rows[BB_GROUP_ROWS]);

/// Returns the group of a row.
bb_index bb_coded_matrix_group_of(const bb_coded_matrix *matrix, bb_index row);

/// Runs of columns that can be decoded independently: piece p covers [p piece_columns, ...), the
/// last one the remainder.
bb_index bb_coded_matrix_piece_columns(const bb_coded_matrix *matrix);

/// Decodes one piece of a group: out [rows of the group][piece_columns]. The rows' scales are not
/// undone: true values are out / scale. Safe from several threads at once.
void bb_coded_matrix_decode_f32(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                float *out);
void bb_coded_matrix_decode_f64(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                double *out);

/// Decodes columns [column, column + count) of one row, without undoing the row's scale. For codecs
/// with pieces it decodes every overlapping piece: for single rows, not for products.
void bb_coded_matrix_decode(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                            bb_index count, double *out);

bb_index bb_coded_matrix_rows(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_columns(const bb_coded_matrix *matrix);

/// Returns the scale of a row: stored value = scale * true value.
double bb_coded_matrix_row_scale(const bb_coded_matrix *matrix, bb_index row);

/// Returns the bytes to store and read on a device: words or streams, exponents, widths, the index
/// of pieces, and scales if there are any.
size_t bb_coded_matrix_bytes(const bb_coded_matrix *matrix);

/// Counts so far: values clipped to the range of a saturating format, nonzero values that
/// underflowed to zero, and NaN or infinite values that cannot be represented.
bb_index bb_coded_matrix_saturated(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_underflowed(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_non_finite(const bb_coded_matrix *matrix);

/// Returns the configuration of the matrix, defaults filled in and the tolerance absolute; it
/// passes bb_codec_check.
const bb_codec_config *bb_coded_matrix_config(const bb_coded_matrix *matrix);

/// Plain formats: the words of a row and their format, for kernels. NULL, and undefined, for other
/// codecs.
const void *bb_coded_matrix_words(const bb_coded_matrix *matrix, bb_index row);
bb_format bb_coded_matrix_format(const bb_coded_matrix *matrix);

/// Block floating point: a row's mantissas and exponents (layout in bfp_core.h), for kernels. NULL
/// for other codecs.
const unsigned char *bb_coded_matrix_bfp_row(const bb_coded_matrix *matrix, bb_index row);

/// mx int8: the 32 integers of block `block` of a row, zero beyond the last column, and the
/// exponent of their unit; false, and zeros, if the block is poisoned. A value is out 2^exponent.
bool bb_coded_matrix_integers(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                              int32_t out[32], int *exponent);

/// integer: the 32 integers of block `block` of a row, zero beyond the last column, and the row's
/// step, NaN if the row is poisoned. A value is out * step.
void bb_coded_matrix_whole_steps(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                                 int32_t out[32]);
float bb_coded_matrix_row_step(const bb_coded_matrix *matrix, bb_index row);

enum {
    BB_QUANTISER_RUN = 1024, ///< columns of a run, which is a piece of the quantiser
};

/// Quantiser: the quotients of one run of a row, zero beyond the last column; false, with `out`
/// undefined, if one of its blocks is not stored as quotients. A value is quotient * step.
bool bb_coded_matrix_quotients(const bb_coded_matrix *matrix, bb_index row, bb_index run,
                               int32_t out[BB_QUANTISER_RUN]);
float bb_coded_matrix_step(const bb_coded_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
