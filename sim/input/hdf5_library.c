// SPDX-License-Identifier: Apache-2.0
#include "sim/input/hdf5_library.h"

#include "core/suggestion.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ZFP_FILTER = 32013, ACCURACY = 3, VALUES = 4 };

bool bb_hdf5_library_has_zfp(void)
{
    return H5Zfilter_avail(ZFP_FILTER) > 0;
}

bb_status bb_hdf5_library_require_zfp(void)
{
    bb_status status = BB_OK;
    BB_REQUIRE(bb_hdf5_library_has_zfp(), BB_IO,
               "zfp as an HDF5 filter (%d) is not available: install Debian's "
               "hdf5-filter-plugin-zfp-serial, or set HDF5_PLUGIN_PATH to the plugin's folder",
               (int)ZFP_FILTER);
done:
    return status;
}

bb_status bb_hdf5_library_add_zfp(int64_t list, double tolerance)
{
    bb_status status = BB_OK;
    unsigned values[VALUES] = {ACCURACY, 0, 0, 0};
    BB_TRY(bb_hdf5_library_require_zfp());
    memcpy(&values[2], &tolerance, sizeof tolerance);
    BB_REQUIRE(H5Pset_filter(list, ZFP_FILTER, H5Z_FLAG_MANDATORY, VALUES, values) >= 0, BB_IO,
               "HDF5 refused its zfp filter: %s", bb_hdf5_library_error());
done:
    return status;
}

bb_status bb_hdf5_library_require_filters(int64_t dataset)
{
    bb_status status = BB_OK;
    hid_t list = -1;
    BB_REQUIRE((list = H5Dget_create_plist(dataset)) >= 0, BB_IO, "cannot read: %s",
               bb_hdf5_library_error());
    int count = H5Pget_nfilters(list);
    for (int i = 0; i < count; ++i) {
        unsigned flags = 0;
        unsigned settings = 0;
        size_t none = 0;
        H5Z_filter_t filter =
            H5Pget_filter2(list, (unsigned)i, &flags, &none, NULL, 0, NULL, &settings);
        if (filter == ZFP_FILTER) {
            BB_TRY(bb_hdf5_library_require_zfp());
        }
        BB_REQUIRE(filter >= 0 && H5Zfilter_avail(filter) > 0, BB_IO,
                   "stored with HDF5 filter %d, which is not available", (int)filter);
    }
done:
    (void)H5Pclose(list);
    return status;
}

static _Thread_local char error_text[256];

static herr_t store_innermost(unsigned number, const H5E_error2_t *error, void *context)
{
    (void)context;
    if (number == 0) {
        (void)snprintf(error_text, sizeof error_text, "%s: %s", error->func_name, error->desc);
    }
    return 0;
}

const char *bb_hdf5_library_error(void)
{
    (void)snprintf(error_text, sizeof error_text, "no detail");
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, store_innermost, NULL);
    return error_text;
}

static bool started;

static void open_library(void)
{
    started = H5dont_atexit() >= 0 && H5open() >= 0; // H5dont_atexit fails on a second call
}

bb_status bb_hdf5_library_start(void)
{
    bb_status status = BB_OK;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local bool quiet; // each thread has its own error stack
    (void)pthread_once(&once, open_library);
    BB_REQUIRE(started && (quiet || H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0), BB_INTERNAL,
               "HDF5 does not start: %s", bb_hdf5_library_error());
    quiet = true;
done:
    return status;
}

static void close_id(hid_t id)
{
    if (id >= 0) {
        (void)H5Idec_ref(id);
    }
}

