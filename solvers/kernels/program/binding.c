// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/program/binding.h"

#include "core/memory.h"
#include "solvers/kernels/program/affine.h"

static const int64_t LARGEST = INT64_C(1) << 40;

static bb_status check_extents(const bb_binding *binding, bb_problems *problems)
{
    bb_status status = BB_OK;
    for (int i = 0; i < binding->program->object_count; ++i) {
        const bb_program_object *object = &binding->program->objects[i];
        const bb_program_data *data = &binding->data[i];
        const bool vector = object->structure == BB_STRUCTURE_VECTOR;
        if (data->columns < 0 || data->rows < 0 || (vector && data->rows != 1) ||
            data->columns > LARGEST || data->rows > LARGEST ||
            (double)data->columns * (double)data->rows > (double)LARGEST) {
            BB_TRY(bb_problems_add(problems, object->place,
                                   "%s has %td columns and %td rows; expected 0 to 2^40 elements%s",
                                   object->name, data->columns, data->rows,
                                   vector ? ", and one row of a vector" : ""));
        }
    }
done:
    return status;
}

static void set_sizes(bb_binding *binding)
{
    const bb_program *program = binding->program;
    for (int i = 0; i < program->object_count; ++i) {
        const bb_index extents[BB_PROGRAM_DIMENSIONS] = {binding->data[i].columns,
                                                         binding->data[i].rows};
        for (int k = 0; k <= (program->objects[i].structure == BB_STRUCTURE_MATRIX); ++k) {
            binding->values[program->objects[i].sizes[k]] = (bb_scalar){.integer = extents[k]};
        }
    }
}

// Evaluates the steps that depend on sizes and parameters only, in order.
static void run_host(bb_binding *binding)
{
    const bb_program *program = binding->program;
    for (int i = 0; i < program->host.count; ++i) {
        const bb_step *step = &program->steps[program->host.steps[i]];
        bb_scalar inputs[BB_PROGRAM_PORTS];
        bb_scalar nodes[BB_EXPRESSION_MAX_NODES];
        for (int k = 0; k < step->expression.inputs; ++k) {
            inputs[k] = binding->values[step->inputs[k]];
        }
        bb_expression_evaluate(&step->expression, inputs, NULL, NULL, nodes,
                               &binding->values[step->output]);
    }
}

static bb_status check_ranges(const bb_binding *binding, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    double points = 1.0;
    for (int k = 0; k < program->space.dimensions; ++k) {
        const int64_t range = binding->values[program->space.ranges[k]].integer;
        const bool fits = points <= (double)LARGEST;
        points *= (double)binding->ranges[k];
        if (range < 0 || (fits && points > (double)LARGEST)) {
            BB_TRY(bb_problems_add(problems, program->place,
                                   "Range(%d) of %s is %lld; expected 0 to 2^40 points", k,
                                   program->name, (long long)range));
        }
    }
done:
    return status;
}

static bb_interval elements_between(const bb_program_object *object, const bb_program_data *data)
{
    bb_interval interval = {0, object->type == BB_ELEMENT_B};
    const bb_index count = data->columns * data->rows;
    const int32_t *elements = data->elements;
    if (object->type != BB_ELEMENT_INT32) {
        return interval;
    }
    interval = (bb_interval){INT32_MIN, INT32_MAX};
    for (bb_index i = 0; i < count && elements != NULL; ++i) {
        const int64_t element = elements[i];
        interval.minimum = i == 0 || element < interval.minimum ? element : interval.minimum;
        interval.maximum = i == 0 || element > interval.maximum ? element : interval.maximum;
    }
    return interval;
}

// A value that the kernel writes is unknown.
static void find_element_ranges(const bb_binding *binding, bb_interval *ranges)
{
    for (int i = 0; i < binding->program->object_count; ++i) {
        const bb_program_object *object = &binding->program->objects[i];
        ranges[i] = object->is_written && object->type == BB_ELEMENT_INT32
                        ? (bb_interval){INT32_MIN, INT32_MAX}
                        : elements_between(object, &binding->data[i]);
    }
}

