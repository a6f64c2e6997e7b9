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

bb_status bb_convergence_table_publish(const bb_convergence_table *table, bb_results *results)
{
    bb_status status = BB_OK;
    const char *texts[BB_CONVERGENCE_ROWS];
    double numbers[5][BB_CONVERGENCE_ROWS];
    for (bb_index i = 0; i < table->count; ++i) {
        const bb_convergence_row *row = &table->rows[i];
        texts[i] = row->study;
        numbers[0][i] = (double)i;
        numbers[1][i] = row->spacing_mm;
        numbers[2][i] = row->step_ms;
        numbers[3][i] = row->error;
        numbers[4][i] = row->order;
    }
    BB_TRY(bb_results_axis(results, "results/level", "1", "index of the level", table->count,
                           numbers[0]));
    BB_TRY(
        bb_results_texts(results, "results/study", "what is refined and compared", "level", texts));
    BB_TRY(bb_results_values(results, "results/spacing_mm", "mm", "spacing of the mesh", "level",
                             numbers[1]));
    BB_TRY(
        bb_results_values(results, "results/step_ms", "ms", "step of heat", "level", numbers[2]));
    BB_TRY(bb_results_values(results, "results/error", "1",
                             "relative error; of a field, norm of the difference from the next "
                             "finer level over that of the finest",
                             "level", numbers[3]));
    BB_TRY(bb_results_values(results, "results/order", "1",
                             "log2 of the error of the level before over this one's; NaN for a "
                             "first",
                             "level", numbers[4]));
done:
    return status;
}

void bb_convergence_table_release(bb_convergence_table *table)
{
    for (bb_index i = 0; i < BB_CONVERGENCE_ROWS; ++i) {
        BB_RELEASE(&table->names[i]);
    }
    table->count = 0;
}
