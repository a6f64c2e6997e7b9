// SPDX-License-Identifier: Apache-2.0
//
// Random studies from the schema tables of an experiment. Keys, values and lengths of lists are
// drawn from (seed, number), so that a study is the same on every machine. A new key in a table is
// drawn automatically.
//
// The generator does not know the rules between keys. The program's own check reports the problems
// of a draft by line. The generator then redraws, removes or adds the named keys until the check
// passes.
#ifndef BB_TESTS_SIM_CAMPAIGN_STUDY_GENERATOR_H
#define BB_TESTS_SIM_CAMPAIGN_STUDY_GENERATOR_H

#include "core/random.h"
#include "sim/config/binding.h"
#include "sim/config/scalar.h"
#include "sim/run/experiment.h"
#include "tests/check.h"
#include "tests/sim/campaign/study_caps.h"

#include <ctype.h>

enum {
    STUDY_NODES = 32768,
    STUDY_PATH_BYTES = 96,
    STUDY_VALUE_BYTES = 160,
    STUDY_TEXT_BYTES = 1 << 15,
    STUDY_ITEMS = 3,   // maximum length of a list without a cap
    STUDY_ROUNDS = 200 // maximum number of repairs
};

/// A key of the draft, an item of a list of records (no key), or the root (no key).
typedef struct study_node {
    const bb_key *key;
    const bb_schema *schema; ///< schema of a group, an item or the root; NULL for other keys
    bb_index parent, first, next;
    char path[STUDY_PATH_BYTES];     ///< "pipelines.policy.kind"
    char numbered[STUDY_PATH_BYTES]; ///< "pipelines.1.policy.kind"
    char value[STUDY_VALUE_BYTES];
    bool set;
    bb_index line; ///< line in the text; 0: not written
} study_node;

typedef struct study_draft {
    uint64_t seed, number, draws;
    const bb_experiment *experiment;
    bb_index count;
    study_node nodes[STUDY_NODES];
    char text[STUDY_TEXT_BYTES];
    size_t length;
    bb_index line;
} study_draft;

static inline double study_uniform(study_draft *draft)
{
    return bb_random_uniform(draft->seed ^ draft->number << 20, BB_STREAM_SELF_TEST,
                             draft->draws++);
}

static inline bb_index study_below(study_draft *draft, bb_index count)
{
    const bb_index drawn = (bb_index)(study_uniform(draft) * (double)count);
    return drawn < count ? drawn : count - 1;
}

static inline bool study_chance(study_draft *draft, double probability)
{
    return study_uniform(draft) < probability;
}

static inline const study_cap *study_cap_of(const study_draft *draft, const study_node *node)
{
    return study_cap_find(draft->experiment->name, node->path, node->numbered);
}

static inline bb_index study_add(study_draft *draft, bb_index parent, const bb_key *key,
                                 const bb_schema *schema, const char *name, const char *number)
{
    assert_true(draft->count < STUDY_NODES);
    const bb_index made = draft->count++;
    study_node *node = &draft->nodes[made];
    *node = (study_node){.key = key, .schema = schema, .parent = parent, .first = -1, .next = -1};
    if (parent >= 0) {
        const study_node above = draft->nodes[parent];
        const char *dot = above.path[0] == '\0' ? "" : ".";
        (void)snprintf(node->path, STUDY_PATH_BYTES, "%.60s%s%.30s", above.path,
                       name[0] == '\0' ? "" : dot, name);
        (void)snprintf(node->numbered, STUDY_PATH_BYTES, "%.60s%s%.30s", above.numbered, dot,
                       number);
        bb_index *link = &draft->nodes[parent].first;
        while (*link >= 0) {
            link = &draft->nodes[*link].next;
        }
        *link = made;
    }
    return made;
}

static inline void study_range(const bb_key *key, const study_cap *cap, double *minimum,
                               double *maximum)
{
    const bool free_key = key->minimum == 0.0 && key->maximum == 0.0;
    *minimum = free_key ? -1e6 : fmax(key->minimum, -1e15);
    *maximum = free_key ? 1e6 : fmin(key->maximum, 9e15);
    if (cap != NULL && cap->most > cap->least) {
        *minimum = fmax(*minimum, cap->least);
        *maximum = fmin(*maximum, cap->most);
    }
}

