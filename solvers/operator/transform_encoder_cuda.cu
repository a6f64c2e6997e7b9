// SPDX-License-Identifier: Apache-2.0
//
// Forward and inverse transforms of blocks in shared memory, and their words (transform_encoder.h).
#include "solvers/operator/stream/stream_encoder_cuda.h"
#include "solvers/operator/transform_encoder.h"

namespace
{

using encoder::all_lanes;
using encoder::is_nan;
using encoder::lanes;
using encoder::threads;
using encoder::times;

// A block of the grid of blocks, with values [rows][lines][pitch].
struct block_shape {
    uint32_t first[BB_TRANSFORM_AXES], size[BB_TRANSFORM_AXES];
    uint32_t rows, cells, pitch, padded, kind;

    __device__ block_shape(const bb_transform_encoding &task, uint32_t band, uint32_t across,
                           uint32_t mesh)
    {
        const uint32_t index[BB_TRANSFORM_AXES] = {band, across, mesh / task.count[3],
                                                   mesh % task.count[3]};
        kind = 0;
#pragma unroll
        for (int axis = 0; axis < BB_TRANSFORM_AXES; ++axis) {
            first[axis] = index[axis] * task.length[axis];
            const uint32_t rest = task.extent[axis] - first[axis];
            size[axis] = rest < task.length[axis] ? rest : task.length[axis];
            kind |= static_cast<uint32_t>(rest < task.length[axis]) << axis;
        }
        rows = size[0] * size[1];
        cells = size[2] * size[3];
        pitch = size[3] | 1u;
        padded = rows * size[2] * pitch;
    }

    // Row of the matrix for row i of the block.
    __device__ uint32_t row_of(const bb_transform_encoding &task, uint32_t i) const
    {
        return (first[0] + i / size[1]) * task.extent[1] + first[1] + i % size[1];
    }

    // Offset in columns of the matrix of the block's first value.
    __device__ bb_index column(const bb_transform_encoding &task) const
    {
        return static_cast<bb_index>(first[2]) * task.extent[3] + first[3];
    }
};

// Rows of the matrix of a strip, and their factors.
struct strip_rows {
    double factor[BB_TRANSFORM_ROWS];
    uint32_t row[BB_TRANSFORM_ROWS];

    __device__ void take(const bb_transform_encoding &task, const block_shape &block)
    {
        for (uint32_t i = threadIdx.x; i < block.rows; i += threads) {
            row[i] = block.row_of(task, i);
            factor[i] = task.source.factors != nullptr ? task.source.factors[row[i]] : 1.0;
        }
        __syncthreads();
    }

