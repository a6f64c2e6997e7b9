// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/graph.h"
#include "core/device/device_cuda.h"
#include "core/memory.h"

struct bb_bench_graph {
    cudaStream_t stream;
    cudaEvent_t before, after;
    cudaGraph_t graph;
    cudaGraphExec_t plan;
};

static bb_status capture(bb_bench_graph *graph, bb_status (*queue)(bb_queue *, void *),
                         void *arguments)
{
    BB_CUDA_TRY(cudaStreamCreateWithFlags(&graph->stream, cudaStreamNonBlocking));
    BB_CUDA_TRY(cudaEventCreate(&graph->before));
    BB_CUDA_TRY(cudaEventCreate(&graph->after));
    BB_CUDA_TRY(cudaStreamBeginCapture(graph->stream, cudaStreamCaptureModeThreadLocal));
    bb_status queued = queue(bb_stream_queue(graph->stream), arguments);
    BB_CUDA_TRY(cudaStreamEndCapture(graph->stream, &graph->graph));
    BB_RETURN_IF_FAILED(queued);
    BB_CUDA_TRY(cudaGraphInstantiate(&graph->plan, graph->graph, 0));
    return BB_OK;
}

bb_status bb_bench_graph_create(bb_status (*queue)(bb_queue *stream, void *arguments),
                                void *arguments, bb_bench_graph **out)
{
    bb_bench_graph *graph = NULL;
    *out = NULL;
    BB_RETURN_IF_FAILED(bb_memory_zeroed(1, sizeof *graph, reinterpret_cast<void **>(&graph)));
    bb_status status = capture(graph, queue, arguments);
    if (status != BB_OK) {
        bb_bench_graph_destroy(&graph);
    }
    *out = graph;
    return status;
}

void bb_bench_graph_destroy(bb_bench_graph **graph)
{
    bb_bench_graph *bench_graph = *graph;
    if (bench_graph != NULL) {
        if (bench_graph->plan != NULL) {
            (void)cudaGraphExecDestroy(bench_graph->plan);
        }
        if (bench_graph->graph != NULL) {
            (void)cudaGraphDestroy(bench_graph->graph);
        }
        if (bench_graph->before != NULL) {
            (void)cudaEventDestroy(bench_graph->before);
        }
        if (bench_graph->after != NULL) {
            (void)cudaEventDestroy(bench_graph->after);
        }
        if (bench_graph->stream != NULL) {
            (void)cudaStreamDestroy(bench_graph->stream);
        }
        bb_memory_release(reinterpret_cast<void **>(graph));
    }
}

bb_status bb_bench_graph_time(bb_bench_graph *graph, double *seconds)
{
    float milliseconds = 0.0F;
    BB_CUDA_TRY(cudaEventRecord(graph->before, graph->stream));
    BB_CUDA_TRY(cudaGraphLaunch(graph->plan, graph->stream));
    BB_CUDA_TRY(cudaEventRecord(graph->after, graph->stream));
    BB_CUDA_TRY(cudaStreamSynchronize(graph->stream));
    BB_CUDA_TRY(cudaEventElapsedTime(&milliseconds, graph->before, graph->after));
    *seconds = 1e-3 * static_cast<double>(milliseconds);
    return BB_OK;
}
