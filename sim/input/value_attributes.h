// SPDX-License-Identifier: Apache-2.0
//
// Attributes of an HDF5 dataset by which its numbers are undefined or packed.
//
// NetCDF's conventions (NetCDF Users Guide, appendix A: _FillValue, missing_value, valid_min,
// valid_max, valid_range, scale_factor, add_offset; its default fill values) and `No Data`
// of Zygo's .datx files. Every reader of users' datasets follows them: an undefined number is NaN
// to it, or is refused.
#ifndef BB_SIM_INPUT_VALUE_ATTRIBUTES_H
#define BB_SIM_INPUT_VALUE_ATTRIBUTES_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { BB_VALUE_ATTRIBUTES_MISSING = 16 };

typedef struct bb_value_attributes {
    double missing[BB_VALUE_ATTRIBUTES_MISSING]; ///< stored numbers that are undefined
    int missing_count;
    double least, most;   ///< stored numbers outside are undefined; infinite: no limit
    double scale, offset; ///< number = scale x stored + offset; 1 and 0 where not packed
} bb_value_attributes;

/// Reads those of a dataset of numbers and of its datatype (both a hid_t). Errors: BB_IO,
/// BB_INVALID (an attribute that is no number, more than there is room for, a scale that is not
/// finite or is 0, an offset that is not finite, limits of floats for packed integers).
BB_CHECKED bb_status bb_value_attributes_read(int64_t dataset, int64_t type,
                                              bb_value_attributes *out);

/// Whether numbers are stored by a scale or an offset.
bool bb_value_attributes_packed(const bb_value_attributes *attributes);

/// Whether a stored number is undefined by an attribute. NaN is so by itself: false.
bool bb_value_attributes_undefined(const bb_value_attributes *attributes, double stored);

/// Makes stored numbers [count] what they stand for, NaN where they are undefined.
void bb_value_attributes_decode(const bb_value_attributes *attributes, bb_index count,
                                double *values);

#endif
