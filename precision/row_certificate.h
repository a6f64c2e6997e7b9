// SPDX-License-Identifier: Apache-2.0
//
// Bound on the error of a product y = a x of a coded row, from norms computed at encoding and norms
// of x.
//
// E = stored - exact, scales undone, mean mu. The least of
//   max|E| ||x||_1,  ||E||_2 ||x||_2,  |mu sum x| + ||E - mu||_2 ||x - mean x||_2
// bounds |E x| (Hoelder, Cauchy-Schwarz, and the latter after the means are taken out: a bias of
// rounding shows only with the sum of x). A product that is computed adds its rounding, relative to
// |a| |x|, which is at most the least of max|a| ||x||_1, ||a||_2 ||x||_2 and ||a||_1 max|x|.
//
// Rows that are multiplied as factors, never decoded, round relative to magnitudes on their path
// (bb_row_rounding) in the place of |a| |x|.
//
// Norms are sums in fp64 of n terms; each is widened by n 2^-52 of itself, so that what comes out
// is a bound, not an estimate of one. Values that are not finite are bounded by infinity.
#ifndef BB_PRECISION_ROW_CERTIFICATE_H
#define BB_PRECISION_ROW_CERTIFICATE_H

#include "precision/codecs/transform.h"
#include "precision/error_norms.h"

// Rounding on the path of a row that is never decoded is relative to magnitudes of factors, which
// may cancel in the row itself:
//
//   |fl(a x) - a x| <= (e^(roundings u_m + sums u_s + wide 2^-53) - 1) P + what underflows,
//
// in exact values of the stored factors (u_m, u_s: unit roundoffs of products and of sums); `wide`
// counts the decoding into fp64 too, from which errors of storage are known. P is at most norm_1
// max|x|, norm_2 ||x||_2 and largest ||x||_1:
//
// low_rank: P = W |x|, W = sum over terms |u s| |v|, cell by cell of a tile, or |s v| where it is
// dense; ||W||_2 of a tile is at most the sum of |u s| ||v||_2.
//
// transform: P = sum of g |T_c x|, g = step |T_r|' |q|, coefficient by coefficient of a block. With
// H = ||g||_2 of a block and T_c orthonormal, P of it is at most H ||x||_2. What is relative to
// |T_c| |x| is in fp64 alone (the transforms and the decoding), and counted sqrt(cells) times.
//
// The longest chains of sums are those of either device (solvers/operator/low_rank_product.h,
// low_rank_stream.h, transform_product.h, transform_stream.h).

/// Of one row; zeros: the row is decoded.
typedef struct bb_row_rounding {
    double norm_1, norm_2, largest; ///< of P, as above
    double underflow;               ///< of products, over the smallest number of their format
    double peak;                    ///< any number on the way, over max|x|
    double roundings, sums, wide;   ///< how often, as above; wide 0: the row is decoded
    double chunk;                   ///< products that runs sum in the format of products
} bb_row_rounding;

/// Paths of a band's rows (bb_coded_matrix_band, fewer in the last). Zeros where products decode.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_row_roundings_of(const bb_coded_matrix *matrix, bb_index band,
                                         bb_row_rounding *out);

/// Coefficients of the rows of a block, by their frequency along its rows.
typedef struct bb_transform_spectrum {
    double all[BB_TRANSFORM_ROWS];   ///< sum of |q|
    double count[BB_TRANSFORM_ROWS]; ///< of those in groups that have one other than 0
    double longest;                  ///< count of a frequency in a line of blocks of the mesh
    bool poisoned;                   ///< some block is
} bb_transform_spectrum;

/// Completes the paths of the rows of a block in `out` [rows of the band], in which norm_1 has the
/// sum of H sqrt(cells) over blocks of the mesh, norm_2 that of H^2, and largest the largest H.
void bb_row_roundings_of_blocks(const bb_transform_plan *plan, const bb_transform_block *block,
                                const bb_transform_spectrum *spectrum, bb_row_rounding *out);

/// Running sums of one row; start from bb_row_certificate_start. 160 bytes a row are kept.
typedef struct bb_row_certificate {
    bb_error_norms norms;  ///< of E
    double error_1;        ///< ||E||_1
    double stored_1;       ///< ||stored||_1
    double stored_squares; ///< ||stored||_2^2
    double scale;          ///< stored values were multiplied by it before they were narrowed
    bb_row_rounding path;  ///< of a row that is not decoded; left to the caller to fill in
} bb_row_certificate;

bb_row_certificate bb_row_certificate_start(double scale);

/// Adds `count` columns; `norms` are those of the same pairs (bb_error_norms_add).
void bb_row_certificate_add(bb_row_certificate *row, const bb_error_norms *norms,
                            const double *exact, const double *stored, bb_index count);

double bb_row_certificate_error_2(const bb_row_certificate *row);
double bb_row_certificate_mean(const bb_row_certificate *row);

/// Norms of a vector, widened as above.
typedef struct bb_vector_norms {
    double count;
    double sum;         ///< |sum x|, at most
    double norm_1;      ///< ||x||_1
    double norm_2;      ///< ||x||_2
    double deviation_2; ///< ||x - mean x||_2
    double maximum;     ///< max|x|
} bb_vector_norms;

bb_vector_norms bb_vector_norms_of(const double *x, bb_index count);

/// Rounding of a computed product: |fl(a x) - a x| <= relative |a| |x| + what underflow adds.
typedef struct bb_sum_rounding {
    double relative;
    double subnormal; ///< smallest of the format of the products
    double largest;   ///< of the narrowest format on the way; larger sums are not bounded
    double multiply_unit, sum_unit; ///< unit roundoffs, for rows that are not decoded
    bool in_runs;                   ///< those sum chunks in the format of products
    double of_largest;              ///< every x is changed by so much of the largest |x| at most
} bb_sum_rounding;

/// At most |E x|: what storage does to y.
double bb_row_certificate_coding(const bb_row_certificate *row, const bb_vector_norms *x);

/// At most |fl(stored x) - stored x|: what arithmetic does to y.
double bb_row_certificate_rounding(const bb_row_certificate *row, const bb_vector_norms *x,
                                   const bb_sum_rounding *rounding);

#endif
