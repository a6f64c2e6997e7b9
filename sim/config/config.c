// SPDX-License-Identifier: Apache-2.0
#include "sim/config/config.h"

#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/suggestion.h"
#include "sim/config/binding.h"
#include "sim/config/emission.h"
#include "sim/config/layer.h"
#include "sim/config/record_table.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

struct bb_config_base {
    bb_arena arena;
    bb_layers layers;
    bb_record_tables tables;
    bb_node *tree;
    const bb_schema *schema;
    bb_text name; // name of the main file, for messages
};

struct bb_config {
    bb_arena arena;
    const bb_config_base *base;
    bb_config_base *owned_base; // NULL if the base is borrowed
    bb_record_tables tables;    // tables named by its overrides
    bb_node *tree;
    void *study;
};

void bb_config_base_destroy(bb_config_base **base)
{
    if (*base != NULL) {
        bb_text_release(&(*base)->name);
        bb_arena_release(&(*base)->arena);
    }
    BB_RELEASE(base);
}

void bb_config_destroy(bb_config **config)
{
    if (*config != NULL) {
        bb_config_base_destroy(&(*config)->owned_base);
        bb_arena_release(&(*config)->arena);
    }
    BB_RELEASE(config);
}

static bool names_experiment(const char *override)
{
    return strncmp(override, "experiment=", strlen("experiment=")) == 0;
}

// Chooses the schema. Overrides of `experiment` are applied first, because all other keys depend on
// it.
static bb_status choose_schema(bb_config_base *base, const bb_config_request *request,
                               bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_text words = {0};
    for (bb_index i = 0; i < request->override_count; ++i) {
        if (names_experiment(request->overrides[i])) {
            BB_TRY(bb_layers_override(&base->arena, NULL, base->tree, request->overrides[i],
                                      problems));
        }
    }
    const bb_node *node = bb_node_member(base->tree, "experiment");
    const char *name = node != NULL && node->kind == BB_NODE_SCALAR ? node->text : NULL;
    bb_suggestion near = {.word = name};
    for (bb_index i = 0; i < request->schema_count; ++i) {
        const bb_schema *schema = request->schemas[i];
        if (name != NULL && strcmp(name, schema->name) == 0) {
            base->schema = schema;
            goto done;
        }
        if (name != NULL) {
            bb_suggestion_add(&near, schema->name);
        }
        BB_TRY(bb_text_add(&words, "%s%s", i == 0 ? "" : ", ", schema->name));
    }
    BB_TRY(bb_problems_add(problems, node == NULL ? base->tree->place : node->place,
                           "experiment%s%s: %sexpected one of %s%s", name == NULL ? "" : " = ",
                           name == NULL ? "" : name, node == NULL ? "missing; " : "",
                           bb_text_string(&words), bb_suggestion_text(&near)));
done:
    bb_text_release(&words);
    return status;
}

// Replaces `seed: random` by a number, which is recorded in the results.
static bb_status draw_seed(bb_config *config)
{
    bb_status status = BB_OK;
    uint64_t drawn = 0;
    bb_node *seed = bb_node_member(config->tree, "seed");
    if (seed == NULL || seed->kind != BB_NODE_SCALAR || strcmp(seed->text, "random") != 0) {
        goto done;
    }
    BB_REQUIRE(getrandom(&drawn, sizeof drawn, 0) == (ssize_t)sizeof drawn, BB_IO,
               "cannot draw a random seed: %s", strerror(errno));
    seed->quoted = false;
    BB_TRY(bb_arena_printf(&config->arena, &seed->text, "%llu", (unsigned long long)(drawn >> 12)));
done:
    return status;
}

// Removes the keys that name output folders.
static void drop_folders(const bb_schema *schema, bb_node *tree)
{
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        bb_node *member = bb_node_member(tree, key->name);
        if (member != NULL && key->writes_folder) {
            bb_log_info("'%s' of '%s' is ignored; set it on the command line", key->name,
                        member->place.origin);
            bb_node_remove(tree, member);
        } else if (member != NULL && key->kind == BB_KEY_GROUP) {
            drop_folders(key->schema, member);
        } else if (member != NULL && key->kind == BB_KEY_RECORDS) {
            for (bb_node *item = member->first; item != NULL; item = item->next) {
                drop_folders(key->schema, item);
            }
        }
    }
}

