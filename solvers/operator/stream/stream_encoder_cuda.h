// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: reading of a segment, its errors, and packing of blocks of 32 integers, four
// in each of eight lanes, into planes (stream_encoder.h).
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_ENCODER_CUDA_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_ENCODER_CUDA_H

#include "core/device/device_cuda.h"
#include "precision/codecs/plane_core.h"
#include "solvers/operator/stream/stream_encoder.h"

namespace encoder
{

constexpr int lanes = 32;
constexpr int warps = 8;
constexpr int threads = lanes * warps;
constexpr int quad = 4;                    // columns per lane at a time
constexpr int group = BB_BLOCK / quad;     // lanes per block
constexpr int turn_columns = lanes * quad; // blocks per warp at a time
constexpr int turns = BB_STREAM_SEGMENT / turn_columns;
constexpr unsigned all_lanes = 0xffffffffu;

__device__ __forceinline__ int lane_of_thread()
{
    return static_cast<int>(threadIdx.x % lanes);
}

// Number of the warp in the grid.
__device__ __forceinline__ bb_index warp_of_grid()
{
    return static_cast<bb_index>(blockIdx.x) * warps + threadIdx.x / lanes;
}

inline unsigned blocks_of(bb_index items)
{
    return static_cast<unsigned>((items + warps - 1) / warps);
}

__device__ __forceinline__ bool is_nan(double value)
{
    return value != value;
}

// A product with a NaN keeps the NaN's bits, as on the host.
__device__ __forceinline__ double times(double scale, double value)
{
    const double quiet = bb_format_f64_of_bits(bb_format_bits_of_f64(value) | 1ULL << 51);
    return is_nan(value) ? quiet : scale * value;
}

// Four columns of a row: values, and values times the row's factor, with zeros beyond the last.
struct columns_of_lane {
    double value[quad];
    bb_index first;
    int count;
};

// Reads a row, two values at a time if all rows are aligned to 16 bytes.
struct row_reader {
    const double *values;
    bb_index columns;
    bool in_pairs;

    __device__ row_reader(const bb_stream_rows &source, bb_index row)
        : values(source.values + row * source.columns), columns(source.columns),
          in_pairs(source.columns % 2 == 0 && reinterpret_cast<uintptr_t>(source.values) % 16 == 0)
    {
    }

    __device__ __forceinline__ columns_of_lane read(bb_index first) const
    {
        columns_of_lane out;
        const bb_index rest = columns - first;
        out.first = first;
        out.count = rest >= quad ? quad : rest > 0 ? static_cast<int>(rest) : 0;
        if (in_pairs && out.count == quad) {
            const double2 *pairs = reinterpret_cast<const double2 *>(values + first);
            const double2 low = __ldcs(pairs);
            const double2 high = __ldcs(pairs + 1);
            out.value[0] = low.x;
            out.value[1] = low.y;
            out.value[2] = high.x;
            out.value[3] = high.y;
            return out;
        }
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            out.value[i] = i < out.count ? __ldcs(values + first + i) : 0.0;
        }
        return out;
    }
};

// Reductions over the lanes of a block or warp.
__device__ __forceinline__ uint32_t largest_of_group(uint32_t value)
{
#pragma unroll
    for (int step = 1; step < group; step *= 2) {
        const uint32_t other = __shfl_xor_sync(all_lanes, value, step);
        value = other > value ? other : value;
    }
    return value;
}
__device__ __forceinline__ uint32_t bits_of_group(uint32_t value, int from, int below)
{
    for (int step = from; step < below; step *= 2) {
        value |= __shfl_xor_sync(all_lanes, value, step);
    }
    return value;
}
__device__ __forceinline__ bool any_of_group(bool holds)
{
    const unsigned lane = threadIdx.x % lanes;
    return (__ballot_sync(all_lanes, holds) >> (lane / group * group) & 255u) != 0;
}

// Index among the chunks of a tile of the chunk with these columns; `chunks` per lane.
__device__ __forceinline__ int placed_chunk(int chunk, int chunks)
{
    return chunk / chunks * chunks + bb_coded_stream_chunk(chunks, chunk / chunks, chunk % chunks);
}

template <class T> __device__ __forceinline__ void store(unsigned char *target, T word)
{
    *reinterpret_cast<T *>(target) = word;
}

