// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program, a row each: how it is called, what it takes and what it says of
// itself. Helps, the manual's pages and completions are made of it and of the table of options.
#ifndef BB_SIM_CLI_COMMAND_TABLE_H
#define BB_SIM_CLI_COMMAND_TABLE_H

#include "sim/cli/options.h"

#include <stdio.h>

/// What the operands of a command are, for those who complete them.
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

/// What a command says of an option in the place of that option's own line.
typedef struct bb_command_words {
    const char *option, *meaning;
} bb_command_words;

enum { BB_COMMAND_WORDS = 8 };

typedef bb_status bb_command_act(const bb_options *options, const bb_experiment_table *experiments);

typedef struct bb_command {
    const char *name;
    bb_command_act *act;
    bb_option_groups accepted; ///< of the options
    bb_index fewest, most;     ///< operands
    bb_command_operand kind;   ///< of the operands
    const char *summary;
    const char *usage; ///< lines without "bitbudget " before each
    const char *text;  ///< paragraphs
    bb_command_words words[BB_COMMAND_WORDS];
    bb_experiment_text by_experiment; ///< lines after the text, NULL: none
    bool is_collective; ///< what all processes of a team (core/team.h) do together; of others the
                        ///< first does it alone
} bb_command;

/// All commands, in the order in which they are listed; returns how many.
bb_index bb_command_table(const bb_command **out);

/// Row by name. Errors: BB_INVALID with the nearest name.
BB_CHECKED bb_status bb_command_table_find(const char *name, const bb_command **out);

#endif