// Draws an end of the range, a number near the default, or any number, uniformly or log-uniformly.
static inline double study_number(study_draft *draft, const bb_key *key, const study_cap *cap)
{
    double minimum = 0.0;
    double maximum = 0.0;
    double usual = 0.0;
    const double kind = study_uniform(draft);
    const double u = study_uniform(draft);
    study_range(key, cap, &minimum, &maximum);
    const bool known = key->default_text != NULL && bb_scalar_double(key->default_text, &usual);
    if (kind < 0.06) {
        return key->exclusive_minimum && minimum == key->minimum
                   ? minimum + 1e-6 * (maximum - minimum)
                   : minimum;
    }
    if (kind < 0.12) {
        return key->exclusive_maximum && maximum == key->maximum
                   ? maximum - 1e-6 * (maximum - minimum)
                   : maximum;
    }
    if (kind < 0.6 && known && usual != 0.0 && usual >= minimum && usual <= maximum) {
        return fmin(fmax(usual * pow(10.0, u - 0.5), minimum), maximum);
    }
    if (kind < 0.8 && maximum > 0.0 && minimum >= 0.0) {
        const double floor_value = fmax(minimum, 1e-7 * maximum);
        return floor_value * pow(maximum / floor_value, u);
    }
    return minimum + u * (maximum - minimum);
}

static inline bool study_within(const bb_key *key, double value)
{
    if (key->minimum == 0.0 && key->maximum == 0.0) {
        return true;
    }
    return (key->exclusive_minimum ? value > key->minimum : value >= key->minimum) &&
           (key->exclusive_maximum ? value < key->maximum : value <= key->maximum);
}

// Prints a number as a user would write it: with four digits if these stay in the range.
static inline void study_print(study_draft *draft, const bb_key *key, const study_cap *cap,
                               bool integer, char out[BB_SCALAR_BYTES])
{
    char few[BB_SCALAR_BYTES];
    double value = study_number(draft, key, cap);
    if (cap != NULL && cap->grid > 0.0) {
        value = cap->grid * floor(value / cap->grid + 0.5);
        value = study_within(key, value) ? value : cap->least;
    }
    if (integer) {
        const double total = floor(value + 0.5);
        (void)snprintf(out, BB_SCALAR_BYTES, "%.0f",
                       study_within(key, total) ? total : ceil(key->minimum));
        return;
    }
    (void)snprintf(few, sizeof few, "%.4g", value);
    const double rounded = strtod(few, NULL);
    bb_scalar_print(study_within(key, rounded) ? rounded : value, out);
}

// Draws one word of "a|b|c".
static inline void study_word(study_draft *draft, const char *words, char *out, size_t bytes)
{
    bb_index count = 1;
    for (const char *c = words; *c != '\0'; ++c) {
        count += *c == '|';
    }
    for (bb_index skip = study_below(draft, count); skip > 0; --skip) {
        words = strchr(words, '|') + 1;
    }
    (void)snprintf(out, bytes, "%.*s", (int)strcspn(words, "|"), words);
}

static inline void study_draw_text(study_draft *draft, char *out, size_t bytes)
{
    static const char *const odd[] = {"\"two words\"",
                                      "\"quote \\\" and # hash\"",
                                      "\"gr\xc3\xb6\xc3\x9f\x65r\"",
                                      "\"true\"",
                                      "\"1e5\"",
                                      "\"\""};
    if (study_chance(draft, 0.15)) {
        (void)snprintf(out, bytes, "%s", odd[study_below(draft, 6)]);
    } else {
        (void)snprintf(out, bytes, "w%llu", (unsigned long long)draft->draws);
    }
}

static inline bb_index study_choices(const bb_key *key)
{
    bb_index count = 0;
    while (key->choices[count] != NULL) {
        ++count;
    }
    return count;
}

static inline void study_draw_list(study_draft *draft, const bb_key *key, const study_cap *cap,
                                   char *out, size_t bytes)
{
    const bb_index minimum = key->minimum_count > 1 ? key->minimum_count : 1;
    const bb_index limit = cap != NULL && cap->items > 0 ? cap->items : STUDY_ITEMS;
    bb_index count = minimum + study_below(draft, limit > minimum ? limit - minimum + 1 : 1);
    size_t used = (size_t)snprintf(out, bytes, "[");
    char item[BB_SCALAR_BYTES];
    unsigned taken = 0;
    if (key->accepts_all && cap == NULL && study_chance(draft, 0.3)) {
        (void)snprintf(out, bytes, "all");
        return;
    }
    if (key->kind == BB_KEY_CHOICES) {
        count = 1 + study_below(draft, study_choices(key));
    }
    for (bb_index i = 0; i < count; ++i) {
        const char *word = item;
        if (key->kind == BB_KEY_CHOICES) {
            const bb_index choice = study_below(draft, study_choices(key));
            if ((taken >> choice & 1) != 0) {
                continue;
            }
            taken |= 1u << choice;
            word = key->choices[choice];
        } else {
            study_print(draft, key, cap, key->kind == BB_KEY_INTEGERS, item);
        }
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used > 1 ? ", " : "", word);
    }
    (void)snprintf(out + used, bytes - used, "]");
}

