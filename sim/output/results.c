// SPDX-License-Identifier: Apache-2.0
#include "sim/output/results.h"

#include "core/memory.h"
#include "sim/output/cell.h"
#include "sim/output/former_name.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bb_status bb_results_sheet_path(const char *path, const char *group, char **out)
{
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".h5") == 0) {
        length -= 3;
    }
    return bb_memory_printf(out, "%.*s-%s.csv", (int)length, path, group);
}

// True if equal texts imply equal values along the axis.
static bool distinguishes_steps(const bb_dataset *axis, int digits)
{
    char before[40] = "";
    char text[40];
    for (bb_index i = 0; i < axis->count; ++i) {
        (void)snprintf(text, sizeof text, "%.*g", digits, axis->numbers[i]);
        if (i > 0 && strcmp(text, before) == 0 && axis->numbers[i] != axis->numbers[i - 1]) {
            return false;
        }
        memcpy(before, text, sizeof before);
    }
    return true;
}

// Number of digits of an axis: rounding noise in sums of steps is not shown.
static int axis_digits(const bb_dataset *axis)
{
    const int digits[] = {12, 15};
    for (size_t i = 0; i < sizeof digits / sizeof *digits; ++i) {
        if (distinguishes_steps(axis, digits[i])) {
            return digits[i];
        }
    }
    return 17;
}

static bb_status add_place(bb_text *out, double value, int digits)
{
    return isnan(value) ? bb_text_add(out, "nan") : bb_text_add(out, "%.*g", digits, value);
}

static const bb_dataset *find_axis(const bb_results *results, const char *group)
{
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        if (dataset->is_axis && !dataset->is_text && strcmp(dataset->group, group) == 0) {
            return dataset;
        }
    }
    return NULL;
}

static bool is_column(const bb_dataset *dataset, const bb_dataset *axis)
{
    return strcmp(dataset->group, axis->group) == 0 && !dataset->is_text && !dataset->is_axis &&
           dataset->rank == 1 && strcmp(dataset->axes[0], axis->name) == 0;
}

static bb_status add_line(const bb_results *results, const bb_dataset *axis, int digits,
                          bb_index row, bb_text *out)
{
    bb_status status = BB_OK;
    char number[BB_CELL_BYTES];
    BB_TRY(row < 0 ? bb_text_add(out, "%s", axis->name)
                   : add_place(out, axis->numbers[row], digits));
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        if (!is_column(dataset, axis)) {
            continue;
        }
        if (row >= 0) {
            bb_cell_exact(dataset->numbers[row], number);
        }
        BB_TRY(bb_text_add(out, ",%s", row < 0 ? dataset->name : number));
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    return status;
}

bb_status bb_results_write_sheet(const bb_results *results, const char *group, bb_text *out)
{
    bb_status status = BB_OK;
    const bb_dataset *axis = find_axis(results, group);
    const int digits = axis == NULL ? 0 : axis_digits(axis);
    for (bb_index row = -1; axis != NULL && row < axis->count; ++row) {
        BB_TRY(add_line(results, axis, digits, row, out));
    }
done:
    return status;
}

// Object used by operators, and its release function.
typedef struct kept {
    void *object;
    void (*release)(void *);
} kept;

struct bb_results {
    bb_dataset *datasets;
    bb_index dataset_count, dataset_capacity;
    bb_attribute *attributes;
    bb_index attribute_count, attribute_capacity;
    bb_operator *operators;
    bb_index operator_count, operator_capacity;
    kept *kept;
    bb_index kept_count, kept_capacity;
};

static void release_dataset(bb_dataset *dataset)
{
    for (bb_index i = 0; dataset->texts != NULL && i < dataset->count; ++i) {
        BB_RELEASE(&dataset->texts[i]);
    }
    for (int a = 0; a < BB_RESULTS_RANK; ++a) {
        BB_RELEASE(&dataset->axes[a]);
    }
    BB_RELEASE(&dataset->texts);
    BB_RELEASE(&dataset->numbers);
    BB_RELEASE(&dataset->group);
    BB_RELEASE(&dataset->name);
    BB_RELEASE(&dataset->unit);
    BB_RELEASE(&dataset->long_name);
}

