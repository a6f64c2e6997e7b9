// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/object_file.h"

#include "build_info.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/isolation.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "core/text.h"
#include "sim/input/declared_size.h"
#include "sim/input/hdf5_library.h"
#include "sim/input/value_attributes.h"
#include "sim/run/study.h"
#include "solvers/kernels/kernel_manager.h"

#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bb_kernel_manager *find_manager(const char *path)
{
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    for (int i = 0; i < count; ++i) {
        if (strcmp(managers[i].file, name) == 0) {
            return &managers[i];
        }
    }
    return NULL;
}

// Adds an example of sizes of a kernel's objects for a message.
static bb_status add_example(const bb_program *program, bb_text *out)
{
    bb_status status = BB_OK;
    for (int i = 0; i < program->object_count; ++i) {
        const bool is_matrix = program->objects[i].structure == BB_STRUCTURE_MATRIX;
        BB_TRY(bb_text_add(out, "%s%s=%s", i == 0 ? "" : ",", program->objects[i].name,
                           is_matrix ? "2048x1024" : "2048"));
    }
done:
    return status;
}

static bb_status set_benchmark_sizes(const char *text, const char *path, const bb_program *program,
                                     bb_program_data *out)
{
    bb_status status = BB_OK;
    const bb_kernel_manager *manager = find_manager(path);
    const bb_benchmark_set *set = NULL;
    bb_text example = {0};
    BB_TRY(add_example(program, &example));
    BB_REQUIRE(manager != NULL, BB_INVALID,
               "'%s' has no benchmark data; set its sizes in columns x rows, as --set %s", path,
               bb_text_string(&example));
    for (int i = 0; i < BB_BENCHMARK_COUNT; ++i) {
        set = strcmp(manager->sets[i].name, text) == 0 ? &manager->sets[i] : set;
    }
    BB_REQUIRE(set != NULL, BB_INVALID,
               "--set %.80s, expected published, large, odd or small, or sizes", text);
    for (int i = 0; i < program->object_count; ++i) {
        const bb_benchmark_object *object = bb_kernel_manager_object(set, program->objects[i].name);
        BB_REQUIRE(object != NULL, BB_INVALID, "set %s has no object %s", text,
                   program->objects[i].name);
        out[i].columns = object->columns;
        out[i].rows = object->rows;
    }
done:
    bb_text_release(&example);
    return status;
}

static bool read_number(const char **place, bb_index *out)
{
    char *end = NULL;
    if (**place < '0' || **place > '9') {
        return false;
    }
    *out = (bb_index)strtoll(*place, &end, 10);
    *place = end;
    return *out <= (bb_index)1 << 40;
}

// Parses "A=2048x1024" up to a comma and advances past it.
static bb_status parse_object(const char **place, const bb_program *program, bb_program_data *out)
{
    bb_status status = BB_OK;
    const char *text = *place;
    const size_t length = strcspn(text, "=,");
    const char *number = text + length + 1;
    char typed[64];
    bb_suggestion near = {.word = typed};
    int found = 0;
    (void)snprintf(typed, sizeof typed, "%.*s", (int)(length < 63 ? length : 63), text);
    while (found < program->object_count &&
           (strlen(program->objects[found].name) != length ||
            strncmp(program->objects[found].name, text, length) != 0)) {
        bb_suggestion_add(&near, program->objects[found].name);
        ++found;
    }
    BB_REQUIRE(found < program->object_count, BB_INVALID,
               "--set %.80s: kernel %s has no object %s%s", text, program->name, typed,
               bb_suggestion_text(&near));
    BB_REQUIRE(out[found].columns < 0, BB_INVALID, "--set %.80s: %s has two sizes", text,
               program->objects[found].name);
    out[found].rows = 1;
    bool sound = text[length] == '=' && read_number(&number, &out[found].columns);
    if (sound && *number == 'x') {
        ++number;
        sound = read_number(&number, &out[found].rows);
    }
    BB_REQUIRE(sound && (*number == ',' || *number == '\0'), BB_INVALID,
               "--set %.80s: expected columns and rows, as A=2048x1024, or a length, as b=2048",
               text);
    *place = number + (*number == ',');
done:
    return status;
}

