// SPDX-License-Identifier: Apache-2.0
//
// Help in 80 columns and manual pages, from the tables of commands, options and keys.
#ifndef BB_SIM_CLI_COMMAND_HELP_H
#define BB_SIM_CLI_COMMAND_HELP_H

#include "sim/cli/command_table.h"

/// Appends the list of all commands. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_command_help_overview(bb_text *out);

/// Appends the help of a command. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_command_help_write(const bb_command *command,
                                           const bb_experiment_table *experiments, bb_text *out);

/// What an option means to a command.
const char *bb_command_help_meaning(const bb_command *command, const bb_option *option);

/// Appends a page as troff, macros man(7): NULL, the program's; a command's; an experiment's, which
/// lists its keys. Errors: BB_INVALID (no such page), BB_MEMORY.
BB_CHECKED bb_status bb_command_help_page(const char *name, const bb_experiment_table *experiments,
                                          bb_text *out);

/// Appends a line a page: "man1/bitbudget-run.1 run"; that of the program has no second word.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_command_help_list(const bb_experiment_table *experiments, bb_text *out);

#endif
