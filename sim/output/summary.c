// SPDX-License-Identifier: Apache-2.0
//
// Short form of results on a terminal.
#include "sim/output/summary.h"

#include "core/memory.h"
#include "sim/output/cell.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// Words for a measure in the answer.
typedef struct words {
    const char *least, *noun, *unit;
    double scale;
} words;

static const words measures[BB_FRONT_MEASURES] = {
    [BB_FRONT_BYTES] = {"Fewest bytes", "number of bytes", "MB", 1e-6},
    [BB_FRONT_TIME] = {"Least time", "time", "ms", 1e3},
    [BB_FRONT_JOULES] = {"Least energy", "energy", "J", 1.0},
    [BB_FRONT_COST] = {"Least cost", "cost", "USD", 1.0},
};

typedef struct asking {
    const bb_experiment *experiment;
    const bb_results *results;
    const bb_front *front;
} asking;

// Adds "overlay error 0.02 nm" for a loss named "overlay error [nm]".
static bb_status add_loss(const bb_experiment *experiment, const char *number, bb_text *out)
{
    const char *name = experiment->loss_name;
    const char *open = strstr(name, " [");
    const int length = open == NULL ? (int)strlen(name) : (int)(open - name);
    const char *unit = open == NULL ? "" : open + 2;
    return bb_text_add(out, "%.*s %s%s%.*s", length, name, number, unit[0] == '\0' ? "" : " ",
                       (int)strcspn(unit, "]"), unit);
}

// Adds "Strehl ratio 0.5920" of a row; nothing if the results lack it.
static bb_status add_score(const bb_column *score, const bb_results *results, bb_index row,
                           bb_index count, const char *before, bb_text *out)
{
    char number[BB_CELL_BYTES];
    const bb_dataset *dataset = bb_results_in(results, "results", score->dataset);
    if (dataset == NULL || dataset->is_text || dataset->rank < 1 || dataset->shape[0] != count) {
        return BB_OK;
    }
    bb_cell_item(dataset->unit, score->scale, dataset->numbers, dataset->count,
                 row * (dataset->count / count), number);
    const bool pure = strcmp(dataset->unit, "1") == 0;
    return bb_text_add(out, "%s %s %s%s%s", before, score->header, number, pure ? "" : " ",
                       pure ? "" : dataset->unit);
}

static bb_status add_reference(const bb_experiment *experiment, const bb_results *results,
                               const bb_front *front, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_dataset *names = front->names;
    const bb_index row = front->reference;
    const double bytes = front->costs[row].measures[BB_FRONT_BYTES];
    const char *before = ":";
    char number[BB_CELL_BYTES];
    const bool plain = strcmp(names->texts[row], "reference") == 0;
    BB_TRY(bb_text_add(out, "Reference%s%s", plain ? "" : " ", plain ? "" : names->texts[row]));
    for (bb_index i = 0; i < experiment->score_count; ++i) {
        const bb_index length = out->length;
        BB_TRY(add_score(&experiment->scores[i], results, row, names->count, before, out));
        before = out->length > length ? "," : before;
    }
    if (isfinite(bytes)) {
        bb_cell_number(1e-6 * bytes, number);
        BB_TRY(bb_text_add(out, "%s %s MB", before, number));
    }
    BB_TRY(bb_text_add(out, "."));
done:
    return status;
}

// Bytes of fp32 divided by bytes of a row, the table's `ratio`; NaN if unknown.
static double compression_of(const bb_results *results, bb_index row, bb_index count)
{
    const bb_dataset *ratios = bb_results_find(results, "results/compression_ratio");
    return ratios == NULL || ratios->is_text || ratios->count != count ? NAN : ratios->numbers[row];
}

