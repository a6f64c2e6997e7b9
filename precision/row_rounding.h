// SPDX-License-Identifier: Apache-2.0
//
// What a product with a row meets on its way where the row is never decoded: rounding is relative
// to magnitudes of factors, which may cancel in the row itself.
//
//   |fl(a x) - a x| <= (e^(roundings u_m + sums u_s + wide 2^-53) - 1) P + what underflows,
//
// in exact values of the stored factors (u_m, u_s: unit roundoffs of products and of sums); `wide`
// counts the decoding into fp64 too, from which errors of storage are known
// (precision/row_certificate.h). P is at most norm_1 max|x|, norm_2 ||x||_2 and largest ||x||_1:
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
#ifndef BB_PRECISION_ROW_ROUNDING_H
#define BB_PRECISION_ROW_ROUNDING_H

#include "precision/coded_matrix.h"

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

#endif