// The list of steps that contains an access.
static const bb_step_list *list_of(const bb_program *program, int number)
{
    const int iterator = program->steps[number].iterator;
    for (int i = 0; i < program->final.count; ++i) {
        if (program->final.steps[i] == number) {
            return &program->final;
        }
    }
    return iterator >= 0 ? &program->iterators[iterator].steps : &program->body;
}

// True if a space has no points, so that nothing is accessed; steps after the space still run.
static bool is_empty(const bb_binding *binding, int access)
{
    const bb_program *program = binding->program;
    const bb_step *step = &program->steps[access];
    if (list_of(program, access) == &program->final) {
        return false;
    }
    if (binding->ranges[0] == 0 || binding->ranges[1] == 0) {
        return true;
    }
    const int number = step->iterator;
    for (int k = 0; number >= 0 && k < program->iterators[number].space.dimensions; ++k) {
        const int range = program->iterators[number].space.ranges[k];
        if (program->values[range].scope == BB_SCOPE_HOST && binding->values[range].integer <= 0) {
            return true;
        }
    }
    return false;
}

// After a read with boundary skip, the same selector on an object of the same extents stays inside.
static bb_status is_guarded(const bb_binding *binding, bb_affine_system *system, int number,
                            const bb_affine *forms, bool *out)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    const bb_step *access = &program->steps[number];
    const bb_program_data *extents = &binding->data[access->object];
    const bb_step_list *list = list_of(program, number);
    *out = false;
    for (int i = 0; list->steps[i] != number && !*out; ++i) {
        const bb_step *guard = &program->steps[list->steps[i]];
        if (guard->kind != BB_STEP_READ || guard->boundary != BB_BOUNDARY_SKIP ||
            guard->expression.output_count != access->expression.output_count ||
            binding->data[guard->object].columns != extents->columns ||
            binding->data[guard->object].rows != extents->rows) {
            continue;
        }
        bool equal = true;
        for (int k = 0; k < guard->expression.output_count && equal; ++k) {
            bb_affine form;
            BB_TRY(bb_affine_of_selector(system, guard, k, &form));
            equal = bb_affine_equal(&form, &forms[k]);
        }
        *out = equal;
    }
done:
    return status;
}

static bb_status check_access(bb_binding *binding, bb_affine_system *system, int number,
                              bb_problems *problems)
{
    bb_status status = BB_OK;
    static const char *const words[BB_PROGRAM_DIMENSIONS] = {"column", "row"};
    const bb_program *program = binding->program;
    const bb_step *step = &program->steps[number];
    const bb_program_object *object = &program->objects[step->object];
    const bb_index extents[BB_PROGRAM_DIMENSIONS] = {binding->data[step->object].columns,
                                                     binding->data[step->object].rows};
    const int dimensions = 1 + (object->structure == BB_STRUCTURE_MATRIX);
    bb_affine forms[BB_PROGRAM_DIMENSIONS];
    bb_interval intervals[BB_PROGRAM_DIMENSIONS];
    bool inside = true;
    bool guarded = false;
    for (int k = 0; k < dimensions; ++k) {
        BB_TRY(bb_affine_of_selector(system, step, k, &forms[k]));
        intervals[k] = bb_affine_interval(system, &forms[k]);
        inside = inside && (intervals[k].minimum > intervals[k].maximum ||
                            (intervals[k].minimum >= 0 && intervals[k].maximum < extents[k]));
    }
    if (system->is_large) {
        BB_TRY(bb_problems_add(
            problems, step->place,
            "the selector of %s may reach 2^60, which exceeds the range of positions", step->name));
        system->is_large = false;
    }
    inside = inside || is_empty(binding, number);
    if (!inside && step->boundary == BB_BOUNDARY_NONE) {
        BB_TRY(is_guarded(binding, system, number, forms, &guarded));
    }
    binding->is_inside[number] = inside || guarded;
    for (int k = 0; k < dimensions; ++k) {
        const bb_interval reached = intervals[k];
        if (step->boundary == BB_BOUNDARY_NONE && !binding->is_inside[number] &&
            (reached.minimum < 0 || reached.maximum >= extents[k])) {
            BB_TRY(bb_problems_add(
                problems, step->place,
                "%s %s %s beyond its edge: %s %lld to %lld of 0 to %lld; add a boundary (clamp, "
                "zero, mirror, periodic, skip)",
                step->name, step->kind == BB_STEP_READ ? "reads" : "writes", object->name,
                object->structure == BB_STRUCTURE_VECTOR ? "element" : words[k],
                (long long)reached.minimum, (long long)reached.maximum, (long long)extents[k] - 1));
        }
    }
done:
    return status;
}

