// SPDX-License-Identifier: Apache-2.0
#include "lib/options.h"

#include "core/memory.h"
#include "core/suggestion.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 64, NAME_BYTES = 64, WORDS_BYTES = 160 };

static const char blanks[] = " \t\r\n";

// A key that an option may set.
typedef struct option {
    char name[NAME_BYTES]; // as in the text, "policy.width"
    const bb_option_group *group;
    const bb_key *key;
    void *member;
    bool given;
} option;

// State of reading one text.
typedef struct reading {
    const bb_options *options;
    bb_arena *arena;
    int count;
    option items[KEYS];
} reading;

static int find_choice(const bb_key *key, const char *word)
{
    int place = 0;
    while (key->choices[place] != NULL && strcmp(key->choices[place], word) != 0) {
        ++place;
    }
    return key->choices[place] == NULL ? -1 : place;
}

static bb_status refuse_word(const option *item, const char *word)
{
    char words[WORDS_BYTES] = "";
    size_t length = 0;
    bb_suggestion near = {.word = word};
    for (const char *const *choice = item->key->choices; *choice != NULL; ++choice) {
        bb_suggestion_add(&near, *choice);
        const int written = snprintf(words + length, sizeof words - length, "%s%s",
                                     length == 0 ? "" : ", ", *choice);
        length += written > 0 && length + (size_t)written < sizeof words ? (size_t)written : 0;
    }
    return bb_status_set(BB_INVALID, __FILE__, __LINE__, "%s = '%s': expected one of %s%s",
                         item->name, word, words, bb_suggestion_text(&near));
}

static bb_status read_number(const option *item, const char *word, double *out)
{
    bb_status status = BB_OK;
    const bb_key *key = item->key;
    char *end = NULL;
    *out = strtod(word, &end);
    const bool is_whole = key->kind != BB_KEY_INTEGER && key->kind != BB_KEY_INTEGERS;
    BB_REQUIRE(end != word && *end == '\0' && isfinite(*out) && (is_whole || *out == rint(*out)),
               BB_INVALID, "%s = '%s': expected %s", item->name, word,
               is_whole ? "a number" : "a whole number");
    const bool has_range = key->minimum != 0.0 || key->maximum != 0.0;
    const bool above = key->exclusive_minimum ? *out > key->minimum : *out >= key->minimum;
    const bool below = key->exclusive_maximum ? *out < key->maximum : *out <= key->maximum;
    BB_REQUIRE(!has_range || (above && below), BB_INVALID, "%s = %s: expected %s %g and %s %g",
               item->name, word, key->exclusive_minimum ? ">" : ">=", key->minimum,
               key->exclusive_maximum ? "<" : "<=", key->maximum);
done:
    return status;
}

// Reads a list of numbers or words separated by commas.
static bb_status read_list(reading *work, const option *item, const char *value)
{
    bb_status status = BB_OK;
    const bool chooses = item->key->kind == BB_KEY_CHOICES;
    bb_list *list = item->member;
    char *copy = NULL;
    char *rest = NULL;
    bb_index count = 1;
    for (const char *c = value; *c != '\0'; ++c) {
        count += *c == ',';
    }
    BB_TRY(bb_memory_text(value, &copy));
    BB_TRY(bb_arena_zeroed(work->arena, count, chooses ? sizeof(int) : sizeof(bb_index),
                           &list->items));
    list->count = 0;
    for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        double number = 0.0;
        if (chooses) {
            const int choice = find_choice(item->key, word);
            BB_TRY(choice < 0 ? refuse_word(item, word) : BB_OK);
            ((int *)list->items)[list->count++] = choice;
        } else {
            BB_TRY(read_number(item, word, &number));
            ((bb_index *)list->items)[list->count++] = (bb_index)number;
        }
    }
    BB_REQUIRE(list->count == count, BB_INVALID, "%s = '%s': an item of the list is empty",
               item->name, value);
done:
    BB_RELEASE(&copy);
    return status;
}

static bb_status read_value(reading *work, const option *item, const char *value)
{
    bb_status status = BB_OK;
    const bb_key *key = item->key;
    double number = 0.0;
    int choice = 0;
    switch (key->kind) {
    case BB_KEY_DOUBLE:
        BB_TRY(read_number(item, value, &number));
        *(double *)item->member = number;
        break;
    case BB_KEY_INTEGER:
        if (key->word != NULL && strcmp(value, key->word) == 0) {
            *(bb_index *)item->member = BB_INTEGER_UNSET;
            break;
        }
        BB_TRY(read_number(item, value, &number));
        *(bb_index *)item->member = (bb_index)number;
        break;
    case BB_KEY_CHOICE:
        choice = find_choice(key, value);
        BB_TRY(choice < 0 ? refuse_word(item, value) : BB_OK);
        *(int *)item->member = choice;
        break;
    case BB_KEY_TEXT:
        BB_TRY(bb_arena_text(work->arena, value, strlen(value), (const char **)item->member));
        break;
    case BB_KEY_INTEGERS:
    case BB_KEY_CHOICES:
        BB_TRY(read_list(work, item, value));
        break;
    default:
        BB_FAIL(BB_UNSUPPORTED, "%s: the library reads no such option; remove it", item->name);
    }
done:
    return status;
}

