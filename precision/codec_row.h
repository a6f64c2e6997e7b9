// SPDX-License-Identifier: Apache-2.0
//
// Internal to precision/: a codec's row, and the coded matrix shared by all codecs. coded_matrix.c
// owns the common members; a codec fills `store` and defines groups.
//
// To add a codec, add a file that defines its row and a line in BB_CODEC_ROWS. The names in
// studies, the keys of `storage:`, their checks and the tests over all codecs follow.
#ifndef BB_PRECISION_CODEC_ROW_H
#define BB_PRECISION_CODEC_ROW_H

#include "precision/codec_ladder.h"
#include "precision/coded_matrix.h"

#include <stdatomic.h>

/// Counters of encoding a row or band; added once at its end.
typedef struct bb_codec_counts {
    bb_index saturated, underflowed, non_finite;
} bb_codec_counts;

/// Absolute tolerances supported by a codec, as powers of two.
typedef struct bb_codec_tolerances {
    int lowest, highest;
    bool needed; ///< a tolerance is required, whatever the other keys
} bb_codec_tolerances;

/// Required integer range of `bits`; 0 to 0: no bits key.
typedef struct bb_codec_bits {
    int least, most;
} bb_codec_bits;

/// Functions of a codec. NULL means nothing to do unless a comment gives another default.
typedef struct bb_codec_ops {
    // Functions of a configuration. `check` writes a sentence and returns false; keys, bits and
    // tolerances of the row are checked elsewhere. `describe` writes the end of a description,
    // after the row's title, bits and required tolerance.
    bool (*check)(const bb_codec_config *config, char *sentence, size_t bytes);
    bb_status (*check_layout)(const bb_codec_config *config, const bb_matrix_layout *layout);
    double (*band_lines)(const bb_codec_config *config); // NULL: the key; 0: single rows
    void (*describe)(const bb_codec_config *config, char *out, size_t bytes);
    const char *(*rounding)(const bb_codec_config *config); // NULL: the row's, or nearest even
    double (*bound)(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude);                 // NULL: none
    double (*bits_per_value)(const bb_codec_config *config); // NULL: `bits`, or the data decide
    // NULL: tolerance-like if one is required, else an octave if rows may be scaled, else none.
    bb_draw_range (*draw_range)(const bb_codec_config *config);
    bb_codec_form_kind (*form)(const bb_codec_config *config); // NULL: the row's
    double (*largest)(const bb_codec_config *config); // magnitude that rows are scaled to; NULL: 1
    bb_index (*norm_width)(const bb_codec_config *config); // NULL: 0
    bb_index (*clip_count)(const bb_codec_config *config); // NULL: 1

    // Functions of a matrix: `create` sets `row_bytes` or the shape of bands and fills `store`,
    // which is allocated and zeroed; `destroy` releases what `store` owns.
    bb_status (*create)(bb_coded_matrix *matrix);
    void (*destroy)(bb_coded_matrix *matrix);
    size_t (*bytes)(const bb_coded_matrix *matrix); // without scales; NULL: of the rows

    // Encoding, by one of three: encode_band, for a band with an item in `bands`, with `room_bytes`
    // of workspace; encode_row; encode_blocks, for blocks of a row from number `block` on, the last
    // one padded with zeros. `scale` multiplies the values. `fixed`: fix_row and fix_block have
    // been called for the row, else fix_row only.
    size_t (*room_bytes)(const bb_coded_matrix *matrix);
    bb_status (*encode_band)(bb_coded_matrix *matrix, bb_index row, bb_view panel, void *room,
                             bb_codec_counts *counts);
    void (*release_band)(void *item);
    void (*encode_row)(const bb_coded_matrix *matrix, bb_index row, const double *values,
                       double scale, bb_codec_counts *counts);
    void (*encode_blocks)(const bb_coded_matrix *matrix, bb_index row, bb_index block,
                          bb_index count, const double *values, double scale, bool fixed,
                          bb_codec_counts *counts);
    // Replaces a row by its error-diffused values (diffusion.h); returns how many became zero.
    bb_index (*diffuse)(const bb_codec_config *config, double scale, const double *values,
                        bb_index columns, bb_index across, double *above, double *out);

    // Decodes units of a row from number `first` on: blocks, or columns if the row has no `unit`.
    // decode_f32 NULL: the codec has decode_piece; decode_f64 NULL: values are exact in fp32.
    void (*decode_f32)(const bb_coded_matrix *matrix, bb_index row, bb_index first, bb_index count,
                       float *out);
    void (*decode_f64)(const bb_coded_matrix *matrix, bb_index row, bb_index first, bb_index count,
                       double *out);
    // Decodes a piece of a group of rows into one of the two.
    void (*decode_piece)(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *f32,
                         double *f64);

    // Column-wise rounding; `round` NULL: values cannot be rounded individually. `round` maps a
    // value times the row's scale, possibly infinite but not NaN, to its stored value. `fix_row`
    // sets what a row shares: either in encoding, where unsupported values are counted, or before
    // columns are rounded, with `counts` NULL, from finite values and number `clip` of the levels
    // counted by `clip_count` (-1: the best). `fix_block` sets what a block shares from its 32
    // finite values times the row's scale, padded with zeros.
    void (*fix_row)(bb_coded_matrix *matrix, bb_index row, bb_index clip, const double *values,
                    bb_codec_counts *counts);
    void (*fix_block)(bb_coded_matrix *matrix, bb_index row, bb_index block, const double *scaled);
    double (*round)(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled);
} bb_codec_ops;

