// SPDX-License-Identifier: Apache-2.0
//
// Portable implementation of split_product_cuda.h: matrix instructions and asynchronous copies
// available from sm_80 on.
//
// A thread block computes 128 x 128 of C, each of its eight warps 64 x 32. All threads copy the
// next 32 steps of the depth into a ring in shared memory, then multiply the data that has arrived.
// Sums are promoted to fp32 after every 32 steps, so that the bias of the tensor core does not grow
// with the depth.
#include "solvers/factor/panels/split_places_cuda.h"

using namespace split_product;

namespace
{

const int edge = 128; // rows and columns of a block
const int step = 32;  // depth of one stage of the ring
const int threads = 256;
const int lanes = 32;
const int warp_rows = 64;
const int warp_columns = 32;
const int tall = warp_rows / 16; // tiles of a warp, each the result of one instruction
const int wide = warp_columns / 8;
const int chunk = 8; // halves per copy
const int plane_bytes = edge * step * 2;

template <int PRODUCTS> struct shape {
    static const int planes = PRODUCTS == 1 ? 1 : 2; // number of planes per operand
    static const int stage_bytes = 2 * planes * plane_bytes;
    static const int stages = PRODUCTS == 1 ? 4 : 3;
    static const int bytes = stages * stage_bytes; // at most 96 KiB: sm_86 has 99
};

__device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies eight halves, or zeros.
__device__ __forceinline__ void copy_chunk(uint32_t target, const __half *source, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source),
                 "r"(there ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void copies_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void copies_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Position of a chunk of a plane in its stage, swizzled so that eight neighbours across the depth,
// which one instruction loads, have no bank conflicts. Planes are [128][32], or [32][128] if
// transposed.
template <bool TRANSPOSED> __device__ __forceinline__ uint32_t chunk_at(int row, int column)
{
    const int index = column / chunk;
    return static_cast<uint32_t>(TRANSPOSED ? row * 256 + (index ^ (row & 7)) * 16
                                            : row * 64 + (index ^ (row >> 1 & 3)) * 16);
}

// Loads four 8 x 8 matrices of halves; groups of eight lanes supply the row addresses.
template <bool TRANSPOSED>
__device__ __forceinline__ void load_matrices(uint32_t address, uint32_t (&out)[4])
{
    if constexpr (TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(address)
                     : "memory");
    }
}

// D [16][8] += A [16][16] B [16][8].
__device__ __forceinline__ void multiply_16(float (&d)[4], const uint32_t (&a)[4],
                                            const uint32_t *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Range of the depth that contributes to columns [column, column + 128).
struct depth_span {
    bb_index begin;
    int steps;
};

__device__ __forceinline__ depth_span span_of(const bb_split_product_cuda &p, bb_index column)
{
    bb_index begin = p.begin;
    bb_index end = p.end;
    if (p.list != nullptr) {
        return {0, static_cast<int>(p.listed * p.triangle.block / step)};
    }
    if (p.depth == BB_DEPTH_LOWER && column + edge < end) {
        end = column + edge;
    } else if (p.depth == BB_DEPTH_UPPER && column > begin) {
        begin = column;
    }
    return {begin, static_cast<int>((end - begin) / step)};
}

// Depth at which a step begins.
__device__ __forceinline__ bb_index depth_at(const bb_split_product_cuda &p, const depth_span &span,
                                             int s)
{
    const int passed = s * step;
    if (p.list == nullptr) {
        return span.begin + passed;
    }
    const int block = static_cast<int>(p.triangle.block);
    return static_cast<bb_index>(p.list[passed / block]) * block + passed % block;
}

// Copies one plane's part of a stage: 128 rows and 32 of the depth, or transposed.
template <bool TRANSPOSED>
__device__ __forceinline__ void copy_plane(const bb_plane_map_cuda &plane, place corner,
                                           uint32_t target)
{
    const int across = (TRANSPOSED ? edge : step) / chunk; // chunks per row
#pragma unroll
    for (int t = threadIdx.x; t < edge * step / chunk; t += threads) {
        const int row = t / across;
        const int column = t % across * chunk;
        const bool there = corner.row + row < plane.rows;
        const bb_index item = static_cast<bb_index>(there ? corner.row + row : 0) * plane.stride +
                              corner.column + column;
        copy_chunk(target + chunk_at<TRANSPOSED>(row, column), plane.values + item, there);
    }
}

template <int PRODUCTS, bool TRANSPOSED>
__device__ __forceinline__ void copy_stage(const bb_split_product_cuda &p, bb_index row,
                                           bb_index column, bb_index k, uint32_t target)
{
    const place a = find(p.triangle, p.a.layout, p.a.first, row, k);
    const place b = find(p.triangle, p.b.layout, p.b.first, column, k);
    copy_plane<false>(p.a.hi, a, target);
    copy_plane<TRANSPOSED>(p.b.hi, b, target + plane_bytes);
    if (PRODUCTS == 3) {
        copy_plane<false>(p.a.lo, a, target + 2 * plane_bytes);
        copy_plane<TRANSPOSED>(p.b.lo, b, target + 3 * plane_bytes);
    }
}

// Accumulators of a warp: products hi hi, and the small products.
template <int PRODUCTS> struct warp_sums {
    float major[tall][wide][4];
};
template <> struct warp_sums<3> {
    float major[tall][wide][4];
    float minor[tall][wide][4];
};

// Fragments of a warp's 32 columns of B: depth of two instructions, two registers each.
template <bool TRANSPOSED>
__device__ __forceinline__ void load_columns(uint32_t plane, int first,
                                             uint32_t (&out)[2][2 * wide])
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
#pragma unroll
        for (int pair = 0; pair < wide / 2; ++pair) {
            // Groups of eight lanes address depths 0 and 8 of the first eight columns, then of the
            // next eight.
            const int depth = 16 * k + lane / 8 % 2 * 8 + (TRANSPOSED ? lane % 8 : 0);
            const int column = first + 16 * pair + lane / 16 * 8 + (TRANSPOSED ? 0 : lane % 8);
            uint32_t four[4];
            load_matrices<TRANSPOSED>(plane + (TRANSPOSED ? chunk_at<true>(depth, column)
                                                          : chunk_at<false>(column, depth)),
                                      four);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                out[k][4 * pair + i] = four[i];
            }
        }
    }
}

