// SPDX-License-Identifier: Apache-2.0
//
// Sparse products that gather rows, and integrals of the closed-form kernel, one thread per entry.
//
// A gather reads an entry of the sparse matrix once for 32 right-hand sides, and rows of x of
// neighbouring cells from the L1 cache. Integrals are limited by fp64 arithmetic: 4 to 16 values of
// a table of degree 5 per entry.
#include "core/device/device_cuda.h"
#include "physics/wafer/response/device_rows_kernels.h"

namespace
{

constexpr int lanes = 32;
constexpr int warps = 8;
constexpr int tile = 32; // rows of the sparse matrix

__device__ double sum_row(const bb_gather_task &task, bb_index row, bb_index p)
{
    double sum = 0.0;
    for (bb_index i = task.start[row]; i < task.start[row + 1]; ++i) {
        sum = fma(task.value[i], task.x[task.column[i] * task.width + p], sum);
    }
    return sum;
}

__global__ void gather(bb_gather_task task, bb_index items)
{
    const bb_index p = static_cast<bb_index>(blockIdx.y) * lanes + threadIdx.x;
    const bb_index row = static_cast<bb_index>(blockIdx.x) * warps + threadIdx.y;
    if (row < items && p < task.width) {
        task.out[row * task.stride + p] = sum_row(task, row, p);
    }
}

__global__ void gather_transposed(bb_gather_task task, bb_index items)
{
    __shared__ double turned[tile][lanes + 1];
    const bb_index first = static_cast<bb_index>(blockIdx.x) * tile;
    const bb_index first_p = static_cast<bb_index>(blockIdx.y) * lanes;
    for (int i = threadIdx.y; i < tile; i += warps) {
        const bool there = first + i < items && first_p + threadIdx.x < task.width;
        turned[i][threadIdx.x] = there ? sum_row(task, first + i, first_p + threadIdx.x) : 0.0;
    }
    __syncthreads();
    for (int p = threadIdx.y; p < lanes; p += warps) {
        if (first + threadIdx.x < items && first_p + p < task.width) {
            task.out[(first_p + p) * task.stride + first + threadIdx.x] = turned[threadIdx.x][p];
        }
    }
}

template <int Axis>
__device__ double integral(const bb_radial_rows_task &task, bb_index column, bb_index row, double x,
                           double y)
{
    const auto line_x = [&](bb_index k) { return task.origin_x + k * task.cell_width - x; };
    const auto line_y = [&](bb_index k) { return task.origin_y + k * task.cell_height - y; };
    const bb_radial_integrand *f = &task.integrand;
    if (Axis == 0) {
        return bb_radial_integrand_edge(f, line_x(column + 1), line_y(row), line_y(row + 1)) -
               bb_radial_integrand_edge(f, line_x(column), line_y(row), line_y(row + 1));
    }
    if (Axis == 1) {
        return bb_radial_integrand_edge(f, line_y(row + 1), line_x(column), line_x(column + 1)) -
               bb_radial_integrand_edge(f, line_y(row), line_x(column), line_x(column + 1));
    }
    return bb_radial_integrand_cell(f, line_x(column), line_x(column + 1), line_y(row),
                                    line_y(row + 1));
}

template <int Axis>
__global__ void radial_rows(const __grid_constant__ bb_radial_rows_task task, bb_index items)
{
    const bb_index cells = task.columns * task.rows;
    const bb_index cell = static_cast<bb_index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (cell >= cells) {
        return;
    }
    const double live = task.area[cell] / (task.cell_width * task.cell_height);
    const bb_index row = cell / task.columns, column = cell % task.columns;
    for (bb_index p = blockIdx.y; p < items; p += gridDim.y) {
        task.out[p * cells + cell] =
            live == 0.0
                ? 0.0
                : task.scale * live * integral<Axis>(task, column, row, task.x[p], task.y[p]);
    }
}

unsigned parts(bb_index items, bb_index of)
{
    return static_cast<unsigned>((items + of - 1) / of);
}

} // namespace

extern "C" bb_status bb_device_rows_gather_cuda(bb_queue *queue, bb_index begin, bb_index items,
                                                void *arguments)
{
    const bb_gather_task *task = static_cast<const bb_gather_task *>(arguments);
    const dim3 block(lanes, warps);
    const cudaStream_t stream = bb_queue_stream(queue);
    (void)begin;
    if (task->transposed) {
        gather_transposed<<<dim3(parts(items, tile), parts(task->width, lanes)), block, 0,
                            stream>>>(*task, items);
    } else {
        gather<<<dim3(parts(items, warps), parts(task->width, lanes)), block, 0, stream>>>(*task,
                                                                                           items);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

extern "C" bb_status bb_device_rows_radial_cuda(bb_queue *queue, bb_index begin, bb_index items,
                                                void *arguments)
{
    const bb_radial_rows_task *task = static_cast<const bb_radial_rows_task *>(arguments);
    const dim3 grid(parts(task->columns * task->rows, 128),
                    static_cast<unsigned>(items < 32768 ? items : 32768));
    const cudaStream_t stream = bb_queue_stream(queue);
    (void)begin;
    if (task->axis == 0) {
        radial_rows<0><<<grid, 128, 0, stream>>>(*task, items);
    } else if (task->axis == 1) {
        radial_rows<1><<<grid, 128, 0, stream>>>(*task, items);
    } else {
        radial_rows<2><<<grid, 128, 0, stream>>>(*task, items);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