// Adds "hp2 (strehl loss 0.001, 2.450 MB, 1.8 times fewer than fp32)".
static bb_status add_choice(const asking *about, bb_index row, bb_front_measure measure,
                            bb_text *out)
{
    bb_status status = BB_OK;
    char loss[BB_CELL_BYTES];
    char value[BB_CELL_BYTES];
    const bb_front *front = about->front;
    const double own = front->costs[row].measures[measure];
    double ratio = front->costs[front->reference].measures[measure] / own;
    const double compression = compression_of(about->results, row, front->names->count);
    const bool to_fp32 = measure == BB_FRONT_BYTES && isfinite(compression);
    ratio = to_fp32 ? compression : ratio;
    if (front->counts) {
        (void)snprintf(loss, sizeof loss, "%.0f", front->costs[row].loss);
    } else {
        bb_cell_number(front->costs[row].loss, loss);
    }
    bb_cell_number(isinf(own) ? NAN : measures[measure].scale * own, value);
    BB_TRY(bb_text_add(out, "%s (", front->names->texts[row]));
    BB_TRY(add_loss(about->experiment, loss, out));
    BB_TRY(bb_text_add(out, ", %s %s", value, measures[measure].unit));
    if (isfinite(ratio) && own > 0.0 && ratio > 1.05) {
        BB_TRY(bb_text_add(out, ", %.*g times %s than %s", ratio < 99.5 ? 2 : 6,
                           ratio < 99.5 ? ratio : round(ratio),
                           measure == BB_FRONT_BYTES ? "fewer" : "less",
                           to_fp32 ? "fp32" : "the reference"));
    }
    BB_TRY(bb_text_add(out, ")"));
done:
    return status;
}

// Adds the cheapest pipeline within the user's tolerance, else the experiment's.
static bb_status add_cheapest(const asking *about, const bb_answer_question *question, bb_text *out)
{
    bb_status status = BB_OK;
    const words *terms = &measures[question->measure];
    const bool assumed = isnan(question->max_loss);
    const double max_loss = assumed ? about->experiment->tolerance : question->max_loss;
    const bb_index best = bb_front_least(about->front, max_loss, question->measure);
    const bool any = bb_front_least(about->front, max_loss, BB_FRONT_BYTES) >= 0;
    char limit[BB_CELL_BYTES];
    (void)snprintf(limit, sizeof limit, "%.6g", max_loss);
    BB_TRY(best >= 0 ? bb_text_add(out, " %s within ", terms->least)
                     : bb_text_add(out, " No pipeline%s within ", any ? "" : " is"));
    BB_TRY(add_loss(about->experiment, limit, out));
    BB_TRY(bb_text_add(out, assumed ? ", assumed (set it by --max-loss)" : ""));
    if (best >= 0) {
        BB_TRY(bb_text_add(out, ": "));
        BB_TRY(add_choice(about, best, question->measure, out));
    } else if (any) {
        BB_TRY(bb_text_add(out, " has a known %s", terms->noun));
    }
    BB_TRY(bb_text_add(out, "."));
    if (best >= 0 && question->measure == BB_FRONT_TIME && !about->front->timed) {
        BB_TRY(bb_text_add(out, " Times are those of a cpu, which emulates narrow formats."));
    }
done:
    return status;
}

bb_status bb_summary_add_front(const bb_experiment *experiment, const bb_results *results,
                               const bb_front *front, bb_text *out)
{
    bb_status status = BB_OK;
    const asking about = {experiment, results, front};
    const bb_index knee = bb_front_knee(front);
    bb_index fewest = bb_front_least(front, INFINITY, BB_FRONT_BYTES);
    if (fewest < 0) {
        return bb_text_add(out, "No pipeline has a known loss.");
    }
    // Ties in bytes are resolved by loss.
    for (bb_index i = 0; i < front->names->count; ++i) {
        const bb_front_cost *cost = &front->costs[i];
        const bb_front_cost *best = &front->costs[fewest];
        if (cost->is_eligible && cost->measures[BB_FRONT_BYTES] == best->measures[BB_FRONT_BYTES] &&
            cost->magnitude < best->magnitude) {
            fewest = i;
        }
    }
    if (knee >= 0) {
        BB_TRY(bb_text_add(out, "Fewest bytes before the loss increases: "));
        BB_TRY(add_choice(&about, knee, BB_FRONT_BYTES, out));
        BB_TRY(bb_text_add(out, ". "));
    }
    BB_TRY(bb_text_add(out, "Fewest bytes at any loss: "));
    BB_TRY(add_choice(&about, fewest, BB_FRONT_BYTES, out));
    BB_TRY(bb_text_add(out, "."));
done:
    return status;
}

bb_status bb_summary_add_answer(const bb_experiment *experiment, const bb_results *results,
                                const bb_front *front, const bb_answer_question *question,
                                bb_text *out)
{
    bb_status status = BB_OK;
    const asking about = {experiment, results, front};
    BB_TRY(add_reference(experiment, results, front, out));
    BB_TRY(add_cheapest(&about, question, out));
done:
    return status;
}

