// SPDX-License-Identifier: Apache-2.0
//
// Who streams which tiles of a coded matrix (coded_stream.h), for C and CUDA.
//
// Rows are cut into groups, a group's tiles into pieces of `piece_tiles`. Multiprocessors do not
// get the same share of the memory's bandwidth (on an H200 an even cut leaves the mean one idle for
// 15 % of a product), so blocks take three quarters of a group's pieces in even runs and the rest
// by turn, as they come free. Every run and every piece taken by turn has a place of its own for
// its sums, which are added in the order of the places: bits do not depend on who came first.
//
// Pieces number BB_STREAM_PIECES a block or one a group, whichever is more, up to twice: products
// with the number of blocks stay below 2^32 for any matrix that a device holds.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_PARTITION_CORE_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_PARTITION_CORE_H

#include "core/array.h"
#include "core/portable.h"

typedef struct bb_stream_partition {
    int blocks;
    int groups;      ///< of rows
    int tiles;       ///< of a group
    int piece_tiles; ///< of a piece; a group's last may have fewer
    int pieces;      ///< of a group
    int fixed;       ///< of them: in even runs; 0, or at least `blocks` in all groups
    int most_places; ///< no group has more (bb_stream_partition_places)
} bb_stream_partition;

enum {
    BB_STREAM_PIECES = 24,     ///< of a block, about
    BB_STREAM_LANE_PLACES = 2, ///< that a lane adds, more where 32 lanes do not do
};

/// Most runs of a group of `count` pieces, of `total` pieces that `blocks` share: blocks between
/// the first and the last have floor(total b / blocks) at least in b of them, and these two one
/// each.
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

/// Fixed pieces, all groups after one another: where a block's begin, and whose one is.
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

/// The first block with a run in a group, and how many have one.
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

/// Sums of a group: its runs', then those of the pieces taken by turn.
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

/// Tiles [first, end) of a group that one place sums.
typedef struct bb_stream_run {
    int group, first, end, place;
} bb_stream_run;

/// Run number `index` of a block, false where it has fewer.
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

/// The piece of turn `turn`, false past the last.
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
