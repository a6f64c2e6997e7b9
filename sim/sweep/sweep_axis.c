// SPDX-License-Identifier: Apache-2.0
//
// Axes and exclusions of a sweep: bb_sweep_axes_read, bb_sweep_exclusions_read and the values of
// points.
#include "sim/config/binding.h"
#include "sim/config/scalar.h"
#include "sim/input/csv_table.h"
#include "sim/sweep/sweep.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Axis of a key; -1 if it is not swept.
static bb_index find_axis(const bb_sweep_axes *axes, const char *path, const bb_sweep_key **out)
{
    for (bb_index a = 0; a < axes->count; ++a) {
        for (bb_index k = 0; k < axes->axes[a].key_count; ++k) {
            const char *other = axes->axes[a].keys[k].path; // NULL: not yet read
            if (other != NULL && strcmp(other, path) == 0) {
                *out = &axes->axes[a].keys[k];
                return a;
            }
        }
    }
    return -1;
}

// True if value `index` of a key matches a rule: {from, to}, or a value.
static bb_status match(const bb_sweep_key *key, bb_index index, const bb_node *rule, bool *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    double number = NAN;
    bb_sweep_range range;
    if (rule->kind == BB_NODE_MAP && key->numbers != NULL && bb_sweep_range_read(rule, &range)) {
        *out = key->numbers[index] >= fmin(range.first, range.last) &&
               key->numbers[index] <= fmax(range.first, range.last);
        goto done;
    }
    BB_TRY(bb_node_write(rule, &text));
    *out = strcmp(bb_text_string(&text), key->texts[index]) == 0 ||
           (key->numbers != NULL && bb_scalar_double(bb_text_string(&text), &number) &&
            number == key->numbers[index]);
done:
    bb_text_release(&text);
    return status;
}

static bb_status read_key(bb_arena *arena, const bb_sweep_axes *axes, const bb_node *node,
                          bb_problems *problems, bb_sweep_exclusion_key *out)
{
    bb_status status = BB_OK;
    const bb_sweep_key *key = NULL;
    bool any = false;
    out->axis = find_axis(axes, node->key, &key);
    if (out->axis < 0) {
        return bb_problems_add(problems, node->key_place, "sweep: exclude: %s is not swept",
                               node->key);
    }
    const bb_index count = axes->axes[out->axis].count;
    BB_TRY(bb_arena_zeroed(arena, count, sizeof *out->matches, (void **)&out->matches));
    for (bb_index i = 0; i < count; ++i) {
        if (node->kind == BB_NODE_LIST) {
            for (const bb_node *item = node->first; item != NULL && !out->matches[i];
                 item = item->next) {
                BB_TRY(match(key, i, item, &out->matches[i]));
            }
        } else {
            BB_TRY(match(key, i, node, &out->matches[i]));
        }
        any = any || out->matches[i];
    }
    if (!any) {
        BB_TRY(bb_problems_add(problems, node->place, "sweep: exclude: %s has none of these values",
                               node->key));
    }
done:
    return status;
}

bb_status bb_sweep_exclusions_read(bb_arena *arena, const bb_sweep_axes *axes, const bb_node *list,
                                   bb_problems *problems, bb_sweep_exclusions *out)
{
    bb_status status = BB_OK;
    *out = (bb_sweep_exclusions){0};
    if (list == NULL) {
        goto done;
    }
    if (list->kind != BB_NODE_LIST || list->count > BB_SWEEP_EXCLUSIONS) {
        return bb_problems_add(problems, list->place,
                               "sweep: exclude: expected a list of at most %d maps {key: value}",
                               BB_SWEEP_EXCLUSIONS);
    }
    for (const bb_node *rule = list->first; rule != NULL; rule = rule->next) {
        bb_sweep_exclusion *exclusion = &out->rules[out->count];
        if (rule->kind != BB_NODE_MAP || rule->count == 0) {
            BB_TRY(bb_problems_add(problems, rule->place,
                                   "sweep: exclude: expected a map {key: value}"));
            continue;
        }
        BB_TRY(bb_arena_zeroed(arena, rule->count, sizeof *exclusion->keys,
                               (void **)&exclusion->keys));
        for (const bb_node *node = rule->first; node != NULL; node = node->next) {
            BB_TRY(read_key(arena, axes, node, problems, &exclusion->keys[exclusion->count]));
            ++exclusion->count;
        }
        ++out->count;
    }
done:
    return status;
}

