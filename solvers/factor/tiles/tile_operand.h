// SPDX-License-Identifier: Apache-2.0
//
// Operand of a product: values of a tile rounded to the operand format of a variant. Products
// of such values are exact in fp32 (those of fp32 and fp64 are rounded by the BLAS).
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_OPERAND_H
#define BB_SOLVERS_FACTOR_TILES_TILE_OPERAND_H

#include "solvers/factor/tiles/tile_matrix.h"

/// A bb_format (e4m3: with a power of two per tile), or the two planes of x3.
typedef int bb_operand;
enum { BB_OPERAND_SPLIT = BB_FORMAT_COUNT, BB_OPERAND_COUNT };

bb_operand bb_tile_operand_of(bb_variant variant);

/// Bytes per value on the CPU: a double for fp64, two floats for x3, otherwise a float.
size_t bb_tile_operand_bytes(bb_operand operand);

/// True if a tile's stored values are the operand.
bool bb_tile_has_operand(const bb_tile *tile, bb_operand operand);

/// The tile's values: doubles for a dp tile, otherwise floats.
const void *bb_tile_values(const bb_tile *tile);

/// Writes the tile's operand to `copy` [rows][columns]; x3: hi [rows][columns], then lo. A dp tile
/// is rounded to fp32 before a narrower format. Returns the number of saturated values.
bb_index bb_tile_convert(const bb_tile *tile, bb_operand operand, void *copy);

/// Scale of e4m3 operands: the power of two that brings the largest magnitude to (224, 448]; 1 for
/// zeros or if a value is not finite.
float bb_tile_operand_scale(const float *values, bb_index count);

/// Rounds the tile's values to the precision of two fp16 planes.
void bb_tile_round_to_planes(bb_tile *tile);

/// The tile's values in fp32: its own array, or a converted copy in `scratch`.
const float *bb_tile_as_f32(const bb_tile *tile, float *scratch);

#endif
