// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/panels/square_memory_cuda.h"
#include "solvers/gpu/hopper_cuda.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;
using namespace square;

namespace
{

// Every thread factors the same `micro` columns of the diagonal, so that none waits for another.
// Returns the 1-based pivot that failed, or 0.
template <typename T>
__device__ __forceinline__ int factor_micro(T (&d)[micro][micro], T (&units)[micro])
{
    int failed = 0;
#pragma unroll
    for (int j = 0; j < micro; ++j) {
        const T pivot = d[j][j];
        // Avoids a branch, which would interrupt the chain of pivots.
        failed = (failed == 0) & !is_pivot(pivot) ? j + 1 : failed;
        const T unit = inverse_root(pivot);
        units[j] = unit;
#pragma unroll
        for (int i = j + 1; i < micro; ++i) {
            d[i][j] *= unit;
        }
#pragma unroll
        for (int i = j + 1; i < micro; ++i) {
#pragma unroll
            for (int c = j + 1; c <= i; ++c) {
                d[i][c] = fma(-d[i][j], d[c][j], d[i][c]);
            }
        }
    }
    return failed;
}

// Address of block k in global memory.
template <typename T> struct square_view {
    T *square, *inverse;
    bb_index stride, row;
    bb_breakdown_cuda *breakdown;
};

[[maybe_unused]] __device__ __forceinline__ void wait_factoring()
{
    asm volatile("bar.sync 1, %0;" : : "n"(factoring) : "memory");
}

// Records the 1-based pivot `failed` of the columns from `first` on.
template <typename T>
__device__ __forceinline__ void report(square_memory<T> &s, const square_view<T> &view, int first,
                                       int failed, const T (&d)[micro][micro])
{
    cg::cluster_group cluster = cg::this_cluster();
    view.breakdown->row = static_cast<int>(view.row + first + failed);
#pragma unroll
    for (int j = 0; j < micro; ++j) { // constant indices keep d in registers
        if (j + 1 == failed) {
            view.breakdown->non_finite = !isfinite(d[j][j]);
        }
    }
    for (int r = 0; r < ranks; ++r) {
        *cluster.map_shared_rank(&s.failed, r) = 1;
    }
}

// Updates the block by columns [first, first + micro): lane r owns row r, a warp every fourth
// column to the right.
template <typename T>
__device__ __forceinline__ void update_work(square_memory<T> &s, const T (&a)[micro], int first,
                                            int warp)
{
    const int lane = threadIdx.x % edge;
#pragma unroll 3
    for (int c = first + micro + warp; c < edge; c += 4) {
        T sum = s.work[lane][c];
        T l[micro];
        load_neighbours(s.solved[c], l);
#pragma unroll
        for (int j = 0; j < micro; ++j) {
            sum = fma(-a[j], l[j], sum);
        }
        s.work[lane][c] = sum;
    }
}

// Computes rows [first, first + micro) of the inverse, one column per lane, and adds their
// contribution to the rows below.
template <typename T>
__device__ __forceinline__ void invert_rows(square_memory<T> &s, const square_view<T> &view, int k,
                                            int across, const T (&d)[micro][micro],
                                            const T (&units)[micro], int first, int warp)
{
    const int lane = threadIdx.x % edge;
    T x[micro];
#pragma unroll
    for (int i = 0; i < micro; ++i) {
        const T unit = first + i == lane ? T(1) : T(0);
        x[i] = first == 0 ? unit : unit - s.sweep[first + i][lane];
    }
#pragma unroll
    for (int j = 0; j < micro; ++j) {
        x[j] *= units[j];
#pragma unroll
        for (int i = j + 1; i < micro; ++i) {
            x[i] = fma(-d[i][j], x[j], x[i]);
        }
    }
    cg::cluster_group cluster = cg::this_cluster();
    for (int r = 2 * warp; r < 2 * warp + 2; ++r) {
        // Every rank computes the first X itself.
        if (k > 0 || r == static_cast<int>(cluster.block_rank())) {
            T *target = cluster.map_shared_rank(&s.solver[first][lane], r);
#pragma unroll
            for (int i = 0; i < micro; ++i) {
                target[i * s.pitch] = x[i];
            }
        }
    }
    if (warp == 0) {
        if (rank_of(k) == static_cast<int>(cluster.block_rank())) {
            block_of<T> &own = s.columns[column_place(k, k, across)];
#pragma unroll
            for (int i = 0; i < micro; ++i) {
                own.value[first + i][lane] = x[i];
            }
        }
    } else if (warp == 1) {
        T *out = view.inverse + (k * edge + first) * view.stride + k * edge + lane;
#pragma unroll
        for (int i = 0; i < micro; ++i) {
            out[i * view.stride] = x[i];
        }
    }
#pragma unroll 3
    for (int r = first + micro + warp; r < edge; r += 4) {
        T sum = first == 0 ? T(0) : s.sweep[r][lane];
        T l[micro];
        load_neighbours(s.solved[r], l);
#pragma unroll
        for (int j = 0; j < micro; ++j) {
            sum = fma(l[j], x[j], sum);
        }
        s.sweep[r][lane] = sum;
    }
}

// Factors `work`, block k of the diagonal, and sends its inverse to every rank: `factoring`
// threads, four warps on the factor and four on the inverse. L_kk is written to global memory.
template <typename T>
__device__ __forceinline__ void factor_block(square_memory<T> &s, const square_view<T> &view, int k,
                                             int across)
{
    const int lane = threadIdx.x % edge;
    const int warp = threadIdx.x / edge;
#pragma unroll 1
    for (int first = 0; first < edge; first += micro) {
        T d[micro][micro];
        T units[micro];
        T a[micro];
#pragma unroll
        for (int i = 0; i < micro; ++i) { // lower triangle, in 16-byte words
            T half[2][micro / 2];
            load_neighbours(&s.work[first + i][first], half[0]);
            if (i >= micro / 2) {
                load_neighbours(&s.work[first + i][first + micro / 2], half[1]);
            }
#pragma unroll
            for (int j = 0; j <= i; ++j) {
                d[i][j] = half[j / (micro / 2)][j % (micro / 2)];
            }
        }
        load_neighbours(&s.work[lane][first], a);
        const int failed = factor_micro(d, units);
        if (failed != 0) {
            if (threadIdx.x == 0) {
                report(s, view, k * edge + first, failed, d);
            }
            break;
        }
#pragma unroll
        for (int j = 0; j < micro; ++j) {
            a[j] *= units[j];
#pragma unroll
            for (int c = j + 1; c < micro; ++c) {
                a[c] = fma(-a[j], d[c][j], a[c]);
            }
        }
        if (warp == 0) {
            store_neighbours(a, s.solved[lane]);
        }
        wait_factoring();
        if (warp < 4) {
            update_work(s, a, first, warp);
        } else {
            invert_rows(s, view, k, across, d, units, first, warp - 4);
        }
        if (warp == 0) {
            T *out = view.square + (k * edge + lane) * view.stride + k * edge + first;
#pragma unroll
            for (int j = 0; j < micro; ++j) {
                if (first + j <= lane) {
                    out[j] = a[j];
                }
            }
        }
        wait_factoring();
    }
}

// work <- A(k, k) minus the update by panel k - 1 from `panel`.
template <typename T> __device__ __forceinline__ void ready_block(square_memory<T> &s, int k)
{
    const int first = static_cast<int>(threadIdx.x) / 16 * 2; // two columns and two rows per thread
    const int lane = static_cast<int>(threadIdx.x) % 16 * 2;
    const block_of<T> &a = k == 0 ? s.panel[0] : s.rows[row_place(k, k)];
    T sums[2][2] = {};
    if (k > 0) {
        const block_of<T> &l = s.panel[k - 1];
        add_products(sums, &l.value[0][first], edge, &l.value[0][lane], edge);
    }
#pragma unroll
    for (int q = 0; q < 2; ++q) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            s.work[lane + i][first + q] = a.value[first + q][lane + i] - sums[q][i];
        }
    }
    wait_factoring();
}

