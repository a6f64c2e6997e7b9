// SPDX-License-Identifier: Apache-2.0
//
// Kernels for ranges and clips of rows, and encoders of words, blocks and integers
// (stream_encoder.h).
#include "precision/codecs/bfp_core.h"
#include "precision/codecs/mx_core.h"
#include "solvers/operator/stream/stream_encoder_cuda.h"

namespace
{

using namespace encoder;

// Empty state for encoders without data per row.
struct unkept {
    __device__ unkept(const bb_stream_encoding &, bb_index)
    {
    }
    __device__ void start()
    {
    }
    __device__ void finish(const bb_stream_encoding &, bb_index, bb_index)
    {
    }
};

// Upper half of a magnitude, from which the exponent of a block follows.
__device__ __forceinline__ uint32_t upper_half(double value)
{
    return static_cast<uint32_t>(bb_format_bits_of_f64(value) >> 32) & 0x7fffffffu;
}

// Converts an fp64 NaN to fp32 as x86 does: with its sign and its first bits.
__device__ __forceinline__ uint32_t narrow_nan(double value)
{
    const uint64_t bits = bb_format_bits_of_f64(value);
    return static_cast<uint32_t>(bits >> 63) << 31 | 0x7fc00000u |
           (static_cast<uint32_t>(bits >> 29) & 0x3fffffu);
}

// Words of `bytes` each, by the rule of a format or by hardware rounding.
template <int bytes, bool by_rule> struct words : unkept {
    using unkept::unkept;

    // The word, and its decoded value.
    static __device__ __forceinline__ uint64_t word_of(const bb_format_rule &rule, double value,
                                                       double &stored, counts &found)
    {
        const uint64_t bits = bb_format_bits_of_f64(value);
        stored = value;
        if constexpr (bytes == 8) {
            return bits;
        }
        double rounded = 0.0;
        if constexpr (by_rule) {
            bool too_large = false;
            rounded = bb_format_rule_round(&rule, fabs(value), &too_large);
            found.saturated += too_large && rule.overflow == rule.largest;
            stored = is_nan(value) ? value : copysign(rounded, value);
        }
        if constexpr (bytes >= 4) {
            const float narrow = static_cast<float>(stored);
            stored = static_cast<double>(narrow);
            return is_nan(value) ? narrow_nan(value) : bb_format_bits_of_f32(narrow);
        } else {
            constexpr int top = 8 * bytes - 1;
            const uint32_t sign = static_cast<uint32_t>(bits >> 63) << top;
            return sign | (is_nan(value) ? rule.nan_word : bb_format_rule_word(&rule, rounded));
        }
    }

    static __device__ __forceinline__ void write(const uint64_t (&word)[quad],
                                                 unsigned char *target)
    {
        const uint32_t narrow[quad] = {
            static_cast<uint32_t>(word[0]), static_cast<uint32_t>(word[1]),
            static_cast<uint32_t>(word[2]), static_cast<uint32_t>(word[3])};
        if (bytes == 8) {
            store(target, make_ulonglong2(word[0], word[1]));
            store(target + 16, make_ulonglong2(word[2], word[3]));
        } else if (bytes == 4) {
            store(target, make_uint4(narrow[0], narrow[1], narrow[2], narrow[3]));
        } else if (bytes == 2) {
            store(target, make_uint2(narrow[0] | narrow[1] << 16, narrow[2] | narrow[3] << 16));
        } else {
            store(target, narrow[0] | narrow[1] << 8 | narrow[2] << 16 | narrow[3] << 24);
        }
    }

    __device__ __forceinline__ void code(const bb_stream_encoding &task, double scale, bb_index row,
                                         const columns_of_lane &at, int,
                                         const double (&drawn)[quad], double (&stored)[quad],
                                         counts &found)
    {
        const bb_index width = task.layout.columns;
        const bb_index tile = at.first / width;
        uint64_t word[quad];
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            // An fp64 word without scale keeps the bits of any NaN.
            const double scaled = scale == 1.0 ? drawn[i] : times(scale, drawn[i]);
            found.underflowed += fabs(scaled) <= task.lost && drawn[i] != 0.0;
            word[i] = word_of(task.rule, scaled, stored[i], found);
        }
        if (tile < task.tiles) {
            const int chunk = static_cast<int>(at.first % width) / quad;
            const int place = placed_chunk(chunk, static_cast<int>(width) / turn_columns);
            write(word, task.words + (tile * task.source.rows + row) * task.layout.row_bytes +
                            bytes * quad * place);
        }
    }
};

