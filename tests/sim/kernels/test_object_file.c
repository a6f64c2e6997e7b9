// SPDX-License-Identifier: Apache-2.0
//
// Objects from HDF5 files as written by users, and back: every type and byte order, and every
// mismatch between dataset and object.
#include "sim/input/hdf5_library.h"
#include "sim/kernels/object_file.h"
#include "tests/sim/fixture.h"
#include "tests/solvers/kernels/program_fixture.h"

#include <hdf5.h>
#include <hdf5_hl.h>

// Program with a read object `u` of some type, and a write-only object `c`.
static void make_program(program_fixture *fixture, const char *structure, const char *type)
{
    char text[300];
    const bool matrix = strcmp(structure, "matrix") == 0;
    (void)snprintf(text, sizeof text, "kernel K (u, c: %s %s)\nfor x in u.%s\n  c[x%s] = u[x%s]\n",
                   structure, type, matrix ? "columns" : "size", matrix ? ", 0" : "",
                   matrix ? ", 0" : "");
    fixture_make(fixture, text, NULL, NULL);
}

static hid_t new_file(void)
{
    const hid_t file = H5Fcreate("in.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

// Adds a dataset to a file; without `values` nothing is written.
static void add(hid_t file, const char *name, int rank, const hsize_t *shape, hid_t stored,
                hid_t memory, const void *values)
{
    const hid_t space = H5Screate_simple(rank, shape, NULL);
    const hid_t set = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0);
    if (values != NULL) {
        assert_true(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    }
    assert_true(H5Dclose(set) >= 0);
    assert_true(H5Sclose(space) >= 0);
}

static void expect_refusal(const char *structure, const char *type, bb_status code,
                           const char *text)
{
    autocall(fixture_release) program_fixture fixture;
    autocall(bb_object_file_release) bb_object_file_data data = {.count = 0};
    make_program(&fixture, structure, type);
    check_fails(bb_object_file_read("in.h5", &fixture.program, &data), code, text);
}

// Checks that the dataset `u` of the file is refused.
static void refuse(const char *structure, const char *type, int rank, const hsize_t *shape,
                   hid_t stored, const char *text)
{
    const hid_t file = new_file();
    static const unsigned char zeros[1024];
    add(file, "u", rank, shape, stored, stored, zeros);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal(structure, type, BB_INVALID, text);
}

static void read_in(program_fixture *fixture, bb_object_file_data *data)
{
    *data = (bb_object_file_data){.count = 0};
    check_ok(bb_object_file_read("in.h5", &fixture->program, data));
    assert_int_equal(data->count, 2);
}

TEST(floats_come_in_any_form_that_keeps_them)
{
    static const float values[6] = {1.5F, -0.0F, NAN, INFINITY, 1e-45F, 3e38F};
    static const hsize_t shape[] = {2, 3};
    autocall(fixture_release) program_fixture fixture;
    autocall(bb_object_file_release) bb_object_file_data data;
    const hid_t file = new_file();
    add(file, "u", 2, shape, H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, values);
    add(file, "c", 2, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
    assert_true(H5Fclose(file) >= 0);
    make_program(&fixture, "matrix", "SP");
    read_in(&fixture, &data);
    assert_int_equal(data.objects[0].columns, 3);
    assert_int_equal(data.objects[0].rows, 2);
    assert_memory_equal(data.objects[0].elements, values, sizeof values);
    assert_memory_equal(data.objects[1].elements, values, sizeof values);
    bb_object_file_release(&data);
    fixture_release(&fixture);
    // Conversion to DP is exact.
    make_program(&fixture, "matrix", "DP");
    read_in(&fixture, &data);
    const double *wide = data.objects[0].elements;
    assert_true(wide[0] == 1.5 && wide[1] == 0.0 && signbit(wide[1]) != 0 && isnan(wide[2]));
    assert_true(wide[3] == INFINITY && wide[4] == (double)1e-45F && wide[5] == (double)3e38F);
}

TEST(integers_of_any_width_come_if_all_fit)
{
    static const hsize_t shape[] = {3};
    static const int64_t good[] = {INT32_MIN, 7, INT32_MAX};
    static const int64_t low[] = {0, (int64_t)INT32_MIN - 1, 0};
    static const int64_t high[] = {0, 0, (int64_t)INT32_MAX + 1};
    static const uint64_t highest[] = {UINT64_MAX, 0, 0};
    static const int32_t expected[] = {INT32_MIN, 7, INT32_MAX};
    const hid_t wide = H5T_NATIVE_INT64;
    program_fixture fixture;
    bb_object_file_data data;
    hid_t file = new_file();
    add(file, "u", 1, shape, H5T_STD_I64BE, wide, good);
    add(file, "c", 1, shape, H5T_STD_I16LE, wide, good);
    assert_true(H5Fclose(file) >= 0);
    make_program(&fixture, "vector", "INT32");
    read_in(&fixture, &data);
    assert_memory_equal(data.objects[0].elements, expected, sizeof expected);
    assert_int_equal(data.objects[0].rows, 1);
    bb_object_file_release(&data);
    fixture_release(&fixture);
    static const struct {
        const void *values;
        bool is_unsigned;
        const char *text;
    } bad[] = {
        {low, false,
         "object u (vector of INT32), dataset 'u' of 'in.h5': row 0, column 1: "
         "-2147483649 does not fit INT32"},
        {high, false, "row 0, column 2: 2147483648 does not fit INT32"},
        {highest, true, "row 0, column 0: 9223372036854775807 or more does not fit INT32"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        const hid_t type = bad[i].is_unsigned ? H5T_NATIVE_UINT64 : wide;
        file = new_file();
        add(file, "u", 1, shape, type, type, bad[i].values);
        assert_true(H5Fclose(file) >= 0);
        expect_refusal("vector", "INT32", BB_INVALID, bad[i].text);
    }
}

// Images store masks as 0 and 255, h5py booleans as an enumeration.
TEST(logical_values_are_not_zero)
{
    static const hsize_t shape[] = {3};
    static const unsigned char values[] = {0, 255, 1};
    static const unsigned char expected[] = {0, 1, 1};
    static const signed char no = 0;
    static const signed char yes = 1;
    autocall(fixture_release) program_fixture fixture;
    autocall(bb_object_file_release) bb_object_file_data data;
    const hid_t file = new_file();
    const hid_t logical = H5Tenum_create(H5T_NATIVE_INT8);
    assert_true(H5Tenum_insert(logical, "FALSE", &no) >= 0);
    assert_true(H5Tenum_insert(logical, "TRUE", &yes) >= 0);
    add(file, "u", 1, shape, H5T_STD_U8LE, H5T_NATIVE_UINT8, values);
    add(file, "c", 1, shape, logical, logical, expected);
    assert_true(H5Tclose(logical) >= 0);
    assert_true(H5Fclose(file) >= 0);
    make_program(&fixture, "vector", "B");
    read_in(&fixture, &data);
    assert_memory_equal(data.objects[0].elements, expected, 3);
    assert_memory_equal(data.objects[1].elements, expected, 3);
}

TEST(complex_numbers_have_an_axis_of_their_own)
{
    static const double values[] = {1, 2, 3, 4, 5, 6};
    static const hsize_t shape[] = {1, 3, 2};
    static const hsize_t odd[] = {2, 1, 3};
    program_fixture fixture;
    bb_object_file_data data;
    const hid_t file = new_file();
    add(file, "u", 3, shape, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, values);
    add(file, "c", 3, shape, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, values);
    assert_true(H5Fclose(file) >= 0);
    make_program(&fixture, "matrix", "DP2");
    read_in(&fixture, &data);
    assert_int_equal(data.objects[0].columns, 3);
    assert_int_equal(data.objects[0].rows, 1);
    assert_memory_equal(data.objects[0].elements, values, sizeof values);
    bb_object_file_release(&data);
    fixture_release(&fixture);
    refuse("matrix", "DP2", 3, odd, H5T_IEEE_F64LE, "has a last axis of 3, expected 2 (real");
    refuse("matrix", "DP2", 2, odd, H5T_IEEE_F64LE,
           "has 2 axes, expected [rows][columns][2] (real, imaginary)");
    refuse("matrix", "SP2", 3, shape, H5T_IEEE_F64LE,
           "has 64-bit floats, which SP2 would round; store 32-bit floats, or change the object's "
           "type to DP2");
}

// Writes in.h5 with [2][2] datasets u and c; u has an attribute.
static void put_marked(hid_t type, const void *values, const char *attribute, double number)
{
    static const hsize_t shape[] = {2, 2};
    const hid_t file = new_file();
    add(file, "u", 2, shape, type, type, values);
    add(file, "c", 2, shape, type, type, values);
    const hid_t set = H5Dopen2(file, "u", H5P_DEFAULT);
    check_ok(bb_hdf5_library_write_attribute(set, attribute, NULL, number));
    assert_true(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
}

// Undefined floats are read as NaN; integers and booleans have no NaN and are refused.
TEST(numbers_follow_the_attributes_of_their_dataset)
{
    static const float floats[] = {1, -9999, 3, 4};
    static const double doubles[] = {1, -9999, 3, 4};
    static const int32_t integers[] = {1, 2, 3, -9999};
    static const unsigned char booleans[] = {0, 255, 1, 1};
    program_fixture fixture;
    bb_object_file_data data;
    for (int k = 0; k < 2; ++k) {
        make_program(&fixture, "matrix", k == 0 ? "SP" : "DP");
        put_marked(k == 0 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE,
                   k == 0 ? (const void *)floats : doubles, "_FillValue", -9999.0);
        read_in(&fixture, &data);
        for (int i = 0; i < 4; ++i) {
            const double got = k == 0 ? (double)((float *)data.objects[0].elements)[i]
                                      : ((double *)data.objects[0].elements)[i];
            assert_true(i == 1 ? isnan(got) : got == doubles[i]);
        }
        bb_object_file_release(&data);
        fixture_release(&fixture);
    }
    put_marked(H5T_NATIVE_INT32, integers, "missing_value", -9999.0);
    expect_refusal("matrix", "INT32", BB_INVALID,
                   "row 1, column 1: -9999 is undefined by an attribute");
    put_marked(H5T_NATIVE_UINT8, booleans, "_FillValue", 255.0);
    expect_refusal("matrix", "B", BB_INVALID, "row 0, column 1: 255 is undefined");
    put_marked(H5T_NATIVE_FLOAT, floats, "scale_factor", 0.5);
    expect_refusal("matrix", "SP", BB_INVALID, "is packed by scale_factor or add_offset");
}

TEST(other_classes_and_shapes_are_refused)
{
    static const hsize_t shape[] = {2, 2, 1};
    refuse("matrix", "SP", 2, shape, H5T_IEEE_F64LE,
           "object u (matrix of SP), dataset 'u' of 'in.h5': has 64-bit floats, which SP would "
           "round; store 32-bit floats, or change the object's type to DP");
    refuse("matrix", "DP", 2, shape, H5T_NATIVE_LDOUBLE, "which DP would round; store 64");
    refuse("matrix", "SP", 2, shape, H5T_STD_I32LE, "has 32-bit signed integers, expected floats");
    refuse("matrix", "INT32", 2, shape, H5T_IEEE_F32LE, "has 32-bit floats, expected integers");
    refuse("matrix", "B", 2, shape, H5T_STD_I8LE, "has 8-bit signed integers, expected 8-bit uns");
    refuse("matrix", "B", 2, shape, H5T_STD_U16LE, "has 16-bit unsigned integers, expected 8-bit");
    refuse("matrix", "SP", 1, shape, H5T_IEEE_F32LE, "has 1 axes, expected [rows][columns]");
    refuse("vector", "SP", 2, shape, H5T_IEEE_F32LE, "has 2 axes, expected [length]");
    refuse("matrix", "SP", 3, shape, H5T_IEEE_F32LE, "has 3 axes, expected [rows][columns]");
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 16);
    assert_true(H5Tinsert(pair, "r", 0, H5T_NATIVE_DOUBLE) >= 0);
    assert_true(H5Tinsert(pair, "i", 8, H5T_NATIVE_DOUBLE) >= 0);
    refuse("matrix", "DP2", 2, shape, pair,
           "has compounds, as h5py writes complex numbers, expected floats with a last axis of 2");
    assert_true(H5Tclose(pair) >= 0);
}

TEST(objects_without_a_dataset_are_named)
{
    static const hsize_t shape[] = {4};
    static const float values[4] = {0};
    hid_t file = new_file();
    add(file, "U", 1, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal("vector", "SP", BB_INVALID,
                   "dataset 'u' of 'in.h5': no dataset of this name (the file has U)");
    file = new_file();
    add(file, "u\033", 1, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal("vector", "SP", BB_INVALID, "no dataset of this name");
    assert_null(strchr(bb_status_message(), '\033'));
    file = new_file();
    add(file, "u", 1, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal("vector", "SP", BB_INVALID,
                   "object c (vector of SP), dataset 'c' of 'in.h5': no dataset of this name; for "
                   "a write-only object, a dataset gives its shape");
}

// Shapes may be declared without values, but within the machine's memory; inputs need values.
TEST(outputs_may_have_no_values)
{
    static const hsize_t shape[] = {100000};
    static const hsize_t empty[] = {0};
    static const hsize_t vast[] = {(hsize_t)1 << 40};
    static const hsize_t beyond[] = {((hsize_t)1 << 40) + 1};
    program_fixture fixture;
    bb_object_file_data data;
    hid_t file = new_file();
    add(file, "u", 1, empty, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, NULL);
    add(file, "c", 1, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, NULL);
    assert_true(H5Fclose(file) >= 0);
    make_program(&fixture, "vector", "SP");
    read_in(&fixture, &data);
    assert_int_equal(data.objects[0].columns, 0);
    assert_int_equal(data.objects[1].columns, 100000);
    assert_true(((float *)data.objects[1].elements)[99999] == 0.0F);
    bb_object_file_release(&data);
    fixture_release(&fixture);
    file = new_file();
    add(file, "u", 1, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, NULL);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal("vector", "SP", BB_IO, "declares 400000 bytes of values in a file of");
    file = new_file();
    add(file, "u", 1, empty, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, NULL);
    add(file, "c", 1, vast, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, NULL);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal("vector", "SP", BB_MEMORY, "object c (vector of SP)");
    file = new_file();
    add(file, "u", 1, beyond, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, NULL);
    assert_true(H5Fclose(file) >= 0);
    expect_refusal("vector", "SP", BB_INVALID,
                   "has an axis of 1099511627777, expected at most 2^40");
}

TEST(files_that_are_none_are_refused)
{
    write_text("in.h5", "kernel\n");
    expect_refusal("vector", "SP", BB_IO, "cannot read 'in.h5': not an HDF5 file");
    assert_int_equal(unlink("in.h5"), 0);
    expect_refusal("vector", "SP", BB_IO, "'in.h5': No such file");
}

// Each object has its type, and the file records its origin; read-only objects are not repeated.
TEST(what_was_written_is_stored)
{
    static const char *const types[] = {"B", "INT32", "SP", "DP", "SP2", "DP2"};
    static const size_t bytes[] = {1, 4, 4, 8, 4, 8};
    const bb_object_file_record record = {"cpu, one", "cc, two", "tile64", "given"};
    unsigned char elements[6 * 16];
    for (size_t i = 0; i < sizeof elements; ++i) {
        elements[i] = (unsigned char)(i % 2);
    }
    for (int i = 0; i < 6; ++i) {
        autocall(fixture_release) program_fixture fixture;
        bb_program_data objects[2] = {{3, 1, elements}, {3, 2, elements}};
        const bb_object_file_data data = {objects, 2};
        char text[64];
        hsize_t shape[3] = {0, 0, 0};
        unsigned char got[sizeof elements];
        H5T_class_t class = H5T_NO_CLASS;
        size_t size = 0;
        make_program(&fixture, "matrix", types[i]);
        check_ok(bb_object_file_write("out.h5", true, &fixture.program, &data, record));
        const hid_t file = H5Fopen("out.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
        assert_true(H5LTget_dataset_info(file, "c", shape, &class, &size) >= 0);
        assert_true(shape[0] == 2 && shape[1] == 3 && shape[2] == (i >= 4 ? 2 : 0));
        assert_int_equal(class, i < 2 ? H5T_INTEGER : H5T_FLOAT);
        assert_int_equal(size, bytes[i]);
        const hid_t set = H5Dopen2(file, "c", H5P_DEFAULT);
        const hid_t type = H5Dget_type(set);
        assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
        assert_memory_equal(got, elements, 6 * bytes[i] * (i >= 4 ? 2 : 1));
        assert_true(H5Lexists(file, "u", H5P_DEFAULT) == 0);
        check_ok(bb_hdf5_library_read_text(file, "kernel", text, sizeof text));
        assert_string_equal(text, "K");
        check_ok(bb_hdf5_library_read_text(file, "device", text, sizeof text));
        assert_string_equal(text, "cpu, one");
        check_ok(bb_hdf5_library_read_text(file, "compiler", text, sizeof text));
        assert_string_equal(text, "cc, two");
        assert_true(H5Tclose(type) >= 0 && H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
        check_fails(bb_object_file_write("out.h5", false, &fixture.program, &data, record), BB_IO,
                    "--force");
    }
    assert_int_equal(system("test -z \"$(ls -A | grep part)\""), 0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
