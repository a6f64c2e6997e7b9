// SPDX-License-Identifier: Apache-2.0
#include "sim/subject.h"

#include "build_info.h"
#include "core/digest.h"
#include "core/memory.h"
#include "sim/config/config.h"
#include "sim/config/emission.h"
#include "sim/output/provenance.h"

#include <stdint.h>
#include <string.h>

typedef struct subject {
    const char *const *others;
    bb_text *out;
} subject;

// Whether the first word of a key is one of `others`.
static bool is_among(const char *key, const char *const *others)
{
    const size_t length = strcspn(key, ".");
    while (*others != NULL && (strlen(*others) != length || strncmp(*others, key, length) != 0)) {
        ++others;
    }
    return *others != NULL;
}

static void release_schema(bb_schema *schema)
{
    bb_key *keys = (bb_key *)(uintptr_t)schema->keys; // made by copy_schema
    for (bb_index k = 0; k < schema->key_count; ++k) {
        if (keys[k].schema != NULL) {
            release_schema((bb_schema *)(uintptr_t)keys[k].schema);
        }
    }
    BB_RELEASE(&keys);
    BB_RELEASE(&schema);
}

// Without `others`, and without paths at any depth.
static bb_status copy_schema(const bb_schema *schema, const char *const *others, bb_schema **out)
{
    static const char *const none[] = {NULL};
    bb_status status = BB_OK;
    bb_schema *copy = NULL;
    bb_key *keys = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &copy));
    copy->name = schema->name;
    copy->bytes = schema->bytes;
    BB_TRY(BB_ALLOCATE(schema->key_count, &keys));
    copy->keys = keys;
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        bb_schema *inner = NULL;
        if (key->kind == BB_KEY_PATH || is_among(key->name, others)) {
            continue;
        }
        if (key->schema != NULL) {
            BB_TRY(copy_schema(key->schema, none, &inner));
        }
        keys[copy->key_count] = *key;
        keys[copy->key_count++].schema = inner;
    }
    *out = copy;
    copy = NULL;
done:
    if (copy != NULL) {
        release_schema(copy);
    }
    return status;
}

static bb_status add_keys(const bb_schema *schema, const void *study, const char *const *others,
                          bb_text *out)
{
    bb_status status = BB_OK;
    bb_schema *compared = NULL;
    BB_TRY(copy_schema(schema, others, &compared));
    BB_TRY(bb_emission_write(compared, study, false, out));
    BB_TRY(bb_text_add(out, "files:\n"));
done:
    if (compared != NULL) {
        release_schema(compared);
    }
    return status;
}

static bb_status add_digest(void *context, const char *key, const char *file)
{
    bb_status status = BB_OK;
    const subject *work = context;
    char digest[BB_DIGEST_BYTES];
    if (!is_among(key, work->others)) {
        BB_TRY(bb_digest_file(file, digest));
        BB_TRY(bb_text_add(work->out, "  %s: %s\n", key, digest));
    }
done:
    return status;
}

// A file that is replaced meanwhile is another one.
static bb_status add_stamp(void *context, const char *key, const char *file)
{
    bb_status status = BB_OK;
    const subject *work = context;
    bb_file_stamp stamp;
    if (!is_among(key, work->others)) {
        BB_TRY(bb_file_stamp_find(file, &stamp));
        BB_TRY(bb_text_add(work->out, "  %s: %llu %llu %lld %lld.%09ld\n", key,
                           (unsigned long long)stamp.device, (unsigned long long)stamp.number,
                           (long long)stamp.bytes, (long long)stamp.changed.tv_sec,
                           stamp.changed.tv_nsec));
    }
done:
    return status;
}

bb_status bb_subject_write(const bb_schema *schema, const void *study, const char *const *others,
                           bb_text *out)
{
    bb_status status = BB_OK;
    bb_library libraries[BB_LIBRARIES];
    subject work = {others, out};
    BB_TRY(add_keys(schema, study, others, out));
    BB_TRY(bb_config_visit_files(schema, study, add_digest, &work));
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
    subject work = {others, out};
    BB_TRY(bb_text_add(out, "%s\n", what));
    BB_TRY(add_keys(schema, study, others, out));
    BB_TRY(bb_config_visit_files(schema, study, add_stamp, &work));
done:
    return status;
}