enum { MARK_WIDTH = 2, GAP = 2, LEAST_NAME = 12, LEAST_NUMBER = 14, LABEL_WIDTH = 30 };

static const char *cell_text(const bb_grid *grid, const bb_grid_column *column, bb_index row,
                             char number[BB_CELL_BYTES])
{
    if (column->numbers == NULL) {
        return column->texts[row];
    }
    const double value = column->numbers[row];
    // For a failed pipeline, the status replaces the absent number.
    if (isnan(value) && column->texts != NULL && column->texts[row][0] != '\0') {
        return column->texts[row];
    }
    bb_cell_item(column->unit, column->scale, column->numbers, grid->rows, row, number);
    return number;
}

static int width_of(const bb_grid *grid, bb_index c)
{
    const bb_grid_column *column = &grid->columns[c];
    char number[BB_CELL_BYTES];
    int width = bb_cell_width(column->header);
    for (bb_index row = 0; row < grid->rows; ++row) {
        const int columns = bb_cell_width(cell_text(grid, column, row, number));
        width = columns > width ? columns : width;
    }
    return width;
}

// End of the block that starts at a column: all columns that fit, at least one.
static bb_index block_end(const int *widths, bb_index start, bb_index count, int room)
{
    bb_index end = start;
    while (end < count && (end == start || room >= GAP + widths[end])) {
        room -= GAP + widths[end++];
    }
    return end;
}

static int name_width(const bb_grid *grid)
{
    int width = (int)strlen("pipeline");
    for (bb_index row = 0; row < grid->rows; ++row) {
        const int columns = bb_cell_width(grid->names[row]);
        width = columns > width ? columns : width;
    }
    return width;
}

static bool is_shown(char *const *shown, bb_index count, const char *text)
{
    for (bb_index i = 0; i < count; ++i) {
        if (strcmp(shown[i], text) == 0) {
            return true;
        }
    }
    return false;
}

// Fits a name into `width` columns, distinct from all names shown before: truncated at different
// positions, or with its number at the end.
static bb_status show_name(const bb_grid *grid, bb_index row, int width, char **shown)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    char number[24];
    BB_TRY(bb_cell_add_cut(grid->names[row], width, width / 3, &text));
    for (int end = 0; end < width - 1 && is_shown(shown, row, bb_text_string(&text)); ++end) {
        bb_text_release(&text);
        BB_TRY(bb_cell_add_cut(grid->names[row], width, end, &text));
    }
    if (is_shown(shown, row, bb_text_string(&text))) {
        (void)snprintf(number, sizeof number, "#%td", row);
        bb_text_release(&text);
        const int length = (int)strlen(number);
        BB_TRY(bb_cell_add_cut(grid->names[row], width - length, 0, &text));
        BB_TRY(bb_text_add(&text, "%s", number));
    }
    BB_TRY(bb_memory_text(bb_text_string(&text), &shown[row]));
done:
    bb_text_release(&text);
    return status;
}