// Context of all functions that read a map.
typedef struct reader {
    bb_arena *arena;
    const bb_sweep_subjects *subjects;
    bb_problems *problems;
    bb_sweep_axes *axes;
} reader;

static bb_status refuse(const reader *input, const bb_node *node, const char *what,
                        const char *expected)
{
    return bb_problems_add(input->problems, node->place, "sweep: %s: expected %s", what, expected);
}

// Adds an axis; NULL if the limit is reached.
static bb_status add_axis(reader *input, const bb_node *node, const char *name, bb_index count,
                          bb_index keys, bb_sweep_axis **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    if (input->axes->count == BB_SWEEP_AXES) {
        return bb_problems_add(input->problems, node->place, "sweep: more than %d axes",
                               BB_SWEEP_AXES);
    }
    bb_sweep_axis *axis = &input->axes->axes[input->axes->count];
    *axis = (bb_sweep_axis){.name = name, .place = node->place, .count = count, .key_count = keys};
    BB_TRY(bb_arena_zeroed(input->arena, keys, sizeof *axis->keys, (void **)&axis->keys));
    ++input->axes->count;
    *out = axis;
done:
    return status;
}

static bb_status open_key(const reader *input, const bb_node *node, bb_index count,
                          bb_sweep_key *key)
{
    bb_status status = BB_OK;
    const bb_sweep_key *other = NULL;
    if (find_axis(input->axes, node->key, &other) >= 0) {
        BB_TRY(refuse(input, node, node->key, "each key only once"));
    }
    if (strcmp(node->key, "experiment") == 0 || strcmp(node->key, "title") == 0 ||
        strcmp(node->key, "device") == 0) { // the device belongs to the plan: --device
        BB_TRY(refuse(input, node, node->key, "a key that affects the results"));
    }
    key->path = node->key;
    key->key = bb_binding_find(input->subjects->schema, node->key);
    BB_TRY(bb_arena_zeroed(input->arena, count, sizeof *key->texts, (void **)&key->texts));
    BB_TRY(bb_arena_zeroed(input->arena, count, sizeof *key->numbers, (void **)&key->numbers));
done:
    return status;
}

// Sets a generated value: an integer if the key is one.
static bb_status set_number(const reader *input, bb_sweep_key *key, bb_index index, double value)
{
    char digits[BB_SCALAR_BYTES];
    const bool integer = key->key != NULL && key->key->kind == BB_KEY_INTEGER;
    if (integer && fabs(value) < 9e15 && value == rint(value)) {
        (void)snprintf(digits, sizeof digits, "%lld", (long long)value);
    } else {
        bb_scalar_print(value, digits);
    }
    key->numbers[index] = value;
    return bb_arena_text(input->arena, digits, strlen(digits), &key->texts[index]);
}

// True if two values are equal, regardless of their notation.
static bool equal_values(const bb_sweep_key *key, bb_index i, bb_index j)
{
    if (strcmp(key->texts[i], key->texts[j]) == 0) {
        return true;
    }
    return key->numbers != NULL && key->numbers[i] == key->numbers[j];
}

// Refuses an invalid value at its place, for a table at its cell.
static bb_status check_number(const reader *input, const bb_node *item, const bb_sweep_key *key)
{
    bb_status status = BB_OK;
    bb_text expected = {0};
    double number = 0.0;
    const bool numeric =
        key->key != NULL && (key->key->kind == BB_KEY_DOUBLE || key->key->kind == BB_KEY_INTEGER);
    const bool is_word = numeric && key->key->word != NULL && item->kind == BB_NODE_SCALAR &&
                         strcmp(item->text, key->key->word) == 0;
    if (numeric && !is_word &&
        (item->kind != BB_NODE_SCALAR || item->quoted || !bb_scalar_double(item->text, &number))) {
        BB_TRY(bb_binding_expectation(key->key, &expected));
        BB_TRY(bb_problems_add(input->problems, item->place, "sweep: %s%s%.60s: expected %s",
                               key->path, item->kind == BB_NODE_SCALAR ? " = " : "",
                               item->kind == BB_NODE_SCALAR ? item->text : "",
                               bb_text_string(&expected)));
    }
done:
    bb_text_release(&expected);
    return status;
}

