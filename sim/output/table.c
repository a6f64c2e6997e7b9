// SPDX-License-Identifier: Apache-2.0
#include "sim/output/table.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 32, PATH_BYTES = 128 };

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

static cost cost_of(const bb_experiment *experiment, const bb_results *results, bb_index count,
                    bb_index row)
{
    cost sum = {.price = -INFINITY};
    for (bb_index i = 0; i < experiment->price_count; ++i) {
        if (column_of(results, experiment->prices[i], count) == NULL) {
            continue;
        }
        double price = number_of(results, experiment->prices[i], count, row);
        sum.price = isnan(price) ? INFINITY : fmax(sum.price, price);
        if (isnan(price)) {
            break;
        }
    }
    sum.bytes = number_of(results, "operator_bytes", count, row);
    sum.seconds = number_of(results, "solve_time_s", count, row);
    sum.bytes = isnan(sum.bytes) ? INFINITY : sum.bytes;
    sum.seconds = isnan(sum.seconds) ? INFINITY : sum.seconds;
    sum.takes_part = isfinite(sum.price) && strcmp(status_of(results, count, row), "ok") == 0;
    return sum;
}

static bool beats(const cost *a, const cost *b)
{
    return a->takes_part && a->price <= b->price && a->bytes <= b->bytes &&
           a->seconds <= b->seconds &&
           (a->price < b->price || a->bytes < b->bytes || a->seconds < b->seconds);
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

static bb_status write_header(const bb_experiment *experiment, const bb_results *results,
                              int name_width, int status_width, bb_index count, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "  %-*s  %-*s", name_width, "pipeline", status_width, "status"));
    for (bb_index c = 0; c < experiment->column_count; ++c) {
        const bb_column *column = &experiment->columns[c];
        if (has_numbers(column_of(results, column->dataset, count))) {
            BB_TRY(bb_text_add(out, "  %14s", column->header));
        }
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_row(const bb_experiment *experiment, const bb_results *results,
                           const bb_dataset *names, bb_index row, const char *mark, int name_width,
                           int status_width, bb_text *out)
{
    bb_status status = BB_OK;
    char cell[CELL_BYTES];
    BB_TRY(bb_text_add(out, "%s %-*s  %-*s", mark, name_width, names->texts[row], status_width,
                       status_of(results, names->count, row)));
    for (bb_index c = 0; c < experiment->column_count; ++c) {
        const bb_column *column = &experiment->columns[c];
        if (has_numbers(column_of(results, column->dataset, names->count))) {
            double value = number_of(results, column->dataset, names->count, row);
            print_cell(column->scale * value, cell);
            BB_TRY(bb_text_add(out, "  %14s", cell));
        }
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
    bool any_marked = false;
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    BB_REQUIRE(names != NULL && names->is_text && names->is_axis, BB_INVALID,
               "results without an axis 'pipeline' of names");
    const bb_dataset *statuses = column_of(results, "status", names->count);
    bool texts = statuses != NULL && statuses->is_text;
    int name_width = width_of(names, "pipeline");
    int status_width = texts ? width_of(statuses, "status") : (int)strlen("status");
    BB_TRY(BB_ALLOCATE(names->count, &costs));
    for (bb_index i = 0; i < names->count; ++i) {
        costs[i] = cost_of(experiment, results, names->count, i);
    }
    BB_TRY(write_header(experiment, results, name_width, status_width, names->count, out));
    for (bb_index i = 0; i < names->count; ++i) {
        bool marked = on_front(costs, names->count, i);
        const char *mark = marked ? "*" : " ";
        any_marked = any_marked || marked;
        BB_TRY(write_row(experiment, results, names, i, mark, name_width, status_width, out));
    }
    BB_TRY(
        bb_text_add(out, "* on the Pareto front of %s, bytes and time\n", experiment->price_name));
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