// Position of a lane's part of a block of 32 columns.
struct block_place {
    unsigned char *out; // row of the tile; NULL beyond the last
    int block, chunk;   // index within the row, index within the block
    bool has_columns;

    __device__ __forceinline__ block_place(const bb_stream_encoding &task, bb_index row,
                                           const columns_of_lane &at)
    {
        const bb_index width = task.layout.columns;
        const bb_index tile = at.first / width;
        const int placed = placed_chunk(static_cast<int>(at.first % width) / quad,
                                        static_cast<int>(width) / turn_columns);
        out = tile >= task.tiles
                  ? nullptr
                  : task.words + (tile * task.source.rows + row) * task.layout.row_bytes;
        block = placed / group;
        chunk = placed % group;
        has_columns = at.first / BB_BLOCK * BB_BLOCK < task.source.columns;
    }
};

// Numbers of 4, 8 or 16 bits, block by block, or planes; then one byte per block.
__device__ __forceinline__ void write_block(const bb_stream_encoding &task, const block_place &at,
                                            bb_index row, const int32_t (&numbers)[quad],
                                            unsigned char exponent)
{
    const int bits = task.layout.bits;
    const int blocks = static_cast<int>(task.layout.columns) / BB_BLOCK;
    const bool writes = at.out != nullptr;
    const uint32_t flip = at.has_columns ? 0x80808080u : 0u;
    if (bits == 4) {
        const uint32_t pairs =
            bits_of_group(fields_of(numbers, 0, 4) << (4 * (at.chunk / 4)), 4, 8);
        if (writes && at.chunk < 4) {
            store(at.out + 16 * at.block + 4 * at.chunk, pairs);
        }
    } else if (bits == 8 && writes) {
        store(at.out + 32 * at.block + 4 * at.chunk, fields_of(numbers, 0, 8) ^ flip);
    } else if (bits == 16 && writes) {
        uint2 words = words_of(numbers, 0);
        words.x ^= flip & 0x80008000u;
        words.y ^= flip & 0x80008000u;
        store(at.out + 64 * at.block + 8 * at.chunk, words);
    } else if (bits != 8 && bits != 16) {
        pack_planes(numbers, bits, at.chunk, at.block, blocks, row, 0, writes, at.out);
    }
    if (writes && at.chunk == 0) {
        unsigned char *exponents = at.out + 4 * bits * blocks;
        exponents[at.block] = exponent;
        if (bits == 16) { // pads to a multiple of 16 bytes
            exponents[blocks + at.block] = 0;
        }
    }
}

struct blocks : unkept {
    using unkept::unkept;

    __device__ __forceinline__ void code(const bb_stream_encoding &task, double scale, bb_index row,
                                         const columns_of_lane &at, int,
                                         const double (&drawn)[quad], double (&stored)[quad],
                                         counts &found)
    {
        const int bits = task.layout.bits;
        const block_place place(task, row, at);
        double scaled[quad];
        int32_t mantissas[quad];
        uint32_t largest = 0; // upper half
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            scaled[i] = times(scale, drawn[i]);
            const uint32_t upper = upper_half(scaled[i]);
            largest = upper > largest ? upper : largest;
        }
        largest = largest_of_group(largest);
        const int wanted = bb_bfp_exponent_of(static_cast<uint64_t>(largest) << 32, bits);
        const int exponent = wanted < BB_BFP_LEAST_EXPONENT ? BB_BFP_LEAST_EXPONENT : wanted;
        const bool poisoned = wanted > bb_bfp_most_exponent(bits);
        const double per_unit = bb_bfp_per_unit(exponent);
        const double unit = bb_bfp_per_unit(-exponent);
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            mantissas[i] = poisoned ? 0 : bb_bfp_rounded(scaled[i], per_unit);
            stored[i] = poisoned ? static_cast<double>(NAN) : mantissas[i] * unit;
            found.non_finite += poisoned && !(fabs(scaled[i]) < bb_bfp_beyond(bits));
            found.underflowed +=
                wanted < BB_BFP_LEAST_EXPONENT && mantissas[i] == 0 && scaled[i] != 0.0;
        }
        write_block(task, place, row, mantissas,
                    static_cast<unsigned char>(!place.has_columns ? 0
                                               : poisoned         ? 255
                                                                  : exponent + 127));
    }
};

