// SPDX-License-Identifier: Apache-2.0
//
// Edits of an HDF5 file chosen by the fuzzer: contents, types, shapes, names and links. Damaged
// bytes would only exercise libhdf5, which is not instrumented; its crashes are caught in a child
// process (core/isolation.h). The library writes every file here, so that the reader is the target.
#ifndef BB_TESTS_FUZZ_HDF5_EDIT_H
#define BB_TESTS_FUZZ_HDF5_EDIT_H

#include "tests/fuzz/fuzz_input.h"

#include <hdf5.h>

enum { EDIT_NAMES = 400, EDIT_NAME_BYTES = 128, EDIT_MOST = 12 };

/// Paths of the objects of a file.
typedef struct edit_names {
    char items[EDIT_NAMES][EDIT_NAME_BYTES];
    unsigned count;
} edit_names;

static edit_names edit_objects;

static inline herr_t edit_collect(hid_t file, const char *name, const H5O_info_t *info,
                                  void *context)
{
    edit_names *names = context;
    (void)file;
    (void)info;
    if (names->count < EDIT_NAMES && strlen(name) < EDIT_NAME_BYTES &&
        strncmp(name, "provenance", 10) != 0) {
        (void)snprintf(names->items[names->count++], EDIT_NAME_BYTES, "%s", name);
    }
    return 0;
}

static inline const char *edit_object(fuzz_input *in)
{
    const unsigned low = fuzz_take(in);
    return edit_objects.count == 0
               ? "."
               : edit_objects.items[(low | (unsigned)fuzz_take(in) << 8) % edit_objects.count];
}

// Creates a type that another program could have written.
static inline hid_t edit_type(fuzz_input *in)
{
    hid_t type = -1;
    const uint8_t kind = fuzz_take(in);
    switch (kind % 10) {
    case 0:
        return H5Tcopy(H5T_IEEE_F32LE);
    case 1:
        return H5Tcopy(H5T_IEEE_F64BE);
    case 2:
        return H5Tcopy(H5T_STD_I32LE);
    case 3:
        type = H5Tcopy(H5T_C_S1);
        (void)H5Tset_size(type, H5T_VARIABLE);
        return type;
    case 4:
        type = H5Tcopy(H5T_C_S1);
        (void)H5Tset_size(type, (size_t)1 + kind);
        return type;
    case 5:
        return H5Tvlen_create(H5T_NATIVE_DOUBLE);
    case 6:
        type = H5Tcreate(H5T_COMPOUND, 16);
        (void)H5Tinsert(type, "r", 0, H5T_NATIVE_DOUBLE);
        (void)H5Tinsert(type, "i", 8, H5T_NATIVE_DOUBLE);
        return type;
    case 7:
        return H5Tenum_create(H5T_NATIVE_INT);
    default:
        return H5Tcopy(H5T_IEEE_F64LE);
    }
}

static inline hid_t edit_space(fuzz_input *in)
{
    hsize_t shape[6];
    const int rank = fuzz_take(in) % 7;
    if (rank == 6) {
        return H5Screate(H5S_NULL);
    }
    for (int a = 0; a < rank; ++a) {
        shape[a] = fuzz_take(in) % 9;
    }
    return rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, shape, NULL);
}

// Writes values chosen by input bytes as doubles or texts, if the type is numeric or text.
static inline void edit_write(fuzz_input *in, hid_t object, hid_t type, hid_t space, bool attribute)
{
    static double numbers[8 * 8 * 8 * 8 * 8];
    static const char *texts[8 * 8 * 8 * 8 * 8];
    static const char *const words[] = {"",    "ok",       "not_spd", "reference", "x, y",
                                        "m/K", "complete", "wafer",   "1e999",     "\xff\xfe"};
    static const double odd[] = {0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-320, 3.5};
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    for (hssize_t i = 0; i < count && i < 8 * 8 * 8 * 8 * 8; ++i) {
        const uint8_t byte = fuzz_take(in);
        numbers[i] = byte < 8 ? odd[byte] : byte == 8 ? 0.0 / 0.0 : byte == 9 ? 1.0 / 0.0 : byte;
        texts[i] = words[byte % 10];
    }
    const bool text = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
    const bool number = H5Tget_class(type) == H5T_FLOAT || H5Tget_class(type) == H5T_INTEGER;
    if (count > 0 && (text || number)) {
        const hid_t memory = text ? type : H5T_NATIVE_DOUBLE;
        const void *source = text ? (const void *)texts : numbers;
        (void)(attribute ? H5Awrite(object, memory, source)
                         : H5Dwrite(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, source));
    }
}

