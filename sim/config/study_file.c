// SPDX-License-Identifier: Apache-2.0
#include "sim/config/study_file.h"

#include "core/memory.h"
#include "core/suggestion.h"
#include "sim/config/binding.h"
#include "sim/config/config.h"
#include "sim/config/shipped_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".yaml";
static const char *const endings[] = {"", ending, NULL};
enum { ENDING = sizeof ending - 1, FOLDER_DEPTH = 4, NEAREST = 4, HDF5_FIRST_BYTE = 0x89 };

static bool has_ending(const char *name)
{
    const size_t length = strlen(name);
    return length > ENDING && strcmp(name + length - ENDING, ending) == 0;
}

static bb_index distance_to(const char *name, const char *candidate)
{
    const char *slash = strrchr(candidate, '/');
    const bb_index full = bb_suggestion_distance(name, candidate);
    const bb_index last = bb_suggestion_distance(name, slash == NULL ? candidate : slash + 1);
    return full < last ? full : last;
}

// Writes " (did you mean ao/quick, wafer/quick?)", nearest first; nothing if no name is near.
static bb_status write_nearest(const char *name, bb_text *out)
{
    bb_status status = BB_OK;
    bb_shipped_names known = {0};
    const int typed = (int)strlen(name) - (has_ending(name) ? ENDING : 0);
    const bb_index limit = 1 + typed / 5;
    bb_index count = 0;
    char *word = NULL;
    BB_TRY(bb_memory_printf(&word, "%.*s", typed, name));
    BB_TRY(bb_study_file_list(&known));
    for (bb_index distance = 0; distance <= limit; ++distance) {
        for (bb_index i = 0; i < known.count && count < NEAREST; ++i) {
            if (distance_to(word, known.names[i]) == distance) {
                BB_TRY(bb_text_add(out, "%s%s", count++ == 0 ? " (did you mean " : ", ",
                                   known.names[i]));
            }
        }
    }
    if (count > 0) {
        BB_TRY(bb_text_add(out, "?)"));
    }
done:
    BB_RELEASE(&word);
    bb_shipped_names_release(&known);
    return status;
}

// Reports a missing file with the nearest names of shipped studies.
static bb_status refuse(const char *name)
{
    bb_status status = BB_OK;
    bb_text nearest = {0};
    BB_TRY(write_nearest(name, &nearest));
    BB_FAIL(BB_IO,
            "cannot read configuration '%s': no such file or shipped study%s; list studies with "
            "'bitbudget new --list'",
            name, bb_text_string(&nearest));
done:
    bb_text_release(&nearest);
    return status;
}

bb_status bb_study_file_find_base(const char *folder, const char *name, char **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_shipped_folder_first(folder, name, endings, out));
    if (*out == NULL) {
        BB_TRY(bb_shipped_folder_search(name, "", endings, true, out));
    }
    if (*out == NULL) {
        BB_TRY(refuse(name));
    }
done:
    return status;
}

bb_status bb_study_file_find(const char *name, char **out)
{
    bb_status status = BB_OK;
    if (strcmp(name, "-") == 0) {
        return bb_memory_text(name, out);
    }
    BB_TRY(bb_shipped_folder_find_file(name, "", endings, out));
    if (*out == NULL) {
        BB_TRY(refuse(name));
    }
done:
    return status;
}

