// SPDX-License-Identifier: Apache-2.0
#include "sim/warm.h"

#include "core/digest.h"
#include "core/memory.h"
#include "sim/config/config.h"
#include "sim/config/emission.h"

#include <string.h>
#include <xxhash.h>

enum { PIECES = 4096 };

typedef struct piece {
    XXH128_hash_t key;
    void *block;
    bb_index bytes;
    bb_index study; // that used it last
} piece;

static struct {
    double allowed, used;
    bb_index study;
    bb_index count;
    piece pieces[PIECES];
} store;

static void drop(bb_index index)
{
    store.used -= (double)store.pieces[index].bytes;
    BB_RELEASE(&store.pieces[index].block);
    store.pieces[index] = store.pieces[--store.count];
}

void bb_warm_allow(double bytes)
{
    store.allowed = bytes;
    while (store.count > 0 && bytes == 0.0) {
        drop(store.count - 1);
    }
}

bool bb_warm_has_room(double bytes)
{
    return bytes <= store.allowed;
}

void bb_warm_next_study(void)
{
    ++store.study;
}

static XXH128_hash_t digest(const char *key)
{
    return XXH3_128bits(key, strlen(key));
}

const void *bb_warm_find(const char *key, bb_index *bytes)
{
    const XXH128_hash_t wanted = digest(key);
    for (bb_index i = 0; i < store.count; ++i) {
        piece *found = &store.pieces[i];
        if (XXH128_isEqual(found->key, wanted)) {
            found->study = store.study;
            *bytes = found->bytes;
            return found->block;
        }
    }
    *bytes = 0;
    return NULL;
}

// Lets go of what was used longest ago until there is room; false where the study itself uses it.
static bool make_room(bb_index bytes)
{
    while (store.count == PIECES || store.used + (double)bytes > store.allowed) {
        bb_index oldest = -1;
        for (bb_index i = 0; i < store.count; ++i) {
            const bb_index study = store.pieces[i].study;
            if (study < store.study && (oldest < 0 || study < store.pieces[oldest].study)) {
                oldest = i;
            }
        }
        if (oldest < 0) {
            return false;
        }
        drop(oldest);
    }
    return true;
}

const void *bb_warm_keep(const char *key, void **block, bb_index bytes)
{
    const void *kept = NULL;
    if (bb_warm_has_room((double)bytes) && make_room(bytes)) {
        store.pieces[store.count++] = (piece){digest(key), *block, bytes, store.study};
        store.used += (double)bytes;
        kept = *block;
        *block = NULL;
    }
    return kept;
}

static bool is_among(const char *name, const char *const *others)
{
    while (*others != NULL && strcmp(*others, name) != 0) {
        ++others;
    }
    return *others != NULL;
}

// A file that is replaced meanwhile is another one.
static bb_status add_stamp(void *context, const char *key, const char *file)
{
    bb_status status = BB_OK;
    bb_file_stamp stamp;
    BB_TRY(bb_file_stamp_find(file, &stamp));
    BB_TRY(bb_text_add(context, "%s: %llu %llu %lld %lld.%09ld\n", key,
                       (unsigned long long)stamp.device, (unsigned long long)stamp.number,
                       (long long)stamp.bytes, (long long)stamp.changed.tv_sec,
                       stamp.changed.tv_nsec));
done:
    return status;
}

bb_status bb_warm_describe(const char *what, const bb_schema *schema, const void *study,
                           const char *const *others, bb_text *out)
{
    bb_status status = BB_OK;
    bb_key *keys = NULL;
    bb_schema compared = *schema;
    BB_TRY(BB_ALLOCATE(schema->key_count, &keys));
    compared.keys = keys;
    compared.key_count = 0;
    for (bb_index k = 0; k < schema->key_count; ++k) {
        if (!is_among(schema->keys[k].name, others)) {
            keys[compared.key_count++] = schema->keys[k];
        }
    }
    BB_TRY(bb_text_add(out, "%s\n", what));
    BB_TRY(bb_emission_write(&compared, study, false, out));
    BB_TRY(bb_config_visit_files(&compared, study, add_stamp, out));
done:
    BB_RELEASE(&keys);
    return status;
}
