// SPDX-License-Identifier: Apache-2.0
#include "sim/output/comparison.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 160, NUMBER_BYTES = 32 };

// Dataset of both files with matched rows.
typedef struct match {
    const bb_dataset *sides[2];
    bb_index rows, row_items; // one row if the dataset has no pipeline axis
    const bb_index *partners; // [rows] index of the second's row, -1 for none; NULL: same order
} match;

static const bb_dataset *names_of(const bb_results *results)
{
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    return names != NULL && names->is_text && names->is_axis ? names : NULL;
}

static bb_index find_name(const bb_dataset *names, const char *name)
{
    for (bb_index i = 0; names != NULL && i < names->count; ++i) {
        if (strcmp(names->texts[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

// Relative difference: 0 for equal values and if both are unset, infinite if one is unset.
static double distance_of(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b))) {
        return 0.0;
    }
    const double size = fmax(fabs(a), fabs(b));
    const double relative = fabs(a - b) / size;
    return isfinite(relative) ? relative : INFINITY;
}

static double item_distance(const match *pair, bb_index a, bb_index b)
{
    if (pair->sides[0]->is_text) {
        return strcmp(pair->sides[0]->texts[a], pair->sides[1]->texts[b]) == 0 ? 0.0 : INFINITY;
    }
    return distance_of(pair->sides[0]->numbers[a], pair->sides[1]->numbers[b]);
}

static bb_index partner_of(const match *pair, bb_index row)
{
    return pair->partners == NULL ? row : pair->partners[row];
}

// Number of items in a row that differ beyond the tolerance, and their largest distance.
static bb_index compare_row(const match *pair, bb_index row, double tolerance, double *largest)
{
    bb_index different = 0;
    const bb_index other = partner_of(pair, row);
    for (bb_index i = 0; other >= 0 && i < pair->row_items; ++i) {
        double distance =
            item_distance(pair, row * pair->row_items + i, other * pair->row_items + i);
        if (distance > tolerance) {
            ++different;
            *largest = fmax(*largest, distance);
        }
    }
    return different;
}

static bool is_over_pipelines(const bb_dataset *dataset)
{
    return dataset->rank > 0 && !dataset->is_axis && strcmp(dataset->axes[0], "pipeline") == 0;
}

// True if two datasets can be compared item by item; their pipelines may differ.
static bool is_alike(const bb_dataset *a, const bb_dataset *b)
{
    bool alike = a->rank == b->rank && a->is_text == b->is_text &&
                 is_over_pipelines(a) == is_over_pipelines(b);
    for (int i = is_over_pipelines(a) ? 1 : 0; alike && i < a->rank; ++i) {
        alike = a->shape[i] == b->shape[i];
    }
    return alike;
}

static void print_item(const bb_dataset *dataset, bb_index item, char out[NUMBER_BYTES])
{
    if (dataset->is_text) {
        (void)snprintf(out, NUMBER_BYTES, "%.31s", dataset->texts[item]);
    } else {
        (void)snprintf(out, NUMBER_BYTES, "%.9g", dataset->numbers[item]);
    }
}

static bb_status write_distance(double distance, bb_text *out)
{
    return isfinite(distance) ? bb_text_add(out, ", relative %.2g\n", distance)
                              : bb_text_add(out, "\n");
}

// Writes "hp2: strehl_loss 0.001 in a.h5, 0.002 in b.h5, relative 0.5" for each row.
static bb_status write_rows(const bb_comparison *sides, const match *pair, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_dataset *names = names_of(sides->results[0]);
    char items[2][NUMBER_BYTES];
    for (bb_index row = 0; row < pair->rows; ++row) {
        double distance = 0.0;
        if (compare_row(pair, row, sides->tolerance, &distance) == 0) {
            continue;
        }
        print_item(pair->sides[0], row, items[0]);
        print_item(pair->sides[1], partner_of(pair, row), items[1]);
        BB_TRY(bb_text_add(out, "  %s: %s %s in %s, %s in %s", names->texts[row],
                           pair->sides[0]->name, items[0], sides->names[0], items[1],
                           sides->names[1]));
        BB_TRY(write_distance(distance, out));
    }
done:
    return status;
}

// True if some pipeline has draws. Otherwise the worst loss repeats the plain loss.
static bool has_draws(const bb_results *results)
{
    bool found = false;
    const bb_dataset *draws = bb_results_find(results, "results/draws");
    for (bb_index i = 0; draws != NULL && !draws->is_text && i < draws->count; ++i) {
        found = found || draws->numbers[i] > 1.0;
    }
    return found;
}

static bool is_listed_by_row(const bb_comparison *sides, const bb_dataset *dataset)
{
    const bb_experiment *experiment = sides->experiment;
    bool listed = strcmp(dataset->name, "status") == 0 ||
                  (strcmp(dataset->name, "loss_worst") == 0 && has_draws(sides->results[0]));
    for (bb_index i = 0; i < experiment->loss_count; ++i) {
        listed = listed || strcmp(dataset->name, experiment->losses[i]) == 0;
    }
    return listed && dataset->rank == 1 && is_over_pipelines(dataset);
}

// Writes "strehl_by: 4 of 12 values, relative 0.001 at most (hp2, hp3)".
static bb_status write_summary(const bb_comparison *sides, const match *pair, bb_index different,
                               double largest, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_dataset *names = names_of(sides->results[0]);
    const char *before = " (";
    BB_TRY(bb_text_add(out, "  %s: %td of %td values differ", pair->sides[0]->name, different,
                       pair->rows * pair->row_items));
    if (isfinite(largest)) {
        BB_TRY(bb_text_add(out, ", relative %.2g at most", largest));
    }
    for (bb_index row = 0; pair->partners != NULL && row < pair->rows; ++row) {
        double unused = 0.0;
        if (compare_row(pair, row, sides->tolerance, &unused) > 0) {
            BB_TRY(bb_text_add(out, "%s%s", before, names->texts[row]));
            before = ", ";
        }
    }
    BB_TRY(bb_text_add(out, "%s\n", before[0] == ',' ? ")" : ""));
done:
    return status;
}

static bb_status compare_dataset(const bb_comparison *sides, const bb_dataset *dataset,
                                 const bb_index *partners, bb_text *out, bb_index *count)
{
    bb_status status = BB_OK;
    bb_index different = 0;
    double largest = 0.0;
    const bb_dataset *other = bb_results_in(sides->results[1], "results", dataset->name);
    if (other == NULL || !is_alike(dataset, other)) {
        ++*count;
        BB_TRY(other == NULL
                   ? bb_text_add(out, "  %s: only in %s\n", dataset->name, sides->names[0])
                   : bb_text_add(out, "  %s: the shapes differ\n", dataset->name));
        goto done;
    }
    const bool over = is_over_pipelines(dataset);
    const bb_index rows = over ? dataset->shape[0] : 1;
    const match pair = {{dataset, other}, rows, dataset->count / rows, over ? partners : NULL};
    for (bb_index row = 0; row < rows; ++row) {
        different += compare_row(&pair, row, sides->tolerance, &largest);
    }
    if (different > 0) {
        ++*count;
        BB_TRY(is_listed_by_row(sides, dataset)
                   ? write_rows(sides, &pair, out)
                   : write_summary(sides, &pair, different, largest, out));
    }
done:
    return status;
}

// Lists pipelines that only one side has.
static bb_status write_lone(const bb_comparison *sides, int side, bb_text *out, bb_index *count)
{
    bb_status status = BB_OK;
    const bb_dataset *names = names_of(sides->results[side]);
    const bb_dataset *others = names_of(sides->results[1 - side]);
    for (bb_index i = 0; names != NULL && i < names->count; ++i) {
        if (find_name(others, names->texts[i]) < 0) {
            ++*count;
            BB_TRY(bb_text_add(out, "  %s: only in %s\n", names->texts[i], sides->names[side]));
        }
    }
done:
    return status;
}

static bool is_compared(const bb_dataset *dataset)
{
    return strcmp(dataset->group, "results") == 0 && !dataset->measured &&
           strcmp(dataset->name, "pipeline") != 0;
}

bb_status bb_comparison_write_results(const bb_comparison *pair, bb_text *out, bb_index *count)
{
    bb_status status = BB_OK;
    bb_index *partners = NULL;
    const bb_dataset *names = names_of(pair->results[0]);
    const bb_dataset *others = names_of(pair->results[1]);
    const bb_index rows = names == NULL ? 0 : names->count;
    BB_TRY(BB_ALLOCATE(rows + 1, &partners));
    for (bb_index i = 0; i < rows; ++i) {
        partners[i] = find_name(others, names->texts[i]);
    }
    BB_TRY(write_lone(pair, 0, out, count));
    BB_TRY(write_lone(pair, 1, out, count));
    // Compares datasets over pipelines before the others.
    for (int pass = 0; pass < 2; ++pass) {
        for (bb_index i = 0; i < bb_results_count(pair->results[0]); ++i) {
            const bb_dataset *dataset = bb_results_dataset(pair->results[0], i);
            if (is_compared(dataset) && is_listed_by_row(pair, dataset) == (pass == 0)) {
                BB_TRY(compare_dataset(pair, dataset, partners, out, count));
            }
        }
    }
    for (bb_index i = 0; i < bb_results_count(pair->results[1]); ++i) {
        const bb_dataset *dataset = bb_results_dataset(pair->results[1], i);
        if (is_compared(dataset) &&
            bb_results_in(pair->results[0], "results", dataset->name) == NULL) {
            ++*count;
            BB_TRY(bb_text_add(out, "  %s: only in %s\n", dataset->name, pair->names[1]));
        }
    }
done:
    BB_RELEASE(&partners);
    return status;
}

// True for attributes of /provenance that describe how the numbers were computed, except times.
static bool is_origin(const bb_attribute *attribute)
{
    static const char *const kept[] = {"version", "commit", "compiler",  "flags",
                                       "device",  "host",   "processor", "system"};
    if (attribute->text == NULL || strcmp(attribute->owner, "provenance") != 0) {
        return false;
    }
    bool found = strncmp(attribute->name, "library_", strlen("library_")) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; ++i) {
        found = found || strcmp(attribute->name, kept[i]) == 0;
    }
    return found;
}

// Writes both definitions of `name` if they differ.
static bb_status write_definition(const bb_comparison *pair, const char *name,
                                  const char *const texts[2], bb_text *out)
{
    bb_status status = BB_OK;
    const char *words[2];
    for (int side = 0; side < 2; ++side) {
        words[side] = texts[side] == NULL ? "not recorded" : texts[side];
    }
    if (strcmp(words[0], words[1]) != 0) {
        BB_TRY(bb_text_add(out, "definition of %s:\n  %s: %s\n  %s: %s\n", name, pair->names[0],
                           words[0], pair->names[1], words[1]));
    }
done:
    return status;
}

static bb_status write_definitions(const bb_comparison *pair, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_experiment *experiment = pair->experiment;
    const char *texts[2];
    for (int side = 0; side < 2; ++side) {
        texts[side] = bb_results_note_text(pair->results[side], "", "loss_note");
    }
    BB_TRY(write_definition(pair, "the loss", texts, out));
    for (bb_index i = 0; i < experiment->loss_count; ++i) {
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof path, "results/%s", experiment->losses[i]);
        for (int side = 0; side < 2; ++side) {
            const bb_dataset *loss = bb_results_find(pair->results[side], path);
            texts[side] = loss == NULL ? NULL : loss->long_name;
        }
        if (texts[0] != NULL &&
            texts[1] != NULL) { // otherwise it is listed as present in one file only
            BB_TRY(write_definition(pair, experiment->losses[i], texts, out));
            for (int side = 0; side < 2; ++side) {
                texts[side] = bb_results_note_text(pair->results[side], path, "definition");
            }
            BB_TRY(write_definition(pair, experiment->losses[i], texts, out));
        }
    }
done:
    return status;
}