struct mx_integers : unkept {
    using unkept::unkept;

    __device__ __forceinline__ void code(const bb_stream_encoding &task, double scale, bb_index row,
                                         const columns_of_lane &at, int,
                                         const double (&drawn)[quad], double (&stored)[quad],
                                         counts &found)
    {
        const bb_mx_element kind = BB_MX_INT8;
        const double minimum = bb_mx_least(&kind);
        const block_place place(task, row, at);
        double scaled[quad];
        int32_t codes[quad];
        uint32_t largest = 0; // upper half
        uint32_t any = 0;
        bool holds = true;
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            scaled[i] = times(scale, drawn[i]);
            const bool held = bb_mx_in_range(fabs(scaled[i]));
            const uint32_t upper = upper_half(scaled[i]);
            holds = holds && held;
            largest = held && upper > largest ? upper : largest;
            found.non_finite += !held;
        }
        largest = largest_of_group(largest);
        const bool poisoned = any_of_group(!holds);
        const int shared =
            bb_mx_scale(&kind, bb_format_f64_of_bits(static_cast<uint64_t>(largest) << 32));
        const double per_scale = bb_bfp_per_unit(shared);
        const double unit = bb_bfp_per_unit(kind.fraction - shared);
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            bb_mx_code code = {0, false, false};
            if (!poisoned) {
                code = bb_mx_code_of(&kind, scaled[i] * per_scale, minimum);
            }
            codes[i] = code.word;
            any |= static_cast<uint32_t>(code.word);
            stored[i] = poisoned ? static_cast<double>(NAN) : code.word * unit;
            found.saturated += code.saturated;
            found.underflowed += code.underflowed;
        }
        const bool has_numbers = any_of_group(any != 0);
        const int exponent = has_numbers ? shared - kind.fraction : 0;
        if (exponent < BB_BFP_LEAST_EXPONENT && place.chunk == 0) {
            (void)atomicMax(reinterpret_cast<unsigned long long *>(&task.tally->odd),
                            static_cast<unsigned long long>(row + 1));
        }
        write_block(task, place, row, codes,
                    static_cast<unsigned char>(!place.has_columns ? 0
                                               : poisoned         ? BB_MX_NOT_HELD
                                                                  : exponent + 127));
    }
};

// Integers in units of the row's step.
struct integers {
    double step, divisor, top;

    __device__ integers(const bb_stream_encoding &task, bb_index row)
        : step(static_cast<double>(task.steps[row])), divisor(bb_integer_divisor(step)),
          top(bb_integer_top(task.layout.bits))
    {
    }
    __device__ void start()
    {
    }
    __device__ void finish(const bb_stream_encoding &, bb_index, bb_index)
    {
    }

    __device__ __forceinline__ void code(const bb_stream_encoding &task, double, bb_index row,
                                         const columns_of_lane &at, int,
                                         const double (&drawn)[quad], double (&stored)[quad],
                                         counts &found)
    {
        const block_place place(task, row, at);
        int32_t numbers[quad];
        const bool held = !is_nan(step);
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            const double steps = bb_integer_steps(drawn[i], divisor, top);
            numbers[i] = held ? static_cast<int32_t>(bb_integer_clipped(steps, top)) : 0;
            stored[i] = numbers[i] * step;
            found.saturated += held && fabs(steps) > top;
            found.underflowed += step == 0.0 && drawn[i] != 0.0;
        }
        pack_planes(numbers, task.layout.bits, place.chunk, place.block,
                    static_cast<int>(task.layout.columns) / BB_BLOCK, row,
                    task.layout.bits == 8 ? 0x80808080u : 0u, place.out != nullptr, place.out);
    }
};

