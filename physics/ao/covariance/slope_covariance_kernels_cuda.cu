// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the slope covariance, launched by slope_covariance_cuda.cu.
//
// A pair of sensors with a displacement table is a look-up. Any other pair is cut into patches of
// lenslets (slope_patch_core.h), one thread block per pair of patches: D between all ends of the
// two patches, summed over the layers in shared memory, then differenced. The operations and their
// order are the host's, so an entry has the host's bits.
//
// Cost of an end-to-end evaluation of D: 21 operations in double precision (fma is pinned off),
// about 30 integer operations, 48 bytes of coefficients at a table position that differs from lane
// to lane. At 64 operations a cycle of a multiprocessor the arithmetic of a warp takes 11 cycles;
// its gather takes about 30 from shared memory (12 without bank conflicts: the stride of 48 bytes
// spreads intervals over all banks) and far more from the caches, so every thread block copies the
// part of the table with the separations in use, 49 KB, and falls back to global memory below it.
// Sharing ends leaves 1.33 evaluations per entry and layer. For 9 sensors of 86 x 86 lenslets and
// 10 layers the lower triangle has 2.5e9 entries without a table: 3.3e10 evaluations, 0.15 s by
// this estimate, not measured, on a device of 132 multiprocessors at 1.75 GHz.
//
// Averaged gradients need 5 evaluations (parallel edges) or 9 (crossed) instead of one. Parallel
// edges closer than 2 subapertures need up to 40, crossed ones 25 within 4 subapertures and 100 to
// 400 within 1.25: about ten times the work in total.
#include "core/device/device_cuda.h"
#include "physics/ao/covariance/edge_average_core.h"
#include "physics/ao/covariance/slope_covariance_kernels_cuda.h"

