// SPDX-License-Identifier: Apache-2.0
//
// Inside of precision/: a codec's row, and the coded matrix that all share. coded_matrix.c owns the
// common members; a codec fills `store` and what it says of groups.
//
// A codec is added by a file that defines its row and by its line in BB_CODEC_ROWS. The names that
// studies may write, the keys of `storage:`, their checks and the tests that walk codecs follow.
#ifndef BB_PRECISION_CODEC_ROW_H
#define BB_PRECISION_CODEC_ROW_H

#include "precision/codec_ladder.h"
#include "precision/coded_matrix.h"

#include <stdatomic.h>

/// Absolute tolerances that a codec can hold, as powers of two.
typedef struct bb_codec_tolerances {
    int lowest, highest;
} bb_codec_tolerances;

typedef struct bb_codec_ops {
    // Of a configuration, not yet checked; `check` writes a sentence and returns false. NULL:
    // nothing to check, nothing to fill in, any layout, single rows, no product missing.
    bool (*check)(const bb_codec_config *config, char *sentence, size_t bytes);
    void (*fill_in)(bb_codec_config *config); // defaults of what is not given
    bb_status (*check_layout)(const bb_codec_config *config, const bb_matrix_layout *layout);
    double (*band_lines)(const bb_codec_config *config); // of the row grid; 0: single rows
    const char *(*absent)(const bb_codec_config *config, bb_device_kind device);
    void (*describe)(const bb_codec_config *config, char *out, size_t bytes);
    const char *(*rounding)(const bb_codec_config *config);
    double (*bound)(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude);
    double (*bits_per_value)(const bb_codec_config *config);
    bb_draw_range (*draw_range)(const bb_codec_config *config);
    bb_codec_form (*form)(const bb_codec_config *config);

    // Of a matrix. `encode` takes whole bands that fit.
    bb_status (*create)(bb_coded_matrix *matrix);
    void (*destroy)(bb_coded_matrix *matrix);
    bb_status (*encode)(bb_coded_matrix *matrix, bb_index row, bb_view panel);
    void (*decode_f32)(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *out);
    void (*decode_f64)(const bb_coded_matrix *matrix, bb_index group, bb_index piece, double *out);
    void (*decode)(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                   double *out);
    size_t (*bytes)(const bb_coded_matrix *matrix); // scales not counted

    // Column by column; `round` NULL: values are not rounded each by itself. `fix_row` takes finite
    // values, NULL: nothing depends on the row. `round` takes a value times the row's scale, which
    // may be infinite and is no NaN, and gives what is stored. `encode_fixed` takes one row of what
    // `round` gave, scale undone. `fix_block` fixes what block number `block` shares by its 32
    // finite values times the row's scale, filled up with zeros; NULL: blocks share nothing.
    // `clip_row` fixes a row by number `clip` of the ladder that `clip_count` has; NULL: of one.
    void (*fix_row)(bb_coded_matrix *matrix, bb_index row, const double *values);
    void (*fix_block)(bb_coded_matrix *matrix, bb_index row, bb_index block, const double *scaled);
    bb_index (*clip_count)(const bb_codec_config *config);
    void (*clip_row)(bb_coded_matrix *matrix, bb_index row, bb_index clip, const double *values);
    double (*round)(const bb_coded_matrix *matrix, bb_index row, bb_index column, double scaled);
    bb_index (*norm_width)(const bb_codec_config *config); // NULL: 0
    bb_status (*encode_fixed)(bb_coded_matrix *matrix, bb_index row, bb_view panel);
} bb_codec_ops;

