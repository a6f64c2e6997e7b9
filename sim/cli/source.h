// SPDX-License-Identifier: Apache-2.0
#ifndef BB_SIM_CLI_SOURCE_H
#define BB_SIM_CLI_SOURCE_H

#include "core/file.h"
#include "sim/cli/options.h"
#include "sim/output/results.h"
#include "sim/run/experiment.h"

/// True if a path is a sweep's folder or collection. Errors: from bb_reader_read for other
/// files.
BB_CHECKED bb_status bb_source_is_sweep(const char *path, bool *out);

/// Adds the files that a command on results reads: those of bb_command_inputs and the files of each
/// operand that is the folder of a sweep. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_source_inputs(const bb_options *options, bb_file_list *inputs);

/// Reads every group of a result file; for the folder of a sweep, the results of 'sweep collect
/// --partial', in memory. Call it in a child process. Errors: BB_IO, BB_INVALID, BB_MEMORY. The
/// caller owns `*out`.
BB_CHECKED bb_status bb_source_read(const bb_options *options,
                                    const bb_experiment_table *experiments, const char *path,
                                    bb_results **out);

/// Reads every group of a result file, first in a child process, because the HDF5 library can crash
/// on damaged files. `verb` names the command in messages. Errors: BB_IO, BB_MEMORY. The caller
/// owns `*out`.
BB_CHECKED bb_status bb_source_read_recorded(char *path, const char *verb, bb_results **out);

#endif
