// SPDX-License-Identifier: Apache-2.0
//
// A benchmark set on a device: uploaded once, shared by all variants that are tried on it.
#ifndef BB_SOLVERS_KERNELS_TUNING_SET_DATA_H
#define BB_SOLVERS_KERNELS_TUNING_SET_DATA_H

#include "solvers/kernels/tuning/verification.h"

enum { BB_SET_ORDERS = 4 };

/// Results of the default variant in one order of sums, on the host.
typedef struct bb_set_answer {
    bb_reduction_order order;
    void *elements[BB_TRIAL_OBJECTS]; ///< elements of the written objects
    bool is_there;
} bb_set_answer;

/// Zero-initialise; release with bb_set_data_release.
typedef struct bb_set_data {
    bb_device *device;         ///< borrowed
    const bb_program *program; ///< borrowed
    bb_trial_data data;        ///< elements are NULL once uploaded, unless they are also read
    void *blocks[BB_TRIAL_OBJECTS];
    bb_binding binding;
    bb_set_answer answers[BB_SET_ORDERS]; ///< the oldest one is replaced
    int next_answer;
    void *copy; ///< host buffer for results of a variant, as large as the largest written object
} bb_set_data;

/// Fills and uploads set `number` of a subject. Errors: BB_MEMORY, BB_DEVICE, BB_INTERNAL (it does
/// not bind).
BB_CHECKED bb_status bb_set_data_create(bb_device *device, const bb_tuning_subject *subject,
                                        int number, bb_set_data *out);
void bb_set_data_release(bb_set_data *set);

/// Runs a variant from the same initial state as every other and compares its results with those of
/// the default variant in its order of sums. Errors: from a launch, BB_MEMORY.
BB_CHECKED bb_status bb_set_data_check(bb_set_data *set, const bb_choice *choice,
                                       bb_assembled_kernel *kernel, bb_trial *out);

/// Time of one launch [s], the mean of `repeats` consecutive ones. Errors: from a launch.
BB_CHECKED bb_status bb_set_data_time(bb_set_data *set, bb_assembled_kernel *kernel, int repeats,
                                      double *seconds);

#endif
