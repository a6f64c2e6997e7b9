// SPDX-License-Identifier: Apache-2.0
//
// Partition of a coded matrix (coded_stream.h) over streaming thread blocks, for C and CUDA.
//
// Rows are cut into groups, and the tiles of a group into pieces of `piece_tiles`. Multiprocessors
// do not get equal shares of the memory bandwidth (on an H200 an equal partition leaves the average
// one idle for 15 % of a product). Blocks therefore process three quarters of a group's pieces in
// fixed, equal runs and draw the rest dynamically by turns. Every run and every drawn piece has its
// own place for its sums, which are added in the order of the places: bits do not depend on the
// timing.
//
// The number of pieces is BB_STREAM_PIECES per block or one per group, whichever is more, up to
// twice that; products with the number of blocks are below 2^32 for any matrix that fits on a
// device.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_PARTITION_CORE_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_PARTITION_CORE_H

#include "core/array.h"
#include "core/portable.h"

typedef struct bb_stream_partition {
    int blocks;
    int groups;      ///< groups of rows
    int tiles;       ///< tiles per group
    int piece_tiles; ///< tiles per piece; a group's last piece may have fewer
    int pieces;      ///< pieces per group
    int fixed;       ///< pieces per group in fixed runs; 0, or at least `blocks` in all groups
    int most_places; ///< largest number of places per group (bb_stream_partition_places)
} bb_stream_partition;

enum {
    BB_STREAM_PIECES = 24,     ///< pieces per block, approximately
    BB_STREAM_LANE_PLACES = 2, ///< places that a lane adds; more if 32 lanes do not suffice
};

/// Largest number of runs in a group of `count` pieces, of `total` pieces shared by `blocks`.
/// Blocks between the first and the last have at least floor(total b / blocks) pieces in b of them;
/// these two have at least one each.
BB_DEVICE_FUNCTION
int bb_stream_partition_most_runs(bb_index count, bb_index total, bb_index blocks)
{
    return (int)(count < 2 ? count : ((count - 1) * blocks - 1) / total + 2);
}

BB_DEVICE_FUNCTION
bb_stream_partition bb_stream_partition_of(bb_index groups, bb_index tiles, bb_index blocks)
{
    bb_stream_partition out;
    bb_index piece = groups * tiles / (blocks * BB_STREAM_PIECES);
    bb_index pieces = 0;
    piece = piece < 1 ? 1 : piece;
    pieces = (tiles + piece - 1) / piece;
    out.blocks = (int)blocks;
    out.groups = (int)groups;
    out.tiles = (int)tiles;
    out.piece_tiles = (int)piece;
    out.pieces = (int)pieces;
    out.fixed = (int)(3 * pieces / 4);
    if ((bb_index)out.fixed * groups < blocks) {
        out.fixed = 0;
    }
    out.most_places = out.pieces - out.fixed +
                      bb_stream_partition_most_runs(out.fixed, out.fixed * groups, blocks);
    return out;
}

/// First fixed piece of a block, and block of a fixed piece; fixed pieces are numbered over all
/// groups.
BB_DEVICE_FUNCTION
int bb_stream_partition_fixed_begin(const bb_stream_partition *all, int block)
{
    return (int)((unsigned)(all->fixed * all->groups) * (unsigned)block / (unsigned)all->blocks);
}
BB_DEVICE_FUNCTION
int bb_stream_partition_fixed_block(const bb_stream_partition *all, int fixed)
{
    return (int)(((unsigned)(fixed + 1) * (unsigned)all->blocks - 1U) /
                 (unsigned)(all->fixed * all->groups));
}

/// First block with a run in a group, and number of such blocks.
BB_DEVICE_FUNCTION
int bb_stream_partition_first_block(const bb_stream_partition *all, int group)
{
    return all->fixed == 0 ? 0 : bb_stream_partition_fixed_block(all, group * all->fixed);
}
BB_DEVICE_FUNCTION
int bb_stream_partition_runs(const bb_stream_partition *all, int group)
{
    return all->fixed == 0 ? 0
                           : bb_stream_partition_fixed_block(all, (group + 1) * all->fixed - 1) -
                                 bb_stream_partition_first_block(all, group) + 1;
}

/// Number of places of a group: one for each run, then one for each drawn piece.
BB_DEVICE_FUNCTION
int bb_stream_partition_places(const bb_stream_partition *all, int group)
{
    return bb_stream_partition_runs(all, group) + all->pieces - all->fixed;
}
/// Lanes that add the places of a row: 1, 2, 4 .. 32.
BB_DEVICE_FUNCTION
int bb_stream_partition_row_lanes(const bb_stream_partition *parts)
{
    int lanes = 1;
    while (lanes < 32 && lanes * BB_STREAM_LANE_PLACES < parts->most_places) {
        lanes *= 2;
    }
    return lanes;
}

/// Tiles [first, end) of a group that belong to one place.
typedef struct bb_stream_run {
    int group, first, end, place;
} bb_stream_run;

/// Run number `index` of a block; returns false if it has fewer.
BB_DEVICE_FUNCTION
bool bb_stream_partition_fixed_run(const bb_stream_partition *all, int block, int index,
                                   bb_stream_run *out)
{
    int begin = bb_stream_partition_fixed_begin(all, block);
    int end = bb_stream_partition_fixed_begin(all, block + 1);
    int group = 0;
    int last = 0;
    if (begin >= end) {
        return false;
    }
    group = begin / all->fixed + index;
    if (group * all->fixed >= end) {
        return false;
    }
    begin = begin > group * all->fixed ? begin : group * all->fixed;
    last = (group + 1) * all->fixed < end ? (group + 1) * all->fixed : end;
    out->group = group;
    out->first = (begin - group * all->fixed) * all->piece_tiles;
    out->end = (last - group * all->fixed) * all->piece_tiles;
    out->end = out->end < all->tiles ? out->end : all->tiles;
    out->place = block - bb_stream_partition_first_block(all, group);
    return true;
}

/// Piece of turn `turn`; returns false past the last.
BB_DEVICE_FUNCTION
bool bb_stream_partition_turn(const bb_stream_partition *all, int turn, bb_stream_run *out)
{
    int loose = all->pieces - all->fixed;
    if (loose == 0 || turn >= loose * all->groups) {
        return false;
    }
    out->group = turn / loose;
    out->first = (all->fixed + turn % loose) * all->piece_tiles;
    out->end =
        out->first + all->piece_tiles < all->tiles ? out->first + all->piece_tiles : all->tiles;
    out->place = bb_stream_partition_runs(all, out->group) + turn % loose;
    return true;
}

#endif
