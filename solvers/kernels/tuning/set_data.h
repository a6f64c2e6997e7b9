// SPDX-License-Identifier: Apache-2.0
//
// A benchmark set on a device: uploaded once, shared by every variant that is tried on it.
#ifndef BB_SOLVERS_KERNELS_TUNING_SET_DATA_H
#define BB_SOLVERS_KERNELS_TUNING_SET_DATA_H

#include "solvers/kernels/tuning/verification.h"

enum { BB_SET_ORDERS = 4 };

/// What the default variant of one order of sums gives, on the host.
typedef struct bb_set_answer {
    bb_reduction_order order;
    void *elements[BB_TRIAL_OBJECTS]; ///< of the written objects
    bool is_there;
} bb_set_answer;

/// Zero-initialise; release with bb_set_data_release.
typedef struct bb_set_data {
    bb_device *device;         ///< borrowed
    const bb_program *program; ///< borrowed
    bb_trial_data data;        ///< elements NULL once uploaded, unless also read
    void *blocks[BB_TRIAL_OBJECTS];
    bb_binding binding;
    bb_set_answer answers[BB_SET_ORDERS]; ///< the oldest makes room
    int next_answer;
    void *copy; ///< of the host's, for what a variant wrote: as large as the largest object written
} bb_set_data;

/// Fills and uploads set `number` of a subject. Errors: BB_MEMORY, BB_DEVICE, BB_INTERNAL (it does
/// not bind).
BB_CHECKED bb_status bb_set_data_create(bb_device *device, const bb_tuning_subject *subject,
                                        int number, bb_set_data *out);
void bb_set_data_release(bb_set_data *set);

/// Runs a variant from the same start as every other and compares what it writes with the default
/// variant of its order of sums. Errors: those of a launch, BB_MEMORY.
BB_CHECKED bb_status bb_set_data_check(bb_set_data *set, const bb_choice *choice,
                                       bb_assembled_kernel *kernel, bb_trial *out);

/// Seconds of one launch, the mean of `repeats` one after the other. Errors: those of a launch.
BB_CHECKED bb_status bb_set_data_time(bb_set_data *set, bb_assembled_kernel *kernel, int repeats,
                                      double *seconds);

#endif
