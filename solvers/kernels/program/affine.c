// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/program/affine.h"

#include "core/memory.h"
#include "solvers/kernels/language/expression_nodes.h"

#include <string.h>

// Saturation limit: no object has as many elements, and sums of two do not overflow.
static const int64_t LIMIT = INT64_C(1) << 60;

static int64_t clamp(int64_t number)
{
    return number > LIMIT ? LIMIT : number < -LIMIT ? -LIMIT : number;
}

static int64_t add(int64_t a, int64_t b)
{
    return clamp(clamp(a) + clamp(b));
}

static int64_t multiply(int64_t a, int64_t b)
{
    int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) {
        return (a < 0) == (b < 0) ? LIMIT : -LIMIT;
    }
    return clamp(product);
}

static bb_interval interval_add(bb_interval a, bb_interval b)
{
    return (bb_interval){add(a.minimum, b.minimum), add(a.maximum, b.maximum)};
}

static bb_interval interval_scale(bb_interval a, int64_t factor)
{
    const int64_t ends[2] = {multiply(a.minimum, factor), multiply(a.maximum, factor)};
    return factor >= 0 ? (bb_interval){ends[0], ends[1]} : (bb_interval){ends[1], ends[0]};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static const bb_interval everything = {-(INT64_C(1) << 60), INT64_C(1) << 60};

static bb_affine constant_form(int64_t constant)
{
    return (bb_affine){.constant = clamp(constant)};
}

// form += factor * other; returns false if there are too many terms.
static bool accumulate(bb_affine *form, const bb_affine *other, int64_t factor)
{
    bb_affine sum = {.constant = add(form->constant, multiply(other->constant, factor))};
    int i = 0;
    int j = 0;
    while (i < form->count || j < other->count) {
        const bool mine =
            j == other->count || (i < form->count && form->terms[i].atom <= other->terms[j].atom);
        const bool its =
            i == form->count || (j < other->count && other->terms[j].atom <= form->terms[i].atom);
        const int atom = mine ? form->terms[i].atom : other->terms[j].atom;
        int64_t coefficient = mine ? form->terms[i++].coefficient : 0;
        coefficient = add(coefficient, its ? multiply(other->terms[j++].coefficient, factor) : 0);
        if (coefficient == 0) {
            continue;
        }
        if (sum.count == BB_AFFINE_TERMS) {
            return false;
        }
        sum.terms[sum.count++] = (bb_affine_term){atom, coefficient};
    }
    *form = sum;
    return true;
}

bool bb_affine_equal(const bb_affine *form, const bb_affine *other)
{
    bool equal = form->constant == other->constant && form->count == other->count;
    for (int i = 0; equal && i < form->count; ++i) {
        equal = form->terms[i].atom == other->terms[i].atom &&
                form->terms[i].coefficient == other->terms[i].coefficient;
    }
    return equal;
}

// Bounds of a form. The maximum of a position depends on its range, which may depend on read data.
// The range's form is substituted before the other atoms are bounded, so that start[r] + k with k
// below start[r + 1] - start[r] stays below start[r + 1].
static bb_interval bound(const bb_affine_system *system, bb_affine form, int depth)
{
    bb_interval sum = {form.constant, form.constant};
    for (int i = 0; i < form.count; ++i) {
        const bb_affine_term term = form.terms[i];
        const bb_atom *atom = &system->atoms[term.atom];
        if (atom->range >= 0 && depth > 0) {
            const bb_affine position = {.count = 1, .terms = {{term.atom, 1}}};
            bb_affine low = form;
            bb_affine high = form;
            const bb_affine one = constant_form(1);
            if (accumulate(&low, &position, -term.coefficient) &&
                accumulate(&high, &position, -term.coefficient) &&
                accumulate(&high, &system->ranges[atom->range], term.coefficient) &&
                accumulate(&high, &one, -term.coefficient)) {
                const bb_interval ends[2] = {bound(system, low, depth - 1),
                                             bound(system, high, depth - 1)};
                return term.coefficient > 0 ? (bb_interval){ends[0].minimum, ends[1].maximum}
                                            : (bb_interval){ends[1].minimum, ends[0].maximum};
            }
        }
        sum = interval_add(sum, interval_scale(atom->interval, term.coefficient));
    }
    return sum;
}

bb_interval bb_affine_interval(const bb_affine_system *system, const bb_affine *form)
{
    return bound(system, *form, 2 * BB_PROGRAM_DIMENSIONS);
}

// Atoms

static bool same_atom(const bb_atom *atom, const bb_atom *other)
{
    switch (other->kind) {
    case BB_ATOM_VALUE:
        return atom->kind == BB_ATOM_VALUE && atom->value == other->value;
    case BB_ATOM_QUOTIENT:
    case BB_ATOM_REMAINDER:
        return atom->kind == other->kind && atom->divisor == other->divisor &&
               bb_affine_equal(&atom->operand, &other->operand);
    case BB_ATOM_OPAQUE:
        break;
    }
    return false;
}

static bb_status atom_form(bb_affine_system *system, const bb_atom *wanted, bb_affine *out)
{
    bb_status status = BB_OK;
    int number = 0;
    while (number < system->atom_count && !same_atom(&system->atoms[number], wanted)) {
        ++number;
    }
    if (number == system->atom_count) {
        if (system->atom_count == system->atom_capacity) {
            const int capacity = system->atom_capacity == 0 ? 16 : 2 * system->atom_capacity;
            BB_TRY(bb_memory_resize(capacity, sizeof *system->atoms, (void **)&system->atoms));
            system->atom_capacity = capacity;
        }
        system->atoms[system->atom_count++] = *wanted;
    }
    *out = (bb_affine){.count = 1, .terms = {{number, 1}}};
done:
    return status;
}

static bb_status opaque_form(bb_affine_system *system, bb_interval interval, bb_affine *out)
{
    const bb_atom atom = {.kind = BB_ATOM_OPAQUE, .interval = interval, .range = -1};
    return atom_form(system, &atom, out);
}

static bb_status position_form(bb_affine_system *system, int value, bb_affine *out)
{
    bb_status status = BB_OK;
    const bb_value *position = &system->program->values[value];
    const bb_iteration_space *space = position->owner < 0
                                          ? &system->program->space
                                          : &system->program->iterators[position->owner].space;
    bb_atom atom = {.kind = BB_ATOM_VALUE, .value = value, .range = -1};
    bb_affine range;
    BB_TRY(bb_affine_of_value(system, space->ranges[position->index], &range));
    const bb_interval ends = bb_affine_interval(system, &range);
    atom.interval = (bb_interval){0, ends.maximum - 1};
    if (range.count > 0) {
        if (system->range_count == system->range_capacity) {
            const int capacity = system->range_capacity == 0 ? 8 : 2 * system->range_capacity;
            BB_TRY(bb_memory_resize(capacity, sizeof *system->ranges, (void **)&system->ranges));
            system->range_capacity = capacity;
        }
        atom.range = system->range_count;
        system->ranges[system->range_count++] = range;
    }
    BB_TRY(atom_form(system, &atom, out));
done:
    return status;
}

// Quotients and remainders by constants, truncated towards zero.
static bb_status divided_form(bb_affine_system *system, bb_atom_kind kind, const bb_affine *operand,
                              int64_t divisor, bb_affine *out)
{
    const bb_interval ends = bb_affine_interval(system, operand);
    const int64_t size = (divisor < 0 ? -divisor : divisor) - 1;
    bb_atom atom = {.kind = kind, .operand = *operand, .divisor = divisor, .range = -1};
    if (kind == BB_ATOM_QUOTIENT) {
        const int64_t quotients[2] = {ends.minimum / divisor, ends.maximum / divisor};
        atom.interval = divisor > 0 ? (bb_interval){quotients[0], quotients[1]}
                                    : (bb_interval){quotients[1], quotients[0]};
    } else {
        atom.interval = (bb_interval){ends.minimum >= 0      ? 0
                                      : -ends.minimum < size ? ends.minimum
                                                             : -size,
                                      ends.maximum <= 0     ? 0
                                      : ends.maximum < size ? ends.maximum
                                                            : size};
    }
    return atom_form(system, &atom, out);
}

typedef struct expression_forms {
    const bb_expression *expression;
    const int *inputs, *parameters;
    bool is_selector;
} expression_forms;

static bb_status node_form(bb_affine_system *system, const expression_forms *forms, int number,
                           bb_affine *out);

// Exact forms for sums, products by constants, quotients and remainders; bounds only for other
// operations.
static bb_status operation_form(bb_affine_system *system, const bb_expression_node *node,
                                const bb_affine *a, const bb_affine *b, bb_affine *out)
{
    const bb_interval x = bb_affine_interval(system, a);
    const bb_interval y = bb_affine_interval(system, b);
    *out = *a;
    switch (node->operation) {
    case BB_OPERATION_CONVERT:
        if (node->type == BB_ELEMENT_B) {
            break; // the value is 1 for every number except 0
        }
        return BB_OK;
    case BB_OPERATION_NEGATE:
        *out = constant_form(0);
        return accumulate(out, a, -1) ? BB_OK : opaque_form(system, interval_scale(x, -1), out);
    case BB_OPERATION_ADD:
        return accumulate(out, b, 1) ? BB_OK : opaque_form(system, interval_add(x, y), out);
    case BB_OPERATION_SUBTRACT:
        return accumulate(out, b, -1)
                   ? BB_OK
                   : opaque_form(system, interval_add(x, interval_scale(y, -1)), out);
    case BB_OPERATION_MULTIPLY:
        if (a->count == 0 || b->count == 0) {
            *out = constant_form(0);
            return accumulate(out, a->count == 0 ? b : a, a->count == 0 ? a->constant : b->constant)
                       ? BB_OK
                       : opaque_form(system, everything, out);
        }
        break;
    case BB_OPERATION_DIVIDE:
    case BB_OPERATION_MODULO:
        if (b->count == 0 && b->constant == 0) {
            *out = constant_form(0); // by definition of the language
            return BB_OK;
        }
        if (b->count == 0 && a->count == 0) {
            *out =
                constant_form(node->operation == BB_OPERATION_DIVIDE ? a->constant / b->constant
                                                                     : a->constant % b->constant);
            return BB_OK;
        }
        if (b->count == 0) {
            return divided_form(system,
                                node->operation == BB_OPERATION_DIVIDE ? BB_ATOM_QUOTIENT
                                                                       : BB_ATOM_REMAINDER,
                                a, b->constant, out);
        }
        break;
    case BB_OPERATION_MIN:
        return opaque_form(
            system, (bb_interval){least(x.minimum, y.minimum), least(x.maximum, y.maximum)}, out);
    case BB_OPERATION_MAX:
        return opaque_form(
            system, (bb_interval){most(x.minimum, y.minimum), most(x.maximum, y.maximum)}, out);
    default:
        break;
    }
    return opaque_form(system, node->type == BB_ELEMENT_B ? (bb_interval){0, 1} : everything, out);
}

static bb_status select_form(bb_affine_system *system, const expression_forms *forms,
                             const bb_expression_node *node, bb_affine *out)
{
    bb_status status = BB_OK;
    bb_affine condition; // evaluated so that its limits are checked
    bb_affine a;
    bb_affine b;
    BB_TRY(node_form(system, forms, node->operands[0], &condition));
    BB_TRY(node_form(system, forms, node->operands[1], &a));
    BB_TRY(node_form(system, forms, node->operands[2], &b));
    const bb_interval x = bb_affine_interval(system, &a);
    const bb_interval y = bb_affine_interval(system, &b);
    BB_TRY(opaque_form(
        system, (bb_interval){least(x.minimum, y.minimum), most(x.maximum, y.maximum)}, out));
done:
    return status;
}

// Integer arithmetic wraps: at 32 bits for INT32, at 64 bits beyond the limit used here.
static bb_status limit_form(bb_affine_system *system, bb_element_type type, bb_affine *form)
{
    const bb_interval ends = bb_affine_interval(system, form);
    if (type == BB_ELEMENT_INT32 && (ends.minimum < INT32_MIN || ends.maximum > INT32_MAX)) {
        return opaque_form(system, (bb_interval){INT32_MIN, INT32_MAX}, form);
    }
    return ends.minimum <= -LIMIT || ends.maximum >= LIMIT ? opaque_form(system, everything, form)
                                                           : BB_OK;
}

// Updates the largest magnitude of a 64-bit number.
static void note_reach(bb_affine_system *system, bb_interval reached)
{
    const int64_t ends[2] = {clamp(reached.minimum), clamp(reached.maximum)};
    for (int i = 0; i < 2; ++i) {
        const int64_t distance = ends[i] < 0 ? -ends[i] : ends[i];
        system->farthest = distance > system->farthest ? distance : system->farthest;
    }
}

static bb_status node_form(bb_affine_system *system, const expression_forms *forms, int number,
                           bb_affine *out)
{
    bb_status status = BB_OK;
    const bb_expression_node *node = &forms->expression->nodes[number];
    bb_affine operands[2] = {{0}, {0}};
    if (node->type != BB_ELEMENT_INDEX && node->type != BB_ELEMENT_INT32 &&
        node->type != BB_ELEMENT_B) {
        BB_TRY(opaque_form(system, everything, out));
        goto done;
    }
    switch (node->operation) {
    case BB_OPERATION_LITERAL:
        *out = constant_form(node->integer);
        break;
    case BB_OPERATION_INPUT:
        BB_TRY(bb_affine_of_value(system, forms->inputs[node->index], out));
        break;
    case BB_OPERATION_PARAMETER:
        BB_TRY(bb_affine_of_value(system, forms->parameters[node->index], out));
        break;
    case BB_OPERATION_SELECT:
        BB_TRY(select_form(system, forms, node, out));
        break;
    default:
        for (int k = 0; k < 2 && k < bb_expression_operation_row(node->operation)->operands; ++k) {
            BB_TRY(node_form(system, forms, node->operands[k], &operands[k]));
        }
        BB_TRY(operation_form(system, node, &operands[0], &operands[1], out));
        const bb_interval interval = bb_affine_interval(system, out);
        system->is_large =
            system->is_large ||
            (forms->is_selector && (interval.minimum <= -LIMIT || interval.maximum >= LIMIT));
    }
    if (node->type == BB_ELEMENT_INDEX) {
        note_reach(system, bb_affine_interval(system, out));
    }
    BB_TRY(limit_form(system, node->type, out));
done:
    return status;
}

static bb_status add_function(bb_affine_system *system, const bb_step *step)
{
    bb_status status = BB_OK;
    const expression_forms forms = {&step->expression, step->inputs, step->parameters, false};
    for (int k = 0; k < step->expression.output_count; ++k) {
        BB_TRY(node_form(system, &forms, step->expression.outputs[k],
                         &system->functions[step->output + k]));
    }
done:
    return status;
}

static bb_status add_functions(bb_affine_system *system, const bb_step_list *list)
{
    bb_status status = BB_OK;
    for (int i = 0; i < list->count; ++i) {
        const bb_step *step = &system->program->steps[list->steps[i]];
        if (step->kind == BB_STEP_FUNCTION) {
            BB_TRY(add_function(system, step));
        } else if (step->kind == BB_STEP_ITERATOR) {
            BB_TRY(add_functions(system, &system->program->iterators[step->iterator].steps));
        }
    }
done:
    return status;
}

bb_status bb_affine_system_create(const bb_program *program, const bb_scalar *values,
                                  const bb_interval *element_ranges, bb_affine_system *out)
{
    bb_status status = BB_OK;
    bb_affine_system system = {
        .program = program, .values = values, .element_ranges = element_ranges};
    BB_TRY(BB_ZEROED(program->value_count, &system.functions));
    BB_TRY(add_functions(&system, &program->body));
    BB_TRY(add_functions(&system, &program->final));
    *out = system;
    system = (bb_affine_system){.program = NULL};
done:
    bb_affine_system_release(&system);
    return status;
}

bb_status bb_affine_of_value(bb_affine_system *system, int value, bb_affine *out)
{
    const bb_value *emitter = &system->program->values[value];
    if (emitter->scope == BB_SCOPE_HOST) {
        *out = constant_form(system->values[value].integer);
        return BB_OK;
    }
    switch (emitter->kind) {
    case BB_VALUE_POSITION:
        return position_form(system, value, out);
    case BB_VALUE_FUNCTION:
        *out = system->functions[value];
        return BB_OK;
    case BB_VALUE_READ: {
        const bb_step *step = &system->program->steps[emitter->owner];
        bb_interval interval = system->element_ranges[step->object];
        if (step->boundary == BB_BOUNDARY_ZERO) {
            interval.minimum = interval.minimum < 0 ? interval.minimum : 0;
            interval.maximum = interval.maximum > 0 ? interval.maximum : 0;
        }
        const bb_atom atom = {
            .kind = BB_ATOM_VALUE, .value = value, .interval = interval, .range = -1};
        return atom_form(system, &atom, out);
    }
    default:
        return opaque_form(system,
                           emitter->type == BB_ELEMENT_INT32 ? (bb_interval){INT32_MIN, INT32_MAX}
                                                             : everything,
                           out);
    }
}

bb_status bb_affine_of_selector(bb_affine_system *system, const bb_step *step, int output,
                                bb_affine *out)
{
    const expression_forms forms = {&step->expression, step->inputs, step->parameters, true};
    return node_form(system, &forms, step->expression.outputs[output], out);
}

void bb_affine_system_release(bb_affine_system *system)
{
    BB_RELEASE(&system->functions);
    BB_RELEASE(&system->atoms);
    BB_RELEASE(&system->ranges);
    *system = (bb_affine_system){.program = NULL};
}
