// SPDX-License-Identifier: Apache-2.0
//
// Work shared by `tune` for named kernels (tune.c) and for kernels launched by a study
// (tune_study.c): a device, a wisdom file to which records are appended, and a table of results.
#ifndef BB_SIM_CLI_TUNE_WORK_H
#define BB_SIM_CLI_TUNE_WORK_H

#include "sim/cli/command.h"
#include "sim/kernels/wisdom.h"
#include "solvers/kernels/tuning/tuning.h"

/// State of a tuning run. Zero-initialise except `options`; release with bb_tune_work_release.
typedef struct bb_tune_work {
    const bb_options *options;
    bb_device *device;
    double host_bytes; ///< free host memory
    char *path;
    bb_wisdom_file file; ///< content at the start
    bb_wisdom_key key;   ///< key of the current kernel
    char kernel[64];     ///< name of the kernel in records and in the table
    const bb_tuning_subject *subject;
    bb_trial_data set; ///< name and sizes of the data set
    int remainder;     ///< number of remaining kernels, types and sets, including the current one
    double end_s;
    bb_text table;
} bb_tune_work;

/// Opens device and file as set by the options. Errors: BB_INVALID, BB_IO, BB_DEVICE,
/// BB_UNSUPPORTED (no compiler), BB_MEMORY.
BB_CHECKED bb_status bb_tune_work_open(bb_tune_work *self, bb_device_kind kind);
void bb_tune_work_release(bb_tune_work *self);

/// Creates the tuning of a subject with the options. Errors: from bb_tuning_create. The caller
/// owns `*out`.
BB_CHECKED bb_status bb_tune_work_create_tuning(bb_tune_work *self,
                                                const bb_tuning_subject *subject, bb_tuning **out);

/// Tunes one set of the subject, with kernel, program and types taken from the key, and adds a row
/// labelled `type` to the table. Errors: from bb_tuning_run and bb_wisdom_file_append.
BB_CHECKED bb_status bb_tune_work_run(bb_tune_work *self, bb_tuning *tuning, int set,
                                      const char *type);

/// True if the device is a processor, through OpenCL too.
bool bb_tune_work_is_processor(const bb_tune_work *self);

/// Prints the table.
void bb_tune_work_print(const bb_tune_work *self);

/// Runs `tune --for STUDY`: searches number formats for the slots of an experiment's pipelines,
/// prints the trials, writes the study with the result, tunes its kernels and confirms the result
/// by whole runs with draws unused by the search. Errors: from a run, BB_INVALID (an experiment
/// without slots), BB_IO.
BB_CHECKED bb_status bb_tune_work_run_study(const bb_options *options,
                                            const bb_experiment_table *experiments);

#endif