static inline void edit_attribute(fuzz_input *in, hid_t file)
{
    static const char *const names[] = {
        "units",          "long_name",  "digest",      "measured",      "status",       "title",
        "results_digest", "experiment", "axis",        "source",        "mesh_columns", "mesh_rows",
        "made_for",       "CLASS",      "row_columns", "DIMENSION_LIST"};
    const char *object = fuzz_take(in) % 4 == 0 ? "." : edit_object(in);
    const char *name = names[fuzz_take(in) % 16];
    const hid_t owner = H5Oopen(file, object, H5P_DEFAULT);
    const hid_t type = edit_type(in);
    const hid_t space = edit_space(in);
    (void)H5Adelete(owner, name);
    if (fuzz_take(in) % 4 != 0) {
        const hid_t made = H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        if (made >= 0) {
            edit_write(in, made, type, space, true);
        }
        (void)H5Aclose(made);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Oclose(owner);
}

static inline void edit_dataset(fuzz_input *in, hid_t file)
{
    const char *object = edit_object(in);
    const hid_t type = edit_type(in);
    const hid_t space = edit_space(in);
    (void)H5Ldelete(file, object, H5P_DEFAULT);
    const hid_t made = H5Dcreate2(file, object, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (made >= 0) {
        edit_write(in, made, type, space, false);
    }
    (void)H5Dclose(made);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

// Overwrites the values of an existing dataset.
static inline void edit_values(fuzz_input *in, hid_t file)
{
    const hid_t object = H5Dopen2(file, edit_object(in), H5P_DEFAULT);
    if (object >= 0) {
        const hid_t type = H5Dget_type(object);
        const hid_t space = H5Dget_space(object);
        if (H5Sget_simple_extent_npoints(space) <= 8 * 8 * 8 * 8 * 8) {
            edit_write(in, object, type, space, false);
        }
        (void)H5Sclose(space);
        (void)H5Tclose(type);
        (void)H5Dclose(object);
    }
}

static inline void edit_link(fuzz_input *in, hid_t file)
{
    const char *object = edit_object(in);
    const char *target = edit_object(in);
    const uint8_t kind = fuzz_take(in);
    (void)H5Ldelete(file, object, H5P_DEFAULT);
    switch (kind % 5) {
    case 0:
        (void)H5Lcreate_soft(target, file, object, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 1:
        (void)H5Lcreate_hard(file, target, file, object, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 2:
        (void)H5Lcreate_external("/dev/null", "/x", file, object, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 3: {
        const hid_t group = H5Gcreate2(file, object, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        (void)H5Gclose(group);
        break;
    }
    default:
        break; // only deletes the link
    }
}

/// Edits the file at `path` as given by the input.
static inline void edit_file(const char *path, fuzz_input *in)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    fuzz_demand(file >= 0, "a file to edit");
    edit_objects.count = 0;
    (void)H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, edit_collect, &edit_objects, H5O_INFO_BASIC);
    for (int e = 0; e < EDIT_MOST && in->size > 0; ++e) {
        switch (fuzz_take(in) % 4) {
        case 0:
            edit_attribute(in, file);
            break;
        case 1:
            edit_dataset(in, file);
            break;
        case 2:
            edit_values(in, file);
            break;
        default:
            edit_link(in, file);
        }
    }
    (void)H5Fclose(file);
}

/// Writes the digest quoted in the reader's message to the attribute where the reader expects it.
static inline bool edit_mend(const char *path, const char *object, const char *attribute)
{
    static const char found[] = " have digest ";
    const char *phrase = strstr(bb_status_message(), found);
    char digest[40];
    if (phrase == NULL) {
        return false;
    }
    (void)snprintf(digest, sizeof digest, "%.32s", phrase + strlen(found));
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t owner = H5Oopen(file, object, H5P_DEFAULT);
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t space = H5Screate(H5S_SCALAR);
    (void)H5Tset_size(type, 33);
    (void)H5Adelete(owner, attribute);
    const hid_t made = H5Acreate2(owner, attribute, type, space, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Awrite(made, type, digest);
    (void)H5Aclose(made);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Oclose(owner);
    (void)H5Fclose(file);
    return true;
}

#endif