// Ranges of a row's magnitudes, by integer maxima of their bits.
__global__ void __launch_bounds__(threads)
    find_ranges(const __grid_constant__ bb_stream_range_task task, bb_index segments)
{
    const bb_index index = warp_of_grid();
    if (index >= task.source.rows * segments) {
        return;
    }
    const bb_index row = index / segments;
    const row_reader reader(task.source, row);
    const double factor = task.source.factors != nullptr ? task.source.factors[row] : 1.0;
    double largest = 0.0;
    double held = 0.0;
    unsigned not_held = 0;
#pragma unroll 4
    for (int turn = 0; turn < turns; ++turn) {
        const columns_of_lane at = reader.read(index % segments * BB_STREAM_SEGMENT +
                                               turn * turn_columns + lane_of_thread() * quad);
#pragma unroll
        for (int i = 0; i < quad; ++i) {
            const double magnitude = fabs(factor * at.value[i]);
            const bool holds = bb_integer_in_range(magnitude);
            largest = magnitude > largest ? magnitude : largest;
            held = holds && magnitude > held ? magnitude : held;
            not_held += !holds;
        }
    }
    largest = largest_of_lanes(largest);
    held = largest_of_lanes(held);
    bb_stream_range *range = &task.ranges[row];
    add_count(not_held, &range->not_held);
    if (lane_of_thread() == 0) {
        (void)atomicMax(reinterpret_cast<unsigned long long *>(&range->largest),
                        bb_format_bits_of_f64(largest));
        (void)atomicMax(reinterpret_cast<unsigned long long *>(&range->held),
                        bb_format_bits_of_f64(held));
    }
}

constexpr int clips = 4; // per warp, one per row
static_assert(BB_INTEGER_CLIPS % clips == 0, "each clip has a warp");

// Lane l sums the errors of columns l, l + 32, ... in order, then the lanes are added in order: the
// same order as on the host, because these sums decide between clips.
__global__ void __launch_bounds__(threads)
    try_clips(const __grid_constant__ bb_stream_clip_task task)
{
    const int parts = BB_INTEGER_CLIPS / clips;
    const bb_index index = warp_of_grid();
    if (index >= task.source.rows * parts) {
        return;
    }
    const bb_index row = index / parts;
    const bb_index first = row * BB_INTEGER_CLIPS + index % parts * clips;
    const double *values = task.source.values + row * task.source.columns;
    const double factor = task.source.factors != nullptr ? task.source.factors[row] : 1.0;
    const double top = bb_integer_top(task.bits);
    double step[clips];
    double sums[clips];
#pragma unroll
    for (int c = 0; c < clips; ++c) {
        step[c] = static_cast<double>(task.steps[first + c]);
        sums[c] = 0.0;
    }
#pragma unroll 2
    for (bb_index column = lane_of_thread(); column < task.source.columns; column += lanes) {
        const double value = factor * values[column];
#pragma unroll
        for (int c = 0; c < clips; ++c) {
            const double error = bb_integer_error(value, step[c], bb_integer_divisor(step[c]), top);
            sums[c] += error * error;
        }
    }
#pragma unroll
    for (int c = 0; c < clips; ++c) {
        double sum = 0.0;
        for (int lane = 0; lane < lanes; ++lane) {
            sum += __shfl_sync(all_lanes, sums[c], lane);
        }
        if (lane_of_thread() == 0) {
            task.squares[first + c] = sum;
        }
    }
}

