// SPDX-License-Identifier: Apache-2.0
#include "sim/config/binding.h"

#include "core/memory.h"
#include "core/suggestion.h"
#include "sim/config/scalar.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct binder {
    bb_arena *arena;
    bb_problems *problems;
} binder;

static bb_status bind_group(binder *binding, const bb_schema *schema, const bb_node *map,
                            bool forgiving, const char *path, void *out);
static bb_status bind_value(binder *binding, const bb_key *key, const bb_node *node,
                            const char *path, void *member);

// Reports "path = value: expected ...", with a suggestion if there is one.
static bb_status refuse(binder *binding, const bb_key *key, const bb_node *node, const char *path,
                        const char *guess)
{
    bb_status status = BB_OK;
    bb_text expected = {0};
    bb_text got = {0};
    BB_TRY(bb_binding_expectation(key, &expected));
    if (node->kind != BB_NODE_SCALAR) {
        BB_TRY(bb_text_add(&got, ": got %s", bb_node_kind_name(node->kind)));
    } else if (!node->quoted && node->text[0] == '\0') {
        BB_TRY(bb_text_add(&got, " is empty"));
    } else if (node->quoted) {
        BB_TRY(bb_text_add(&got, " = \"%.80s\"", node->text));
    } else {
        BB_TRY(bb_text_add(&got, " = %.80s", node->text));
    }
    BB_TRY(bb_problems_add(binding->problems, node->place, "%s%s%s expected %s%s%s%s", path,
                           got.data, node->kind == BB_NODE_SCALAR ? ":" : ",",
                           bb_text_string(&expected), guess == NULL ? "" : " (did you mean ",
                           guess == NULL ? "" : guess, guess == NULL ? "" : "?)"));
done:
    bb_text_release(&got);
    bb_text_release(&expected);
    return status;
}

static bool within(const bb_key *key, double value)
{
    if (key->minimum == 0.0 && key->maximum == 0.0) {
        return true;
    }
    bool low = key->exclusive_minimum ? value > key->minimum : value >= key->minimum;
    bool high = key->exclusive_maximum ? value < key->maximum : value <= key->maximum;
    return low && high;
}

// Bound as an integer, limited to the range of bb_index.
static bb_index as_integer(double bound)
{
    // (double)PTRDIFF_MAX is rounded up and is itself out of range.
    if (bound >= (double)PTRDIFF_MAX) {
        return PTRDIFF_MAX;
    }
    return bound <= (double)PTRDIFF_MIN ? PTRDIFF_MIN : (bb_index)bound;
}

// Compares as integers, because neighbouring integers above 2^53 convert to the same double.
static bool integer_within(const bb_key *key, bb_index value)
{
    if (key->minimum == 0.0 && key->maximum == 0.0) {
        return true;
    }
    bool low = key->exclusive_minimum ? value > as_integer(floor(key->minimum))
                                      : value >= as_integer(ceil(key->minimum));
    bool high = key->exclusive_maximum ? value < as_integer(ceil(key->maximum))
                                       : value <= as_integer(floor(key->maximum));
    return low && high;
}

static bool is_plain(const bb_node *node)
{
    return node->kind == BB_NODE_SCALAR && !node->quoted;
}

static bb_status bind_double(binder *binding, const bb_key *key, const bb_node *node,
                             const char *path, double *out)
{
    char guess[BB_SCALAR_BYTES];
    bool guessed = false;
    if (is_plain(node)) {
        if (bb_scalar_double(node->text, out) && within(key, *out)) {
            return BB_OK;
        }
        guessed = bb_scalar_guess(node->text, guess);
    }
    return refuse(binding, key, node, path, guessed ? guess : NULL);
}