static bb_status set_values(const reader *input, const bb_node *list, bb_sweep_key *key)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    bool numbers = true;
    bb_index index = 0;
    for (const bb_node *item = list->first; item != NULL; item = item->next, ++index) {
        BB_TRY(check_number(input, item, key));
        text.length = 0;
        BB_TRY(bb_node_write(item, &text));
        BB_TRY(bb_arena_text(input->arena, bb_text_string(&text), (size_t)text.length,
                             &key->texts[index]));
        numbers = numbers && item->kind == BB_NODE_SCALAR && !item->quoted &&
                  bb_scalar_double(item->text, &key->numbers[index]);
    }
    if (!numbers) {
        key->numbers = NULL;
    }
done:
    bb_text_release(&text);
    return status;
}

// Value i of a geometric or linear series in short notation, such as 0.3333 and 1.29e-05, within a
// thousandth of the distance to the previous value. The ends are exact.
static double ladder_value(const bb_sweep_range *range, bb_index steps, bb_index i)
{
    const double value = bb_sweep_range_value(range, (double)i / (double)(steps - 1));
    if (i == 0 || i == steps - 1) {
        return value;
    }
    const double before = bb_sweep_range_value(range, (double)(i - 1) / (double)(steps - 1));
    return bb_sweep_range_tidy(value, 5e-4 * fabs(value - before));
}

// Reads {from, to, step}, {from, to, count} or {from, to, log}: the values, NULL after a problem.
static bb_status read_range(const reader *input, const bb_node *map, double **out, bb_index *count)
{
    bb_status status = BB_OK;
    double step = NAN;
    bb_sweep_range range = {0};
    bb_index steps = 0;
    *out = NULL;
    *count = 0;
    const bb_node *by_step = bb_node_member(map, "step");
    const bb_node *by_count = bb_node_member(map, "count");
    const bb_node *by_log = bb_node_member(map, "log");
    const bb_node *number = by_step != NULL ? by_step : by_count != NULL ? by_count : by_log;
    const bool sound = bb_sweep_range_read(map, &range) && map->count == 3 && number != NULL &&
                       number->kind == BB_NODE_SCALAR &&
                       (by_step != NULL ? bb_scalar_double(number->text, &step)
                                        : bb_scalar_integer(number->text, &steps));
    if (sound && by_step != NULL && step != 0.0) {
        const double ratio = (range.last - range.first) / step;
        steps = ratio >= 0.0 && ratio < 1e15 && fabs(ratio - rint(ratio)) < 1e-6
                    ? (bb_index)rint(ratio) + 1
                    : 0;
    }
    range.logarithmic = by_log != NULL;
    if (!sound || steps < 2 || steps > BB_SWEEP_AXIS_VALUES ||
        (range.logarithmic && !(range.first > 0.0 && range.last > 0.0))) {
        return refuse(input, map, map->key,
                      "a list, or {from: A, to: B} with step: S that divides the range, or with "
                      "count: N or log: N of at least 2 values (log of positive ones)");
    }
    BB_TRY(bb_arena_zeroed(input->arena, steps, sizeof **out, (void **)out));
    for (bb_index i = 0; i < steps; ++i) {
        (*out)[i] = by_step != NULL
                        ? bb_sweep_range_tidy(range.first + (double)i * step,
                                              1e-9 * fmax(fabs(step), fabs(range.first)))
                        : ladder_value(&range, steps, i);
    }
    *count = steps;
done:
    return status;
}

static bb_status check_values(const reader *input, const bb_node *node, const bb_sweep_key *key,
                              bb_index count)
{
    bb_status status = BB_OK;
    if (count > 2000) {
        goto done; // values of a series come from a formula
    }
    for (bb_index i = 1; i < count; ++i) {
        for (bb_index j = 0; j < i; ++j) {
            if (equal_values(key, i, j)) {
                BB_TRY(bb_problems_add(input->problems, node->place,
                                       "sweep: %s: value %s is given twice", key->path,
                                       key->texts[i]));
                goto done;
            }
        }
    }
done:
    return status;
}

