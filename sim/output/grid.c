// SPDX-License-Identifier: Apache-2.0
#include "sim/output/grid.h"

#include "core/memory.h"
#include "core/suggestion.h"
#include "sim/run/dump.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_between(char character)
{
    return strchr("/-_. ", character) != NULL; // including the end of a text
}

static size_t length_of(const char *path)
{
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".h5") == 0 ? length - 3 : length;
}

// Length of the common prefix, up to the end of a word.
static size_t common_start(const char *const *paths, bb_index count)
{
    size_t common = length_of(paths[0]);
    for (bb_index i = 1; i < count; ++i) {
        size_t same = 0;
        while (same < common && same < length_of(paths[i]) && paths[i][same] == paths[0][same]) {
            ++same;
        }
        common = same;
    }
    while (common > 0 && !is_between(paths[0][common - 1])) {
        --common;
    }
    return common;
}

// Length of the common suffix after `start`, from the end of a word.
static size_t common_end(const char *const *paths, bb_index count, size_t start)
{
    const size_t length = length_of(paths[0]);
    size_t common = length - start;
    for (bb_index i = 1; i < count; ++i) {
        const size_t other = length_of(paths[i]);
        size_t same = 0;
        while (same < common && same < other - start &&
               paths[i][other - 1 - same] == paths[0][length - 1 - same]) {
            ++same;
        }
        common = same;
    }
    while (common > 0 && !is_between(paths[0][length - common])) {
        --common;
    }
    return common;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

// True if no two files have the same name.
static bool are_distinct(const char *const *names, bb_index count)
{
    for (bb_index i = 0; i < count; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            if (length_of(names[i]) == length_of(names[j]) &&
                strncmp(names[i], names[j], length_of(names[i])) == 0) {
                return false;
            }
        }
    }
    return true;
}

// Part of name `index` between the common prefix and suffix.
static bb_status cut_name(const char *const *names, bb_index count, bb_index index, char **out)
{
    size_t start = common_start(names, count);
    size_t end = common_end(names, count, start);
    for (bb_index i = 0; i < count; ++i) {
        // The part of "a.h5" would be empty next to "a-b.h5".
        if (length_of(names[i]) <= start + end) {
            end = 0;
        }
        if (length_of(names[i]) <= start) {
            start = 0;
        }
    }
    const size_t length = length_of(names[index]);
    return bb_memory_printf(out, "%.*s", (int)(length - start - end), names[index] + start);
}

bb_status bb_grid_find_label(const char *const *paths, bb_index count, bb_index index, char **out)
{
    bb_status status = BB_OK;
    const char **names = NULL;
    if (count == 1) {
        return bb_memory_text("", out);
    }
    for (bb_index i = 0; i < count; ++i) {
        BB_REQUIRE(i == index || strcmp(paths[i], paths[index]) != 0, BB_INVALID,
                   "'%s' is given twice; name each file once", paths[i]);
    }
    BB_TRY(BB_ALLOCATE(count, &names));
    for (bb_index i = 0; i < count; ++i) {
        names[i] = base_of(paths[i]);
    }
    BB_TRY(cut_name(are_distinct(names, count) ? names : paths, count, index, out));
done:
    BB_RELEASE(&names);
    return status;
}

enum { HEADER_BYTES = 80 };

void bb_grid_release(bb_grid *grid)
{
    for (bb_index c = 0; c < grid->count; ++c) {
        BB_RELEASE(&grid->columns[c].header);
        BB_RELEASE(&grid->columns[c].numbers);
        BB_RELEASE(&grid->columns[c].texts);
    }
    BB_RELEASE(&grid->columns);
    BB_RELEASE(&grid->names);
    BB_RELEASE(&grid->marked);
    *grid = (bb_grid){0};
}

static const bb_dataset *names_of(const bb_results *results)
{
    return bb_results_find(results, "results/pipeline");
}

