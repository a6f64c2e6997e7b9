// SPDX-License-Identifier: Apache-2.0
//
// Codecs: the storage formats of an operator's values. A codec is one file in codecs/ and one row
// of codec_row.h: its name, keys, limits, costs and functions. Other code queries a codec's
// properties here and never tests for a particular codec.
#ifndef BB_PRECISION_CODEC_H
#define BB_PRECISION_CODEC_H

#include "core/device/device.h"
#include "core/outcome.h"
#include "core/schema.h"
#include "precision/draw.h"
#include "precision/format.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bb_zfp_mode {
    BB_ZFP_RATE,
    BB_ZFP_PRECISION,
    BB_ZFP_ACCURACY,
    BB_ZFP_REVERSIBLE,
} bb_zfp_mode;

/// Use of the rounding error of a value. A codec with more words adds them to the key.
typedef enum bb_rounding {
    BB_ROUNDING_NEAREST,  ///< error stays with the value
    BB_ROUNDING_DIFFUSED, ///< error goes to neighbours on the row's mesh (diffusion.h)
    BB_ROUNDING_SWEEP,    ///< the column-by-column solver passes the error to the next columns
} bb_rounding;

/// A key that belongs to one codec.
typedef union bb_codec_slot {
    double number;
    bb_index integer;
    int choice;
} bb_codec_slot;

enum {
    BB_CODEC_SLOTS = 16, ///< total of such keys over all codecs
};

/// The keys under `storage:` of a pipeline; a plain word is short for {codec: word}. Unset optional
/// numbers are NaN, integers BB_INTEGER_UNSET, words -1.
typedef struct bb_codec_config {
    int codec;                 ///< row number: plain formats in bb_format's order, then others
    double bits;               ///< bfp: 4..16, integer: 2..16, whole; zfp: per value (rate) or
                               ///< planes (precision); low_rank: smallest width of a factor's
                               /// value, 16, 32
    bb_index block;            ///< values that share an exponent or width: 32, the default
    int mode;                  ///< bb_zfp_mode
    double tolerance;          ///< absolute, in the matrix's unit: quantiser, zfp accuracy;
                               ///< RMS error of a tile or block: low_rank, transform
    double tolerance_of_range; ///< relative to the matrix's range (maximum - minimum)
    bb_index dimensions;       ///< zfp: 1..4, default 2
    bb_index band_lines;       ///< lines of the row grid in a band, 1..16: low_rank 12, transform 9
    bb_index band_columns;     ///< transform: columns of the row grid in a block, default 7
    bb_index tile_columns;     ///< columns of the mesh in a tile or block: low_rank 32, transform 8
    bb_index tile_rows;        ///< lines of the mesh in it: low_rank 20, transform 10
    int rounding;              ///< bb_rounding or a codec's own word; default nearest
    bb_codec_slot own[BB_CODEC_SLOTS]; ///< keys declared in a codec's file
} bb_codec_config;

/// The shared keys and those of every row, assembled before main.
extern bb_schema bb_codec_schema;

/// Return the number of rows, the name of one, and the number of a name, -1 if there is none.
int bb_codec_count(void);
const char *bb_codec_name(int codec);
int bb_codec_find(const char *name);

typedef enum bb_row_scale { BB_ROW_SCALE_NONE, BB_ROW_SCALE_ROW } bb_row_scale;
extern const char *const bb_row_scale_names[];

/// Returns a plain format as a configuration, for callers without a configuration file.
bb_codec_config bb_codec_plain(bb_format format);

/// Parses any codec from its name and keys, "zfp mode=rate bits=8"; false for an unknown name, key
/// or word, with `out` undefined. bb_codec_check and the schema check ranges.
bool bb_codec_read(const char *text, bb_codec_config *out);

/// Return whether a key is given; and add the keys of `more` that are not yet given.
bool bb_codec_has_key(const bb_codec_config *config, const char *key);
void bb_codec_complete(bb_codec_config *config, const bb_codec_config *more);

/// Checks one `storage:` record beyond the tables: keys that a codec requires, does not support or
/// that contradict each other. On failure writes one sentence that names the key and returns false.
bool bb_codec_check(const bb_codec_config *config, bb_row_scale scale, char *sentence,
                    size_t sentence_bytes);

/// Writes a description for tables and plans: "bfp 8", "zfp accuracy 1e-12, 2-D".
void bb_codec_describe(const bb_codec_config *config, char *out, size_t out_bytes);

/// Describes the rounding of values: "nearest even", "nearest", "truncated transform coefficients",
/// ...
const char *bb_codec_rounding(const bb_codec_config *config);

/// Largest |decoded - value| guaranteed by the codec for a value of `magnitude` in a block of
/// largest magnitude `block_magnitude`, with an absolute tolerance; infinity without a guarantee
/// (zfp rate and precision). Rows unscaled; includes the fp32 rounding of codecs that work on
/// floats. With diffused rounding, and with nvfp4 and integer, which have a scale or step per row,
/// the block is the row. In the sweep it applies to the values being rounded, including errors
/// passed on, unless they are clipped.
double bb_codec_bound(const bb_codec_config *config, double tolerance, double magnitude,
                      double block_magnitude);

