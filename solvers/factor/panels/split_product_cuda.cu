// SPDX-License-Identifier: Apache-2.0
//
// Product of half planes on sm_90. A thread block computes 128 rows and 128 or 256 columns of C.
// One warp fills a ring in shared memory by bulk copies; two groups of four warps multiply 64 rows
// each. Registers are moved from the filling warps to the multiplying ones. Long products run in
// pairs of thread blocks that share their columns: each loads half of B for both, which saves a
// third of the L2 traffic.
#include "solvers/factor/panels/split_places_cuda.h"
#include "solvers/gpu/hopper_cuda.h"

using namespace split_product;

namespace
{

const int block_rows = 128;
const int step = 64;                      // depth of one stage of the ring
[[maybe_unused]] const int promoted = 64; // depth summed inside the tensor core at a time
[[maybe_unused]] const int stretch =
    16384; // depth at a time with one product: no registers are left for a second accumulator
const int group_threads = 128; // four warps
const int threads = 3 * group_threads;
const int ring_bytes = 196608;

template <int COLUMNS, int PRODUCTS> struct shape {
    static const int planes = PRODUCTS == 1 ? 1 : 2;
    static const int a_bytes = block_rows * step * 2;
    static const int b_bytes = COLUMNS * step * 2;
    static const int stage_bytes = planes * (a_bytes + b_bytes);
    static const int stages = ring_bytes / stage_bytes;
    static const int shared_bytes = stages * stage_bytes + 1024;
};

// Range of the depth that contributes to columns [column, column + COLUMNS).
template <int COLUMNS, bool LISTED>
__device__ __forceinline__ void span(const bb_split_product_cuda &p, bb_index column,
                                     bb_index *begin, int *steps)
{
    bb_index end = p.end;
    *begin = p.begin;
    if (LISTED) {
        *begin = p.list[0] * p.triangle.block;
        *steps = static_cast<int>(p.listed * p.triangle.block / step);
        return;
    }
    if (p.depth == BB_DEPTH_LOWER && column + COLUMNS < end) {
        end = column + COLUMNS;
    } else if (p.depth == BB_DEPTH_UPPER && column > *begin) {
        *begin = column;
    }
    *steps = static_cast<int>((end - *begin) / step);
}

// Work of the filling thread. Divisions are slow, so positions are computed once and moved along
// the depth; with a transposed operand or a listed depth they are computed once per block.
template <int COLUMNS, int PRODUCTS, bool TRANSPOSED, bool LISTED, int PAIR>
__device__ __forceinline__ void feed(const bb_split_product_cuda &p, bb_index row, bb_index column,
                                     char *ring, uint64_t *full, uint64_t *empty)
{
    using S = shape<COLUMNS, PRODUCTS>;
    // A box is 64 wide along its contiguous axis and 64 (transposed) or 128 rows high.
    const int boxes = TRANSPOSED ? COLUMNS / 64 : COLUMNS / 128;
    const int height = COLUMNS / boxes;
    const int own = boxes / PAIR; // boxes of B loaded by this thread block
    const int first = PAIR == 1 ? 0 : static_cast<int>(hopper::cluster_rank()) * own;
    bb_index begin = 0;
    int steps = 0;
    span<COLUMNS, LISTED>(p, column, &begin, &steps);
    place a = find(p.triangle, p.a.layout, p.a.first, row, begin);
    place b[own];
    int rest = 0; // steps until positions must be computed again
    int item = 0; // index into the list
    for (int i = 0; !TRANSPOSED && !LISTED && i < own; ++i) {
        b[i] = find(p.triangle, p.b.layout, p.b.first, column + (first + i) * height, begin);
    }
    for (int s = 0, stage = 0, turn = 1; s < steps; ++s) {
        char *target = ring + stage * S::stage_bytes;
        if ((TRANSPOSED || LISTED) && rest-- == 0) {
            bb_index k = begin + static_cast<bb_index>(s) * step;
            if (LISTED) {
                k = p.list[item++] * p.triangle.block;
                a = find(p.triangle, p.a.layout, p.a.first, row, k);
            }
            rest = static_cast<int>((p.triangle.block - k % p.triangle.block) / step) - 1;
            for (int i = 0; i < own; ++i) {
                b[i] = find(p.triangle, TRANSPOSED ? BB_OPERAND_COLUMNS : p.b.layout, p.b.first,
                            column + (first + i) * height, k);
            }
        }
        if (PAIR == 1) {
            hopper::barrier_wait(&empty[stage], turn);
        } else {
            hopper::barrier_wait_cluster(&empty[stage], turn);
        }
        hopper::barrier_expect(&full[stage], S::stage_bytes);
        hopper::copy_box(target, &p.a.hi.boxes, a.column, a.row, &full[stage]);
        target += S::a_bytes;
        if (S::planes == 2) {
            hopper::copy_box(target, &p.a.lo.boxes, a.column, a.row, &full[stage]);
            target += S::a_bytes;
        }
        for (int plane = 0; plane < S::planes; ++plane) {
            const CUtensorMap *map = plane == 0 ? &p.b.hi.boxes : &p.b.lo.boxes;
#pragma unroll
            for (int i = 0; i < own; ++i) {
                char *box = target + (first + i) * (S::b_bytes / boxes);
                if (PAIR == 1) {
                    hopper::copy_box(box, map, b[i].column, b[i].row, &full[stage]);
                } else {
                    hopper::copy_box_to_all(box, map, b[i].column, b[i].row, &full[stage], 3);
                }
            }
            target += S::b_bytes;
        }
        a.column += step;
#pragma unroll
        for (int i = 0; i < own; ++i) {
            (TRANSPOSED ? b[i].row : b[i].column) += step;
        }
        stage = stage + 1 == S::stages ? 0 : stage + 1;
        turn ^= stage == 0;
    }
}

// Accumulators of one thread: `sum` is the promoted part, `minor` the small products.
template <int COLUMNS, int PRODUCTS> struct accumulators;
template <int COLUMNS> struct accumulators<COLUMNS, 1> {
    float major[COLUMNS / 2];
};
template <int COLUMNS> struct accumulators<COLUMNS, 3> {
    float major[COLUMNS / 2];
    float minor[COLUMNS / 2];
    float sum[COLUMNS / 2];
};

template <int COLUMNS, int PRODUCTS, bool TRANSPOSED>
__device__ __forceinline__ void multiply_stage(const char *stage, int group, bool keep_major,
                                               bool keep_minor,
                                               accumulators<COLUMNS, PRODUCTS> &sums)
{
    using S = shape<COLUMNS, PRODUCTS>;
    const char *a = stage + group * (S::a_bytes / 2);
    const char *b = stage + S::planes * S::a_bytes;
    hopper::products_begin();
#pragma unroll
    for (int k = 0; k < step / 16; ++k) {
        // Step along the depth: 32 bytes within a row of 128, or 16 rows of 128 bytes.
        const int b_at = TRANSPOSED ? k * 2048 : k * 32;
        const uint32_t leading = TRANSPOSED ? 8192 : 16;
        const uint64_t a_hi = hopper::descriptor(a + k * 32, 16, 1024);
        const uint64_t b_hi = hopper::descriptor(b + b_at, leading, 1024);
        hopper::multiply_step<TRANSPOSED>(sums.major, a_hi, b_hi, keep_major || k > 0);
        if constexpr (PRODUCTS == 3) {
            const uint64_t a_lo = hopper::descriptor(a + S::a_bytes + k * 32, 16, 1024);
            const uint64_t b_lo = hopper::descriptor(b + S::b_bytes + b_at, leading, 1024);
            hopper::multiply_step<TRANSPOSED>(sums.minor, a_hi, b_lo, keep_minor || k > 0);
            hopper::multiply_step<TRANSPOSED>(sums.minor, a_lo, b_hi, true);
        }
    }
    hopper::products_commit();
}

// State of a multiplying group in the ring.
struct ring_cursor {
    int stage, before;
    uint32_t turn;
};

// A stage is free when both groups of every thread block that shares it have released it.
template <int PAIR> __device__ __forceinline__ void leave(uint64_t *empty)
{
    const int lane = threadIdx.x % group_threads;
    if (PAIR == 1 && lane == 0) {
        hopper::barrier_arrive(empty);
    } else if (PAIR > 1 && lane < PAIR) {
        hopper::barrier_arrive_at(empty, static_cast<uint32_t>(lane));
    }
}

// Sums `steps` stages and releases them.
template <int COLUMNS, int PRODUCTS, bool TRANSPOSED, int PAIR>
__device__ __forceinline__ void accumulate(int steps, int group, const char *ring, uint64_t *full,
                                           uint64_t *empty, ring_cursor &cursor,
                                           accumulators<COLUMNS, PRODUCTS> &sums)
{
    using S = shape<COLUMNS, PRODUCTS>;
    const int between = promoted / step;
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; ++i) {
        sums.major[i] = 0.0F;
        if constexpr (PRODUCTS == 3) {
            sums.minor[i] = 0.0F;
            sums.sum[i] = 0.0F;
        }
    }
    for (int s = 0; s < steps; ++s) {
        hopper::barrier_wait(&full[cursor.stage], cursor.turn);
        hopper::pin(sums.major);
        multiply_stage<COLUMNS, PRODUCTS, TRANSPOSED>(ring + cursor.stage * S::stage_bytes, group,
                                                      PRODUCTS == 1 || s % between != 0, true,
                                                      sums);
        hopper::products_wait<1>(); // wait for all groups but the last committed one
        if (s > 0 && (PRODUCTS == 1 || s % between > 0)) {
            leave<PAIR>(&empty[cursor.before]);
        }
        if constexpr (PRODUCTS == 3) {
            if (s % between == between - 1 || s == steps - 1) {
                hopper::products_wait<0>();
                hopper::pin(sums.major);
#pragma unroll
                for (int i = 0; i < COLUMNS / 2; ++i) {
                    sums.sum[i] += sums.major[i];
                }
                leave<PAIR>(&empty[cursor.stage]);
            }
        }
        cursor.before = cursor.stage;
        cursor.stage = cursor.stage + 1 == S::stages ? 0 : cursor.stage + 1;
        cursor.turn ^= cursor.stage == 0;
    }
    hopper::products_wait<0>();
    hopper::pin(sums.major);
    if constexpr (PRODUCTS == 3) {
        hopper::pin(sums.minor);
    } else {
        leave<PAIR>(&empty[cursor.before]);
    }
}