bool bb_study_file_has_machines(const char *path)
{
    struct stat about;
    char line[256] = "";
    bool found = false;
    bool begins = true; // the buffer starts at the beginning of a line
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "re") : NULL;
    // A result file may have gigabytes of binary data: its first byte ends the search.
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL &&
           !(begins && (unsigned char)line[0] == HDF5_FIRST_BYTE)) {
        found = begins && strncmp(line, "machines:", strlen("machines:")) == 0;
        begins = strchr(line, '\n') != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

// Excludes `kernels`, which contains no studies, and tables of machines.
static bool is_study(const char *path, const char *name)
{
    return strcmp(name, "kernels") != 0 && !(has_ending(name) && bb_study_file_has_machines(path));
}

bb_status bb_study_file_list(bb_shipped_names *out)
{
    const bb_shipped_listing listing = {"", endings + 1, FOLDER_DEPTH, is_study};
    return bb_shipped_names_list(&listing, out);
}

enum { MOST_MOVED = 16 };

typedef struct copying {
    bb_arena arena;
    const char *folder; // absolute folder of the study, ends in '/'
    bb_text *changes;   // changes of an upgrade
    const char *text;
    size_t done; // number of bytes already copied
    bb_text *out;
} copying;

// Length of the line break at `text` (YAML 1.1, 4.1.4); 0 if there is none.
static size_t line_end(const char *text)
{
    static const char *const breaks[] = {"\r\n",     "\r",           "\n",
                                         "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};
    size_t length = 0;
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks && length == 0; ++i) {
        length = strncmp(text, breaks[i], strlen(breaks[i])) == 0 ? strlen(breaks[i]) : 0;
    }
    return length;
}

// Byte offset of a place, whose columns count characters.
static size_t find_offset(const char *text, bb_place place)
{
    size_t offset = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; // byte order mark
    for (bb_index line = 1; line < place.line && text[offset] != '\0';) {
        const size_t end = line_end(text + offset);
        offset += end > 0 ? end : 1;
        line += end > 0;
    }
    for (bb_index column = 1; column < place.column && text[offset] != '\0'; ++column) {
        do {
            ++offset;
        } while (((unsigned char)text[offset] & 0xC0) == 0x80);
    }
    return offset;
}

// Replaces the name of a file next to the study by its absolute path.
static bb_status copy_value(copying *copy, const bb_node *node)
{
    bb_status status = BB_OK;
    char *path = NULL;
    bb_text word = {0};
    const size_t quotes = node->quoted ? 1 : 0;
    const size_t length = strlen(node->text);
    const size_t offset = find_offset(copy->text, node->place);
    BB_TRY(bb_memory_printf(&path, "%s%s", copy->folder, node->text));
    if (length == 0 || node->text[0] == '/' || !bb_shipped_folder_is_file(path) ||
        strncmp(copy->text + offset + quotes, node->text, length) != 0) {
        goto done;
    }
    BB_TRY(bb_node_write_text(path, &word));
    BB_TRY(bb_text_add_bytes(copy->out, copy->text + copy->done, (bb_index)(offset - copy->done)));
    BB_TRY(bb_text_add(copy->out, "%s", bb_text_string(&word)));
    copy->done = offset + length + 2 * quotes;
done:
    bb_text_release(&word);
    BB_RELEASE(&path);
    return status;
}

static bb_status copy_values(copying *copy, const bb_node *node)
{
    bb_status status = BB_OK;
    if (node->kind == BB_NODE_SCALAR) {
        BB_TRY(copy_value(copy, node));
    }
    for (const bb_node *child = node->first; child != NULL; child = child->next) {
        BB_TRY(copy_values(copy, child));
    }
done:
    return status;
}

static bb_status read_text(const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    char piece[4096];
    size_t length = 0;
    FILE *file = fopen(path, "rb");
    BB_REQUIRE(file != NULL, BB_IO, "cannot read '%s': %s", path, strerror(errno));
    while ((length = fread(piece, 1, sizeof piece, file)) > 0) {
        BB_TRY(bb_text_add_bytes(out, piece, (bb_index)length));
        BB_REQUIRE(out->length <= BB_NODE_BYTES, BB_INVALID, "'%s' is larger than %d bytes", path,
                   BB_NODE_BYTES);
    }
    BB_REQUIRE(ferror(file) == 0, BB_IO, "cannot read '%s': %s", path, strerror(errno));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    return status;
}

// Parses a study into a tree in the arena; its text is `text` if it is read here.
static bb_status parse(copying *copy, const bb_config_file *file, bb_text *text, bb_node **tree)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    const char *path = file->name;
    BB_TRY(file->text == NULL ? read_text(path, text) : bb_text_add(text, "%s", file->text));
    copy->text = bb_text_string(text);
    BB_TRY(
        bb_node_parse(&copy->arena, path, true, copy->text, (size_t)text->length, &problems, tree));
    BB_REQUIRE(*tree != NULL && problems.count == 0, BB_INVALID, "%s",
               bb_text_string(&problems.lines));
    BB_REQUIRE((*tree)->kind == BB_NODE_MAP, BB_INVALID, "'%s': got %s, expected a map", path,
               bb_node_kind_name((*tree)->kind));
done:
    bb_problems_release(&problems);
    return status;
}