static bb_status check_accesses(bb_binding *binding, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    bb_affine_system system = {.program = NULL};
    bb_interval *element_ranges = NULL;
    BB_TRY(BB_ZEROED(program->object_count, &element_ranges));
    find_element_ranges(binding, element_ranges);
    BB_TRY(bb_affine_system_create(program, binding->values, element_ranges, &system));
    for (int i = 0; i < program->step_count; ++i) {
        if (program->steps[i].kind == BB_STEP_READ || program->steps[i].kind == BB_STEP_WRITE) {
            BB_TRY(check_access(binding, &system, i, problems));
        }
    }
    binding->farthest = system.farthest;
    BB_TRY(bb_binding_check_races(binding, &system, problems));
done:
    bb_affine_system_release(&system);
    BB_RELEASE(&element_ranges);
    return status;
}

bb_status bb_binding_create_sizes(const bb_program *program, const bb_program_data *data,
                                  const bb_scalar *parameters, bb_binding *out)
{
    bb_status status = BB_OK;
    bb_binding binding = {.program = program};
    const bb_scalar one = {.integer = 1};
    BB_TRY(BB_ALLOCATE(program->object_count, &binding.data));
    BB_TRY(BB_ZEROED(program->value_count, &binding.values));
    BB_TRY(BB_ZEROED(program->step_count, &binding.is_inside));
    for (int i = 0; i < program->object_count; ++i) {
        binding.data[i] = data[i];
    }
    set_sizes(&binding);
    for (int i = 0; i < program->parameter_count; ++i) {
        binding.values[program->parameters[i].value] =
            parameters != NULL
                ? parameters[i]
                : bb_expression_convert(one, BB_ELEMENT_INT32, program->parameters[i].type);
    }
    run_host(&binding);
    for (int k = 0; k < BB_PROGRAM_DIMENSIONS; ++k) {
        const bool used = k < program->space.dimensions;
        const int64_t range = used ? binding.values[program->space.ranges[k]].integer : 1;
        binding.ranges[k] = range > 0 ? (bb_index)range : 0;
    }
    *out = binding;
    binding = (bb_binding){.program = NULL};
done:
    bb_binding_release(&binding);
    return status;
}

bb_status bb_binding_create(const bb_program *program, const bb_program_data *data,
                            const bb_scalar *parameters, bb_problems *problems, bb_binding *out)
{
    bb_status status = BB_OK;
    bb_binding binding = {.program = program};
    const bb_index before = problems->count;
    BB_TRY(bb_binding_create_sizes(program, data, parameters, &binding));
    BB_TRY(check_extents(&binding, problems));
    BB_TRY(check_ranges(&binding, problems));
    if (problems->count == before) {
        BB_TRY(check_accesses(&binding, problems));
    }
    if (problems->count == before) {
        *out = binding;
        binding = (bb_binding){.program = NULL};
    }
done:
    bb_binding_release(&binding);
    return status;
}

void bb_binding_release(bb_binding *binding)
{
    BB_RELEASE(&binding->data);
    BB_RELEASE(&binding->values);
    BB_RELEASE(&binding->is_inside);
    *binding = (bb_binding){.program = NULL};
}

int bb_binding_find_outside(const bb_binding *binding, const bool *is_inside)
{
    int step = 0;
    while (step < binding->program->step_count && (!is_inside[step] || binding->is_inside[step])) {
        ++step;
    }
    return step;
}

double bb_binding_bytes(const bb_binding *binding)
{
    double bytes = 0.0;
    for (int i = 0; i < binding->program->object_count; ++i) {
        const bb_program_object *object = &binding->program->objects[i];
        bytes += (double)(object->is_read + object->is_written) *
                 (double)bb_element_type_row(object->type)->bytes *
                 (double)binding->data[i].columns * (double)binding->data[i].rows;
    }
    return bytes;
}
