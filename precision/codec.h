// SPDX-License-Identifier: Apache-2.0
//
// Coded matrices: how an operator is stored. A codec is a row of the table in codec.c and a file of
// its own: plain formats, block floating point (bfp), an absolute block-width quantiser, and zfp
// through libzfp. Values come as fp64 panels, are scaled by a power of two a row where the pipeline
// says so, coded, and decoded to fp32 or fp64.
//
// Bands: rows that must be encoded together (zfp in 3 and 4 dimensions couples rows; everything
// else takes one row at a time). Groups and pieces: what decodes by itself, a few rows of a band by
// a run of columns. Each piece has an entry in an index of the codec's own, beside the stream.
//
// A NaN or infinity that a codec cannot hold is counted and poisons the block or piece that it lies
// in: all of it decodes to NaN, so that it cannot pass for a number.
#ifndef BB_PRECISION_CODEC_H
#define BB_PRECISION_CODEC_H

#include "core/array.h"
#include "core/outcome.h"
#include "core/schema.h"
#include "precision/format.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Codecs after the plain formats, which come first and in bb_format's order.
typedef enum bb_codec {
    BB_CODEC_BFP = BB_FORMAT_COUNT, ///< shared power-of-two exponent a block, 4 to 16 bits a value
    BB_CODEC_QUANTISER,             ///< multiples of 2 tolerance, as many bits as a block needs
    BB_CODEC_ZFP,                   ///< Lindstrom's transform codec, libzfp's own streams
    BB_CODEC_LOW_RANK,              ///< tiles of a few rank-one terms, or dense (low_rank.h)
    BB_CODEC_TRANSFORM,             ///< coefficients of blocks, never decoded (transform.h)
    BB_CODEC_COUNT,
} bb_codec;

typedef enum bb_zfp_mode {
    BB_ZFP_RATE,
    BB_ZFP_PRECISION,
    BB_ZFP_ACCURACY,
    BB_ZFP_REVERSIBLE,
} bb_zfp_mode;

/// What becomes of what rounding a value leaves over.
typedef enum bb_rounding {
    BB_ROUNDING_NEAREST,  ///< it is the value's error
    BB_ROUNDING_DIFFUSED, ///< neighbours on the row's mesh are rounded with it (diffusion.h)
} bb_rounding;

/// The keys under `storage:` of a pipeline; a plain word stands for {codec: word}. Optional numbers
/// are NaN where the file does not give them, whole ones BB_INTEGER_UNSET.
typedef struct bb_codec_config {
    int codec;                 ///< index into bb_codec_names: a bb_format or a bb_codec
    double bits;               ///< bfp: 4..16 whole; zfp: of a value (rate) or planes (precision);
                               ///< low_rank: least of a factor's value, 16 or 32
    bb_index block;            ///< values that share an exponent or width: 32, the default
    int mode;                  ///< bb_zfp_mode, -1 where not given
    double tolerance;          ///< absolute, in the matrix's unit: quantiser, zfp accuracy; of the
                               ///< root mean square error of a tile or block: low_rank, transform
    double tolerance_of_range; ///< the same as a part of the matrix's range (maximum - minimum)
    bb_index dimensions;       ///< zfp: 1..4, default 2
    bb_index band_lines;       ///< lines of the row grid in a band, 1..16: low_rank 12, transform 9
    bb_index band_columns;     ///< transform: columns of the row grid in a block, default 7
    bb_index tile_columns;     ///< of the mesh in a tile or block: low_rank 32, transform 8
    bb_index tile_rows;        ///< its lines: low_rank 20, transform 10
    int rounding;              ///< bb_rounding, -1 where not given, which is nearest: fp16, bf16,
                               ///< e4m3, e5m2, bfp
} bb_codec_config;

extern const bb_schema bb_codec_schema;
extern const char *const bb_codec_names[];
extern const char *const bb_zfp_mode_names[];
extern const char *const bb_rounding_names[];

typedef enum bb_row_scale { BB_ROW_SCALE_NONE, BB_ROW_SCALE_ROW } bb_row_scale;
extern const char *const bb_row_scale_names[];

/// A plain format as a configuration, for callers without a file.
bb_codec_config bb_codec_plain(bb_format format);

