// SPDX-License-Identifier: Apache-2.0
//
// Scopes of steps: host for steps that depend on sizes and parameters only, final for steps that
// use the result of the space's ICF, iterator for the steps that the description places there, body
// for all others.
#include "core/memory.h"
#include "solvers/kernels/program/program_builder.h"

#include <string.h>

enum { MAX_TAKEN = BB_PROGRAM_PORTS + BB_PROGRAM_VARIABLES + 1 };

typedef struct placing {
    bb_program_builder *builder;
    bb_program *program;
    bb_scope *scopes;   ///< [step_count]
    bool *is_invariant; ///< [step_count] reads and functions that are equal at every point
    bool *is_final_use; ///< [value_count] values used after the space
    bool *is_body_use;  ///< [value_count] values used at points or in iterators
} placing;

// Values that a step uses directly; func(k) of an iterator belong to its space and are handled
// separately.
static int used_values(const placing *place, int number, int values[MAX_TAKEN])
{
    const bb_step *step = &place->program->steps[number];
    int count = 0;
    if (step->kind == BB_STEP_ITERATOR) {
        const bb_iteration_space *space = &place->program->iterators[step->iterator].space;
        for (int k = 0; k < space->dimensions; ++k) {
            values[count++] = space->ranges[k];
        }
        return count;
    }
    for (int k = 0; step->kind == BB_STEP_FUNCTION && k < step->expression.inputs; ++k) {
        values[count++] = step->inputs[k];
    }
    for (int k = 0; k < BB_PROGRAM_VARIABLES; ++k) {
        if (place->builder->slots[number][k] >= 0) {
            values[count++] = place->builder->slots[number][k];
        }
    }
    if (step->stored >= 0) {
        values[count++] = step->stored;
    }
    return count;
}

static int iterator_of(const bb_step *step)
{
    return step->kind == BB_STEP_ITERATOR ? -1 : step->iterator;
}

static bb_scope first_scope(const placing *place, int number)
{
    const bb_step *step = &place->program->steps[number];
    int values[MAX_TAKEN];
    const int count = used_values(place, number, values);
    bool host = step->kind == BB_STEP_FUNCTION;
    bool final = false;
    for (int i = 0; i < count; ++i) {
        const bb_scope scope = place->program->values[values[i]].scope;
        host = host && scope == BB_SCOPE_HOST;
        final = final || scope == BB_SCOPE_FINAL;
    }
    if (host) {
        return BB_SCOPE_HOST;
    }
    if (iterator_of(step) >= 0) {
        return BB_SCOPE_ITERATOR;
    }
    return final ? BB_SCOPE_FINAL : BB_SCOPE_BODY;
}

static void set_scope(placing *place, int number, bb_scope scope)
{
    bb_program *program = place->program;
    const bb_step *step = &program->steps[number];
    const int outputs = step->kind == BB_STEP_READ       ? 1
                        : step->kind == BB_STEP_FUNCTION ? step->expression.output_count
                                                         : 0;
    place->scopes[number] = scope;
    for (int k = 0; k < outputs; ++k) {
        bb_value *value = &program->values[step->output + k];
        value->scope = scope;
        value->iterator = scope == BB_SCOPE_ITERATOR ? step->iterator : -1;
    }
}

static bool is_invariant(const placing *place, int number)
{
    const bb_step *step = &place->program->steps[number];
    int values[MAX_TAKEN];
    const int count = used_values(place, number, values);
    bool invariant =
        (step->kind == BB_STEP_READ || step->kind == BB_STEP_FUNCTION) && iterator_of(step) < 0;
    for (int i = 0; i < count && invariant; ++i) {
        const bb_value *value = &place->program->values[values[i]];
        invariant = value->scope == BB_SCOPE_HOST ||
                    ((value->kind == BB_VALUE_READ || value->kind == BB_VALUE_FUNCTION) &&
                     place->is_invariant[value->owner]);
    }
    return invariant;
}

