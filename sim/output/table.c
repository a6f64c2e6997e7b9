// SPDX-License-Identifier: Apache-2.0
#include "sim/output/table.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 32, PATH_BYTES = 128, HEADER_BYTES = 64, MOST_COLUMNS = 16, LEAST_WIDTH = 14 };

// The columns of a table: the experiment's that have numbers, and the worst price of draws.
typedef struct layout {
    int name_width, status_width;
    char worst[HEADER_BYTES]; // header
    bb_column columns[MOST_COLUMNS];
    bb_index count;
} layout;

// Times that differ by less are equal: runs of one study on one machine do.
static const double time_spread = 1.1;

// An answer this wrong, relative to itself, is lost: it is on no front, however few its bytes.
static const double lost = 0.999;

// What the front is made of; infinite where unknown, so that it never wins.
typedef struct cost {
    bool takes_part;
    double price;
    double bytes;
    double seconds;
} cost;

// A dataset of /results over `pipeline` alone, NULL where there is none.
static const bb_dataset *column_of(const bb_results *results, const char *name, bb_index count)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "results/%s", name);
    const bb_dataset *dataset = bb_results_find(results, path);
    bool fits = dataset != NULL && dataset->rank == 1 && dataset->count == count &&
                strcmp(dataset->axes[0], "pipeline") == 0;
    return fits ? dataset : NULL;
}

static double number_of(const bb_results *results, const char *name, bb_index count, bb_index row)
{
    const bb_dataset *dataset = column_of(results, name, count);
    return dataset == NULL || dataset->is_text ? NAN : dataset->numbers[row];
}

static const char *status_of(const bb_results *results, bb_index count, bb_index row)
{
    const bb_dataset *dataset = column_of(results, "status", count);
    return dataset == NULL || !dataset->is_text ? "ok" : dataset->texts[row];
}

// Price of a row where it has one draw, NaN where it has none.
static double plain_price(const bb_experiment *experiment, const bb_results *results,
                          bb_index count, bb_index row)
{
    double largest = -INFINITY;
    for (bb_index i = 0; i < experiment->price_count; ++i) {
        if (column_of(results, experiment->prices[i], count) == NULL) {
            continue;
        }
        double price = number_of(results, experiment->prices[i], count, row);
        largest = isnan(price) || isnan(largest) ? NAN : fmax(largest, price);
    }
    return largest;
}

static cost cost_of(const bb_experiment *experiment, const bb_results *results, bb_index count,
                    bb_index row)
{
    cost sum = {0};
    bool drawn = number_of(results, "draws", count, row) > 1.0;
    double price = drawn ? number_of(results, "price_worst", count, row)
                         : plain_price(experiment, results, count, row);
    sum.price = isnan(price) ? INFINITY : price;
    sum.bytes = number_of(results, "operator_bytes", count, row);
    sum.seconds = number_of(results, "solve_time_s", count, row);
    sum.bytes = isnan(sum.bytes) ? INFINITY : sum.bytes;
    sum.seconds = isnan(sum.seconds) ? INFINITY : sum.seconds;
    sum.takes_part = isfinite(sum.price) && strcmp(status_of(results, count, row), "ok") == 0 &&
                     !(number_of(results, "qoi_relative_error", count, row) >= lost);
    return sum;
}

// Whether all that finished computed on a GPU, whose time is the format's; a cpu's is of its
// emulation.
static bool are_timed(const bb_results *results, const cost *costs, bb_index count)
{
    const bb_dataset *devices = column_of(results, "device", count);
    bool timed = devices != NULL && devices->is_text;
    for (bb_index i = 0; timed && i < count; ++i) {
        timed = !costs[i].takes_part || strcmp(devices->texts[i], "cuda") == 0;
    }
    return timed;
}

static bool beats(const cost *a, const cost *b)
{
    return a->takes_part && a->price <= b->price && a->bytes <= b->bytes &&
           a->seconds <= time_spread * b->seconds &&
           (a->price < b->price || a->bytes < b->bytes || time_spread * a->seconds < b->seconds);
}

static bool on_front(const cost *costs, bb_index count, bb_index row)
{
    if (!costs[row].takes_part) {
        return false;
    }
    for (bb_index other = 0; other < count; ++other) {
        if (beats(&costs[other], &costs[row])) {
            return false;
        }
    }
    return true;
}

// Index of the cheapest pipeline within a price, -1 where none is.
static bb_index cheapest(const cost *costs, bb_index count, double within)
{
    bb_index best = -1;
    for (bb_index i = 0; i < count; ++i) {
        if (!costs[i].takes_part || costs[i].price > within) {
            continue;
        }
        if (best < 0 || costs[i].bytes < costs[best].bytes ||
            (costs[i].bytes == costs[best].bytes && costs[i].seconds < costs[best].seconds)) {
            best = i;
        }
    }
    return best;
}