    __device__ const double *values(const bb_transform_encoding &task, uint32_t i) const
    {
        return task.source.values + static_cast<bb_index>(row[i]) * task.source.columns;
    }
};

constexpr int together = 5; // loads that a thread issues before it uses one

// Loads two basis values, again for every line, because storing all of them would use too many
// registers.
__device__ __forceinline__ double2 read_pair(const double2 *source)
{
    double2 out;
    asm volatile("ld.global.nc.v2.f64 {%0, %1}, [%2];" : "=d"(out.x), "=d"(out.y) : "l"(source));
    return out;
}

// Transforms n values `stride` apart, in place: out[k] = sum over j of M[k][j] in[j], in the order
// of the host.
template <int n>
__device__ __forceinline__ void transform_line(const double *m, double *values, uint32_t stride)
{
    constexpr int pitch = (n + 7) / 8 * 8;
    const double2 *pairs = reinterpret_cast<const double2 *>(m);
    double in[n];
#pragma unroll
    for (int j = 0; j < n; ++j) {
        in[j] = values[j * stride];
    }
#pragma unroll 2
    for (int k = 0; k < n; ++k) {
        double sum = 0.0;
#pragma unroll
        for (int j = 0; j < n; j += 2) {
            const double2 pair = read_pair(pairs + (k * pitch + j) / 2);
            sum += pair.x * in[j];
            if (j + 1 < n) {
                sum += pair.y * in[j + 1];
            }
        }
        values[k * stride] = sum;
    }
}

template <int n>
__device__ void transform_lines(const double *m, uint32_t lines, uint32_t after, uint32_t step,
                                double *values)
{
#pragma unroll 1
    for (uint32_t l = threadIdx.x; l < lines; l += threads) {
        transform_line<n>(m, values + l / after * step + l % after, after);
    }
}

// Transforms values [before][n][after] along the middle axis; `step` is the size of [n][after] with
// its padding. A longer axis uses the buffer `room`.
__device__ __noinline__ void transform_axis(const double *m, uint32_t n, uint32_t lines,
                                            uint32_t after, uint32_t step, double *values,
                                            double *room)
{
    switch (n) {
#define CASE(n)                                                                                    \
    case n:                                                                                        \
        transform_lines<n>(m, lines, after, step, values);                                         \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
        CASE(14)
        CASE(15)
        CASE(16)
#undef CASE
    default: {
        const uint32_t pitch = (n + 7) / 8 * 8;
        for (uint32_t i = threadIdx.x; i < lines * n; i += threads) {
            const uint32_t base = i % lines / after * step + i % lines % after;
            const double *row = m + static_cast<size_t>(i / lines) * pitch;
            double sum = 0.0;
            for (uint32_t j = 0; j < n; ++j) {
                sum += row[j] * values[base + j * after];
            }
            room[base + i / lines * after] = sum;
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < lines * n; i += threads) {
            const uint32_t at = i % lines / after * step + i % lines % after + i / lines * after;
            values[at] = room[at];
        }
    }
    }
    __syncthreads();
}

// Transforms one axis of a block.
template <int axis, bool back>
__device__ __forceinline__ void transform(const bb_transform_encoding &task,
                                          const block_shape &block, double *values, double *room)
{
    const uint32_t *size = block.size;
    const double *m = task.bases + task.basis[axis][block.kind >> axis & 1u][back];
    const uint32_t after = axis == 0   ? size[1] * size[2] * block.pitch
                           : axis == 1 ? size[2] * block.pitch
                           : axis == 2 ? block.pitch
                                       : 1;
    const uint32_t step = axis == 3 ? block.pitch : size[axis] * after;
    const uint32_t lines = block.padded / step * after;
    transform_axis(m, size[axis], lines, after, step, values, room);
}

// Loads the values of a block times the factors of their rows; returns how many of this thread's
// are not finite.
__device__ __forceinline__ unsigned gather(const bb_transform_encoding &task,
                                           const block_shape &block, const strip_rows &rows,
                                           double *values)
{
    const uint32_t width = block.size[3];
    const uint32_t depth = block.size[2];
    const uint32_t pairs = block.rows * depth;
    const double *source = task.source.values + block.column(task);
    uint32_t across = 1; // threads per line, a power of two
    while (across < width && across < lanes) {
        across *= 2;
    }
    const uint32_t stride = threads / across;
    unsigned bad = 0;
    for (uint32_t pair = threadIdx.x; block.pitch > width && pair < pairs; pair += threads) {
        values[pair * block.pitch + width] = 0.0;
    }
    for (uint32_t c = threadIdx.x % across; c < width; c += across) {
        uint32_t row = threadIdx.x / across / depth;
        uint32_t line = threadIdx.x / across % depth;
        for (uint32_t pair = threadIdx.x / across; pair < pairs; pair += together * stride) {
            double value[together];
            double factor[together];
#pragma unroll
            for (int i = 0; i < together; ++i) {
                if (pair + i * stride < pairs) {
                    value[i] =
                        __ldcg(source + static_cast<bb_index>(rows.row[row]) * task.source.columns +
                               static_cast<bb_index>(line) * task.extent[3] + c);
                    factor[i] = rows.factor[row];
                }
                row += stride / depth;
                line += stride % depth;
                if (line >= depth) {
                    line -= depth;
                    ++row;
                }
            }
#pragma unroll
            for (int i = 0; i < together; ++i) {
                if (pair + i * stride < pairs) {
                    const double scaled =
                        task.source.factors != nullptr ? times(factor[i], value[i]) : value[i];
                    values[(pair + i * stride) * block.pitch + c] = scaled;
                    bad += !isfinite(scaled);
                }
            }
        }
    }
    return bad;
}

// Quantises the coefficients in place to multiples of the step; returns how many cannot be
// represented.
__device__ unsigned quantise(const bb_transform_encoding &task, const block_shape &block,
                             double *values)
{
    const double inverse = 1.0 / task.step;
    unsigned bad = 0;
    for (uint32_t i = threadIdx.x; i < block.padded; i += threads) {
        const double quotient = rint(values[i] * inverse);
        const bool fits = fabs(quotient) < 0x1p31;
        bad += !fits;
        values[i] = fits ? static_cast<double>(static_cast<int32_t>(quotient)) : 0.0;
    }
    return bad;
}

constexpr int warps = threads / lanes;

// Words of a block in the format of bb_transform_pack.
struct packer {
    uint8_t code[BB_TRANSFORM_GROUPS];    // width code of a group (bb_transform_code), 0: no words
    uint8_t active[BB_TRANSFORM_GROUPS];  // codes of the nonempty groups, in order
    uint16_t number[BB_TRANSFORM_GROUPS]; // index of a group among the nonempty ones
    uint32_t begin[BB_TRANSFORM_GROUPS];  // words of the preceding groups
    uint32_t scratch[warps][lanes];
    uint32_t count, total;
    unsigned long long place;
};

__device__ int32_t quotient_at(const bb_transform_encoding &task, const block_shape &block,
                               const double *values, uint32_t group)
{
    const uint32_t i = group * BB_TRANSFORM_GROUP + threadIdx.x % lanes;
    const uint16_t *order = task.orders + task.order[block.kind];
    return i < block.rows * block.cells ? static_cast<int32_t>(values[__ldg(order + i)]) : 0;
}

__device__ int bits_of(uint32_t magnitudes)
{
    return magnitudes == 0 ? 0 : lanes - __clz(static_cast<int>(magnitudes));
}

// Codes of all groups, and offsets of their words.
__device__ void measure(const bb_transform_encoding &task, const block_shape &block,
                        const double *values, uint32_t groups, packer &work)
{
    for (uint32_t g = threadIdx.x / lanes; g < groups; g += warps) {
        const int32_t q = quotient_at(task, block, values, g);
        const uint32_t any = __reduce_or_sync(all_lanes, static_cast<uint32_t>(q));
        const uint32_t magnitudes =
            __reduce_or_sync(all_lanes, static_cast<uint32_t>(q < 0 ? ~q : q));
        if (threadIdx.x % lanes == 0) {
            work.code[g] =
                static_cast<uint8_t>(any == 0 ? 0 : bb_transform_code(bits_of(magnitudes) + 1));
        }
    }
    __syncthreads();
    if (threadIdx.x < lanes) {
        uint32_t count = 0;
        uint32_t words = 0;
        for (uint32_t first = 0; first < groups; first += lanes) {
            const uint32_t g = first + threadIdx.x;
            const int code = g < groups ? work.code[g] : 0;
            const unsigned present = __ballot_sync(all_lanes, code != 0);
            const uint32_t width = code != 0 ? static_cast<uint32_t>(bb_transform_width(code)) : 0;
            uint32_t sum = width; // inclusive prefix over the lanes
            for (int step = 1; step < lanes; step *= 2) {
                const uint32_t before = __shfl_up_sync(all_lanes, sum, step);
                sum += static_cast<int>(threadIdx.x) >= step ? before : 0;
            }
            if (code != 0) {
                const uint32_t number =
                    count + static_cast<uint32_t>(__popc(present & ((1u << threadIdx.x) - 1u)));
                work.number[g] = static_cast<uint16_t>(number);
                work.active[number] = static_cast<uint8_t>(code);
                work.begin[g] = words + sum - width;
            }
            count += static_cast<uint32_t>(__popc(present));
            words += __shfl_sync(all_lanes, sum, lanes - 1);
        }
        if (threadIdx.x == 0) {
            work.count = count;
            work.total = words;
        }
    }
    __syncthreads();
}

// Reserves `words` words and records their location, which every thread has after the call.
__device__ uint32_t *take_place(const bb_transform_encoding &task, uint32_t words, size_t record,
                                packer &work)
{
    if (threadIdx.x == 0) {
        work.place = atomicAdd(reinterpret_cast<unsigned long long *>(task.used),
                               static_cast<unsigned long long>(words));
        task.records[record].first = work.place;
        task.records[record].words = words;
    }
    __syncthreads();
    return work.place + words <= task.capacity ? task.words + work.place : nullptr;
}

__device__ void pack_group(int32_t quotient, int width, uint32_t *scratch, uint32_t *out)
{
    const int lane = threadIdx.x % lanes;
    const uint32_t mask = width == 32 ? 0xffffffffu : (1u << width) - 1u;
    const int bit = lane * width;
    const uint64_t shifted = static_cast<uint64_t>(static_cast<uint32_t>(quotient) & mask)
                             << (bit & 31);
    scratch[lane] = 0;
    __syncwarp();
    (void)atomicOr(scratch + (bit >> 5), static_cast<uint32_t>(shifted));
    if (shifted >> 32 != 0) {
        (void)atomicOr(scratch + (bit >> 5) + 1, static_cast<uint32_t>(shifted >> 32));
    }
    __syncwarp();
    if (lane < width) {
        out[lane] = scratch[lane];
    }
    __syncwarp();
}

__device__ void pack(const bb_transform_encoding &task, const block_shape &block,
                     const double *values, size_t record, packer &work)
{
    const uint32_t count = block.rows * block.cells;
    const uint32_t groups = (count + BB_TRANSFORM_GROUP - 1) / BB_TRANSFORM_GROUP;
    const uint32_t map_words = (groups + 31) / 32;
    measure(task, block, values, groups, work);
    const uint32_t code_words = (work.count + 7) / 8;
    const uint32_t words = work.count == 0 ? 0 : map_words + code_words + work.total;
    uint32_t *out = take_place(task, words, record, work);
    if (words == 0 || out == nullptr) {
        return;
    }
    for (uint32_t w = threadIdx.x; w < map_words; w += threads) {
        uint32_t map = 0;
        for (uint32_t i = 0; i < 32 && 32 * w + i < groups; ++i) {
            map |= static_cast<uint32_t>(work.code[32 * w + i] != 0) << i;
        }
        out[w] = map;
    }
    for (uint32_t w = threadIdx.x; w < code_words; w += threads) {
        uint32_t codes = 0;
        for (uint32_t i = 0; i < 8 && 8 * w + i < work.count; ++i) {
            codes |= static_cast<uint32_t>(work.active[8 * w + i]) << (4 * i);
        }
        out[map_words + w] = codes;
    }
    for (uint32_t g = threadIdx.x / lanes; g < groups; g += warps) {
        if (work.code[g] != 0) {
            pack_group(quotient_at(task, block, values, g), bb_transform_width(work.code[g]),
                       work.scratch[threadIdx.x / lanes],
                       out + map_words + code_words + work.begin[g]);
        }
    }
}

// Adjacent threads that share a row of the block, and the index of this one.
struct row_share {
    uint32_t parts, part, row;