// Sets columns and rows of `out` [object_count]; `path` is the kernel's file, whose name selects
// its benchmark data.
static bb_status find_sizes(const char *text, const char *path, const bb_program *program,
                            bb_program_data *out)
{
    bb_status status = BB_OK;
    if (strchr(text, '=') == NULL) {
        BB_TRY(set_benchmark_sizes(text, path, program, out));
        goto done;
    }
    for (int i = 0; i < program->object_count; ++i) {
        out[i].columns = -1;
    }
    while (*text != '\0') {
        BB_TRY(parse_object(&text, program, out));
    }
    for (int i = 0; i < program->object_count; ++i) {
        BB_REQUIRE(out[i].columns >= 0, BB_INVALID, "--set gives no size of %s",
                   program->objects[i].name);
    }
done:
    return status;
}

enum { RANK = 3 };

#define READ_TRY(call)                                                                             \
    BB_REQUIRE((call) >= 0, BB_IO, "cannot read: %s (%s)", bb_hdf5_library_error(), #call)
#define WRITE_TRY(call)                                                                            \
    BB_REQUIRE((call) >= 0, BB_IO, "cannot write kernel output: %s (%s)", bb_hdf5_library_error(), \
               #call)

// Dataset bound to an object.
typedef struct dataset {
    const bb_program_object *object;
    const bb_element_row *row; // row of the object's type
    hid_t id, type, space;
    hsize_t shape[RANK];
    double values; // total count of numbers
    bb_value_attributes attributes;
} dataset;

// Describes an element type for a message.
static void describe_type(hid_t type, char out[64])
{
    const unsigned bits = 8 * (unsigned)H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        (void)snprintf(out, 64, "%u-bit floats", bits);
        break;
    case H5T_INTEGER:
        (void)snprintf(out, 64, "%u-bit %s integers", bits,
                       H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned" : "signed");
        break;
    case H5T_COMPOUND:
        (void)snprintf(out, 64, "compounds, as h5py writes complex numbers");
        break;
    case H5T_STRING:
        (void)snprintf(out, 64, "texts");
        break;
    default:
        (void)snprintf(out, 64, "non-numeric values");
    }
}

static bool loses_digits(hid_t type, bb_element_type part)
{
    size_t sign = 0;
    size_t exponent = 0;
    size_t exponent_bits = 0;
    size_t mantissa = 0;
    size_t mantissa_bits = 0;
    const bool single = part == BB_ELEMENT_SP;
    return H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0 ||
           exponent_bits > (single ? 8U : 11U) || mantissa_bits > (single ? 23U : 52U);
}

static bb_status check_type(const dataset *set)
{
    bb_status status = BB_OK;
    char got[64];
    const H5T_class_t class = H5Tget_class(set->type);
    const bool single = set->row->part == BB_ELEMENT_SP;
    describe_type(set->type, got);
    if (set->row->is_float) {
        BB_REQUIRE(class == H5T_FLOAT, BB_INVALID, "has %s, expected floats%s", got,
                   set->row->parts == 2 ? " with a last axis of 2 (real, imaginary)" : "");
        BB_REQUIRE(!loses_digits(set->type, set->row->part), BB_INVALID,
                   "has %s, which %s would round; store %d-bit floats%s", got, set->row->name,
                   single ? 32 : 64,
                   !single                ? ""
                   : set->row->parts == 2 ? ", or change the object's type to DP2"
                                          : ", or change the object's type to DP");
    } else if (set->object->type == BB_ELEMENT_INT32) {
        BB_REQUIRE(class == H5T_INTEGER, BB_INVALID, "has %s, expected integers", got);
    } else {
        BB_REQUIRE(bb_hdf5_library_is_logical(set->type) ||
                       (class == H5T_INTEGER && H5Tget_size(set->type) == 1 &&
                        H5Tget_sign(set->type) == H5T_SGN_NONE),
                   BB_INVALID, "has %s, expected 8-bit unsigned integers or booleans", got);
    }
done:
    return status;
}

static bb_status set_shape(dataset *set, bb_program_data *out)
{
    bb_status status = BB_OK;
    const bool matrix = set->object->structure == BB_STRUCTURE_MATRIX;
    const bool complex = set->row->parts == 2;
    const int expected = (matrix ? 2 : 1) + complex;
    const int rank = H5Sget_simple_extent_ndims(set->space);
    BB_REQUIRE(rank == expected, BB_INVALID, "has %d axes, expected %s%s", rank,
               matrix ? "[rows][columns]" : "[length]", complex ? "[2] (real, imaginary)" : "");
    READ_TRY(H5Sget_simple_extent_dims(set->space, set->shape, NULL));
    BB_REQUIRE(!complex || set->shape[rank - 1] == 2, BB_INVALID,
               "has a last axis of %llu, expected 2 (real, imaginary)",
               (unsigned long long)set->shape[rank - 1]);
    set->values = 1.0;
    for (int i = 0; i < rank; ++i) {
        BB_REQUIRE(set->shape[i] <= (hsize_t)1 << 40, BB_INVALID,
                   "has an axis of %llu, expected at most 2^40", (unsigned long long)set->shape[i]);
        set->values *= (double)set->shape[i];
    }
    out->rows = matrix ? (bb_index)set->shape[0] : 1;
    out->columns = (bb_index)set->shape[matrix ? 1 : 0];
done:
    return status;
}

// The shape of an output may come from a dataset without values; an input needs values.
static bb_status check_size(const dataset *set, const bb_program_data *data, double file_bytes)
{
    bb_status status = BB_OK;
    H5D_space_status_t filled = H5D_SPACE_STATUS_ERROR;
    READ_TRY(H5Dget_space_status(set->id, &filled));
    if (set->values > 0.0 && (set->object->is_read || filled != H5D_SPACE_STATUS_NOT_ALLOCATED)) {
        BB_TRY(bb_declared_size_check(set->id, set->values, file_bytes));
    }
    BB_TRY(bb_declared_size_fits(data->rows, data->columns * set->row->parts));
done:
    return status;
}

// Refuses undefined integers, which have no NaN.
static bb_status refuse_undefined(const dataset *set, bb_index row, bb_index column, double stored)
{
    bb_status status = BB_OK;
    BB_REQUIRE(!bb_value_attributes_undefined(&set->attributes, stored), BB_INVALID,
               "row %td, column %td: %g is undefined by an attribute (such as _FillValue or "
               "missing_value)",
               row, column, stored);
done:
    return status;
}

// Replaces floats that an attribute marks as undefined by NaN.
static void mark_undefined(const dataset *set, bb_index count, void *elements)
{
    const bool single = set->row->part == BB_ELEMENT_SP;
    float *floats = elements;
    double *doubles = elements;
    for (bb_index i = 0; i < count; ++i) {
        if (single && bb_value_attributes_undefined(&set->attributes, floats[i])) {
            floats[i] = NAN;
        } else if (!single && bb_value_attributes_undefined(&set->attributes, doubles[i])) {
            doubles[i] = NAN;
        }
    }
}

// Reads integers of any width and checks that each fits INT32.
static bb_status read_integers(const dataset *set, bb_index count, bb_index columns, int32_t *out)
{
    bb_status status = BB_OK;
    int64_t *wide = NULL;
    BB_TRY(BB_ALLOCATE(count, &wide));
    READ_TRY(H5Dread(set->id, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, wide));
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE(wide[i] >= INT32_MIN && wide[i] <= INT32_MAX, BB_INVALID,
                   "row %td, column %td: %lld%s does not fit INT32", i / columns, i % columns,
                   (long long)wide[i], wide[i] == INT64_MAX ? " or more" : "");
        BB_TRY(refuse_undefined(set, i / columns, i % columns, (double)wide[i]));
        out[i] = (int32_t)wide[i];
    }
done:
    BB_RELEASE(&wide);
    return status;
}

static bb_status read_elements(const dataset *set, bb_program_data *data)
{
    bb_status status = BB_OK;
    const bb_index count = data->rows * data->columns;
    unsigned char *logical = NULL;
    if (count == 0) {
        goto done;
    }
    BB_TRY(bb_memory_allocate(count, set->row->bytes, &data->elements));
    if (set->object->type == BB_ELEMENT_INT32) {
        BB_TRY(read_integers(set, count, data->columns, data->elements));
    } else if (set->row->is_float) {
        READ_TRY(H5Dread(set->id,
                         set->row->part == BB_ELEMENT_SP ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE,
                         H5S_ALL, H5S_ALL, H5P_DEFAULT, data->elements));
        mark_undefined(set, count * set->row->parts, data->elements);
    } else {
        READ_TRY(H5Dread(set->id, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data->elements));
        logical = data->elements;
        for (bb_index i = 0; i < count; ++i) {
            BB_TRY(refuse_undefined(set, i / data->columns, i % data->columns, logical[i]));
            logical[i] = logical[i] != 0;
        }
    }
done:
    return status;
}

static bb_status refuse_absent(hid_t file, const bb_program_object *object)
{
    bb_status status = BB_OK;
    char near[BB_HDF5_LIBRARY_NAME];
    bb_hdf5_library_find_near(file, object->name, false, near);
    BB_FAIL(BB_INVALID, "no dataset of this name%s%s%s%s", near[0] == '\0' ? "" : " (the file has ",
            near, near[0] == '\0' ? "" : ")",
            object->is_read ? "" : "; for a write-only object, a dataset gives its shape");
done:
    return status;
}

static bb_status read_object(hid_t file, const bb_program_object *object, double file_bytes,
                             bb_program_data *out)
{
    bb_status status = BB_OK;
    dataset set = {.object = object,
                   .row = bb_element_type_row(object->type),
                   .id = -1,
                   .type = -1,
                   .space = -1};
    set.id = H5Dopen2(file, object->name, H5P_DEFAULT);
    if (set.id < 0) {
        BB_TRY(refuse_absent(file, object));
    }
    READ_TRY(set.type = H5Dget_type(set.id));
    READ_TRY(set.space = H5Dget_space(set.id));
    BB_TRY(check_type(&set));
    BB_TRY(bb_value_attributes_read(set.id, set.type, &set.attributes));
    BB_REQUIRE(!bb_value_attributes_packed(&set.attributes), BB_INVALID,
               "is packed by scale_factor or add_offset, expected plain numbers");
    BB_TRY(set_shape(&set, out));
    BB_TRY(bb_hdf5_library_require_filters(set.id));
    BB_TRY(check_size(&set, out, file_bytes));
    BB_TRY(read_elements(&set, out));
done:
    (void)H5Sclose(set.space);
    (void)H5Tclose(set.type);
    (void)H5Dclose(set.id);
    return status;
}

// Reads an object; errors name it.
static bb_status read_named(hid_t file, const char *path, const bb_program_object *object,
                            double file_bytes, bb_program_data *out)
{
    return bb_status_prefix(read_object(file, object, file_bytes, out),
                            "object %s (%s of %s), dataset '%s' of '%s'", object->name,
                            object->structure == BB_STRUCTURE_MATRIX ? "matrix" : "vector",
                            bb_element_type_row(object->type)->name, object->name, path);
}

typedef struct reading {
    const char *path;
    const bb_program *program;
    double file_bytes;
} reading;

static bb_status read_here(const reading *work, bb_object_file_data *out)
{
    bb_status status = BB_OK;
    hid_t file = -1;
    BB_REQUIRE(H5Fis_hdf5(work->path) > 0, BB_IO, "cannot read '%s': not an HDF5 file", work->path);
    BB_REQUIRE((file = H5Fopen(work->path, H5F_ACC_RDONLY, H5P_DEFAULT)) >= 0, BB_IO,
               "cannot read '%s': %s", work->path, bb_hdf5_library_error());
    BB_TRY(BB_ZEROED(work->program->object_count + 1, &out->objects));
    out->count = work->program->object_count;
    for (int i = 0; i < out->count; ++i) {
        BB_TRY(read_named(file, work->path, &work->program->objects[i], work->file_bytes,
                          &out->objects[i]));
    }
done:
    if (file >= 0) {
        (void)H5Fclose(file);
    }
    return status;
}

// Runs in the child process.
static bb_status read_once(void *context)
{
    bb_object_file_data data = {.count = 0};
    const bb_status status = read_here(context, &data);
    bb_object_file_release(&data);
    return status;
}

bb_status bb_object_file_read(const char *path, const bb_program *program, bb_object_file_data *out)
{
    bb_status status = BB_OK;
    reading work = {path, program, 0.0};
    bb_file_stamp before;
    bb_file_stamp after;
    BB_TRY(bb_file_stamp_size(path, &work.file_bytes));
    BB_TRY(bb_file_stamp_find(path, &before));
    // File locks fail on many cluster file systems; the stamp detects a changed file.
    (void)setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    BB_TRY(bb_isolation_run(path, bb_file_stamp_patience(work.file_bytes), read_once, &work));
    BB_TRY(read_here(&work, out));
    BB_TRY(bb_file_stamp_find(path, &after));
    BB_REQUIRE(bb_file_stamp_equal(&before, &after), BB_IO, "'%s' changed while it was read", path);
done:
    return status;
}

void bb_object_file_release(bb_object_file_data *data)
{
    for (int i = 0; i < data->count; ++i) {
        BB_RELEASE(&data->objects[i].elements);
    }
    BB_RELEASE(&data->objects);
    data->count = 0;
}

// Types of the parts in memory and in the file.
static void find_types(const bb_element_row *row, hid_t *memory, hid_t *stored)
{
    *memory = !row->is_float               ? (row->bytes == 1 ? H5T_NATIVE_UINT8 : H5T_NATIVE_INT32)
              : row->part == BB_ELEMENT_SP ? H5T_NATIVE_FLOAT
                                           : H5T_NATIVE_DOUBLE;
    *stored = !row->is_float               ? (row->bytes == 1 ? H5T_STD_U8LE : H5T_STD_I32LE)
              : row->part == BB_ELEMENT_SP ? H5T_IEEE_F32LE
                                           : H5T_IEEE_F64LE;
}

static bb_status write_object(hid_t file, const bb_program_object *object,
                              const bb_program_data *data)
{
    bb_status status = BB_OK;
    const bb_element_row *row = bb_element_type_row(object->type);
    hsize_t shape[RANK];
    int rank = 0;
    hid_t memory = -1;
    hid_t stored = -1;
    hid_t space = -1;
    hid_t id = -1;
    find_types(row, &memory, &stored);
    if (object->structure == BB_STRUCTURE_MATRIX) {
        shape[rank++] = (hsize_t)data->rows;
    }
    shape[rank++] = (hsize_t)data->columns;
    if (row->parts == 2) {
        shape[rank++] = 2;
    }
    WRITE_TRY(space = H5Screate_simple(rank, shape, NULL));
    WRITE_TRY(
        id = H5Dcreate2(file, object->name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (data->elements != NULL) {
        WRITE_TRY(H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data->elements));
    }
done:
    (void)H5Dclose(id);
    (void)H5Sclose(space);
    return status;
}

typedef struct writing {
    const bb_program *program;
    const bb_object_file_data *data;
    bb_object_file_record record;
} writing;

static bb_status write_here(const char *temporary, void *context)
{
    bb_status status = BB_OK;
    const writing *work = context;
    hid_t file = -1;
    WRITE_TRY(file = H5Fcreate(temporary, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    for (int i = 0; i < work->program->object_count; ++i) {
        if (work->program->objects[i].is_written) {
            BB_TRY(write_object(file, &work->program->objects[i], &work->data->objects[i]));
        }
    }
    BB_TRY(bb_hdf5_library_write_attribute(file, "kernel", work->program->name, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(file, "program",
                                           "bitbudget " BB_VERSION " (" BB_COMMIT ")", NAN));
    BB_TRY(bb_hdf5_library_write_attribute(file, "device", work->record.device, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(file, "compiler", work->record.compiler, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(file, "variant", work->record.variant, NAN));
    BB_TRY(bb_hdf5_library_write_attribute(file, "variant_origin", work->record.origin, NAN));
    const herr_t closed = H5Fclose(file);
    file = -1;
    WRITE_TRY(closed);
done:
    if (file >= 0) {
        (void)H5Fclose(file);
    }
    return status;
}

bb_status bb_object_file_write(const char *path, bool force, const bb_program *program,
                               const bb_object_file_data *data, bb_object_file_record record)
{
    writing work = {program, data, record};
    return bb_file_write_by(path, force, write_here, &work);
}

bb_status bb_object_file_find(const char *file, const char *set, const char *kernel,
                              const bb_program *program, bb_object_file_data *out)
{
    bb_status status = BB_OK;
    BB_REQUIRE(file == NULL || set == NULL, BB_INVALID,
               "--in and --set both give sizes; use one of them");
    if (file != NULL) {
        BB_TRY(bb_object_file_read(file, program, out));
        goto done;
    }
    BB_TRY(BB_ZEROED(program->object_count + 1, &out->objects));
    out->count = program->object_count;
    BB_TRY(find_sizes(set != NULL ? set : "published", kernel, program, out->objects));
done:
    return status;
}