// Four significant digits, without an exponent where a reader does not need one.
static void print_cell(double value, char out[CELL_BYTES])
{
    double size = fabs(value);
    if (isnan(value)) {
        (void)snprintf(out, CELL_BYTES, "-");
    } else if (value == 0.0) {
        (void)snprintf(out, CELL_BYTES, "0");
    } else if (size >= 1e-3 && size < 1e6) {
        int digits = 3 - (int)floor(log10(size));
        (void)snprintf(out, CELL_BYTES, "%.*f", digits < 0 ? 0 : digits, value);
    } else {
        (void)snprintf(out, CELL_BYTES, "%.3e", value);
    }
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
    size_t width = strlen(header);
    for (bb_index i = 0; i < names->count; ++i) {
        size_t length = strlen(names->texts[i]);
        width = length > width ? length : width;
    }
    return (int)width;
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
                  has_numbers(column_of(results, column->dataset, count));
    }
    const bool lone = prices == 1;
    for (bb_index c = 0; c < experiment->column_count && out->count < MOST_COLUMNS - 1; ++c) {
        const bb_column *column = &experiment->columns[c];
        if (!has_numbers(column_of(results, column->dataset, count))) {
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
    char cell[CELL_BYTES];
    BB_TRY(bb_text_add(out, "%s %-*s  %-*s", mark, table->name_width, names->texts[row],
                       table->status_width, status_of(results, names->count, row)));
    for (bb_index c = 0; c < table->count; ++c) {
        const bb_column *column = &table->columns[c];
        double value = number_of(results, column->dataset, names->count, row);
        print_cell(column->scale * value, cell);
        BB_TRY(bb_text_add(out, "  %*s", column_width(column), cell));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_cheapest(const bb_experiment *experiment, const bb_dataset *names,
                                const cost *costs, double within, bb_text *out)
{
    char price[CELL_BYTES];
    char bytes[CELL_BYTES];
    bb_index best = cheapest(costs, names->count, within);
    if (best < 0) {
        return bb_text_add(out, "no pipeline is within %s %.6g\n", experiment->price_name, within);
    }
    print_cell(costs[best].price, price);
    print_cell(isinf(costs[best].bytes) ? NAN : 1e-6 * costs[best].bytes, bytes);
    return bb_text_add(out, "cheapest within %s %.6g: %s (price %s, %s MB)\n",
                       experiment->price_name, within, names->texts[best], price, bytes);
}

bb_status bb_table_write(const bb_experiment *experiment, const bb_results *results, double within,
                         bb_text *out)
{
    bb_status status = BB_OK;
    cost *costs = NULL;
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    BB_REQUIRE(names != NULL && names->is_text && names->is_axis, BB_INVALID,
               "results without an axis 'pipeline' of names");
    const bb_dataset *statuses = column_of(results, "status", names->count);
    bool texts = statuses != NULL && statuses->is_text;
    layout table = {.name_width = width_of(names, "pipeline"),
                    .status_width = texts ? width_of(statuses, "status") : (int)strlen("status")};
    lay_out(experiment, results, names->count, &table);
    BB_TRY(BB_ALLOCATE(names->count, &costs));
    for (bb_index i = 0; i < names->count; ++i) {
        costs[i] = cost_of(experiment, results, names->count, i);
    }
    const bool timed = are_timed(results, costs, names->count);
    for (bb_index i = 0; i < names->count && !timed; ++i) {
        costs[i].seconds = 0.0;
    }
    BB_TRY(write_header(&table, out));
    for (bb_index i = 0; i < names->count; ++i) {
        bool marked = on_front(costs, names->count, i);
        const char *mark = marked ? "*" : " ";
        BB_TRY(write_row(&table, results, names, i, mark, out));
    }
    BB_TRY(bb_text_add(out, "* on the Pareto front of %s%s\n", experiment->price_name,
                       timed ? ", bytes and time" : " and bytes"));
    const char *note = bb_results_note_text(results, "", "price_note");
    if (note != NULL) {
        BB_TRY(bb_text_add(out, "%s\n", note));
    }
    if (!isnan(within)) {
        BB_TRY(write_cheapest(experiment, names, costs, within, out));
    }
done:
    BB_RELEASE(&costs);
    return status;
}

bb_status bb_table_costs(const bb_experiment *experiment, const bb_results *results,
                         bb_table_cost *out)
{
    bb_status status = BB_OK;
    cost *costs = NULL;
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    BB_REQUIRE(names != NULL && names->is_text && names->is_axis, BB_INVALID,
               "results without an axis 'pipeline' of names");
    BB_TRY(BB_ALLOCATE(names->count, &costs));
    for (bb_index i = 0; i < names->count; ++i) {
        costs[i] = cost_of(experiment, results, names->count, i);
        costs[i].seconds = 0.0;
    }
    for (bb_index i = 0; i < names->count; ++i) {
        out[i] = (bb_table_cost){costs[i].price, costs[i].bytes, costs[i].takes_part,
                                 on_front(costs, names->count, i)};
    }
done:
    BB_RELEASE(&costs);
    return status;
}