// Writes the files' names above their columns.
static bb_status write_labels(const bb_grid *grid, const int *widths, bb_index start, bb_index end,
                              int names, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_index line = out->length;
    BB_TRY(bb_text_add(out, "%*s", MARK_WIDTH + names, ""));
    for (bb_index c = start; c < end;) {
        bb_index next = c;
        int room = -GAP;
        while (next < end && grid->columns[next].label == grid->columns[c].label) {
            room += GAP + widths[next++];
        }
        BB_TRY(bb_text_add(out, "%*s", GAP, ""));
        BB_TRY(bb_cell_add_cut(grid->columns[c].label, room, room / 2, out));
        c = next;
    }
    while (out->length > line && out->data[out->length - 1] == ' ') {
        out->data[--out->length] = '\0';
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

static bb_status write_block(const bb_grid *grid, const char *const *shown, const int *widths,
                             bb_index start, bb_index end, int names, bb_text *out)
{
    bb_status status = BB_OK;
    char number[BB_CELL_BYTES];
    if (grid->count > 0 && grid->columns[start].label[0] != '\0') {
        BB_TRY(write_labels(grid, widths, start, end, names, out));
    }
    for (bb_index row = -1; row < grid->rows; ++row) {
        const bool is_head = row < 0;
        BB_TRY(bb_text_add(out, "%s ", !is_head && grid->marked[row] ? "*" : " "));
        BB_TRY(bb_cell_add(is_head ? "pipeline" : shown[row], names, out));
        for (bb_index c = start; c < end; ++c) {
            const bb_grid_column *column = &grid->columns[c];
            const int width = column->numbers == NULL ? widths[c] : -widths[c];
            const bool is_last = c == end - 1 && width > 0;
            BB_TRY(bb_text_add(out, "%*s", GAP, ""));
            BB_TRY(bb_cell_add(is_head ? column->header : cell_text(grid, column, row, number),
                               is_last ? 0 : width, out));
        }
        BB_TRY(bb_text_add(out, "\n"));
    }
done:
    return status;
}

// Widens columns to the file names above them, up to a limit.
static void widen_for_labels(const bb_grid *grid, int *widths)
{
    for (bb_index c = 0; c < grid->count;) {
        bb_index next = c;
        int room = -GAP;
        int label = bb_cell_width(grid->columns[c].label);
        while (next < grid->count && grid->columns[next].label == grid->columns[c].label) {
            room += GAP + widths[next++];
        }
        label = label > LABEL_WIDTH ? LABEL_WIDTH : label;
        widths[c] += label > room ? label - room : 0;
        c = next;
    }
}

bb_status bb_summary_write_table(const bb_grid *grid, bb_text *out)
{
    bb_status status = BB_OK;
    int *widths = NULL;
    char **shown = NULL;
    int total = MARK_WIDTH;
    int names = name_width(grid);
    BB_TRY(BB_ALLOCATE(grid->count + 1, &widths));
    BB_TRY(BB_ZEROED(grid->rows + 1, &shown));
    for (bb_index c = 0; c < grid->count; ++c) {
        widths[c] = width_of(grid, c);
    }
    widen_for_labels(grid, widths);
    for (bb_index c = 0; c < grid->count; ++c) {
        total += GAP + widths[c];
    }
    if (total + names > BB_SUMMARY_WIDTH) {
        const int room = BB_SUMMARY_WIDTH - total;
        const int least = names < LEAST_NAME ? names : LEAST_NAME;
        // If blocks are needed anyway, names use up to half of the width.
        const int wide = names < BB_SUMMARY_WIDTH / 2 ? names : BB_SUMMARY_WIDTH / 2;
        names = room >= least ? room : wide;
    }
    for (bb_index row = 0; row < grid->rows; ++row) {
        BB_TRY(show_name(grid, row, names, shown));
    }
    const int room = BB_SUMMARY_WIDTH - MARK_WIDTH - names;
    for (bb_index start = 0; start < grid->count || start == 0;) {
        const bb_index end = block_end(widths, start, grid->count, room);
        BB_TRY(bb_text_add(out, "%s", start > 0 ? "\n" : ""));
        BB_TRY(write_block(grid, (const char *const *)shown, widths, start, end, names, out));
        start = end > start ? end : 1;
    }
done:
    for (bb_index row = 0; shown != NULL && row < grid->rows; ++row) {
        BB_RELEASE(&shown[row]);
    }
    BB_RELEASE(&shown);
    BB_RELEASE(&widths);
    return status;
}

static bb_status write_answer(const bb_grid_source *source, const bb_answer_question *question,
                              bb_text *out)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    if (source->label[0] != '\0') {
        BB_TRY(bb_text_add(&line, "%s: ", source->label));
    }
    BB_TRY(
        bb_summary_add_answer(source->experiment, source->results, source->front, question, &line));
    BB_TRY(bb_cell_add_lines(bb_text_string(&line), BB_SUMMARY_WIDTH, out));
done:
    bb_text_release(&line);
    return status;
}

static const char *note_of(const bb_grid_source *source)
{
    const char *note = bb_results_note_text(source->results, "", "loss_note");
    return note == NULL ? "definition of the loss not recorded" : note;
}

// Writes the legend of the mark and the terms of the loss.
static bb_status write_legend(const bb_grid_source *source, int width, bb_text *out)
{
    bb_status status = BB_OK;
    const char *note = bb_results_note_text(source->results, "", "loss_note");
    BB_TRY(bb_text_add(out, "* on the Pareto front of %s%s\n", source->experiment->loss_name,
                       source->front->timed ? ", bytes and time" : " and bytes"));
    if (note != NULL) {
        BB_TRY(bb_cell_add_lines(note, width, out));
    }
done:
    return status;
}

static bb_status write_definition(const bb_grid_source *source, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    BB_TRY(bb_text_add(&line, "%s: %s", source->label, note_of(source)));
    BB_TRY(bb_cell_add_lines(bb_text_string(&line), BB_SUMMARY_WIDTH, out));
done:
    bb_text_release(&line);
    return status;
}

// Writes the definitions of the loss of several files, if they differ.
static bb_status write_definitions(const bb_grid_source *sources, bb_index count, bb_text *out)
{
    bb_status status = BB_OK;
    bool differ = false;
    for (bb_index i = 1; i < count; ++i) {
        differ = differ || strcmp(note_of(&sources[0]), note_of(&sources[i])) != 0;
    }
    for (bb_index i = 0; i < count && differ; ++i) {
        BB_TRY(write_definition(&sources[i], out));
    }
done:
    return status;
}

bb_status bb_summary_write_grid(const bb_grid *grid, const bb_grid_source *sources, bb_index count,
                                const bb_answer_question *question, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(write_answer(&sources[i], question, out));
    }
    BB_TRY(bb_summary_write_table(grid, out));
    if (count == 1) {
        BB_TRY(write_legend(&sources[0], BB_SUMMARY_WIDTH, out));
    } else {
        BB_TRY(bb_text_add(out, "loss: %s\n", sources[0].experiment->loss_name));
        BB_TRY(write_definitions(sources, count, out));
    }
done:
    return status;
}

