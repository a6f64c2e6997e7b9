// SPDX-License-Identifier: Apache-2.0
#include "sim/input/value_attributes.h"

#include "sim/input/hdf5_library.h"

#include <hdf5.h>
#include <math.h>

// Reads up to `most` numbers of an attribute into `out`; `*count` is 0 if it is absent.
static bb_status read_numbers(hid_t dataset, const char *name, int most, double *out, int *count)
{
    bb_status status = BB_OK;
    hid_t attribute = -1, type = -1, space = -1;
    *count = 0;
    if (H5Aexists(dataset, name) <= 0) {
        goto done;
    }
    attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    type = H5Aget_type(attribute);
    space = H5Aget_space(attribute);
    BB_REQUIRE(type >= 0 && space >= 0, BB_IO, "cannot read attribute '%s': %s", name,
               bb_hdf5_library_error());
    const H5T_class_t class = H5Tget_class(type);
    const hssize_t length = H5Sget_simple_extent_npoints(space);
    BB_REQUIRE((class == H5T_FLOAT || class == H5T_INTEGER) && length >= 1 && length <= most,
               BB_INVALID, "attribute '%s' is %s, expected %s", name,
               class == H5T_FLOAT || class == H5T_INTEGER ? "of another length" : "not numeric",
               most == 1 ? "a number" : "a few numbers");
    BB_REQUIRE(H5Aread(attribute, H5T_NATIVE_DOUBLE, out) >= 0, BB_IO,
               "cannot read attribute '%s': %s", name, bb_hdf5_library_error());
    *count = (int)length;
done:
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return status;
}

// Rounds a number to the dataset's type: 1e20 of 64 bits also marks values of 32 bits.
static double round_to(hid_t type, double number)
{
    union {
        double number;
        unsigned char bytes[64];
    } stored = {.number = number};
    if (H5Tget_size(type) > sizeof stored.bytes ||
        H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, stored.bytes, NULL, H5P_DEFAULT) < 0 ||
        H5Tconvert(type, H5T_NATIVE_DOUBLE, 1, stored.bytes, NULL, H5P_DEFAULT) < 0) {
        return number;
    }
    // A number that the type cannot represent, such as -9999 for unsigned integers, marks nothing.
    return fabs(stored.number - number) <= 1e-3 * fabs(number) ? stored.number : number;
}

static bb_status read_missing(hid_t dataset, hid_t type, bb_value_attributes *out)
{
    static const char *const names[] = {"_FillValue", "missing_value", "No Data"};
    bb_status status = BB_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        double *next = out->missing + out->missing_count;
        int count = 0;
        BB_TRY(read_numbers(dataset, names[i], BB_VALUE_ATTRIBUTES_MISSING - out->missing_count,
                            next, &count));
        for (int k = 0; k < count; ++k) {
            next[k] = round_to(type, next[k]);
        }
        out->missing_count += count;
    }
done:
    return status;
}

// Default fill value of NetCDF for a type, used without an attribute (NC_FILL_FLOAT, NC_FILL_SHORT
// etc.); NaN for bytes, which NetCDF does not fill.
static double default_fill(hid_t type)
{
    const size_t size = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_FLOAT) {
        return 0x1.ep+122;
    }
    if (size < 2) {
        return NAN;
    }
    const double range =
        ldexp(1.0, 8 * (int)size); // for 64 bits the last units are lost in rounding
    return H5Tget_sign(type) == H5T_SGN_NONE ? range - (size < 8 ? 1.0 : 2.0)
                                             : 1.0 - range / 2.0 + (size < 8 ? 0.0 : 1.0);
}

static bb_status read_fill(hid_t dataset, hid_t type, bb_value_attributes *out)
{
    bb_status status = BB_OK;
    H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
    double fill = 0.0;
    const hid_t list = H5Dget_create_plist(dataset);
    BB_REQUIRE(list >= 0 && H5Pfill_value_defined(list, &kind) >= 0 &&
                   (kind != H5D_FILL_VALUE_USER_DEFINED ||
                    H5Pget_fill_value(list, H5T_NATIVE_DOUBLE, &fill) >= 0),
               BB_IO, "cannot read its fill value: %s", bb_hdf5_library_error());
    if (fill == default_fill(type) && out->missing_count < BB_VALUE_ATTRIBUTES_MISSING) {
        out->missing[out->missing_count++] = fill;
    }
done:
    (void)H5Pclose(list);
    return status;
}

