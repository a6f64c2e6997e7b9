// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_dataset.h"
#include "sim/input/hdf5_library.h"
#include "tests/sim/fixture.h"
#include "tests/sim/fringe/live/streams.h"

enum { FRAMES = 4, COLUMNS = 3, ROWS = 2, POINTS = COLUMNS * ROWS, VALUES = FRAMES * POINTS };

// Writes frames of signed 32-bit pixels: the last is `last`, others are 7.
static void put_signed_file(const char *path, int32_t last)
{
    int32_t values[VALUES];
    fill_array(values, VALUES, i, i < VALUES - 1 ? 7 : last);
    stream_write_as(H5T_STD_I32BE, path, values, FRAMES, COLUMNS, ROWS, 0.0);
}

static bb_status read_last(uint16_t counts[2 * POINTS])
{
    bb_status status = BB_OK;
    bb_live_dataset dataset = BB_LIVE_DATASET_NONE;
    BB_TRY(bb_live_dataset_open("signed.h5", &dataset));
    BB_TRY(bb_live_dataset_read(&dataset, FRAMES - 2, 2, counts));
done:
    bb_live_dataset_close(&dataset);
    return status;
}

TEST(all_of_16_bits_is_read_and_no_more)
{
    uint16_t counts[2 * POINTS];
    put_signed_file("signed.h5", 65535);
    check_ok(read_last(counts));
    assert_int_equal(counts[0], 7);
    assert_int_equal(counts[2 * POINTS - 1], 65535);
    put_signed_file("signed.h5", 65536); // the library would clip these to 65535 and 0
    check_fails(read_last(counts), BB_INVALID,
                "frame 3 has a pixel above 65535, expected 0..65535 for a camera of 16 bits");
    put_signed_file("signed.h5", -1);
    check_fails(read_last(counts), BB_INVALID, "frame 3 has a pixel below 0, expected 0..65535");
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