static inline void study_draw_value(study_draft *draft, study_node *node)
{
    const bb_key *key = node->key;
    const study_cap *cap = study_cap_of(draft, node);
    char number[BB_SCALAR_BYTES];
    if (cap != NULL && cap->words != NULL) {
        study_word(draft, cap->words, node->value, STUDY_VALUE_BYTES);
        return;
    }
    switch (key->kind) {
    case BB_KEY_DOUBLE:
    case BB_KEY_INTEGER:
        study_print(draft, key, cap, key->kind == BB_KEY_INTEGER, number);
        (void)snprintf(node->value, STUDY_VALUE_BYTES, "%s", number);
        break;
    case BB_KEY_BOOLEAN:
        (void)snprintf(node->value, STUDY_VALUE_BYTES, "%s",
                       study_chance(draft, 0.5) ? "true" : "false");
        break;
    case BB_KEY_CHOICE:
        (void)snprintf(node->value, STUDY_VALUE_BYTES, "%s",
                       key->choices[study_below(draft, study_choices(key))]);
        break;
    case BB_KEY_TEXT:
    case BB_KEY_PATH:
        study_draw_text(draft, node->value, STUDY_VALUE_BYTES);
        break;
    default:
        study_draw_list(draft, key, cap, node->value, STUDY_VALUE_BYTES);
    }
}

static inline bool study_is_group(const study_node *node)
{
    return node->key == NULL || node->key->kind == BB_KEY_GROUP;
}

static inline void study_draw(study_draft *draft, bb_index index, bool forgiving);

// Draws the items of a list of records.
static inline void study_draw_items(study_draft *draft, bb_index index)
{
    const study_cap *cap = study_cap_of(draft, &draft->nodes[index]);
    const bool pipelines = strcmp(draft->nodes[index].path, "pipelines") == 0;
    const bb_index limit = cap != NULL && cap->items > 0 ? cap->items : STUDY_ITEMS + pipelines;
    const bb_index count = 1 + study_below(draft, limit);
    // Detach the previous items: they and their keys are no longer part of the draft.
    for (bb_index item = draft->nodes[index].first; item >= 0; item = draft->nodes[item].next) {
        draft->nodes[item].parent = -1;
    }
    draft->nodes[index].first = -1;
    for (bb_index i = 0; i < count; ++i) {
        char number[24];
        (void)snprintf(number, sizeof number, "%td", i);
        study_draw(draft,
                   study_add(draft, index, NULL, draft->nodes[index].key->schema, "", number),
                   false);
    }
}

/// Draws a node and its whole subtree; in an optional group no key is required.
static inline void study_draw(study_draft *draft, bb_index index, bool forgiving)
{
    const bb_key *key = draft->nodes[index].key;
    const study_cap *cap = study_cap_of(draft, &draft->nodes[index]);
    const bool always = cap != NULL && cap->always;
    if (study_is_group(&draft->nodes[index]) && cap != NULL && cap->never) {
        draft->nodes[index].set = false;
        return;
    }
    if (study_is_group(&draft->nodes[index])) {
        const bb_schema *schema = draft->nodes[index].schema;
        const bool absent = key != NULL && study_chance(draft, 0.4);
        const bool left_out = (key != NULL && key->optional && absent) || forgiving;
        const bool known = draft->nodes[index].first >= 0;
        bb_index child = draft->nodes[index].first;
        draft->nodes[index].set = true;
        for (bb_index i = 0; i < schema->key_count; ++i) {
            const bb_key *inner = &schema->keys[i];
            if (!known) {
                const bool below = inner->kind == BB_KEY_GROUP;
                child = study_add(draft, index, inner, below ? inner->schema : NULL, inner->name,
                                  inner->name);
            }
            study_draw(draft, child, left_out);
            // An unset group retains its required keys and those that are always set.
            const study_cap *own = study_cap_of(draft, &draft->nodes[child]);
            if (absent && bb_binding_omissible(inner) && (own == NULL || !own->always)) {
                draft->nodes[child].set = false;
            }
            child = draft->nodes[child].next;
        }
        return;
    }
    const bool needed = !bb_binding_omissible(key) && !forgiving;
    draft->nodes[index].set = needed || always || (!forgiving && study_chance(draft, 0.3));
    if (cap != NULL && cap->never) {
        draft->nodes[index].set = false;
    }
    if (key->kind == BB_KEY_RECORDS) {
        if (draft->nodes[index].set) {
            study_draw_items(draft, index);
        }
    } else {
        study_draw_value(draft, &draft->nodes[index]);
    }
}

