// SPDX-License-Identifier: Apache-2.0
//
// An entry of noise_source.h, for its C and its CUDA twin.
#ifndef BB_BENCH_NOISE_CORE_H
#define BB_BENCH_NOISE_CORE_H

#include "core/array.h"
#include "core/portable.h"

#include <stdint.h>

/// The mixing steps are those of splitmix64 (Steele, Lea and Flood 2014).
BB_DEVICE_FUNCTION
double bb_noise_entry(double scale, bb_index row, bb_index column)
{
    const uint64_t low = (uint64_t)(row < column ? row : column);
    const uint64_t high = (uint64_t)(row < column ? column : row);
    uint64_t bits = low * 0x9E3779B97F4A7C15U + high * 0xC2B2AE3D27D4EB4FU + 0x165667B19E3779F9U;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBU;
    bits ^= bits >> 31;
    return row == column ? 1.0 : scale * ((double)(bits >> 11) * 0x1p-52 - 1.0);
}

#endif