template <int COLUMNS, int PRODUCTS>
__device__ __forceinline__ float result(const accumulators<COLUMNS, PRODUCTS> &sums, int i)
{
    if constexpr (PRODUCTS == 3) {
        return sums.sum[i] + low_unit * sums.minor[i];
    } else {
        return sums.major[i];
    }
}

// Loads one row of a thread's sums from C. Loads precede stores, so that they overlap.
template <int COLUMNS, int PRODUCTS>
__device__ __forceinline__ void subtract(float *c, int half,
                                         const accumulators<COLUMNS, PRODUCTS> &sums)
{
    const int batch = 16;
#pragma unroll
    for (int first = 0; first < COLUMNS / 8; first += batch) {
        float2 before[batch];
#pragma unroll
        for (int j = 0; j < batch; ++j) {
            before[j] = *reinterpret_cast<const float2 *>(c + 8 * (first + j));
        }
#pragma unroll
        for (int j = 0; j < batch; ++j) {
            const int i = 4 * (first + j) + 2 * half;
            before[j].x -= result<COLUMNS, PRODUCTS>(sums, i);
            before[j].y -= result<COLUMNS, PRODUCTS>(sums, i + 1);
            *reinterpret_cast<float2 *>(c + 8 * (first + j)) = before[j];
        }
    }
}