// Solves in step k: L(i, k) and X(k, j), half a block per warp, 4 x 4 entries per thread.
template <typename T>
__device__ __forceinline__ void solve(square_memory<T> &s, const square_view<T> &view, int k,
                                      int across, int rank)
{
    const int warp = static_cast<int>(threadIdx.x) / edge;
    const int first = warp % 2 * 16 + static_cast<int>(threadIdx.x) % edge / 8 * 4;
    const int lane = static_cast<int>(threadIdx.x) % 8 * 4;
    const int own = own_block(rank, warp / 2 % 2);
    const bool below = warp < 4;
    const bool active = warp < 8 && own < across && (below ? own > k : own < k);
    block_of<T> &v = below ? s.rows[active ? row_place(own, k) : 0]
                           : s.columns[active ? column_place(k, own, across) : 0];
    T sums[4][4] = {};
    if (active) { // X_k is triangular
        add_row_products(sums, s.solver[first], s.pitch, &v.value[0][lane], warp % 2 * 16 + 16);
    }
    __syncthreads(); // Z(k, j) is no longer read
    if (active && below) {
        cg::cluster_group cluster = cg::this_cluster();
#pragma unroll 1
        for (int r = 0; r < ranks; ++r) {
            // A rank without finished columns needs only the rows above its last one.
            if (r <= k || own < 2 * ranks - r) {
                T(*to)[edge] = cluster.map_shared_rank(&s.panel[own - 1], r)->value;
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    store_neighbours(sums[q], &to[first + q][lane]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const T row[4] = {sums[0][i], sums[1][i], sums[2][i], sums[3][i]};
            store_neighbours(row, view.square + (own * edge + lane + i) * view.stride + k * edge +
                                      first);
        }
    } else if (active) {
        T *out = view.inverse + (k * edge + first) * view.stride + own * edge + lane;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            const T row[4] = {-sums[q][0], -sums[q][1], -sums[q][2], -sums[q][3]};
            store_neighbours(row, &v.value[first + q][lane]);
            store_neighbours(row, out + q * view.stride);
        }
    }
}

// Task `t` of the update of step k: target block and operands.
template <typename T> struct update_task {
    T (*out)[edge];
    const T (*p)[edge];
    const T (*v)[edge];
    bool subtract;
};

template <typename T>
__device__ __forceinline__ bool find_task(square_memory<T> &s, int k, int across, int rank, int t,
                                          update_task<T> *out)
{
    for (int slot = 0; slot < 2; ++slot) {
        const int i = own_block(rank, slot);
        // The diagonal block being factored is already updated.
        const int begin = i == k + 1 ? k + 2 : k + 1;
        const int count = i < across && i >= begin ? i - begin + 1 : 0;
        if (t < count) {
            const int c = begin + t;
            *out = {s.rows[row_place(i, c)].value, s.panel[c - 1].value, s.panel[i - 1].value,
                    true};
            return true;
        }
        t -= count;
    }
    for (int slot = 0; slot < 2; ++slot) {
        const int j = own_block(rank, slot);
        const int count = j <= k ? across - 1 - k : 0;
        if (t < count) {
            const int c = k + 1 + t;
            *out = {s.columns[column_place(c, j, across)].value, s.panel[c - 1].value,
                    s.columns[column_place(k, j, across)].value, false};
            return true;
        }
        t -= count;
    }
    return false;
}

// Runs the tasks of step k, one warp each, 8 x 4 entries per thread. Their order does not affect
// the result.
template <typename T>
__device__ __forceinline__ void update(square_memory<T> &s, int k, int across, int rank)
{
    const int first = static_cast<int>(threadIdx.x) % edge / 8 * 8;
    const int lane = static_cast<int>(threadIdx.x) % 8 * 4;
    update_task<T> task;
    while (true) {
        int t = threadIdx.x % edge == 0 ? atomicAdd(&s.next, 1) : 0;
        t = __shfl_sync(0xffffffffU, t, 0);
        if (!find_task(s, k, across, rank, t, &task)) {
            return;
        }
        T sums[8][4] = {};
        add_products(sums, &task.p[0][first], edge, &task.v[0][lane], edge);
#pragma unroll
        for (int q = 0; q < 8; ++q) {
            T out[4];
            load_neighbours(&task.out[first + q][lane], out);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                out[i] = task.subtract ? out[i] - sums[q][i] : out[i] + sums[q][i];
            }
            store_neighbours(out, &task.out[first + q][lane]);
        }
    }
}

// Loads the rank's rows of A transposed, the first block as well, and zeroes Z.
template <typename T>
__device__ __forceinline__ void load(square_memory<T> &s, const square_view<T> &view, int across,
                                     int rank)
{
    const int each = 16 / static_cast<int>(sizeof(T));
    const int lane = threadIdx.x % edge;
    const int warp = static_cast<int>(threadIdx.x) / edge;
    for (int slot = 0; slot < 2; ++slot) {
        const int i = own_block(rank, slot);
        const int count = i < across ? (i + 1) * edge / each : 0;
        const T *row = view.square + (static_cast<bb_index>(i) * edge + lane) * view.stride;
#pragma unroll 4
        for (int u = warp; u < count; u += threads / edge) {
            T values[each];
            load_neighbours(row + u * each, values);
            block_of<T> &to = s.rows[row_place(i, u * each / edge)];
#pragma unroll
            for (int q = 0; q < each; ++q) {
                to.value[u * each % edge + q][lane] = values[q];
            }
        }
    }
    const T *corner = view.square + lane * view.stride;
    for (int c = warp; c < edge; c += threads / edge) {
        s.panel[0].value[c][lane] = corner[c];
    }
    T *columns = &s.columns[0].value[0][0];
#pragma unroll 8
    for (int t = threadIdx.x; t < s.kept * edge * edge; t += threads) {
        columns[t] = T(0);
    }
}