static bb_status read_base(bb_config_base *base, const bb_config_request *request,
                           bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(&base->name, "%s", request->path));
    base->layers.known = request->files;
    base->layers.known_count = request->file_count;
    BB_TRY(bb_layers_read(&base->arena, request->path, &base->layers, problems, &base->tree));
    base->layers.known = NULL;
    base->layers.known_count = 0;
    base->tables.known = request->files;
    base->tables.known_count = request->file_count;
    if (base->tree == NULL) {
        goto done;
    }
    BB_TRY(choose_schema(base, request, problems));
    if (base->schema != NULL) {
        bb_layers_resolve_alternatives(&base->layers, base->schema, base->tree);
    }
    if (base->schema != NULL && request->ignores_folders) {
        drop_folders(base->schema, base->tree);
    }
    for (bb_index i = 0; base->schema != NULL && i < request->override_count; ++i) {
        if (!names_experiment(request->overrides[i])) {
            BB_TRY(bb_layers_override(&base->arena, base->schema, base->tree, request->overrides[i],
                                      problems));
        }
    }
    if (base->schema != NULL) {
        BB_TRY(
            bb_record_tables_open(&base->arena, base->schema, base->tree, &base->tables, problems));
    }
done:
    return status;
}

static bb_status count_problems(const bb_config_base *base, const bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_REQUIRE(problems->count == 0, BB_INVALID, "%s: %td problem%s", bb_text_string(&base->name),
               problems->count, problems->count == 1 ? "" : "s");
done:
    return status;
}

// Reads and merges the files of a request. With `judge`, problems make the call fail.
static bb_status read_as(const bb_config_request *request, bool judge, bb_problems *problems,
                         bb_config_base **out)
{
    bb_status status = BB_OK;
    bb_config_base *base = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &base));
    BB_TRY(read_base(base, request, problems));
    const bb_node *device = bb_node_member(base->tree, "device");
    if (request->begin != NULL && device != NULL && device->kind == BB_NODE_SCALAR) {
        BB_TRY(request->begin(device->text));
    }
    if (judge) {
        BB_TRY(count_problems(base, problems));
    }
    *out = base;
    base = NULL;
done:
    bb_config_base_destroy(&base);
    return status;
}

bb_status bb_config_base_read(const bb_config_request *request, bb_problems *problems,
                              bb_config_base **out)
{
    return read_as(request, true, problems, out);
}

bb_node *bb_config_base_extract(bb_config_base *base, const char *key)
{
    bb_node *node = bb_node_member(base->tree, key);
    if (node != NULL) {
        bb_node_remove(base->tree, node);
    }
    return node;
}

const bb_schema *bb_config_base_schema(const bb_config_base *base)
{
    return base->schema;
}

bb_index bb_config_base_file_count(const bb_config_base *base)
{
    return base->layers.count + base->tables.count;
}

bb_config_file bb_config_base_file(const bb_config_base *base, bb_index file)
{
    if (file >= base->layers.count) {
        const bb_index table = file - base->layers.count;
        return (bb_config_file){base->tables.files[table].name, base->tables.files[table].text};
    }
    return (bb_config_file){base->layers.files[file].name, base->layers.files[file].text};
}

static bb_status bind(const bb_config_base *base, const char *const *overrides, bb_index count,
                      bb_problems *problems, bb_config *config)
{
    bb_status status = BB_OK;
    const bb_schema *schema = base->schema;
    config->base = base;
    BB_TRY(bb_node_copy(&config->arena, base->tree, &config->tree));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_layers_override(&config->arena, schema, config->tree, overrides[i], problems));
    }
    BB_TRY(draw_seed(config));
    BB_TRY(bb_record_tables_open(&config->arena, schema, config->tree, &config->tables, problems));
    BB_TRY(bb_record_table_spread(&config->arena, schema, config->tree, problems));
    BB_TRY(bb_arena_zeroed(&config->arena, 1, schema->bytes, &config->study));
    BB_TRY(bb_binding_bind(&config->arena, schema, config->tree, "", problems, config->study));
    BB_TRY(count_problems(base, problems));
