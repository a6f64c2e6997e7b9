// SPDX-License-Identifier: Apache-2.0
//
// Twin of coded_operator.c. One block a row, 256 lanes, lane l taking columns l, l + 256, ... in
// turn; then a tree of halves in shared memory, always in the same order: results repeat bit for
// bit.
#include "core/device_cuda.h"
#include "precision/format_core.h"
#include "solvers/coded_operator.h"

namespace
{

const int lanes = 256;

struct of_fp64 {
    using word = double;
    static __device__ double decode(double value)
    {
        return value;
    }
};
struct of_fp32 { // tf32 as well: its words are floats
    using word = float;
    static __device__ float decode(float value)
    {
        return value;
    }
};
struct of_bf16 {
    using word = uint16_t;
    static __device__ float decode(uint16_t value)
    {
        return bb_decode_bf16(value);
    }
};
struct of_fp16 {
    using word = uint16_t;
    static __device__ float decode(uint16_t value)
    {
        return bb_decode_fp16(value);
    }
};
struct of_e4m3 {
    using word = uint8_t;
    static __device__ float decode(uint8_t value)
    {
        return bb_decode_e4m3(value);
    }
};
struct of_e5m2 {
    using word = uint8_t;
    static __device__ float decode(uint8_t value)
    {
        return bb_decode_e5m2(value);
    }
};

template <typename Storage, typename Multiply, typename Accumulate>
__global__ void multiply_rows(const typename Storage::word *words, bb_index columns,
                              const Multiply *x, double *y)
{
    __shared__ Accumulate sums[lanes];
    const typename Storage::word *row = words + static_cast<bb_index>(blockIdx.x) * columns;
    Accumulate sum = 0;
    for (bb_index j = threadIdx.x; j < columns; j += lanes) {
        Multiply product = static_cast<Multiply>(Storage::decode(row[j])) * x[j];
        sum += static_cast<Accumulate>(product);
    }
    sums[threadIdx.x] = sum;
    for (int half = lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = static_cast<double>(sums[0]);
    }
}

template <typename Storage>
void launch(const bb_coded_product *task, unsigned rows, cudaStream_t queue)
{
    const auto *words = static_cast<const typename Storage::word *>(task->words);
    if (task->arithmetic.multiply == BB_FORMAT_FP64) {
        multiply_rows<Storage, double, double>
            <<<rows, lanes, 0, queue>>>(words, task->columns, task->x, task->y);
    } else if (task->arithmetic.accumulate == BB_FORMAT_FP64) {
        multiply_rows<Storage, float, double>
            <<<rows, lanes, 0, queue>>>(words, task->columns, task->x_f32, task->y);
    } else {
        multiply_rows<Storage, float, float>
            <<<rows, lanes, 0, queue>>>(words, task->columns, task->x_f32, task->y);
    }
}

} // namespace

extern "C" bb_status bb_coded_product_cuda(void *stream, bb_index rows, void *arguments)
{
    const bb_coded_product *task = static_cast<const bb_coded_product *>(arguments);
    cudaStream_t queue = static_cast<cudaStream_t>(stream);
    unsigned blocks = static_cast<unsigned>(rows);
    switch (task->format) {
    case BB_FORMAT_FP64:
        launch<of_fp64>(task, blocks, queue);
        break;
    case BB_FORMAT_BF16:
        launch<of_bf16>(task, blocks, queue);
        break;
    case BB_FORMAT_FP16:
        launch<of_fp16>(task, blocks, queue);
        break;
    case BB_FORMAT_E4M3:
        launch<of_e4m3>(task, blocks, queue);
        break;
    case BB_FORMAT_E5M2:
        launch<of_e5m2>(task, blocks, queue);
        break;
    default: // fp32 and tf32
        launch<of_fp32>(task, blocks, queue);
    }
    BB_CUDA_CHECK_LAUNCH();
    return BB_OK;
}