/// What the tables cannot say of one `storage:` record: keys that a codec needs, does not know or
/// contradicts. Writes one sentence that names the key; returns false where there is something to
/// say.
bool bb_codec_check(const bb_codec_config *config, bb_row_scale scale, char *sentence,
                    size_t sentence_bytes);

/// "bfp 8", "zfp accuracy 1e-12, 2-D": for tables and plans.
void bb_codec_describe(const bb_codec_config *config, char *out, size_t out_bytes);

/// How values are rounded: "nearest even", "nearest", "truncated transform coefficients", ...
const char *bb_codec_rounding(const bb_codec_config *config);

/// Largest |decoded - value| that the codec declares for a value of `magnitude` in a block whose
/// largest magnitude is `block_magnitude`, with a tolerance in absolute terms; infinity where it
/// declares none (zfp rate and precision). Rows unscaled; the fp32 rounding of codecs that work on
/// floats is included. With diffused rounding the block is the row.
double bb_codec_bound(const bb_codec_config *config, double tolerance, double magnitude,
                      double block_magnitude);

/// Stored bits of a value as far as they are known before encoding; NaN where the data decide.
double bb_codec_bits_per_value(const bb_codec_config *config);

/// Bands are drawn (precision/draw.h) with factors from 1 to this: 2 where a value's rounding goes
/// by its power of two (plain formats, bfp, zfp by rate, precision and reversible), 1 / 0.97 where
/// it goes by a tolerance (quantiser, zfp by accuracy, low_rank, transform), which is to a coded
/// value what a tolerance smaller by the factor is to the value.
double bb_codec_draw_limit(const bb_codec_config *config);

/// What a matrix is a table of; codecs use smoothness along its rows and columns.
typedef struct bb_matrix_layout {
    bb_index rows;
    bb_index columns;
    bb_index mesh_columns; ///< columns are points of a mesh, x fastest, this many across; 0: a line
    bb_index row_columns;  ///< rows are points of a grid, this many across; 0: no grid
    double range;          ///< maximum - minimum of the values; used by tolerance_of_range only
} bb_matrix_layout;

/// Whether a codec that bb_codec_check passes can code a matrix of this layout. Errors: BB_INVALID
/// (a mesh that does not divide the columns or a grid that does not divide the rows, a dimension
/// without its mesh or grid).
BB_CHECKED bb_status bb_matrix_layout_check(const bb_matrix_layout *layout,
                                            const bb_codec_config *config);

/// Whether the tolerance that a configuration means for values of this range (maximum - minimum) is
/// one that its codec can hold; else the outcome is BB_OUTCOME_NOT_HELD and names the tolerance
/// that was wanted and the nearest one. True where the tolerance does not depend on the range.
bool bb_codec_holds(const bb_codec_config *config, double range, bb_outcome *outcome);

/// A matrix [rows][columns] in coded form on the host. Owner: whoever created it.
typedef struct bb_coded_matrix bb_coded_matrix;

/// Allocates room for a matrix of which nothing is encoded; variable-rate codecs grow as they
/// encode. Errors: BB_MEMORY, BB_INVALID (a configuration that bb_codec_check refuses, a layout
/// that bb_matrix_layout_check does, or a range for which bb_codec_holds is false).
BB_CHECKED bb_status bb_coded_matrix_create(const bb_codec_config *config, bb_row_scale scale,
                                            const bb_matrix_layout *layout, bb_coded_matrix **out);
void bb_coded_matrix_destroy(bb_coded_matrix **matrix);

/// Rows of a band: 1, a line of the row grid (zfp 3-D), four lines (zfp 4-D), or band_lines of them
/// (low_rank, transform).
bb_index bb_coded_matrix_band(const bb_coded_matrix *matrix);

/// Encodes a panel [panel rows][columns] (F64, host) as rows [row, row + panel rows): whole bands,
/// but for the matrix's last. Different bands may be encoded by different threads at once. Errors:
/// BB_INVALID (a panel that does not fit), BB_MEMORY.
BB_CHECKED bb_status bb_coded_matrix_encode(bb_coded_matrix *matrix, bb_index row, bb_view panel);

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
