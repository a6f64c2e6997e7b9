// SPDX-License-Identifier: Apache-2.0
//
// Encoder of the quantiser: widths of the quarters of a row's tiles, which the host levels and
// places, then the words (stream_encoder.h).
#include "solvers/operator/stream/coded_stream_parts.h"
#include "solvers/operator/stream/stream_encoder_cuda.h"

namespace
{

using namespace encoder;

constexpr int quarter_turns = turns / BB_STREAM_QUARTERS;

__device__ __forceinline__ double per_step_of(float step)
{
    return 1.0 / static_cast<double>(step);
}

// Four quotients, and whether their block is stored as quotients.
struct quotients {
    int32_t value[quad];
    bool held;

    __device__ __forceinline__ quotients(const double (&drawn)[quad], double per_step)
    {
        bool holds = true;
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            const double quotient = drawn[i] * per_step;
            holds = holds && bb_quantiser_in_range(fabs(quotient));
            value[i] = bb_quantiser_rounded(quotient);
        }
        held = !any_of_group(!holds);
    }
};

// Widths of a row of a tile, accumulated turn by turn.
struct width_finder {
    uint32_t magnitudes, any, widths;
    bool fits; // stored in planes
    bool held; // stored as quotients

    __device__ void start()
    {
        magnitudes = any = widths = 0;
        fits = held = true;
    }

    __device__ __forceinline__ void add(const int32_t (&value)[quad], bool is_held, int turn)
    {
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            magnitudes |= static_cast<uint32_t>(value[i] ^ value[i] >> 31);
            any |= static_cast<uint32_t>(value[i]);
        }
        held = held && is_held;
        if (turn % quarter_turns == quarter_turns - 1) {
            const uint32_t width = bb_coded_stream_quarter_width(
                __reduce_or_sync(all_lanes, magnitudes), __reduce_or_sync(all_lanes, any));
            fits = fits && width < BB_STREAM_QUOTIENTS;
            widths |= width << (8 * (turn / quarter_turns));
            magnitudes = any = 0;
        }
    }

    // Returns the warp's widths, in each lane.
    __device__ __forceinline__ uint32_t result() const
    {
        return __any_sync(all_lanes, !held) ? bb_coded_stream_all_quarters(BB_STREAM_RAW)
               : fits                       ? widths
                                            : bb_coded_stream_all_quarters(BB_STREAM_QUOTIENTS);
    }
};

struct measured {
    width_finder finder;
    double step, per_step;

    __device__ measured(const bb_stream_encoding &task, bb_index)
        : step(static_cast<double>(task.step)), per_step(per_step_of(task.step))
    {
    }
    __device__ void start()
    {
        finder.start();
    }

    // A block that the quantiser cannot represent is stored as floats; one with a value outside the
    // range of fp32 is not stored.
    static __device__ void code_raw(const double (&drawn)[quad], double (&stored)[quad],
                                    bool is_raw, counts &found)
    {
        bool odd = false;
#pragma unroll
        for (int i = 0; is_raw && i < quad; ++i) {
            const float value = static_cast<float>(drawn[i]);
            const bool bad = !(fabsf(value) <= FLT_MAX);
            odd = odd || bad;
            found.non_finite += bad;
            found.underflowed += value == 0.0f && drawn[i] != 0.0;
            stored[i] = static_cast<double>(value);
        }
        const bool poisoned = any_of_group(odd);
        found.words += is_raw && !poisoned && threadIdx.x % group == 0 ? BB_BLOCK : 0;
#pragma unroll
        for (int i = 0; poisoned && i < quad; ++i) {
            stored[i] = static_cast<double>(NAN);
        }
    }

    __device__ __forceinline__ void code(const bb_stream_encoding &, double, bb_index,
                                         const columns_of_lane &, int turn,
                                         const double (&drawn)[quad], double (&stored)[quad],
                                         counts &found)
    {
        const quotients read(drawn, per_step);
        uint32_t magnitudes = 0;
        uint32_t any = 0;
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            magnitudes |= static_cast<uint32_t>(read.value[i] ^ read.value[i] >> 31);
            any |= static_cast<uint32_t>(read.value[i]);
            stored[i] = read.value[i] * step;
        }
        magnitudes = bits_of_group(magnitudes, 1, group);
        const bool some = any_of_group(any != 0);
        if (read.held && threadIdx.x % group == 0) {
            found.words += static_cast<unsigned>(bb_quantiser_width(magnitudes, some ? 1u : 0u));
        }
        if (__any_sync(all_lanes, !read.held)) {
            code_raw(drawn, stored, !read.held, found);
        }
        finder.add(read.value, read.held, turn);
    }

    __device__ void finish(const bb_stream_encoding &task, bb_index row, bb_index tile)
    {
        const uint32_t widths = finder.result();
        if (lane_of_thread() == 0) {
            task.widths[tile * task.source.rows + row] = widths;
        }
    }
};

// A row of a stored tile; a warp reads four columns per lane at a time.
struct laid_row {
    row_reader reader;
    bb_index row, laid, tile;
    double factor;