static bb_status bind_integer(binder *binding, const bb_key *key, const bb_node *node,
                              const char *path, bb_index *out)
{
    char guess[BB_SCALAR_BYTES];
    bb_index guessed_value = 0;
    bool guessed = false;
    if (node->kind == BB_NODE_SCALAR && key->word != NULL && strcmp(node->text, key->word) == 0) {
        return BB_OK; // already unset
    }
    if (is_plain(node)) {
        if (bb_scalar_integer(node->text, out) && integer_within(key, *out)) {
            return BB_OK;
        }
        double value = 0.0;
        if (bb_scalar_double(node->text, &value) && value == floor(value) && fabs(value) < 1e9) {
            (void)snprintf(guess, sizeof guess, "%.0f", value);
            guessed = within(key, value) && strcmp(guess, node->text) != 0;
        } else {
            guessed =
                bb_scalar_guess(node->text, guess) && bb_scalar_integer(guess, &guessed_value);
        }
    }
    return refuse(binding, key, node, path, guessed ? guess : NULL);
}

// Synonyms of one number format: the names in LAPACK, in the kernel language and after its IEEE 754
// width.
static const char *const synonyms[][3] = {{"fp64", "dp", "DP"}, {"fp32", "sp", "SP"}};

static int find_choice(const bb_key *key, const char *word)
{
    for (int i = 0; key->choices[i] != NULL; ++i) {
        if (strcmp(word, key->choices[i]) == 0) {
            return i;
        }
    }
    return -1;
}

// Index of a choice by name or synonym; -1 if unknown.
static int match_choice(const bb_key *key, const char *word)
{
    int found = find_choice(key, word);
    for (size_t f = 0; f < sizeof synonyms / sizeof *synonyms; ++f) {
        bool named = false;
        for (int k = 0; k < 3; ++k) {
            named = named || strcmp(word, synonyms[f][k]) == 0;
        }
        for (int k = 0; named && found < 0 && k < 3; ++k) {
            found = find_choice(key, synonyms[f][k]);
        }
    }
    return found;
}

// Words of other programs for choices and keys.
static const char *const foreign[][2] = {
    {"float16", "fp16"},  {"half", "fp16"},
    {"float32", "fp32"},  {"single", "fp32"},
    {"float64", "fp64"},  {"double", "fp64"},
    {"bfloat16", "bf16"}, {"fp8", "e4m3"},
    {"float8", "e4m3"},   {"int8", "integer"},
    {"int4", "integer"},  {"bfp8", "bfp"},
    {"gpu", "cuda"},      {"dose", "dose_mj_per_cm2"},
};

// This program's word for a word of another program, or NULL.
static const char *translate(const char *word)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; ++i) {
        if (bb_suggestion_distance(word, foreign[i][0]) == 0) {
            return foreign[i][1];
        }
    }
    return NULL;
}

// Suggests product variants for the format of their operands if the key expects variants, and
// choices for words of other programs.
static const char *advise(const bb_key *key, const char *word)
{
    static const char *const advice[][3] = {{"fp16", "hp3", "hp1, hp2 or hp3 (fp16 operands)"},
                                            {"e4m3", "fp8", "fp8"},
                                            {"e5m2", "fp8", "fp8"}};
    for (size_t i = 0; i < sizeof advice / sizeof *advice; ++i) {
        if (strcmp(word, advice[i][0]) == 0 && find_choice(key, advice[i][1]) >= 0) {
            return advice[i][2];
        }
    }
    const char *own = translate(word);
    const int found = own == NULL ? -1 : match_choice(key, own);
    return own == NULL ? NULL : found >= 0 ? key->choices[found] : advise(key, own);
}

static bb_status bind_choice(binder *binding, const bb_key *key, const bb_node *node,
                             const char *path, int *out)
{
    bb_suggestion near = {.word = node->text};
    if (node->kind == BB_NODE_SCALAR) {
        const int found = match_choice(key, node->text);
        if (found >= 0) {
            *out = found;
            return BB_OK;
        }
        near.nearest = advise(key, node->text);
    }
    const bool is_advised = near.nearest != NULL;
    for (int i = 0; node->kind == BB_NODE_SCALAR && !is_advised && key->choices[i] != NULL; ++i) {
        bb_suggestion_add(&near, key->choices[i]);
    }
    return refuse(binding, key, node, path, near.nearest);
}