#define READ_TRY(call)                                                                             \
    BB_REQUIRE((call) >= 0, BB_IO, "cannot read: %s (%s)", bb_hdf5_library_error(), #call)

bb_status bb_hdf5_library_read_text(int64_t owner, const char *name, char *out, size_t bytes)
{
    bb_status status = BB_OK;
    hid_t attribute = -1;
    hid_t type = -1;
    hid_t space = -1;
    out[0] = '\0';
    if (H5Aexists(owner, name) <= 0) {
        goto done;
    }
    READ_TRY(attribute = H5Aopen(owner, name, H5P_DEFAULT));
    READ_TRY(type = H5Aget_type(attribute));
    READ_TRY(space = H5Aget_space(attribute));
    if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) {
        goto done;
    }
    if (H5Tis_variable_str(type) > 0) { // as written by h5py and xarray
        char *text = NULL;
        READ_TRY(H5Aread(attribute, type, (void *)&text));
        if (text != NULL && strlen(text) < bytes) {
            memcpy(out, text, strlen(text) + 1);
        }
        (void)H5free_memory(text);
        goto done;
    }
    if (H5Tget_size(type) >= bytes) {
        goto done;
    }
    size_t used = H5Tget_size(type);
    READ_TRY(H5Aread(attribute, type, out));
    out[used] = '\0';
done:
    close_id(space);
    close_id(type);
    close_id(attribute);
    return status;
}

bb_status bb_hdf5_library_read_number(int64_t owner, const char *name, double *out)
{
    bb_status status = BB_OK;
    hid_t attribute = -1;
    hid_t type = -1;
    hid_t space = -1;
    *out = 0.0;
    if (H5Aexists(owner, name) <= 0) {
        goto done;
    }
    READ_TRY(attribute = H5Aopen(owner, name, H5P_DEFAULT));
    READ_TRY(type = H5Aget_type(attribute));
    READ_TRY(space = H5Aget_space(attribute));
    const H5T_class_t class = H5Tget_class(type);
    if ((class == H5T_FLOAT || class == H5T_INTEGER) && H5Sget_simple_extent_npoints(space) == 1) {
        READ_TRY(H5Aread(attribute, H5T_NATIVE_DOUBLE, out));
    }
done:
    close_id(space);
    close_id(type);
    close_id(attribute);
    return status;
}

#define WRITE_TRY(call)                                                                            \
    BB_REQUIRE((call) >= 0, BB_INTERNAL, "HDF5 refused: %s (%s)", bb_hdf5_library_error(), #call)

bb_status bb_hdf5_library_text_type(size_t bytes, int64_t *out)
{
    bb_status status = BB_OK;
    WRITE_TRY(*out = H5Tcopy(H5T_C_S1));
    WRITE_TRY(H5Tset_size(*out, bytes));
    WRITE_TRY(H5Tset_cset(*out, H5T_CSET_UTF8));
done:
    return status;
}

bb_status bb_hdf5_library_write_attribute(int64_t owner, const char *name, const char *text,
                                          double number)
{
    bb_status status = BB_OK;
    hid_t type = -1;
    hid_t space = -1;
    hid_t attribute = -1;
    WRITE_TRY(space = H5Screate(H5S_SCALAR));
    if (text != NULL) {
        BB_TRY(bb_hdf5_library_text_type(text[0] == '\0' ? 1 : strlen(text), &type));
    } else {
        WRITE_TRY(type = H5Tcopy(H5T_IEEE_F64LE));
    }
    WRITE_TRY(attribute = H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (text != NULL) {
        WRITE_TRY(H5Awrite(attribute, type, text));
    } else {
        WRITE_TRY(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &number));
    }
done:
    close_id(attribute);
    close_id(type);
    close_id(space);
    return status;
}

typedef struct nearness {
    const char *word;
    bb_index distance;
    char *name; // [BB_HDF5_LIBRARY_NAME]
} nearness;

static herr_t consider(hid_t group, const char *name, const H5L_info_t *about, void *context)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./";
    nearness *best = context;
    const char *nearest = NULL;
    (void)group;
    (void)about;
    if (name[strspn(name, plain)] == '\0') {
        bb_suggestion_consider(best->word, name, &best->distance, &nearest);
    }
    if (nearest != NULL) {
        (void)snprintf(best->name, BB_HDF5_LIBRARY_NAME, "%s", nearest);
    }
    return 0;
}

void bb_hdf5_library_find_near(int64_t file, const char *word, bool in_groups,
                               char out[BB_HDF5_LIBRARY_NAME])
{
    nearness best = {.word = word, .distance = PTRDIFF_MAX, .name = out};
    out[0] = '\0';
    if (in_groups) {
        (void)H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, consider, &best);
    } else {
        (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, consider, &best);
    }
}

bool bb_hdf5_library_is_logical(int64_t type)
{
    return H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2;
}
