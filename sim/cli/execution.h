// SPDX-License-Identifier: Apache-2.0
//
// Execution of a study from its configuration to its file, for `run` and `rerun`.
#ifndef BB_SIM_CLI_EXECUTION_H
#define BB_SIM_CLI_EXECUTION_H

#include "sim/cli/command.h"

/// Everything is borrowed.
typedef struct bb_execution {
    const bb_options *options; ///< threads, dump, checkpoints, force, and the command line
    const bb_experiment_table *experiments;
    const bb_config *config;
    const char *path;         ///< of the result file; NULL: nothing is written or printed
    const bb_results *replay; ///< whose variants of kernels are taken; NULL: what was measured
} bb_execution;

/// Refuses what could not be delivered, computes into `results` (new and empty), writes the file
/// and prints the result table. Numerical failures are results. Errors: those of the experiment,
/// BB_IO (the file), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_execution_run(const bb_execution *work, bb_results *results);

#endif
