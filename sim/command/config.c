// SPDX-License-Identifier: Apache-2.0
//
// bitbudget config: every key there is, or a study as it will be run.
#include "sim/command.h"
#include "sim/config/emission.h"

#include <stdio.h>
#include <string.h>

static bb_status list_keys(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    const bb_experiment *only = name == NULL ? NULL : bb_experiment_find(experiments, name);
    const char *format = options->format == NULL ? "table" : options->format;
    const bool markdown = strcmp(format, "md") == 0;
    BB_REQUIRE(options->operand_count <= 1, BB_INVALID, "--list takes one experiment at most");
    BB_REQUIRE(name == NULL || only != NULL, BB_INVALID, "no experiment '%s'", name);
    BB_REQUIRE(markdown || strcmp(format, "table") == 0, BB_INVALID,
               "--format %s, expected table or md: keys have no other form", format);
    for (bb_index i = 0; i < experiments->count; ++i) {
        const bb_experiment *row = experiments->rows[i];
        const char *before = i > 0 && only == NULL ? "\n" : "";
        if (only != NULL && only != row) {
            continue;
        }
        if (markdown) {
            BB_TRY(bb_text_add(&text, "%s", before));
            BB_TRY(bb_emission_list_markdown(row->name, row->schema, &text));
        } else {
            BB_TRY(bb_text_add(&text, "%sexperiment: %s\n", before, row->name));
            BB_TRY(bb_emission_list(row->schema, &text));
        }
    }
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    return status;
}

static bb_status print_resolved(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_text text = {0};
    BB_REQUIRE(options->operand_count >= 1, BB_INVALID, "--resolved needs a CONFIG");
    BB_TRY(bb_command_load(options, experiments, NULL, &config));
    BB_TRY(bb_config_resolved(config, &text));
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    bb_config_destroy(&config);
    return status;
}

bb_status bb_command_config(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    BB_REQUIRE(options->list != options->resolved, BB_INVALID,
               "expected one of --list and --resolved; see 'bitbudget config --help'");
    BB_REQUIRE(options->list || options->format == NULL, BB_INVALID,
               "--format goes with --list: a study has one form");
    BB_REQUIRE(options->resolved || options->device == NULL, BB_INVALID,
               "--device goes with --resolved: --list prints keys of every device");
    BB_TRY(options->list ? list_keys(options, experiments) : print_resolved(options, experiments));
done:
    return status;
}
