// SPDX-License-Identifier: Apache-2.0
//
// The plan of a run: what it will hold, move and take, stated before anything is computed.
//
// A machine that a study is planned for, as a file describes it: 'check --machine FILE' plans on a
// login node what is to run elsewhere.
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

/// Host memory of the program itself and its libraries, before a study asks for any, and of what
/// malloc and two threads keep beside.
enum { BB_PLAN_PROGRAM_BYTES = 28000000 };

enum { BB_PLAN_LINE = 96 };

/// Zero-initialise; release with bb_plan_release.
typedef struct bb_plan {
    bb_text lines;       ///< "what  value" lines, for the user
    double host_bytes;   ///< peak, estimated
    double device_bytes; ///< peak on each GPU, estimated; 0 on the host alone
    bb_index gpus; ///< that have to have room for them; 0: the data may take less, none is held
    double output_bytes;      ///< of the results in the output file, before compression
    double estimated_seconds; ///< NaN where no estimate is made
} bb_plan;

/// Adds a line: what it is, and a formatted value with its unit.
BB_CHECKED bb_status bb_plan_add(bb_plan *plan, const char *what, const char *format, ...)
    BB_PRINTF(3, 4);

/// Host memory of this machine, bytes. Errors: bb_device_open's.
BB_CHECKED bb_status bb_plan_machine_bytes(double *out);

/// "memory: 2.7 TB, this machine has 8.2 GB" into `out` where the plan asks the host for more than
/// `machine_bytes`; else "".
void bb_plan_shortage(const bb_plan *plan, double machine_bytes, char out[BB_PLAN_LINE]);

/// Refuses what cannot be: more host memory than BB_NEED_HOPELESS x `machine_bytes`, or than the
/// `limit_bytes` that the process may map (INFINITY: no limit). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_plan_require(const bb_plan *plan, double machine_bytes, double limit_bytes);

/// Sets memory and time to what the whole of a study needs, beside the program itself.
void bb_plan_set(bb_plan *plan, bb_need need);

/// Refuses what the GPUs of this machine have no room for, where it has any: a plan may be read on
/// another one. Errors: BB_MEMORY with the bytes needed and free, BB_DEVICE (fewer GPUs).
BB_CHECKED bb_status bb_plan_require_device(const bb_plan *plan);

/// What `ulimit -v` leaves a plan, bytes, beside what the program has mapped and the buffers and
/// stacks of `threads` threads; INFINITY without a limit.
double bb_plan_limit_bytes(bb_index threads);

void bb_plan_release(bb_plan *plan);

enum { BB_MACHINE_NAME = 80 };

typedef struct bb_machine {
    char name[BB_MACHINE_NAME];
    double host_bytes;
    bb_index gpus;    ///< 0: none
    double gpu_bytes; ///< of each
} bb_machine;

/// Reads a description. Errors: BB_IO, BB_INVALID with `problems`, BB_MEMORY.
BB_CHECKED bb_status bb_machine_load(const char *path, bb_problems *problems, bb_machine *out);

/// Refuses a plan for which the machine has too little memory or too few GPUs. Errors: BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_machine_require(const bb_machine *machine, const bb_plan *plan);

#endif
