// SPDX-License-Identifier: Apache-2.0
//
// One tile to its low-rank or dense form: inside of precision/.
//
// A randomised range finder that keeps its remainder (Martinsson & Voronin, SIAM J. Sci. Comput.
// 38, 2016): Y = R G for a few more Gaussian columns, Q = orth(Y), B = Q^T R, R <- R - Q B, twice
// as many columns every time, until ||R||_F is an eighth of what the tolerance leaves. The SVD of B
// orders the terms; their number and how many are in fp32 are the cheapest that hold
//     ||R||^2 + sum of dropped sigma^2 + sum of (sigma * rounding of u and v)^2 <= tolerance^2 m n,
// roundings as they are of the vectors at hand. The error of the result is then computed, and the
// choice repeated with less room where it is too large; a tile that is cheaper dense is dense.
//
// Sums over a tile's columns are kept more closely than its values, since a smooth input adds them
// up: of errors of the tolerance in the mean, all alike, n add up to n, independent ones to
// sqrt(n). So it is A W that is approximated, W = I + (sqrt(n) - 1) 1 1^T / n over the n columns
// that are not all zeros, and W taken from the terms again: a row's errors add up to at most what
// independent ones would, however few the terms. Where columns have a norm of their own, E costs
// ||E L||, W is L in the place of that, and all errors are those of E L, roundings included.
#ifndef BB_PRECISION_CODECS_LOW_RANK_TILE_H
#define BB_PRECISION_CODECS_LOW_RANK_TILE_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/// L [columns][stride] of a tile's columns, lower triangular, positive on the diagonal, in the
/// order of its cells; those that fill it up have none.
typedef struct bb_low_rank_norm {
    const double *factor; ///< borrowed; NULL: values count as they are
    bb_index columns, stride;
} bb_low_rank_norm;

/// Workspace for tiles of up to `rows` x `cells`.
typedef struct bb_low_rank_room {
    bb_index rows, cells, rank; ///< rank: most columns of Q
    double *tile;               ///< [rows][cells] exact values, lines filled up with zeros
    double *rest, *q, *b, *left, *right, *core, *sigma, *rounding, *tau, *work;
    double *live;          ///< [cells], 1 where a column of the tile is not all zeros, else 0
    bb_low_rank_norm norm; ///< of the tile at hand
} bb_low_rank_room;

/// Most terms of a tile: with more it is cheaper dense.
bb_index bb_low_rank_tile_most_terms(bb_index rows, bb_index cells);

/// Bytes of a room, and a room in memory of as many.
size_t bb_low_rank_room_bytes(bb_index rows, bb_index cells);
bb_low_rank_room bb_low_rank_room_in(void *memory, bb_index rows, bb_index cells);

/// Gaussian columns that all tiles share, [rank][cells] of a room: Philox, one number an address.
void bb_low_rank_tile_gaussians(bb_index count, double *out);

/// A tile's form; owner: the caller, who releases `v` and `u`.
typedef struct bb_low_rank_form {
    bool dense;
    bb_index narrow, wide; ///< terms, or rows of a dense tile, of each width
    double error;          ///< Frobenius norm, of E L where there is a norm
    unsigned char *v;      ///< fp32 rows [wide][cells], then fp16 rows [narrow][cells]
    float *u_wide;         ///< [wide][rows], not of a dense tile
    uint16_t *u_narrow;    ///< [narrow][rows]
    float *scale;          ///< [wide + narrow], of the wide ones first
} bb_low_rank_form;

/// `values` of `cells` are the tile's own, without what fills its lines up: the n of m n. Errors:
/// BB_MEMORY, BB_INTERNAL (LAPACK).
BB_CHECKED bb_status bb_low_rank_tile_compress(bb_low_rank_room *room, const double *gaussians,
                                               bb_index rows, bb_index cells, bb_index values,
                                               double tolerance, bool all_wide,
                                               bb_low_rank_form *out);
void bb_low_rank_form_release(bb_low_rank_form *form);

#endif
