// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/sweep_exclusion.h"

#include "sim/config/scalar.h"
#include "sim/sweep/sweep_samples.h"

#include <math.h>
#include <string.h>

// Where the key is among the axes; -1 where it is not swept.
static bb_index find_axis(const bb_sweep_axes *axes, const char *path, const bb_sweep_key **out)
{
    for (bb_index a = 0; a < axes->count; ++a) {
        for (bb_index k = 0; k < axes->axes[a].key_count; ++k) {
            if (strcmp(axes->axes[a].keys[k].path, path) == 0) {
                *out = &axes->axes[a].keys[k];
                return a;
            }
        }
    }
    return -1;
}

// Whether value `index` of a key is what a rule says: {from, to}, or a value.
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
        BB_TRY(bb_problems_add(problems, node->place,
                               "sweep: exclude: %s takes none of these values", node->key));
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

bool bb_sweep_exclusions_match(const bb_sweep_exclusions *exclusions, const bb_sweep_axes *axes,
                               bb_index point)
{
    for (bb_index e = 0; e < exclusions->count; ++e) {
        const bb_sweep_exclusion *rule = &exclusions->rules[e];
        bool all = true;
        for (bb_index k = 0; all && k < rule->count; ++k) {
            all = rule->keys[k].matches[bb_sweep_axes_coordinate(axes, point, rule->keys[k].axis)];
        }
        if (all) {
            return true;
        }
    }
    return false;
}
