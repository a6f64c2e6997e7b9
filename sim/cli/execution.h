// SPDX-License-Identifier: Apache-2.0
//
// Execution of a study for `run` and `rerun`, from the configuration to the result file.
#ifndef BB_SIM_CLI_EXECUTION_H
#define BB_SIM_CLI_EXECUTION_H

#include "sim/cli/command.h"

/// Request for an execution; all pointers are borrowed.
typedef struct bb_execution {
    const bb_options *options; ///< threads, dump, checkpoints, force, and the command line
    const bb_experiment_table *experiments;
    const bb_config *config;
    const char *path;         ///< path of the result file; NULL: nothing is written or printed
    const bb_results *replay; ///< result whose kernel variants are used; NULL: use the tuning cache
} bb_execution;

/// Checks that the outputs can be written, computes into `results` (new and empty), writes the file
/// and prints the result table. Numerical failures are results. Errors: from the experiment,
/// BB_IO (the file), BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_execution_run(const bb_execution *work, bb_results *results);

#endif