// Fields of four integers, shifted down by `shift` bits, one byte each.
__device__ __forceinline__ uint32_t fields_of(const int32_t (&numbers)[quad], int shift, int width)
{
    const uint32_t mask = (1u << width) - 1u;
    uint32_t out = 0;
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        out |= (static_cast<uint32_t>(numbers[i] >> shift) & mask) << (8 * i);
    }
    return out;
}

__device__ __forceinline__ uint2 words_of(const int32_t (&numbers)[quad], int shift)
{
    uint32_t word[quad];
#pragma unroll
    for (int i = 0; i < quad; ++i) {
        word[i] = static_cast<uint32_t>(numbers[i] >> shift) & 0xffffu;
    }
    return make_uint2(word[0] | word[1] << 16, word[2] | word[3] << 16);
}

// Packs chunk `chunk` (0 to 7) of block `place` of the `blocks` of a row, or of a part of it, into
// planes of `width` bits in total, like bb_coded_stream_pack_planes; `flip` inverts bits of planes
// of bytes. All lanes of the warp call it with the same width; `writes` is equal within a block.
__device__ __forceinline__ void pack_planes(const int32_t (&numbers)[quad], int width, int chunk,
                                            int place, int blocks, bb_index row, uint32_t flip,
                                            bool writes, unsigned char *out)
{
    const int turn = static_cast<int>(row % BB_STREAM_TURNS);
    const int turned = place ^ turn;
    int shift = width;
    if ((width & 16) != 0) {
        shift -= 16;
        if (writes) {
            store(out + 64 * turned + 8 * chunk, words_of(numbers, shift));
        }
        out += 64 * blocks;
    }
    if ((width & 8) != 0) {
        shift -= 8;
        if (writes) {
            store(out + 16 * ((2 * place + chunk / 4) ^ turn) + 4 * (chunk % 4),
                  fields_of(numbers, shift, 8) ^ flip);
        }
        out += 32 * blocks;
    }
    if ((width & 4) != 0) {
        shift -= 4;
        const uint32_t bits =
            bits_of_group(fields_of(numbers, shift, 4) << (4 * (chunk / 4)), 4, 8);
        if (writes && chunk < 4) {
            store(out + 16 * turned + 4 * chunk, bits);
        }
        out += 16 * blocks;
    }
    if ((width & 2) != 0) {
        shift -= 2;
        const uint32_t bits =
            bits_of_group(fields_of(numbers, shift, 2) << (2 * (chunk / 2)), 2, 8);
        if (writes && chunk < 2) {
            store(out + 8 * turned + 4 * chunk, bits);
        }
        out += 8 * blocks;
    }
    if ((width & 1) != 0) {
        const uint32_t bits = bits_of_group(fields_of(numbers, 0, 1) << chunk, 1, 8);
        if (writes && chunk == 0) {
            store(out + 4 * turned, bits);
        }
    }
}

// Counts of a lane.
struct counts {
    unsigned saturated, underflowed, non_finite, words;
};

// Sums of a lane.
struct lane_errors {
    double squares, sum, largest, minimum, maximum, error_1, stored_1, stored_squares;

    __device__ void start()
    {
        squares = sum = largest = error_1 = stored_1 = stored_squares = 0.0;
        minimum = INFINITY;
        maximum = -INFINITY;
    }

    __device__ __forceinline__ void add(double exact, double stored, double unit)
    {
        const double error = stored - exact;
        const double magnitude = fabs(error);
        const double scaled = error * unit;
        squares = __fma_rn(scaled, scaled, squares);
        sum += scaled;
        largest = magnitude > largest ? magnitude : largest;
        minimum = exact < minimum ? exact : minimum;
        maximum = exact > maximum ? exact : maximum;
        error_1 += magnitude;
        stored_1 += fabs(stored);
        stored_squares = __fma_rn(stored, stored, stored_squares);
    }
};

__device__ __forceinline__ double sum_of_lanes(double value)
{
#pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2) {
        value += __shfl_xor_sync(all_lanes, value, step);
    }
    return value;
}

__device__ __forceinline__ double largest_of_lanes(double value)
{
#pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2) {
        value = fmax(value, __shfl_xor_sync(all_lanes, value, step));
    }
    return value;
}

__device__ __forceinline__ void add_count(unsigned mine, uint64_t *target)
{
    const unsigned sum = __reduce_add_sync(all_lanes, mine);
    if (sum != 0 && lane_of_thread() == 0) {
        (void)atomicAdd(reinterpret_cast<unsigned long long *>(target), sum);
    }
}