    __device__ explicit row_share(uint32_t rows)
    {
        parts = 1;
        while (2 * parts * rows <= threads && parts < lanes) {
            parts *= 2;
        }
        row = threadIdx.x / parts;
        part = threadIdx.x % parts;
    }
};

// Adds the errors of this thread's share of its row, line by line.
__device__ __forceinline__ void compare(const bb_transform_encoding &task, const block_shape &block,
                                        const strip_rows &rows, const row_share &share,
                                        bool poisoned, const double *values, double unit,
                                        encoder::lane_errors &errors)
{
    const uint32_t width = block.size[3];
    if (share.row >= block.rows || share.part >= width) {
        return;
    }
    const double factor = rows.factor[share.row];
    const double *source = rows.values(task, share.row) + block.column(task);
    const double *decoded = values + share.row * block.size[2] * block.pitch;
    uint32_t c = share.part;
    for (uint32_t line = 0; line < block.size[2];) {
        double exact[together];
        double stored[together];
        int count = 0;
#pragma unroll
        for (int i = 0; i < together; ++i) {
            if (line < block.size[2]) {
                exact[i] = __ldcg(source + static_cast<bb_index>(line) * task.extent[3] + c);
                stored[i] = decoded[line * block.pitch + c] * task.step;
                ++count;
                c += share.parts;
                if (c >= width) {
                    c = share.part;
                    ++line;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < together; ++i) {
            if (i < count) {
                const double value = poisoned ? static_cast<double>(NAN) : stored[i];
                errors.add(exact[i], task.source.factors != nullptr ? value / factor : value, unit);
            }
        }
    }
}

// Sums of coefficients by frequency of the rows, for a strip; and whether a block has any.
struct spectrum {
    unsigned long long sums[BB_TRANSFORM_ROWS];
    uint32_t counts[BB_TRANSFORM_ROWS];
    uint8_t present[BB_TRANSFORM_ROWS];

    __device__ void start()
    {
        for (uint32_t k = threadIdx.x; k < BB_TRANSFORM_ROWS; k += threads) {
            sums[k] = 0;
            counts[k] = 0;
        }
    }

    // Adds a block in integers, so that the order does not matter.
    __device__ void add(const bb_transform_encoding &task, const block_shape &block,
                        const double *values, const packer &work)
    {
        const uint32_t count = block.rows * block.cells;
        const uint16_t *order = task.orders + task.order[block.kind];
        for (uint32_t k = threadIdx.x; k < BB_TRANSFORM_ROWS; k += threads) {
            present[k] = 0;
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < count; i += threads) {
            if (work.code[i / BB_TRANSFORM_GROUP] != 0) {
                const uint32_t place = __ldg(order + i);
                const uint32_t row = place / (block.size[2] * block.pitch);
                const double size = fabs(values[place]);
                (void)atomicAdd(&counts[row], 1u);
                if (size > 0.0) {
                    (void)atomicAdd(&sums[row], static_cast<unsigned long long>(size));
                    present[row] = 1;
                }
            }
        }
        __syncthreads();
    }

    // Counts of a line of blocks, reset for each line.
    __device__ void flush_counts(const bb_transform_encoding &task, uint32_t group, uint32_t line)
    {
        const uint32_t rows = task.length[0] * task.length[1];
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < rows; k += threads) {
            if (counts[k] != 0) {
                (void)atomicAdd(task.counts +
                                    (static_cast<size_t>(group) * task.count[2] + line) * rows + k,
                                counts[k]);
            }
            counts[k] = 0;
        }
    }

    __device__ void flush_sums(const bb_transform_encoding &task, uint32_t group)
    {
        const uint32_t rows = task.length[0] * task.length[1];
        for (uint32_t k = threadIdx.x; k < rows; k += threads) {
            if (sums[k] != 0) {
                (void)atomicAdd(reinterpret_cast<unsigned long long *>(task.sums) +
                                    static_cast<size_t>(group) * rows + k,
                                sums[k]);
            }
        }
    }
};

constexpr int path_cells = 8; // cells per thread at a time

// Sums squares of |T_r|' |q| over this thread's share of its row, then over all of the row's
// threads.
__device__ double path_squares(const bb_transform_encoding &task, const block_shape &block,
                               const row_share &share, const double *values, const spectrum &known)
{
    const uint32_t *size = block.size;
    const uint32_t cells = size[2] * block.pitch; // including the padding, which is 0
    const double *lines = task.bases + task.basis[0][block.kind & 1u][0];
    const double *columns = task.bases + task.basis[1][block.kind >> 1 & 1u][0];
    const uint32_t line_pitch = (size[0] + 7) / 8 * 8;
    const uint32_t column_pitch = (size[1] + 7) / 8 * 8;
    const uint32_t line_of = share.row / size[1]; // line of this thread's row
    const uint32_t column_of = share.row % size[1];
    double squares = 0.0;
    for (uint32_t first = share.part; share.row < block.rows && first < cells;
         first += path_cells * share.parts) {
        double sizes[path_cells] = {};
        uint32_t k = 0; // index among the frequencies of rows
        for (uint32_t line = 0; line < size[0]; ++line) {
            for (uint32_t column = 0; column < size[1]; ++column, ++k) {
                if (known.present[k] == 0) {
                    continue;
                }
                const double basis = fabs(lines[line * line_pitch + line_of] *
                                          columns[column * column_pitch + column_of]);
#pragma unroll
                for (int c = 0; c < path_cells; ++c) {
                    const uint32_t cell = first + c * share.parts;
                    sizes[c] += cell < cells ? basis * fabs(values[k * cells + cell]) : 0.0;
                }
            }
        }
#pragma unroll
        for (int c = 0; c < path_cells; ++c) {
            squares += sizes[c] * sizes[c];
        }
    }
    for (uint32_t step = 1; step < share.parts; step *= 2) {
        squares += __shfl_xor_sync(all_lanes, squares, step);
    }
    return squares;
}

__device__ void add_path(const bb_transform_encoding &task, const block_shape &block,
                         const row_share &share, const double *values, const spectrum &known,
                         bb_transform_path &path)
{
    const double size = task.step * sqrt(path_squares(task, block, share, values, known));
    path.norm_1 += size * sqrt(static_cast<double>(block.cells));
    path.norm_2 += size * size;
    path.largest = fmax(path.largest, size);
}

// Shared memory of a strip and of its rows, in addition to the values.
struct strip_work {
    packer *words;
    spectrum *known;
    const strip_rows *rows;
    bb_transform_path path;
    bool again; // again for the errors only
};

// Encodes one block of the mesh and leaves its decoded values.
__device__ void code_block(const bb_transform_encoding &task, const block_shape &block,
                           size_t record, const row_share &share, double *values, strip_work &work,
                           bool &poisoned)
{
    double *room = values + task.padded;
    __syncthreads(); // the previous block has been read
    unsigned bad = gather(task, block, *work.rows, values);
    poisoned = __syncthreads_or(bad != 0) != 0;
    if (!poisoned) {
        transform<BB_TRANSFORM_LINES, false>(task, block, values, room);
        transform<BB_TRANSFORM_COLUMNS, false>(task, block, values, room);
        transform<BB_TRANSFORM_ROW_LINES, false>(task, block, values, room);
        transform<BB_TRANSFORM_ROW_COLUMNS, false>(task, block, values, room);
        bad = quantise(task, block, values);
        poisoned = __syncthreads_or(bad != 0) != 0;
    }
    if (!work.again) {
        encoder::add_count(bad, &task.tally->non_finite);
    }
    if (poisoned) {
        uint32_t *out = work.again ? nullptr : take_place(task, 1, record, *work.words);
        if (out != nullptr && threadIdx.x == 0) {
            out[0] = 0;
        }
        return;
    }
    if (!work.again) {
        pack(task, block, values, record, *work.words);
        __syncthreads();
    }
    if (!work.again && task.paths != nullptr) {
        work.known->add(task, block, values, *work.words);
        add_path(task, block, share, values, *work.known, work.path);
        __syncthreads();
    }
    // Decodes in the same order as the host's decoder.
    transform<BB_TRANSFORM_ROW_COLUMNS, true>(task, block, values, room);
    transform<BB_TRANSFORM_LINES, true>(task, block, values, room);
    transform<BB_TRANSFORM_COLUMNS, true>(task, block, values, room);
    transform<BB_TRANSFORM_ROW_LINES, true>(task, block, values, room);
}

__device__ double over_parts(double value, uint32_t parts)
{
    for (uint32_t step = 1; step < parts; step *= 2) {
        value += __shfl_xor_sync(all_lanes, value, step);
    }
    return value;
}

__device__ double largest_part(double value, uint32_t parts)
{
    for (uint32_t step = 1; step < parts; step *= 2) {
        value = fmax(value, __shfl_xor_sync(all_lanes, value, step));
    }
    return value;
}

// Errors of a row over a strip, without its count, in all threads of the row.
__device__ bb_stream_errors sum_parts(const encoder::lane_errors &errors, uint32_t parts)
{
    bb_stream_errors out;
    out.norms.sum_squares = over_parts(errors.squares, parts);
    out.norms.max_error = largest_part(errors.largest, parts);
    out.norms.max_error =
        is_nan(out.norms.sum_squares) ? out.norms.sum_squares : out.norms.max_error;
    out.norms.minimum = -largest_part(-errors.minimum, parts);
    out.norms.maximum = largest_part(errors.maximum, parts);
    out.norms.sum = over_parts(errors.sum, parts);
    out.error_1 = over_parts(errors.error_1, parts);
    out.stored_1 = over_parts(errors.stored_1, parts);
    out.stored_squares = over_parts(errors.stored_squares, parts);
    out.norms.exponent = 0;
    out.norms.count = 0.0;
    return out;
}

__global__ void __launch_bounds__(threads, 4)
    encode_strips(const __grid_constant__ bb_transform_encoding task)
{
    extern __shared__ double values[];
    __shared__ packer words;
    __shared__ spectrum known;
    __shared__ strip_rows own;
    const uint32_t strip = blockIdx.x % task.strips;
    const uint32_t group = blockIdx.x / task.strips;
    const uint32_t across = group % task.count[1];
    const uint32_t band = group / task.count[1];
    const uint32_t blocks = task.count[2] * task.count[3];
    const uint32_t begin = strip * BB_TRANSFORM_STRIP;
    const uint32_t end = begin + BB_TRANSFORM_STRIP < blocks ? begin + BB_TRANSFORM_STRIP : blocks;
    const block_shape rows(task, band, across, begin);
    const row_share share(rows.rows);
    bb_stream_errors out;
    double cells = 0.0;
    int exponent = 0;
    bool more = true;
    strip_work work = {&words, &known, &own, {0.0, 0.0, 0.0}, false};
    own.take(task, rows);
    known.start();
    // Repeats the pass with scaled sums if squares of errors could overflow or underflow, as in
    // bb_error_norms_add.
    while (more) {
        encoder::lane_errors errors;
        errors.start();
        cells = 0.0;
        for (uint32_t m = begin; m < end; ++m) {
            const block_shape block(task, band, across, m);
            bool poisoned = false;
            code_block(task, block, static_cast<size_t>(group) * blocks + m, share, values, work,
                       poisoned);
            compare(task, block, own, share, poisoned, values, scalbn(1.0, -exponent), errors);
            cells += static_cast<double>(block.cells);
            if (!work.again && task.paths != nullptr &&
                (m + 1 == end || (m + 1) % task.count[3] == 0)) {
                known.flush_counts(task, group, m / task.count[3]);
            }
        }
        out = sum_parts(errors, share.parts);
        if (!work.again) {
            exponent = bb_error_norms_exponent(out.norms.max_error);
        }
        more = __syncthreads_or(!work.again && share.row < rows.rows && exponent != 0) != 0;
        work.again = true;
    }
    if (task.paths != nullptr) {
        known.flush_sums(task, group);
    }
    if (share.row < rows.rows && share.part == 0) {
        out.norms.exponent = exponent;
        out.norms.count = cells;
        const bb_index at = static_cast<bb_index>(own.row[share.row]) * task.strips + strip;
        task.errors[at] = out;
        if (task.paths != nullptr) {
            task.paths[at] = work.path;
        }
    }
}

} // namespace

extern "C" bb_status bb_transform_encoder_encode_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                      void *arguments)
{
    const bb_transform_encoding &task = *static_cast<const bb_transform_encoding *>(arguments);
    cudaStream_t stream = bb_queue_stream(queue);
    const size_t bytes = (task.has_room ? 2 : 1) * task.padded * sizeof(double);
    const unsigned blocks = task.count[0] * task.count[1] * task.strips;
    BB_CUDA_TRY(cudaFuncSetAttribute(encode_strips, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)));
    encode_strips<<<blocks, threads, bytes, stream>>>(task);
    BB_CUDA_CHECK_LAUNCH();
    return encoder::add_segments(task.errors, task.strips, rows, task.totals, stream);
}