static inline void study_put(study_draft *draft, const char *text)
{
    const size_t bytes = strlen(text);
    assert_true(draft->length + bytes < STUDY_TEXT_BYTES);
    memcpy(draft->text + draft->length, text, bytes + 1);
    draft->length += bytes;
    for (const char *c = text; *c != '\0'; ++c) {
        draft->line += *c == '\n';
    }
}

static inline bool study_holds(const study_draft *draft, bb_index index)
{
    const study_node *node = &draft->nodes[index];
    if (!study_is_group(node)) {
        return node->set;
    }
    for (bb_index child = node->first; child >= 0; child = draft->nodes[child].next) {
        if (draft->nodes[child].set && study_holds(draft, child)) {
            return true;
        }
    }
    return false;
}

/// Writes the keys of a group, indented by `indent`; the first key of an item follows its dash.
static inline void study_write(study_draft *draft, bb_index index, int indent, bool dash)
{
    char head[STUDY_VALUE_BYTES + 64];
    for (bb_index child = draft->nodes[index].first; child >= 0; child = draft->nodes[child].next) {
        study_node *node = &draft->nodes[child];
        node->line = 0;
        if (!node->set || !study_holds(draft, child)) {
            continue;
        }
        node->line = draft->line;
        (void)snprintf(head, sizeof head, "%*s%s%s:", dash ? indent - 2 : indent, "",
                       dash ? "- " : "", node->key->name);
        dash = false;
        study_put(draft, head);
        if (node->key->kind == BB_KEY_GROUP) {
            study_put(draft, "\n");
            study_write(draft, child, indent + 2, false);
        } else if (node->key->kind == BB_KEY_RECORDS) {
            study_put(draft, "\n");
            for (bb_index item = node->first; item >= 0; item = draft->nodes[item].next) {
                draft->nodes[item].line = draft->line;
                study_write(draft, item, indent + 4, true);
            }
        } else {
            (void)snprintf(head, sizeof head, " %s\n", node->value);
            study_put(draft, head);
        }
    }
}

/// Writes the draft as YAML to `draft->text`.
static inline void study_emit(study_draft *draft)
{
    draft->length = 0;
    draft->line = 1;
    for (bb_index i = 0; i < draft->count; ++i) {
        draft->nodes[i].line = 0;
    }
    study_write(draft, 0, 0, false);
}

/// Draws study `number` of `seed` for an experiment.
static inline void study_make(study_draft *draft, uint64_t seed, uint64_t number,
                              const bb_experiment *experiment)
{
    draft->seed = seed;
    draft->number = number;
    draft->draws = 0;
    draft->count = 0;
    draft->experiment = experiment;
    (void)study_add(draft, -1, NULL, experiment->schema, "", "");
    study_draw(draft, 0, false);
    study_emit(draft);
}

// Whether a text contains a name as a separate word.
static inline bool study_names(const char *text, const char *name)
{
    const size_t bytes = strlen(name);
    for (const char *cursor = strstr(text, name); cursor != NULL;
         cursor = strstr(cursor + 1, name)) {
        const bool before =
            cursor > text && (isalnum((unsigned char)cursor[-1]) || cursor[-1] == '_');
        const bool behind = isalnum((unsigned char)cursor[bytes]) || cursor[bytes] == '_';
        if (!before && !behind) {
            return true;
        }
    }
    return false;
}

static inline bool study_lies_in(const study_draft *draft, bb_index node, bb_index group)
{
    while (node >= 0 && node != group) {
        node = draft->nodes[node].parent;
    }
    return node == group;
}

