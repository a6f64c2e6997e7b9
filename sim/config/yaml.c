// SPDX-License-Identifier: Apache-2.0
//
// bb_node_parse: conversion of libyaml's events to a tree of nodes.
#include "sim/config/node.h"

#include <string.h>
#include <yaml.h>

typedef struct reader {
    yaml_parser_t parser;
    bb_arena *arena;
    bb_problems *problems;
    const char *origin;
    const char *text;
    size_t length;
    bool line_numbers;
    bool broken; // the remaining text cannot be read
} reader;

static bb_place place_of(const reader *state, yaml_mark_t mark)
{
    if (!state->line_numbers) {
        return (bb_place){.origin = state->origin};
    }
    return (bb_place){state->origin, (bb_index)mark.line + 1, (bb_index)mark.column + 1};
}

// True if the scanner stopped at a tab, which libyaml reports as a character that cannot start a
// token.
static bool stopped_at_tab(const reader *state)
{
    const char *end = state->text + state->length;
    const char *place = state->text;
    for (size_t line = 0; line < state->parser.problem_mark.line && place < end; ++place) {
        line += *place == '\n';
    }
    for (size_t column = 0; column < state->parser.problem_mark.column && place < end; ++place) {
        // Marks count characters, not bytes.
        column += place + 1 == end || ((unsigned char)place[1] & 0xC0) != 0x80;
    }
    return state->parser.error == YAML_SCANNER_ERROR && place < end && *place == '\t';
}

static bb_status next_event(reader *state, yaml_event_t *event)
{
    bb_status status = BB_OK;
    memset(event, 0, sizeof *event);
    if (yaml_parser_parse(&state->parser, event) == 1) {
        goto done;
    }
    BB_REQUIRE(state->parser.error != YAML_MEMORY_ERROR, BB_MEMORY,
               "host memory exhausted while reading %s", state->origin);
    state->broken = true;
    if (stopped_at_tab(state)) {
        BB_TRY(bb_problems_add(state->problems, place_of(state, state->parser.problem_mark),
                               "tab character; YAML needs spaces for indentation"));
        goto done;
    }
    BB_TRY(bb_problems_add(state->problems, place_of(state, state->parser.problem_mark),
                           "not YAML: %s%s%s",
                           state->parser.context == NULL ? "" : state->parser.context,
                           state->parser.context == NULL ? "" : ": ", state->parser.problem));
done:
    return status;
}

// Refuses features of YAML that this program does not support.
static bb_status refuse_extras(reader *state, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    bb_status status = BB_OK;
    if (anchor != NULL) {
        BB_TRY(bb_problems_add(
            state->problems, place_of(state, event->start_mark),
            "anchor &%s: anchors and aliases are not supported; write out the value",
            (const char *)anchor));
    }
    if (tag != NULL) {
        BB_TRY(bb_problems_add(state->problems, place_of(state, event->start_mark),
                               "tag %s: tags are not supported; remove it", (const char *)tag));
    }
done:
    return status;
}

static bb_status make_node(reader *state, const yaml_event_t *event, bb_node_kind kind,
                           bb_node **out)
{
    bb_status status = BB_OK;
    bb_node *node = NULL;
    BB_TRY(refuse_extras(state, event));
    BB_TRY(bb_node_make(state->arena, kind, place_of(state, event->start_mark), &node));
    node->end = place_of(state, event->end_mark);
    if (kind == BB_NODE_SCALAR) {
        const char *value = (const char *)event->data.scalar.value;
        size_t length = event->data.scalar.length;
        if (strlen(value) != length) {
            BB_TRY(bb_problems_add(state->problems, node->place, "NUL character in a text"));
        }
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        BB_TRY(bb_arena_text(state->arena, value, length, &node->text));
    }
    *out = node;
done:
    return status;
}

static bb_status read_node(reader *state, const yaml_event_t *event, int depth, bb_node **out);

static bb_status add_child(reader *state, bb_node *parent, bb_node *child)
{
    if (parent->count == BB_NODE_CHILDREN) {
        state->broken = true;
        return bb_problems_add(state->problems, child->place, "more than %d entries in %s",
                               BB_NODE_CHILDREN, bb_node_kind_name(parent->kind));
    }
    bb_node_append(parent, child);
    return BB_OK;
}

// End of a node: after its closing bracket, else after its last child, since libyaml's mark is that
// of the next token.
static void end_node(const reader *state, const yaml_event_t *event, bb_node *node)
{
    if (node->flow) {
        node->end = place_of(state, event->end_mark);
        return;
    }
    for (const bb_node *child = node->first; child != NULL; child = child->next) {
        node->end = child->end;
    }
}

static bb_status read_list(reader *state, bb_node *list, int depth)
{
    bb_status status = BB_OK;
    yaml_event_t event = {0};
    for (;;) {
        bb_node *item = NULL;
        yaml_event_delete(&event);
        BB_TRY(next_event(state, &event));
        if (state->broken || event.type == YAML_SEQUENCE_END_EVENT) {
            end_node(state, &event, list);
            break;
        }
        BB_TRY(read_node(state, &event, depth + 1, &item));
        if (state->broken || item == NULL) {
            break;
        }
        BB_TRY(add_child(state, list, item));
    }
done:
    yaml_event_delete(&event);
    return status;
}