static bb_status bind_boolean(binder *binding, const bb_key *key, const bb_node *node,
                              const char *path, bool *out)
{
    if (is_plain(node) && (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)) {
        *out = node->text[0] == 't';
        return BB_OK;
    }
    return refuse(binding, key, node, path, NULL);
}

static bb_status bind_text(binder *binding, const bb_key *key, const bb_node *node,
                           const char *path, const char **out)
{
    // An empty value, ~ and null mean "no value" in YAML.
    bool nothing = is_plain(node) && (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
                                      strcmp(node->text, "null") == 0);
    if (node->kind != BB_NODE_SCALAR || nothing) {
        return refuse(binding, key, node, path, NULL);
    }
    *out = node->text;
    return BB_OK;
}

static bb_status bind_path(binder *binding, const bb_key *key, const bb_node *node,
                           const char *path, const char **out)
{
    bb_status status = BB_OK;
    const char *name = NULL;
    BB_TRY(bind_text(binding, key, node, path, &name));
    if (name != NULL) {
        BB_TRY(bb_node_path(binding->arena, node, out));
    }
done:
    return status;
}

static size_t item_bytes(const bb_key *key)
{
    switch (key->kind) {
    case BB_KEY_DOUBLES:
        return sizeof(double);
    case BB_KEY_INTEGERS:
        return sizeof(bb_index);
    case BB_KEY_CHOICES:
        return sizeof(int);
    default:
        return key->schema->bytes;
    }
}

static bb_status bind_item(binder *binding, const bb_key *key, const bb_node *item,
                           const char *path, void *out)
{
    bb_key single = *key;
    single.accepts_all = false;
    single.kind = key->kind == BB_KEY_DOUBLES    ? BB_KEY_DOUBLE
                  : key->kind == BB_KEY_INTEGERS ? BB_KEY_INTEGER
                  : key->kind == BB_KEY_CHOICES  ? BB_KEY_CHOICE
                                                 : BB_KEY_GROUP;
    return bind_value(binding, &single, item, path, out);
}

static bb_status refuse_repetition(binder *binding, const bb_key *key, const bb_node *list,
                                   const char *path, const int *items)
{
    bb_status status = BB_OK;
    const bb_node *item = list->first;
    for (bb_index i = 0; key->kind == BB_KEY_CHOICES && i < list->count; ++i, item = item->next) {
        for (bb_index j = 0; j < i; ++j) {
            if (items[j] == items[i] && items[i] >= 0) {
                BB_TRY(bb_problems_add(binding->problems, item->place,
                                       "%s.%td = %s: this word is repeated", path, i, item->text));
                break;
            }
        }
    }
done:
    return status;
}

static bb_status bind_list(binder *binding, const bb_key *key, const bb_node *node,
                           const char *path, bb_list *out)
{
    bb_status status = BB_OK;
    char *item_path = NULL;
    bb_list list = {0};
    if (key->accepts_all && is_plain(node) && strcmp(node->text, "all") == 0) {
        out->count = BB_LIST_ALL;
        goto done;
    }
    if (node->kind != BB_NODE_LIST) {
        BB_TRY(refuse(binding, key, node, path, NULL));
        goto done;
    }
    bb_index minimum = key->minimum_count > 0      ? key->minimum_count
                       : bb_binding_omissible(key) ? 0
                                                   : 1;
    if (node->count < minimum) {
        BB_TRY(bb_problems_add(binding->problems, node->place,
                               "%s: a list of %td items, expected at least %td", path, node->count,
                               minimum));
    }
    BB_TRY(bb_arena_zeroed(binding->arena, node->count, item_bytes(key), &list.items));
    const bb_node *item = node->first;
    for (bb_index i = 0; i < node->count; ++i, item = item->next) {
        char *member = (char *)list.items + (size_t)i * item_bytes(key);
        BB_RELEASE(&item_path);
        BB_TRY(bb_memory_printf(&item_path, "%s.%td", path, i));
        if (key->kind == BB_KEY_CHOICES) {
            *(int *)(void *)member = -1;
        }
        BB_TRY(bind_item(binding, key, item, item_path, member));
    }
    list.count = node->count;
    BB_TRY(refuse_repetition(binding, key, node, path, list.items));
    *out = list;
done:
    BB_RELEASE(&item_path);
    return status;
}

