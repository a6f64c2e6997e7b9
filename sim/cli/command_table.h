// SPDX-License-Identifier: Apache-2.0
//
// Table of the commands: usage, operands, accepted options and help text. Help, manual pages and
// completions are generated from it and from the table of options.
#ifndef BB_SIM_CLI_COMMAND_TABLE_H
#define BB_SIM_CLI_COMMAND_TABLE_H

#include "sim/cli/options.h"

#include <stdio.h>

/// Kind of a command's operands, for completion.
typedef enum bb_command_operand {
    BB_OPERAND_NONE,
    BB_OPERAND_CONFIG, ///< a study's name or file, then key=value
    BB_OPERAND_RESULT, ///< result files
    BB_OPERAND_EXPERIMENT,
    BB_OPERAND_STARTER, ///< an experiment or a study, then a file
    BB_OPERAND_COMMAND,
    BB_OPERAND_SHELL,
    BB_OPERAND_KERNEL, ///< a word of the command, then a kernel's name or file
    BB_OPERAND_TUNED,  ///< names of kernels with benchmark data, or a kernel's file
} bb_command_operand;

/// Help line of an option specific to one command; it replaces the option's own.
typedef struct bb_command_words {
    const char *option, *meaning;
} bb_command_words;

enum { BB_COMMAND_WORDS = 8 };

typedef bb_status bb_command_act(const bb_options *options, const bb_experiment_table *experiments);

typedef struct bb_command {
    const char *name;
    bb_command_act *act;
    bb_option_groups accepted; ///< accepted option groups
    bb_index fewest, most;     ///< number of operands
    bb_command_operand kind;   ///< kind of operands
    const char *summary;
    const char *usage; ///< lines without "bitbudget " before each
    const char *text;  ///< paragraphs
    bb_command_words words[BB_COMMAND_WORDS];
    bb_experiment_text by_experiment; ///< lines after the text, or NULL
    bool is_collective; ///< true: all processes of a team (core/team.h) run the command; false:
                        ///< only the first
} bb_command;

/// All commands, in the order of the list; returns their number.
bb_index bb_command_table(const bb_command **out);

/// Row by name. Errors: BB_INVALID with the nearest name.
BB_CHECKED bb_status bb_command_table_find(const char *name, const bb_command **out);

#endif
