// SPDX-License-Identifier: Apache-2.0
//
// Functions shared by HDF5 readers and writers: name suggestions, and h5py's booleans.
#include "sim/input/hdf5_library.h"
#include "tests/check.h"

#include <hdf5.h>

// File in memory with the datasets `names`; creates their groups.
static hid_t file_of(const char *const *names, int count)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    const hid_t space = H5Screate(H5S_SCALAR);
    assert_true(H5Pset_fapl_core(access, 4096, 0) >= 0);
    assert_true(H5Pset_create_intermediate_group(links, 1) >= 0);
    const hid_t file = H5Fcreate("names", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    for (int i = 0; i < count; ++i) {
        const hid_t set =
            H5Dcreate2(file, names[i], H5T_IEEE_F64LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(set >= 0);
        assert_true(H5Dclose(set) >= 0);
    }
    (void)H5Sclose(space);
    (void)H5Pclose(links);
    (void)H5Pclose(access);
    return file;
}

TEST(the_nearest_name_is_found)
{
    static const char *const names[] = {"wrapped", "scene/truth", "wrapp\033[2J"};
    const struct {
        const char *word;
        bool in_groups;
        const char *near;
    } cases[] = {
        {"wraped", false, "wrapped"},        {"wraped", true, "wrapped"},
        {"scene/trut", true, "scene/truth"}, {"scene/trut", false, ""},
        {"wrapp\033[2", false, ""},          {"interferogram", true, ""},
    };
    const hid_t file = file_of(names, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char near[BB_HDF5_LIBRARY_NAME] = "before";
        bb_hdf5_library_find_near(file, cases[i].word, cases[i].in_groups, near);
        assert_string_equal(near, cases[i].near);
    }
    assert_true(H5Fclose(file) >= 0);
}

static hid_t enumeration(hid_t base, int members)
{
    const hid_t type = H5Tenum_create(base);
    for (signed char value = 0; value < members; ++value) {
        const char name[] = {(char)('a' + value), '\0'};
        const int wide = value;
        assert_true(
            H5Tenum_insert(type, name, H5Tget_size(base) == 1 ? (const void *)&value : &wide) >= 0);
    }
    return type;
}

TEST(booleans_are_two_words_over_a_byte)
{
    const struct {
        hid_t type;
        bool is_logical;
    } cases[] = {
        {enumeration(H5T_NATIVE_SCHAR, 2), true},
        {enumeration(H5T_NATIVE_SCHAR, 3), false},
        {enumeration(H5T_NATIVE_INT, 2), false},
        {H5Tcopy(H5T_NATIVE_SCHAR), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_int_equal(bb_hdf5_library_is_logical(cases[i].type), cases[i].is_logical);
        assert_true(H5Tclose(cases[i].type) >= 0);
    }
}

static int begin(void)
{
    return bb_hdf5_library_start() == BB_OK ? 0 : -1;
}

TEST_GROUP(.begin = begin);
