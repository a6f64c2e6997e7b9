// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/peers/graph.h"

bb_status bb_bench_graph_create(bb_status (*queue)(void *stream, void *arguments), void *arguments,
                                bb_bench_graph **out)
{
    bb_status status = BB_OK;
    (void)queue;
    (void)arguments;
    *out = NULL;
    BB_FAIL(BB_UNSUPPORTED, "this build has no CUDA");
done:
    return status;
}

void bb_bench_graph_destroy(bb_bench_graph **graph)
{
    *graph = NULL;
}

bb_status bb_bench_graph_time(bb_bench_graph *graph, double *seconds)
{
    (void)graph;
    (void)seconds;
    return BB_UNSUPPORTED;
}
