// SPDX-License-Identifier: Apache-2.0
//
// What a zfp stream does not say of itself: the parameters that its blocks were coded with, and the
// array that they make up.
#ifndef BB_PRECISION_CODECS_ZFP_ZFP_SETTINGS_H
#define BB_PRECISION_CODECS_ZFP_ZFP_SETTINGS_H

#include "core/status.h"

/// libzfp's own parameters, which every mode is a choice of: fixed rate sets minimum_bits =
/// maximum_bits, fixed precision maximum_precision, fixed accuracy minimum_exponent; below -1074
/// that means the reversible mode.
typedef struct bb_zfp_settings {
    unsigned minimum_bits, maximum_bits, maximum_precision; ///< of a block
    int minimum_exponent;
} bb_zfp_settings;

/// An array [nw][nz][ny][nx]; extents are 1 beyond `dimensions`. Of a band of a matrix, nz and nw
/// are rows.
typedef struct bb_zfp_shape {
    int dimensions;
    bb_index nx, ny, nz, nw;
} bb_zfp_shape;

#endif