static void release_attribute(bb_attribute *attribute)
{
    BB_RELEASE(&attribute->owner);
    BB_RELEASE(&attribute->name);
    BB_RELEASE(&attribute->text);
}

bb_status bb_results_create(bb_results **out)
{
    return BB_ZEROED(1, out);
}

void bb_results_destroy(bb_results **results)
{
    bb_results *all = *results;
    if (all != NULL) {
        for (bb_index i = 0; i < all->dataset_count; ++i) {
            release_dataset(&all->datasets[i]);
        }
        for (bb_index i = 0; i < all->attribute_count; ++i) {
            release_attribute(&all->attributes[i]);
        }
        for (bb_index i = 0; i < all->operator_count; ++i) {
            BB_RELEASE(&all->operators[i].name);
            BB_RELEASE(&all->operators[i].long_name);
        }
        for (bb_index i = all->kept_count; i > 0; --i) {
            all->kept[i - 1].release(all->kept[i - 1].object);
        }
        BB_RELEASE(&all->datasets);
        BB_RELEASE(&all->attributes);
        BB_RELEASE(&all->operators);
        BB_RELEASE(&all->kept);
    }
    BB_RELEASE(results);
}

static bb_status make_room(bb_index count, bb_index *capacity, size_t bytes, void **items)
{
    bb_status status = BB_OK;
    if (count == *capacity) {
        BB_TRY(bb_memory_resize(2 * count + 16, bytes, items));
        *capacity = 2 * count + 16;
    }
done:
    return status;
}

