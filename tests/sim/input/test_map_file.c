// SPDX-License-Identifier: Apache-2.0
//
// User-supplied maps: numbers of any type, refused files, damaged files.
#include "sim/input/hdf5_library.h"
#include "sim/input/map_file.h"
#include "tests/sim/fixture.h"

#ifdef BB_SANITIZED
enum { MUTANTS = 50 };
#else
enum { MUTANTS = 300 };
#endif

// Runs lines of Python with h5py; `f` is a new file maps.h5.
static void write_maps(const char *lines)
{
    char command[1024];
    (void)snprintf(
        command, sizeof command,
        "/usr/bin/python3 -c \"import h5py, numpy as n\nf=h5py.File('maps.h5','w')\n%s\"", lines);
    assert_int_equal(system(command), 0);
}

TEST(numbers_of_any_type_are_read)
{
    static const char *const types[] = {"f2", "f4", "f8", ">f8", "u1", "i2", ">u4", "i8"};
    write_maps("m=n.arange(6).reshape(2,3)\n"
               "[f.create_dataset(t, data=m.astype(t)) for t in "
               "('f2','f4','f8','>f8','u1','i2','>u4','i8')]\n"
               "f.create_dataset('packed', data=m*1.0, chunks=(1,3), compression=4)");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        const bb_map_request request = {.file = "maps.h5", .dataset = types[i]};
        autorelease(bb_map_file) map;
        check_ok(bb_map_file_read(&request, &map));
        assert_true(map.rows == 2 && map.columns == 3 && map.steps == 0);
        assert_int_equal(map.is_float, i < 4);
        for (int k = 0; k < 6; ++k) {
            assert_true(map.values[k] == k);
        }
    }
    const bb_map_request packed = {.file = "maps.h5", .dataset = "packed"};
    autorelease(bb_map_file) map;
    check_ok(bb_map_file_read(&packed, &map));
    assert_true(map.values[5] == 5.0);
}

TEST(masks_and_steps_are_read)
{
    write_maps("f['b']=n.array([[True,False,False],[False,True,True]])\n"
               "f['s']=n.arange(24.0).reshape(2,3,4)\n"
               "f['s'][1,2,3]=n.nan");
    const bb_map_request mask = {.file = "maps.h5", .dataset = "b", .mask = true};
    const bb_map_request steps = {.file = "maps.h5", .dataset = "s", .steps = true};
    const bb_map_request flat = {.file = "maps.h5", .dataset = "s"};
    const bb_map_request logical = {.file = "maps.h5", .dataset = "b"};
    static const double bits[] = {1, 0, 0, 0, 1, 1};
    bb_map_file map;
    check_ok(bb_map_file_read(&mask, &map));
    assert_memory_equal(map.values, bits, sizeof bits);
    bb_map_file_release(&map);
    check_ok(bb_map_file_inspect(&steps, &map));
    assert_true(map.steps == 2 && map.rows == 3 && map.columns == 4 && map.values == NULL);
    check_ok(bb_map_file_read(&steps, &map));
    assert_true(map.values[22] == 22.0 && isnan(map.values[23]));
    bb_map_file_release(&map);
    check_fails(bb_map_file_inspect(&flat, &map), BB_INVALID,
                "has 3 axes, expected [rows][columns]");
    check_fails(bb_map_file_inspect(&logical, &map), BB_INVALID, "is not numeric");
}

TEST(sizes_are_bounded)
{
    write_maps(
        "f['wide']=n.zeros((1,16385),dtype='u1')\n"
        "f['none']=n.zeros((0,4))\n"
        "f.create_dataset('hollow', shape=(16384,16384,16384), dtype='f8', chunks=(1,64,64))");
    const bb_map_request wide = {.file = "maps.h5", .dataset = "wide"};
    const bb_map_request none = {.file = "maps.h5", .dataset = "none"};
    const bb_map_request hollow = {.file = "maps.h5", .dataset = "hollow", .steps = true};
    bb_map_file map;
    check_fails(bb_map_file_read(&wide, &map), BB_INVALID, "16385 columns, expected 1 to 16384");
    check_fails(bb_map_file_read(&none, &map), BB_INVALID, "has 0 rows");
    check_fails(bb_map_file_read(&hollow, &map), BB_IO, "none was ever written");
}

// With any damaged byte the file is read or refused without a crash.
TEST_FULL(damaged_files_are_survived)
{
    const bb_map_request request = {.file = "maps.h5", .dataset = "m", .unit = "rad"};
    static unsigned char bytes[1 << 16];
    int refused = 0;
    write_maps("f['m']=n.arange(12.0).reshape(3,4)\nf['m'].attrs['units']=n.bytes_('rad')");
    FILE *file = fopen("maps.h5", "rb");
    const size_t count = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    for (int k = 0; k < MUTANTS; ++k) {
        const size_t place = (size_t)k * count / MUTANTS;
        autorelease(bb_map_file) map = {0};
        bytes[place] ^= 0x5a;
        file = fopen("maps.h5", "wb");
        assert_int_equal(fwrite(bytes, 1, count, file), count);
        (void)fclose(file);
        bytes[place] ^= 0x5a;
        refused += bb_map_file_read(&request, &map) != BB_OK;
    }
    assert_true(refused > 0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
