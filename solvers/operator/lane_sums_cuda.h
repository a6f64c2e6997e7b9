// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: sums of `count` products of one lane (bb_stream_sums of coded_stream.h), of
// fp32 values or integers `a` times factors `b`, which are stored as `factor`.
#ifndef BB_SOLVERS_OPERATOR_LANE_SUMS_CUDA_H
#define BB_SOLVERS_OPERATOR_LANE_SUMS_CUDA_H

namespace lane_sums
{

struct wide_sums { // BB_STREAM_WIDE
    using factor = double;
    using total = double;
    template <int count, class Value>
    static __device__ void add(total &sum, const Value (&a)[count], const factor (&b)[count])
    {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            sum = __fma_rn(static_cast<double>(a[i]), b[i], sum);
        }
    }
};

struct each_sums { // BB_STREAM_EACH
    using factor = float;
    using total = double;
    template <int count, class Value>
    static __device__ void add(total &sum, const Value (&a)[count], const factor (&b)[count])
    {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            sum = __dadd_rn(sum, static_cast<double>(__fmul_rn(static_cast<float>(a[i]), b[i])));
        }
    }
};

struct run_sums { // BB_STREAM_RUNS
    using factor = float;
    using total = double;
    template <int count, class Value>
    static __device__ void add(total &sum, const Value (&a)[count], const factor (&b)[count])
    {
        float run = __fmul_rn(static_cast<float>(a[0]), b[0]);
#pragma unroll
        for (int i = 1; i < count; ++i) {
            run = __fmaf_rn(static_cast<float>(a[i]), b[i], run);
        }
        sum = __dadd_rn(sum, static_cast<double>(run));
    }
};

struct narrow_sums { // BB_STREAM_NARROW
    using factor = float;
    using total = float;
    template <int count, class Value>
    static __device__ void add(total &sum, const Value (&a)[count], const factor (&b)[count])
    {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            sum = __fmaf_rn(static_cast<float>(a[i]), b[i], sum);
        }
    }
};

} // namespace lane_sums

#endif