// Reads a key with a list or a range as an axis.
static bb_status read_axis(reader *input, const bb_node *node)
{
    bb_status status = BB_OK;
    bb_sweep_axis *axis = NULL;
    double *values = NULL;
    bb_index count = 0;
    if (node->kind == BB_NODE_MAP) {
        BB_TRY(read_range(input, node, &values, &count));
    } else if (node->kind == BB_NODE_LIST && node->count > 0 &&
               node->count <= BB_SWEEP_AXIS_VALUES) {
        count = node->count;
    } else {
        BB_TRY(refuse(input, node, node->key, "a list of values or a range {from, to, step}"));
    }
    if (count == 0) {
        goto done;
    }
    BB_TRY(add_axis(input, node, NULL, count, 1, &axis));
    if (axis == NULL) {
        goto done;
    }
    BB_TRY(open_key(input, node, count, &axis->keys[0]));
    if (values == NULL) {
        BB_TRY(set_values(input, node, &axis->keys[0]));
    }
    for (bb_index i = 0; values != NULL && i < count; ++i) {
        BB_TRY(set_number(input, &axis->keys[0], i, values[i]));
    }
    BB_TRY(check_values(input, node, &axis->keys[0], count));
done:
    return status;
}

// Reads {key: [values], key: [values]}, all of one length.
static bb_status read_zip(reader *input, const bb_node *map, const char *name)
{
    bb_status status = BB_OK;
    bb_sweep_axis *axis = NULL;
    const bb_node *first = map->first;
    bool sound = map->kind == BB_NODE_MAP && first != NULL && first->count > 0 &&
                 first->count <= BB_SWEEP_AXIS_VALUES;
    for (const bb_node *node = first; sound && node != NULL; node = node->next) {
        sound = node->kind == BB_NODE_LIST && node->count == first->count;
    }
    if (!sound) {
        return refuse(input, map, map->key, "lists of equal length, {key: [1, 2], key: [3, 4]}");
    }
    BB_TRY(add_axis(input, map, name, first->count, map->count, &axis));
    bb_index index = 0;
    for (const bb_node *node = first; axis != NULL && node != NULL; node = node->next, ++index) {
        BB_TRY(open_key(input, node, axis->count, &axis->keys[index]));
        BB_TRY(set_values(input, node, &axis->keys[index]));
    }
done:
    return status;
}

// Reads {samples: N, seed: S, keys: {key: {from, to}}}, a space-filling plan.
static bb_status read_samples(reader *input, const bb_node *map, bool sobol)
{
    bb_status status = BB_OK;
    bb_sweep_axis *axis = NULL;
    bb_index samples = 0;
    bb_index seed = sobol ? 0 : 1;
    const bb_node *number = bb_node_member(map, "samples");
    const bb_node *start = bb_node_member(map, "seed");
    const bb_node *keys = bb_node_member(map, "keys");
    bool sound = number != NULL && number->kind == BB_NODE_SCALAR &&
                 bb_scalar_integer(number->text, &samples) && samples >= 1 &&
                 samples <= BB_SWEEP_AXIS_VALUES && keys != NULL && keys->kind == BB_NODE_MAP &&
                 keys->count >= 1 && keys->count <= BB_SWEEP_DIMENSIONS &&
                 (start == NULL || (start->kind == BB_NODE_SCALAR &&
                                    bb_scalar_integer(start->text, &seed) && seed >= 0)) &&
                 map->count == 2 + (start != NULL);
    for (const bb_node *node = sound ? keys->first : NULL; sound && node != NULL;
         node = node->next) {
        bb_sweep_range range;
        const bb_node *log = bb_node_member(node, "log");
        sound = bb_sweep_range_read(node, &range) && node->count == 2 + (log != NULL) &&
                (log == NULL || (range.logarithmic && range.first > 0.0 && range.last > 0.0));
    }
    if (!sound) {
        return refuse(input, map, map->key,
                      "{samples: N, seed: S, keys: {key: {from: A, to: B}}}, log: true in a key");
    }
    BB_TRY(add_axis(input, map, sobol ? "sobol" : "lhs", samples, keys->count, &axis));
    if (axis == NULL) {
        goto done;
    }
    const bb_sweep_samples plan = {sobol, samples, keys->count, (uint64_t)seed};
    bb_index index = 0;
    for (const bb_node *node = keys->first; node != NULL; node = node->next, ++index) {
        bb_sweep_range range;
        bb_sweep_key *key = &axis->keys[index];
        double *shares = NULL;
        (void)bb_sweep_range_read(node, &range);
        BB_TRY(open_key(input, node, samples, key));
        BB_TRY(bb_arena_zeroed(input->arena, samples, sizeof *shares, (void **)&shares));
        BB_TRY(bb_sweep_samples_draw(&plan, index, shares));
        const bool integer = key->key != NULL && key->key->kind == BB_KEY_INTEGER;
        for (bb_index i = 0; i < samples; ++i) {
            const double value = bb_sweep_range_value(&range, shares[i]);
            BB_TRY(set_number(input, key, i, integer ? rint(value) : value));
        }
    }
done:
    return status;
}

