// SPDX-License-Identifier: Apache-2.0
//
// Compression of one tile to its low-rank or dense form: internal to precision/.
//
// A randomised range finder that updates its remainder (Martinsson & Voronin, SIAM J. Sci. Comput.
// 38, 2016): Y = R G for a few more Gaussian columns, Q = orth(Y), B = Q^T R, R <- R - Q B, with
// twice as many columns each time, until ||R||_F is an eighth of the tolerance. The SVD of B orders
// the terms; their number and the number in fp32 are the cheapest with
//     ||R||^2 + sum of dropped sigma^2 + sum of (sigma * rounding of u and v)^2 <= tolerance^2 m n,
// using the actual rounding errors of the vectors. The error of the result is then computed, and
// the choice repeated with a smaller budget if it is too large; a tile that is cheaper dense is
// stored dense.
//
// Sums over a tile's columns are more accurate than its values, since a smooth input adds them up:
// n equal errors of the tolerance add up to n, independent ones to sqrt(n). The approximated matrix
// is therefore A W, W = I + (sqrt(n) - 1) 1 1^T / n over the n columns that are not all zero, and W
// is removed from the terms afterwards: a row's errors add up to at most the sum of independent
// ones, however few the terms. If columns have their own norm ||E L||, W is L instead, and all
// errors, including rounding, are those of E L.
#ifndef BB_PRECISION_CODECS_LOW_RANK_TILE_H
#define BB_PRECISION_CODECS_LOW_RANK_TILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// L [columns][stride] of a tile's columns, lower triangular, positive on the diagonal, in the
/// order of its cells, without padding.
typedef struct bb_low_rank_norm {
    const double *factor; ///< borrowed; NULL: unweighted values
    bb_index columns, stride;
} bb_low_rank_norm;

/// Workspace for tiles of up to `rows` x `cells`.
typedef struct bb_low_rank_room {
    bb_index rows, cells, rank; ///< rank: maximum number of columns of Q
    double *tile;               ///< [rows][cells] exact values, lines zero-padded
    double *rest, *q, *b, *left, *right, *core, *sigma, *rounding, *tau, *work;
    double *live;          ///< [cells], 1 if a column of the tile is not all zero, else 0
    bb_low_rank_norm norm; ///< norm of the current tile
} bb_low_rank_room;

/// Maximum number of terms of a tile: with more it is cheaper dense.
bb_index bb_low_rank_tile_most_terms(bb_index rows, bb_index cells);

/// Bytes of a workspace, and a workspace in memory of that size.
size_t bb_low_rank_room_bytes(bb_index rows, bb_index cells);
bb_low_rank_room bb_low_rank_room_in(void *memory, bb_index rows, bb_index cells);

/// Gaussian columns shared by all tiles, [rank][cells] of a workspace: Philox, one number per
/// address.
void bb_low_rank_tile_gaussians(bb_index count, double *out);

/// Compressed form of a tile; owner: the caller, who releases `v` and `u`.
typedef struct bb_low_rank_form {
    bool dense;
    bb_index narrow, wide; ///< number of terms, or rows of a dense tile, in each width
    double error;          ///< Frobenius norm, of E L if a norm is given
    unsigned char *v;      ///< fp32 rows [wide][cells], then fp16 rows [narrow][cells]
    float *u_wide;         ///< [wide][rows], unused for a dense tile
    uint16_t *u_narrow;    ///< [narrow][rows]
    float *scale;          ///< [wide + narrow], the wide ones first
} bb_low_rank_form;

/// `values` of `cells` are the tile's own, without padding: the n of m n. Errors: BB_MEMORY,
/// BB_INTERNAL (LAPACK).
BB_CHECKED bb_status bb_low_rank_tile_compress(bb_low_rank_room *room, const double *gaussians,
                                               bb_index rows, bb_index cells, bb_index values,
                                               double tolerance, bool all_wide,
                                               bb_low_rank_form *out);
void bb_low_rank_form_release(bb_low_rank_form *form);

#endif