/// Defaults of integer keys; 0: none.
typedef struct bb_codec_defaults {
    bb_index block, dimensions, band_lines, band_columns, tile_columns, tile_rows;
} bb_codec_defaults;

/// Description of a codec for all other code.
typedef struct bb_codec_row {
    const char *name;
    const char *title;              ///< for descriptions; NULL: the name
    const char *const *shared_keys; ///< names of supported shared keys (codec.c); NULL: none
    const bb_key *keys; ///< own keys, at BB_CODEC_SLOT; an existing name adds words to it
    bb_index key_count;
    bb_codec_bits bits;
    bb_codec_defaults defaults;
    const char *rounding; ///< NULL: nearest even
    bb_codec_form_kind form;
    const char *cpu_only; ///< sentence if products in pieces do not run on a GPU
    int unit;             ///< BB_BLOCK: rows are encoded in blocks
    size_t store_bytes;   ///< size of a matrix's `store`
    size_t band_item;     ///< bytes of an item of `bands`
    bool takes_row_scale; ///< precision is relative to the value
    bool needs_copy;      ///< encoded from an fp64 copy: needs the range, or more rows at a time
    bool sums_in_runs;
    bool unpacked_on[BB_DEVICE_KIND_COUNT]; ///< decoded once into fp32 for products
    double seconds;                 ///< seconds of one core to encode and compare a value, roughly
    double most_bytes;              ///< bytes per value if they depend on the data; 0: they do not
    double band_bytes;              ///< encoder workspace of a thread, per value of its band
    double own_bytes;               ///< tables of a matrix, independent of its size
    double thread_bytes;            ///< encoder workspace of a thread, independent of its band
    bb_codec_tolerances tolerances; ///< for a codec with a tolerance
    bb_codec_ladder ladders[BB_CODEC_LADDERS]; ///< most useful first; no key: none
    const bb_codec_ops *ops;
} bb_codec_row;

/// Along tolerances, with the other keys that the codec requires ("" for none): for `ladders` of a
/// row.
#define BB_CODEC_TOLERANCE_LADDER(keys)                                                            \
    {                                                                                              \
        .key = "tolerance_of_range", .others = (keys), .steps = 49                                 \
    }

