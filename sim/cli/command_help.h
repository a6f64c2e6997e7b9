// SPDX-License-Identifier: Apache-2.0
//
// Help texts in 80 columns and manual pages, generated from the tables of commands, options and
// keys.
#ifndef BB_SIM_CLI_COMMAND_HELP_H
#define BB_SIM_CLI_COMMAND_HELP_H

#include "sim/cli/command_table.h"

/// Appends the list of all commands. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_command_help_overview(bb_text *out);

/// Appends the help of a command. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_command_help_write(const bb_command *command,
                                           const bb_experiment_table *experiments, bb_text *out);

/// Help line of an option for a command.
const char *bb_command_help_meaning(const bb_command *command, const bb_option *option);

/// Appends a manual page as troff with macros man(7): of the program (NULL), of a command, or of an
/// experiment and its keys. Errors: BB_INVALID (no such page), BB_MEMORY.
BB_CHECKED bb_status bb_command_help_page(const char *name, const bb_experiment_table *experiments,
                                          bb_text *out);

/// Appends one line for each page, such as "man1/bitbudget-run.1 run"; the line of the program's
/// page has no second word. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_command_help_list(const bb_experiment_table *experiments, bb_text *out);

#endif
