// SPDX-License-Identifier: Apache-2.0
//
// bitbudget new: a commented configuration with every key, from the tables that read it.
#include "sim/command.h"
#include "sim/output/file.h"

#include <stdio.h>

static bb_status make_text(const bb_experiment *experiment, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out,
                       "# A study for bitbudget: 'bitbudget check' prints its plan, 'bitbudget "
                       "run' computes it.\n"
                       "# Keys left out take the values shown, except those marked required by\n"
                       "# 'bitbudget config --list %s'.\n",
                       experiment->name));
    BB_TRY(bb_config_template(experiment->schema, experiment->starter, out));
done:
    return status;
}

bb_status bb_command_new(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_text words = {0};
    bb_text text = {0};
    const bb_experiment *experiment = bb_experiment_find(experiments, options->operands[0]);
    for (bb_index i = 0; experiment == NULL && i < experiments->count; ++i) {
        BB_TRY(bb_text_add(&words, "%s%s", i == 0 ? "" : ", ", experiments->rows[i]->name));
    }
    BB_REQUIRE(experiment != NULL, BB_INVALID, "no experiment '%s', expected one of %s",
               options->operands[0], bb_text_string(&words));
    BB_REQUIRE(options->operand_count > 1 || !options->force, BB_INVALID,
               "--force replaces a file: name it after '%s'", options->operands[0]);
    BB_TRY(make_text(experiment, &text));
    if (options->operand_count == 1) {
        (void)fputs(bb_text_string(&text), stdout);
        goto done;
    }
    BB_TRY(bb_file_check(options->operands[1], false, options->force, (double)text.length));
    BB_TRY(bb_file_write(options->operands[1], options->force, text.data, text.length));
    (void)printf("configuration: %s\n", options->operands[1]);
done:
    bb_text_release(&text);
    bb_text_release(&words);
    return status;
}