/// Codecs in the order of their numbers, the plain formats first and in bb_format's order.
#define BB_CODEC_ROWS(ROW)                                                                         \
    ROW(bb_fp64_row)                                                                               \
    ROW(bb_fp32_row)                                                                               \
    ROW(bb_tf32_row)                                                                               \
    ROW(bb_bf16_row)                                                                               \
    ROW(bb_fp16_row)                                                                               \
    ROW(bb_e4m3_row)                                                                               \
    ROW(bb_e5m2_row)                                                                               \
    ROW(bb_bfp_row)                                                                                \
    ROW(bb_quantiser_row)                                                                          \
    ROW(bb_zfp_row)                                                                                \
    ROW(bb_low_rank_row)                                                                           \
    ROW(bb_transform_stream_row)                                                                   \
    ROW(bb_mx_row)                                                                                 \
    ROW(bb_float_row)                                                                              \
    ROW(bb_integer_row)

#define BB_DECLARE_CODEC_ROW(row) extern const bb_codec_row row;
BB_CODEC_ROWS(BB_DECLARE_CODEC_ROW)

const bb_codec_row *bb_codec_row_of(const bb_codec_config *config);

/// Offset of a codec's own key number `index`: the slots of all codecs are stored one after the
/// other.
#define BB_CODEC_SLOT(index)                                                                       \
    (offsetof(bb_codec_config, own) + (size_t)(index) * sizeof(bb_codec_slot))

/// A codec's own slots, numbered as its keys.
const bb_codec_slot *bb_codec_own(const bb_codec_config *config);

/// Index in a key's own `choices` of the word numbered `choice` in the merged key; -1 if it is not
/// among them. The same number if no other codec has a key of that name.
int bb_codec_own_word(const bb_key *key, int choice);

struct bb_coded_matrix {
    bb_codec_config config; // defaults filled in, tolerance absolute
    bb_row_scale scaling;
    bb_matrix_layout layout;
    const bb_codec_row *row;
    const bb_codec_ops *ops; // operations of the row
    bb_index piece_columns;
    bb_index group_lines; // consecutive rows of a group: 1, or 4 of a line
    bb_index band_lines;  // lines in a band
    bb_index line_rows;   // rows of a line: 1 where rows are independent
    double *scale;        // [rows], NULL without row scales
    unsigned char *rows;  // [rows][row_bytes], NULL if row_bytes is 0
    size_t row_bytes;
    void *store; // the codec's own
    void *bands; // [band_count] its items, NULL without bands
    bb_index band_count;
    atomic_ptrdiff_t saturated;
    atomic_ptrdiff_t underflowed;
    atomic_ptrdiff_t non_finite;
};

/// Position of a group: its rows are first + line * line_rows + i for i < rows_of_line, line <
/// lines.
typedef struct bb_group_place {
    bb_index band;     ///< band number
    bb_index band_row; ///< first row of the band
    bb_index lines;    ///< lines of the band; fewer in the matrix's last
    bb_index first;    ///< first row of the group
    bb_index rows_of_line;
} bb_group_place;

bb_group_place bb_coded_matrix_place(const bb_coded_matrix *matrix, bb_index group);

/// Returns the columns of a piece: piece_columns except for the last.
bb_index bb_coded_matrix_piece_count(const bb_coded_matrix *matrix, bb_index piece);

static inline unsigned char *bb_coded_matrix_row(const bb_coded_matrix *matrix, bb_index row)
{
    return matrix->rows + (size_t)row * matrix->row_bytes;
}

void bb_coded_matrix_count(bb_coded_matrix *matrix, bb_codec_counts counts);

/// Checks that exactly one of the two tolerances is given and is positive, and that an absolute one
/// is supported (a relative one is checked once the range is known); and its text in descriptions.
bool bb_codec_check_tolerance(const bb_codec_config *config, char *sentence, size_t bytes);
void bb_codec_describe_tolerance(const bb_codec_config *config, char *out, size_t bytes);

/// Returns the configuration with the row's defaults for unset keys.
bb_codec_config bb_codec_filled(const bb_codec_config *config);

/// Returns whether rounding errors are passed to neighbours.
bool bb_codec_diffuses(const bb_codec_config *config);

/// Returns the interval of bb_codec_draw_range for rounding to multiples of a tolerance.
bb_draw_range bb_codec_draw_tolerance(void);

/// Returns the rounding error of fp32: 2^-24 of a magnitude, or half the smallest subnormal.
double bb_codec_fp32_rounding(double magnitude);

#endif