// Coding of a row and its comparison with the values.
struct row_scaling {
    double scale, inverse, factor;
    bool is_drawn;

    __device__ row_scaling(const bb_stream_encoding &task, bb_index row)
        : scale(task.scales[row]), inverse(1.0 / task.scales[row]), factor(1.0),
          is_drawn(task.source.factors != nullptr)
    {
        if (is_drawn) {
            factor = task.source.factors[row];
        }
    }

    __device__ __forceinline__ double undo(double stored) const
    {
        const double value = stored * inverse;
        return is_drawn ? value / factor : value;
    }
};

// Encodes a segment; sums errors multiplied by `unit`, a power of two.
template <class Coder>
__device__ __forceinline__ void
code_segment(const bb_stream_encoding &task, const row_scaling &scaling, bb_index row,
             bb_index segment, double unit, Coder &coder, lane_errors &errors, counts &found)
{
    const row_reader reader(task.source, row);
    bb_index first = segment * BB_STREAM_SEGMENT + lane_of_thread() * quad;
    columns_of_lane next = reader.read(first);
    errors.start();
    found = counts{};
    coder.start();
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn) {
        const columns_of_lane now = next;
        double drawn[quad];
        double stored[quad];
        first += turn_columns;
        if (turn + 1 < turns) {
            next = reader.read(first);
        }
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            drawn[i] = scaling.is_drawn ? times(scaling.factor, now.value[i]) : now.value[i];
        }
        coder.code(task, scaling.scale, row, now, turn, drawn, stored, found);
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            if (i < now.count) {
                errors.add(now.value[i], scaling.undo(stored[i]), unit);
            }
        }
    }
}

template <class Coder>
__global__ void __launch_bounds__(threads, 3)
    encode_rows(const __grid_constant__ bb_stream_encoding task)
{
    const bb_index index = warp_of_grid();
    if (index >= task.source.rows * task.segments) {
        return;
    }
    const bb_index row = index / task.segments;
    const bb_index segment = index % task.segments;
    const row_scaling scaling(task, row);
    Coder coder(task, row);
    lane_errors errors;
    counts found;
    bb_stream_errors out;
    int exponent = 0;
    bool again = true;
    // Repeats with scaled sums if squares of errors could overflow or underflow.
    while (again) {
        code_segment(task, scaling, row, segment, scalbn(1.0, -exponent), coder, errors, found);
        out.norms.sum_squares = sum_of_lanes(errors.squares);
        out.norms.max_error = largest_of_lanes(errors.largest);
        if (is_nan(out.norms.sum_squares)) {
            out.norms.max_error = out.norms.sum_squares;
        }
        again = exponent == 0;
        if (again) {
            exponent = bb_error_norms_exponent(out.norms.max_error);
            again = exponent != 0;
        }
    }
    coder.finish(task, row, segment);
    const bb_index rest = task.source.columns - segment * BB_STREAM_SEGMENT;
    out.norms.minimum = -largest_of_lanes(-errors.minimum);
    out.norms.maximum = largest_of_lanes(errors.maximum);
    out.norms.sum = sum_of_lanes(errors.sum);
    out.norms.count = static_cast<double>(rest < BB_STREAM_SEGMENT ? rest : BB_STREAM_SEGMENT);
    out.norms.exponent = exponent;
    out.error_1 = sum_of_lanes(errors.error_1);
    out.stored_1 = sum_of_lanes(errors.stored_1);
    out.stored_squares = sum_of_lanes(errors.stored_squares);
    if (lane_of_thread() == 0) {
        task.errors[index] = out;
    }
    add_count(found.saturated, &task.tally->saturated);
    add_count(found.underflowed, &task.tally->underflowed);
    add_count(found.non_finite, &task.tally->non_finite);
    add_count(found.words, &task.tally->words);
}

// Encodes, with errors and counts; for the quantiser computes widths only.
template <class Coder> bb_status launch_coder(const bb_stream_encoding &task, cudaStream_t queue)
{
    encode_rows<Coder><<<blocks_of(task.source.rows * task.segments), threads, 0, queue>>>(task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status launch_quotients(const bb_stream_encoding &task, cudaStream_t queue);

// Sums the errors of rows over their segments [rows][segments].
bb_status add_segments(const bb_stream_errors *errors, bb_index segments, bb_index rows,
                       bb_stream_errors *totals, cudaStream_t queue);

} // namespace encoder

#endif
