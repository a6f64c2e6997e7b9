// SPDX-License-Identifier: Apache-2.0
//
// Plan of a run: sizes, memory, data and time, printed before anything is computed.
//
// A machine for which a study is planned, described by a file: 'check --machine FILE' plans on a
// login node a run for another machine.
//
//     name: node of eight H200
//     memory_gb: 2000
//     gpus: 8
//     gpu_memory_gb: 141
#ifndef BB_SIM_RUN_PLAN_H
#define BB_SIM_RUN_PLAN_H

#include "core/need.h"
#include "core/problem.h"
#include "core/text.h"

/// Host memory of the program and its libraries without a study, including overhead of malloc and
/// two threads.
enum { BB_PLAN_PROGRAM_BYTES = 28000000 };

enum { BB_PLAN_LINE = 96 };

/// Plan. Zero-initialise; release with bb_plan_release.
typedef struct bb_plan {
    bb_text lines;       ///< "name  value" lines, for the user
    double host_bytes;   ///< estimated peak
    double device_bytes; ///< estimated peak on each GPU; 0 if only the host is used
    bb_index gpus; ///< number of GPUs that need this memory; 0: data may be smaller, not checked
    double output_bytes;      ///< size of the results in the output file, before compression
    double estimated_seconds; ///< NaN without an estimate
} bb_plan;

/// Adds a line: a name, and a formatted value with its unit.
BB_CHECKED bb_status bb_plan_add(bb_plan *plan, const char *what, const char *format, ...)
    BB_PRINTF(3, 4);

/// Host memory of this machine, bytes. Errors: from bb_device_open.
BB_CHECKED bb_status bb_plan_machine_bytes(double *out);

/// Writes "memory: needs 2.7 TB, this machine has 8.2 GB" to `out` if the plan needs more host
/// memory than `machine_bytes`; else "".
void bb_plan_shortage(const bb_plan *plan, double machine_bytes, char out[BB_PLAN_LINE]);

/// Refuses impossible plans: more host memory than BB_NEED_HOPELESS x `machine_bytes`, or than the
/// `limit_bytes` that the process may map (INFINITY: no limit). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plan_require(const bb_plan *plan, double machine_bytes, double limit_bytes);

/// Sets memory and time to the need of the study plus that of the program.
void bb_plan_set(bb_plan *plan, bb_need need);

/// Refuses plans that exceed the memory of this machine's GPUs. Without GPUs nothing is checked:
/// the plan may be for another machine. Errors: BB_MEMORY with the bytes needed and free, BB_DEVICE
/// (fewer GPUs).
BB_CHECKED bb_status bb_plan_require_device(const bb_plan *plan);

/// Bytes that `ulimit -v` leaves for a plan, after the memory already mapped and the buffers and
/// stacks of `threads` threads; INFINITY without a limit.
double bb_plan_limit_bytes(bb_index threads);

void bb_plan_release(bb_plan *plan);

enum { BB_MACHINE_NAME = 80 };

typedef struct bb_machine {
    char name[BB_MACHINE_NAME];
    double host_bytes;
    bb_index gpus;    ///< 0: none
    double gpu_bytes; ///< memory of each GPU
} bb_machine;

/// Reads a description. Errors: BB_IO, BB_INVALID with `problems`, BB_MEMORY.
BB_CHECKED bb_status bb_machine_load(const char *path, bb_problems *problems, bb_machine *out);

/// Refuses a plan if the machine has too little memory or too few GPUs. Errors: BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_machine_require(const bb_machine *machine, const bb_plan *plan);

#endif