// A thread has rows lane / 4 and lane / 4 + 8 of the warp's sixteen, columns 8 j + 2 (lane % 4) and
// the next one.
template <int COLUMNS, int PRODUCTS>
__device__ __forceinline__ void store(const bb_split_product_cuda &p, bb_index row, bb_index column,
                                      int group, const accumulators<COLUMNS, PRODUCTS> &sums)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x % group_threads / 32;
    const float factor = p.largest != nullptr ? bb_split_product_plane_unit(*p.largest) : 1.0F;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const bb_index r = row + group * 64 + warp * 16 + lane / 4 + 8 * half;
        if (r >= p.rows) {
            continue;
        }
        const bb_index index = result_item(p, r, column + 2 * (lane % 4));
        if (p.write_planes) {
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; ++j) {
                write_pair(p, index + 8 * j,
                           factor * result<COLUMNS, PRODUCTS>(sums, 4 * j + 2 * half),
                           factor * result<COLUMNS, PRODUCTS>(sums, 4 * j + 2 * half + 1));
            }
        } else {
            subtract<COLUMNS, PRODUCTS>(p.c + index, half, sums);
        }
    }
}

template <int COLUMNS, int PRODUCTS, bool TRANSPOSED, bool LISTED, int PAIR>
__device__ __forceinline__ void multiply_block(const bb_split_product_cuda &p)
{
    using S = shape<COLUMNS, PRODUCTS>;
    extern __shared__ char dynamic[];
    __shared__ uint64_t full[S::stages];
    __shared__ uint64_t empty[S::stages];
    char *ring = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(dynamic) + 1023) &
                                          ~static_cast<uintptr_t>(1023));
    const bb_index column = static_cast<bb_index>(blockIdx.x) * COLUMNS;
    const bb_index row = static_cast<bb_index>(blockIdx.y) * block_rows;
    const int group = threadIdx.x / group_threads;
    if (threadIdx.x == 0) {
        for (int s = 0; s < S::stages; ++s) {
            hopper::barrier_start(&full[s], 1);
            hopper::barrier_start(&empty[s], 2 * PAIR);
        }
        hopper::barrier_starts_visible();
    }
    PAIR == 1 ? __syncthreads() : hopper::cluster_meet();
    if (group == 2) {
        hopper::registers_give<40>();
        if (threadIdx.x == 2 * group_threads) {
            feed<COLUMNS, PRODUCTS, TRANSPOSED, LISTED, PAIR>(p, row, column, ring, full, empty);
        }
    } else {
        hopper::registers_take<232>();
        accumulators<COLUMNS, PRODUCTS> sums;
        ring_cursor cursor = {0, 0, 0};
        bb_index begin = 0;
        int steps = 0;
        span<COLUMNS, LISTED>(p, column, &begin, &steps);
        const int limit = PRODUCTS == 1 && !p.write_planes ? stretch / step : steps;
        do {
            const int now = steps < limit ? steps : limit;
            accumulate<COLUMNS, PRODUCTS, TRANSPOSED, PAIR>(now, group, ring, full, empty, cursor,
                                                            sums);
            store<COLUMNS, PRODUCTS>(p, row, column, group, sums);
            steps -= now;
        } while (steps > 0);
    }
    if (PAIR > 1) {
        __syncwarp();
        hopper::cluster_meet(); // the other thread block may still write to this one
    }
}