// Fragments of 16 rows of A: depth of two instructions.
__device__ __forceinline__ void load_rows(uint32_t plane, int first, uint32_t (&out)[2][4])
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        load_matrices<false>(plane + chunk_at<false>(first + lane % 16, 16 * k + lane / 16 * chunk),
                             out[k]);
    }
}

template <int PRODUCTS, bool TRANSPOSED>
__device__ __forceinline__ void multiply_stage(uint32_t stage, int row, int column,
                                               warp_sums<PRODUCTS> &sums)
{
    uint32_t b_hi[2][2 * wide];
    uint32_t b_lo[2][2 * wide];
    load_columns<TRANSPOSED>(stage + plane_bytes, column, b_hi);
    if constexpr (PRODUCTS == 3) {
        load_columns<TRANSPOSED>(stage + 3 * plane_bytes, column, b_lo);
    }
#pragma unroll
    for (int m = 0; m < tall; ++m) {
        uint32_t a_hi[2][4];
        uint32_t a_lo[2][4];
        load_rows(stage, row + 16 * m, a_hi);
        if constexpr (PRODUCTS == 3) {
            load_rows(stage + 2 * plane_bytes, row + 16 * m, a_lo);
        }
#pragma unroll
        for (int n = 0; n < wide; ++n) {
            float d[4] = {0.0F, 0.0F, 0.0F, 0.0F};
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                multiply_16(d, a_hi[k], &b_hi[k][2 * n]);
                if constexpr (PRODUCTS == 3) {
                    multiply_16(sums.minor[m][n], a_hi[k], &b_lo[k][2 * n]);
                    multiply_16(sums.minor[m][n], a_lo[k], &b_hi[k][2 * n]);
                }
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                sums.major[m][n][i] += d[i];
            }
        }
    }
}

template <int PRODUCTS>
__device__ __forceinline__ float2 result(const warp_sums<PRODUCTS> &sums, int m, int n, int half)
{
    float2 out = {sums.major[m][n][2 * half], sums.major[m][n][2 * half + 1]};
    if constexpr (PRODUCTS == 3) {
        out.x += low_unit * sums.minor[m][n][2 * half];
        out.y += low_unit * sums.minor[m][n][2 * half + 1];
    }
    return out;
}

