// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: stages of stream_producer_cuda.h for GPUs without bulk copies, before and
// after sm_90. The threads that multiply also copy the stages: the next one during the current
// product if shared memory has room for two.
//
// Runs and places are those of stream_partition_core.h. Pieces that blocks on sm_90 draw
// dynamically are assigned statically: block b has the turns b, b + blocks and so on. Each has its
// own place, so the sums are the same.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_STAGED_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_STAGED_CUDA_H

#include "solvers/operator/stream/stream_producer_cuda.h"

namespace stream
{

constexpr int staged_threads = lanes * warps;
constexpr int most_staged = 2; // stages in the ring

/// Sequence of the stages of a block, the same in all of its threads.
template <class S> struct staged_walk {
    const job &task_job;
    bb_index first_row; // first row in the matrix
    bb_stream_run run;
    int tile;
    int begin;     // first of the group's rows that is not yet in a stage
    int index;     // number of the block's next fixed run
    int turn;      // next turn of the block
    bool is_there; // true if there is a stage

    __device__ __forceinline__ explicit staged_walk(const job &all)
        : task_job(all), first_row(first_row_of(all)), run(), tile(0), begin(0), index(0),
          turn(static_cast<int>(blockIdx.x)), is_there(false)
    {
        take_run();
    }

    __device__ __forceinline__ void take_run()
    {
        is_there = bb_stream_partition_fixed_run(&task_job.parts, static_cast<int>(blockIdx.x),
                                                 index++, &run);
        if (!is_there) {
            is_there = bb_stream_partition_turn(&task_job.parts, turn, &run);
            turn += task_job.parts.blocks;
        }
        tile = run.first;
        begin = 0;
    }

    static __device__ __forceinline__ uint32_t unit_after(bb_stream_place place)
    {
        return place.unit + bb_coded_stream_units(place.widths);
    }

    /// Describes the stage and its rows in memory. Quantiser rows of a whole group that are too
    /// large are split into halves; if a half is still too large, its rows are read from memory.
    __device__ __forceinline__ stage_note describe(const unsigned char **rows, int *bytes) const
    {
        const group_place group = find_group<S>(task_job, run.group);
        const bb_stream_operand &operand = task_job.task.operand[group.operand];
        const bb_index line = line_of(group);
        stage_note note = {group.operand,
                           tile,
                           static_cast<int>(group.row),
                           begin,
                           group.rows,
                           tile + 1 == run.end ? run.place : -1,
                           0,
                           false};
        if constexpr (S::varies) {
            constexpr int half = group_rows<S> / 2;
            const bb_stream_place *lies = operand.lies + line;
            const uint32_t unit = lies[begin].unit;
            uint32_t units = unit_after(lies[note.end - 1]) - unit;
            if (units > S::most_units && begin == 0 && note.end > half) {
                note.end = half;
                units = unit_after(lies[half - 1]) - unit;
            }
            note.shift = static_cast<int>((line + begin) & 1);
            note.far = units > S::most_units;
            *rows = operand.words + BB_STREAM_UNIT * static_cast<size_t>(unit);
            *bytes = note.far ? 0 : static_cast<int>(BB_STREAM_UNIT * units);
        } else {
            const int row_bytes =
                S::of_any_bits ? static_cast<int>(task_job.task.layout.row_bytes) : S::row_bytes;
            *rows = operand.words + line * row_bytes;
            *bytes = group.rows * row_bytes;
        }
        return note;
    }

    /// First row of the group in the tile, counted over the rows of all tiles.
    __device__ __forceinline__ bb_index line_of(const group_place &group) const
    {
        return static_cast<bb_index>(tile) * task_job.task.matrix_rows + first_row + group.row;
    }

    __device__ __forceinline__ void advance(const stage_note &note)
    {
        begin = note.end;
        if (begin < find_group<S>(task_job, run.group).rows) {
            return;
        }
        begin = 0;
        if (++tile == run.end) {
            take_run();
        }
    }
};

/// Copies bytes with all threads of a block; count and both addresses are multiples of 16.
__device__ __forceinline__ void copy_by_all(unsigned char *target, const void *source, int bytes)
{
    for (int index = 16 * static_cast<int>(threadIdx.x); index < bytes;
         index += 16 * staged_threads) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         hopper::shared_address(target + index)),
                     "l"(static_cast<const unsigned char *>(source) + index)
                     : "memory");
    }
}

/// Starts the copy of a stage; returns its description.
template <class S, class X>
__device__ __forceinline__ stage_note bring_stage(const job &task_job, const staged_walk<S> &walk,
                                                  unsigned char *stage)
{
    const unsigned char *rows = nullptr;
    int bytes = 0;
    const stage_note note = walk.describe(&rows, &bytes);
    if constexpr (S::varies) {
        const bb_index line = walk.line_of(find_group<S>(task_job, walk.run.group)) + note.begin;
        copy_by_all(stage, task_job.task.operand[note.operand].lies + (line - note.shift),
                    (note.end - note.begin + note.shift + 1) / 2 * 16);
    }
    copy_by_all(stage + task_job.shape.units_at, rows, bytes);
    copy_by_all(stage + task_job.shape.x_at, X::source(task_job, note.tile),
                static_cast<int>(X::bytes(task_job, note.tile)));
    if constexpr (X::has_end) {
        if (note.tile + 1 == task_job.parts.tiles) {
            X::write_end(task_job, note.tile, stage + task_job.shape.x_at,
                         static_cast<int>(threadIdx.x), staged_threads);
        }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    return note;
}

/// Calls take(stage, note) for every stage of the block.
template <class S, class X, class Take>
__device__ __forceinline__ void walk_stages(const job &task_job, unsigned char *stages,
                                            const Take &take)
{
    const bool ahead = task_job.shape.stages > 1;
    staged_walk<S> walk(task_job);
    stage_note note = {};
    if (walk.is_there) {
        note = bring_stage<S, X>(task_job, walk, stages);
    }
    for (int slot = 0; walk.is_there; slot ^= ahead ? 1 : 0) {
        unsigned char *stage = stages + slot * task_job.shape.bytes;
        stage_note next = {};
        walk.advance(note);
        if (ahead && walk.is_there) {
            next = bring_stage<S, X>(task_job, walk, stages + (slot ^ 1) * task_job.shape.bytes);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        take(stage, note);
        __syncthreads(); // the buffer may be filled again
        if (!ahead && walk.is_there) {
            next = bring_stage<S, X>(task_job, walk, stages);
        }
        note = next;
    }
}

} // namespace stream

#endif