/// Returns whether a row's columns can be rounded one by one (bb_coded_matrix_fix_row, _round): the
/// codec supports it, and the configuration asks for rounding to nearest or in the sweep.
bool bb_codec_rounds_columns(const bb_codec_config *config);

/// Returns the columns of a row that share an exponent or scale set by bb_coded_matrix_fix_block;
/// 0: none do.
bb_index bb_codec_rounding_block(const bb_codec_config *config);

/// Returns the number of clip levels of a row (bb_coded_matrix_clip_row), the first at its largest
/// value; 1: no choice.
bb_index bb_codec_clip_count(const bb_codec_config *config);

/// Returns the columns per block of the norm that the codec uses (column_norms of a layout, without
/// a mesh); 0: none.
bb_index bb_codec_norm_width(const bb_codec_config *config);

/// Returns whether rounding in the sweep is requested. Encoding a finished matrix rounds to nearest
/// instead.
bool bb_codec_sweeps(const bb_codec_config *config);

/// Returns the stored bits per value if known before encoding; NaN if they depend on the data.
double bb_codec_bits_per_value(const bb_codec_config *config);

/// Returns the interval of the factors f of rounding samples (precision/draw.h): (1, 2) if rounding
/// is relative to a power of two; about 1, with a ratio of 1 / 0.97 and a mean of f^-2 of 1, if it
/// is to multiples of a tolerance t, since the error variance is that of tolerance t / f; exactly 1
/// if no factor changes a rounding.
bb_draw_range bb_codec_draw_range(const bb_codec_config *config);
bool bb_codec_has_draws(const bb_codec_config *config);

/// Returns whether the storage is the plain format without further processing.
bool bb_codec_is_plain(const bb_codec_config *config, bb_format format);

/// Memory layout of rows, for products on encoded data (solvers/operator).
typedef enum bb_codec_form_kind {
    BB_FORM_PIECES,    ///< private to the codec: products decode piece by piece
    BB_FORM_WORDS,     ///< words of a plain format (bb_coded_matrix_words)
    BB_FORM_BLOCKS,    ///< integers under an exponent per block (bb_coded_matrix_bfp_row)
    BB_FORM_INTEGERS,  ///< 8-bit integers under a power of two per block (bb_coded_matrix_integers)
    BB_FORM_STEPS,     ///< integers with one step per row (bb_coded_matrix_whole_steps)
    BB_FORM_QUOTIENTS, ///< multiples of one step (bb_coded_matrix_quotients)
    BB_FORM_TILES,     ///< low-rank tiles (codecs/low_rank.h)
    BB_FORM_COEFFICIENTS, ///< transformed blocks (codecs/transform.h)
    BB_FORM_STREAMS,      ///< zfp streams (codecs/zfp/zfp_stream.h)
    BB_FORM_KINDS,
} bb_codec_form_kind;

typedef struct bb_codec_form {
    bb_codec_form_kind kind;
    bb_format format; ///< format of the words
    int bits;         ///< width of the integers of a block or row
} bb_codec_form;

bb_codec_form bb_codec_form_of(const bb_codec_config *config);

/// Returns the reason why products with it do not run on a device, as a sentence for the user; NULL
/// if they do.
const char *bb_codec_absent(const bb_codec_config *config, bb_device_kind device);

/// Returns whether rows may be scaled: the codec's precision is relative.
bool bb_codec_allows_row_scale(const bb_codec_config *config);

/// Returns the largest magnitude that rows are scaled to (bb_scaling_row_to).
double bb_codec_scaled_largest(const bb_codec_config *config);

/// Returns whether encoding needs an fp64 copy of the matrix: for the range of all values, or for
/// more rows at once than a source provides.
bool bb_codec_needs_copy(const bb_codec_config *config);

/// Returns whether products with it can be summed in short runs.
bool bb_codec_sums_in_runs(const bb_codec_config *config);

/// Returns whether products on a device use a copy decoded once to fp32.
bool bb_codec_unpacks(const bb_codec_config *config, bb_device_kind device);

/// For plans: bytes per value, an approximate maximum if they depend on the data; seconds of one
/// core to encode and compare a value; number of rows encoded together, for a grid `row_columns`
/// across.
double bb_codec_bytes_per_value(const bb_codec_config *config);
double bb_codec_seconds_per_value(const bb_codec_config *config);
double bb_codec_band_rows(const bb_codec_config *config, double row_columns);

/// Geometry of a matrix's rows and columns; codecs exploit smoothness along them.
typedef struct bb_matrix_layout {
    bb_index rows;
    bb_index columns;
    bb_index mesh_columns; ///< columns are points of a mesh, x fastest, this many across; 0: a line
    bb_index row_columns;  ///< rows are points of a grid, this many across; 0: no grid
    double range;          ///< maximum - minimum of the values; used by tolerance_of_range only
    const double *column_norms; ///< borrowed during encoding: for every bb_codec_norm_width
                                ///< columns a lower triangular L [width][width], E costs ||E L||;
                                ///< the last may be smaller, with the same stride; NULL: none
} bb_matrix_layout;

/// Returns whether the codec can achieve the configuration's tolerance for values of this range
/// (maximum - minimum); else the outcome is BB_OUTCOME_NOT_HELD and gives the requested tolerance
/// and the nearest possible one. True if the tolerance does not depend on the range.
bool bb_codec_supports_tolerance(const bb_codec_config *config, double range, bb_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif
