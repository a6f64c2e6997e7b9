// SPDX-License-Identifier: Apache-2.0
#include "solvers/diagonal_factor_cuda.h"

#include <cmath>

namespace
{

const int square_threads = 256;
const int micro = 8; // columns factored at a time
const int tile = 32; // of the products
const int tile_threads = 256;

// Rows of the squares that one block of threads factors in shared memory.
template <typename T> constexpr int square_of()
{
    return sizeof(T) == sizeof(float) ? 128 : 64;
}

// The factor and its inverse; rows keep 16-byte alignment. Straight-line code is bound by the
// instruction cache here, so every loop of any length stays a loop.
template <typename T> struct square_memory {
    static const int size = square_of<T>();
    static const int pitch = size + 16 / static_cast<int>(sizeof(T));
    T factor[size][pitch];
    T inverse[size][pitch];
    T columns[micro][size + micro]; // the columns in work, one after another
    T solved[micro][size + micro];  // and when they are done
    int failed;
};

// COUNT neighbours, sixteen bytes at a time where that fits.
template <typename T, int COUNT>
__device__ __forceinline__ void load_neighbours(const T *from, T (&to)[COUNT])
{
    const int each = 16 / static_cast<int>(sizeof(T));
    struct alignas(16) pack {
        T values[each];
    };
    if constexpr (COUNT % each == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i += each) {
            const pack p = *reinterpret_cast<const pack *>(from + i);
#pragma unroll
            for (int j = 0; j < each; ++j) {
                to[i + j] = p.values[j];
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            to[i] = from[i];
        }
    }
}

// The micro x micro tile of the lower triangle that a thread keeps in registers: tiles are counted
// column by column, so that those of finished columns fill whole warps.
struct own_tile {
    int row, column; // in tiles; column < 0: none
};

template <typename T> __device__ __forceinline__ own_tile find_tile()
{
    const int across = square_memory<T>::size / micro;
    int left = threadIdx.x;
    int column = 0;
    while (column < across && left >= across - column) {
        left -= across - column++;
    }
    return column < across ? own_tile{column + left, column} : own_tile{0, -1};
}

// Every thread factors the same `micro` columns of the diagonal, so that no thread waits for
// another; returns the 1-based pivot that failed, or 0.
template <typename T>
__device__ __forceinline__ int factor_micro(T (&d)[micro][micro], T (&units)[micro])
{
    int failed = 0;
#pragma unroll
    for (int j = 0; j < micro; ++j) {
        const T pivot = d[j][j];
        // Without a branch, which would part the chain of pivots.
        const bool good = (pivot > T(0)) & (pivot < T(INFINITY));
        failed = (failed == 0) & !good ? j + 1 : failed;
        T unit = rsqrt(pivot);
        unit = fma(T(0.5) * unit, fma(-pivot * unit, unit, T(1)), unit); // to the last bit or two
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

// The columns [first, first + micro) of the factor, a row a thread.
template <typename T>
__device__ __forceinline__ void factor_columns(square_memory<T> &s, int first, bb_index row,
                                               bb_breakdown_cuda *breakdown)
{
    const int r = first + static_cast<int>(threadIdx.x);
    T d[micro][micro];
    T units[micro];
    T a[micro];
    if (r >= square_memory<T>::size) {
        return;
    }
#pragma unroll
    for (int i = 0; i < micro; ++i) {
        a[i] = s.columns[i][r];
#pragma unroll
        for (int j = 0; j <= i; ++j) {
            d[i][j] = s.columns[j][first + i];
        }
    }
    const int failed = factor_micro(d, units);
    if (failed != 0 && threadIdx.x == 0) {
        s.failed = failed;
        breakdown->row = static_cast<int>(row + first + failed);
#pragma unroll
        for (int j = 0; j < micro; ++j) {
            if (j + 1 == failed) {
                breakdown->non_finite = !isfinite(d[j][j]);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < micro; ++k) {
        a[k] *= units[k];
#pragma unroll
        for (int c = k + 1; c < micro; ++c) {
            a[c] = fma(-a[k], d[c][k], a[c]);
        }
    }
#pragma unroll
    for (int j = 0; j < micro; ++j) {
        s.factor[r][first + j] = a[j]; // above the diagonal nothing is read
        s.solved[j][r] = a[j];
    }
}

// All columns: threads publish the tiles of the next ones, rows are solved, and the tiles to the
// right take their update from registers.
template <typename T>
__device__ __forceinline__ bool factor_all(square_memory<T> &s, const T *block, bb_index stride,
                                           bb_index row, bb_breakdown_cuda *breakdown)
{
    const own_tile own = find_tile<T>();
    const int top = own.row * micro;
    const int left = own.column * micro;
    T values[micro][micro];
#pragma unroll
    for (int i = 0; i < micro; ++i) {
#pragma unroll
        for (int j = 0; j < micro; ++j) {
            values[i][j] = own.column < 0 ? T(0) : block[(top + i) * stride + left + j];
        }
    }
#pragma unroll 1
    for (int first = 0; first < square_memory<T>::size; first += micro) {
        if (left == first && own.column >= 0) {
#pragma unroll
            for (int i = 0; i < micro; ++i) {
#pragma unroll
                for (int j = 0; j < micro; ++j) {
                    s.columns[j][top + i] = values[i][j];
                }
            }
        }
        __syncthreads();
        factor_columns(s, first, row, breakdown);
        __syncthreads();
        if (s.failed != 0) {
            return false;
        }
        if (left > first) {
#pragma unroll 4
            for (int k = 0; k < micro; ++k) {
                T rows[micro];
                T columns[micro];
                load_neighbours(&s.solved[k][top], rows);
                load_neighbours(&s.solved[k][left], columns);
#pragma unroll
                for (int i = 0; i < micro; ++i) {
#pragma unroll
                    for (int j = 0; j < micro; ++j) {
                        values[i][j] = fma(-rows[i], columns[j], values[i][j]);
                    }
                }
            }
        }
    }
    __syncthreads();
    return true;
}

// The inverses of the `micro` wide blocks on the diagonal, a column a thread.
template <typename T> __device__ __forceinline__ void invert_micro(square_memory<T> &s)
{
    const int column = threadIdx.x;
    const int first = column / micro * micro;
    if (column < square_memory<T>::size) {
        T x[micro];
#pragma unroll
        for (int i = 0; i < micro; ++i) {
            x[i] = first + i == column ? T(1) : T(0);
        }
#pragma unroll
        for (int k = 0; k < micro; ++k) {
            x[k] /= s.factor[first + k][first + k];
#pragma unroll
            for (int i = k + 1; i < micro; ++i) {
                x[i] = fma(-s.factor[first + i][first + k], x[k], x[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < micro; ++i) {
            s.inverse[first + i][column] = x[i];
        }
    }
    __syncthreads();
}

// Inverted blocks of HALF rows become inverted blocks of twice as many: T = L21 X11, then -X22 T. A
// thread has EDGE x EDGE entries of one pair.
template <typename T, int HALF> __device__ __forceinline__ void double_square(square_memory<T> &s)
{
    const int edge = HALF >= 32 ? 4 : 2;
    const int across = HALF / edge;
    const int q = threadIdx.x / (across * across);
    const int top = q * 2 * HALF;
    const int row = top + HALF + static_cast<int>(threadIdx.x) / across % across * edge;
    const int column = top + static_cast<int>(threadIdx.x) % across * edge;
    const bool active = top < square_memory<T>::size;
    const int safe = active ? 0 : -top; // idle threads read the first pair
#pragma unroll
    for (int stage = 0; stage < 2; ++stage) {
        T sums[edge][edge] = {};
        const int begin = safe + (stage == 0 ? top : top + HALF);
        const auto &a = stage == 0 ? s.factor : s.inverse;
#pragma unroll 8
        for (int k = begin; k < begin + HALF; ++k) {
            T rows[edge];
            T columns[edge];
            load_neighbours(&s.inverse[k][safe + column], columns);
#pragma unroll
            for (int i = 0; i < edge; ++i) {
                rows[i] = a[safe + row + i][k];
            }
#pragma unroll
            for (int i = 0; i < edge; ++i) {
#pragma unroll
                for (int j = 0; j < edge; ++j) {
                    sums[i][j] = fma(rows[i], columns[j], sums[i][j]);
                }
            }
        }
        if (stage == 1) {
            __syncthreads(); // T is read no more
        }
#pragma unroll
        for (int i = 0; i < edge; ++i) {
#pragma unroll
            for (int j = 0; j < edge; ++j) {
                if (active) {
                    s.inverse[row + i][column + j] = stage == 0 ? sums[i][j] : -sums[i][j];
                }
            }
        }
        __syncthreads();
    }
}

template <typename T>
__global__ void __launch_bounds__(square_threads)
    factor_square(T *block, T *inverse, bb_index stride, bb_index row, bb_breakdown_cuda *breakdown)
{
    extern __shared__ __align__(16) char dynamic[];
    square_memory<T> &s = *reinterpret_cast<square_memory<T> *>(dynamic);
    const int size = square_memory<T>::size;
    if (breakdown->row != 0) {
        return;
    }
    if (threadIdx.x == 0) {
        s.failed = 0;
    }
#pragma unroll 8
    for (int t = threadIdx.x; t < size * size; t += square_threads) {
        s.inverse[t / size][t % size] = T(0);
    }
    if (!factor_all(s, block, stride, row, breakdown)) {
        return;
    }
    invert_micro(s);
    double_square<T, 8>(s);
    double_square<T, 16>(s);
    double_square<T, 32>(s);
    if constexpr (size > 64) {
        double_square<T, 64>(s);
    }
#pragma unroll 16
    for (int t = threadIdx.x; t < size * size; t += square_threads) {
        if (t % size <= t / size) {
            block[t / size * stride + t % size] = s.factor[t / size][t % size];
        }
        inverse[t / size * stride + t % size] = s.inverse[t / size][t % size];
    }
}

// out <- beta out + alpha A op(B), in tiles, for blockIdx.z problems a fixed distance apart.
template <typename T> struct tile_product {
    const T *a, *b;
    T *out;
    bb_index stride; // of all of them
    bb_index rows, columns, depth;
    bb_index rows_last, depth_last; // of the last problem
    bb_index apart;                 // between problems, in items; the same for all
    T alpha, beta;
    bool transposed; // B is [columns][depth]
    bool lower_only;
    T *copy; // NULL, or where the rows of A are put as well
    const bb_breakdown_cuda *breakdown;
};

template <typename T> struct tile_memory {
    static const int depth = square_of<T>();
    T a[tile][depth + 1];
    T b[tile][depth + 1]; // by column
};

template <typename T>
__global__ void __launch_bounds__(tile_threads) multiply_tiles(const tile_product<T> p)
{
    extern __shared__ __align__(16) char dynamic[];
    tile_memory<T> &s = *reinterpret_cast<tile_memory<T> *>(dynamic);
    const bb_index row = static_cast<bb_index>(blockIdx.y) * tile;
    const bb_index column = static_cast<bb_index>(blockIdx.x) * tile;
    const bb_index shift = static_cast<bb_index>(blockIdx.z) * p.apart;
    const bool last = blockIdx.z + 1 == gridDim.z;
    const bb_index depth = last ? p.depth_last : p.depth;
    if (p.breakdown->row != 0 || row >= (last ? p.rows_last : p.rows) ||
        (p.lower_only && column > row)) {
        return;
    }
    const int tile_depth = tile_memory<T>::depth;
    const int x = threadIdx.x % 16;
    const int y = threadIdx.x / 16;
    T sums[2][2] = {};
    for (bb_index k = 0; k < depth; k += tile_depth) {
#pragma unroll
        for (int t = threadIdx.x; t < tile * tile_depth; t += tile_threads) {
            const int i = t / tile_depth;
            const int d = t % tile_depth;
            s.a[i][d] = p.a[shift + (row + i) * p.stride + k + d];
            if (p.transposed) {
                s.b[i][d] = p.b[shift + (column + i) * p.stride + k + d];
            } else {
                s.b[t % tile][t / tile] =
                    p.b[shift + (k + t / tile) * p.stride + column + t % tile];
            }
        }
        __syncthreads();
        if (p.copy != nullptr && blockIdx.x == 0) {
            for (int t = threadIdx.x; t < tile * tile_depth; t += tile_threads) {
                p.copy[(row + t / tile_depth) * p.stride + k + t % tile_depth] =
                    s.a[t / tile_depth][t % tile_depth];
            }
        }
#pragma unroll 16
        for (int d = 0; d < tile_depth; ++d) {
            const T a0 = s.a[y][d];
            const T a1 = s.a[y + 16][d];
            const T b0 = s.b[x][d];
            const T b1 = s.b[x + 16][d];
            sums[0][0] = fma(a0, b0, sums[0][0]);
            sums[0][1] = fma(a0, b1, sums[0][1]);
            sums[1][0] = fma(a1, b0, sums[1][0]);
            sums[1][1] = fma(a1, b1, sums[1][1]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            T *out = p.out + shift + (row + y + 16 * i) * p.stride + column + x + 16 * j;
            *out = (p.beta == T(0) ? T(0) : p.beta * *out) + p.alpha * sums[i][j];
        }
    }
}

template <typename T>
bb_status multiply(const tile_product<T> &p, bb_index problems, cudaStream_t stream)
{
    const int shared = static_cast<int>(sizeof(tile_memory<T>));
    if (p.rows <= 0 || p.columns <= 0 || problems <= 0) {
        return BB_OK;
    }
    const dim3 grid(static_cast<unsigned>(p.columns / tile), static_cast<unsigned>(p.rows / tile),
                    static_cast<unsigned>(problems));
    BB_CUDA_TRY(cudaFuncSetAttribute(multiply_tiles<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shared));
    multiply_tiles<T><<<grid, tile_threads, shared, stream>>>(p);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

// Solves the rows below the square at `at` and updates what is right of it.
template <typename T>
bb_status finish_column(T *block, const T *inverse, T *scratch, bb_index size, bb_index at,
                        const bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const bb_index square = square_of<T>();
    const bb_index below = size - at - square;
    T *panel = block + (at + square) * size + at;
    T *solved = scratch + (at + square) * size + at;
    tile_product<T> p = {};
    p.stride = size;
    p.rows = p.rows_last = below;
    p.depth = p.depth_last = square;
    p.transposed = true;
    p.breakdown = breakdown;
    p.a = panel;
    p.b = inverse + at * size + at;
    p.out = solved;
    p.columns = square;
    p.alpha = T(1);
    BB_RETURN_IF_FAILED(multiply(p, 1, stream));
    p.a = solved;
    p.b = solved;
    p.out = block + (at + square) * size + at + square;
    p.columns = below;
    p.alpha = T(-1);
    p.beta = T(1);
    p.lower_only = true;
    p.copy = panel;
    return multiply(p, 1, stream);
}

// Pairs of inverted blocks of `half` rows become inverted blocks of twice as many.
template <typename T>
bb_status double_inverse(const T *block, T *inverse, T *scratch, bb_index size, bb_index half,
                         const bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const bb_index pairs = (size + half - 1) / (2 * half);
    const bb_index last = size - (2 * (pairs - 1) + 1) * half;
    tile_product<T> p = {};
    p.stride = size;
    p.rows = half;
    p.rows_last = last < half ? last : half;
    p.columns = half;
    p.depth = p.depth_last = half;
    p.apart = 2 * half * (size + 1);
    p.breakdown = breakdown;
    p.a = block + half * size;
    p.b = inverse;
    p.out = scratch + half * size;
    p.alpha = T(1);
    BB_RETURN_IF_FAILED(multiply(p, pairs, stream));
    p.a = inverse + half * (size + 1);
    p.b = scratch + half * size;
    p.out = inverse + half * size;
    p.depth_last = p.rows_last;
    p.alpha = T(-1);
    return multiply(p, pairs, stream);
}

} // namespace

template <typename T>
bb_status bb_diagonal_factor_launch(T *block, T *inverse, T *scratch, bb_index size, bb_index row,
                                    bb_breakdown_cuda *breakdown, cudaStream_t stream)
{
    const bb_index square = square_of<T>();
    const size_t shared = sizeof(square_memory<T>);
    BB_CUDA_TRY(cudaFuncSetAttribute(factor_square<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared)));
    for (bb_index at = 0; at < size; at += square) {
        factor_square<T><<<1, square_threads, shared, stream>>>(
            block + at * size + at, inverse + at * size + at, size, row + at, breakdown);
        BB_CUDA_CHECK_LAUNCH();
        BB_RETURN_IF_FAILED(finish_column(block, inverse, scratch, size, at, breakdown, stream));
    }
    for (bb_index half = square; half < size; half *= 2) {
        BB_RETURN_IF_FAILED(double_inverse(block, inverse, scratch, size, half, breakdown, stream));
    }
    return BB_OK;
}

template bb_status bb_diagonal_factor_launch<float>(float *, float *, float *, bb_index, bb_index,
                                                    bb_breakdown_cuda *, cudaStream_t);
template bb_status bb_diagonal_factor_launch<double>(double *, double *, double *, bb_index,
                                                     bb_index, bb_breakdown_cuda *, cudaStream_t);
