// SPDX-License-Identifier: Apache-2.0
//
// Work common to the subjects of `tune`: kernels with their benchmark data (tune.c) and those that
// a study launches (tune_study.c). A device and a wisdom file, into which records go as they come,
// and a table of what was found.
#ifndef BB_SIM_CLI_TUNE_WORK_H
#define BB_SIM_CLI_TUNE_WORK_H

#include "sim/cli/command.h"
#include "sim/kernels/wisdom.h"
#include "solvers/kernels/tuning/tuning.h"

/// Zero-initialise but for `options`; release with bb_tune_work_release.
typedef struct bb_tune_work {
    const bb_options *options;
    bb_device *device;
    double host_bytes; ///< free
    char *path;
    bb_wisdom_file file; ///< as it stood at the start
    bb_wisdom_key key;   ///< of the kernel at hand
    char kernel[64];     ///< its name in records and in the table
    const bb_tuning_subject *subject;
    bb_trial_data set; ///< its name and sizes
    int remainder;     ///< kernels, types and sets that are to come, this one too
    double end_s;
    bb_text table;
} bb_tune_work;

/// Opens device and file as the options have them. Errors: BB_INVALID, BB_IO, BB_DEVICE,
/// BB_UNSUPPORTED (no compiler), BB_MEMORY.
BB_CHECKED bb_status bb_tune_work_open(bb_tune_work *self, bb_device_kind kind);
void bb_tune_work_release(bb_tune_work *self);

/// A tuning of a subject by the options. Errors: those of bb_tuning_create. Owner: the caller.
BB_CHECKED bb_status bb_tune_work_create_tuning(bb_tune_work *self,
                                                const bb_tuning_subject *subject, bb_tuning **out);

/// Tunes one set of the subject, whose kernel, program and types stand in the key, and adds its row
/// to the table, with `type` in it. Errors: those of bb_tuning_run and bb_wisdom_file_append.
BB_CHECKED bb_status bb_tune_work_run(bb_tune_work *self, bb_tuning *tuning, int set,
                                      const char *type);

/// Whether the device is a processor, in OpenCL too.
bool bb_tune_work_is_processor(const bb_tune_work *self);

/// Prints the table.
void bb_tune_work_print(const bb_tune_work *self);

/// `tune --for STUDY`: numbers of the slots of an experiment's pipelines, and variants of the
/// kernels that its run launches, chosen by what the study is for. Searches, prints what was tried,
/// writes the study with what was found, tunes its kernels and confirms it by whole runs in draws
/// that the search did not see. Errors: those of a run, BB_INVALID (an experiment without slots),
/// BB_IO.
BB_CHECKED bb_status bb_tune_work_run_study(const bb_options *options,
                                            const bb_experiment_table *experiments);

#endif