static bb_index find_text(const char *const *texts, bb_index count, const char *text)
{
    for (bb_index i = 0; i < count; ++i) {
        if (strcmp(texts[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

bb_status bb_grid_add_rows(bb_grid *grid, const bb_results *results, const char *only)
{
    bb_status status = BB_OK;
    const bb_dataset *names = names_of(results);
    BB_TRY(bb_memory_resize(grid->rows + names->count, sizeof *grid->names, (void **)&grid->names));
    BB_TRY(
        bb_memory_resize(grid->rows + names->count, sizeof *grid->marked, (void **)&grid->marked));
    for (bb_index i = 0; i < names->count; ++i) {
        const char *name = names->texts[i];
        if ((only == NULL || strcmp(only, name) == 0 || bb_dump_wanted(only, name)) &&
            find_text(grid->names, grid->rows, name) < 0) {
            grid->marked[grid->rows] = false;
            grid->names[grid->rows++] = name;
        }
    }
done:
    return status;
}

// Adds a column and takes ownership of `draft`; its header is copied.
static bb_status add_column(bb_grid *grid, bb_grid_column draft, const char *header)
{
    bb_status status = BB_OK;
    BB_TRY(bb_memory_text(header, &draft.header));
    BB_TRY(bb_memory_resize(grid->count + 1, sizeof *grid->columns, (void **)&grid->columns));
    grid->columns[grid->count++] = draft;
    draft = (bb_grid_column){0};
done:
    if (status != BB_OK) {
        BB_RELEASE(&draft.header);
    }
    return status;
}

static bb_status add_numbers(bb_grid *grid, const bb_grid_source *source, bb_grid_column draft,
                             const char *header, const double *values)
{
    bb_status status = BB_OK;
    const bb_dataset *names = names_of(source->results);
    BB_TRY(add_column(grid, draft, header));
    bb_grid_column *column = &grid->columns[grid->count - 1];
    BB_TRY(BB_ALLOCATE(grid->rows, &column->numbers));
    for (bb_index row = 0; row < grid->rows; ++row) {
        const bb_index i =
            find_text((const char *const *)names->texts, names->count, grid->names[row]);
        column->numbers[row] = i < 0 ? NAN : values[i];
    }
done:
    return status;
}

static bb_status add_texts(bb_grid *grid, const bb_grid_source *source, const bb_dataset *dataset)
{
    bb_status status = BB_OK;
    const bb_dataset *names = names_of(source->results);
    bb_grid_column *column = &grid->columns[grid->count - 1];
    BB_TRY(BB_ZEROED(grid->rows, &column->texts));
    for (bb_index row = 0; row < grid->rows; ++row) {
        const bb_index i =
            find_text((const char *const *)names->texts, names->count, grid->names[row]);
        column->texts[row] = i < 0 ? "" : dataset->texts[i];
    }
done:
    return status;
}

static bb_status add_dataset(bb_grid *grid, const bb_grid_source *source, const char *name,
                             const char *header, double scale)
{
    bb_status status = BB_OK;
    const bb_dataset *dataset =
        bb_front_column(source->results, name, names_of(source->results)->count);
    if (dataset == NULL) {
        goto done;
    }
    const bb_grid_column draft = {.name = dataset->name,
                                  .label = source->label,
                                  .unit = dataset->unit,
                                  .long_name = dataset->long_name,
                                  .scale = scale};
    if (dataset->is_text) {
        BB_TRY(add_column(grid, draft, header));
        BB_TRY(add_texts(grid, source, dataset));
    } else {
        BB_TRY(add_numbers(grid, source, draft, header, dataset->numbers));
    }
done:
    return status;
}

// Adds the largest of the experiment's losses, without draws.
static bb_status add_loss(bb_grid *grid, const bb_grid_source *source, const char *header)
{
    bb_status status = BB_OK;
    double *losses = NULL;
    const bb_dataset *first = NULL;
    const bb_index count = source->front->names->count;
    for (bb_index i = 0; first == NULL && i < source->experiment->loss_count; ++i) {
        first = bb_front_column(source->results, source->experiment->losses[i], count);
    }
    BB_TRY(BB_ALLOCATE(count, &losses));
    for (bb_index i = 0; i < count; ++i) {
        losses[i] = source->front->costs[i].plain_loss;
    }
    const bb_grid_column draft = {.name = "loss",
                                  .label = source->label,
                                  .unit = first == NULL ? "1" : first->unit,
                                  .long_name = source->experiment->loss_name,
                                  .scale = 1.0};
    BB_TRY(add_numbers(grid, source, draft, header, losses));
done:
    BB_RELEASE(&losses);
    return status;
}

// Largest number of draws of a pipeline; 1 without draws.
static double most_draws(const bb_results *results, bb_index count)
{
    double largest = 1.0;
    const bb_dataset *draws = bb_front_column(results, "draws", count);
    for (bb_index i = 0; draws != NULL && !draws->is_text && i < count; ++i) {
        largest = draws->numbers[i] > largest ? draws->numbers[i] : largest;
    }
    return largest;
}

static void mark_front(bb_grid *grid, const bb_front *front)
{
    for (bb_index i = 0; i < front->names->count; ++i) {
        const bb_index row = find_text(grid->names, grid->rows, front->names->texts[i]);
        if (row >= 0) {
            grid->marked[row] = bb_front_has(front, i);
        }
    }
}

bb_status bb_grid_add_brief(bb_grid *grid, const bb_grid_source *source, bool for_people)
{
    bb_status status = BB_OK;
    char header[HEADER_BYTES];
    const bb_index count = names_of(source->results)->count;
    const double draws = most_draws(source->results, count);
    const bool single = source->label[0] == '\0';
    if (single) {
        mark_front(grid, source->front);
    }
    if (single || !for_people) {
        BB_TRY(add_dataset(grid, source, "status", "status", 1.0));
    }
    BB_TRY(add_loss(grid, source, single ? source->experiment->loss_name : "loss"));
    const bb_dataset *statuses = bb_front_column(source->results, "status", count);
    if (!single && for_people && statuses != NULL && statuses->is_text) {
        BB_TRY(add_texts(grid, source, statuses));
    }
    BB_TRY(add_dataset(grid, source, "operator_bytes", "MB", 1e-6));
    if (single) {
        BB_TRY(add_dataset(grid, source, "compression_ratio", "ratio", 1.0));
    }
    if (single && draws > 1.0) {
        (void)snprintf(header, sizeof header, "worst of %.0f", draws);
        BB_TRY(add_dataset(grid, source, "loss_worst", header, 1.0));
    }
done:
    return status;
}

bb_status bb_grid_add_full(bb_grid *grid, const bb_grid_source *source)
{
    bb_status status = BB_OK;
    const bb_experiment *experiment = source->experiment;
    if (source->label[0] == '\0') {
        mark_front(grid, source->front);
    }
    BB_TRY(add_dataset(grid, source, "status", "status", 1.0));
    for (bb_index i = 0; i < experiment->column_count; ++i) {
        const bb_column *column = &experiment->columns[i];
        BB_TRY(add_dataset(grid, source, column->dataset, column->header, column->scale));
    }
    if (most_draws(source->results, names_of(source->results)->count) > 1.0) {
        BB_TRY(add_dataset(grid, source, "loss_worst", "worst draw", 1.0));
    }
done:
    return status;
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

static bool is_loss(const bb_experiment *experiment, const char *dataset)
{
    return find_text(experiment->losses, experiment->loss_count, dataset) >= 0;
}

// Header "strehl loss (worst of 16)" if some pipeline has draws, else "".
static void name_worst(const bb_grid_source *source, char out[HEADER_BYTES])
{
    const char *name = source->experiment->loss_name;
    const bb_index count = names_of(source->results)->count;
    const double draws = most_draws(source->results, count);
    const bb_dataset *dataset = bb_front_column(source->results, "draws", count);
    bool alike = true;
    out[0] = '\0';
    for (bb_index i = 0; draws > 1.0 && i < count; ++i) {
        alike = alike && (!(dataset->numbers[i] > 1.0) || dataset->numbers[i] == draws);
    }
    if (draws > 1.0 && alike) {
        (void)snprintf(out, HEADER_BYTES, "%s (worst of %.0f)", name, draws);
    } else if (draws > 1.0) {
        (void)snprintf(out, HEADER_BYTES, "%s (worst draw)", name);
    }
}

bb_status bb_grid_add_table(bb_grid *grid, const bb_grid_source *source)
{
    bb_status status = BB_OK;
    const bb_experiment *experiment = source->experiment;
    const bb_index count = names_of(source->results)->count;
    char worst[HEADER_BYTES];
    bb_index losses = 0; // remaining losses
    name_worst(source, worst);
    mark_front(grid, source->front);
    BB_TRY(add_dataset(grid, source, "status", "status", 1.0));
    for (bb_index c = 0; c < experiment->column_count; ++c) {
        const char *name = experiment->columns[c].dataset;
        losses +=
            is_loss(experiment, name) && has_numbers(bb_front_column(source->results, name, count));
    }
    const bool lone = losses == 1;
    for (bb_index c = 0; c < experiment->column_count; ++c) {
        const bb_column *column = &experiment->columns[c];
        if (!has_numbers(bb_front_column(source->results, column->dataset, count))) {
            continue;
        }
        const bool drawn = worst[0] != '\0' && is_loss(experiment, column->dataset);
        if (!drawn || !lone) {
            BB_TRY(add_dataset(grid, source, column->dataset, column->header, column->scale));
        }
        losses -= drawn;
        if (drawn && losses == 0) {
            BB_TRY(add_dataset(grid, source, "loss_worst", worst, column->scale));
        }
    }
done:
    return status;
}

// Reports a name that is not a dataset over pipelines only.
static bb_status refuse_dataset(const bb_grid_source *source, const char *name)
{
    bb_suggestion near = {.word = name};
    const bb_index rows = names_of(source->results)->count;
    for (bb_index i = 0; i < bb_results_count(source->results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(source->results, i);
        if (strcmp(dataset->group, "results") == 0 && strcmp(dataset->name, name) == 0) {
            return bb_status_set(
                BB_INVALID, __FILE__, __LINE__,
                "--columns %s: '%s' of '%s' has %d axes, expected only the pipeline axis", name,
                name, source->path, dataset->rank);
        }
        if (strcmp(dataset->group, "results") == 0 &&
            bb_front_column(source->results, dataset->name, rows) != NULL) {
            bb_suggestion_add(&near, dataset->name);
        }
    }
    return bb_status_set(BB_INVALID, __FILE__, __LINE__,
                         "--columns %s: no dataset '%s' in /results of '%s'%s", name, name,
                         source->path, bb_suggestion_text(&near));
}

// Adds "operator_bytes [byte]", as stored in its dataset.
static bb_status add_named(bb_grid *grid, const bb_grid_source *source, const char *name)
{
    bb_status status = BB_OK;
    char header[HEADER_BYTES];
    const bb_dataset *dataset =
        bb_front_column(source->results, name, names_of(source->results)->count);
    if (dataset == NULL) {
        return refuse_dataset(source, name);
    }
    const bool pure = dataset->unit[0] == '\0' || strcmp(dataset->unit, "1") == 0;
    (void)snprintf(header, sizeof header, "%.50s%s%.20s%s", name, pure ? "" : " [",
                   pure ? "" : dataset->unit, pure ? "" : "]");
    BB_TRY(add_dataset(grid, source, name, header, 1.0));
done:
    return status;
}

bb_status bb_grid_add_named(bb_grid *grid, const bb_grid_source *source, const char *names)
{
    bb_status status = BB_OK;
    char *name = NULL;
    if (source->label[0] == '\0') {
        mark_front(grid, source->front);
    }
    for (const char *item = names; item != NULL;) {
        const size_t size = strcspn(item, ",");
        BB_RELEASE(&name);
        BB_TRY(bb_memory_printf(&name, "%.*s", (int)size, item));
        BB_TRY(add_named(grid, source, name));
        item = item[size] == ',' ? item + size + 1 : NULL;
    }
done:
    BB_RELEASE(&name);
    return status;
}

static bb_status check_name(const char *name, const bb_grid_source *sources, bb_index count)
{
    bb_suggestion near = {.word = name};
    for (bb_index s = 0; s < count; ++s) {
        const bb_dataset *names = names_of(sources[s].results);
        if (find_text((const char *const *)names->texts, names->count, name) >= 0) {
            return BB_OK;
        }
        for (bb_index i = 0; i < names->count; ++i) {
            bb_suggestion_add(&near, names->texts[i]);
        }
    }
    return bb_status_set(BB_INVALID, __FILE__, __LINE__, "--pipeline %s: no pipeline '%s'%s", name,
                         name, bb_suggestion_text(&near));
}

bb_status bb_grid_check_names(const char *only, const bb_grid_source *sources, bb_index count)
{
    bb_status status = BB_OK;
    char *name = NULL;
    if (check_name(only, sources, count) == BB_OK) {
        goto done;
    }
    for (const char *item = only; item != NULL;) {
        const size_t size = strcspn(item, ",");
        BB_RELEASE(&name);
        BB_TRY(bb_memory_printf(&name, "%.*s", (int)size, item));
        BB_TRY(check_name(name, sources, count));
        item = item[size] == ',' ? item + size + 1 : NULL;
    }
done:
    BB_RELEASE(&name);
    return status;
}