static bb_status bind_map(binder *binding, const bb_key *key, const bb_node *node, const char *path,
                          void *member)
{
    bb_node wrapped = {.kind = BB_NODE_MAP, .place = node->place};
    bb_node value = *node;
    if (node->kind == BB_NODE_MAP) {
        return bind_group(binding, key->schema, node, false, path, member);
    }
    bool nothing = is_plain(node) && node->text[0] == '\0';
    if (key->shorthand == NULL || nothing) {
        return refuse(binding, key, node, path, NULL);
    }
    value.key = key->shorthand;
    value.key_place = node->place;
    bb_node_append(&wrapped, &value);
    return bind_group(binding, key->schema, &wrapped, false, path, member);
}

static bb_status bind_value(binder *binding, const bb_key *key, const bb_node *node,
                            const char *path, void *member)
{
    switch (key->kind) {
    case BB_KEY_DOUBLE:
        return bind_double(binding, key, node, path, member);
    case BB_KEY_INTEGER:
        return bind_integer(binding, key, node, path, member);
    case BB_KEY_BOOLEAN:
        return bind_boolean(binding, key, node, path, member);
    case BB_KEY_TEXT:
        return bind_text(binding, key, node, path, member);
    case BB_KEY_PATH:
        return bind_path(binding, key, node, path, member);
    case BB_KEY_CHOICE:
        return bind_choice(binding, key, node, path, member);
    case BB_KEY_GROUP:
        return bind_map(binding, key, node, path, member);
    default:
        return bind_list(binding, key, node, path, member);
    }
}

static void leave_unset(const bb_key *key, void *member)
{
    if (key->kind == BB_KEY_DOUBLE) {
        *(double *)member = NAN;
    } else if (key->kind == BB_KEY_INTEGER) {
        *(bb_index *)member = BB_INTEGER_UNSET;
    } else if (key->kind == BB_KEY_CHOICE) {
        *(int *)member = -1;
    }
}

// Defaults are texts as a user would write them and obey the same rules.
static bb_status bind_default(binder *binding, const bb_key *key, const char *path, void *member)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    binder inner = {binding->arena, &problems};
    bb_node *node = NULL;
    BB_TRY(bb_node_parse(binding->arena, "default", false, key->default_text,
                         strlen(key->default_text), &problems, &node));
    if (node == NULL) {
        BB_TRY(bb_text_add(&problems.lines, "nothing"));
    } else {
        BB_TRY(bind_value(&inner, key, node, path, member));
    }
    BB_REQUIRE(problems.lines.length == 0, BB_INTERNAL,
               "internal: default of %s violates its own rule: %s", path, problems.lines.data);
done:
    bb_problems_release(&problems);
    return status;
}

static bb_status bind_absent(binder *binding, const bb_key *key, bb_place place, bool forgiving,
                             const char *path, void *member)
{
    bb_status status = BB_OK;
    bb_text expected = {0};
    leave_unset(key, member);
    if (key->default_text != NULL) {
        BB_TRY(bind_default(binding, key, path, member));
    } else if (key->kind == BB_KEY_GROUP) {
        const bb_node empty = {.kind = BB_NODE_MAP, .place = place};
        BB_TRY(bind_group(binding, key->schema, &empty, forgiving || key->optional, path, member));
    } else if (!key->optional && !forgiving) {
        BB_TRY(bb_binding_expectation(key, &expected));
        BB_TRY(bb_problems_add(binding->problems, place, "%s: missing; expected %s", path,
                               bb_text_string(&expected)));
    }
done:
    bb_text_release(&expected);
    return status;
}

