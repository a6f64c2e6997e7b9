// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/notation_names.h"

#include "core/suggestion.h"

#include <stdint.h>
#include <string.h>

// FNV-1a.
static size_t bucket_of(const char *text, bb_index length)
{
    uint32_t hash = 2166136261U;
    for (bb_index i = 0; i < length; ++i) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    }
    return hash % BB_NOTATION_BUCKETS;
}

bb_notation_name *bb_notation_names_find(const bb_notation_names *names, bb_notation_token token)
{
    bb_notation_name *name = names->buckets[bucket_of(token.start, token.length)];
    while (name != NULL && !bb_notation_token_is(token, name->text)) {
        name = name->next;
    }
    return name;
}

bb_status bb_notation_names_add(bb_notation_names *names, bb_notation_token token,
                                bb_notation_noun noun, bb_arena *arena, bb_notation_name **out)
{
    bb_status status = BB_OK;
    bb_notation_name *name = NULL;
    bb_notation_name **bucket = &names->buckets[bucket_of(token.start, token.length)];
    BB_TRY(bb_arena_zeroed(arena, 1, sizeof *name, (void **)&name));
    BB_TRY(bb_arena_text(arena, token.start, (size_t)token.length, &name->text));
    name->noun = noun;
    name->place = token.place;
    name->next = *bucket;
    *bucket = name;
    *out = name;
done:
    return status;
}

void bb_notation_names_remove(bb_notation_names *names, const bb_notation_name *name)
{
    bb_notation_name **link = &names->buckets[bucket_of(name->text, (bb_index)strlen(name->text))];
    while (*link != name) {
        link = &(*link)->next;
    }
    *link = name->next;
}

const char *bb_notation_names_nearest(const bb_notation_names *names, const char *word)
{
    const char *best = NULL;
    bb_index distance = PTRDIFF_MAX;
    for (size_t i = 0; i < BB_NOTATION_BUCKETS; ++i) {
        for (const bb_notation_name *name = names->buckets[i]; name != NULL; name = name->next) {
            if (name->noun != BB_NOTATION_KERNEL) {
                bb_suggestion_consider(word, name->text, &distance, &best);
            }
        }
    }
    return best;
}
