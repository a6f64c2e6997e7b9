// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: capture of queued work as a graph that is launched repeatedly.
#ifndef BB_SOLVERS_LOOP_GRAPH_CAPTURE_CUDA_H
#define BB_SOLVERS_LOOP_GRAPH_CAPTURE_CUDA_H

#include "core/device/device_cuda.h"

/// Captures the work that `queue` queues on a stream, and instantiates the graph on the device.
/// `queue` is a function of the stream that returns a bb_status. `*out` is the caller's to destroy,
/// nullptr after a failure. Errors: from `queue`, BB_DEVICE.
template <class Queue>
bb_status capture_graph(cudaStream_t stream, const Queue &queue, cudaGraphExec_t *out)
{
    cudaGraph_t graph = nullptr;
    *out = nullptr;
    BB_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const bb_status status = queue(stream);
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (status != BB_OK) {
        if (graph != nullptr) {
            (void)cudaGraphDestroy(graph);
        }
        return status;
    }
    BB_CUDA_TRY(error);
    error = cudaGraphInstantiate(out, graph, 0);
    (void)cudaGraphDestroy(graph);
    BB_CUDA_TRY(error);
    error = cudaGraphUpload(*out, stream);
    if (error != cudaSuccess) {
        (void)cudaGraphExecDestroy(*out);
        *out = nullptr;
    }
    BB_CUDA_TRY(error);
    return BB_OK;
}

#endif
