// SPDX-License-Identifier: Apache-2.0
//
// Rounding with error diffusion: a value is rounded together with the rounding errors of its
// neighbours, so that errors cancel in sums with a smooth x. The stored words are ordinary words of
// the codec.
//
// A row lies on its mesh; e(i, j) is the rounding error passed on by column i of line j, zero off
// the mesh. The value is rounded after
//     in(i, j) = e(i - 1, j) + e(i, j - 1) - e(i - 1, j - 1)
// has been added, so the error of a stored value is E = in - e = -(1 - z_x)(1 - z_y) e: a mixed
// second difference, whose sum over the rectangle up to (i, j) is -e(i, j), and
//     E x = -sum e(i, j) [x(i, j) - x(i + 1, j) - x(i, j + 1) + x(i + 1, j + 1)],  x = 0 off it,
// small where x is smooth along either axis. (First-order noise shaping along both; Floyd and
// Steinberg 1976 is the filter 7 3 5 1 / 16, whose error is a first difference.) On a single line
// all of e goes to the right neighbour.
//
// Zeros stay zeros; values that the format cannot represent (NaN, infinity, beyond the largest, in
// a poisoned block) are stored as without diffusion; e skips both. e is limited per row, so that a
// clipped value does not propagate without bound.
#ifndef BB_PRECISION_CODECS_DIFFUSION_H
#define BB_PRECISION_CODECS_DIFFUSION_H

#include "core/array.h"
#include "precision/format.h"

/// Returns the largest |e| of a row whose largest representable magnitude is `largest`, scaled.
double bb_diffusion_format_limit(bb_format format, double largest);
double bb_diffusion_bfp_limit(int bits, double largest);

/// Replaces scale * values[columns] by values of `format` (fp16, bf16, e4m3, e5m2) or of blocks of
/// `bits` bits, which nearest rounding then stores unchanged; unrepresentable values are left
/// unchanged. The mesh is `across` wide, `above` [across] is workspace. Returns how many values
/// underflowed to zero.
bb_index bb_diffusion_format(bb_format format, double scale, const double *values, bb_index columns,
                             bb_index across, double *above, double *out);
bb_index bb_diffusion_bfp(int bits, double scale, const double *values, bb_index columns,
                          bb_index across, double *above, double *out);

#endif