done:
    return status;
}

bb_status bb_config_base_bind(const bb_config_base *base, const char *const *overrides,
                              bb_index count, bb_problems *problems, bb_config **out)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &config));
    BB_TRY(bind(base, overrides, count, problems, config));
    *out = config;
    config = NULL;
done:
    bb_config_destroy(&config);
    return status;
}

bb_status bb_config_load(const bb_config_request *request, bb_problems *problems, bb_config **out)
{
    bb_status status = BB_OK;
    bb_config_base *base = NULL;
    bb_config *config = NULL;
    *out = NULL;
    BB_TRY(read_as(request, false, problems, &base));
    if (base->schema == NULL) {
        BB_TRY(count_problems(base, problems));
    }
    BB_REQUIRE(base->schema != NULL, BB_INTERNAL,
               "internal: %s has no experiment, but no problem was reported", request->path);
    const bb_node *sweep = bb_config_base_extract(base, "sweep");
    if (sweep != NULL) {
        BB_TRY(bb_problems_add(
            problems, sweep->key_place,
            "sweep: this file is a plan of many studies; run it with 'bitbudget sweep %s'",
            request->path));
    }
    BB_TRY(bb_config_base_bind(base, NULL, 0, problems, &config));
    config->owned_base = base;
    base = NULL;
    *out = config;
done:
    bb_config_base_destroy(&base);
    return status;
}

const void *bb_config_study(const bb_config *config)
{
    return config->study;
}

const bb_schema *bb_config_schema(const bb_config *config)
{
    return config->base->schema;
}

bb_index bb_config_file_count(const bb_config *config)
{
    return config->base->layers.count;
}

bb_config_file bb_config_file_at(const bb_config *config, bb_index file)
{
    return bb_config_base_file(config->base, file);
}

bb_index bb_config_table_count(const bb_config *config)
{
    return config->base->tables.count + config->tables.count;
}

bb_config_table bb_config_table_at(const bb_config *config, bb_index table)
{
    const bb_index shared = config->base->tables.count;
    const bb_record_tables *tables = table < shared ? &config->base->tables : &config->tables;
    const bb_index number = table < shared ? table : table - shared;
    return (bb_config_table){tables->files[number].name, tables->files[number].text,
                             tables->files[number].digest};
}

bb_place bb_config_place(const bb_config *config, const char *path)
{
    return bb_node_nearest(config->tree, path)->place;
}

bb_status bb_config_resolved(const bb_config *config, bb_text *out)
{
    return bb_emission_write(config->base->schema, config->study, false, out);
}

bb_status bb_config_template(const bb_schema *schema, const char *starter, bb_text *out)
{
    bb_status status = BB_OK;
    bb_arena arena = {0};
    bb_problems problems = {0};
    bb_node *tree = NULL;
    void *study = NULL;
    BB_TRY(bb_node_parse(&arena, "starter", true, starter, strlen(starter), &problems, &tree));
    BB_TRY(bb_arena_zeroed(&arena, 1, schema->bytes, &study));
    BB_TRY(bb_binding_bind(&arena, schema, tree, "", &problems, study));
    BB_REQUIRE(problems.count == 0, BB_INTERNAL, "internal: the starter of %s is invalid: %s",
               schema->name, bb_text_string(&problems.lines));
    BB_TRY(bb_emission_write(schema, study, true, out));
done:
    bb_problems_release(&problems);
    bb_arena_release(&arena);
    return status;
}

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

bb_status bb_config_visit_files(const bb_schema *schema, const void *object,
                                bb_status (*visit)(void *context, const char *key,
                                                   const char *file),
                                void *context)
{
    const visitor who = {visit, context};
    return visit_group(schema, object, "", &who);
}
