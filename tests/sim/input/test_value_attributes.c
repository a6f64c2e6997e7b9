// SPDX-License-Identifier: Apache-2.0
//
// Numbers that attributes mark as undefined or packed: read as NaN, or refused.
#include "sim/fringe/live/live_dataset.h"
#include "sim/input/map_file.h"
#include "sim/input/matrix_file.h"
#include "tests/sim/fixture.h"

#include <math.h>

// Runs lines of Python with h5py: d(name, values, type, attributes) creates a dataset of u.h5.
static void write_file(const char *lines)
{
    char command[2048];
    (void)snprintf(command, sizeof command,
                   "/usr/bin/python3 -c \"import h5py, numpy as n\nf=h5py.File('u.h5','w')\n"
                   "def d(name, a, t, **k): f.create_dataset(name, data=n.array(a, t))"
                   ".attrs.update(k)\n%s\"",
                   lines);
    assert_int_equal(system(command), 0);
}

static void check_map(const char *dataset, bool mask, const double expected[4])
{
    const bb_map_request request = {.file = "u.h5", .dataset = dataset, .mask = mask};
    autorelease(bb_map_file) map;
    check_ok(bb_map_file_read(&request, &map));
    for (int i = 0; i < 4; ++i) {
        if (isnan(map.values[i]) ? !isnan(expected[i])
                                 : fabs(map.values[i] - expected[i]) > 1e-12) {
            fail_msg("%s[%d] is %g, expected %g", dataset, i, map.values[i], expected[i]);
        }
    }
}

