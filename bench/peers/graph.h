// SPDX-License-Identifier: Apache-2.0
//
// Work queued once into a CUDA graph and launched many times: how a control loop runs work that is
// shorter than the launches of its parts.
#ifndef BB_BENCH_PEERS_GRAPH_H
#define BB_BENCH_PEERS_GRAPH_H

#include "core/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bb_bench_graph bb_bench_graph;

/// Captures what `queue(stream, arguments)` queues on the current device. Errors: BB_UNSUPPORTED (a
/// build without CUDA), BB_DEVICE, BB_MEMORY, those of `queue`. Owner: the caller.
BB_CHECKED bb_status bb_bench_graph_create(bb_status (*queue)(bb_queue *stream, void *arguments),
                                           void *arguments, bb_bench_graph **out);
void bb_bench_graph_destroy(bb_bench_graph **graph);

/// Launches it once and waits; `seconds` is between events before and after it on the device.
BB_CHECKED bb_status bb_bench_graph_time(bb_bench_graph *graph, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
