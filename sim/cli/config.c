// SPDX-License-Identifier: Apache-2.0
//
// bitbudget config: prints every key, a study as it will be run, or a study of an earlier version
// with its keys renamed.
#include "core/log.h"
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/config/emission.h"
#include "sim/config/layer.h"
#include "sim/config/study_file.h"
#include "sim/sweep/sweep.h"

#include <stdio.h>
#include <string.h>

static bb_status list_keys(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    const bb_experiment *only = name == NULL ? NULL : bb_experiment_find(experiments, name);
    const char *format = options->show.format == NULL ? "table" : options->show.format;
    const bool markdown = strcmp(format, "md") == 0;
    BB_REQUIRE(options->operand_count <= 1, BB_INVALID, "--list accepts at most one experiment");
    BB_REQUIRE(name == NULL || only != NULL, BB_INVALID, "unknown experiment '%s'", name);
    BB_REQUIRE(markdown || strcmp(format, "table") == 0, BB_INVALID,
               "--format %s: keys are printed as table or md only", format);
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
    BB_REQUIRE(options->operand_count >= 1, BB_INVALID, "--resolved needs a CONFIG operand");
    BB_TRY(bb_command_load(options, experiments, NULL, &config));
    BB_TRY(bb_config_resolved(config, &text));
    (void)fputs(bb_text_string(&text), stdout);
done:
    bb_text_release(&text);
    bb_config_destroy(&config);
    return status;
}

// Finds the experiment of a study or of its base.
static bb_status find_schema(const bb_config_file *file, const bb_experiment_table *experiments,
                             const bb_schema **out)
{
    bb_status status = BB_OK;
    bb_arena arena = {0};
    bb_layers layers = {.known = file, .known_count = file->text != NULL};
    bb_problems problems = {0};
    bb_node *tree = NULL;
    BB_TRY(bb_layers_read(&arena, file->name, &layers, &problems, &tree));
    const bb_node *name = bb_node_member(tree, "experiment");
    const bb_experiment *experiment =
        name == NULL || name->text == NULL ? NULL : bb_experiment_find(experiments, name->text);
    BB_REQUIRE(problems.count == 0, BB_INVALID, "%s", bb_text_string(&problems.lines));
    BB_REQUIRE(experiment != NULL, BB_INVALID, "'%s' names no known experiment", file->name);
    *out = experiment->schema;
done:
    bb_problems_release(&problems);
    bb_arena_release(&arena);
    return status;
}

bb_status bb_command_upgrade(const bb_experiment_table *experiments, const bb_config_file *file,
                             bb_text *out, bb_text *changes)
{
    bb_status status = BB_OK;
    const bb_schema *schema = NULL;
    BB_TRY(find_schema(file, experiments, &schema));
    BB_TRY(bb_study_file_upgrade(file, schema, &bb_sweep_search_schema, out, changes));
done:
    return status;
}

static bb_status upgrade(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    char *path = NULL;
    bb_text text = {0};
    bb_text changes = {0};
    BB_REQUIRE(options->operand_count == 1 && strcmp(options->operands[0], "-") != 0, BB_INVALID,
               "--upgrade needs exactly one STUDY file");
    BB_TRY(bb_study_file_find(options->operands[0], &path));
    if (options->output != NULL) {
        BB_TRY(bb_file_check(options->output, false, options->force, 0.0, NULL));
    }
    BB_TRY(bb_command_upgrade(experiments, &(bb_config_file){path, NULL}, &text, &changes));
    bb_log_info("%s: renamed keys of an earlier version:%s%s", path,
                changes.length > 0 ? "\n" : " none", bb_text_string(&changes));
    if (options->output == NULL) {
        (void)fputs(bb_text_string(&text), stdout);
    } else {
        BB_TRY(bb_file_write(options->output, options->force, bb_text_string(&text), text.length));
    }
done:
    bb_text_release(&changes);
    bb_text_release(&text);
    BB_RELEASE(&path);
    return status;
}

bb_status bb_command_config(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    BB_REQUIRE(
        options->list + options->resolved + options->upgrade == 1, BB_INVALID,
        "use exactly one of --list, --resolved and --upgrade; see 'bitbudget config --help'");
    BB_REQUIRE(options->upgrade || (options->output == NULL && !options->force), BB_INVALID,
               "-o and --force need --upgrade: --list and --resolved only print");
    BB_REQUIRE(options->list || options->show.format == NULL, BB_INVALID, "--format needs --list");
    BB_REQUIRE(options->resolved || options->device == NULL, BB_INVALID,
               "--device needs --resolved: --list prints the keys of all devices");
    BB_TRY((options->list      ? list_keys
            : options->upgrade ? upgrade
                               : print_resolved)(options, experiments));
done:
    return status;
}