TEST(undefined_numbers_are_nan)
{
    write_file(
        "d('fill', [[1, -9999], [3, 4]], 'f8', _FillValue=-9999.0)\n"
        "d('single', [[1, 1e20], [3, 4]], 'f4', missing_value=n.float64(1e20))\n"
        "d('several', [[-1, -2], [3, 4]], 'i2', missing_value=n.array([-1, -2]))\n"
        "d('datx', [[1, n.finfo('f8').max], [3, 4]], 'f8', **{'No Data': "
        "n.array([n.finfo('f8').max])})\n"
        "d('least', [[1, 2], [3, 4]], 'f8', valid_min=2, valid_max=3.0)\n"
        "d('range', [[1, 2], [3, 4]], 'f4', valid_range=n.array([1.5, 3]))\n"
        "d('other', [[0, 65535], [3, 4]], 'u2', _FillValue=-1)\n"
        "d('plain', [[0, 1], [3, 4]], 'f8', _FillValue=n.nan)\n"
        "d('mask', [[0, 255], [1, 1]], 'u1', _FillValue=255)\n"
        "u = f.create_dataset('unwritten', (2, 2), 'f4', chunks=(1, 1), "
        "fillvalue=9.969209968386869e36)\nu[0, 0] = 1; u[1] = [3, 4]\n"
        "for t, x in (('i2', -32767), ('u2', 65535), ('i4', -2147483647), ('u4', 2**32 - 1),\n"
        "             ('i8', 2 - 2**63), ('u1', 255)):\n"
        "    u = f.create_dataset(t, (2, 2), t, chunks=(1, 1), fillvalue=x)\n"
        "    u[0, 0] = 1; u[1] = [3, 4]\n"
        "u = f.create_dataset('filled', (2, 2), 'f8', chunks=(1, 1), fillvalue=2.0)\n"
        "u[0, 0] = 1; u[1] = [3, 4]\n");
    static const struct {
        const char *dataset;
        double expected[4];
    } cases[] = {
        {"fill", {1, NAN, 3, 4}},    {"single", {1, NAN, 3, 4}},  {"several", {NAN, NAN, 3, 4}},
        {"datx", {1, NAN, 3, 4}},    {"least", {NAN, 2, 3, NAN}}, {"range", {NAN, 2, 3, NAN}},
        {"other", {0, 65535, 3, 4}}, {"plain", {0, 1, 3, 4}},     {"unwritten", {1, NAN, 3, 4}},
        {"filled", {1, 2, 3, 4}},    {"i2", {1, NAN, 3, 4}},      {"u2", {1, NAN, 3, 4}},
        {"i4", {1, NAN, 3, 4}},      {"u4", {1, NAN, 3, 4}},      {"i8", {1, NAN, 3, 4}},
        {"u1", {1, 255, 3, 4}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_map(cases[i].dataset, false, cases[i].expected);
    }
    static const double mask[] = {0, NAN, 1, 1};
    check_map("mask", true, mask);
}

// Limits refer to stored numbers, like undefined values.
TEST(packed_numbers_are_unpacked)
{
    write_file("d('ints', [[1, -1], [3, 100]], 'i2', scale_factor=0.5, add_offset=10.0, "
               "_FillValue=n.int16(-1), valid_max=n.int16(99))\n"
               "d('shift', [[1, 2], [3, 4]], 'f8', add_offset=n.float32(1))\n"
               "d('none', [[1, 2], [3, 4]], 'f8', scale_factor=1.0, add_offset=0.0)\n"
               "d('zero', [[1, 2], [3, 4]], 'f8', scale_factor=0.0)\n"
               "d('words', [[1, 2], [3, 4]], 'f8', _FillValue='none')\n"
               "d('two', [[1, 2], [3, 4]], 'f8', scale_factor=[1.0, 2.0])\n"
               "d('half', [[1, 2], [3, 4]], 'f8', valid_range=1.0)\n"
               "d('which', [[1, 2], [3, 4]], 'i2', scale_factor=1e-4, valid_max=3.1416)\n");
    static const double ints[] = {10.5, NAN, 11.5, NAN}, shift[] = {2, 3, 4, 5},
                        none[] = {1, 2, 3, 4};
    check_map("ints", false, ints);
    check_map("shift", false, shift);
    check_map("none", false, none);
    static const char *const bad[][2] = {
        {"zero", "'scale_factor' 0 and 'add_offset' 0, expected finite numbers, the first not 0"},
        {"words", "attribute '_FillValue' is not numeric"},
        {"two", "attribute 'scale_factor' is of another length, expected a number"},
        {"half", "attribute 'valid_range' is one number, expected two"},
        {"which", "attribute 'valid_max' has floats for packed integers"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const bb_map_request request = {.file = "u.h5", .dataset = bad[i][0]};
        bb_map_file map;
        check_fails(bb_map_file_inspect(&request, &map), BB_INVALID, bad[i][1]);
    }
}

static bb_status open_matrix(const char *dataset, bb_matrix_file **out)
{
    const bb_matrix_place place = {"u.h5", dataset};
    return bb_matrix_file_open(&place, false, "C", out);
}

// A matrix cannot have undefined numbers; this includes rows of meshes.
TEST(matrices_follow_the_same_rule)
{
    autoclose(bb_matrix_file) file = NULL;
    double got[4];
    write_file("d('fill', [[1, 2], [3, -9999]], 'f8', _FillValue=-9999.0)\n"
               "d('mesh', [[[1, 2]], [[-1, 4]]], 'f8', missing_value=-1.0)\n"
               "d('packed', [[2, 4], [6, 8]], 'i4', scale_factor=0.25)\n"
               "d('bare', [[2, 4], [6, 8]], 'i4')\n");
    check_fails(open_matrix("fill", &file), BB_INVALID, "row 1, column 1: nan, expected a finite");
    check_fails(open_matrix("mesh", &file), BB_INVALID, "row 1, column 0: nan, expected a finite");
    check_fails(open_matrix("bare", &file), BB_INVALID, "is not floating-point");
    check_ok(open_matrix("packed", &file));
    assert_true(bb_matrix_file_range(file) == 1.5);
    check_ok(bb_matrix_source_load(bb_matrix_file_source(file), got));
    assert_true(got[0] == 0.5 && got[1] == 1.0 && got[2] == 1.5 && got[3] == 2.0);
}

// Camera frames are counts, without undefined or scaled numbers.
TEST(frames_of_a_camera_are_refused)
{
    uint16_t counts[4];
    bb_live_dataset dataset = BB_LIVE_DATASET_NONE;
    write_file("d('frames', [[1, 2], [65535, 4]], 'u2', _FillValue=n.uint16(65535))\n");
    check_ok(bb_live_dataset_open("u.h5", &dataset));
    check_fails(bb_live_dataset_read(&dataset, 0, 1, counts), BB_INVALID,
                "frame 0, row 1, column 0: 65535 is undefined by an attribute");
    bb_live_dataset_close(&dataset);
    write_file("d('frames', [[1, 2], [3, 4]], 'u2', scale_factor=2.0)\n");
    check_fails(bb_live_dataset_open("u.h5", &dataset), BB_INVALID, "packed by scale_factor");
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