bb_status bb_summary_write(const bb_experiment *experiment, const bb_results *results,
                           double max_loss, bb_text *out)
{
    bb_status status = BB_OK;
    bb_front front = {0};
    bb_grid grid = {0};
    char label[] = "";
    const bb_answer_question question = {.max_loss = max_loss};
    BB_TRY(bb_front_find(experiment, results, &front));
    const bb_grid_source source = {experiment, results, &front, "", label};
    BB_TRY(bb_grid_add_rows(&grid, results, NULL));
    BB_TRY(bb_grid_add_brief(&grid, &source, true));
    BB_TRY(bb_summary_write_grid(&grid, &source, 1, &question, out));
done:
    bb_grid_release(&grid);
    bb_front_release(&front);
    return status;
}

static bb_status write_cheapest(const bb_experiment *experiment, const bb_front *front,
                                double max_loss, bb_text *out)
{
    char loss[BB_CELL_BYTES];
    char bytes[BB_CELL_BYTES];
    bb_index best = bb_front_least(front, max_loss, BB_FRONT_BYTES);
    if (best < 0) {
        return bb_text_add(out, "no pipeline is within %s %.6g\n", experiment->loss_name, max_loss);
    }
    const double size = front->costs[best].measures[BB_FRONT_BYTES];
    bb_cell_number(front->costs[best].loss, loss);
    bb_cell_number(isinf(size) ? NAN : 1e-6 * size, bytes);
    return bb_text_add(out, "cheapest within %s %.6g: %s (loss %s, %s MB)\n", experiment->loss_name,
                       max_loss, front->names->texts[best], loss, bytes);
}

bb_status bb_summary_write_full(const bb_experiment *experiment, const bb_results *results,
                                double max_loss, bb_text *out)
{
    bb_status status = BB_OK;
    bb_front front = {0};
    bb_grid grid = {0};
    int *widths = NULL;
    char label[] = "";
    BB_TRY(bb_front_find(experiment, results, &front));
    const bb_grid_source source = {experiment, results, &front, "", label};
    BB_TRY(bb_grid_add_rows(&grid, results, NULL));
    BB_TRY(bb_grid_add_table(&grid, &source));
    BB_TRY(BB_ALLOCATE(grid.count + 1, &widths));
    for (bb_index c = 0; c < grid.count; ++c) {
        const int width = width_of(&grid, c);
        widths[c] = grid.columns[c].numbers != NULL && width < LEAST_NUMBER ? LEAST_NUMBER : width;
    }
    BB_TRY(write_block(&grid, grid.names, widths, 0, grid.count, name_width(&grid), out));
    BB_TRY(write_legend(&source, INT_MAX, out));
    if (!isnan(max_loss)) {
        BB_TRY(write_cheapest(experiment, &front, max_loss, out));
    }
done:
    BB_RELEASE(&widths);
    bb_grid_release(&grid);
    bb_front_release(&front);
    return status;
}