namespace
{

const int direct_threads = 512;
const int layers_at_once = 8;
const int terms = BB_STRUCTURE_DEGREE + 1;
const int table_threads = 256;
const int table_rows = 8; // per thread

// Ends and slopes of one patch, only those in use.
struct patch_members {
    int ends, slopes;
    int x[BB_PATCH_ENDS], y[BB_PATCH_ENDS]; // in half lenslets
    int slope[BB_PATCH_SLOPES];             // within the segment
    uint8_t end_used[BB_PATCH_ENDS], end_rank[BB_PATCH_ENDS];
    uint8_t slope_used[BB_PATCH_SLOPES];
    uint8_t lower[BB_PATCH_SLOPES], upper[BB_PATCH_SLOPES]; // ranks of ends
};

struct alignas(16) position {
    double x, y;
};

struct direct_memory {
    double coefficients[BB_DIRECT_INTERVALS * terms];
    double sums[BB_PATCH_ENDS * BB_PATCH_ENDS];
    position place[2][layers_at_once][BB_PATCH_ENDS];
    double weight[layers_at_once]; // 0: the layer is above a star
    bb_edge_pair edges[layers_at_once];
    patch_members members[2];
};

__device__ void copy_window(const bb_direct_job &job, direct_memory &memory)
{
    const double2 *source =
        reinterpret_cast<const double2 *>(job.structure.coefficients + job.window * terms);
    double2 *target = reinterpret_cast<double2 *>(memory.coefficients);
    for (int k = static_cast<int>(threadIdx.x); k < BB_DIRECT_INTERVALS * terms / 2;
         k += direct_threads) {
        target[k] = source[k];
    }
}

// Half of the threads processes the rows' patch, the other half the columns'.
__device__ void list_members(const bb_direct_job &job, direct_memory &memory)
{
    const int half = direct_threads / 2;
    const int which = static_cast<int>(threadIdx.x) / half;
    const int k = static_cast<int>(threadIdx.x) % half;
    const bb_slope_segment &segment = job.side[which].segment;
    const int number = static_cast<int>(which == 0 ? blockIdx.y : blockIdx.x);
    const bb_slope_patch patch = bb_slope_patch_at(&segment, number);
    const int places = bb_slope_patch_places(&segment, &patch);
    const int cells = patch.columns * patch.rows;
    patch_members &own = memory.members[which];
    int x = 0;
    int y = 0;
    int slope = -1;
    if (k < places) {
        own.end_used[k] = static_cast<uint8_t>(bb_slope_patch_end(&segment, &patch, k, &x, &y));
    }
    if (k < cells) {
        slope = bb_slope_patch_slope(&segment, &patch, k % patch.columns, k / patch.columns);
        own.slope_used[k] = slope >= 0 ? 1 : 0;
    }
    __syncthreads();
    if (k < places) {
        const int rank = bb_slope_patch_rank(own.end_used, k);
        own.end_rank[k] = static_cast<uint8_t>(rank);
        if (own.end_used[k] != 0) {
            own.x[rank] = x;
            own.y[rank] = y;
        }
        if (k == places - 1) {
            own.ends = rank + own.end_used[k];
        }
    }
    __syncthreads();
    if (k < cells) {
        const int rank = bb_slope_patch_rank(own.slope_used, k);
        if (slope >= 0) {
            int step = 0;
            const int lower =
                bb_slope_patch_lower(&segment, &patch, k % patch.columns, k / patch.columns, &step);
            own.slope[rank] = slope;
            own.lower[rank] = own.end_rank[lower];
            own.upper[rank] = own.end_rank[lower + step];
        }
        if (k == cells - 1) {
            own.slopes = rank + own.slope_used[k];
        }
    }
    __syncthreads();
}

template <bool averaged>
__device__ void place_ends(const bb_direct_job &job, int first, int count, direct_memory &memory)
{
    const int thread = static_cast<int>(threadIdx.x);
    for (int k = thread; k < 2 * count * BB_PATCH_ENDS; k += direct_threads) {
        const int which = k / (count * BB_PATCH_ENDS);
        const int l = k / BB_PATCH_ENDS % count;
        const int end = k % BB_PATCH_ENDS;
        const patch_members &own = memory.members[which];
        if (end < own.ends) {
            position &point = memory.place[which][l][end];
            bb_sensor_frame_place(&job.side[which].frame, &job.side[which].layer[first + l],
                                  own.x[end], own.y[end], &point.x, &point.y);
        }
    }
    if (thread < count) {
        const int l = first + thread;
        const bool seen = job.side[0].layer[l].scale > 0.0 && job.side[1].layer[l].scale > 0.0;
        memory.weight[thread] = seen ? job.unit * job.strength[l] : 0.0;
        if (averaged && seen) {
            const bb_direct_side &a = job.side[job.swapped ? 1 : 0];
            const bb_direct_side &b = job.side[job.swapped ? 0 : 1];
            double ax, ay, bx, by;
            bb_sensor_frame_edge(&a.frame, &a.layer[l], a.segment.axis, &ax, &ay);
            bb_sensor_frame_edge(&b.frame, &b.layer[l], b.segment.axis, &bx, &by);
            memory.edges[thread] = bb_edge_pair_make(ax, ay, bx, by);
        }
    }
}

// Evaluates bb_structure_table_value, with coefficients from shared memory if they are there.
__device__ double evaluate(const bb_direct_job &job, const direct_memory &memory, double r2)
{
    double local;
    const int interval = static_cast<int>(
        bb_structure_table_interval(r2 * job.structure.inverse_square_scale, &local));
    const int inside = interval - job.window;
    double2 low;
    double2 middle;
    double2 high;
    if (static_cast<unsigned>(inside) < static_cast<unsigned>(BB_DIRECT_INTERVALS)) {
        const double2 *c = reinterpret_cast<const double2 *>(memory.coefficients + inside * terms);
        low = c[0];
        middle = c[1];
        high = c[2];
    } else {
        const double2 *c =
            reinterpret_cast<const double2 *>(job.structure.coefficients + interval * terms);
        low = c[0];
        middle = c[1];
        high = c[2];
    }
    double value = high.y;
    value = value * local + high.x;
    value = value * local + middle.y;
    value = value * local + middle.x;
    value = value * local + low.y;
    return value * local + low.x;
}

// Near edges are rare: they read the table in global memory and use no registers of the common
// path.
__device__ __noinline__ double average_near(const bb_structure_table &table,
                                            const bb_edge_pair &edges, double u, double v)
{
    return bb_edge_average_near(table, &edges, u, v);
}

// Returns the same value as bb_edge_average_add.
__device__ double average(const bb_direct_job &job, const direct_memory &memory,
                          const bb_edge_pair &edges, double u, double v)
{
    bb_edge_pair_orient(&u, &v);
    if (u * u + v * v < edges.near2) {
        return average_near(job.structure, edges, u, v);
    }
    double sum = 0.0;
    for (int k = 0; k < edges.nodes; ++k) {
        const double du = u + edges.x[k];
        const double dv = v + edges.y[k];
        sum += edges.weight[k] * evaluate(job, memory, du * du + dv * dv);
    }
    return sum;
}

template <bool averaged> __device__ void sum_layers(const bb_direct_job &job, direct_memory &memory)
{
    const int columns = memory.members[1].ends;
    const int pairs = memory.members[0].ends * columns;
    for (int first = 0; first < job.layers; first += layers_at_once) {
        const int count = min(layers_at_once, job.layers - first);
        __syncthreads();
        place_ends<averaged>(job, first, count, memory);
        __syncthreads();
        for (int p = static_cast<int>(threadIdx.x); p < pairs; p += direct_threads) {
            const int a = p / columns;
            const int b = p - a * columns;
            double sum = first == 0 ? 0.0 : memory.sums[p];
            for (int l = 0; l < count; ++l) {
                const double weight = memory.weight[l];
                if (weight == 0.0) {
                    continue;
                }
                const position row_end = memory.place[0][l][a];
                const position column_end = memory.place[1][l][b];
                const double u = row_end.x - column_end.x;
                const double v = row_end.y - column_end.y;
                sum += weight * (averaged ? average(job, memory, memory.edges[l], u, v)
                                          : evaluate(job, memory, u * u + v * v));
            }
            memory.sums[p] = sum;
        }
    }
    __syncthreads();
}

template <typename Entry, bool averaged>
__global__ void __launch_bounds__(direct_threads, averaged ? 1 : 2)
    fill_directly(const __grid_constant__ bb_direct_job job)
{
    extern __shared__ double2 shared[];
    direct_memory &memory = *reinterpret_cast<direct_memory *>(shared);
    copy_window(job, memory);
    list_members(job, memory);
    sum_layers<averaged>(job, memory);
    const patch_members &rows = memory.members[0];
    const patch_members &columns = memory.members[1];
    const int entries = rows.slopes * columns.slopes;
    for (int p = static_cast<int>(threadIdx.x); p < entries; p += direct_threads) {
        const int i = p / columns.slopes;
        const int j = p - i * columns.slopes;
        const double *plus = memory.sums + rows.upper[i] * columns.ends;
        const double *minus = memory.sums + rows.lower[i] * columns.ends;
        const int to_plus = columns.upper[j];
        const int to_minus = columns.lower[j];
        const double value = bb_structure_function_difference(plus[to_plus], plus[to_minus],
                                                              minus[to_plus], minus[to_minus]);
        static_cast<Entry *>(job.out)[rows.slope[i] * job.stride + columns.slope[j]] =
            static_cast<Entry>(value);
    }
}

template <typename Entry>
__global__ void __launch_bounds__(table_threads)
    fill_from_table(const __grid_constant__ bb_table_job job)
{
    const int j = static_cast<int>(blockIdx.x) * table_threads + static_cast<int>(threadIdx.x);
    const int begin = static_cast<int>(blockIdx.y) * table_rows;
    const int end = min(begin + table_rows, job.rows);
    if (j >= job.columns) {
        return;
    }
    const int column_site = job.column_site[j];
    for (int i = begin; i < end; ++i) {
        const int displacement = job.sign * (job.row_site[i] - column_site);
        double value = job.values[job.centre + displacement];
        if (job.noise != nullptr && i + job.shift == j) {
            const bb_slope_noise &noise = job.noise[i];
            value += job.noise_axes == 0 ? noise.xx : job.noise_axes == 1 ? noise.yy : noise.xy;
        }
        if (job.tilt != 0.0) {
            value += job.tilt;
        }
        static_cast<Entry *>(job.out)[i * job.stride + j] = static_cast<Entry>(value);
    }
}

} // namespace

