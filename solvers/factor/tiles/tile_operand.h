// SPDX-License-Identifier: Apache-2.0
//
// Operand of a product: values of a tile rounded to the operand format of a variant. Products
// of such values are exact in fp32 (those of fp32 and fp64 are rounded by the BLAS).
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_OPERAND_H
#define BB_SOLVERS_FACTOR_TILES_TILE_OPERAND_H

#include "solvers/factor/tiles/tile_matrix.h"

/// A bb_format (e4m3: with a power of two a tile), or the two planes of x3.
typedef int bb_operand;
enum { BB_OPERAND_SPLIT = BB_FORMAT_COUNT, BB_OPERAND_COUNT };

bb_operand bb_tile_operand_of(bb_variant variant);

/// Bytes a value on the CPU: doubles for fp64, two floats for x3, a float otherwise.
size_t bb_tile_operand_bytes(bb_operand operand);

/// Whether a tile's own values are its operand.
bool bb_tile_has_operand(const bb_tile *tile, bb_operand operand);

/// The tile's values: doubles of a dp tile, floats of any other.
const void *bb_tile_values(const bb_tile *tile);

/// The tile's operand (a dp tile passes through fp32 on its way to a narrower format) in `copy`
/// [rows][columns]; x3: hi [rows][columns], then lo. Returns the number of saturated values.
bb_index bb_tile_convert(const bb_tile *tile, bb_operand operand, void *copy);

/// What e4m3 operands are scaled by: 2^e that brings the largest magnitude to (224, 448]; 1 for
/// zeros or where one is not finite.
float bb_tile_operand_scale(const float *values, bb_index count);

/// Rounds the tile's values to what two fp16 planes hold.
void bb_tile_round_to_planes(bb_tile *tile);

/// The tile's values in fp32: its own array, or a converted copy in `scratch`.
const float *bb_tile_as_f32(const bb_tile *tile, float *scratch);

#endif
