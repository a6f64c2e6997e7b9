// SPDX-License-Identifier: Apache-2.0
//
// What the device's vendor or a usual library reaches on the data of a kernel, in the rounds in
// which the kernel is measured: OpenBLAS on the cpu, cuBLAS and cuSPARSE on a cuda device, CLBlast
// on an opencl device. Handles, plans and workspaces are made before the rounds; results are held
// to the kernel's, and a call that finds something else does not count.
#ifndef BB_BENCH_PEERS_KERNEL_PEERS_H
#define BB_BENCH_PEERS_KERNEL_PEERS_H

#include "bench/bench.h"
#include "solvers/kernels/program/binding.h"

typedef struct bb_kernel_peers bb_kernel_peers;

/// A kernel that ran over its blocks once.
typedef struct bb_kernel_peers_task {
    bb_device *device;
    bb_index threads;
    const char *kernel; ///< as its manager has it
    const bb_program *program;
    const bb_program_data *data; ///< on the host; the written object's is overwritten
    void *const *blocks;         ///< in the device's memory
} bb_kernel_peers_task;

/// Makes the calls that do what the kernel does, each with an output of its own, and runs each
/// once. A call that cannot be made is not an error: bb_kernel_peers_tell says why. Errors:
/// BB_MEMORY, BB_DEVICE (of the device). Owner: the caller; the task's blocks must outlive it.
BB_CHECKED bb_status bb_kernel_peers_create(const bb_kernel_peers_task *task,
                                            bb_kernel_peers **out);
void bb_kernel_peers_destroy(bb_kernel_peers **peers);

/// Measures each call once: a round.
BB_CHECKED bb_status bb_kernel_peers_measure(bb_kernel_peers *peers);

/// Sets the library's name, time and ratio of an outcome, whose `best_s` is the kernel's, by the
/// fastest call that counts, and appends what was found to its `detail`.
void bb_kernel_peers_tell(const bb_kernel_peers *peers, bb_bench_outcome *out);

#endif
