// SPDX-License-Identifier: Apache-2.0
//
// bitbudget help: what a command takes, or a page of the manual.
#include "sim/command.h"
#include "sim/command_help.h"

#include <stdio.h>

bb_status bb_command_help(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_command *command = NULL;
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    BB_REQUIRE(!options->list || (name == NULL && !options->man), BB_INVALID,
               "--list prints all pages: no name, no --man");
    if (options->list) {
        BB_TRY(bb_command_help_list(experiments, &text));
    } else if (options->man) {
        BB_TRY(bb_command_help_page(name, experiments, &text));
    } else if (name == NULL) {
        BB_TRY(bb_command_help_overview(&text));
    } else {
        BB_TRY(bb_command_table_find(name, &command));
        BB_TRY(bb_command_help_write(command, experiments, &text));
    }
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}
