// SPDX-License-Identifier: Apache-2.0
//
// A matrix in a codec's form on the host: panels of fp64 go in, are scaled by a power of two a row
// where the pipeline says so, and are coded; what comes out is fp32 or fp64.
//
// Bands: rows that must be encoded together (zfp in 3 and 4 dimensions couples rows; everything
// else takes one row at a time). Groups and pieces: what decodes by itself, a few rows of a band by
// a run of columns. Each piece has an entry in an index of the codec's own, beside the stream.
//
// A NaN or infinity that a codec cannot hold is counted and poisons the block or piece that it lies
// in: all of it decodes to NaN, so that it cannot pass for a number.
#ifndef BB_PRECISION_CODED_MATRIX_H
#define BB_PRECISION_CODED_MATRIX_H

#include "core/array.h"
#include "core/need.h"
#include "precision/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Whether a codec that bb_codec_check passes can code a matrix of this layout. Errors: BB_INVALID
/// (a mesh that does not divide the columns or a grid that does not divide the rows, a dimension
/// without its mesh or grid).
BB_CHECKED bb_status bb_matrix_layout_check(const bb_matrix_layout *layout,
                                            const bb_codec_config *config);

/// A matrix [rows][columns] in coded form on the host. Owner: whoever created it.
typedef struct bb_coded_matrix bb_coded_matrix;

/// Allocates room for a matrix of which nothing is encoded; variable-rate codecs grow as they
/// encode. Errors: BB_MEMORY, BB_INVALID (a configuration that bb_codec_check refuses, a layout
/// that bb_matrix_layout_check does, or a range for which bb_codec_supports_tolerance is false).
BB_CHECKED bb_status bb_coded_matrix_create(const bb_codec_config *config, bb_row_scale scale,
                                            const bb_matrix_layout *layout, bb_coded_matrix **out);
void bb_coded_matrix_destroy(bb_coded_matrix **matrix);

/// What a matrix takes when it stands, at most where the data decide, and while `threads` encode it
/// from panels of theirs; seconds are those of coding and comparing all values.
bb_need bb_coded_matrix_resident(const bb_codec_config *config, const bb_matrix_layout *layout);
bb_need bb_coded_matrix_need(const bb_codec_config *config, const bb_matrix_layout *layout,
                             double threads);

/// Rows of a band: 1, a line of the row grid (zfp 3-D), four lines (zfp 4-D), or band_lines of them
/// (low_rank, transform).
bb_index bb_coded_matrix_band(const bb_coded_matrix *matrix);

/// Encodes a panel [panel rows][columns] (F64, host) as rows [row, row + panel rows): whole bands,
/// but for the matrix's last. Different bands may be encoded by different threads at once. A
/// configuration that rounds in the sweep is rounded to nearest here. Errors: BB_INVALID (a panel
/// that does not fit), BB_MEMORY.
BB_CHECKED bb_status bb_coded_matrix_encode(bb_coded_matrix *matrix, bb_index row, bb_view panel);

/// Rounding column by column, for a caller to whom an error of one column is known before it solves
/// for the next. Three steps a row: what the codec takes from the whole row is fixed from unrounded
/// values, each column is rounded with it, and what came of that is encoded without another error.
/// For configurations of bb_codec_rounds_columns.
///
/// Fixes a row's scale, step or exponents of blocks by its unrounded values[columns]. Different
/// rows may be fixed at once. Errors: BB_INVALID (a row or configuration that it cannot be, a value
/// that is not finite, by row and column).
BB_CHECKED bb_status bb_coded_matrix_fix_row(bb_coded_matrix *matrix, bb_index row,
                                             const double *values);

/// Fixes a row by number `clip` of the clips that bb_codec_clip_count counts, in the place of the
/// one that leaves the least sum of squared errors of `values` [columns]: for a caller with a norm
/// of its own. Errors: those of bb_coded_matrix_fix_row, and of a clip that there is not.
BB_CHECKED bb_status bb_coded_matrix_clip_row(bb_coded_matrix *matrix, bb_index row, bb_index clip,
                                              const double *values);

/// Fixes again what the columns [column, column + count) share: a whole block of
/// bb_codec_rounding_block columns, but for the row's last, of which nothing is rounded yet, by
/// `values` [count] as they are known by now. What is not finite counts as zero. Different rows may
/// be fixed at once. Nothing is done for codecs whose blocks share nothing.
void bb_coded_matrix_fix_block(bb_coded_matrix *matrix, bb_index row, bb_index column,
                               bb_index count, const double *values);

/// What would be stored of a value in a row that was fixed, its scale undone: to nearest, ties to
/// even, as bb_coded_matrix_encode does, and clipped to the largest that the row or block holds,
/// also where that would give an infinity. What is not finite comes back as it is. Trap: a block of
/// bfp and mx holds little more than what it was fixed by, so that what is handed on to a quiet
/// block clips, where integer has the row's largest value to go. Pure, safe from several threads at
/// once.
double bb_coded_matrix_round(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                             double value);