bb_status bb_comparison_write_origins(const bb_comparison *pair, bb_text *out)
{
    bb_status status = BB_OK;
    char digests[2][BB_DIGEST_BYTES];
    BB_TRY(write_definitions(pair, out));
    for (int side = 0; side < 2; ++side) {
        BB_TRY(bb_results_digest(pair->results[side], true, digests[side]));
    }
    if (strcmp(digests[0], digests[1]) == 0) {
        BB_TRY(bb_text_add(out, "digest of all except times: %s in both\n", digests[0]));
    } else {
        BB_TRY(bb_text_add(out, "digest of all except times: %s in %s, %s in %s\n", digests[0],
                           pair->names[0], digests[1], pair->names[1]));
    }
    for (bb_index i = 0; i < bb_results_note_count(pair->results[0]); ++i) {
        const bb_attribute *attribute = bb_results_attribute(pair->results[0], i);
        const char *other = bb_results_note_text(pair->results[1], "provenance", attribute->name);
        if (is_origin(attribute) && (other == NULL || strcmp(attribute->text, other) != 0)) {
            BB_TRY(bb_text_add(out, "%s: %s in %s, %s in %s\n", attribute->name, attribute->text,
                               pair->names[0], other == NULL ? "unknown" : other, pair->names[1]));
        }
    }
done:
    return status;
}