// Keys of earlier versions.
static const bb_renamed_key renamed[] = {
    {.schema = "pipelines", .former = "promise.price", .key = "max_loss"},
    {.schema = "pipelines", .former = "promise.over", .key = "search.over"},
    {.schema = "pipelines", .former = "promise.codecs", .key = "search.codecs"},
    {.schema = "pipelines", .former = "promise.wrong_cycles", .key = "search.wrong_cycles"},
    {.schema = "policy", .former = "kind", .value = "promise", .key = "^.max_loss"},
    {.schema = "policy", .former = "strehl_loss", .key = "^.max_loss"},
    {.schema = "policy", .former = "price", .key = "^.max_loss"},
    {.schema = "policy", .former = "over", .key = "^.search.over"},
    {.schema = "policy", .former = "variants", .key = "^.search.variants"},
    {.schema = "policy", .former = "inside", .group_kind = "promise", .key = "^.search.inside"},
    {.schema = "policy", .former = "rounding", .group_kind = "promise", .key = "^.search.rounding"},
    {.schema = "search", .former = "subject_to.price.at_most", .key = "max_loss"},
};

static bool is_word(const bb_node *node, const char *word)
{
    return node != NULL && node->kind == BB_NODE_SCALAR && strcmp(node->text, word) == 0;
}

const bb_renamed_key *bb_binding_renamed(const char *schema, const bb_node *map, const char *path)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; ++i) {
        const bb_renamed_key *row = &renamed[i];
        if (strcmp(row->schema, schema) == 0 && strcmp(row->former, path) == 0 &&
            (row->value == NULL || is_word(bb_node_member(map, path), row->value)) &&
            (row->group_kind == NULL || is_word(bb_node_member(map, "kind"), row->group_kind))) {
            return row;
        }
    }
    return NULL;
}

// Reports a node at `former` below the group at `path`, or nodes below it, if a row gives its
// successor; `*count` is the number of such nodes.
static bb_status refuse_renamed(binder *binding, const bb_schema *schema, const bb_node *map,
                                const char *path, const bb_node *node, const char *former,
                                bb_index *count)
{
    bb_status status = BB_OK;
    char *below = NULL;
    const bb_renamed_key *row = bb_binding_renamed(schema->name, map, former);
    if (row != NULL) {
        const char *end = strrchr(path, '.');
        const bool is_outside = row->key[0] == '^' && end != NULL;
        ++*count;
        BB_TRY(bb_problems_add(
            binding->problems, node->key_place, "%s.%s%s%s: %s %.*s.%s%s", path, former,
            row->value == NULL ? "" : " = ", row->value == NULL ? "" : row->value,
            row->value == NULL ? "this key is called" : "expected",
            is_outside ? (int)(end - path) : (int)strlen(path), path,
            row->key + (row->key[0] == '^' ? 2 : 0),
            row->value == NULL ? " now (config --upgrade renames it)" : " instead"));
        goto done;
    }
    for (const bb_node *member = node->kind == BB_NODE_MAP ? node->first : NULL; member != NULL;
         member = member->next) {
        BB_RELEASE(&below);
        BB_TRY(bb_memory_printf(&below, "%s.%s", former, member->key));
        BB_TRY(refuse_renamed(binding, schema, map, path, member, below, count));
    }
done:
    BB_RELEASE(&below);
    return status;
}