bb_status bb_study_file_copy(const char *path, bb_text *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    bb_node *tree = NULL;
    char folder[PATH_MAX + 1];
    copying copy = {.folder = folder, .out = out};
    BB_REQUIRE(!bb_study_file_has_machines(path), BB_INVALID,
               "'%s' is a table of machines, not a study; 'bitbudget plot' draws it", path);
    BB_TRY(parse(&copy, &(bb_config_file){path, NULL}, &text, &tree));
    BB_REQUIRE(realpath(path, folder) != NULL, BB_IO, "cannot read '%s': %s", path,
               strerror(errno));
    strrchr(folder, '/')[1] = '\0';
    BB_TRY(copy_values(&copy, tree));
    BB_TRY(bb_text_add(out, "%s", copy.text + copy.done));
done:
    bb_arena_release(&copy.arena);
    bb_text_release(&text);
    return status;
}

// Renamed nodes within a member of a map.
typedef struct found_keys {
    bb_index count;
    struct {
        bb_node *parent, *node;
        const bb_renamed_key *row;
    } items[MOST_MOVED];
} found_keys;

// Adds renamed nodes at `former` below `map` or deeper: with `outside` the rows that lead outside
// of the map, otherwise the others.
static bb_status find_renamed(const bb_schema *schema, const bb_node *map, bool outside,
                              bb_node *parent, bb_node *node, const char *former, found_keys *out)
{
    bb_status status = BB_OK;
    char *below = NULL;
    const bb_renamed_key *row = bb_binding_renamed(schema->name, map, former);
    if (row != NULL && (row->key[0] == '^') == outside && out->count < MOST_MOVED) {
        out->items[out->count].parent = parent;
        out->items[out->count].node = node;
        out->items[out->count++].row = row;
        goto done;
    }
    for (bb_node *child = node->kind == BB_NODE_MAP ? node->first : NULL; child != NULL;
         child = child->next) {
        BB_RELEASE(&below);
        BB_TRY(bb_memory_printf(&below, "%s.%s", former, child->key));
        BB_TRY(find_renamed(schema, map, outside, node, child, below, out));
    }
done:
    BB_RELEASE(&below);
    return status;
}

// Moves a node into `moved`, a map of successors: "search.over" becomes a member of its member
// `search`. A choice implied by the new keys is removed.
static bb_status move_node(copying *copy, bb_node *parent, bb_node *node, const bb_renamed_key *row,
                           bb_node *moved)
{
    bb_status status = BB_OK;
    const char *key = row->key + (row->key[0] == '^' ? 2 : 0);
    const size_t length = strcspn(key, ".");
    bb_node *place = moved;
    bb_node_remove(parent, node);
    if (row->value != NULL) {
        goto done;
    }
    if (key[length] == '.') {
        const char *group = NULL;
        BB_TRY(bb_arena_text(&copy->arena, key, length, &group));
        place = bb_node_member(moved, group);
        if (place == NULL) {
            BB_TRY(bb_arena_zeroed(&copy->arena, 1, sizeof *place, (void **)&place));
            place->kind = BB_NODE_MAP;
            place->key = group;
            bb_node_append(moved, place);
        }
        key += length + 1;
    }
    node->key = key;
    bb_node_append(place, node);
done:
    return status;
}

static bool is_empty(const bb_node *node)
{
    bool empty = node->kind == BB_NODE_MAP;
    for (const bb_node *child = node->first; child != NULL && empty; child = child->next) {
        empty = is_empty(child);
    }
    return empty;
}

// Writes the remainder of a member, if any, and the moved keys.
static bb_status write_pairs(const bb_node *rest, const bb_node *moved, const char *between,
                             bb_text *out)
{
    bb_status status = BB_OK;
    if (rest != NULL && !is_empty(rest)) {
        BB_TRY(bb_text_add(out, "%s: ", rest->key));
        BB_TRY(bb_node_write(rest, out));
        BB_TRY(bb_text_add(out, "%s", moved->count > 0 ? between : ""));
    }
    for (const bb_node *node = moved->first; node != NULL; node = node->next) {
        BB_TRY(bb_text_add(out, "%s: ", node->key));
        BB_TRY(bb_node_write(node, out));
        BB_TRY(bb_text_add(out, "%s", node->next != NULL ? between : ""));
    }
done:
    return status;
}