// Sets a key to its default, or unset.
static bb_status reset(reading *work, const option *item)
{
    const bb_key *key = item->key;
    if (key->default_text != NULL) {
        return read_value(work, item, key->default_text);
    }
    if (key->kind == BB_KEY_DOUBLE) {
        *(double *)item->member = NAN;
    } else if (key->kind == BB_KEY_INTEGER) {
        *(bb_index *)item->member = BB_INTEGER_UNSET;
    } else if (key->kind == BB_KEY_CHOICE) {
        *(int *)item->member = -1;
    } else if (key->kind == BB_KEY_TEXT || key->kind == BB_KEY_PATH) {
        *(const char **)item->member = NULL;
    } else {
        *(bb_list *)item->member = (bb_list){NULL, 0};
    }
    return BB_OK;
}

// Lists the keys of all groups, each with its default.
static bb_status list_keys(reading *work)
{
    bb_status status = BB_OK;
    for (int g = 0; g < work->options->count; ++g) {
        const bb_option_group *group = &work->options->groups[g];
        for (bb_index k = 0; k < group->schema->key_count; ++k) {
            const bb_key *key = &group->schema->keys[k];
            const bool alone = group->alone != NULL && strcmp(key->name, group->alone) == 0;
            BB_REQUIRE(work->count < KEYS, BB_INTERNAL, "options: more than %d keys", (int)KEYS);
            option *item = &work->items[work->count++];
            *item =
                (option){.group = group, .key = key, .member = (char *)group->record + key->offset};
            (void)snprintf(item->name, sizeof item->name, "%s%s%s", group->prefix,
                           alone || *group->prefix == '\0' ? "" : ".", alone ? "" : key->name);
            BB_TRY(reset(work, item));
        }
    }
done:
    return status;
}

static bb_status find_key(reading *work, const char *name, option **out)
{
    bb_status status = BB_OK;
    bb_suggestion near = {.word = name};
    for (int i = 0; i < work->count; ++i) {
        if (strcmp(work->items[i].name, name) == 0) {
            *out = &work->items[i];
            goto done;
        }
        bb_suggestion_add(&near, work->items[i].name);
    }
    BB_FAIL(BB_INVALID, "unknown key '%s'%s", name, bb_suggestion_text(&near));
done:
    return status;
}

static bb_status read_words(reading *work, char *text)
{
    bb_status status = BB_OK;
    char *rest = NULL;
    bool is_first = true;
    for (char *word = strtok_r(text, blanks, &rest); word != NULL;
         word = strtok_r(NULL, blanks, &rest)) {
        option *item = NULL;
        char *value = strchr(word, '=');
        if (value == NULL) {
            BB_REQUIRE(is_first && work->options->first != NULL, BB_INVALID,
                       "'%s' is no option; write key=value", word);
            value = word;
            BB_TRY(find_key(work, work->options->first, &item));
        } else {
            *value++ = '\0';
            BB_TRY(find_key(work, word, &item));
        }
        BB_REQUIRE(!item->given, BB_INVALID, "%s is given twice", item->name);
        item->given = true;
        BB_TRY(read_value(work, item, value));
        is_first = false;
    }
done:
    return status;
}

bb_status bb_options_read(const bb_options *options, const char *text, bb_arena *arena)
{
    bb_status status = BB_OK;
    reading work = {.options = options, .arena = arena};
    char *copy = NULL;
    BB_TRY(list_keys(&work));
    BB_TRY(bb_memory_text(text == NULL ? "" : text, &copy));
    BB_TRY(read_words(&work, copy));
    for (int i = 0; i < work.count; ++i) {
        const option *item = &work.items[i];
        BB_REQUIRE(item->given || item->key->optional || item->key->default_text != NULL,
                   BB_INVALID, "%s is missing", item->name);
        BB_REQUIRE(!item->given || item->group->is_used == NULL ||
                       item->group->is_used(item->group->record, item->key->name),
                   BB_INVALID, "%s has no effect with the other options; remove it", item->name);
    }
done:
    BB_RELEASE(&copy);
    return bb_status_prefix(status, "%s '%.80s'", options->subject, text == NULL ? "" : text);
}
