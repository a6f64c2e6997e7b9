// SPDX-License-Identifier: Apache-2.0
//
// Memory layout of a transform matrix, for products: blocks of lines and columns of the row grid by
// lines and columns of the mesh, each the coefficients of a separable orthonormal DCT-II,
//     T[k][j] = sqrt((k == 0 ? 1 : 2) / n) cos(pi k (2 j + 1) / (2 n)),
// along its four axes, divided by one step for the whole matrix and rounded to integers. The last
// block along an axis may be shorter: it has a transform of its own length, no padding.
//
// With A = step T_r' q T_c of every block, y = step T_r' sum over blocks of q (T_c x): a product
// uses the coefficients and never forms the values of A.
//
// Coefficients of a block are ordered by total sequency, the sum of their four frequencies, then by
// sum of squares, then by position.
#ifndef BB_PRECISION_CODECS_TRANSFORM_H
#define BB_PRECISION_CODECS_TRANSFORM_H

#include "core/portable.h"
#include "precision/coded_matrix.h"

#include <stdint.h>

// Words of a block, for host and device. A block is empty (every coefficient 0), one word
// (poisoned), or
//   a bit for each group of 32 coefficients that has a nonzero one, padded to whole words;
//   four bits for each of those groups, eight to a word: the code of its width;
//   each of those groups in turn, `width` words: coefficient i at bits [i width, (i + 1) width) in
//   two's complement, lowest first.

enum {
    BB_TRANSFORM_GROUP = 32, ///< coefficients that share a width
    BB_TRANSFORM_WIDE = 20,  ///< widths above 13
    BB_TRANSFORM_WIDEST = 32,
};

/// Returns the bits per coefficient for a code of 1 to 15.
BB_DEVICE_FUNCTION
int bb_transform_width(int code)
{
    return code < 14 ? code : code == 14 ? BB_TRANSFORM_WIDE : BB_TRANSFORM_WIDEST;
}

/// Returns the smallest code whose width suffices for `bits` of 0 to 32.
BB_DEVICE_FUNCTION
int bb_transform_code(int bits)
{
    return bits < 14 ? bits : bits <= BB_TRANSFORM_WIDE ? 14 : 15;
}

/// Returns the number of set bits.
BB_DEVICE_FUNCTION
int bb_transform_ones(uint32_t word)
{
    word -= word >> 1 & 0x55555555U;
    word = (word & 0x33333333U) + (word >> 2 & 0x33333333U);
    return (int)(((word + (word >> 4)) & 0x0f0f0f0fU) * 0x01010101U >> 24);
}

/// Returns the code of the width of the n-th nonzero group.
BB_DEVICE_FUNCTION
int bb_transform_code_at(const uint32_t *codes, int n)
{
    return (int)(codes[n / 8] >> (4 * (n % 8)) & 15U);
}

/// Returns coefficient i of a group.
BB_DEVICE_FUNCTION
int32_t bb_transform_quotient(const uint32_t *words, int width, int i)
{
    int bit = i * width;
    int shift = bit & 31;
    uint64_t pair = words[bit >> 5];
    if (shift + width > 32) {
        pair |= (uint64_t)words[(bit >> 5) + 1] << 32;
    }
    return (int32_t)((uint32_t)(pair >> shift) << (32 - width)) >> (32 - width);
}

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_TRANSFORM_VALUES = 8192, ///< maximum of a block
    BB_TRANSFORM_CELLS = 1024,  ///< maximum cells of a block: columns of the matrix
    BB_TRANSFORM_ROWS = 256,    ///< maximum rows of a block
    BB_TRANSFORM_GROUPS = BB_TRANSFORM_VALUES / BB_TRANSFORM_GROUP,
    BB_TRANSFORM_MAP = BB_TRANSFORM_GROUPS / 32,
    BB_TRANSFORM_WORDS =
        BB_TRANSFORM_MAP + BB_TRANSFORM_GROUPS / 8 + BB_TRANSFORM_VALUES, ///< limit
};

/// Axes: the first two of the row grid, the others of the mesh.
typedef enum bb_transform_axis {
    BB_TRANSFORM_ROW_LINES,
    BB_TRANSFORM_ROW_COLUMNS,
    BB_TRANSFORM_LINES,
    BB_TRANSFORM_COLUMNS,
    BB_TRANSFORM_AXES,
} bb_transform_axis;

/// Position of a coefficient: frequency along the rows' axes and along the cells', last axis
/// fastest.
typedef struct bb_transform_place {
    uint16_t row, cell;
} bb_transform_place;

/// Basis of one length: T [n][pitch] and its transpose, rows zero-padded.
typedef struct bb_transform_basis {
    bb_index n, pitch;
    double *forward, *inverse;
} bb_transform_basis;

