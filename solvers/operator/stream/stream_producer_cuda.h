// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: what a launch of solvers/operator/stream/coded_stream_cuda.h is made of, its
// ring of stages in shared memory, and the warp that fills it.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_PRODUCER_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_PRODUCER_CUDA_H

#include "solvers/gpu/hopper_cuda.h"
#include "solvers/operator/stream/stream_partition_core.h"
#include "solvers/operator/stream/stream_storage_cuda.h"

namespace stream
{

constexpr int lanes = BB_STREAM_LANES;
constexpr int warps = BB_STREAM_WARPS; // that multiply
constexpr int threads = lanes * (warps + 1);
constexpr int adding_warps = 4;  // of a block of the second kernel
constexpr int adding_rows = 2;   // of a warp of it
constexpr int adding_blocks = 4; // of it on a multiprocessor, at most
constexpr int most_stages = 12;
constexpr int stages_on_their_way = 1; // ahead of x: more delay what the kernel before waits for
constexpr uint32_t everyone = 0xffffffffU;

/// Named barriers of a block, after that of __syncthreads.
constexpr int barrier_of_sums = 1;   // the warps that multiply
constexpr int barriers_of_bands = 2; // BB_STREAM_LIMBS: four warps that multiply, one each

template <class S> constexpr int group_rows = warps *S::warp_rows;

/// What the producer says of a stage.
struct stage_note {
    int operand; // -1: no more
    int tile;
    int row;        // first of the group, of the rows wanted
    int begin, end; // of the group's rows, those in the stage
    int place;      // of the run that ends with this tile, else -1
    int shift;      // quantiser: of the first row's bb_stream_place
    bool far;       // quantiser: the rows are where they lie, not in the stage
};

struct stage_control {
    uint64_t full[most_stages];
    uint64_t empty[most_stages];
    uint64_t landed[most_stages]; // rows that were brought ahead of their x
    stage_note notes[most_stages];
};

/// A stage: the rows (quantiser: their places, then their units), then x of the tile.
struct stage_shape {
    int stages;
    int bytes;
    int units_at; // quantiser
    int x_at;
    bb_index whole_columns; // of x in whole 16 bytes
};

/// Products and how they are cut: groups of all operands after one another.
struct job {
    bb_stream_task task;
    bb_stream_partition parts;
    stage_shape shape;
    int groups; // of an operand
};

/// A tile's rows of a group are a stage, but for those of the quantiser that are too many bytes:
/// these are two, of the upper half of the rows and the rest. What comes next:
struct stage_rows {
    int tile, begin;
};

/// Group `group` of all: which rows of which operand.
struct group_place {
    int operand;
    bb_index row; // of the rows wanted
    int rows;
};

template <class S> __device__ __forceinline__ group_place find_group(const job &task_job, int group)
{
    const int operand = static_cast<unsigned>(group) / static_cast<unsigned>(task_job.groups);
    const bb_index row = static_cast<bb_index>(group - operand * task_job.groups) * group_rows<S>;
    const bb_index rest = task_job.task.rows - row;
    return {operand, row, rest < group_rows<S> ? static_cast<int>(rest) : group_rows<S>};
}

/// The first of the rows wanted.
__device__ __forceinline__ bb_index first_row_of(const job &task_job)
{
    return task_job.task.row_at == nullptr ? task_job.task.row : *task_job.task.row_at;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// The way through the ring of stages, of the producer and of each other warp.
struct ring_place {
    int slot;
    uint32_t parity;

    __device__ __forceinline__ void advance(int stages)
    {
        if (++slot == stages) {
            slot = 0;
            parity ^= 1U;
        }
    }
};

/// add_places may start now and no sooner: until the kernel before is over, the counts are those of
/// the product before. Each thread waits before it lets.
__device__ __forceinline__ void start_after_kernel_before()
{
    hopper::wait_for_kernel_before();
    hopper::let_next_kernel_start();
}

/// One lane that fills stages.
template <class S, class Product> struct producer {
    const job &task_job;
    stage_control *control;
    unsigned char *stages;
    ring_place stage_place;
    bb_index first_row; // of the matrix

    __device__ __forceinline__ unsigned char *stage() const
    {
        return stages + static_cast<size_t>(stage_place.slot) * task_job.shape.bytes;
    }

    // Bytes of a tile's x that are copied; the rest of it is written one by one.
    __device__ __forceinline__ uint32_t x_bytes(int tile) const
    {
        bb_index rest = task_job.shape.whole_columns - static_cast<bb_index>(tile) * S::columns;
        bb_index count = rest < S::columns ? rest : S::columns;
        return static_cast<uint32_t>(count > 0 ? count : 0) * sizeof(Product);
    }
    __device__ __forceinline__ void write_x_end(int operand, int tile) const
    {
        Product *x = reinterpret_cast<Product *>(stage() + task_job.shape.x_at);
        const Product *source = static_cast<const Product *>(task_job.task.operand[operand].x);
        for (int j = static_cast<int>(x_bytes(tile) / sizeof(Product)); j < S::columns; ++j) {
            bb_index column = static_cast<bb_index>(tile) * S::columns + j;
            x[j] = column < task_job.task.columns ? source[column] : Product(0);
        }
        hopper::plain_before_copies();
    }

    // Units of `rows` rows of the quantiser that lie one after the other.
    static __device__ __forceinline__ uint32_t units_of(const bb_stream_place *lies, int rows)
    {
        const bb_stream_place last = lies[rows - 1];
        return last.unit + bb_coded_stream_units(last.widths) - lies[0].unit;
    }

    // Opens a stage and copies the rows that come next, counted by `arrival` with `more` bytes;
    // copy_x is to follow. Moves `next` on.
    __device__ __forceinline__ void copy_rows(const bb_stream_run &run, stage_rows &next,
                                              uint64_t *arrival, uint32_t more)
    {
        const group_place group = find_group<S>(task_job, run.group);
        const bb_stream_operand &operand = task_job.task.operand[group.operand];
        const int tile = next.tile;
        const bb_index first = static_cast<bb_index>(tile) * task_job.task.matrix_rows + first_row +
                               group.row + next.begin;
        stage_note note = {group.operand,
                           tile,
                           static_cast<int>(group.row),
                           next.begin,
                           group.rows,
                           tile + 1 == run.end ? run.place : -1,
                           0,
                           false};
        uint32_t places = 0;
        uint32_t bytes = 0;
        const unsigned char *source = operand.words;
        if constexpr (S::varies) {
            const bb_stream_place *lies = operand.lies + first;
            uint32_t units = units_of(lies, note.end - note.begin);
            if (units > S::most_units && note.begin == 0 && note.end > group_rows<S> / 2) {
                note.end = group_rows<S> / 2;
                units = units_of(lies, note.end);
            }
            note.shift = static_cast<int>(first & 1);
            note.far = units > S::most_units;
            places = static_cast<uint32_t>(note.end - note.begin + note.shift + 1) / 2 * 16;
            bytes = note.far ? 0U : BB_STREAM_UNIT * units;
            source += BB_STREAM_UNIT * static_cast<size_t>(lies[0].unit);
        } else {
            const int row_bytes =
                S::of_any_bits ? static_cast<int>(task_job.task.layout.row_bytes) : S::row_bytes;
            bytes = static_cast<uint32_t>(group.rows * row_bytes);
            source += first * row_bytes;
        }
        next = note.end < group.rows ? stage_rows{tile, note.end} : stage_rows{tile + 1, 0};
        hopper::barrier_wait(&control->empty[stage_place.slot], stage_place.parity ^ 1U);
        if (tile + 1 == task_job.parts.tiles) {
            write_x_end(group.operand, tile);
        }
        control->notes[stage_place.slot] = note;
        hopper::barrier_expect(arrival, places + bytes + more);
        if (places > 0) {
            hopper::copy_bytes(stage(), operand.lies + (first - note.shift), places, arrival);
        }
        if (bytes > 0) {
            hopper::copy_bytes(stage() + task_job.shape.units_at, source, bytes, arrival);
        }
    }
    __device__ __forceinline__ void copy_x(const bb_stream_run &run, int tile) const
    {
        if (x_bytes(tile) > 0) {
            hopper::copy_bytes(
                stage() + task_job.shape.x_at,
                static_cast<const Product *>(
                    task_job.task.operand[find_group<S>(task_job, run.group).operand].x) +
                    static_cast<bb_index>(tile) * S::columns,
                x_bytes(tile), &control->full[stage_place.slot]);
        }
    }

    // The matrix does not depend on the kernel before; x and what is claimed do.
    __device__ __forceinline__ stage_rows start(const bb_stream_run &run)
    {
        stage_rows next = {run.first, 0};
        int count = 0;
        for (; next.tile < run.end && count < task_job.shape.stages &&
               next.tile + 1 < task_job.parts.tiles;
             ++count) {
            if (count >= stages_on_their_way) {
                hopper::barrier_wait(&control->landed[count - stages_on_their_way], 0);
            }
            copy_rows(run, next, &control->landed[count], 0);
            stage_place.advance(task_job.shape.stages);
        }
        start_after_kernel_before();
        stage_place = {0, 0};
        for (int k = 0; k < count; ++k) {
            hopper::barrier_wait(&control->landed[k], 0);
            const int tile = control->notes[k].tile;
            hopper::barrier_expect(&control->full[k], x_bytes(tile));
            copy_x(run, tile);
            stage_place.advance(task_job.shape.stages);
        }
        return next;
    }

    __device__ __forceinline__ void finish()
    {
        hopper::barrier_wait(&control->empty[stage_place.slot], stage_place.parity ^ 1U);
        control->notes[stage_place.slot].operand = -1;
        hopper::barrier_arrive(&control->full[stage_place.slot]);
    }

    __device__ __forceinline__ void work()
    {
        bb_stream_run run = {0, 0, 0, 0};
        int block = static_cast<int>(blockIdx.x);
        int index = 0;
        bool more = bb_stream_partition_fixed_run(&task_job.parts, block, index++, &run);
        stage_rows next = start(run);
        int turn =
            static_cast<int>(atomicAdd(&task_job.task.counts->turns, 1U)); // ahead of its time
        while (true) {
            while (more && next.tile < run.end) {
                const int tile = next.tile;
                copy_rows(run, next, &control->full[stage_place.slot], x_bytes(tile));
                copy_x(run, tile);
                stage_place.advance(task_job.shape.stages);
            }
            more = bb_stream_partition_fixed_run(&task_job.parts, block, index++, &run);
            if (!more) {
                if (!bb_stream_partition_turn(&task_job.parts, turn, &run)) {
                    break;
                }
                more = true;
                turn = static_cast<int>(atomicAdd(&task_job.task.counts->turns, 1U));
            }
            next = {run.first, 0};
        }
        finish();
    }
};

#endif

} // namespace stream

#endif