static bb_status refuse_unknown(binder *binding, const bb_schema *schema, const bb_node *member,
                                const char *path)
{
    bb_status status = BB_OK;
    bb_text keys = {0};
    const char *own = translate(member->key);
    const bool is_own = own != NULL && bb_binding_key(schema, own) != NULL;
    bb_suggestion near = {
        .word = member->key, .nearest = is_own ? own : NULL, .distance = is_own ? -1 : 0};
    for (bb_index i = 0; i < schema->key_count; ++i) {
        bb_suggestion_add(&near, schema->keys[i].name);
        BB_TRY(bb_text_add(&keys, "%s%s", i == 0 ? "" : ", ", schema->keys[i].name));
    }
    // A key of a group inside this one is one level too high.
    for (bb_index i = 0; near.nearest == NULL && i < schema->key_count; ++i) {
        const bb_key *group = &schema->keys[i];
        if (group->kind == BB_KEY_GROUP && bb_binding_key(group->schema, member->key) != NULL) {
            BB_TRY(bb_problems_add(binding->problems, member->key_place,
                                   "%s: unknown key (did you mean %s.%s?); valid keys: %s", path,
                                   group->name, member->key, bb_text_string(&keys)));
            goto done;
        }
    }
    BB_TRY(bb_problems_add(binding->problems, member->key_place,
                           "%s: unknown key%s; valid keys: %s", path, bb_suggestion_text(&near),
                           bb_text_string(&keys)));
done:
    bb_text_release(&keys);
    return status;
}

static bb_status join(char **out, const char *path, const char *name)
{
    BB_RELEASE(out);
    return bb_memory_printf(out, "%s%s%s", path, path[0] == '\0' ? "" : ".", name);
}

static bb_status bind_group(binder *binding, const bb_schema *schema, const bb_node *map,
                            bool forgiving, const char *path, void *out)
{
    bb_status status = BB_OK;
    char *key_path = NULL;
    for (const bb_node *member = map->first; member != NULL; member = member->next) {
        bb_index refused = 0;
        BB_TRY(refuse_renamed(binding, schema, map, path, member, member->key, &refused));
        if (refused == 0 && bb_binding_key(schema, member->key) == NULL) {
            BB_TRY(join(&key_path, path, member->key));
            BB_TRY(refuse_unknown(binding, schema, member, key_path));
        }
    }
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        void *member = (char *)out + key->offset;
        const bb_node *node = bb_node_member(map, key->name);
        BB_TRY(join(&key_path, path, key->name));
        if (node != NULL) {
            leave_unset(key, member);
            if (bb_binding_renamed(schema->name, map, key->name) != NULL) {
                continue; // reported above
            }
            BB_TRY(bind_value(binding, key, node, key_path, member));
        } else {
            BB_TRY(bind_absent(binding, key, map->place, forgiving, key_path, member));
        }
    }
done:
    BB_RELEASE(&key_path);
    return status;
}

const bb_key *bb_binding_find(const bb_schema *schema, const char *path)
{
    const bb_key *key = NULL;
    bool item = false; // this part of the path selects a list item
    for (const char *part = path; part != NULL; part = strchr(part, '.')) {
        char name[128];
        part += part != path;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(part, "."), part);
        if (item) {
            item = false;
            continue;
        }
        key = schema == NULL ? NULL : bb_binding_key(schema, name);
        schema = key == NULL ? NULL : key->schema;
        item = key != NULL && key->kind == BB_KEY_RECORDS;
    }
    return item ? NULL : key;
}

bb_status bb_binding_bind(bb_arena *arena, const bb_schema *schema, const bb_node *tree,
                          const char *path, bb_problems *problems, void *out)
{
    bb_status status = BB_OK;
    binder binding = {arena, problems};
    const bb_node empty = {.kind = BB_NODE_MAP, .place = {.origin = "configuration"}};
    memset(out, 0, schema->bytes);
    if (tree != NULL && tree->kind != BB_NODE_MAP) {
        BB_TRY(bb_problems_add(problems, tree->place, "got %s, expected a map of key: value lines",
                               bb_node_kind_name(tree->kind)));
        goto done;
    }
    BB_TRY(bind_group(&binding, schema, tree == NULL ? &empty : tree, false, path, out));
done:
    return status;
}