// Converts a table file to the map of a zip.
static bb_status load_table(const reader *input, bb_node *sweep, bb_node **table)
{
    bb_status status = BB_OK;
    bb_csv_table *file = NULL;
    bb_node *map = NULL;
    const char *path = NULL;
    BB_TRY(bb_node_path(input->arena, *table, &path));
    BB_TRY(bb_csv_table_read(path, &file));
    BB_TRY(bb_node_make(input->arena, BB_NODE_MAP, (*table)->place, &map));
    map->key_place = (*table)->key_place;
    for (bb_index c = 0; c < file->column_count; ++c) {
        const bb_csv_cell *name = &file->names[c];
        bb_node *list = NULL;
        const bb_place place = {path, name->line, name->column};
        BB_TRY(bb_node_make(input->arena, BB_NODE_LIST, place, &list));
        BB_TRY(bb_arena_text(input->arena, name->text, strlen(name->text), &list->key));
        bb_node **link = &list->first;
        for (bb_index r = 0; r < file->row_count; ++r) {
            const bb_csv_cell *cell = bb_csv_table_cell(file, r, c);
            BB_TRY(bb_node_make(input->arena, BB_NODE_SCALAR,
                                (bb_place){path, cell->line, cell->column}, link));
            (*link)->quoted =
                strchr(cell->text, '#') != NULL; // otherwise YAML reads it as a comment
            BB_TRY(bb_arena_text(input->arena, cell->text, strlen(cell->text), &(*link)->text));
            link = &(*link)->next;
        }
        list->count = file->row_count;
        bb_node_append(map, list);
    }
    bb_node_replace(sweep, *table, map);
    *table = map;
done:
    bb_csv_table_destroy(&file);
    return status;
}

// Reads `1..16`, or a list.
static bb_status read_seeds(reader *input, const bb_node *node)
{
    bb_status status = BB_OK;
    bb_sweep_axis *axis = NULL;
    bb_index first = 0;
    bb_index last = -1;
    bb_node key = *node;
    key.key = "seed";
    char start[BB_SCALAR_BYTES];
    const char *dots = node->kind == BB_NODE_SCALAR ? strstr(node->text, "..") : NULL;
    if (node->kind == BB_NODE_LIST) {
        return read_axis(input, &key);
    }
    if (dots != NULL && dots - node->text < (ptrdiff_t)sizeof start) {
        (void)snprintf(start, sizeof start, "%.*s", (int)(dots - node->text), node->text);
        if (!bb_scalar_integer(start, &first) || !bb_scalar_integer(dots + 2, &last)) {
            last = -1;
        }
    }
    if (first < 0 || last < first || last - first >= BB_SWEEP_AXIS_VALUES) {
        return refuse(input, node, node->key, "1..16 or a list of integers");
    }
    BB_TRY(add_axis(input, node, NULL, last - first + 1, 1, &axis));
    if (axis != NULL) {
        BB_TRY(open_key(input, &key, axis->count, &axis->keys[0]));
        for (bb_index i = 0; i < axis->count; ++i) {
            BB_TRY(set_number(input, &axis->keys[0], i, (double)(first + i)));
        }
    }
done:
    return status;
}

static bb_status read_one(reader *input, bb_node *sweep, bb_node *node)
{
    bb_status status = BB_OK;
    if (strcmp(node->key, "axes") == 0) {
        if (node->kind != BB_NODE_MAP || node->count == 0) {
            return refuse(input, node, node->key, "a map of keys and their values");
        }
        for (const bb_node *axis = node->first; axis != NULL; axis = axis->next) {
            BB_TRY(read_axis(input, axis));
        }
    } else if (strcmp(node->key, "zip") == 0) {
        BB_TRY(read_zip(input, node, "zip"));
    } else if (strcmp(node->key, "table") == 0) {
        if (node->kind == BB_NODE_SCALAR) {
            BB_TRY(load_table(input, sweep, &node));
        }
        BB_TRY(read_zip(input, node, "condition"));
    } else if (strcmp(node->key, "lhs") == 0 || strcmp(node->key, "sobol") == 0) {
        BB_TRY(read_samples(input, node, node->key[0] == 's'));
    } else if (strcmp(node->key, "seeds") == 0) {
        BB_TRY(read_seeds(input, node));
    }
done:
    return status;
}

