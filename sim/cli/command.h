// SPDX-License-Identifier: Apache-2.0
//
// Commands of the program, one file each in sim/cli/, dispatched by a table.
#ifndef BB_SIM_CLI_COMMAND_H
#define BB_SIM_CLI_COMMAND_H

#include "core/file.h"
#include "sim/cli/command_table.h"
#include "sim/cli/options.h"
#include "sim/run/experiment.h"

/// Runs the command line and returns the exit code: 0 success, 1 a comparison found differences, 2
/// usage or configuration, 3 input or output, 4 out of memory, 5 device, 6 internal. Messages go to
/// stderr, results to stdout.
int bb_command_main(int argument_count, char **arguments, const bb_experiment_table *experiments);

/// Runs the command line of a program with a single command, which has the command's name.
int bb_command_program(int argument_count, char **arguments, const bb_command *command);

/// Loads the configuration given by the operands "CONFIG [key=value ...]", with --device as an
/// additional override, and prints all its problems. `begin` is passed to bb_config_request and may
/// be NULL. Errors and ownership as for bb_config_load.
BB_CHECKED bb_status bb_command_load(const bb_options *options,
                                     const bb_experiment_table *experiments,
                                     bb_status (*begin)(const char *device), bb_config **out);

/// Loads a configuration as above, with the text of the configuration given instead of the file of
/// the first operand.
BB_CHECKED bb_status bb_command_load_text(const bb_options *options,
                                          const bb_experiment_table *experiments,
                                          bb_status (*begin)(const char *device),
                                          const bb_config_file *file, bb_config **out);

/// Calls bb_study_file_upgrade with the schema of the experiment named by the study or its base.
/// Errors: BB_IO, BB_INVALID (no YAML, no experiment), BB_MEMORY.
BB_CHECKED bb_status bb_command_upgrade(const bb_experiment_table *experiments,
                                        const bb_config_file *file, bb_text *out, bb_text *changes);

/// Device given by --device or by the override device=WORD; NULL if neither is given.
const char *bb_command_device(const bb_options *options);

/// Output path of a configuration: -o, or outputs/<experiment>-<config name>.h5, which differs
/// between experiments. The name of a study from standard input is stdin. The caller owns `*out`.
BB_CHECKED bb_status bb_command_output(const bb_options *options, const bb_experiment *experiment,
                                       char **out);

/// Adds the files that a command reads: its operands, the values of options that name inputs and
/// the user's tuning file; with `config` also the layers and tables of the study and the files
/// named by its keys. `config` may be NULL. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_command_inputs(const bb_options *options, const bb_config *config,
                                       bb_file_list *inputs);

/// Command functions; bb_command_table describes them.
bb_command_act bb_command_check, bb_command_completion, bb_command_config, bb_command_convergence,
    bb_command_diff, bb_command_export, bb_command_help, bb_command_import, bb_command_info,
    bb_command_kernel, bb_command_live, bb_command_new, bb_command_outputs, bb_command_plot,
    bb_command_prebuild, bb_command_realtime, bb_command_report, bb_command_rerun, bb_command_run,
    bb_command_show, bb_command_sweep, bb_command_try, bb_command_tune;

#endif