static bool is_float(hid_t dataset, const char *name)
{
    if (H5Aexists(dataset, name) <= 0) {
        return false;
    }
    const hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    const hid_t type = H5Aget_type(attribute);
    const bool found = H5Tget_class(type) == H5T_FLOAT;
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return found;
}

// Refuses floating-point limits of packed integers: they could refer to the numbers or to the
// stored values.
static bb_status check_limits(hid_t dataset, hid_t type, const bb_value_attributes *attributes)
{
    static const char *const names[] = {"valid_min", "valid_max", "valid_range"};
    bb_status status = BB_OK;
    const bool packed = H5Tget_class(type) == H5T_INTEGER && bb_value_attributes_packed(attributes);
    for (size_t i = 0; packed && i < sizeof names / sizeof *names; ++i) {
        BB_REQUIRE(!is_float(dataset, names[i]), BB_INVALID,
                   "attribute '%s' has floats for packed integers, expected integers like the "
                   "stored values",
                   names[i]);
    }
done:
    return status;
}

static bb_status read_limits(hid_t dataset, hid_t type, bb_value_attributes *out)
{
    bb_status status = BB_OK;
    double range[2];
    int count = 0;
    BB_TRY(read_numbers(dataset, "valid_min", 1, &out->least, &count));
    BB_TRY(read_numbers(dataset, "valid_max", 1, &out->most, &count));
    BB_TRY(read_numbers(dataset, "valid_range", 2, range, &count));
    BB_REQUIRE(count != 1, BB_INVALID, "attribute 'valid_range' is one number, expected two");
    if (count == 2) {
        out->least = range[0];
        out->most = range[1];
    }
    out->least = round_to(type, out->least);
    out->most = round_to(type, out->most);
done:
    return status;
}

bb_status bb_value_attributes_read(int64_t dataset, int64_t type, bb_value_attributes *out)
{
    bb_status status = BB_OK;
    int count = 0;
    *out = (bb_value_attributes){.least = -INFINITY, .most = INFINITY, .scale = 1.0};
    BB_TRY(read_missing(dataset, type, out));
    BB_TRY(read_limits(dataset, type, out));
    if (H5Tget_class(type) == H5T_FLOAT || H5Tget_class(type) == H5T_INTEGER) {
        BB_TRY(read_fill(dataset, type, out));
    }
    BB_TRY(read_numbers(dataset, "scale_factor", 1, &out->scale, &count));
    BB_TRY(read_numbers(dataset, "add_offset", 1, &out->offset, &count));
    BB_REQUIRE(isfinite(out->scale) && out->scale != 0.0 && isfinite(out->offset), BB_INVALID,
               "attributes 'scale_factor' %g and 'add_offset' %g, expected finite numbers, the "
               "first not 0",
               out->scale, out->offset);
    BB_TRY(check_limits(dataset, type, out));
done:
    return status;
}

bool bb_value_attributes_packed(const bb_value_attributes *attributes)
{
    return attributes->scale != 1.0 || attributes->offset != 0.0;
}

bool bb_value_attributes_undefined(const bb_value_attributes *attributes, double stored)
{
    bool undefined = stored < attributes->least || stored > attributes->most;
    for (int k = 0; k < attributes->missing_count && !undefined; ++k) {
        undefined = stored == attributes->missing[k];
    }
    return undefined;
}

void bb_value_attributes_decode(const bb_value_attributes *attributes, bb_index count,
                                double *values)
{
    const bool packed = bb_value_attributes_packed(attributes);
    const bool whole = attributes->missing_count == 0 && attributes->least == -INFINITY &&
                       attributes->most == INFINITY;
    for (bb_index i = 0; i < count && (packed || !whole); ++i) {
        if (bb_value_attributes_undefined(attributes, values[i])) {
            values[i] = NAN;
        } else if (packed) {
            values[i] = attributes->scale * values[i] + attributes->offset;
        }
    }
}
