// SPDX-License-Identifier: Apache-2.0
//
// Assignment of tiles to blocks: every tile of every group once, every place of a group once, for
// small and large products.
#include "solvers/operator/stream/stream_partition_core.h"
#include "tests/check.h"

enum { MOST_TILES = 4000, MOST_PLACES = 8000 };

static char tiles_seen[MOST_TILES];
static char places_seen[MOST_PLACES];

static void visit(const bb_stream_partition *all, int group, const bb_stream_run *run)
{
    assert_true(run->first < run->end && run->end <= all->tiles);
    if (run->group != group) {
        return;
    }
    for (int tile = run->first; tile < run->end; ++tile) {
        tiles_seen[tile]++;
    }
    assert_in_range(run->place, 0, bb_stream_partition_places(all, group) - 1);
    places_seen[run->place]++;
}

static void expect_a_partition(bb_index groups, bb_index tiles, bb_index blocks)
{
    bb_stream_partition all = bb_stream_partition_of(groups, tiles, blocks);
    bb_stream_run run;
    int greatest = 0;
    for (int group = 0; group < all.groups; ++group) {
        memset(tiles_seen, 0, sizeof tiles_seen);
        memset(places_seen, 0, sizeof places_seen);
        for (int block = 0; block < all.blocks; ++block) {
            for (int i = 0; bb_stream_partition_fixed_run(&all, block, i, &run); ++i) {
                visit(&all, group, &run);
            }
        }
        for (int turn = 0; bb_stream_partition_turn(&all, turn, &run); ++turn) {
            visit(&all, group, &run);
        }
        for (int tile = 0; tile < all.tiles; ++tile) {
            assert_int_equal(tiles_seen[tile], 1);
        }
        int places = bb_stream_partition_places(&all, group);
        assert_true(places <= all.most_places);
        greatest = places > greatest ? places : greatest;
        for (int place = 0; place < places; ++place) {
            assert_int_equal(places_seen[place], 1);
        }
    }
    assert_true(all.most_places <= greatest + 1);
}

TEST(every_tile_and_place_once)
{
    static const bb_index groups[] = {1, 2, 6, 34};
    static const bb_index tiles[] = {1, 2, 7, 63, 250, 500, 2000, 3999};
    static const bb_index blocks[] = {1, 3, 108, 132};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g) {
        for (size_t t = 0; t < sizeof tiles / sizeof *tiles; ++t) {
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; ++b) {
                expect_a_partition(groups[g], tiles[t], blocks[b]);
            }
        }
    }
}

// The slit product: shares of all blocks differ by at most a piece or two.
TEST(a_slit_product_is_cut_finely)
{
    bb_stream_partition fp32 = bb_stream_partition_of(6, 2000, 132);
    bb_stream_partition eight_bits = bb_stream_partition_of(6, 500, 132);
    assert_int_equal(fp32.piece_tiles, 3);
    assert_int_equal(eight_bits.piece_tiles, 1);
    assert_true(fp32.fixed * 6 >= 132 && eight_bits.fixed * 6 >= 132);
}

// Rows with one place use one lane each; rows of a slit, with almost two hundred places, a warp.
TEST(lanes_follow_the_places)
{
    const bb_stream_partition tall = bb_stream_partition_of(3938, 3, 132);
    const bb_stream_partition frame = bb_stream_partition_of(64, 19, 132);
    const bb_stream_partition slit = bb_stream_partition_of(6, 2000, 132);
    assert_int_equal(tall.most_places, 1);
    assert_int_equal(bb_stream_partition_row_lanes(&tall), 1);
    assert_int_equal(frame.most_places, 8);
    assert_int_equal(bb_stream_partition_row_lanes(&frame), 4);
    assert_int_equal(slit.most_places, 190);
    assert_int_equal(bb_stream_partition_row_lanes(&slit), 32);
}