// Replaces a member of `map` by both, in the style of the map.
static bb_status rewrite(copying *copy, const bb_node *map, bb_place place, bb_place end,
                         const bb_node *rest, const bb_node *moved)
{
    bb_status status = BB_OK;
    const size_t begin = find_offset(copy->text, place);
    char *line = NULL;
    BB_TRY(bb_memory_printf(&line, "%s%*s", strstr(copy->text, "\r\n") != NULL ? "\r\n" : "\n",
                            (int)place.column - 1, ""));
    BB_TRY(bb_text_add_bytes(copy->out, copy->text + copy->done, (bb_index)(begin - copy->done)));
    BB_TRY(write_pairs(rest, moved, map->flow ? ", " : line, copy->out));
    copy->done = find_offset(copy->text, end);
    BB_TRY(bb_text_add(copy->changes, "line %td: %.*s -> ", place.line, (int)(copy->done - begin),
                       copy->text + begin));
    BB_TRY(write_pairs(rest, moved, ", ", copy->changes));
    BB_TRY(bb_text_add(copy->changes, "\n"));
done:
    BB_RELEASE(&line);
    return status;
}

static bb_status upgrade_map(copying *copy, const bb_schema *schema, bb_node *map);

// Upgrades a member of a map: its renamed keys, else the groups inside it.
static bb_status upgrade_member(copying *copy, const bb_schema *schema, bb_node *map,
                                bb_node *member)
{
    bb_status status = BB_OK;
    const bb_place place = member->key_place;
    const bb_place end = member->end;
    const char *name = member->key;
    const bb_key *key = bb_binding_key(schema, name);
    const bb_schema *inner = key == NULL ? NULL : key->schema;
    found_keys found = {0};
    bb_node moved = {.kind = BB_NODE_MAP};
    BB_TRY(find_renamed(schema, map, false, map, member, name, &found));
    for (bb_node *child = inner != NULL && member->kind == BB_NODE_MAP ? member->first : NULL;
         child != NULL; child = child->next) {
        BB_TRY(find_renamed(inner, member, true, member, child, child->key, &found));
    }
    for (bb_index i = 0; i < found.count; ++i) {
        BB_TRY(move_node(copy, found.items[i].parent, found.items[i].node, found.items[i].row,
                         &moved));
    }
    if (found.count > 0) {
        BB_TRY(rewrite(copy, map, place, end, bb_node_member(map, name), &moved));
    } else if (inner != NULL && member->kind == BB_NODE_MAP) {
        BB_TRY(upgrade_map(copy, inner, member));
    } else if (inner != NULL) {
        for (bb_node *item = member->first; item != NULL; item = item->next) {
            BB_TRY(upgrade_map(copy, inner, item));
        }
    }
done:
    return status;
}

static bb_status upgrade_map(copying *copy, const bb_schema *schema, bb_node *map)
{
    bb_status status = BB_OK;
    bb_node *next = NULL;
    for (bb_node *member = map->kind == BB_NODE_MAP ? map->first : NULL; member != NULL;
         member = next) {
        next = member->next;
        BB_TRY(upgrade_member(copy, schema, map, member));
    }
done:
    return status;
}

bb_status bb_study_file_upgrade(const bb_config_file *file, const bb_schema *schema,
                                const bb_schema *search, bb_text *out, bb_text *changes)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    bb_text again = {0};
    bb_node *tree = NULL;
    copying copy = {.out = out, .changes = changes};
    copying check = {.out = NULL};
    BB_TRY(parse(&copy, file, &text, &tree));
    for (bb_node *member = tree->first, *next = NULL; member != NULL; member = next) {
        bb_node *inside =
            strcmp(member->key, "sweep") == 0 ? bb_node_member(member, "search") : NULL;
        next = member->next;
        BB_TRY(inside != NULL ? upgrade_map(&copy, search, inside)
                              : upgrade_member(&copy, schema, tree, member));
    }
    BB_TRY(bb_text_add(out, "%s", copy.text + copy.done));
    // A study with both a key and its successor now has duplicate keys.
    BB_TRY(bb_status_prefix(
        parse(&check, &(bb_config_file){file->name, bb_text_string(out)}, &again, &tree),
        "the study with new keys"));
done:
    bb_arena_release(&check.arena);
    bb_text_release(&again);
    bb_arena_release(&copy.arena);
    bb_text_release(&text);
    return status;
}
