// SPDX-License-Identifier: Apache-2.0
//
// Record of a measured variant of a kernel, as in a file.
#ifndef BB_TESTS_SIM_BEST_RECORD_H
#define BB_TESTS_SIM_BEST_RECORD_H

#include "sim/kernels/wisdom.h"
#include "solvers/kernels/emission/emission.h"

/// The best trial of a key's kernel, 1 s, at sizes [key->size_count]. Texts and sizes are borrowed.
static inline bb_wisdom_record best_record(const bb_wisdom_key *key, bb_index *sizes,
                                           const char *variant)
{
    const bb_device_report *device = &key->report;
    return (bb_wisdom_record){.version = BB_WISDOM_VERSION,
                              .kernel = key->kernel,
                              .program = key->program,
                              .code = BB_EMISSION_VERSION,
                              .types = key->types,
                              .device = (int)key->device,
                              .architecture = device->architecture,
                              .name = device->name,
                              .driver = device->driver[0] != '\0' ? device->driver : NULL,
                              .compiler = key->compiler,
                              .set = "own",
                              .sizes = {sizes, key->size_count},
                              .variant = variant,
                              .status = BB_TRIAL_BEST,
                              .least_s = 1.0,
                              .median_s = 1.0,
                              .bytes = 8.0,
                              .samples = 5,
                              .date = "2026-01-31T12:00:00Z"};
}

#endif