template <int COLUMNS, int PRODUCTS, bool TRANSPOSED, bool LISTED>
__global__ void __launch_bounds__(threads, 1)
    multiply(const __grid_constant__ bb_split_product_cuda p)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    const bool above =
        p.lower_only && static_cast<bb_index>(blockIdx.x) * COLUMNS >
                            static_cast<bb_index>(blockIdx.y) * block_rows + block_rows - 1;
    // Only one thread reads the flag, because another stream may write it concurrently: all threads
    // return or none.
    const bool stopped = threadIdx.x == 0 && p.stopped != nullptr &&
                         *static_cast<const volatile int *>(p.stopped) != 0;
    if (__syncthreads_or(above || stopped) != 0) {
        return;
    }
    multiply_block<COLUMNS, PRODUCTS, TRANSPOSED, LISTED, 1>(p);
#else
    __trap(); // not compiled for sm_90a
#endif
}

// Both thread blocks of a pair must run, so they do not check whether the factorization has
// stopped.
template <int COLUMNS, int PRODUCTS, bool TRANSPOSED, bool LISTED>
__global__ void __launch_bounds__(threads, 1) BB_CLUSTER_DIMS(1, 2, 1)
    multiply_in_pairs(const __grid_constant__ bb_split_product_cuda p)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    multiply_block<COLUMNS, PRODUCTS, TRANSPOSED, LISTED, 2>(p);
