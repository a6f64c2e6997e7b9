// SPDX-License-Identifier: Apache-2.0
//
// Order of steps from connections and ordering rules.
//
// Nodes are the steps and, last, the hull, which runs when the main space's ICF has its result. An
// iterator's node comes after its children. Among the nodes that are ready, writes come last;
// otherwise the order of the description is kept.
#include "core/memory.h"
#include "core/suggestion.h"
#include "core/text.h"
#include "solvers/kernels/program/program_builder.h"

#include <stdint.h>
#include <string.h>

enum { SHOWN_CYCLE = 12 };

typedef struct ordering {
    bb_program_builder *builder;
    const bb_program *program;
    int nodes;
    int *first;         ///< [nodes] newest edge of each source, -1: none
    int *next, *target; ///< [edge_capacity]
    int edge_count, edge_capacity;
    int *waiting; ///< [nodes] number of edges from sources that have not run
    int *heap;    ///< [nodes] ready nodes, smallest key first
    int heap_count;
} ordering;

static void add_edge(ordering *order, int source, int target)
{
    if (source < 0) {
        return;
    }
    if (order->edge_count == order->edge_capacity) {
        const int capacity = order->edge_capacity == 0 ? 256 : 2 * order->edge_capacity;
        if (!bb_program_builder_try(order->builder, bb_memory_resize(capacity, sizeof *order->next,
                                                                     (void **)&order->next)) ||
            !bb_program_builder_try(
                order->builder,
                bb_memory_resize(capacity, sizeof *order->target, (void **)&order->target))) {
            return;
        }
        order->edge_capacity = capacity;
    }
    order->next[order->edge_count] = order->first[source];
    order->target[order->edge_count] = target;
    order->first[source] = order->edge_count++;
    ++order->waiting[target];
}

// The node that computes a value; -1: it exists from the start. Positions exist for all steps of
// their space.
static int node_of(const ordering *order, int value)
{
    const bb_value *emitter = &order->program->values[value];
    switch (emitter->kind) {
    case BB_VALUE_READ:
    case BB_VALUE_FUNCTION:
        return emitter->owner;
    case BB_VALUE_REDUCTION:
        return emitter->owner >= 0 ? order->program->iterators[emitter->owner].step
                                   : order->nodes - 1;
    case BB_VALUE_SIZE:
    case BB_VALUE_PARAMETER:
    case BB_VALUE_POSITION:
        break;
    }
    return -1;
}

static void add_value_edge(ordering *order, int value, int target)
{
    if (value >= 0) {
        add_edge(order, node_of(order, value), target);
    }
}

static void add_space_edges(ordering *order, const bb_iteration_space *space,
                            const bb_reduction *reduction, int target)
{
    for (int k = 0; k < space->dimensions; ++k) {
        add_value_edge(order, space->ranges[k], target);
    }
    for (int k = 0; reduction != NULL && k < BB_PROGRAM_ACCUMULATORS; ++k) {
        add_value_edge(order, reduction->inputs[k], target);
    }
}

static bool is_iterator_child(const bb_step *step)
{
    return step->kind != BB_STEP_ITERATOR && step->iterator >= 0;
}

static void add_step_edges(ordering *order, int number)
{
    const bb_program *program = order->program;
    const bb_step *step = &program->steps[number];
    for (int k = 0; step->kind == BB_STEP_FUNCTION && k < step->expression.inputs; ++k) {
        add_value_edge(order, step->inputs[k], number);
    }
    for (int k = 0; k < BB_PROGRAM_VARIABLES; ++k) {
        add_value_edge(order, order->builder->slots[number][k], number);
    }
    add_value_edge(order, step->stored, number);
    if (step->kind == BB_STEP_ITERATOR) {
        const bb_iterator *iterator = &program->iterators[step->iterator];
        add_space_edges(order, &iterator->space, &iterator->reduction, number);
    } else if (is_iterator_child(step)) {
        const bb_iterator *iterator = &program->iterators[step->iterator];
        add_edge(order, number, iterator->step);
        // Values of the ranges are computed outside the iterator, hence before it.
        for (int k = 0; k < iterator->space.dimensions; ++k) {
            add_value_edge(order, iterator->space.ranges[k], number);
        }
    }
}