// Sets one of the candidates to a choice that the message lists, as in "expected kind band or
// table".
static inline bool study_obey(study_draft *draft, const bb_index *candidates, bb_index count,
                              const char *message)
{
    const char *expected = strstr(message, "expected ");
    bb_index nodes[64];
    const char *words[64];
    bb_index found = 0;
    for (bb_index i = 0; expected != NULL && i < count; ++i) {
        const study_node *node = &draft->nodes[candidates[i]];
        const bool capped = study_cap_of(draft, node) != NULL;
        const bool choice = node->key->kind == BB_KEY_CHOICE && !capped;
        for (int c = 0; choice && node->key->choices[c] != NULL; ++c) {
            if (study_names(expected, node->key->choices[c]) && found < 64) {
                nodes[found] = candidates[i];
                words[found++] = node->key->choices[c];
            }
        }
    }
    if (found == 0 || !study_chance(draft, 0.7)) {
        return false;
    }
    const bb_index chosen = study_below(draft, found);
    study_node *node = &draft->nodes[nodes[chosen]];
    (void)snprintf(node->value, STUDY_VALUE_BYTES, "%s", words[chosen]);
    node->set = true;
    return true;
}

// Redraws, removes or adds one of the keys in `group` that the message names, or `named`.
static inline void study_repair_in(study_draft *draft, bb_index group, bb_index named,
                                   const char *message)
{
    bb_index candidates[256];
    bb_index count = 0;
    for (bb_index i = 1; i < draft->count && count < 255; ++i) {
        const bb_key *key = draft->nodes[i].key;
        if (key != NULL && key->kind != BB_KEY_GROUP &&
            ((study_lies_in(draft, i, group) && study_names(message, key->name)) ||
             (study_lies_in(draft, i, 0) && study_names(message, draft->nodes[i].path)))) {
            candidates[count++] = i;
        }
    }
    if (named >= 0 && (count == 0 || study_chance(draft, 0.5))) {
        candidates[count++] = named;
    }
    // Redraw the group, or for the root one of its members. Sometimes do so even if a key is named,
    // because another key may be the cause.
    if (count == 0 || study_chance(draft, 0.15)) {
        bb_index part = group == 0 ? draft->nodes[0].first : group;
        for (bb_index skip = group == 0 ? study_below(draft, draft->nodes[0].schema->key_count) : 0;
             skip > 0; --skip) {
            part = draft->nodes[part].next;
        }
        study_draw(draft, part, false);
        return;
    }
    if (study_obey(draft, candidates, count, message)) {
        return;
    }
    const bb_index chosen = candidates[study_below(draft, count)];
    study_node *node = &draft->nodes[chosen];
    if (node->set && node->key != NULL && bb_binding_omissible(node->key) &&
        study_chance(draft, 0.25)) {
        const study_cap *cap = study_cap_of(draft, node);
        node->set = cap != NULL && cap->always;
        if (!node->set) {
            return;
        }
    }
    const study_cap *limits = study_cap_of(draft, node);
    study_draw(draft, chosen, false);
    draft->nodes[chosen].set = limits == NULL || !limits->never;
}

static inline bb_index study_at_line(const study_draft *draft, bb_index line)
{
    bb_index found = 0;
    for (bb_index i = 1; i < draft->count; ++i) {
        // The first key shares the line of its item; the key is the later node.
        found = draft->nodes[i].line == line ? i : found;
    }
    return found;
}

/// Whether there is room for another repair.
static inline bool study_has_room(const study_draft *draft)
{
    return draft->count < STUDY_NODES / 2;
}

/// Repairs each problem of `problems`: lines "name:line:column: message", or a single message.
static inline void study_repair(study_draft *draft, const char *problems)
{
    while (*problems != '\0') {
        char message[1024];
        char *end = NULL;
        const size_t bytes = strcspn(problems, "\n");
        (void)snprintf(message, sizeof message, "%.*s", (int)bytes, problems);
        problems += bytes + (problems[bytes] == '\n');
        const char *colon = strchr(message, ':');
        const bb_index line = colon == NULL ? 0 : strtol(colon + 1, &end, 10);
        const bb_index node = line > 0 ? study_at_line(draft, line) : 0;
        const bool group =
            study_is_group(&draft->nodes[node]) || draft->nodes[node].key->kind == BB_KEY_RECORDS;
        study_repair_in(draft, group ? node : draft->nodes[node].parent, group ? -1 : node,
                        message);
    }
    study_emit(draft);
}

#endif
