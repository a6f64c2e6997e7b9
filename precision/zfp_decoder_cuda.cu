// SPDX-License-Identifier: Apache-2.0
//
// Twin of zfp_decoder.c: a lane a run, a warp a group of 32 runs, whose places are the sums of the
// lengths before them.
//
// What a float in two dimensions costs, counted, at the 1.5 bits a value of a response at a
// tolerance of 1e-12 (5 planes and 4 coefficients a block): head 15 instructions, planes 5 x 45,
// ones 4 x 12, negabinary 32, lifting 120, scaling 32, stores and places 40: 510 a block, 32 a
// value. 1056 lanes a clock of 132 processors at 1.7 GHz issue 29e12 a second: 3.6 TB/s of values
// without divergence and stalls; a half of both leaves 0.9. Bytes: 4 written and 0.2 to 0.35 read a
// value, 4 TB/s. So instructions bind, and warps that wait for their longest lane.
//
// One and two dimensions stay in registers. Runs of one block store whole lines; longer ones store
// 16 bytes a row, which meet in the second-level cache.
#include "core/device_cuda.h"
#include "precision/zfp_decoder.h"

namespace
{

const int lanes = 32;
const int warps = 4;

template <typename Real> struct kind;

template <> struct kind<float> {
    template <int dimensions, bool reversible>
    static __device__ __forceinline__ void decode(bb_zfp_reader *reader,
                                                  const bb_zfp_settings *settings, float *out)
    {
        bb_zfp_decode_block_f32(reader, settings, dimensions, reversible, out);
    }
    static __device__ __forceinline__ void store(float *to, const float *v)
    {
        *reinterpret_cast<float4 *>(to) = make_float4(v[0], v[1], v[2], v[3]);
    }
};

template <> struct kind<double> {
    template <int dimensions, bool reversible>
    static __device__ __forceinline__ void decode(bb_zfp_reader *reader,
                                                  const bb_zfp_settings *settings, double *out)
    {
        bb_zfp_decode_block_f64(reader, settings, dimensions, reversible, out);
    }
    static __device__ __forceinline__ void store(double *to, const double *v)
    {
        reinterpret_cast<double2 *>(to)[0] = make_double2(v[0], v[1]);
        reinterpret_cast<double2 *>(to)[1] = make_double2(v[2], v[3]);
    }
};

template <int dimensions> __device__ constexpr int side(int axis)
{
    return axis < dimensions ? 4 : 1;
}

template <typename Real>
__device__ __forceinline__ void put_row(const Real *row, bb_index left, bool whole, Real *to)
{
    if (whole) {
        kind<Real>::store(to, row);
        return;
    }
#pragma unroll
    for (int x = 0; x < 4; ++x) {
        if (x < left) {
            to[x] = row[x];
        }
    }
}

// `whole`: rows begin at multiples of 16 bytes and hold four values of every block.
template <typename Real, int dimensions>
__device__ __forceinline__ void put_block(const bb_zfp_shape &shape, const bb_zfp_corner &at,
                                          const Real *block, bool whole, Real *out)
{
    const bb_index line =
        ((dimensions > 3 ? at.w : 0) * shape.nz + (dimensions > 2 ? at.z : 0)) * shape.ny +
        (dimensions > 1 ? at.y : 0);
    Real *to = out + line * shape.nx + at.x;
#pragma unroll
    for (int w = 0; w < side<dimensions>(3); ++w) {
#pragma unroll
        for (int z = 0; z < side<dimensions>(2); ++z) {
#pragma unroll
            for (int y = 0; y < side<dimensions>(1); ++y) {
                if (at.y + y < shape.ny && at.z + z < shape.nz && at.w + w < shape.nw) {
                    put_row(block + 64 * w + 16 * z + 4 * y, shape.nx - at.x, whole,
                            to + ((w * shape.nz + z) * shape.ny + y) * shape.nx);
                }
            }
        }
    }
}

// Divides once an axis, in 32 bits where they do.
template <int dimensions>
__device__ __forceinline__ bb_zfp_corner find_corner(const bb_zfp_shape &shape, bb_index block)
{
    const bb_index extents[3] = {shape.nx, shape.ny, shape.nz};
    bb_index place[4] = {0, 0, 0, 0};
    bb_index rest = block;
#pragma unroll
    for (int axis = 0; axis < dimensions - 1; ++axis) {
        const bb_index blocks = bb_zfp_blocks_of(extents[axis]);
        const bb_index next = rest / blocks;
        place[axis] = 4 * (rest - next * blocks);
        rest = next;
    }
    place[dimensions - 1] = 4 * rest;
    return bb_zfp_corner{place[0], place[1], place[2], place[3]};
}

// Sum over the lanes below and the own one.
__device__ __forceinline__ uint32_t sum_lanes(uint32_t value)
{
#pragma unroll
    for (int step = 1; step < lanes; step *= 2) {
        const uint32_t below = __shfl_up_sync(0xffffffffu, value, step);
        value += static_cast<int>(threadIdx.x % lanes) >= step ? below : 0;
    }
    return value;
}

// First bit of a lane's run, and its bits.
__device__ __forceinline__ uint64_t find_run(const bb_zfp_decoding &task, bb_index group,
                                             bb_index run, bb_index count, uint64_t *bits)
{
    if (task.lengths == nullptr) {
        *bits = static_cast<uint64_t>(count) * task.settings.maximum_bits;
        return static_cast<uint64_t>(run * task.run_blocks) * task.settings.maximum_bits;
    }
    const uint32_t length = run < task.runs ? task.lengths[run] : 0;
    *bits = length;
    return task.bases[group] + sum_lanes(length) - length;
}

template <typename Real, int dimensions, bool reversible>
__global__ void __launch_bounds__(lanes *warps) decode_runs(const bb_zfp_decoding task)
{
    const bb_index group = static_cast<bb_index>(blockIdx.x) * warps + threadIdx.x / lanes;
    const bb_index run = group * lanes + threadIdx.x % lanes;
    if (group * lanes >= task.runs) {
        return;
    }
    const bb_index first = run * task.run_blocks;
    const bb_index left = task.blocks - first;
    const bb_index count = left < task.run_blocks ? left : task.run_blocks;
    uint64_t bits = 0;
    const uint64_t begin = find_run(task, group, run, count, &bits);
    if (run >= task.runs) {
        return;
    }
    const bool whole = task.shape.nx % 4 == 0;
    Real *out = static_cast<Real *>(task.out);
    bb_zfp_corner at = find_corner<dimensions>(task.shape, first);
    bb_zfp_reader reader = bb_zfp_reader_open(&task.words, begin);
    const uint32_t start = bb_zfp_position(&reader);
    for (bb_index i = 0; i < count; ++i) {
        Real block[1 << (2 * dimensions)];
        kind<Real>::template decode<dimensions, reversible>(&reader, &task.settings, block);
        put_block<Real, dimensions>(task.shape, at, block, whole, out);
        bb_zfp_corner_step(&task.shape, &at);
    }
    if (begin + bits > task.bits || bb_zfp_position(&reader) - start != bits) {
        atomicMin(reinterpret_cast<unsigned long long *>(task.broken),
                  static_cast<unsigned long long>(run));
    }
}

template <typename Real, int dimensions>
void launch(const bb_zfp_decoding &task, unsigned grid, cudaStream_t queue)
{
    if (bb_zfp_reversible(&task.settings)) {
        decode_runs<Real, dimensions, true><<<grid, lanes * warps, 0, queue>>>(task);
    } else {
        decode_runs<Real, dimensions, false><<<grid, lanes * warps, 0, queue>>>(task);
    }
}

template <typename Real> void launch(const bb_zfp_decoding &task, unsigned grid, cudaStream_t queue)
{
    switch (task.shape.dimensions) {
    case 1:
        launch<Real, 1>(task, grid, queue);
        break;
    case 2:
        launch<Real, 2>(task, grid, queue);
        break;
    case 3:
        launch<Real, 3>(task, grid, queue);
        break;
    default:
        launch<Real, 4>(task, grid, queue);
    }
}

} // namespace

extern "C" bb_status bb_zfp_decoding_cuda(void *stream, bb_index items, void *arguments)
{
    const bb_zfp_decoding &task = *static_cast<const bb_zfp_decoding *>(arguments);
    cudaStream_t queue = static_cast<cudaStream_t>(stream);
    const unsigned grid = static_cast<unsigned>((items + warps - 1) / warps);
    if (task.type == BB_F64) {
        launch<double>(task, grid, queue);
    } else {
        launch<float>(task, grid, queue);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