/// What a codec is to everybody else.
typedef struct bb_codec_row {
    const char *name;
    const char *const *takes; ///< names of keys that codecs share (codec.c); NULL: none
    const bb_key *keys;       ///< its own, at BB_CODEC_SLOT; one that is there already: more words
    bb_index key_count;
    bool takes_row_scale; ///< its values are relative ones
    bool needs_copy;      ///< coded from fp64: the range, or more rows than a source gives
    bool sums_in_runs;
    bool unpacked_on[BB_DEVICE_KIND_COUNT]; ///< decoded once into fp32 and multiplied from there
    double seconds;                         ///< of one core to code and compare a value, roughly
    double most_bytes;                      ///< of a value where the data decide; 0: they do not
    double band_bytes;              ///< that a thread takes to encode, of a value of its band
    double own_bytes;               ///< of tables that a matrix has whatever its size
    double thread_bytes;            ///< that a thread takes to encode, whatever its band
    bb_codec_tolerances tolerances; ///< of a codec that takes one
    bb_codec_ladder ladders[BB_CODEC_LADDERS]; ///< first those of most use; no key: none
    const bb_codec_ops *ops;
} bb_codec_row;

/// Along tolerances, beside keys that the codec needs ("" for none): for `ladders` of a row.
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

/// Offset of a codec's own key number `index`: the slots of all codecs lie one after the other.
#define BB_CODEC_SLOT(index)                                                                       \
    (offsetof(bb_codec_config, own) + (size_t)(index) * sizeof(bb_codec_slot))

/// A codec's own slots, as its keys number them.
const bb_codec_slot *bb_codec_own(const bb_codec_config *config);

/// Place among a key's own `choices` of a word whose number in the file's key is `choice`; -1 where
/// it is not among them. The same where no other codec has a key of the name.
int bb_codec_own_word(const bb_key *key, int choice);

struct bb_coded_matrix {
    bb_codec_config config; // defaults filled in, tolerance absolute
    bb_row_scale scaling;
    bb_matrix_layout layout;
    const bb_codec_row *row;
    const bb_codec_ops *ops; // of the row
    bb_index piece_columns;
    bb_index group_lines; // rows of a group that follow each other: 1, or 4 of a line
    bb_index band_lines;  // lines of a band
    bb_index line_rows;   // rows of a line: 1 where rows are independent
    double *scale;        // [rows], NULL where rows are not scaled
    void *store;          // the family's own
    atomic_ptrdiff_t saturated;
    atomic_ptrdiff_t underflowed;
    atomic_ptrdiff_t non_finite;
};

/// Where a group lies: its rows are first + line * line_rows + i for i < rows_of_line, line <
/// lines.
typedef struct bb_group_place {
    bb_index band;     ///< number of the band
    bb_index band_row; ///< first row of the band
    bb_index lines;    ///< of the band, fewer in the matrix's last
    bb_index first;    ///< row of the group
    bb_index rows_of_line;
} bb_group_place;

bb_group_place bb_coded_matrix_place(const bb_coded_matrix *matrix, bb_index group);

/// Columns of a piece: piece_columns but for the last.
bb_index bb_coded_matrix_piece_count(const bb_coded_matrix *matrix, bb_index piece);

/// Scale of a row for a format's range, noted in the matrix; 1 where rows are not scaled.
double bb_coded_matrix_scale_row(bb_coded_matrix *matrix, bb_format format, bb_index row,
                                 const double *values);

/// What encoding a row or band met; added once at its end.
typedef struct bb_codec_counts {
    bb_index saturated, underflowed, non_finite;
} bb_codec_counts;

void bb_coded_matrix_count(bb_coded_matrix *matrix, bb_codec_counts counts);

/// Exactly one of the two tolerances is given, and positive, and the absolute one is among the
/// codec's (the other is known when the range is); and how a description names it.
bool bb_codec_check_tolerance(const bb_codec_config *config, char *sentence, size_t bytes);
void bb_codec_describe_tolerance(const bb_codec_config *config, char *out, size_t bytes);

/// Whether errors go to neighbours, and the mesh that they do so on: what is across, one line where
/// the layout has no mesh.
bool bb_codec_diffuses(const bb_codec_config *config);
bb_index bb_coded_matrix_across(const bb_coded_matrix *matrix);

/// Intervals of bb_codec_draw_range: of roundings relative to a power of two, of roundings to
/// multiples of a tolerance.
bb_draw_range bb_codec_draw_octave(const bb_codec_config *config);
bb_draw_range bb_codec_draw_tolerance(const bb_codec_config *config);

/// 2^-24 of a magnitude, or half of fp32's smallest subnormal: rounding to fp32.
double bb_codec_fp32_rounding(double magnitude);

#endif
