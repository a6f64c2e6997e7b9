// SPDX-License-Identifier: Apache-2.0
#include "sim/output/subject.h"

#include "build_info.h"
#include "core/arena.h"
#include "core/digest.h"
#include "core/file.h"
#include "sim/config/config.h"
#include "sim/config/emission.h"
#include "sim/output/provenance.h"

#include <string.h>

typedef struct subject {
    const char *const *others;
    bool has_digests; // false: file stamps
    bb_text *out;
} subject;

// True if the first word of a key is one of `others`.
static bool is_among(const char *key, const char *const *others)
{
    const size_t length = strcspn(key, ".");
    while (*others != NULL && (strlen(*others) != length || strncmp(*others, key, length) != 0)) {
        ++others;
    }
    return *others != NULL;
}

// Copies a schema without the keys `others`, and without paths at any depth.
static bb_status copy_schema(const bb_schema *schema, const char *const *others, bb_arena *arena,
                             bb_schema **out)
{
    static const char *const none[] = {NULL};
    bb_status status = BB_OK;
    bb_key *keys = NULL;
    BB_TRY(bb_arena_zeroed(arena, 1, sizeof **out, (void **)out));
    BB_TRY(bb_arena_zeroed(arena, schema->key_count, sizeof *keys, (void **)&keys));
    **out = (bb_schema){schema->name, schema->bytes, keys, 0};
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        bb_schema *inner = NULL;
        if (key->kind == BB_KEY_PATH || is_among(key->name, others)) {
            continue;
        }
        if (key->schema != NULL) {
            BB_TRY(copy_schema(key->schema, none, arena, &inner));
        }
        keys[(*out)->key_count] = *key;
        keys[(*out)->key_count++].schema = inner;
    }
done:
    return status;
}

// A file replaced meanwhile counts as another one: digest or stamp differ.
static bb_status add_file(void *context, const char *key, const char *file)
{
    bb_status status = BB_OK;
    const subject *work = context;
    bb_file_stamp stamp;
    char digest[BB_DIGEST_BYTES];
    if (is_among(key, work->others)) {
        goto done;
    }
    BB_TRY(bb_text_add(work->out, "  %s: ", key));
    if (work->has_digests) {
        BB_TRY(bb_digest_file(file, digest));
        BB_TRY(bb_text_add(work->out, "%s\n", digest));
    } else {
        BB_TRY(bb_file_stamp_find(file, &stamp));
        BB_TRY(bb_text_add(work->out, "%llu %llu %lld %lld.%09ld\n",
                           (unsigned long long)stamp.device, (unsigned long long)stamp.number,
                           (long long)stamp.bytes, (long long)stamp.changed.tv_sec,
                           stamp.changed.tv_nsec));
    }
done:
    return status;
}

static bb_status add_study(const bb_schema *schema, const void *study, subject *work)
{
    bb_status status = BB_OK;
    bb_arena arena = {0};
    bb_schema *compared = NULL;
    BB_TRY(copy_schema(schema, work->others, &arena, &compared));
    BB_TRY(bb_emission_write(compared, study, false, work->out));
    BB_TRY(bb_text_add(work->out, "files:\n"));
    BB_TRY(bb_config_visit_files(schema, study, add_file, work));
done:
    bb_arena_release(&arena);
    return status;
}

bb_status bb_subject_write(const bb_schema *schema, const void *study, const char *const *others,
                           bb_text *out)
{
    bb_status status = BB_OK;
    bb_library libraries[BB_LIBRARIES];
    BB_TRY(add_study(schema, study, &(subject){others, true, out}));
    BB_TRY(bb_text_add(out, "build:\n  compiler: %s\n  flags: %s\n", BB_COMPILER, BB_FLAGS));
    bb_provenance_libraries(libraries);
    for (int i = 0; i < BB_LIBRARIES; ++i) {
        BB_TRY(bb_text_add(out, "  %s: %s\n", libraries[i].name, libraries[i].version));
    }
done:
    return status;
}

bb_status bb_subject_write_key(const char *what, const bb_schema *schema, const void *study,
                               const char *const *others, bb_text *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(out, "%s\n", what));
    BB_TRY(add_study(schema, study, &(subject){others, false, out}));
done:
    return status;
}