    __device__ laid_row(const bb_stream_quotient_task &task, bb_index index)
        : reader(task.source, index % task.source.rows), row(index % task.source.rows),
          laid(index / task.source.rows), tile(task.sources != nullptr ? task.sources[laid] : laid),
          factor(task.source.factors != nullptr ? task.source.factors[row] : 1.0)
    {
    }

    __device__ __forceinline__ void read(int turn, double (&drawn)[quad]) const
    {
        const columns_of_lane at =
            reader.read(tile * BB_STREAM_SEGMENT + turn * turn_columns + lane_of_thread() * quad);
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            drawn[i] = times(factor, at.value[i]);
        }
    }
};

__global__ void __launch_bounds__(threads)
    measure_parts(const __grid_constant__ bb_stream_quotient_task task)
{
    const bb_index index = warp_of_grid();
    if (index >= task.tiles * task.source.rows) {
        return;
    }
    const laid_row at(task, index);
    width_finder finder;
    finder.start();
    for (int turn = 0; turn < turns; ++turn) {
        double drawn[quad];
        at.read(turn, drawn);
        quotients read(drawn, per_step_of(task.step));
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            read.value[i] = bb_coded_stream_part(read.value[i], task.part);
        }
        finder.add(read.value, read.held, turn);
    }
    const uint32_t widths = finder.result();
    if (lane_of_thread() == 0) {
        task.widths[index] = widths;
    }
}

// A row of floats: quotients times the step, values of blocks without quotients, or NaN.
__device__ void make_raw(const double (&drawn)[quad], float step, int count, quotients &read)
{
    bool odd = false;
    float raw[quad];
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        raw[i] = static_cast<float>(drawn[i]);
        odd = odd || !(fabsf(raw[i]) <= FLT_MAX);
    }
    const bool poisoned = any_of_group(!read.held && odd);
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        const float value = read.held ? static_cast<float>(read.value[i]) * step : raw[i];
        const uint32_t bits = poisoned ? 0x7fc00000u : bb_format_bits_of_f32(value);
        read.value[i] = i < count ? static_cast<int32_t>(bits) : 0;
    }
}

__global__ void __launch_bounds__(threads)
    pack_quotients(const __grid_constant__ bb_stream_quotient_task task)
{
    constexpr int quarter_blocks = BB_STREAM_LANES / BB_STREAM_QUARTERS;
    const bb_index index = warp_of_grid();
    if (index >= task.tiles * task.source.rows) {
        return;
    }
    const laid_row at(task, index);
    const bb_index place_tile = task.part == BB_STREAM_LOWER ? at.tile : at.laid;
    const bb_stream_place place = task.places[place_tile * task.source.rows + at.row];
    const bool in_planes = (place.widths & 255u) < BB_STREAM_QUOTIENTS;
    unsigned char *out = task.words + static_cast<size_t>(BB_STREAM_UNIT) * place.unit;
    for (int turn = 0; turn < turns; ++turn) {
        double drawn[quad];
        at.read(turn, drawn);
        quotients read(drawn, per_step_of(task.step));
        const int lane_chunk = turn * lanes + lane_of_thread();
        const int placed = placed_chunk(lane_chunk, group);
        const int block = placed / group;
        const int chunk = placed % group;
        if (place.widths == bb_coded_stream_all_quarters(BB_STREAM_RAW)) {
            const bb_index rest =
                task.source.columns - at.tile * BB_STREAM_SEGMENT - quad * lane_chunk;
            make_raw(drawn, task.step, rest < quad ? static_cast<int>(rest) : quad, read);
        }
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            read.value[i] = bb_coded_stream_part(read.value[i], task.part);
        }
        if (in_planes) {
            const int quarter = turn / quarter_turns;
            pack_planes(read.value, static_cast<int>(bb_coded_stream_width(place.widths, quarter)),
                        chunk, block % quarter_blocks, quarter_blocks, at.row, 0, true,
                        out + BB_STREAM_UNIT * bb_coded_stream_units_before(place.widths, quarter));
            continue;
        }
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            store(out + BB_STREAM_LINE * (quad * chunk + i) + 4 * block, read.value[i]);
        }
    }
}

} // namespace

namespace encoder
{

bb_status launch_quotients(const bb_stream_encoding &task, cudaStream_t queue)
{
    return launch_coder<measured>(task, queue);
}

} // namespace encoder

extern "C" bb_status bb_stream_encoder_widths_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                   void *arguments)
{
    const bb_stream_quotient_task &task = *static_cast<const bb_stream_quotient_task *>(arguments);
    measure_parts<<<blocks_of(rows * task.tiles), threads, 0, bb_queue_stream(queue)>>>(task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

extern "C" bb_status bb_stream_encoder_quotients_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                      void *arguments)
{
    const bb_stream_quotient_task &task = *static_cast<const bb_stream_quotient_task *>(arguments);
    pack_quotients<<<blocks_of(rows * task.tiles), threads, 0, bb_queue_stream(queue)>>>(task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
