// SPDX-License-Identifier: Apache-2.0
#include "sim/output/table.h"

#include "sim/output/cell.h"
#include "sim/output/front.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_BYTES = 64, MOST_COLUMNS = 16, LEAST_WIDTH = 14 };

// The columns of a table: the experiment's that have numbers, and the worst price of draws.
typedef struct layout {
    int name_width, status_width;
    char worst[HEADER_BYTES]; // header
    bb_column columns[MOST_COLUMNS];
    bb_index count;
} layout;

static double number_of(const bb_results *results, const char *name, bb_index count, bb_index row)
{
    const bb_dataset *dataset = bb_front_column(results, name, count);
    return dataset == NULL || dataset->is_text ? NAN : dataset->numbers[row];
}

static const char *status_of(const bb_results *results, bb_index count, bb_index row)
{
    const bb_dataset *dataset = bb_front_column(results, "status", count);
    return dataset == NULL || !dataset->is_text ? "ok" : dataset->texts[row];
}

static bool has_numbers(const bb_dataset *dataset)
{
    for (bb_index i = 0; dataset != NULL && !dataset->is_text && i < dataset->count; ++i) {
        if (!isnan(dataset->numbers[i])) {
            return true;
        }
    }
    return false;
}

static int width_of(const bb_dataset *names, const char *header)
{
    int width = bb_cell_width(header);
    for (bb_index i = 0; i < names->count; ++i) {
        int columns = bb_cell_width(names->texts[i]);
        width = columns > width ? columns : width;
    }
    return width;
}

static bool is_price(const bb_experiment *experiment, const char *dataset)
{
    bool found = false;
    for (bb_index i = 0; i < experiment->price_count; ++i) {
        found = found || strcmp(experiment->prices[i], dataset) == 0;
    }
    return found;
}

// "strehl loss (worst of 16)" where some pipeline has draws, else "". A lone price's column is
// that of the worst draw, several are followed by one.
static void name_worst(const bb_experiment *experiment, const bb_results *results, bb_index count,
                       char out[HEADER_BYTES])
{
    double maximum = 1.0;
    bool alike = true;
    out[0] = '\0';
    for (bb_index row = 0; row < count; ++row) {
        double draws = number_of(results, "draws", count, row);
        alike = alike && (!(draws > 1.0) || maximum == 1.0 || draws == maximum);
        maximum = draws > maximum ? draws : maximum;
    }
    if (maximum > 1.0 && alike) {
        (void)snprintf(out, HEADER_BYTES, "%s (worst of %.0f)", experiment->price_name, maximum);
    } else if (maximum > 1.0) {
        (void)snprintf(out, HEADER_BYTES, "%s (worst draw)", experiment->price_name);
    }
}

static void lay_out(const bb_experiment *experiment, const bb_results *results, bb_index count,
                    layout *out)
{
    bb_index prices = 0; // still to come
    name_worst(experiment, results, count, out->worst);
    for (bb_index c = 0; c < experiment->column_count; ++c) {
        const bb_column *column = &experiment->columns[c];
        prices += is_price(experiment, column->dataset) &&
                  has_numbers(bb_front_column(results, column->dataset, count));
    }
    const bool lone = prices == 1;
    for (bb_index c = 0; c < experiment->column_count && out->count < MOST_COLUMNS - 1; ++c) {
        const bb_column *column = &experiment->columns[c];
        if (!has_numbers(bb_front_column(results, column->dataset, count))) {
            continue;
        }
        const bool drawn = out->worst[0] != '\0' && is_price(experiment, column->dataset);
        if (!drawn || !lone) {
            out->columns[out->count++] = *column;
        }
        prices -= drawn;
        if (drawn && prices == 0) {
            out->columns[out->count++] = (bb_column){"price_worst", out->worst, column->scale};
        }
    }
}

static int column_width(const bb_column *column)
{
    int width = (int)strlen(column->header);
    return width > LEAST_WIDTH ? width : LEAST_WIDTH;
}