// Name of a coordinate: the last part of the path, or all of it.
static bb_status coordinate_name(const reader *input, const char *path, bool full, const char **out)
{
    bb_status status = BB_OK;
    char *text = NULL;
    const char *dot = strrchr(path, '.');
    const char *start = full || dot == NULL ? path : dot + 1;
    BB_TRY(bb_arena_zeroed(input->arena, (bb_index)strlen(start) + 1, 1, (void **)&text));
    for (size_t i = 0; start[i] != '\0'; ++i) {
        text[i] = isalnum((unsigned char)start[i]) ? start[i] : '_';
    }
    *out = text;
done:
    return status;
}

static bool same_end(const char *a, const char *b)
{
    const char *dot_a = strrchr(a, '.');
    const char *dot_b = strrchr(b, '.');
    return strcmp(dot_a == NULL ? a : dot_a + 1, dot_b == NULL ? b : dot_b + 1) == 0;
}

static bb_status name_keys(const reader *input)
{
    bb_status status = BB_OK;
    for (bb_index a = 0; a < input->axes->count; ++a) {
        bb_sweep_axis *axis = &input->axes->axes[a];
        for (bb_index k = 0; k < axis->key_count; ++k) {
            BB_TRY(coordinate_name(input, axis->keys[k].path, false, &axis->keys[k].name));
            bool clash = input->subjects->is_taken(input->subjects->context, axis->keys[k].name);
            for (bb_index b = 0; b < input->axes->count; ++b) {
                const bb_sweep_axis *other = &input->axes->axes[b];
                for (bb_index l = 0; l < other->key_count; ++l) {
                    clash = clash || ((a != b || k != l) &&
                                      same_end(axis->keys[k].path, other->keys[l].path));
                }
            }
            BB_TRY(coordinate_name(input, axis->keys[k].path, clash, &axis->keys[k].name));
        }
        // A key that varies alone is an axis, also in a table or a sample.
        axis->name = axis->key_count == 1 ? axis->keys[0].name : axis->name;
    }
done:
    return status;
}

bb_status bb_sweep_axes_read(bb_arena *arena, const bb_sweep_subjects *subjects, bb_node *sweep,
                             const bb_node *search, bb_problems *problems, bb_sweep_axes *out)
{
    bb_status status = BB_OK;
    reader input = {arena, subjects, problems, out};
    *out = (bb_sweep_axes){0};
    for (bb_node *node = sweep->first, *next = NULL; node != NULL; node = next) {
        next = node->next;
        BB_TRY(read_one(&input, sweep, node));
    }
    if (search != NULL) {
        if (search->kind != BB_NODE_MAP || search->count != 1) {
            BB_TRY(refuse(&input, search, "search.over", "one key and its values"));
            goto done;
        }
        BB_TRY(read_axis(&input, search->first));
    }
    if (problems->count == 0) {
        BB_TRY(name_keys(&input));
    }
done:
    return status;
}

bb_index bb_sweep_stride(const bb_sweep *sweep, bb_index axis)
{
    bb_index stride = 1;
    for (bb_index a = axis + 1; a < sweep->axes.count; ++a) {
        stride *= sweep->axes.axes[a].count;
    }
    return stride;
}

bb_index bb_sweep_coordinate(const bb_sweep *sweep, bb_index point, bb_index axis)
{
    return point / bb_sweep_stride(sweep, axis) % sweep->axes.axes[axis].count;
}

bool bb_sweep_is_excluded(const bb_sweep *sweep, bb_index point)
{
    bool excluded = false;
    for (bb_index e = 0; !excluded && e < sweep->exclusions.count; ++e) {
        const bb_sweep_exclusion *rule = &sweep->exclusions.rules[e];
        excluded = true;
        for (bb_index k = 0; excluded && k < rule->count; ++k) {
            const bb_sweep_exclusion_key *key = &rule->keys[k];
            excluded = key->matches[bb_sweep_coordinate(sweep, point, key->axis)];
        }
    }
    return excluded;
}
