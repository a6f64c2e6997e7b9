// SPDX-License-Identifier: Apache-2.0
//
// For square_factor_cuda.cu only: shared memory of one rank of the cluster, and products of its
// blocks.
#ifndef BB_SOLVERS_FACTOR_PANELS_SQUARE_MEMORY_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_SQUARE_MEMORY_CUDA_H

#include "solvers/factor/panels/square_factor_cuda.h"

namespace square
{

const int ranks = 8;
const int edge = 32;       // rows of a block, and lanes of a warp
const int micro = 8;       // columns factored at a time
const int threads = 512;   // 16 warps
const int factoring = 256; // threads that factor a block

template <typename T> constexpr int most_blocks()
{
    return static_cast<int>(bb_square_factor_most<T>(true)) / edge;
}

template <typename T> struct block_of {
    T value[edge][edge];
};

// Shared memory of one rank. Blocks of A and L are transposed, [column][row]; those of X and Z are
// not. All products then have the form out[q][i] +- sum_d p[d][q] v[d][i].
template <typename T> struct square_memory {
    static const int row_limit = most_blocks<T>();
    static const int kept = row_limit > ranks ? row_limit + 1 : row_limit;
    static const int pitch = edge + 16 / static_cast<int>(sizeof(T));
    block_of<T> rows[kept];           // A(i, c) of the rank's rows i
    block_of<T> columns[kept];        // Z(c, j), then X(c, j), of the rank's columns j
    block_of<T> panel[row_limit - 1]; // L(c, k) of all rows c > k
    T solver[edge][pitch];            // X_k, not transposed
    T work[edge][pitch];              // block being factored, [row][column]
    T solved[edge][micro];            // current columns of that block, one row of L each
    T sweep[edge][edge];              // rows of L X - I for its inverse, as far as computed
    int failed;                       // a pivot was not positive
    int next;                         // next task of the update
};

__host__ __device__ constexpr int rank_of(int i)
{
    return i < ranks ? i : 2 * ranks - 1 - i;
}

// Block row (and column) that the rank owns in a slot, 0 or 1.
__device__ __forceinline__ int own_block(int rank, int slot)
{
    return slot == 0 ? rank : 2 * ranks - 1 - rank;
}

// Addresses of A(i, c) and of Z(c, j), with the owning rank.
__device__ __forceinline__ int row_place(int i, int c)
{
    return i < ranks ? c : 2 * ranks - i + c;
}

__device__ __forceinline__ int column_place(int c, int j, int across)
{
    return j < ranks ? c - j : across - 2 * ranks + 1 + c;
}

// Loads COUNT neighbours in words of sixteen bytes.
template <typename T, int COUNT>
__device__ __forceinline__ void load_neighbours(const T *source, T (&target)[COUNT])
{
    const int multiple = 16 / static_cast<int>(sizeof(T));
    const int each = COUNT < multiple ? COUNT : multiple;
    static_assert(COUNT % each == 0, "whole words");
    struct alignas(each * sizeof(T)) pack {
        T values[each];
    };
#pragma unroll
    for (int i = 0; i < COUNT; i += each) {
        const pack p = *reinterpret_cast<const pack *>(source + i);
#pragma unroll
        for (int j = 0; j < each; ++j) {
            target[i + j] = p.values[j];
        }
    }
}

template <typename T, int COUNT>
__device__ __forceinline__ void store_neighbours(const T (&source)[COUNT], T *target)
{
    const int each = 16 / static_cast<int>(sizeof(T));
    struct alignas(16) pack {
        T values[each];
    };
#pragma unroll
    for (int i = 0; i < COUNT; i += each) {
        pack p;
#pragma unroll
        for (int j = 0; j < each; ++j) {
            p.values[j] = source[i + j];
        }
        *reinterpret_cast<pack *>(target + i) = p;
    }
}

// sums[q][i] <- sums[q][i] + sum_{d < depth} p[d][q] v[d][i], for ROWS x COLUMNS entries.
// Shared-memory loads limit the speed, broadcast or not: 32 floats per cycle, compared with 128
// products.
template <typename T, int ROWS, int COLUMNS>
__device__ __forceinline__ void add_products(T (&sums)[ROWS][COLUMNS], const T *p, int p_pitch,
                                             const T *v, int depth)
{
#pragma unroll 8
    for (int d = 0; d < depth; ++d) {
        T rows[ROWS];
        T columns[COLUMNS];
        load_neighbours(p + d * p_pitch, rows);
        load_neighbours(v + d * edge, columns);
#pragma unroll
        for (int q = 0; q < ROWS; ++q) {
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i) {
                sums[q][i] = fma(rows[q], columns[i], sums[q][i]);
            }
        }
    }
}

// Computes the same sums with p[q][d], for 4 x 4 entries.
template <typename T>
__device__ __forceinline__ void add_row_products(T (&sums)[4][4], const T *p, int p_pitch,
                                                 const T *v, int depth)
{
#pragma unroll 2
    for (int d = 0; d < depth; d += 4) {
        T rows[4][4];
        T columns[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            load_neighbours(p + i * p_pitch + d, rows[i]);
            load_neighbours(v + (d + i) * edge, columns[i]);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    sums[q][i] = fma(rows[q][e], columns[e][i], sums[q][i]);
                }
            }
        }
    }
}

} // namespace square

#endif