// Index by group and name, -1 if absent.
static bb_index locate(const bb_results *results, const char *group, const char *name)
{
    for (bb_index i = 0; i < results->dataset_count; ++i) {
        const bb_dataset *dataset = &results->datasets[i];
        if (strcmp(dataset->group, group) == 0 && strcmp(dataset->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool is_word(const char *text)
{
    bool good = isalpha((unsigned char)text[0]) != 0;
    for (const char *c = text; *c != '\0'; ++c) {
        good = good && (isalnum((unsigned char)*c) || *c == '_');
    }
    return good;
}

static bb_status split_path(const char *path, char **group, char **name)
{
    bb_status status = BB_OK;
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 0 : (int)(slash - path);
    BB_TRY(bb_memory_printf(group, "%.*s", length, path));
    BB_TRY(bb_memory_text(slash == NULL ? path : slash + 1, name));
    BB_REQUIRE(is_word(*name) && (length == 0 || is_word(*group)), BB_INVALID,
               "result '%s': expected name or group/name with letters, digits and _", path);
done:
    return status;
}

// Finds names and lengths of the axes in "pipeline, target".
static bb_status resolve_axes(const bb_results *results, const char *axes, bb_dataset *dataset)
{
    bb_status status = BB_OK;
    const char *rest = axes + strspn(axes, ", ");
    dataset->count = 1;
    while (*rest != '\0') {
        size_t length = strcspn(rest, ", ");
        BB_REQUIRE(dataset->rank < BB_RESULTS_RANK, BB_INVALID,
                   "result '%s' has axes '%s', expected at most %d", dataset->name, axes,
                   BB_RESULTS_RANK);
        BB_TRY(bb_memory_printf(&dataset->axes[dataset->rank], "%.*s", (int)length, rest));
        bb_index axis = locate(results, dataset->group, dataset->axes[dataset->rank]);
        if (axis < 0) {
            axis = locate(results, "", dataset->axes[dataset->rank]);
        }
        BB_REQUIRE(axis >= 0 && results->datasets[axis].is_axis, BB_INVALID,
                   "result '%s': no axis '%s' in its group or the root", dataset->name,
                   dataset->axes[dataset->rank]);
        dataset->shape[dataset->rank] = results->datasets[axis].count;
        dataset->count *= results->datasets[axis].count;
        ++dataset->rank;
        rest += length;
        rest += strspn(rest, ", ");
    }
done:
    return status;
}

static bb_status copy_data(bb_dataset *dataset, const void *data)
{
    bb_status status = BB_OK;
    const double *numbers = data;
    const char *const *texts = data;
    if (dataset->is_text) {
        BB_TRY(BB_ZEROED(dataset->count, &dataset->texts));
        for (bb_index i = 0; i < dataset->count; ++i) {
            const char *text = texts == NULL || texts[i] == NULL ? "" : texts[i];
            BB_TRY(bb_memory_text(text, &dataset->texts[i]));
        }
        goto done;
    }
    BB_TRY(BB_ALLOCATE(dataset->count, &dataset->numbers));
    for (bb_index i = 0; i < dataset->count; ++i) {
        dataset->numbers[i] = numbers == NULL ? NAN : numbers[i];
    }
done:
    return status;
}

bb_status bb_results_add(bb_results *results, const char *path, const bb_results_form *form,
                         const void *data)
{
    bb_status status = BB_OK;
    bb_dataset draft = {.is_axis = form->axes == NULL,
                        .is_text = form->unit == NULL,
                        .measured = form->measured && form->axes != NULL && form->unit != NULL,
                        .count = form->count};
    BB_TRY(split_path(path, &draft.group, &draft.name));
    BB_REQUIRE(locate(results, draft.group, draft.name) < 0, BB_INVALID,
               "result '%s' exists already", path);
    BB_TRY(bb_memory_text(draft.is_text ? "" : form->unit, &draft.unit));
    BB_TRY(bb_memory_text(form->long_name, &draft.long_name));
    if (draft.is_axis) {
        BB_REQUIRE(draft.count > 0, BB_INVALID, "axis '%s' has %td items, expected at least one",
                   path, draft.count);
        draft.rank = 1;
        draft.shape[0] = draft.count;
        BB_TRY(bb_memory_text(draft.name, &draft.axes[0]));
    } else {
        BB_TRY(resolve_axes(results, form->axes, &draft));
    }
    BB_TRY(copy_data(&draft, data));
    BB_TRY(make_room(results->dataset_count, &results->dataset_capacity, sizeof draft,
                     (void **)&results->datasets));
    results->datasets[results->dataset_count++] = draft;
    memset(&draft, 0, sizeof draft);
done:
    release_dataset(&draft);
    return status;
}

static bb_index locate_path(const bb_results *results, const char *path)
{
    for (bb_index i = 0; i < results->dataset_count; ++i) {
        const bb_dataset *dataset = &results->datasets[i];
        size_t length = strlen(dataset->group);
        const char *name = length == 0 ? path : path + length + 1;
        bool inside =
            length == 0 || (strncmp(path, dataset->group, length) == 0 && path[length] == '/');
        if (inside && strcmp(name, dataset->name) == 0) {
            return i;
        }
    }
    return -1;
}

bb_status bb_results_coordinate(bb_results *results, const char *path)
{
    bb_status status = BB_OK;
    const bb_index place = locate_path(results, path);
    BB_REQUIRE(place >= 0 && !results->datasets[place].is_axis && results->datasets[place].rank > 0,
               BB_INVALID,
               "coordinate '%s': expected a dataset with axes that is not an axis itself", path);
    results->datasets[place].is_coordinate = true;
done:
    return status;
}

const bb_dataset *bb_results_find(const bb_results *results, const char *path)
{
    bb_index index = locate_path(results, path);
    return index < 0 ? NULL : &results->datasets[index];
}

const bb_dataset *bb_results_in(const bb_results *results, const char *group, const char *name)
{
    const bb_index index = locate(results, group, name);
    return index < 0 ? NULL : &results->datasets[index];
}

// True if another dataset of the group, or of any group for a root axis, uses the axis.
static bool is_in_use(const bb_results *results, const bb_dataset *axis)
{
    for (bb_index i = 0; axis->is_axis && i < results->dataset_count; ++i) {
        const bb_dataset *other = &results->datasets[i];
        const bool is_near = axis->group[0] == '\0' || strcmp(other->group, axis->group) == 0;
        for (int a = 0; other != axis && is_near && a < other->rank; ++a) {
            if (strcmp(other->axes[a], axis->name) == 0) {
                return true;
            }
        }
    }
    return false;
}

bb_status bb_results_drop(bb_results *results, const char *path)
{
    bb_status status = BB_OK;
    const bb_index place = locate_path(results, path);
    BB_REQUIRE(place >= 0, BB_INVALID, "no result '%s'", path);
    BB_REQUIRE(!is_in_use(results, &results->datasets[place]), BB_INVALID,
               "axis '%s' is used by other results", path);
    release_dataset(&results->datasets[place]);
    --results->dataset_count;
    memmove(&results->datasets[place], &results->datasets[place + 1],
            (size_t)(results->dataset_count - place) * sizeof *results->datasets);
done:
    return status;
}

bb_status bb_results_update_names(bb_results *results)
{
    bb_status status = BB_OK;
    char *name = NULL;
    for (bb_index i = 0; i < results->dataset_count; ++i) {
        bb_dataset *dataset = &results->datasets[i];
        const char *current = bb_former_name_current(dataset->name);
        if (current == dataset->name) {
            continue;
        }
        BB_REQUIRE(locate(results, dataset->group, current) < 0, BB_INVALID,
                   "'%s/%s' and '%s/%s' are the same result", dataset->group, dataset->name,
                   dataset->group, current);
        BB_TRY(bb_memory_text(current, &name));
        BB_RELEASE(&dataset->name);
        dataset->name = name;
        name = NULL;
    }
done:
    return status;
}

static bb_attribute *find_attribute(const bb_results *results, const char *owner, const char *name)
{
    for (bb_index i = 0; i < results->attribute_count; ++i) {
        bb_attribute *attribute = &results->attributes[i];
        if (strcmp(attribute->owner, owner) == 0 && strcmp(attribute->name, name) == 0) {
            return attribute;
        }
    }
    return NULL;
}

static bb_status add_attribute(bb_results *results, const char *owner, const char *name,
                               const char *text, double number)
{
    bb_status status = BB_OK;
    bb_attribute draft = {.number = number};
    BB_TRY(bb_memory_text(owner, &draft.owner));
    BB_TRY(bb_memory_text(name, &draft.name));
    if (text != NULL) {
        BB_TRY(bb_memory_text(text, &draft.text));
    }
    bb_attribute *old = find_attribute(results, owner, name);
    if (old == NULL) {
        BB_TRY(make_room(results->attribute_count, &results->attribute_capacity, sizeof draft,
                         (void **)&results->attributes));
        old = &results->attributes[results->attribute_count++];
        memset(old, 0, sizeof *old);
    }
    release_attribute(old);
    *old = draft;
    memset(&draft, 0, sizeof draft);
done:
    release_attribute(&draft);
    return status;
}

bb_status bb_results_note(bb_results *results, const char *group, const char *name,
                          const char *text)
{
    return add_attribute(results, group, name, text, NAN);
}

bb_status bb_results_note_number(bb_results *results, const char *group, const char *name,
                                 double number)
{
    return add_attribute(results, group, name, NULL, number);
}

const char *bb_results_note_text(const bb_results *results, const char *group, const char *name)
{
    const bb_attribute *attribute = find_attribute(results, group, name);
    return attribute == NULL ? NULL : attribute->text;
}

bb_index bb_results_count(const bb_results *results)
{
    return results->dataset_count;
}

const bb_dataset *bb_results_dataset(const bb_results *results, bb_index index)
{
    return &results->datasets[index];
}

bb_index bb_results_note_count(const bb_results *results)
{
    return results->attribute_count;
}

const bb_attribute *bb_results_attribute(const bb_results *results, bb_index index)
{
    return &results->attributes[index];
}

bb_status bb_results_operator(bb_results *results, const char *name, const char *long_name,
                              const bb_matrix_source *source)
{
    return bb_results_stored_operator(results, name, long_name, source, (bb_operator_storage){0});
}

bb_status bb_results_stored_operator(bb_results *results, const char *name, const char *long_name,
                                     const bb_matrix_source *source, bb_operator_storage storage)
{
    bb_status status = BB_OK;
    bb_operator draft = {.source = source, .storage = storage};
    BB_REQUIRE(storage.tolerance == 0.0 || (storage.tolerance > 0.0 && storage.mesh_columns > 0 &&
                                            source->columns % storage.mesh_columns == 0),
               BB_INVALID,
               "operator '%s': tolerance %g with %td mesh columns does not fit %td columns", name,
               storage.tolerance, storage.mesh_columns, source->columns);
    BB_REQUIRE(is_word(name), BB_INVALID, "operator '%s': expected letters, digits and _", name);
    for (bb_index i = 0; i < results->operator_count; ++i) {
        BB_REQUIRE(strcmp(results->operators[i].name, name) != 0, BB_INVALID,
                   "operator '%s' exists already", name);
    }
    BB_TRY(bb_memory_text(name, &draft.name));
    BB_TRY(bb_memory_text(long_name, &draft.long_name));
    BB_TRY(make_room(results->operator_count, &results->operator_capacity, sizeof draft,
                     (void **)&results->operators));
    results->operators[results->operator_count++] = draft;
    draft = (bb_operator){0};
done:
    BB_RELEASE(&draft.name);
    BB_RELEASE(&draft.long_name);
    return status;
}

void bb_results_operator_metadata(bb_results *results, const bb_matrix_metadata *metadata)
{
    results->operators[results->operator_count - 1].metadata = *metadata;
}

bb_status bb_results_own(bb_results *results, void *object, void (*release)(void *))
{
    bb_status status = BB_OK;
    BB_TRY(make_room(results->kept_count, &results->kept_capacity, sizeof *results->kept,
                     (void **)&results->kept));
    results->kept[results->kept_count++] = (kept){object, release};
done:
    if (status != BB_OK) {
        release(object);
    }
    return status;
}

bb_index bb_results_operator_count(const bb_results *results)
{
    return results->operator_count;
}

const bb_operator *bb_results_operator_at(const bb_results *results, bb_index index)
{
    return &results->operators[index];
}

static void digest_text(bb_digest *digest, const char *text)
{
    bb_digest_add(digest, text, strlen(text) + 1);
}

static void digest_dataset(bb_digest *digest, const bb_dataset *dataset)
{
    digest_text(digest, dataset->name);
    digest_text(digest, dataset->unit);
    for (int a = 0; a < dataset->rank; ++a) {
        uint64_t size = (uint64_t)dataset->shape[a];
        bb_digest_add(digest, &size, sizeof size);
        digest_text(digest, dataset->axes[a]);
    }
    for (bb_index i = 0; dataset->is_text && i < dataset->count; ++i) {
        digest_text(digest, dataset->texts[i]);
    }
    if (!dataset->is_text && dataset->count > 0) {
        bb_digest_add_values(digest, dataset->numbers, dataset->count);
    }
}

// Name following `last` in alphabetical order, NULL at the end: digests must not depend on the
// order of writing.
static const bb_dataset *next_by_name(const bb_results *results, const char *last)
{
    const bb_dataset *next = NULL;
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *candidate = bb_results_dataset(results, i);
        if (strcmp(candidate->group, "results") != 0 ||
            (last != NULL && strcmp(candidate->name, last) <= 0)) {
            continue;
        }
        // Every dataset has a name. NOLINTNEXTLINE(clang-analyzer-core.*)
        if (next == NULL || strcmp(candidate->name, next->name) < 0) {
            next = candidate;
        }
    }
    return next;
}

bb_status bb_results_digest(const bb_results *results, bool reproducible_only,
                            char out[BB_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    bb_digest *digest = NULL;
    BB_TRY(bb_digest_create(&digest));
    const bb_dataset *dataset = next_by_name(results, NULL);
    while (dataset != NULL) {
        if (!reproducible_only || !dataset->measured) {
            digest_dataset(digest, dataset);
        }
        dataset = next_by_name(results, dataset->name);
    }
    bb_digest_text(digest, out);
done:
    bb_digest_destroy(&digest);
    return status;
}