template <typename T>
__global__ void BB_CLUSTER_DIMS(ranks, 1, 1) __launch_bounds__(threads, 1)
    factor_square(const square_view<T> view, const int across)
{
#if __CUDA_ARCH__ == 900
    extern __shared__ __align__(16) char dynamic[];
    square_memory<T> &s = *reinterpret_cast<square_memory<T> *>(dynamic);
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = static_cast<int>(cluster.block_rank());
    if (view.breakdown->row != 0) {
        return; // all ranks return; nobody writes it before all have passed the first barrier
    }
    load(s, view, across, rank);
    if (threadIdx.x == 0) {
        s.failed = 0;
        s.next = 0;
    }
    cluster.sync();
    // All ranks factor the first block, which loads the code into their instruction caches; there
    // must be only one copy of it.
#pragma unroll 1
    for (int k = -1; k < across; ++k) {
        if (k >= 0) {
            cluster.sync(); // X_k is everywhere, and `panel` is no longer read
            if (s.failed != 0) {
                return;
            }
            solve(s, view, k, across, rank);
            if (threadIdx.x == 0) {
                s.next = 0;
            }
            if (k + 1 == across) {
                return;
            }
            cluster.sync(); // L(c, k) is everywhere, and `solver` is no longer read
        }
        if ((k < 0 || rank_of(k + 1) == rank) && threadIdx.x < factoring) {
            ready_block(s, k + 1);
            factor_block(s, view, k + 1, across);
        }
        if (k >= 0) {
            update(s, k, across, rank);
        }
    }
#else
    __trap(); // not compiled for sm_90
#endif
}

} // namespace

bb_status bb_square_factor_supported(void)
{
    bool hopper = false;
    return bb_device_cuda_uses_hopper(&hopper); // any implementation works
}

template <typename T>
bb_status bb_square_factor_launch(T *square, T *inverse, bb_index size, bb_index stride,
                                  bb_index row, bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const int shared = static_cast<int>(sizeof(square_memory<T>));
    const square_view<T> view = {square, inverse, stride, row, breakdown};
    bool hopper = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&hopper));
    if (!hopper) {
        return bb_square_factor_launch_portable(square, inverse, size, stride, row, breakdown,
                                                stream);
    }
    BB_CUDA_TRY(cudaFuncSetAttribute(factor_square<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shared));
    factor_square<T><<<ranks, threads, shared, stream>>>(view, static_cast<int>(size / edge));
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

template bb_status bb_square_factor_launch<float>(float *, float *, bb_index, bb_index, bb_index,
                                                  bb_breakdown_cuda *, cudaStream_t);
template bb_status bb_square_factor_launch<double>(double *, double *, bb_index, bb_index, bb_index,
                                                   bb_breakdown_cuda *, cudaStream_t);