static bb_status write_header(const layout *table, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "  %-*s  %-*s", table->name_width, "pipeline", table->status_width,
                       "status"));
    for (bb_index c = 0; c < table->count; ++c) {
        const bb_column *column = &table->columns[c];
        BB_TRY(bb_text_add(out, "  %*s", column_width(column), column->header));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_row(const layout *table, const bb_results *results, const bb_dataset *names,
                           bb_index row, const char *mark, bb_text *out)
{
    bb_status status = BB_OK;
    char cell[BB_CELL_BYTES];
    BB_TRY(bb_text_add(out, "%s ", mark));
    BB_TRY(bb_cell_add(names->texts[row], table->name_width, out));
    BB_TRY(bb_text_add(out, "  "));
    BB_TRY(bb_cell_add(status_of(results, names->count, row), table->status_width, out));
    for (bb_index c = 0; c < table->count; ++c) {
        const bb_column *column = &table->columns[c];
        const bb_dataset *dataset = bb_front_column(results, column->dataset, names->count);
        if (dataset == NULL || dataset->is_text) {
            bb_cell_number(NAN, cell);
        } else {
            bb_cell_item(dataset->unit, column->scale, dataset->numbers, names->count, row, cell);
        }
        BB_TRY(bb_text_add(out, "  %*s", column_width(column), cell));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_cheapest(const bb_experiment *experiment, const bb_front *front,
                                double within, bb_text *out)
{
    char price[BB_CELL_BYTES];
    char bytes[BB_CELL_BYTES];
    bb_index best = bb_front_least(front, within, BB_FRONT_BYTES);
    if (best < 0) {
        return bb_text_add(out, "no pipeline is within %s %.6g\n", experiment->price_name, within);
    }
    const double size = front->costs[best].measures[BB_FRONT_BYTES];
    bb_cell_number(front->costs[best].price, price);
    bb_cell_number(isinf(size) ? NAN : 1e-6 * size, bytes);
    return bb_text_add(out, "cheapest within %s %.6g: %s (price %s, %s MB)\n",
                       experiment->price_name, within, front->names->texts[best], price, bytes);
}

bb_status bb_table_write(const bb_experiment *experiment, const bb_results *results, double within,
                         bb_text *out)
{
    bb_status status = BB_OK;
    bb_front front = {0};
    BB_TRY(bb_front_find(experiment, results, &front));
    const bb_dataset *names = front.names;
    const bb_dataset *statuses = bb_front_column(results, "status", names->count);
    bool texts = statuses != NULL && statuses->is_text;
    layout table = {.name_width = width_of(names, "pipeline"),
                    .status_width = texts ? width_of(statuses, "status") : (int)strlen("status")};
    lay_out(experiment, results, names->count, &table);
    BB_TRY(write_header(&table, out));
    for (bb_index i = 0; i < names->count; ++i) {
        const char *mark = bb_front_has(&front, i) ? "*" : " ";
        BB_TRY(write_row(&table, results, names, i, mark, out));
    }
    BB_TRY(bb_text_add(out, "* on the Pareto front of %s%s\n", experiment->price_name,
                       front.timed ? ", bytes and time" : " and bytes"));
    const char *note = bb_results_note_text(results, "", "price_note");
    if (note != NULL) {
        BB_TRY(bb_text_add(out, "%s\n", note));
    }
    if (!isnan(within)) {
        BB_TRY(write_cheapest(experiment, &front, within, out));
    }
done:
    bb_front_release(&front);
    return status;
}

bb_status bb_table_costs(const bb_experiment *experiment, const bb_results *results,
                         bb_table_cost *out)
{
    bb_status status = BB_OK;
    bb_front front = {0};
    BB_TRY(bb_front_find(experiment, results, &front));
    front.timed = false;
    for (bb_index i = 0; i < front.names->count; ++i) {
        const bb_front_cost *cost = &front.costs[i];
        out[i] = (bb_table_cost){cost->price, cost->measures[BB_FRONT_BYTES], cost->takes_part,
                                 bb_front_has(&front, i)};
    }
done:
    bb_front_release(&front);
    return status;
}
