// SPDX-License-Identifier: Apache-2.0
//
// Inside of precision/: what a family of codecs offers, and the coded matrix that all share.
// coded_matrix.c owns the common members; a family fills `store` and what it says of groups.
#ifndef BB_PRECISION_CODEC_OPS_H
#define BB_PRECISION_CODEC_OPS_H

#include "precision/codec.h"

#include <stdatomic.h>

/// Absolute tolerances that a codec can hold, as powers of two.
typedef struct bb_codec_tolerances {
    int lowest, highest;
} bb_codec_tolerances;

typedef struct bb_codec_ops {
    // Of a configuration, not yet checked; `check` writes a sentence and returns false.
    bool (*check)(const bb_codec_config *config, char *sentence, size_t bytes);
    void (*describe)(const bb_codec_config *config, char *out, size_t bytes);
    const char *(*rounding)(const bb_codec_config *config);
    double (*bound)(const bb_codec_config *config, double tolerance, double magnitude,
                    double block_magnitude);
    double (*bits_per_value)(const bb_codec_config *config);
    double (*draw_limit)(const bb_codec_config *config);
    bb_codec_tolerances tolerances; // of a codec that takes one

    // Of a matrix. `encode` takes whole bands that fit.
    bb_status (*create)(bb_coded_matrix *matrix);
    void (*destroy)(bb_coded_matrix *matrix);
    bb_status (*encode)(bb_coded_matrix *matrix, bb_index row, bb_view panel);
    void (*decode_f32)(const bb_coded_matrix *matrix, bb_index group, bb_index piece, float *out);
    void (*decode_f64)(const bb_coded_matrix *matrix, bb_index group, bb_index piece, double *out);
    void (*decode)(const bb_coded_matrix *matrix, bb_index row, bb_index column, bb_index count,
                   double *out);
    size_t (*bytes)(const bb_coded_matrix *matrix); // scales not counted
} bb_codec_ops;

extern const bb_codec_ops bb_plain_ops;
extern const bb_codec_ops bb_bfp_ops;
extern const bb_codec_ops bb_quantiser_ops;
extern const bb_codec_ops bb_zfp_ops;
extern const bb_codec_ops bb_low_rank_ops;
extern const bb_codec_ops bb_transform_ops;

const bb_codec_ops *bb_codec_ops_of(int codec);

struct bb_coded_matrix {
    bb_codec_config config; // defaults filled in, tolerance absolute
    bb_row_scale scaling;
    bb_matrix_layout layout;
    const bb_codec_ops *ops;
    bb_index piece_columns;
    bb_index group_lines; // rows of a group that follow each other: 1, or 4 of a line
    bb_index
        band_lines; // lines of a band, 4 in four dimensions, the key's of low_rank and transform
    bb_index line_rows; // rows of a line: 1 where rows are independent
    double *scale;      // [rows], NULL where rows are not scaled
    void *store;        // the family's own
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

/// What a draw multiplies rows by at most: an octave where roundings are relative to a power of
/// two, 1 / 0.97 where they are multiples of a tolerance, which then stays within itself.
double bb_codec_draw_octave(const bb_codec_config *config);
double bb_codec_draw_tolerance(const bb_codec_config *config);

/// 2^-24 of a magnitude, or half of fp32's smallest subnormal: rounding to fp32.
double bb_codec_fp32_rounding(double magnitude);

#endif