#else
    __trap();
#endif
}

template <int COLUMNS, int PRODUCTS, bool TRANSPOSED, bool LISTED>
bb_status launch_kernel(const bb_split_product_cuda &p, bool in_pairs, cudaStream_t stream)
{
    using S = shape<COLUMNS, PRODUCTS>;
    const bb_index tiles = (p.rows + block_rows - 1) / block_rows;
    const bb_index across = p.columns / COLUMNS;
    dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(tiles));
    void (*kernel)(const bb_split_product_cuda) = multiply<COLUMNS, PRODUCTS, TRANSPOSED, LISTED>;
    if constexpr (COLUMNS > 128 || TRANSPOSED) { // B needs at least two boxes
        if (in_pairs) {
            grid.y = (grid.y + 1) / 2 * 2;
            kernel = multiply_in_pairs<COLUMNS, PRODUCTS, TRANSPOSED, LISTED>;
        }
    }
    BB_CUDA_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes));
    kernel<<<grid, threads, S::shared_bytes, stream>>>(p);
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}

// LISTED is a template parameter, so that products without a list do not pay for the test.
template <int COLUMNS, int PRODUCTS, bool TRANSPOSED>
bb_status launch(const bb_split_product_cuda &p, bool in_pairs, cudaStream_t stream)
{
    return p.list != nullptr
               ? launch_kernel<COLUMNS, PRODUCTS, TRANSPOSED, true>(p, in_pairs, stream)
               : launch_kernel<COLUMNS, PRODUCTS, TRANSPOSED, false>(p, in_pairs, stream);
}

} // namespace

bb_status bb_split_product_launch(const bb_split_product_cuda *product, int products,
                                  cudaStream_t stream)
{
    const bb_split_product_cuda &p = *product;
    const bool transposed = p.b.layout == BB_OPERAND_COLUMNS;
    bool hopper = false;
    BB_RETURN_IF_FAILED(bb_device_cuda_uses_hopper(&hopper));
    if (!hopper) {
        return bb_split_product_launch_portable(product, products, stream);
    }
    if (p.rows == 0 || p.columns == 0 || (p.list == nullptr ? p.end <= p.begin : p.listed == 0)) {
        return BB_OK;
    }
    // Use wide blocks and pairs while they still occupy all multiprocessors.
    const bool is_whole = p.depth == BB_DEPTH_WHOLE && !p.lower_only;
    const bb_index tiles = p.rows * p.columns / (static_cast<bb_index>(block_rows) * 128);
    if (products == 3) {
        const bool pairs = is_whole && tiles >= 128;
        return transposed ? launch<128, 3, true>(p, pairs, stream)
                          : launch<128, 3, false>(p, false, stream);
    }
    if (p.columns % 256 == 0 && is_whole && tiles >= 256) {
        return transposed ? launch<256, 1, true>(p, true, stream)
                          : launch<256, 1, false>(p, true, stream);
    }
    return transposed ? launch<128, 1, true>(p, false, stream)
                      : launch<128, 1, false>(p, false, stream);
}

bb_status bb_split_product_supported(void)
{
    bool hopper = false;
    return bb_device_cuda_uses_hopper(&hopper); // any implementation works
}
