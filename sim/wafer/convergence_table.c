// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/convergence_table.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

bb_status bb_convergence_table_add(bb_convergence_table *table, const bb_convergence_row *row)
{
    bb_status status = BB_OK;
    BB_REQUIRE(table->count < BB_CONVERGENCE_ROWS, BB_INTERNAL, "over %d levels",
               BB_CONVERGENCE_ROWS);
    BB_TRY(bb_memory_text(row->study, &table->names[table->count]));
    table->rows[table->count] = *row;
    table->rows[table->count].study = table->names[table->count];
    ++table->count;
done:
    return status;
}

bb_status bb_convergence_table_print(const bb_convergence_table *table, bb_text *out)
{
    bb_status status = BB_OK;
    const char *last = "";
    BB_TRY(bb_text_add(out, "%-44s %12s %12s %12s %8s\n", "study", "spacing [mm]", "step [ms]",
                       "error", "order"));
    for (bb_index i = 0; i < table->count; ++i) {
        const bb_convergence_row *row = &table->rows[i];
        bool first = strcmp(row->study, last) != 0;
        BB_TRY(bb_text_add(out, "%-44s %12.5g %12.5g %12.3e ", first ? row->study : "",
                           row->spacing_mm, row->step_ms, row->error));
        BB_TRY(isnan(row->order) ? bb_text_add(out, "%8s\n", "-")
                                 : bb_text_add(out, "%8.3f\n", row->order));
        last = row->study;
    }
done:
    return status;
}

static const bb_output rows[] = {
    {"level", "level", "1", "index of the level", .indices = true},
    {"study", "level", NULL, "what is refined and compared",
     .note = "levels of a study stand together, coarse to fine",
     BB_MEMBER(bb_convergence_row, study), .coordinate = true},
    {"spacing_mm", "level", "mm", "spacing of the mesh", BB_MEMBER(bb_convergence_row, spacing_mm),
     .coordinate = true},
    {"step_ms", "level", "ms", "step of heat", BB_MEMBER(bb_convergence_row, step_ms),
     .coordinate = true},
    {"error", "level", "1",
     "relative error; of a field, norm of the difference from the next finer level over that of "
     "the finest",
     BB_MEMBER(bb_convergence_row, error)},
    {"order", "level", "1",
     "log2 of the error of the level before over this one's; NaN for a first",
     BB_MEMBER(bb_convergence_row, order)},
};
const bb_output_table bb_convergence_table_outputs = {"/results, convergence", NULL, "results",
                                                      "level", BB_OUTPUT_ROWS(rows)};

bb_status bb_convergence_table_publish(const bb_convergence_table *table, bb_results *results)
{
    return bb_output_table_publish_records(&bb_convergence_table_outputs, table->rows,
                                           sizeof *table->rows, table->count, NULL, results);
}

void bb_convergence_table_release(bb_convergence_table *table)
{
    for (bb_index i = 0; i < BB_CONVERGENCE_ROWS; ++i) {
        BB_RELEASE(&table->names[i]);
    }
    table->count = 0;
}
