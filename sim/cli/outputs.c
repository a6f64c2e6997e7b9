// SPDX-License-Identifier: Apache-2.0
//
// bitbudget outputs: lists every dataset that a run may write.
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/output/provenance.h"
#include "sim/sweep/choice_statistics.h"
#include "sim/sweep/sweep_search.h"

#include <stdio.h>

// True if an experiment before row `end` has the table.
static bool is_listed(const bb_experiment_table *experiments, bb_index end,
                      const bb_output_table *table)
{
    for (bb_index e = 0; e < end; ++e) {
        const bb_output_table *own = NULL;
        for (bb_index t = 0; (own = bb_experiment_output(experiments->rows[e], t)) != NULL; ++t) {
            if (own == table) {
                return true;
            }
        }
    }
    return false;
}

static bb_status append(const bb_output_table *table, const bb_output_table ***out, bb_index *count)
{
    BB_RETURN_IF_FAILED(bb_memory_resize(*count + 1, sizeof **out, (void **)out));
    (*out)[(*count)++] = table;
    return BB_OK;
}

// Collects the tables of one experiment (NULL: of all) without duplicates, those of collections and
// those common to all runs.
static bb_status collect(const bb_experiment_table *experiments, const bb_experiment *only,
                         const bb_output_table ***out, bb_index *count)
{
    bb_status status = BB_OK;
    for (bb_index e = 0; e < experiments->count; ++e) {
        const bb_experiment *row = experiments->rows[e];
        const bb_output_table *table = NULL;
        for (bb_index t = 0;
             (only == NULL || only == row) && (table = bb_experiment_output(row, t)) != NULL; ++t) {
            if (only != NULL || !is_listed(experiments, e, table)) {
                BB_TRY(append(table, out, count));
            }
        }
    }
    if (only == NULL) {
        BB_TRY(append(&bb_collection_outputs, out, count));
        BB_TRY(append(&bb_choice_outputs, out, count));
        BB_TRY(append(&bb_sweep_search_outputs, out, count));
    }
    BB_TRY(append(&bb_provenance_study_outputs, out, count));
    BB_TRY(append(&bb_provenance_outputs, out, count));
    BB_TRY(append(&bb_provenance_inputs, out, count));
    BB_TRY(append(&bb_provenance_table_outputs, out, count));
done:
    return status;
}

bb_status bb_command_outputs(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_output_table **tables = NULL; // [count]
    bb_index count = 0;
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    const bb_experiment *only = name == NULL ? NULL : bb_experiment_find(experiments, name);
    BB_REQUIRE(options->list, BB_INVALID, "outputs needs --list; see 'bitbudget outputs --help'");
    BB_REQUIRE(name == NULL || only != NULL, BB_INVALID, "unknown experiment '%s'", name);
    BB_TRY(collect(experiments, only, &tables, &count));
    BB_TRY(bb_output_table_list(tables, count, &text));
    (void)fputs(bb_text_string(&text), stdout);
done:
    BB_RELEASE(&tables);
    bb_text_release(&text);
    return status;
}