/// Encodes a panel as bb_coded_matrix_encode takes it, of rows that were fixed and values that
/// bb_coded_matrix_round gave for them: with what was fixed, so that it decodes to the same
/// doubles. A row with a value that is not finite is encoded as bb_coded_matrix_encode does, and
/// counted. Errors: BB_INVALID (a panel that does not fit, a configuration that rounds no columns),
/// BB_MEMORY.
BB_CHECKED bb_status bb_coded_matrix_encode_fixed(bb_coded_matrix *matrix, bb_index row,
                                                  bb_view panel);

enum {
    BB_GROUP_ROWS = 16, ///< most rows of a group
};

/// Groups of rows that decode together: one row, four rows of a line (zfp 3-D), four by four (zfp
/// 4-D) or one of each line of a band (low_rank, transform). Groups are in the order of their
/// first row.
bb_index bb_coded_matrix_group_count(const bb_coded_matrix *matrix);

/// Rows of a group, ascending; returns how many.
bb_index bb_coded_matrix_group_rows(const bb_coded_matrix *matrix, bb_index group,
                                    bb_index rows[BB_GROUP_ROWS]);

/// The group that a row belongs to.
bb_index bb_coded_matrix_group_of(const bb_coded_matrix *matrix, bb_index row);

/// Runs of columns that decode by themselves: piece p covers [p piece_columns, ...), the last one
/// what is left.
bb_index bb_coded_matrix_piece_columns(const bb_coded_matrix *matrix);

/// Decodes one piece of a group: out [rows of the group][piece_columns]. The rows' scales are not
/// undone: true values are out / scale. Safe from several threads at once.
void bb_coded_matrix_decode_f32(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                float *out);
void bb_coded_matrix_decode_f64(const bb_coded_matrix *matrix, bb_index group, bb_index piece,
                                double *out);

/// Decodes columns [column, column + count) of one row, the row's scale not undone. For codecs with
/// pieces it decodes all pieces that it touches: for single rows, not for products.
void bb_coded_matrix_decode(const bb_coded_matrix *matrix, bb_index row, bb_index column,
                            bb_index count, double *out);

bb_index bb_coded_matrix_rows(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_columns(const bb_coded_matrix *matrix);

/// Scale of a row: stored value = scale * true value.
double bb_coded_matrix_row_scale(const bb_coded_matrix *matrix, bb_index row);

/// Bytes that a device has to hold and read: words or streams, exponents, widths, the index of
/// pieces, and scales where there are any.
size_t bb_coded_matrix_bytes(const bb_coded_matrix *matrix);

/// Values that were clipped to a saturating format's range so far, values other than zero that were
/// too small for the format and became zero, and values that were NaN or infinite and cannot be
/// held.
bb_index bb_coded_matrix_saturated(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_underflowed(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_non_finite(const bb_coded_matrix *matrix);

/// The configuration that the matrix was made with, defaults filled in and the tolerance absolute;
/// bb_codec_check takes it again.
const bb_codec_config *bb_coded_matrix_config(const bb_coded_matrix *matrix);

/// Plain formats: the words of a row and the format they are in, for kernels. NULL, and undefined,
/// for other codecs.
const void *bb_coded_matrix_words(const bb_coded_matrix *matrix, bb_index row);
bb_format bb_coded_matrix_format(const bb_coded_matrix *matrix);

/// Block floating point: where a row's mantissas and exponents lie (layout in bfp_core.h), for
/// kernels. NULL for other codecs.
const unsigned char *bb_coded_matrix_bfp_row(const bb_coded_matrix *matrix, bb_index row);

/// mx int8: the 32 whole numbers of block `block` of a row, zero beyond the last column, and the
/// exponent of their unit; false, and zeros, where the block is not held. A value is out
/// 2^exponent.
bool bb_coded_matrix_integers(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                              int32_t out[32], int *exponent);

/// integer: the 32 whole numbers of block `block` of a row, zero beyond the last column, and the
/// row's step, NaN where the row is not held. A value is out * step.
void bb_coded_matrix_whole_steps(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                                 int32_t out[32]);
float bb_coded_matrix_row_step(const bb_coded_matrix *matrix, bb_index row);

enum {
    BB_QUANTISER_RUN = 1024, ///< columns of a run, which is a piece of the quantiser
};

/// Quantiser: the quotients of one run of a row, zero beyond the last column; false, and `out` not
/// to be used, where a block of it is not held as quotients. A value is quotient * step.
bool bb_coded_matrix_quotients(const bb_coded_matrix *matrix, bb_index row, bb_index run,
                               int32_t out[BB_QUANTISER_RUN]);
float bb_coded_matrix_step(const bb_coded_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