__device__ void merge(bb_stream_errors &sum, const bb_stream_errors &more)
{
    bb_error_norms_merge(&sum.norms, &more.norms);
    sum.error_1 += more.error_1;
    sum.stored_1 += more.stored_1;
    sum.stored_squares += more.stored_squares;
}

__device__ bb_stream_errors no_errors()
{
    bb_stream_errors out = {};
    out.norms.minimum = INFINITY;
    out.norms.maximum = -INFINITY;
    return out;
}

// Sums errors with one thread block per row: lane l adds a range of segments in order, the first
// lane adds the lanes.
__global__ void __launch_bounds__(lanes)
    add_row_errors(const bb_stream_errors *errors, bb_index segments, bb_stream_errors *totals)
{
    __shared__ bb_stream_errors sums[lanes];
    const bb_index row = blockIdx.x;
    const bb_index run = (segments + lanes - 1) / lanes;
    const bb_index begin = threadIdx.x * run;
    const bb_index end = begin + run < segments ? begin + run : segments;
    bb_stream_errors sum = no_errors();
    for (bb_index s = begin; s < end; ++s) {
        merge(sum, errors[row * segments + s]);
    }
    sums[threadIdx.x] = sum;
    __syncwarp();
    if (threadIdx.x == 0) {
        for (int lane = 1; lane < lanes; ++lane) {
            merge(sum, sums[lane]);
        }
        totals[row] = sum;
    }
}

bb_status launch_words(const bb_stream_encoding &task, cudaStream_t queue)
{
    switch (task.form.format) {
    case BB_FORMAT_FP64:
        return launch_coder<words<8, false>>(task, queue);
    case BB_FORMAT_FP32:
        return launch_coder<words<4, false>>(task, queue);
    case BB_FORMAT_TF32:
        return launch_coder<words<4, true>>(task, queue);
    case BB_FORMAT_BF16:
    case BB_FORMAT_FP16:
        return launch_coder<words<2, true>>(task, queue);
    default:
        return launch_coder<words<1, true>>(task, queue);
    }
}

bb_status launch_rows(const bb_stream_encoding &task, cudaStream_t queue)
{
    switch (task.form.kind) {
    case BB_FORM_WORDS:
        return launch_words(task, queue);
    case BB_FORM_BLOCKS:
        return launch_coder<blocks>(task, queue);
    case BB_FORM_INTEGERS:
        return launch_coder<mx_integers>(task, queue);
    case BB_FORM_STEPS:
        return launch_coder<integers>(task, queue);
    default:
        return launch_quotients(task, queue);
    }
}

} // namespace

namespace encoder
{

bb_status add_segments(const bb_stream_errors *errors, bb_index segments, bb_index rows,
                       bb_stream_errors *totals, cudaStream_t queue)
{
    add_row_errors<<<static_cast<unsigned>(rows), lanes, 0, queue>>>(errors, segments, totals);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

} // namespace encoder

extern "C" bb_status bb_stream_encoder_range_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                  void *arguments)
{
    const bb_stream_range_task &task = *static_cast<const bb_stream_range_task *>(arguments);
    const bb_index segments = (task.source.columns + BB_STREAM_SEGMENT - 1) / BB_STREAM_SEGMENT;
    find_ranges<<<blocks_of(rows * segments), threads, 0, bb_queue_stream(queue)>>>(task, segments);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

extern "C" bb_status bb_stream_encoder_clip_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                 void *arguments)
{
    const bb_stream_clip_task &task = *static_cast<const bb_stream_clip_task *>(arguments);
    const bb_index items = rows * (BB_INTEGER_CLIPS / clips);
    try_clips<<<blocks_of(items), threads, 0, bb_queue_stream(queue)>>>(task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

extern "C" bb_status bb_stream_encoder_rows_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                 void *arguments)
{
    const bb_stream_encoding &task = *static_cast<const bb_stream_encoding *>(arguments);
    cudaStream_t stream = bb_queue_stream(queue);
    const bb_status status = launch_rows(task, stream);
    if (status != BB_OK) {
        return status;
    }
    return add_segments(task.errors, task.segments, rows, task.totals, stream);
}