static void mark_uses(placing *place, int number)
{
    const bb_step *step = &place->program->steps[number];
    int values[MAX_TAKEN];
    const int count = used_values(place, number, values);
    bool *uses = place->scopes[number] == BB_SCOPE_FINAL ? place->is_final_use : place->is_body_use;
    for (int i = 0; i < count; ++i) {
        uses[values[i]] = true;
    }
    if (step->kind == BB_STEP_ITERATOR) {
        const bb_reduction *reduction = &place->program->iterators[step->iterator].reduction;
        for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
            if (reduction->inputs[k] >= 0) {
                place->is_body_use[reduction->inputs[k]] = true;
            }
        }
    }
}

// A read or function that is equal at every point and used by final steps only becomes final, too.
static void move_to_final(placing *place, int number)
{
    const bb_step *step = &place->program->steps[number];
    if (place->scopes[number] != BB_SCOPE_BODY || !place->is_invariant[number]) {
        return;
    }
    const int outputs = step->kind == BB_STEP_FUNCTION ? step->expression.output_count : 1;
    bool final = false;
    for (int k = 0; k < outputs; ++k) {
        if (place->is_body_use[step->output + k]) {
            return;
        }
        final = final || place->is_final_use[step->output + k];
    }
    if (final) {
        set_scope(place, number, BB_SCOPE_FINAL);
    }
}

static void place_steps(placing *place)
{
    const bb_program *program = place->program;
    const int *order = place->builder->order;
    for (int i = 0; i <= program->step_count; ++i) {
        if (order[i] < program->step_count) {
            set_scope(place, order[i], first_scope(place, order[i]));
            place->is_invariant[order[i]] = is_invariant(place, order[i]);
        }
    }
    const bb_reduction *reduction = &program->reduction;
    for (int k = 0; program->has_reduction && k < BB_PROGRAM_ACCUMULATORS; ++k) {
        if (reduction->inputs[k] >= 0) {
            place->is_body_use[reduction->inputs[k]] = true;
        }
    }
    for (int i = program->step_count; i >= 0; --i) {
        if (order[i] < program->step_count) {
            move_to_final(place, order[i]);
            mark_uses(place, order[i]);
        }
    }
}

// True if a value exists where it is used: in `scope`, inside `iterator` or -1.
static void check_use(placing *place, int value, bb_scope scope, int iterator, bb_place origin,
                      const char *taker)
{
    const bb_program *program = place->program;
    const bb_value *emitter = &program->values[value];
    char name[BB_PORT_NAME_BYTES];
    (void)bb_program_builder_emitter(program, value, name);
    if (emitter->scope == BB_SCOPE_HOST) {
        return;
    }
    if (scope == BB_SCOPE_HOST) {
        bb_program_builder_refuse(place->builder, origin,
                                  "%s depends on %s, which is unknown before the kernel runs; the "
                                  "main space must follow from sizes and parameters",
                                  taker, name);
    } else if (emitter->scope == BB_SCOPE_ITERATOR && emitter->iterator != iterator) {
        bb_program_builder_refuse(
            place->builder, origin,
            "%s uses %s from inside %s; values leave an IteratorBlock only by func(k) and out(k)",
            taker, name, program->iterators[emitter->iterator].name);
    } else if (scope == BB_SCOPE_FINAL && emitter->scope != BB_SCOPE_FINAL) {
        bb_program_builder_refuse(
            place->builder, origin,
            "%s runs once, after the space, and cannot use %s, which belongs to a single point",
            taker, name);
    } else if (scope != BB_SCOPE_FINAL && emitter->scope == BB_SCOPE_FINAL) {
        bb_program_builder_refuse(
            place->builder, origin,
            "%s runs in the space and cannot use %s, which is computed after it", taker, name);
    }
}

