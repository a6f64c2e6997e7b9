// SPDX-License-Identifier: Apache-2.0
#include "sim/config/named_files.h"

#include "core/memory.h"

typedef struct visitor {
    bb_status (*visit)(void *context, const char *key, const char *file);
    void *context;
} visitor;

static bb_status visit_group(const bb_schema *schema, const char *object, const char *prefix,
                             const visitor *who);

static bb_status visit_records(const bb_key *key, const bb_list *list, const char *path,
                               const visitor *who)
{
    bb_status status = BB_OK;
    char *prefix = NULL;
    for (bb_index i = 0; i < list->count; ++i) {
        BB_RELEASE(&prefix);
        BB_TRY(bb_memory_printf(&prefix, "%s.%td.", path, i));
        BB_TRY(visit_group(key->schema, (const char *)list->items + (size_t)i * key->schema->bytes,
                           prefix, who));
    }
done:
    BB_RELEASE(&prefix);
    return status;
}

static bb_status visit_key(const bb_key *key, const char *member, const char *prefix,
                           const visitor *who)
{
    bb_status status = BB_OK;
    char *path = NULL;
    BB_TRY(
        bb_memory_printf(&path, "%s%s%s", prefix, key->name, key->kind == BB_KEY_GROUP ? "." : ""));
    if (key->kind == BB_KEY_GROUP) {
        BB_TRY(visit_group(key->schema, member, path, who));
    } else if (key->kind == BB_KEY_RECORDS) {
        BB_TRY(visit_records(key, (const bb_list *)(const void *)member, path, who));
    } else {
        const char *file = *(const char *const *)(const void *)member;
        BB_TRY(file == NULL ? BB_OK : who->visit(who->context, path, file));
    }
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status visit_group(const bb_schema *schema, const char *object, const char *prefix,
                             const visitor *who)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        if (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS || key->kind == BB_KEY_PATH) {
            BB_TRY(visit_key(key, object + key->offset, prefix, who));
        }
    }
done:
    return status;
}

bb_status bb_named_files_visit(const bb_schema *schema, const void *object,
                               bb_status (*visit)(void *context, const char *key, const char *file),
                               void *context)
{
    const visitor who = {visit, context};
    return visit_group(schema, object, "", &who);
}
