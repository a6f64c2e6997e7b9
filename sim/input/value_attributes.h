// SPDX-License-Identifier: Apache-2.0
//
// Attributes of an HDF5 dataset that mark undefined numbers or describe packing.
//
// NetCDF's conventions (NetCDF Users Guide, appendix A: _FillValue, missing_value, valid_min,
// valid_max, valid_range, scale_factor, add_offset; its default fill values) and `No Data` of
// Zygo's .datx files. Every reader of user datasets follows them: an undefined number is read as
// NaN or refused.
#ifndef BB_SIM_INPUT_VALUE_ATTRIBUTES_H
#define BB_SIM_INPUT_VALUE_ATTRIBUTES_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { BB_VALUE_ATTRIBUTES_MISSING = 16 };

typedef struct bb_value_attributes {
    double missing[BB_VALUE_ATTRIBUTES_MISSING]; ///< stored numbers that mark undefined values
    int missing_count;
    double least, most;   ///< stored numbers outside are undefined; infinite: no limit
    double scale, offset; ///< number = scale x stored + offset; 1 and 0 if not packed
} bb_value_attributes;

/// Reads the attributes of a numeric dataset and of its datatype (both a hid_t). Errors: BB_IO,
/// BB_INVALID (an attribute that is not numeric, more values than the struct has room for, a scale
/// that is not finite or is 0, an offset that is not finite, floating-point limits of packed
/// integers).
BB_CHECKED bb_status bb_value_attributes_read(int64_t dataset, int64_t type,
                                              bb_value_attributes *out);

/// True if numbers are stored with a scale or an offset.
bool bb_value_attributes_packed(const bb_value_attributes *attributes);

/// True if an attribute marks a stored number as undefined. False for NaN, which is undefined by
/// itself.
bool bb_value_attributes_undefined(const bb_value_attributes *attributes, double stored);

/// Converts stored numbers [count] to values, NaN where undefined.
void bb_value_attributes_decode(const bb_value_attributes *attributes, bb_index count,
                                double *values);

#endif
