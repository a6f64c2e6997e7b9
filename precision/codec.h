// SPDX-License-Identifier: Apache-2.0
//
// Codecs: the ways that an operator's values can be stored. A codec is one file of codecs/ and one
// row of codec_row.h: what it is called, the keys it takes, what it can hold and costs, and its
// functions. Who wants to know something of a codec asks here, never which codec it is.
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

/// What becomes of what rounding a value leaves over. A codec of more words adds them to the key.
typedef enum bb_rounding {
    BB_ROUNDING_NEAREST,  ///< it is the value's error
    BB_ROUNDING_DIFFUSED, ///< neighbours on the row's mesh are rounded with it (diffusion.h)
    BB_ROUNDING_SWEEP,    ///< who solves for the columns one by one hands it on to the next
} bb_rounding;

/// A key that one codec has for itself.
typedef union bb_codec_slot {
    double number;
    bb_index integer;
    int choice;
} bb_codec_slot;

enum {
    BB_CODEC_SLOTS = 16, ///< of all codecs together
};

/// The keys under `storage:` of a pipeline; a plain word stands for {codec: word}. Optional numbers
/// are NaN where the file does not give them, whole ones BB_INTEGER_UNSET, words -1.
typedef struct bb_codec_config {
    int codec;                 ///< number of a row: the plain formats in bb_format's order, others
    double bits;               ///< bfp: 4..16, integer: 2..16, whole; zfp: of a value (rate) or
                               ///< planes (precision); low_rank: least of a factor's value, 16, 32
    bb_index block;            ///< values that share an exponent or width: 32, the default
    int mode;                  ///< bb_zfp_mode
    double tolerance;          ///< absolute, in the matrix's unit: quantiser, zfp accuracy; of the
                               ///< root mean square error of a tile or block: low_rank, transform
    double tolerance_of_range; ///< the same as a part of the matrix's range (maximum - minimum)
    bb_index dimensions;       ///< zfp: 1..4, default 2
    bb_index band_lines;       ///< lines of the row grid in a band, 1..16: low_rank 12, transform 9
    bb_index band_columns;     ///< transform: columns of the row grid in a block, default 7
    bb_index tile_columns;     ///< of the mesh in a tile or block: low_rank 32, transform 8
    bb_index tile_rows;        ///< its lines: low_rank 20, transform 10
    int rounding;              ///< bb_rounding or a codec's own word; not given: nearest
    bb_codec_slot own[BB_CODEC_SLOTS]; ///< of keys that a codec's file declares
} bb_codec_config;

/// The shared keys and those of every row, put together before main.
extern bb_schema bb_codec_schema;

/// Rows, and the name of one; the number of a name, -1 where there is none.
int bb_codec_count(void);
const char *bb_codec_name(int codec);
int bb_codec_find(const char *name);

typedef enum bb_row_scale { BB_ROW_SCALE_NONE, BB_ROW_SCALE_ROW } bb_row_scale;
extern const char *const bb_row_scale_names[];

/// A plain format as a configuration, for callers without a file.
bb_codec_config bb_codec_plain(bb_format format);

/// The same of any codec from its name and keys, "zfp mode=rate bits=8"; false, and nothing to be
/// used, for a name, key or word that there is not. Ranges are bb_codec_check's and the schema's.
bool bb_codec_read(const char *text, bb_codec_config *out);

/// Whether a key is given, and the keys of `more` that are not.
bool bb_codec_has_key(const bb_codec_config *config, const char *key);
void bb_codec_complete(bb_codec_config *config, const bb_codec_config *more);

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
/// floats is included. With diffused rounding, and with nvfp4 and integer, whose scale or step is a
/// row's, the block is the row. In the sweep it is of the values that are rounded, what was handed
/// on included, and of those that are not clipped.
double bb_codec_bound(const bb_codec_config *config, double tolerance, double magnitude,
                      double block_magnitude);

/// Whether a row's columns can be rounded one by one (bb_coded_matrix_fix_row, _round): the codec
/// can, and the configuration asks for no rounding but to nearest or in the sweep.
bool bb_codec_rounds_columns(const bb_codec_config *config);

/// Columns of a row that share an exponent or scale which bb_coded_matrix_fix_block fixes; 0: none
/// do.
bb_index bb_codec_rounding_block(const bb_codec_config *config);

/// Clips that a row may choose from (bb_coded_matrix_clip_row), the first that of its largest
/// value; 1: it has no choice.
bb_index bb_codec_clip_count(const bb_codec_config *config);

/// Columns of a block whose norm is asked for (column_norms of a layout, without a mesh); 0: none.
bb_index bb_codec_norm_width(const bb_codec_config *config);

