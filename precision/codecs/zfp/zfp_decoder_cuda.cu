// SPDX-License-Identifier: Apache-2.0
//
// CUDA version of zfp_decoder.c: one lane per run in one and two dimensions, one warp per run in
// three and four. Offsets of runs are the sums of the preceding lengths in their group.
//
// Cost of a float in two dimensions, in instructions of a warp, at 3.1 bits a value of a response
// at the tolerance of Bamakhrama et al. A block has 13.3 planes and 3.5 coefficients that get a
// one; the longest of 32 lanes has 14.1 planes, and a warp executes 9 (runs of one block) to 18 (of
// four) such coefficients. Planes 14 x 38, ones 9 to 18 x 23, bytes to words 110, head 45,
// negabinary, lifting and scaling 170, stores 50: 1120 to 1320 for 512 values, and 100 a run. 132
// processors of four schedulers at 1.75 GHz issue 0.92e12 a second: 1.4 to 1.6 TB/s of values
// without stalls. Bytes: 4 written and 0.4 to 0.55 read a value, at 4 TB/s. So instruction issue is
// the limit. Measured on an H200 (docs/lab/performance.md, section 7): 1.18 TB/s with runs of one
// and two blocks, 0.80 with four, 0.40 with eight.
//
// Runs of one block store whole lines; longer ones store 16 bytes a row, which are merged in the L2
// cache.
#include "core/device/device_cuda.h"
#include "precision/codecs/zfp/zfp_decoder.h"
#include "precision/codecs/zfp/zfp_kind_cuda.h"

