// SPDX-License-Identifier: Apache-2.0
//
// The two kernels of solvers/operator/zfp_panels.h. Every sum has a fixed order: no atomics.
#include "core/device/device_cuda.h"
#include "precision/codecs/zfp/zfp_kind_cuda.h"
#include "solvers/operator/zfp_panels.h"

namespace
{

constexpr int lanes = 32;
constexpr int warps = 4;
constexpr unsigned everyone = 0xffffffffu;

// Kinds of sums of the products of a lane (bb_stream_sums), one block at a time.
struct wide_sum {
    using product = double;
    double total = 0.0;
    __device__ __forceinline__ void add(float value, double x)
    {
        total = __fma_rn(static_cast<double>(value), x, total);
    }
    __device__ __forceinline__ void turn(bool)
    {
    }
};

struct each_sum {
    using product = float;
    double total = 0.0;
    __device__ __forceinline__ void add(float value, float x)
    {
        total = __dadd_rn(total, static_cast<double>(__fmul_rn(value, x)));
    }
    __device__ __forceinline__ void turn(bool)
    {
    }
};

struct run_sum { // BB_STREAM_RUNS, and BB_STREAM_NARROW, whose run ends with the panel
    using product = float;
    double total = 0.0;
    float run = 0.0F;
    __device__ __forceinline__ void add(float value, float x)
    {
        run = __fmaf_rn(value, x, run);
    }
    __device__ __forceinline__ void turn(bool promotes)
    {
        if (promotes) {
            total = __dadd_rn(total, static_cast<double>(run));
            run = 0.0F;
        }
    }
};

__device__ __forceinline__ void load_four(const float *source, float (&out)[4])
{
    const float4 four = *reinterpret_cast<const float4 *>(source);
    out[0] = four.x;
    out[1] = four.y;
    out[2] = four.z;
    out[3] = four.w;
}

__device__ __forceinline__ void load_four(const double *source, double (&out)[4])
{
    const double2 a = reinterpret_cast<const double2 *>(source)[0];
    const double2 b = reinterpret_cast<const double2 *>(source)[1];
    out[0] = a.x;
    out[1] = a.y;
    out[2] = b.x;
    out[3] = b.y;
}

// A line of four values, of which `left` are inside the mesh. `whole`: lines of x are aligned to 16
// bytes and have four values in every block.
template <class Sum>
__device__ __forceinline__ void add_line(const float *values, bb_index rest, bool is_whole,
                                         const typename Sum::product *x, Sum &sum)
{
    if (is_whole) {
        typename Sum::product four[4];
        load_four(x, four);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            sum.add(values[i], four[i]);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (i < rest) {
            sum.add(values[i], x[i]);
        }
    }
}

// First bit of a lane's run in a group of the index; called by whole warps.
__device__ __forceinline__ uint64_t find_run(const bb_zfp_task &task, const bb_zfp_operand &operand,
                                             bb_index band, bb_index group)
{
    const int lane = static_cast<int>(threadIdx.x % lanes);
    const uint64_t first = operand.places[2 * band];
    if (operand.lengths == nullptr) {
        const bb_index blocks = (group * lanes + lane) * task.cut.run_blocks;
        return first + static_cast<uint64_t>(blocks) * operand.settings.maximum_bits;
    }
    const bb_index index = band * task.groups + group;
    const uint32_t length = operand.lengths[index * lanes + lane];
    return first + operand.bases[index] + bb_zfp_kind_sum_lanes(length) - length;
}

// Sum over lanes that differ in bits [from, 32) of their number.
template <int from> __device__ __forceinline__ double over_lanes(double sum)
{
#pragma unroll
    for (int half = lanes / 2; half >= from; half /= 2) {
        sum += __shfl_xor_sync(everyone, sum, half);
    }
    return sum;
}

// Work item of a warp: a panel of one slab and operand; slab 0 is the task's first.
struct panel_item {
    int operand;
    bb_index slab, panel;
};

// Neighbouring warps process the same panel of consecutive slabs, so that x is in the cache.
__device__ __forceinline__ bool find_item(const bb_zfp_task &task, panel_item *out)
{
    const bb_index item = static_cast<bb_index>(blockIdx.x) * warps + threadIdx.x / lanes;
    const bb_index rest = item / task.slabs.count;
    out->slab = item - rest * task.slabs.count;
    out->operand = static_cast<int>(rest / task.cut.panels);
    out->panel = rest - out->operand * task.cut.panels;
    return out->operand < task.operands;
}

__device__ __forceinline__ double *place_of(const bb_zfp_task &task, const panel_item &item)
{
    const bb_zfp_cut &cut = task.cut;
    return task.sums_of_panels + item.operand * bb_zfp_panels_place_count(&cut, task.slabs.count) +
           bb_zfp_panels_place_of(&cut, item.slab, 0, item.panel);
}

// Multiplies in one and two dimensions: one run per lane.
template <class Sum, int dimensions, bool reversible>
__global__ void __launch_bounds__(lanes *warps)
    multiply_narrow(const __grid_constant__ bb_zfp_task task)
{
    panel_item item;
    if (!find_item(task, &item)) {
        return;
    }
    const bb_zfp_cut &cut = task.cut;
    const bb_zfp_operand &operand = task.operand[item.operand];
    const bb_zfp_panel panel = bb_zfp_panel_of(&cut, task.slabs.first + item.slab, item.panel);
    const bb_zfp_shape mesh = {dimensions, cut.nx, cut.ny, 1, 1};
    const auto *x = static_cast<const typename Sum::product *>(task.x);
    const bool is_whole = cut.nx % 4 == 0;
    const bool promotes = task.sums == BB_STREAM_RUNS;
    Sum sum;
    for (bb_index run = panel.begin + threadIdx.x % lanes; run - threadIdx.x % lanes < panel.end;
         run += lanes) {
        const uint64_t bit = find_run(task, operand, panel.band, run / lanes);
        const bb_index first = run * cut.run_blocks;
        const bb_index rest = run < panel.end ? cut.blocks - first : 0;
        bb_zfp_corner corner = bb_zfp_kind_find_corner<dimensions>(mesh, first);
        bb_zfp_reader reader = bb_zfp_reader_open(&operand.words, bit);
        for (bb_index i = 0; i < cut.run_blocks && i < rest; ++i) {
            float block[1 << (2 * dimensions)];
            bb_zfp_kind<float>::decode<dimensions, reversible>(&reader, &operand.settings, block);
            const auto *source = x + corner.y * cut.nx + corner.x;
#pragma unroll
            for (int y = 0; y < (dimensions == 2 ? 4 : 1); ++y) {
                if (corner.y + y < cut.ny) {
                    add_line(block + 4 * y, cut.nx - corner.x, is_whole, source + y * cut.nx, sum);
                }
            }
            sum.turn(promotes);
            bb_zfp_corner_step(&mesh, &corner);
        }
    }
    sum.turn(true);
    const double total = over_lanes<1>(sum.total);
    if (threadIdx.x % lanes == 0) {
        *place_of(task, item) = total;
    }
}

// Multiplies in three and four dimensions: a warp decodes a block, which is a run. A lane's lines
// belong to one row, and in four dimensions also to the row eight further in the slab.
template <class Sum, int dimensions, bool reversible>
__global__ void __launch_bounds__(lanes *warps)
    multiply_wide(const __grid_constant__ bb_zfp_task task)
{
    __shared__ alignas(16) uint32_t values[warps][1 << (2 * dimensions)];
    panel_item item;
    if (!find_item(task, &item)) {
        return;
    }
    const bb_zfp_cut &cut = task.cut;
    const bb_zfp_operand &operand = task.operand[item.operand];
    const bb_zfp_panel panel = bb_zfp_panel_of(&cut, task.slabs.first + item.slab, item.panel);
    const bb_zfp_shape mesh = {2, cut.nx, cut.ny, 1, 1};
    const auto *x = static_cast<const typename Sum::product *>(task.x);
    const bool is_whole = cut.nx % 4 == 0;
    const bool promotes = task.sums == BB_STREAM_RUNS;
    const int lane = static_cast<int>(threadIdx.x % lanes);
    Sum near, far;
    if (panel.begin < panel.end) {
        const uint64_t of_lane = find_run(task, operand, panel.band, panel.begin / lanes);
        bb_zfp_corner corner = bb_zfp_kind_find_corner<2>(mesh, panel.begin - panel.first_run);
        for (bb_index run = panel.begin; run < panel.end; ++run) {
            const uint64_t bit = __shfl_sync(everyone, of_lane, static_cast<int>(run % lanes));
            bb_zfp_reader reader = bb_zfp_reader_open(&operand.words, bit);
            const auto put = [&](uint32_t line, const float *row) {
                const bb_index y = corner.y + line % 4;
                const auto *source = x + y * cut.nx + corner.x;
                if (y < cut.ny && (dimensions == 3 || line < lanes)) {
                    add_line(row, cut.nx - corner.x, is_whole, source, near);
                } else if (y < cut.ny) {
                    add_line(row, cut.nx - corner.x, is_whole, source, far);
                }
            };
            bb_zfp_kind_warp_decode<float, dimensions, reversible>(
                &reader, &operand.settings, values[threadIdx.x / lanes], put);
            near.turn(promotes);
            far.turn(promotes);
            bb_zfp_corner_step(&mesh, &corner);
        }
    }
    near.turn(true);
    far.turn(true);
    // Multiplies the four lines of a row.
    double sums[2] = {near.total, far.total};
#pragma unroll
    for (int i = 0; i < (dimensions == 4 ? 2 : 1); ++i) {
        sums[i] += __shfl_xor_sync(everyone, sums[i], 2);
        sums[i] += __shfl_xor_sync(everyone, sums[i], 1);
        const int row = lane / 4 + 8 * i;
        if (lane % 4 == 0 && row < cut.slab_rows) {
            place_of(task, item)[row * cut.panels] = sums[i];
        }
    }
}

// Computes y from the sums of panels, one warp per row.
__global__ void __launch_bounds__(lanes *warps) add_panels(const __grid_constant__ bb_zfp_task task)
{
    const bb_zfp_cut &cut = task.cut;
    const int lane = static_cast<int>(threadIdx.x % lanes);
    const bb_index item = static_cast<bb_index>(blockIdx.x) * warps + threadIdx.x / lanes;
    const int which = static_cast<int>(item / task.rows);
    const bb_index row = item - which * task.rows;
    if (which >= task.operands) {
        return;
    }
    const bb_zfp_operand &operand = task.operand[which];
    const bb_zfp_row_place place = bb_zfp_row_place_of(&cut, task.row + row);
    const double *sums = task.sums_of_panels +
                         which * bb_zfp_panels_place_count(&cut, task.slabs.count) +
                         bb_zfp_panels_place_of(&cut, place.slab - task.slabs.first, place.row, 0);
    double total = 0.0;
    for (bb_index panel = lane; panel < cut.panels; panel += lanes) {
        total += sums[panel];
    }
    total = over_lanes<1>(total);
    if (lane == 0) {
        operand.y[row] = total / operand.scales[task.row + row];
    }
}

template <class Sum, int dimensions>
void launch_kind(const bb_zfp_task &task, unsigned grid, cudaStream_t queue)
{
    constexpr int narrow = dimensions <= 2 ? dimensions : 2;
    constexpr int wide = dimensions <= 2 ? 3 : dimensions;
    if (dimensions <= 2) {
        task.reversible
            ? multiply_narrow<Sum, narrow, true><<<grid, lanes * warps, 0, queue>>>(task)
            : multiply_narrow<Sum, narrow, false><<<grid, lanes * warps, 0, queue>>>(task);
    } else {
        task.reversible ? multiply_wide<Sum, wide, true><<<grid, lanes * warps, 0, queue>>>(task)
                        : multiply_wide<Sum, wide, false><<<grid, lanes * warps, 0, queue>>>(task);
    }
}

template <class Sum> void launch(const bb_zfp_task &task, unsigned grid, cudaStream_t queue)
{
    switch (task.cut.dimensions) {
    case 1:
        launch_kind<Sum, 1>(task, grid, queue);
        break;
    case 2:
        launch_kind<Sum, 2>(task, grid, queue);
        break;
    case 3:
        launch_kind<Sum, 3>(task, grid, queue);
        break;
    default:
        launch_kind<Sum, 4>(task, grid, queue);
    }
}

unsigned blocks_of(bb_index items)
{
    return static_cast<unsigned>((items + warps - 1) / warps);
}

} // namespace

extern "C" bb_status bb_zfp_panels_multiply_cuda(bb_queue *queue, bb_index, bb_index rows,
                                                 void *arguments)
{
    const bb_zfp_task &task = *static_cast<const bb_zfp_task *>(arguments);
    cudaStream_t stream = bb_queue_stream(queue);
    const bb_index items = task.operands * task.slabs.count * task.cut.panels;
    (void)rows; // task.rows
    if (task.rows == 0) {
        return BB_OK;
    }
    if (items > static_cast<bb_index>(warps) * INT32_MAX) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "zfp: %td panels exceed the grid size", items);
    }
    switch (task.sums) {
    case BB_STREAM_WIDE:
        launch<wide_sum>(task, blocks_of(items), stream);
        break;
    case BB_STREAM_EACH:
        launch<each_sum>(task, blocks_of(items), stream);
        break;
    default: // run lengths, and a single run
        launch<run_sum>(task, blocks_of(items), stream);
    }
    BB_CUDA_CHECK_LAUNCH();
    add_panels<<<blocks_of(task.operands * task.rows), lanes * warps, 0, stream>>>(task);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