bb_status bb_slope_covariance_fill_directly(const bb_direct_job *job, bb_type type,
                                            cudaStream_t stream)
{
    const dim3 grid(static_cast<unsigned>(job->side[1].segment.patches),
                    static_cast<unsigned>(job->side[0].segment.patches));
    const size_t bytes = sizeof(direct_memory);
    if (type == BB_F64 && job->averaged) {
        fill_directly<double, true><<<grid, direct_threads, bytes, stream>>>(*job);
    } else if (type == BB_F64) {
        fill_directly<double, false><<<grid, direct_threads, bytes, stream>>>(*job);
    } else if (job->averaged) {
        fill_directly<float, true><<<grid, direct_threads, bytes, stream>>>(*job);
    } else {
        fill_directly<float, false><<<grid, direct_threads, bytes, stream>>>(*job);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

bb_status bb_slope_covariance_fill_from_table(const bb_table_job *job, bb_type type,
                                              cudaStream_t stream)
{
    const dim3 grid(static_cast<unsigned>((job->columns + table_threads - 1) / table_threads),
                    static_cast<unsigned>((job->rows + table_rows - 1) / table_rows));
    if (type == BB_F64) {
        fill_from_table<double><<<grid, table_threads, 0, stream>>>(*job);
    } else {
        fill_from_table<float><<<grid, table_threads, 0, stream>>>(*job);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

static bb_status allow(const void *kernel)
{
    BB_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(sizeof(direct_memory))));
    return BB_OK;
}

bb_status bb_slope_covariance_kernels_prepare(void)
{
    BB_RETURN_IF_FAILED(allow(reinterpret_cast<const void *>(fill_directly<double, false>)));
    BB_RETURN_IF_FAILED(allow(reinterpret_cast<const void *>(fill_directly<double, true>)));
    BB_RETURN_IF_FAILED(allow(reinterpret_cast<const void *>(fill_directly<float, false>)));
    BB_RETURN_IF_FAILED(allow(reinterpret_cast<const void *>(fill_directly<float, true>)));
    return BB_OK;
}