// A lane has rows lane / 4 and lane / 4 + 8 of each sixteen, columns 2 (lane % 4) and the next one
// of each eight.
template <int PRODUCTS>
__device__ __forceinline__ void store(const bb_split_product_cuda &p, bb_index row, bb_index column,
                                      const warp_sums<PRODUCTS> &sums)
{
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const float factor = p.largest != nullptr ? bb_split_product_plane_unit(*p.largest) : 1.0F;
#pragma unroll
    for (int m = 0; m < tall; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const bb_index r = row + 16 * m + 8 * half + lane / 4;
            if (r >= p.rows) {
                continue;
            }
            const bb_index item = result_item(p, r, column + 2 * (lane % 4));
#pragma unroll
            for (int n = 0; n < wide; ++n) {
                const float2 own = result<PRODUCTS>(sums, m, n, half);
                if (p.write_planes) {
                    write_pair(p, item + 8 * n, factor * own.x, factor * own.y);
                } else {
                    float2 *c = reinterpret_cast<float2 *>(p.c + item + 8 * n);
                    const float2 before = *c;
                    *c = {before.x - own.x, before.y - own.y};
                }
            }
        }
    }
}

template <int PRODUCTS, bool TRANSPOSED>
__global__ void __launch_bounds__(threads, 1)
    multiply(const __grid_constant__ bb_split_product_cuda p)
{
    using S = shape<PRODUCTS>;
    extern __shared__ __align__(128) char ring[];
    const bb_index column = static_cast<bb_index>(blockIdx.x) * edge;
    const bb_index row = static_cast<bb_index>(blockIdx.y) * edge;
    const bool above = p.lower_only && column > row + edge - 1;
    // Only one thread reads the flag, because another stream may write it concurrently: all threads
    // return or none.
    const bool stopped = threadIdx.x == 0 && p.stopped != nullptr &&
                         *static_cast<const volatile int *>(p.stopped) != 0;
    if (__syncthreads_or(above || stopped) != 0) {
        return;
    }
    const depth_span span = span_of(p, column);
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const int warp_row = warp % 2 * warp_rows;
    const int warp_column = warp / 2 * warp_columns;
    const uint32_t stages = shared_address(ring);
    warp_sums<PRODUCTS> sums = {};
    for (int s = 0; s < S::stages - 1; ++s) {
        if (s < span.steps) {
            copy_stage<PRODUCTS, TRANSPOSED>(p, row, column, depth_at(p, span, s),
                                             stages + s * S::stage_bytes);
        }
        copies_commit(); // commit empty groups too, so that the same wait works in all steps
    }
    for (int s = 0; s < span.steps; ++s) {
        const int ahead = s + S::stages - 1;
        copies_wait<S::stages - 2>();
        __syncthreads(); // the stage has arrived, and the previous one is no longer read
        if (ahead < span.steps) {
            copy_stage<PRODUCTS, TRANSPOSED>(p, row, column, depth_at(p, span, ahead),
                                             stages + ahead % S::stages * S::stage_bytes);
        }
        copies_commit();
        multiply_stage<PRODUCTS, TRANSPOSED>(stages + s % S::stages * S::stage_bytes, warp_row,
                                             warp_column, sums);
    }
    store<PRODUCTS>(p, row + warp_row, column + warp_column, sums);
}

template <int PRODUCTS, bool TRANSPOSED>
bb_status launch(const bb_split_product_cuda &p, cudaStream_t stream)
{
    const dim3 grid(static_cast<unsigned>(p.columns / edge),
                    static_cast<unsigned>((p.rows + edge - 1) / edge));
    void (*kernel)(const bb_split_product_cuda) = multiply<PRODUCTS, TRANSPOSED>;
    BB_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shape<PRODUCTS>::bytes));
    kernel<<<grid, threads, shape<PRODUCTS>::bytes, stream>>>(p);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

} // namespace

bb_status bb_split_product_launch_portable(const bb_split_product_cuda *product, int products,
                                           cudaStream_t stream)
{
    const bb_split_product_cuda &p = *product;
    const bool transposed = p.b.layout == BB_OPERAND_COLUMNS;
    if (p.rows == 0 || p.columns == 0 || (p.list == nullptr ? p.end <= p.begin : p.listed == 0)) {
        return BB_OK;
    }
    if (products == 3) {
        return transposed ? launch<3, true>(p, stream) : launch<3, false>(p, stream);
    }
    return transposed ? launch<1, true>(p, stream) : launch<1, false>(p, stream);
}
