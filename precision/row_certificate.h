// SPDX-License-Identifier: Apache-2.0
//
// Bound on the error of a product y = a x of a coded row, from norms computed at encoding and norms
// of x.
//
// E = stored - exact, scales undone, mean mu. The smallest of
//   max|E| ||x||_1,  ||E||_2 ||x||_2,  |mu sum x| + ||E - mu||_2 ||x - mean x||_2
// bounds |E x| (Hoelder, Cauchy-Schwarz, and the latter with the means removed: a rounding bias
// only matters with the sum of x). A computed product adds its rounding error, relative to |a| |x|,
// which is at most the smallest of max|a| ||x||_1, ||a||_2 ||x||_2 and ||a||_1 max|x|.
//
// Rows that are multiplied in factored form, never decoded, round relative to intermediate
// magnitudes (bb_row_rounding) instead of |a| |x|.
//
// Norms are fp64 sums of n terms; each is enlarged by n 2^-52 of itself, so that the result is a
// bound, not an estimate. Non-finite values are bounded by infinity.
#ifndef BB_PRECISION_ROW_CERTIFICATE_H
#define BB_PRECISION_ROW_CERTIFICATE_H

#include "precision/codecs/transform.h"
#include "precision/error_norms.h"

// Rounding of a row that is never decoded is relative to magnitudes of factors, which may cancel in
// the row itself:
//
//   |fl(a x) - a x| <= (e^(roundings u_m + sums u_s + wide 2^-53) - 1) P + underflow,
//
// in exact values of the stored factors (u_m, u_s: unit roundoffs of products and of sums); `wide`
// also counts the decoding to fp64, which determines the storage errors. P is at most norm_1
// max|x|, norm_2 ||x||_2 and largest ||x||_1:
//
// low_rank: P = W |x|, W = sum over terms |u s| |v|, cell by cell of a tile, or |s v| if it is
// dense; ||W||_2 of a tile is at most the sum of |u s| ||v||_2.
//
// transform: P = sum of g |T_c x|, g = step |T_r|' |q|, coefficient by coefficient of a block. With
// H = ||g||_2 of a block and T_c orthonormal, P of it is at most H ||x||_2. Errors relative to
// |T_c| |x| are in fp64 only (the transforms and the decoding), and counted sqrt(cells) times.
//
// The longest chains of sums are the maximum over the devices (solvers/operator/low_rank_product.h,
// low_rank_stream.h, transform_product.h, transform_stream.h).

/// For one row; zeros: the row is decoded.
typedef struct bb_row_rounding {
    double norm_1, norm_2, largest; ///< norms of P, as above
    double underflow; ///< underflow of products, over the smallest number of their format
    double peak;      ///< any intermediate magnitude, over max|x|
    double roundings, sums, wide; ///< counts, as above; wide 0: the row is decoded
    double chunk;                 ///< products summed per run in the format of the products
} bb_row_rounding;

/// Computes the rounding of a band's rows (bb_coded_matrix_band, fewer in the last). Zeros if
/// products decode. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_row_roundings_of(const bb_coded_matrix *matrix, bb_index band,
                                         bb_row_rounding *out);

/// Coefficient sums of the rows of a block, by frequency along its rows.
typedef struct bb_transform_spectrum {
    double all[BB_TRANSFORM_ROWS];   ///< sum of |q|
    double count[BB_TRANSFORM_ROWS]; ///< number of coefficients in groups with a nonzero one
    double longest; ///< largest count of a frequency in a line of blocks of the mesh
    bool poisoned;  ///< a block is poisoned
} bb_transform_spectrum;

/// Completes the rounding of the rows of a block in `out` [rows of the band], where norm_1 has the
/// sum of H sqrt(cells) over blocks of the mesh, norm_2 that of H^2, and largest the largest H.
void bb_row_roundings_of_blocks(const bb_transform_plan *plan, const bb_transform_block *block,
                                const bb_transform_spectrum *spectrum, bb_row_rounding *out);

/// Running sums of one row; initialise with bb_row_certificate_start. 160 bytes per row are stored.
typedef struct bb_row_certificate {
    bb_error_norms norms;  ///< norms of E
    double error_1;        ///< ||E||_1
    double stored_1;       ///< ||stored||_1
    double stored_squares; ///< ||stored||_2^2
    double scale;          ///< factor of the stored values, applied before rounding
    bb_row_rounding path;  ///< for a row that is not decoded; set by the caller
} bb_row_certificate;

bb_row_certificate bb_row_certificate_start(double scale);

/// Adds `count` columns; `norms` are those of the same pairs (bb_error_norms_add).
void bb_row_certificate_add(bb_row_certificate *row, const bb_error_norms *norms,
                            const double *exact, const double *stored, bb_index count);

double bb_row_certificate_error_2(const bb_row_certificate *row);
double bb_row_certificate_mean(const bb_row_certificate *row);

/// Norms of a vector, enlarged as above.
typedef struct bb_vector_norms {
    double count;
    double sum;         ///< upper bound of |sum x|
    double norm_1;      ///< ||x||_1
    double norm_2;      ///< ||x||_2
    double deviation_2; ///< ||x - mean x||_2
    double maximum;     ///< max|x|
} bb_vector_norms;

bb_vector_norms bb_vector_norms_of(const double *x, bb_index count);

/// Rounding of a computed product: |fl(a x) - a x| <= relative |a| |x| + underflow.
typedef struct bb_sum_rounding {
    double relative;
    double subnormal; ///< smallest number of the format of the products
    double largest;   ///< of the narrowest intermediate format; larger sums are not bounded
    double multiply_unit, sum_unit; ///< unit roundoffs, for rows that are not decoded
    bool in_runs;                   ///< those rows sum chunks in the format of the products
    double of_largest;              ///< largest perturbation of an x, relative to max|x|
} bb_sum_rounding;

/// Returns an upper bound of |E x|: effect of storage on y.
double bb_row_certificate_coding(const bb_row_certificate *row, const bb_vector_norms *x);

/// Returns an upper bound of |fl(stored x) - stored x|: effect of arithmetic on y.
double bb_row_certificate_rounding(const bb_row_certificate *row, const bb_vector_norms *x,
                                   const bb_sum_rounding *rounding);

#endif
