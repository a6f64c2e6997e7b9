// SPDX-License-Identifier: Apache-2.0
//
// A machine that a study is planned for, as a file describes it: 'check --machine FILE' plans on a
// login node what is to run elsewhere.
//
//     name: node of eight H200
//     memory_gb: 2000
//     gpus: 8
//     gpu_memory_gb: 141
#ifndef BB_SIM_COMMAND_MACHINE_H
#define BB_SIM_COMMAND_MACHINE_H

#include "core/problem.h"
#include "sim/plan.h"

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