/// Whether rounding in the sweep is asked for. Who encodes a matrix as it stands rounds to nearest.
bool bb_codec_sweeps(const bb_codec_config *config);

/// Stored bits of a value as far as they are known before encoding; NaN where the data decide.
double bb_codec_bits_per_value(const bb_codec_config *config);

/// Interval of the factors f of draws (precision/draw.h): (1, 2) where rounding is relative to a
/// power of two; about 1, with a ratio of 1 / 0.97 and a mean of f^-2 of 1, where it is to
/// multiples of a tolerance t, since the variance of the error is that of the tolerance t / f; 1
/// alone where no factor changes a rounding.
bb_draw_range bb_codec_draw_range(const bb_codec_config *config);
bool bb_codec_has_draws(const bb_codec_config *config);

/// Whether it is the plain format: words of it and nothing else.
bool bb_codec_is_plain(const bb_codec_config *config, bb_format format);

/// How rows lie in memory, for who multiplies them as they are (solvers/operator).
typedef enum bb_codec_form_kind {
    BB_FORM_PIECES,       ///< as the codec alone knows: products decode piece by piece
    BB_FORM_WORDS,        ///< words of a plain format (bb_coded_matrix_words)
    BB_FORM_BLOCKS,       ///< whole numbers under an exponent a block (bb_coded_matrix_bfp_row)
    BB_FORM_INTEGERS,     ///< eight bits under a power of two a block (bb_coded_matrix_integers)
    BB_FORM_STEPS,        ///< whole numbers of one step a row (bb_coded_matrix_whole_steps)
    BB_FORM_QUOTIENTS,    ///< multiples of one step (bb_coded_matrix_quotients)
    BB_FORM_TILES,        ///< low-rank tiles (codecs/low_rank.h)
    BB_FORM_COEFFICIENTS, ///< transformed blocks (codecs/transform.h)
    BB_FORM_STREAMS,      ///< zfp's (codecs/zfp/zfp_stream.h)
    BB_FORM_KINDS,
} bb_codec_form_kind;

typedef struct bb_codec_form {
    bb_codec_form_kind kind;
    bb_format format; ///< of words
    int bits;         ///< of the whole numbers of a block or row
} bb_codec_form;

bb_codec_form bb_codec_form_of(const bb_codec_config *config);

/// Why products with it do not run on a device, as a sentence for the user; NULL: they do.
const char *bb_codec_absent(const bb_codec_config *config, bb_device_kind device);

/// Whether rows may be scaled: its values are relative ones.
bool bb_codec_allows_row_scale(const bb_codec_config *config);

/// Largest number that rows are scaled to (bb_scaling_row_to).
double bb_codec_scaled_largest(const bb_codec_config *config);

/// Whether it is coded from a copy in fp64, as it wants the range of all values or more rows at
/// once than a source gives.
bool bb_codec_needs_copy(const bb_codec_config *config);

/// Whether products with it can be summed in runs.
bool bb_codec_sums_in_runs(const bb_codec_config *config);

/// Whether a device multiplies what it decoded once into fp32.
bool bb_codec_unpacks(const bb_codec_config *config, bb_device_kind device);

/// For plans: bytes of a value, at most about so many where the data decide; seconds of one core to
/// code and compare a value; rows that are encoded together, of a grid `row_columns` across.
double bb_codec_bytes_per_value(const bb_codec_config *config);
double bb_codec_seconds_per_value(const bb_codec_config *config);
double bb_codec_band_rows(const bb_codec_config *config, double row_columns);

/// What a matrix is a table of; codecs use smoothness along its rows and columns.
typedef struct bb_matrix_layout {
    bb_index rows;
    bb_index columns;
    bb_index mesh_columns; ///< columns are points of a mesh, x fastest, this many across; 0: a line
    bb_index row_columns;  ///< rows are points of a grid, this many across; 0: no grid
    double range;          ///< maximum - minimum of the values; used by tolerance_of_range only
    const double *column_norms; ///< borrowed while it is encoded: for every bb_codec_norm_width
                                ///< columns a lower triangular L [width][width], E costs ||E L||;
                                ///< the last may be smaller in the same stride; NULL: none
} bb_matrix_layout;

/// Whether the tolerance that a configuration means for values of this range (maximum - minimum) is
/// one that its codec can hold; else the outcome is BB_OUTCOME_NOT_HELD and names the tolerance
/// that was wanted and the nearest one. True where the tolerance does not depend on the range.
bool bb_codec_supports_tolerance(const bb_codec_config *config, double range, bb_outcome *outcome);

#ifdef __cplusplus
}
#endif

#endif