static void check_step(placing *place, int number)
{
    const bb_step *step = &place->program->steps[number];
    int values[MAX_TAKEN];
    const int count = used_values(place, number, values);
    if (step->kind == BB_STEP_ITERATOR && place->scopes[number] == BB_SCOPE_FINAL) {
        bb_program_builder_refuse(
            place->builder, step->place,
            "%s needs the result of the main space's ICF; an IteratorBlock runs "
            "in the space",
            step->name);
        return;
    }
    for (int i = 0; i < count; ++i) {
        check_use(place, values[i], place->scopes[number], iterator_of(step), step->place,
                  step->name);
    }
    if (step->kind == BB_STEP_ITERATOR) {
        const bb_reduction *reduction = &place->program->iterators[step->iterator].reduction;
        for (int k = 0; k < BB_PROGRAM_ACCUMULATORS; ++k) {
            if (reduction->inputs[k] >= 0) {
                check_use(place, reduction->inputs[k], BB_SCOPE_ITERATOR, step->iterator,
                          step->place, step->name);
            }
        }
    }
}

static void check_hull(placing *place)
{
    const bb_program *program = place->program;
    const bb_place origin = place->builder->description->root->place;
    for (int k = 0; k < program->space.dimensions; ++k) {
        check_use(place, program->space.ranges[k], BB_SCOPE_HOST, -1, origin, program->name);
    }
    for (int k = 0; program->has_reduction && k < BB_PROGRAM_ACCUMULATORS; ++k) {
        if (program->reduction.inputs[k] >= 0) {
            check_use(place, program->reduction.inputs[k], BB_SCOPE_BODY, -1, origin,
                      program->name);
        }
    }
}

static bb_step_list *list_of(bb_program *program, bb_scope scope, int iterator)
{
    bb_step_list *const lists[] = {
        [BB_SCOPE_HOST] = &program->host,
        [BB_SCOPE_BODY] = &program->body,
        [BB_SCOPE_FINAL] = &program->final,
    };
    return scope == BB_SCOPE_ITERATOR ? &program->iterators[iterator].steps : lists[scope];
}

// Counts the steps, divides one array among the lists, and fills them in order.
static bb_status fill_lists(placing *place)
{
    bb_status status = BB_OK;
    bb_program *program = place->program;
    int *steps = NULL;
    BB_TRY(bb_arena_zeroed(&program->arena, program->step_count, sizeof *steps, (void **)&steps));
    for (int i = 0; i < program->step_count; ++i) {
        ++list_of(program, place->scopes[i], program->steps[i].iterator)->count;
    }
    for (int i = 0; i <= program->step_count; ++i) {
        const int number = place->builder->order[i];
        if (number == program->step_count) {
            continue;
        }
        bb_step_list *list =
            list_of(program, place->scopes[number], program->steps[number].iterator);
        if (list->steps == NULL) {
            list->steps = steps;
            steps += list->count;
            list->count = 0;
        }
        list->steps[list->count++] = number;
    }
done:
    return status;
}

bb_status bb_program_builder_scope(bb_program_builder *builder)
{
    bb_status status = BB_OK;
    bb_program *program = builder->program;
    placing place = {.builder = builder, .program = program};
    BB_TRY(BB_ZEROED(program->step_count, &place.scopes));
    BB_TRY(BB_ZEROED(program->step_count, &place.is_invariant));
    BB_TRY(BB_ZEROED(program->value_count, &place.is_final_use));
    BB_TRY(BB_ZEROED(program->value_count, &place.is_body_use));
    place_steps(&place);
    check_hull(&place);
    for (int i = 0; i < program->step_count; ++i) {
        check_step(&place, i);
    }
    BB_TRY(builder->status);
    BB_TRY(fill_lists(&place));
done:
    BB_RELEASE(&place.scopes);
    BB_RELEASE(&place.is_invariant);
    BB_RELEASE(&place.is_final_use);
    BB_RELEASE(&place.is_body_use);
    return status;
}