namespace
{

const int lanes = 32;
const int warps = 4;

template <typename Real>
__device__ __forceinline__ void put_row(const Real *row, bb_index count, bool is_full, Real *target)
{
    if (is_full) {
        bb_zfp_kind<Real>::store(target, row);
        return;
    }
#pragma unroll
    for (int x = 0; x < 4; ++x) {
        if (x < count) {
            target[x] = row[x];
        }
    }
}

struct run_place {
    bb_index array, run;   // index of the array, and of the run in it
    bb_index first, count; // first block and number of blocks
    uint64_t begin, bits;
};

// Position of a lane's run in a group; called by whole warps.
__device__ __forceinline__ run_place find_run(const bb_zfp_decoding &task, bb_index group)
{
    const int lane = static_cast<int>(threadIdx.x % lanes);
    run_place place;
    place.array = task.arrays == 1 ? 0 : group / task.groups;
    place.run = (group - place.array * task.groups) * lanes + lane;
    place.first = place.run * task.run_blocks;
    const bb_index rest = task.blocks - place.first;
    place.count = rest < task.run_blocks ? rest : task.run_blocks;
    place.begin = task.places[2 * place.array];
    if (task.lengths == nullptr) {
        place.begin += static_cast<uint64_t>(place.first) * task.settings.maximum_bits;
        place.bits = static_cast<uint64_t>(place.count) * task.settings.maximum_bits;
    } else {
        const uint32_t length = task.lengths[group * lanes + lane];
        place.begin += task.bases[group] + bb_zfp_kind_sum_lanes(length) - length;
        place.bits = length;
    }
    return place;
}

__device__ __forceinline__ void check_end(const bb_zfp_decoding &task, const run_place &place,
                                          uint32_t bits)
{
    if (place.begin + place.bits > task.places[2 * place.array + 1] || bits != place.bits) {
        atomicMin(reinterpret_cast<unsigned long long *>(task.broken),
                  static_cast<unsigned long long>(place.array * task.runs + place.run));
    }
}

// `whole`: rows begin at multiples of 16 bytes and have four values of every block.
template <typename Real, int dimensions, bool reversible>
__global__ void __launch_bounds__(lanes *warps) decode_narrow(const bb_zfp_decoding task)
{
    const bb_index group = static_cast<bb_index>(blockIdx.x) * warps + threadIdx.x / lanes;
    if (group >= task.arrays * task.groups) {
        return;
    }
    const run_place place = find_run(task, group);
    if (place.run >= task.runs) {
        return;
    }
    const bool is_whole = task.shape.nx % 4 == 0;
    Real *out = static_cast<Real *>(task.out) + place.array * task.values;
    bb_zfp_corner corner = bb_zfp_kind_find_corner<dimensions>(task.shape, place.first);
    bb_zfp_reader reader = bb_zfp_reader_open(&task.words, place.begin);
    const uint32_t start = bb_zfp_reader_position(&reader);
    for (bb_index i = 0; i < place.count; ++i) {
        Real block[1 << (2 * dimensions)];
        bb_zfp_kind<Real>::template decode<dimensions, reversible>(&reader, &task.settings, block);
        Real *target = out + corner.y * task.shape.nx + corner.x;
#pragma unroll
        for (int y = 0; y < (dimensions == 2 ? 4 : 1); ++y) {
            if (corner.y + y < task.shape.ny) {
                put_row(block + 4 * y, task.shape.nx - corner.x, is_whole,
                        target + y * task.shape.nx);
            }
        }
        bb_zfp_corner_step(&task.shape, &corner);
    }
    check_end(task, place, bb_zfp_reader_position(&reader) - start);
}

template <typename Real, int dimensions, bool reversible>
__global__ void __launch_bounds__(lanes *warps) decode_wide(const bb_zfp_decoding task)
{
    using word = typename bb_zfp_kind<Real>::word;
    __shared__ alignas(16) word values[warps][1 << (2 * dimensions)];
    const int warp = threadIdx.x / lanes;
    const bb_index slot = static_cast<bb_index>(blockIdx.x) * warps + warp;
    if (slot >= task.arrays * task.groups * lanes) {
        return;
    }
    // Every lane locates one run of the group, and all lanes use their warp's.
    run_place place = find_run(task, slot / lanes);
    const int mine = static_cast<int>(slot % lanes);
    place.run = __shfl_sync(0xffffffffu, place.run, mine);
    place.first = __shfl_sync(0xffffffffu, place.first, mine);
    place.count = __shfl_sync(0xffffffffu, place.count, mine);
    place.begin = __shfl_sync(0xffffffffu, place.begin, mine);
    place.bits = __shfl_sync(0xffffffffu, place.bits, mine);
    if (place.run >= task.runs) {
        return;
    }
    const bb_zfp_shape &shape = task.shape;
    const bool is_whole = shape.nx % 4 == 0;
    Real *out = static_cast<Real *>(task.out) + place.array * task.values;
    bb_zfp_corner corner = bb_zfp_kind_find_corner<dimensions>(shape, place.first);
    bb_zfp_reader reader = bb_zfp_reader_open(&task.words, place.begin);
    const uint32_t start = bb_zfp_reader_position(&reader);
    for (bb_index i = 0; i < place.count; ++i) {
        const auto put = [&](uint32_t line, const Real *row) {
            const bb_index y = corner.y + line % 4;
            const bb_index z = corner.z + line / 4 % 4;
            const bb_index w = corner.w + line / 16;
            if (y < shape.ny && z < shape.nz && w < shape.nw) {
                const bb_index of_array = (w * shape.nz + z) * shape.ny + y;
                put_row(row, shape.nx - corner.x, is_whole, out + of_array * shape.nx + corner.x);
            }
        };
        bb_zfp_kind_warp_decode<Real, dimensions, reversible>(&reader, &task.settings, values[warp],
                                                              put);
        bb_zfp_corner_step(&shape, &corner);
    }
    if (threadIdx.x % lanes == 0) {
        check_end(task, place, bb_zfp_reader_position(&reader) - start);
    }
}

// Thread blocks: a warp decodes a group of runs, or one run of a group.
bb_index blocks_of(int dimensions, bb_index groups)
{
    return dimensions <= 2 ? (groups + warps - 1) / warps : groups * (lanes / warps);
}

template <typename Real, int dimensions, bool reversible>
void launch(const bb_zfp_decoding &task, cudaStream_t queue)
{
    const unsigned grid = static_cast<unsigned>(blocks_of(dimensions, task.arrays * task.groups));
    if (dimensions <= 2) {
        decode_narrow<Real, dimensions <= 2 ? dimensions : 2, reversible>
            <<<grid, lanes * warps, 0, queue>>>(task);
    } else {
        decode_wide<Real, dimensions <= 2 ? 3 : dimensions, reversible>
            <<<grid, lanes * warps, 0, queue>>>(task);
    }
}

template <typename Real, bool reversible>
void launch(const bb_zfp_decoding &task, cudaStream_t queue)
{
    switch (task.shape.dimensions) {
    case 1:
        launch<Real, 1, reversible>(task, queue);
        break;
    case 2:
        launch<Real, 2, reversible>(task, queue);
        break;
    case 3:
        launch<Real, 3, reversible>(task, queue);
        break;
    default:
        launch<Real, 4, reversible>(task, queue);
    }
}

} // namespace

extern "C" bb_status bb_zfp_decoding_cuda(bb_queue *stream, bb_index, bb_index items,
                                          void *arguments)
{
    const bb_zfp_decoding &task = *static_cast<const bb_zfp_decoding *>(arguments);
    cudaStream_t queue = bb_queue_stream(stream);
    const bool reversible = bb_zfp_block_reversible(&task.settings);
    const bb_index blocks = blocks_of(task.shape.dimensions, items); // items: groups of all arrays
    if (blocks > INT32_MAX) {
        return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                             "zfp: %td arrays of %td runs are too many for a grid", task.arrays,
                             task.runs);
    }
    if (task.type == BB_F64) {
        reversible ? launch<double, true>(task, queue) : launch<double, false>(task, queue);
    } else {
        reversible ? launch<float, true>(task, queue) : launch<float, false>(task, queue);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