static bb_status read_member(reader *state, bb_node *map, const yaml_event_t *key, int depth)
{
    bb_status status = BB_OK;
    yaml_event_t event = {0};
    bb_node *name = NULL;
    bb_node *value = NULL;
    if (key->type != YAML_SCALAR_EVENT) {
        state->broken = true;
        BB_TRY(bb_problems_add(state->problems, place_of(state, key->start_mark),
                               "a key must be a single word"));
        goto done;
    }
    BB_TRY(make_node(state, key, BB_NODE_SCALAR, &name));
    BB_TRY(next_event(state, &event));
    if (!state->broken) {
        BB_TRY(read_node(state, &event, depth + 1, &value));
    }
    if (value == NULL) {
        goto done;
    }
    const bb_node *earlier = bb_node_member(map, name->text);
    if (earlier != NULL) {
        BB_TRY(bb_problems_add(state->problems, name->place, "%s: duplicate key, first on line %td",
                               name->text, earlier->key_place.line));
        goto done;
    }
    value->key = name->text;
    value->key_place = name->place;
    BB_TRY(add_child(state, map, value));
done:
    yaml_event_delete(&event);
    return status;
}

static bb_status read_map(reader *state, bb_node *map, int depth)
{
    bb_status status = BB_OK;
    yaml_event_t event = {0};
    while (!state->broken) {
        yaml_event_delete(&event);
        BB_TRY(next_event(state, &event));
        if (state->broken || event.type == YAML_MAPPING_END_EVENT) {
            end_node(state, &event, map);
            break;
        }
        BB_TRY(read_member(state, map, &event, depth));
    }
done:
    yaml_event_delete(&event);
    return status;
}

static bb_status read_node(reader *state, const yaml_event_t *event, int depth, bb_node **out)
{
    bb_status status = BB_OK;
    if (depth > BB_NODE_DEPTH) {
        state->broken = true;
        BB_TRY(bb_problems_add(state->problems, place_of(state, event->start_mark),
                               "nested deeper than %d levels", BB_NODE_DEPTH));
        goto done;
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        BB_TRY(make_node(state, event, BB_NODE_SCALAR, out));
        break;
    case YAML_SEQUENCE_START_EVENT:
        BB_TRY(make_node(state, event, BB_NODE_LIST, out));
        (*out)->flow = event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        BB_TRY(read_list(state, *out, depth));
        break;
    case YAML_MAPPING_START_EVENT:
        BB_TRY(make_node(state, event, BB_NODE_MAP, out));
        (*out)->flow = event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        BB_TRY(read_map(state, *out, depth));
        break;
    default:
        state->broken = true;
        BB_TRY(bb_problems_add(state->problems, place_of(state, event->start_mark),
                               "anchors and aliases are not supported; write out the value"));
        break;
    }
done:
    return status;
}

static bb_status read_document(reader *state, bb_node **out)
{
    bb_status status = BB_OK;
    yaml_event_t event = {0};
    bb_index documents = 0;
    for (;;) {
        yaml_event_delete(&event);
        BB_TRY(next_event(state, &event));
        if (state->broken || event.type == YAML_STREAM_END_EVENT) {
            break;
        }
        if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT) {
            continue;
        }
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            bool directives = event.data.document_start.version_directive != NULL ||
                              event.data.document_start.tag_directives.start !=
                                  event.data.document_start.tag_directives.end;
            if (++documents > 1 || directives) {
                BB_TRY(bb_problems_add(state->problems, place_of(state, event.start_mark),
                                       documents > 1
                                           ? "second document; expected one document in a file"
                                           : "%% directives are not supported; remove them"));
                break;
            }
            continue;
        }
        BB_TRY(read_node(state, &event, 1, out));
    }
done:
    yaml_event_delete(&event);
    return status;
}

bb_status bb_node_parse(bb_arena *arena, const char *origin, bool line_numbers, const char *text,
                        size_t length, bb_problems *problems, bb_node **out)
{
    bb_status status = BB_OK;
    // With the encoding set, libyaml reads a byte order mark as a character of the first line.
    const size_t mark = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    reader state = {.arena = arena,
                    .problems = problems,
                    .origin = origin,
                    .text = text + mark,
                    .length = length - mark,
                    .line_numbers = line_numbers};
    bool started = false;
    *out = NULL;
    if (length > BB_NODE_BYTES) {
        BB_TRY(bb_problems_add(problems, (bb_place){.origin = origin},
                               "%zu bytes, expected at most %d", length, BB_NODE_BYTES));
        goto done;
    }
    BB_REQUIRE(yaml_parser_initialize(&state.parser) == 1, BB_MEMORY,
               "host memory exhausted while reading %s", origin);
    started = true;
    yaml_parser_set_encoding(&state.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&state.parser, (const unsigned char *)state.text, state.length);
    BB_TRY(read_document(&state, out));
done:
    if (started) {
        yaml_parser_delete(&state.parser);
    }
    return status;
}