static void refuse_rule(const ordering *order, const bb_element *element, bb_description_key key)
{
    const char *name = element->values[key];
    const char *nearest = NULL;
    bb_index distance = PTRDIFF_MAX;
    const bool is_told = order->builder->problems->count < BB_PROBLEMS_TOLD;
    for (int i = 0; is_told && i < order->program->step_count; ++i) {
        bb_suggestion_consider(name, order->program->steps[i].name, &distance, &nearest);
    }
    bb_program_builder_refuse(
        order->builder, element->places[key], "%s = '%.80s': no child has this name%s%s%s",
        bb_description_key_name(key), name, nearest != NULL ? "; did you mean " : "",
        nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}

// Between steps of different lists, the iterator represents its child.
static void add_rule(ordering *order, const bb_element *element)
{
    bb_program_builder *builder = order->builder;
    static const bb_description_key keys[2] = {BB_DESCRIPTION_FIRST, BB_DESCRIPTION_SECOND};
    int steps[2] = {-1, -1};
    for (int k = 0; k < 2; ++k) {
        const char *name = element->values[keys[k]];
        const bb_program_name *entry = bb_program_builder_find(builder, name);
        if (entry == NULL || entry->kind != BB_NAMED_STEP) {
            refuse_rule(order, element, keys[k]);
            return;
        }
        steps[k] = entry->index;
    }
    const bb_step *const pair[2] = {&order->program->steps[steps[0]],
                                    &order->program->steps[steps[1]]};
    if (pair[0]->iterator != pair[1]->iterator) {
        for (int k = 0; k < 2; ++k) {
            steps[k] = is_iterator_child(pair[k])
                           ? order->program->iterators[pair[k]->iterator].step
                           : steps[k];
        }
    }
    add_edge(order, steps[0], steps[1]);
}

static void add_edges(ordering *order)
{
    const bb_program *program = order->program;
    for (int i = 0; i < program->step_count; ++i) {
        add_step_edges(order, i);
    }
    add_space_edges(order, &program->space, program->has_reduction ? &program->reduction : NULL,
                    order->nodes - 1);
    const bb_element *section = order->builder->description->root->first;
    for (; section != NULL; section = section->next) {
        const bb_element *rule =
            section->construct == BB_CONSTRUCT_ORDERING_RULES ? section->first : NULL;
        for (; rule != NULL; rule = rule->next) {
            add_rule(order, rule);
        }
    }
}

// The heap's key: writes last, then the order of the description.
static int64_t key_of(const ordering *order, int node)
{
    const bool writes =
        node < order->program->step_count && order->program->steps[node].kind == BB_STEP_WRITE;
    return ((int64_t)writes << 32) + node;
}

static void heap_push(ordering *order, int node)
{
    int place = order->heap_count++;
    while (place > 0 && key_of(order, node) < key_of(order, order->heap[(place - 1) / 2])) {
        order->heap[place] = order->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    order->heap[place] = node;
}

static int heap_pop(ordering *order)
{
    const int top = order->heap[0];
    const int node = order->heap[--order->heap_count];
    int place = 0;
    for (;;) {
        int child = 2 * place + 1;
        if (child >= order->heap_count) {
            break;
        }
        if (child + 1 < order->heap_count &&
            key_of(order, order->heap[child + 1]) < key_of(order, order->heap[child])) {
            ++child;
        }
        if (key_of(order, node) <= key_of(order, order->heap[child])) {
            break;
        }
        order->heap[place] = order->heap[child];
        place = child;
    }
    order->heap[place] = node;
    return top;
}

static const char *name_of(const ordering *order, int node)
{
    return node < order->program->step_count ? order->program->steps[node].name
                                             : order->program->name;
}

// Every node that has not run has a source that has not run, so following sources must lead into a
// cycle.
static bb_status report_cycle(ordering *order)
{
    bb_status status = BB_OK;
    int *source = NULL;
    int *path = NULL;
    bb_text text = {0};
    int node = 0;
    int length = 0;
    BB_TRY(BB_ZEROED(order->nodes, &source));
    BB_TRY(BB_ZEROED(order->nodes + 1, &path));
    for (int i = 0; i < order->nodes; ++i) {
        for (int e = order->waiting[i] > 0 ? order->first[i] : -1; e >= 0; e = order->next[e]) {
            source[order->target[e]] = i + 1;
        }
        node = order->waiting[i] > 0 ? i : node;
    }
    for (int i = 0; i < order->nodes; ++i) {
        node = source[node] - 1; // now on a cycle
    }
    const int begin = node;
    do {
        path[length++] = node;
        node = source[node] - 1;
    } while (node != begin);
    for (int i = length - 1; i >= 0; --i) {
        if (length - 1 - i < SHOWN_CYCLE) {
            BB_TRY(bb_text_add(&text, "%s -> ", name_of(order, path[i])));
        }
    }
    BB_TRY(bb_problems_add(
        order->builder->problems,
        begin < order->program->step_count ? order->program->steps[begin].place
                                           : order->builder->description->root->place,
        "cycle of connections and rules: %s%s%s", bb_text_string(&text),
        length > SHOWN_CYCLE ? "... -> " : "", name_of(order, path[length - 1])));
done:
    bb_text_release(&text);
    BB_RELEASE(&source);
    BB_RELEASE(&path);
    return status;
}

static void run_nodes(ordering *order)
{
    int count = 0;
    for (int i = 0; i < order->nodes; ++i) {
        if (order->waiting[i] == 0) {
            heap_push(order, i);
        }
    }
    while (order->heap_count > 0) {
        const int node = heap_pop(order);
        order->builder->order[count++] = node;
        for (int e = order->first[node]; e >= 0; e = order->next[e]) {
            if (--order->waiting[order->target[e]] == 0) {
                heap_push(order, order->target[e]);
            }
        }
    }
    if (count < order->nodes) {
        (void)bb_program_builder_try(order->builder, report_cycle(order));
    }
}

bb_status bb_program_builder_order(bb_program_builder *builder)
{
    bb_status status = BB_OK;
    ordering order = {
        .builder = builder, .program = builder->program, .nodes = builder->program->step_count + 1};
    const bb_index before = builder->problems->count;
    BB_TRY(BB_ALLOCATE(order.nodes, &order.first));
    BB_TRY(BB_ZEROED(order.nodes, &order.waiting));
    BB_TRY(BB_ALLOCATE(order.nodes, &order.heap));
    memset(order.first, -1, (size_t)order.nodes * sizeof *order.first);
    add_edges(&order);
    BB_TRY(builder->status);
    if (builder->problems->count == before) {
        run_nodes(&order);
        BB_TRY(builder->status);
    }
done:
    BB_RELEASE(&order.first);
    BB_RELEASE(&order.next);
    BB_RELEASE(&order.target);
    BB_RELEASE(&order.waiting);
    BB_RELEASE(&order.heap);
    return status;
}
