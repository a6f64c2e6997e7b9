// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: arguments of a launch of solvers/operator/stream/coded_stream_cuda.h, its
// ring of stages in shared memory, and the warp that fills it.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_PRODUCER_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_PRODUCER_CUDA_H

#include "solvers/gpu/hopper_cuda.h"
#include "solvers/operator/stream/stream_partition_core.h"
#include "solvers/operator/stream/stream_storage_cuda.h"

namespace stream
{

constexpr int lanes = BB_STREAM_LANES;
constexpr int warps = BB_STREAM_WARPS; // multiplying warps
constexpr int threads = lanes * (warps + 1);
constexpr int adding_warps = 4;   // warps per block of add_places
constexpr int adding_loads = 8;   // concurrent loads per lane of add_places
constexpr int adding_blocks = 4;  // most blocks of add_places per multiprocessor
constexpr int cutting_blocks = 2; // blocks of cut_x per multiprocessor, for staged products
// Limits add_places to 32 registers a thread, so that it fits next to a multiplying block.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
constexpr int adding_fit = 1;
#else
constexpr int adding_fit = 16;
#endif
constexpr int most_stages = 12;
constexpr int late_stages = 4;         // most stages ahead once pieces are drawn by turns
constexpr int stages_on_their_way = 1; // stages loaded before x is available; more would delay the
                                       // kernel that the product waits for
constexpr uint32_t everyone = 0xffffffffU;

/// Named barriers of a block; number 0 belongs to __syncthreads.
constexpr int barrier_of_sums = 1;   // barrier of the multiplying warps
constexpr int barriers_of_bands = 2; // BB_STREAM_LIMBS: one per four multiplying warps

template <class S> constexpr int group_rows = warps *S::warp_rows;

/// Description of a stage, written by the producer.
struct stage_note {
    int operand; // -1: end
    int tile;
    int row;        // first row of the group among the requested rows
    int begin, end; // rows of the group in the stage
    int place;      // place of the run that ends with this tile, otherwise -1
    int shift;      // quantiser: offset of the first row's bb_stream_place
    bool far;       // quantiser: the rows are read from memory, not from the stage
};

struct stage_control {
    uint64_t full[most_stages];
    uint64_t empty[most_stages];
    uint64_t landed[most_stages]; // rows loaded before their x
    uint64_t has_cut;             // the block has drawn its last turn of tiles of x to be cut
    unsigned cutting[2];          // turns of the block
    stage_note notes[most_stages];
};

/// A stage: the rows (quantiser: their places, then their units), then x of the tile.
struct stage_shape {
    int stages;
    int bytes;
    int units_at; // quantiser
    int x_at;
    bb_index whole_columns; // columns of x in whole 16-byte words
};

/// Products and their partition: groups of all operands, one operand after the other.
struct job {
    bb_stream_task task;
    bb_stream_partition parts;
    stage_shape shape;
    int groups; // groups per operand
};

/// Rows and operand of group `group`.
struct group_place {
    int operand;
    bb_index row; // among the requested rows
    int rows;
};

template <class S> __device__ __forceinline__ group_place find_group(const job &task_job, int group)
{
    const int operand = static_cast<unsigned>(group) / static_cast<unsigned>(task_job.groups);
    const bb_index row = static_cast<bb_index>(group - operand * task_job.groups) * group_rows<S>;
    const bb_index rest = task_job.task.rows - row;
    return {operand, row, rest < group_rows<S> ? static_cast<int>(rest) : group_rows<S>};
}

/// First requested row.
__device__ __forceinline__ bb_index first_row_of(const job &task_job)
{
    return task_job.task.row_at == nullptr ? task_job.task.row : *task_job.task.row_at;
}

/// Position in the ring of stages, for the producer and for each other warp.
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

__device__ __forceinline__ void start_barriers(const job &task_job, stage_control *control)
{
    for (int s = 0; s < task_job.shape.stages; ++s) {
        hopper::barrier_start(&control->full[s], 1);
        hopper::barrier_start(&control->landed[s], 1);
        hopper::barrier_start(&control->empty[s], warps);
    }
    hopper::barrier_start(&control->has_cut, 1);
    hopper::barrier_starts_visible();
}

/// Barrier of the multiplying warps.
__device__ __forceinline__ void barrier_of_warps()
{
    asm volatile("bar.sync %0, %1;" ::"n"(barrier_of_sums), "n"(warps * lanes) : "memory");
}

/// x of a tile in plain form: whole 16-byte words by bulk copy, the rest one by one.
template <class S, class Product> struct plain_x {
    static constexpr bool has_end = true; // the end of x is written by threads

    static __device__ __forceinline__ uint32_t bytes(const job &task_job, int tile)
    {
        const bb_index rest =
            task_job.shape.whole_columns - static_cast<bb_index>(tile) * S::columns;
        const bb_index count = rest < S::columns ? rest : S::columns;
        return static_cast<uint32_t>(count > 0 ? count : 0) * sizeof(Product);
    }
    static __device__ __forceinline__ const void *source(const job &task_job, int tile)
    {
        return static_cast<const Product *>(task_job.task.x) +
               static_cast<bb_index>(tile) * S::columns;
    }
    /// Copies the end of x, by thread `which` of `count`.
    static __device__ __forceinline__ void write_end(const job &task_job, int tile,
                                                     unsigned char *target, int which, int count)
    {
        Product *x = reinterpret_cast<Product *>(target);
        const Product *values = static_cast<const Product *>(task_job.task.x);
        for (int j = static_cast<int>(bytes(task_job, tile) / sizeof(Product)) + which;
             j < S::columns; j += count) {
            const bb_index column = static_cast<bb_index>(tile) * S::columns + j;
            x[j] = column < task_job.task.columns ? values[column] : Product(0);
        }
    }

    /// Lets add_places start now and not earlier: until the preceding kernel has ended, the counts
    /// are those of its product. Each thread waits before it lets the next kernel start.
    static __device__ __forceinline__ void await(const job &, stage_control *)
    {
        hopper::wait_for_kernel_before();
        hopper::let_next_kernel_start();
    }
};

/// The tile whose rows are copied next. For the quantiser also the locations of its first and last
/// row and of the last row of a group's upper half, loaded one tile ahead of their use.
struct tile_source {
    bb_stream_run run;
    int tile;
    group_place group;
    bb_index line; // first row, counted over the rows of all tiles
    bb_stream_place first, middle, last;
};

/// One lane that fills stages with rows and, by `X`, with x. The rows of a group in one tile are
/// one stage. Quantiser rows that are too large are two stages: the upper half of the rows and the
/// rest.
template <class S, class X> struct producer {
    const job &task_job;
    stage_control *control;
    unsigned char *stages;
    bb_index first_row; // first row in the matrix
    ring_place stage_place;
    tile_source next;
    int begin;     // first of its rows that is not yet in a stage
    bool is_there; // true if there is a next tile
    int index;     // number of the block's next fixed run
    int turn;      // drawn in advance
    bool is_late;  // true once pieces are drawn by turns

    __device__ __forceinline__ producer(const job &all, stage_control *ring, unsigned char *memory)
        : task_job(all), control(ring), stages(memory),
          first_row(first_row_of(all)), stage_place{0, 0}, next(), begin(0), is_there(false),
          index(0), turn(0), is_late(false)
    {
    }

    __device__ __forceinline__ unsigned char *stage() const
    {
        return stages + static_cast<size_t>(stage_place.slot) * task_job.shape.bytes;
    }

    static __device__ __forceinline__ uint32_t unit_after(bb_stream_place place)
    {
        return place.unit + bb_coded_stream_units(place.widths);
    }

    __device__ __forceinline__ void find(const bb_stream_run &run, int tile)
    {
        next.run = run;
        next.tile = tile;
        next.group = find_group<S>(task_job, run.group);
        next.line =
            static_cast<bb_index>(tile) * task_job.task.matrix_rows + first_row + next.group.row;
        begin = 0;
        is_there = true;
        if constexpr (S::varies) {
            const bb_stream_place *lies =
                task_job.task.operand[next.group.operand].lies + next.line;
            constexpr int half = group_rows<S> / 2;
            const int rows = next.group.rows;
            next.first = lies[0];
            next.middle = lies[(rows < half ? rows : half) - 1];
            next.last = lies[rows - 1];
        }
    }

    // Next run of the block: fixed runs, then drawn pieces.
    __device__ __forceinline__ bool take_run(bb_stream_run *out)
    {
        if (bb_stream_partition_fixed_run(&task_job.parts, static_cast<int>(blockIdx.x), index++,
                                          out)) {
            return true;
        }
        if (!bb_stream_partition_turn(&task_job.parts, turn, out)) {
            return false;
        }
        draw_turn();
        is_late = true;
        return true;
    }
    __device__ __forceinline__ void draw_turn()
    {
        turn = static_cast<int>(atomicAdd(&task_job.task.counts->turns, 1U));
    }

    // Advances to the next tile, of the run or (`beyond`) of the block's next run.
    __device__ __forceinline__ void advance(bool beyond)
    {
        bb_stream_run run = next.run;
        if (next.tile + 1 < run.end) {
            find(run, next.tile + 1);
            return;
        }
        is_there = beyond && take_run(&run);
        if (is_there) {
            find(run, run.first);
        }
    }

    // Opens a stage and copies the next rows, counted by `arrival`, which also expects x if that
    // follows at once. Advances.
    __device__ __forceinline__ void copy_rows(uint64_t *arrival, bool with_x, bool beyond)
    {
        const tile_source own = next;
        const bb_stream_operand &operand = task_job.task.operand[own.group.operand];
        stage_note note = {own.group.operand,
                           own.tile,
                           static_cast<int>(own.group.row),
                           begin,
                           own.group.rows,
                           own.tile + 1 == own.run.end ? own.run.place : -1,
                           0,
                           false};
        const bb_index line = own.line + begin;
        uint32_t places = 0;
        uint32_t bytes = 0;
        const unsigned char *source = operand.words;
        if constexpr (S::varies) {
            constexpr int half = group_rows<S> / 2;
            const uint32_t unit = begin == 0 ? own.first.unit : unit_after(own.middle);
            uint32_t units = unit_after(own.last) - unit;
            if (units > S::most_units && begin == 0 && note.end > half) {
                note.end = half;
                units = unit_after(own.middle) - unit;
            }
            note.shift = static_cast<int>(line & 1);
            note.far = units > S::most_units;
            places = static_cast<uint32_t>(note.end - begin + note.shift + 1) / 2 * 16;
            bytes = note.far ? 0U : BB_STREAM_UNIT * units;
            source += BB_STREAM_UNIT * static_cast<size_t>(unit);
        } else {
            const int row_bytes =
                S::of_any_bits ? static_cast<int>(task_job.task.layout.row_bytes) : S::row_bytes;
            bytes = static_cast<uint32_t>(own.group.rows * row_bytes);
            source += line * row_bytes;
        }
        begin = note.end;
        if (note.end == own.group.rows) {
            advance(beyond);
        }
        hopper::barrier_wait(&control->empty[stage_place.slot], stage_place.parity ^ 1U);
        if constexpr (X::has_end) {
            if (own.tile + 1 == task_job.parts.tiles) {
                X::write_end(task_job, own.tile, stage() + task_job.shape.x_at, 0, 1);
                hopper::plain_before_copies();
            }
        }
        control->notes[stage_place.slot] = note;
        hopper::barrier_expect(arrival,
                               places + bytes + (with_x ? X::bytes(task_job, own.tile) : 0U));
        if (places > 0) {
            hopper::copy_bytes(stage(), operand.lies + (line - note.shift), places, arrival);
        }
        if (bytes > 0) {
            hopper::copy_bytes(stage() + task_job.shape.units_at, source, bytes, arrival);
        }
        if (with_x) {
            copy_x(own.tile);
        }
    }
    __device__ __forceinline__ void copy_x(int tile) const
    {
        const uint32_t bytes = X::bytes(task_job, tile);
        if (bytes > 0) {
            hopper::copy_bytes(stage() + task_job.shape.x_at, X::source(task_job, tile), bytes,
                               &control->full[stage_place.slot]);
        }
    }

    // Fills the ring with rows of the first run, because the matrix does not depend on the
    // preceding kernel. x and drawn turns do.
    __device__ __forceinline__ void start()
    {
        bb_stream_run run;
        int count = 0;
        if (bb_stream_partition_fixed_run(&task_job.parts, static_cast<int>(blockIdx.x), index++,
                                          &run)) {
            find(run, run.first);
        }
        for (; is_there && count < task_job.shape.stages &&
               (!X::has_end || next.tile + 1 < task_job.parts.tiles);
             ++count) {
            if (count >= stages_on_their_way) {
                hopper::barrier_wait(&control->landed[count - stages_on_their_way], 0);
            }
            copy_rows(&control->landed[count], false, false);
            stage_place.advance(task_job.shape.stages);
        }
        X::await(task_job, control);
        draw_turn();
        stage_place = {0, 0};
        for (int k = 0; k < count; ++k) {
            hopper::barrier_wait(&control->landed[k], 0);
            const int tile = control->notes[k].tile;
            hopper::barrier_expect(&control->full[k], X::bytes(task_job, tile));
            copy_x(tile);
            stage_place.advance(task_job.shape.stages);
        }
        if (!is_there && take_run(&run)) {
            find(run, run.first);
        }
    }

    // Waits until fewer than late_stages are ahead. Only for values of 8 bits, because only these
    // become faster (docs/lab/performance.md, 7).
    __device__ __forceinline__ void wait_when_late()
    {
        constexpr bool has_time = !S::varies && !S::of_any_bits && S::row_bytes / S::columns == 1;
        if constexpr (has_time) {
            if (is_late && late_stages < task_job.shape.stages) {
                const bool wraps = stage_place.slot < late_stages;
                const int slot = stage_place.slot - late_stages;
                hopper::barrier_wait(&control->empty[wraps ? slot + task_job.shape.stages : slot],
                                     stage_place.parity ^ (wraps ? 1U : 0U));
            }
        }
    }

    __device__ __forceinline__ void finish()
    {
        hopper::barrier_wait(&control->empty[stage_place.slot], stage_place.parity ^ 1U);
        control->notes[stage_place.slot].operand = -1;
        hopper::barrier_arrive(&control->full[stage_place.slot]);
    }

    __device__ __forceinline__ void work()
    {
        start();
        while (is_there) {
            wait_when_late();
            copy_rows(&control->full[stage_place.slot], true, true);
            stage_place.advance(task_job.shape.stages);
        }
        finish();
    }
};

} // namespace stream

#endif
