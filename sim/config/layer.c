// SPDX-License-Identifier: Apache-2.0
#include "sim/config/layer.h"

#include "core/memory.h"
#include "sim/config/binding.h"
#include "sim/config/config.h"
#include "sim/config/study_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char STANDARD_INPUT[] = "-";

// Reads a stream, up to one byte more than a configuration may have.
static bb_status read_stream(bb_arena *arena, FILE *file, const char *path, char **text,
                             size_t *length)
{
    bb_status status = BB_OK;
    *length = 0;
    BB_TRY(bb_arena_zeroed(arena, BB_NODE_BYTES + 2, 1, (void **)text));
    while (*length <= BB_NODE_BYTES) {
        const size_t got = fread(*text + *length, 1, BB_NODE_BYTES + 1 - *length, file);
        *length += got;
        if (got == 0) {
            break;
        }
    }
    BB_REQUIRE(ferror(file) == 0, BB_IO, "cannot read configuration '%s': %s", path,
               strerror(errno));
    BB_REQUIRE(*length <= BB_NODE_BYTES, BB_INVALID,
               "configuration '%s' is too large, expected at most %d bytes", path, BB_NODE_BYTES);
done:
    return status;
}

// Refuses result files, which users often store next to their studies.
static bb_status refuse_results(const char *path, const char *text, size_t length)
{
    bb_status status = BB_OK;
    static const char hdf5[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    BB_REQUIRE(length < sizeof hdf5 || memcmp(text, hdf5, sizeof hdf5) != 0, BB_INVALID,
               "'%s' is an HDF5 file, not a study: 'bitbudget show %s' prints a result, 'bitbudget "
               "rerun' repeats it; for a matrix, write a study with 'matrix: {file: %s}'",
               path, path, path);
done:
    return status;
}

static bb_status open_configuration(const char *path, FILE **out, struct stat *about)
{
    bb_status status = BB_OK;
    const bool piped = strcmp(path, STANDARD_INPUT) == 0;
    // Checked before opening, because opening a FIFO waits for its writer.
    BB_REQUIRE(piped || stat(path, about) != 0 || S_ISREG(about->st_mode), BB_IO,
               "cannot read configuration '%s': not a regular file", path);
    *out = piped ? stdin : fopen(path, "rb");
    BB_REQUIRE(*out != NULL, BB_IO, "cannot read configuration '%s': %s", path, strerror(errno));
    BB_REQUIRE(fstat(fileno(*out), about) == 0, BB_IO, "cannot read configuration '%s': %s", path,
               strerror(errno));
done:
    return status;
}

static const char *known_text(const bb_layers *layers, const char *path)
{
    for (bb_index i = 0; i < layers->known_count; ++i) {
        if (strcmp(layers->known[i].name, path) == 0) {
            return layers->known[i].text;
        }
    }
    return NULL;
}

static bb_status note_file(bb_arena *arena, const char *path, const char *text,
                           const struct stat *about, bb_layers *layers)
{
    bb_status status = BB_OK;
    layers->files[layers->count].text = text;
    layers->files[layers->count].device = about->st_dev;
    layers->files[layers->count].inode = about->st_ino;
    BB_TRY(bb_arena_text(arena, path, strlen(path), &layers->files[layers->count].name));
    ++layers->count;
done:
    return status;
}

// Uses a file read earlier; its index identifies it.
static bb_status use_known(bb_arena *arena, const char *path, bb_layers *layers)
{
    bb_status status = BB_OK;
    const char *text = known_text(layers, path);
    const char *copy = NULL;
    const struct stat about = {.st_ino = (ino_t)layers->count + 1};
    BB_REQUIRE(text != NULL, BB_IO, "configuration '%s' is missing from the %td recorded files",
               path, layers->known_count);
    BB_TRY(bb_arena_text(arena, text, strlen(text), &copy));
    BB_TRY(note_file(arena, path, copy, &about, layers));
done:
    return status;
}

// Reads a whole regular file, or standard input, into the arena and adds it to the layers.
static bb_status read_file(bb_arena *arena, const char *path, bb_layers *layers)
{
    bb_status status = BB_OK;
    struct stat about;
    char *text = NULL;
    size_t length = 0;
    FILE *file = NULL;
    BB_TRY(open_configuration(path, &file, &about));
    BB_TRY(read_stream(arena, file, path, &text, &length));
    BB_TRY(refuse_results(path, text, length));
    BB_REQUIRE(strlen(text) == length, BB_INVALID, "configuration '%s' contains a NUL character",
               path);
    BB_TRY(note_file(arena, path, text, &about, layers));
done:
    if (file != NULL && file != stdin) {
        (void)fclose(file);
    }
    return status;
}

static bool read_before(const bb_layers *layers)
{
    bb_index last = layers->count - 1;
    for (bb_index i = 0; i < last; ++i) {
        if (layers->files[i].device == layers->files[last].device &&
            layers->files[i].inode == layers->files[last].inode) {
            return true;
        }
    }
    return false;
}

// Recorded file that find_base resolved: `joined`, with or without extension, else the file of the
// shipped study `base`; or NULL.
static const char *find_known(const bb_layers *layers, const char *joined, const char *base)
{
    for (bb_index i = 0; i < layers->known_count; ++i) {
        const char *name = layers->known[i].name;
        const size_t length = strlen(joined);
        if (strncmp(name, joined, length) == 0 &&
            (name[length] == '\0' || strcmp(name + length, ".yaml") == 0)) {
            return name;
        }
    }
    for (bb_index i = 0; i < layers->known_count; ++i) {
        const char *tail = strstr(layers->known[i].name, "/configs/");
        tail = tail == NULL ? NULL : tail + strlen("/configs/");
        if (tail != NULL && strncmp(tail, base, strlen(base)) == 0) {
            return layers->known[i].name;
        }
    }
    return NULL;
}

// Finds the path of a base: a file relative to the one that names it, with or without extension,
// else a shipped study.
static bb_status find_base(bb_arena *arena, const char *path, const char *base,
                           const bb_layers *layers, const char **out)
{
    bb_status status = BB_OK;
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    char *found = NULL;
    const char *joined = NULL;
    BB_TRY(bb_memory_printf(&folder, "%.*s",
                            base[0] == '/' || slash == NULL ? 0 : (int)(slash - path) + 1, path));
    if (layers->known_count > 0) {
        BB_TRY(bb_arena_printf(arena, &joined, "%s%s", folder, base));
        *out = find_known(layers, joined, base);
        BB_REQUIRE(*out != NULL, BB_IO, "configuration '%s' is missing from the %td recorded files",
                   joined, layers->known_count);
        goto done;
    }
    BB_TRY(bb_study_file_find_base(folder, base, &found));
    BB_TRY(bb_arena_text(arena, found, strlen(found), out));
done:
    BB_RELEASE(&folder);
    BB_RELEASE(&found);
    return status;
}

// Removes `base:` from a tree; `*out` is NULL if it is absent or not a text.
static bb_status extract_base(bb_arena *arena, bb_node *tree, const char *path,
                              const bb_layers *layers, bb_problems *problems, bb_node **base,
                              const char **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    *base = bb_node_member(tree, "base");
    if (*base == NULL) {
        goto done;
    }
    bb_node_remove(tree, *base);
    if ((*base)->kind != BB_NODE_SCALAR || (*base)->text[0] == '\0') {
        BB_TRY(bb_problems_add(problems, (*base)->place, "base: expected the path of a file"));
        goto done;
    }
    const bb_status found = find_base(arena, path, (*base)->text, layers, out);
    if (found == BB_IO) {
        char why[512];
        (void)snprintf(why, sizeof why, "%s", bb_status_message());
        BB_FAIL(BB_IO, "%s:%td:%td: base: %s", (*base)->place.origin, (*base)->place.line,
                (*base)->place.column, why);
    }
    BB_TRY(found);
done:
    return status;
}

static bb_status parse_layer(bb_arena *arena, bb_layers *layers, bb_problems *problems,
                             bb_node **out)
{
    bb_status status = BB_OK;
    bb_node *tree = NULL;
    const char *name = layers->files[layers->count - 1].name;
    const char *text = layers->files[layers->count - 1].text;
    bb_index before = problems->count;
    BB_TRY(bb_node_parse(arena, name, true, text, strlen(text), problems, &tree));
    if (problems->count > before) {
        goto done;
    }
    if (tree == NULL || tree->kind != BB_NODE_MAP) {
        BB_TRY(bb_problems_add(problems, (bb_place){name, 1, 1},
                               "%s, expected a map of key: value lines",
                               tree == NULL ? "empty" : bb_node_kind_name(tree->kind)));
        goto done;
    }
    *out = tree;
done:
    return status;
}

bb_status bb_layers_read(bb_arena *arena, const char *path, bb_layers *layers,
                         bb_problems *problems, bb_node **out)
{
    bb_status status = BB_OK;
    bb_node *tree = NULL;
    bb_node *base_key = NULL;
    bb_node *base_tree = NULL;
    const char *base = NULL;
    *out = NULL;
    BB_TRY(layers->known_count > 0 ? use_known(arena, path, layers)
                                   : read_file(arena, path, layers));
    if (read_before(layers)) {
        BB_TRY(bb_problems_add(problems, (bb_place){path, 1, 1},
                               "base: this file is its own base, directly or indirectly"));
        goto done;
    }
    BB_TRY(parse_layer(arena, layers, problems, &tree));
    if (tree == NULL) {
        goto done;
    }
    BB_TRY(extract_base(arena, tree, path, layers, problems, &base_key, &base));
    if (base == NULL) {
        *out = base_key == NULL ? tree : NULL;
        goto done;
    }
    if (layers->count == BB_LAYER_FILES) {
        BB_TRY(bb_problems_add(problems, base_key->place, "base: chain of more than %d files",
                               BB_LAYER_FILES));
        goto done;
    }
    BB_TRY(bb_layers_read(arena, base, layers, problems, &base_tree));
    if (base_tree != NULL) {
        bb_node_merge(base_tree, tree);
        *out = base_tree;
    }
done:
    return status;
}

// Number of files between a node's file and the main file; 0 for a node of another origin.
static bb_index depth_of(const bb_node *node, const bb_layers *layers)
{
    bb_index depth = 0;
    while (depth < layers->count && node->place.origin != layers->files[depth].name) {
        ++depth;
    }
    return depth;
}

// Overrides have no line number.
static bool is_overridden(const bb_node *node)
{
    return node->key_place.line == 0;
}

// Removes the alternatives of a key from its map: for an override those set by files; with
// `layers`, those of files below the key's.
static void drop_alternatives(const bb_key *key, bb_node *map, const bb_node *member,
                              const bb_layers *layers)
{
    for (int i = 0; i < BB_KEY_REPLACES && key->replaces[i] != NULL; ++i) {
        const bb_node *other = bb_node_member(map, key->replaces[i]);
        if (other != NULL &&
            (layers == NULL ? !is_overridden(other)
                            : depth_of(other, layers) > depth_of(member, layers))) {
            bb_node_remove(map, other);
        }
    }
}

void bb_layers_resolve_alternatives(const bb_layers *layers, const bb_schema *schema, bb_node *tree)
{
    for (bb_index k = 0; tree->kind == BB_NODE_MAP && k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        bb_node *member = bb_node_member(tree, key->name);
        if (member != NULL) {
            drop_alternatives(key, tree, member, layers);
        }
        if (member != NULL && key->kind == BB_KEY_GROUP) {
            bb_layers_resolve_alternatives(layers, key->schema, member);
        }
    }
}

// Converts a plain value that is the shorthand of a group into that group.
static bb_status open_shorthand(bb_arena *arena, const bb_key *key, bb_node *parent, bb_node **node)
{
    bb_status status = BB_OK;
    bb_node *map = NULL;
    bb_node *value = NULL;
    if ((*node)->kind == BB_NODE_MAP || key == NULL || key->shorthand == NULL) {
        goto done;
    }
    BB_TRY(bb_node_make(arena, BB_NODE_MAP, (*node)->place, &map));
    BB_TRY(bb_node_make(arena, BB_NODE_SCALAR, (*node)->place, &value));
    map->key_place = (*node)->key_place;
    *value = **node;
    value->key = key->shorthand;
    bb_node_replace(parent, *node, map);
    bb_node_append(map, value);
    *node = map;
done:
    return status;
}

typedef struct walk {
    bb_arena *arena;
    bb_problems *problems;
    bb_place place;   // place of the override, for messages
    const char *path; // whole path, for messages
    bb_node *node;    // current node of the walk
    const bb_schema *schema;
    const bb_key *key; // key of `node`, if known
} walk;

static bb_status step_into_list(walk *route, const char *part, bb_node **child)
{
    *child = bb_node_part(route->node, part);
    if (*child == NULL) {
        return bb_problems_add(route->problems, route->place,
                               "%s: '%s' is not an item of a list of %td, expected 0 to %td%s",
                               route->path, part, route->node->count, route->node->count - 1,
                               bb_node_member(route->node->first, "name") == NULL ? ""
                                                                                  : " or a name");
    }
    return BB_OK;
}

// Follows one part of the path; `*child` is NULL after a problem. An absent key is created as a
// map.
static bb_status step(walk *route, const char *part, bool last, bb_node *value, bb_node **child)
{
    bb_status status = BB_OK;
    bb_node *made = NULL;
    *child = NULL;
    if (route->node->kind == BB_NODE_LIST) {
        BB_TRY(step_into_list(route, part, child));
    } else if (route->node->kind == BB_NODE_MAP) {
        route->key = bb_binding_key(route->schema, part);
        route->schema = route->key == NULL ? NULL : route->key->schema;
        *child = bb_node_member(route->node, part);
        if (*child == NULL) {
            BB_TRY(bb_node_make(route->arena, BB_NODE_MAP, route->place, &made));
            BB_TRY(bb_arena_text(route->arena, part, strlen(part), &made->key));
            bb_node_append(route->node, made);
            *child = made;
        }
        if (route->key != NULL) {
            drop_alternatives(route->key, route->node, *child, NULL);
        }
    } else {
        BB_TRY(bb_problems_add(route->problems, route->place,
                               "%s: a single value, not a group, is above '%s'", route->path,
                               part));
    }
    if (*child == NULL) {
        goto done;
    }
    if (last) {
        value->key_place = route->place;
        bb_node_replace(route->node, *child, value);
    } else {
        bool group = route->key != NULL && route->key->kind == BB_KEY_GROUP;
        BB_TRY(open_shorthand(route->arena, group ? route->key : NULL, route->node, child));
    }
done:
    return status;
}

static bb_status walk_path(walk *route, bb_node *value)
{
    bb_status status = BB_OK;
    const char *rest = route->path;
    for (;;) {
        char part[128];
        bb_node *child = NULL;
        size_t length = strcspn(rest, ".");
        if (length == 0 || length >= sizeof part) {
            BB_TRY(bb_problems_add(route->problems, route->place,
                                   "expected a key path such as atmosphere.r0_m or "
                                   "pipelines.1.name"));
            goto done;
        }
        memcpy(part, rest, length);
        part[length] = '\0';
        bool last = rest[length] == '\0';
        BB_TRY(step(route, part, last, value, &child));
        if (child == NULL || last) {
            goto done;
        }
        route->node = child;
        rest += length + 1;
    }
done:
    return status;
}

bb_status bb_layers_override(bb_arena *arena, const bb_schema *schema, bb_node *tree,
                             const char *override, bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_node *value = NULL;
    walk route = {.arena = arena, .problems = problems, .node = tree, .schema = schema};
    const char *equals = strchr(override, '=');
    bb_index before = problems->count;
    BB_TRY(bb_arena_printf(arena, &route.place.origin, "override '%s'", override));
    if (equals == NULL || equals == override) {
        BB_TRY(bb_problems_add(problems, route.place, "expected key.path=value"));
        goto done;
    }
    BB_TRY(bb_arena_text(arena, override, (size_t)(equals - override), &route.path));
    BB_TRY(bb_node_parse(arena, route.place.origin, false, equals + 1, strlen(equals + 1), problems,
                         &value));
    if (problems->count > before) {
        goto done;
    }
    if (value == NULL) {
        BB_TRY(bb_problems_add(problems, route.place, "%s: no value after '='", route.path));
        goto done;
    }
    BB_TRY(walk_path(&route, value));
done:
    return status;
}