typedef struct bb_transform_plan {
    bb_index extent[BB_TRANSFORM_AXES]; ///< length of the axes
    bb_index length[BB_TRANSFORM_AXES]; ///< lengths of a block
    bb_index count[BB_TRANSFORM_AXES];  ///< number of blocks; the last may be shorter
    double step;
    bb_transform_basis basis[BB_TRANSFORM_AXES][2]; ///< whole blocks, shorter last one (n 0: none)
    bb_transform_place *order[1 << BB_TRANSFORM_AXES]; ///< by kind of block; NULL: none
} bb_transform_plan;

/// One block: first cell and length along each axis.
typedef struct bb_transform_block {
    bb_index first[BB_TRANSFORM_AXES];
    bb_index size[BB_TRANSFORM_AXES];
    bb_index rows, cells; ///< products of the lengths
    unsigned kind;        ///< bit a: shorter along axis a
} bb_transform_block;

/// Block number of the grid of blocks along the row grid's lines and columns and the mesh
/// (row-major).
bb_transform_block bb_transform_block_of(const bb_transform_plan *plan, bb_index row_line,
                                         bb_index row_column, bb_index mesh_block);

/// Returns the row in the band of row i of a block.
static inline bb_index bb_transform_row_in_band(const bb_transform_plan *plan,
                                                const bb_transform_block *block, bb_index i)
{
    return i / block->size[1] * plan->extent[1] + block->first[1] + i % block->size[1];
}

const bb_transform_basis *bb_transform_basis_of(const bb_transform_plan *plan,
                                                const bb_transform_block *block,
                                                bb_transform_axis axis);

/// Applies the transform or its inverse to `input` [before][n][after] along the middle axis;
/// `input` and `out` differ.
void bb_transform_along(const bb_transform_basis *basis, bool back, bb_index before, bb_index after,
                        const double *input, double *out);

/// Transforms both axes of the mesh of `values` [before][lines][columns] of a block, in place;
/// `room` has the same size.
void bb_transform_cells(const bb_transform_plan *plan, const bb_transform_block *block, bool back,
                        bb_index before, double *values, double *room);

/// Transforms both axes of the rows of `values` [row lines][row columns][after], in place; `room`
/// has the same size.
void bb_transform_rows(const bb_transform_plan *plan, const bb_transform_block *block, bool back,
                       bb_index after, double *values, double *room);

/// Computes bases and orders for the extents and lengths set in the plan. Errors: BB_MEMORY;
/// bb_transform_plan_release also frees a partial plan.
BB_CHECKED bb_status bb_transform_plan_make(bb_transform_plan *plan);
void bb_transform_plan_release(bb_transform_plan *plan);

/// Packs a block from its quotients [rows][cells]; returns the number of words, at most
/// BB_TRANSFORM_WORDS.
bb_index bb_transform_pack(const bb_transform_plan *plan, const bb_transform_block *block,
                           const int32_t *quotients, uint32_t *out);

/// A band of rows: `length[BB_TRANSFORM_ROW_LINES]` lines of the row grid, fewer in the last.
typedef struct bb_transform_band {
    bb_index row, rows;
    uint32_t *words;
    uint32_t *first; ///< [blocks of a line of rows][blocks of the mesh] + 1: first words
} bb_transform_band;

/// State of reading the groups of a block.
typedef struct bb_transform_reader {
    const bb_transform_place *order; ///< coefficient order of the group just read
    int32_t quotient[BB_TRANSFORM_GROUP];
    int count;     ///< its coefficients; fewer in a block's last group
    bool poisoned; ///< the block decodes to NaN; it has no groups
    const bb_transform_place *first_order;
    const uint32_t *map, *codes, *words;
    int values, groups, group, taken;
} bb_transform_reader;

/// Starts reading a block; `number` is its index in the band's `first`.
bb_transform_reader bb_transform_read(const bb_transform_plan *plan, const bb_transform_band *band,
                                      const bb_transform_block *block, bb_index number);

/// Reads the next group with a nonzero coefficient; false at the end.
bool bb_transform_next(bb_transform_reader *reader);

/// NULL and 0 for matrices of other codecs.
const bb_transform_plan *bb_coded_matrix_transform_plan(const bb_coded_matrix *matrix);
bb_index bb_coded_matrix_transform_bands(const bb_coded_matrix *matrix);
const bb_transform_band *bb_coded_matrix_transform_band(const bb_coded_matrix *matrix,
                                                        bb_index band);

/// Adopts a band encoded elsewhere: the matrix then owns its words and index. Different threads may
/// adopt different bands at once.
void bb_coded_matrix_transform_adopt(bb_coded_matrix *matrix, bb_index number,
                                     bb_transform_band *band);

#ifdef __cplusplus
}
#endif

#endif
