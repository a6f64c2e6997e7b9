// SPDX-License-Identifier: Apache-2.0
//
// Memory layout of a low_rank matrix, for kernels: bands of rows by tiles of columns, each tile C =
// U S V with k terms, or dense. After Ltaief et al. (TLR-MVM, SC21), whose stacked U makes the
// second phase of a product one contiguous matrix; terms of two widths after Kriemann's valr (arXiv
// 2405.03456): a term is stored in fp16 if its rounding error is small against the tolerance.
//
// A band has its terms in one list: those in fp16, zero padding to a multiple of 8, those in fp32,
// zero padding to a multiple of 4, then one term for each row of each dense tile. With t[term] =
// scale[term] (row of V) . (x of the tile), row i of the band is
//     y[i] = u_narrow[i] . t + u_wide[i] . (t + narrow) + sum over dense tiles t[tile's term + i].
//
// A row of V is a tile's columns line by line of the mesh, each line zero-padded to a multiple of
// 8: 16 bytes of fp16. Tiles at the mesh's borders are smaller.
#ifndef BB_PRECISION_CODECS_LOW_RANK_H
#define BB_PRECISION_CODECS_LOW_RANK_H

#include "precision/coded_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_LOW_RANK_CELLS = 1024,    ///< maximum cells of a tile, with padded lines
    BB_LOW_RANK_BAND_LINES = 16, ///< maximum lines of a band
    BB_LOW_RANK_ITEM_NARROW = 4, ///< rows of V processed at once by one warp of a GPU
    BB_LOW_RANK_ITEM_WIDE = 2,
};

/// The mesh of columns cut into tiles, row-major.
typedef struct bb_low_rank_mesh {
    bb_index columns, lines;           ///< columns and lines of the mesh
    bb_index tile_columns, tile_lines; ///< columns and lines of a tile
    bb_index across, down;             ///< tiles
} bb_low_rank_mesh;

/// Position and terms of a tile.
typedef struct bb_low_rank_place {
    bb_index column, line; ///< of the mesh
    bb_index columns, lines;
    bb_index pitch; ///< columns padded to a multiple of 8
} bb_low_rank_place;

bb_low_rank_place bb_low_rank_place_of(const bb_low_rank_mesh *mesh, bb_index tile);

typedef struct bb_low_rank_tile {
    bool dense;              ///< rows of V are the rows of the matrix, in one of the two widths
    int narrow, wide;        ///< rows of V in fp16 and in fp32; both 0: a zero tile
    bb_index narrow_term;    ///< index in the band; dense: of its first row, in either width
    bb_index wide_term;      ///< as narrow_term
    size_t narrow_v, wide_v; ///< byte offsets in the band's V, multiples of 16
    double error;            ///< Frobenius norm of decoded minus exact values
} bb_low_rank_tile;

typedef struct bb_low_rank_band {
    bb_index row, rows;
    bb_index narrow, wide; ///< terms in fp16 and in fp32, multiples of 8 and 4: pitches of U
    bb_index terms;        ///< total, including dense tiles
    bb_index dense_tiles;
    bb_low_rank_tile *tiles; ///< [across * down]
    unsigned char *v;
    size_t v_bytes;
    uint16_t *u_narrow; ///< [rows][narrow]
    float *u_wide;      ///< [rows][wide]
    float *scale;       ///< [terms], powers of two, or 0 for padding
} bb_low_rank_band;

/// One warp's work in the first phase of a product: several rows of V of one tile.
typedef struct bb_low_rank_item {
    uint32_t v;    ///< 16-byte units from the matrix's first V
    uint32_t term; ///< index in the matrix
    uint32_t column, line;
    uint16_t columns, lines;
    uint16_t rows, wide; ///< number of rows, and whether in fp32
} bb_low_rank_item;

/// NULL and 0 for matrices of other codecs.
const bb_low_rank_mesh *bb_coded_matrix_low_rank_mesh(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_low_rank_bands(const bb_coded_matrix *matrix);

/// A band; the last one may have fewer rows.
const bb_low_rank_band *bb_coded_matrix_low_rank_band(const bb_coded_matrix *matrix, bb_index band);

/// Lists the items of a band, with V and terms relative to the band; `out` may be NULL. Returns
/// their number.
bb_index bb_low_rank_items(const bb_low_rank_band *band, const bb_low_rank_mesh *mesh,
                           bb_low_rank_item *out);

#ifdef __cplusplus
}
#endif

#endif
