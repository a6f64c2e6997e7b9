// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_vectors.h"

#include "core/memory.h"
#include "solvers/kernels/emission/emission_locals.h"
#include "solvers/kernels/program/selector_form.h"

#include <stdio.h>

enum { VECTOR_BYTES = 16, WINDOW_ELEMENTS = 64 };

// Element range of a window.
typedef struct extent {
    int64_t low, high; ///< lowest and highest place of point 0's elements
    bool is_taken[WINDOW_ELEMENTS];
} extent;

static bool has_vectors(bb_element_type type)
{
    return type == BB_ELEMENT_SP || type == BB_ELEMENT_DP || type == BB_ELEMENT_INT32;
}

// True if all operands of an access's selector other than the position are equal for all points.
static bool is_line_of(const bb_program *program, const bb_step *step, bool is_line)
{
    bool same = true;
    for (int k = 0; k < step->expression.inputs; ++k) {
        const bb_value *value = &program->values[step->inputs[k]];
        same = same && (value->scope == BB_SCOPE_HOST || value->kind == BB_VALUE_POSITION ||
                        (is_line && value->scope == BB_SCOPE_BODY));
    }
    return same;
}

static bool is_neighbour(const bb_step *step, int position)
{
    const bb_selector_form column = bb_selector_form_of(step, 0);
    int64_t slope = 0;
    if (!bb_selector_form_slope(&column, position, &slope) || slope != 1) {
        return false;
    }
    if (step->expression.output_count == 2) {
        const bb_selector_form row = bb_selector_form_of(step, 1);
        return bb_selector_form_slope(&row, position, &slope) && slope == 0;
    }
    return true;
}

// True for reads of objects that are never written, and for writes of objects that no other step
// accesses: the order of such accesses does not matter.
static bool is_free(const bb_program *program, int number)
{
    const bb_step *step = &program->steps[number];
    const bb_program_object *object = &program->objects[step->object];
    if (step->kind == BB_STEP_READ) {
        return !object->is_written;
    }
    int writes = 0;
    for (int i = 0; i < program->step_count; ++i) {
        writes +=
            program->steps[i].kind == BB_STEP_WRITE && program->steps[i].object == step->object;
    }
    return writes == 1 && !object->is_read;
}

static bool has_window(const bb_emission_writer *writer, const bb_emission_vectors *vectors,
                       int number, bool is_line)
{
    const bb_program *program = writer->program;
    const bb_step *step = &program->steps[number];
    const bool local = writer->locals != NULL && writer->locals->reads[number].leader >= 0;
    const bool access = step->kind == BB_STEP_READ || step->kind == BB_STEP_WRITE;
    return access && !local && has_vectors(program->objects[step->object].type) &&
           !bb_emission_has_boundary(writer, number) && is_free(program, number) &&
           is_line_of(program, step, is_line) && is_neighbour(step, vectors->position);
}

static bool shares(const bb_program *program, int leader, int number)
{
    const bb_step *first = &program->steps[leader];
    const bb_step *step = &program->steps[number];
    int64_t distances[BB_PROGRAM_DIMENSIONS] = {0, 0};
    return first->kind == BB_STEP_READ && step->kind == BB_STEP_READ &&
           bb_selector_form_shift(first, step, distances) && distances[0] >= -8 &&
           distances[0] <= 8 && distances[1] == 0;
}

static extent extent_of(const bb_emission_vectors *vectors, int leader)
{
    const bb_step_list *list = vectors->list;
    extent window = {.low = vectors->windows[leader].place, .high = vectors->windows[leader].place};
    for (int i = 0; i < list->count; ++i) {
        const bb_emission_window *member = &vectors->windows[list->steps[i]];
        if (member->leader == leader) {
            window.low = member->place < window.low ? member->place : window.low;
            window.high = member->place > window.high ? member->place : window.high;
        }
    }
    for (int i = 0; i < list->count; ++i) {
        const bb_emission_window *member = &vectors->windows[list->steps[i]];
        for (bb_index p = 0; member->leader == leader && p < vectors->width; ++p) {
            window.is_taken[member->place - window.low + p] = true;
        }
    }
    return window;
}

static bb_index vector_elements(const bb_emission_vectors *vectors, bb_element_type type)
{
    const bb_index elements = VECTOR_BYTES / (bb_index)bb_element_type_row(type)->bytes;
    return vectors->width < elements ? vectors->width : elements;
}

// True if all operands of a column other than the position are known before the points are.
static bool is_steady(const bb_program *program, const bb_selector_form *column, int position,
                      bool is_line)
{
    bool steady = column->is_known;
    for (int i = 0; i < column->count; ++i) {
        const bb_selector_term *term = &column->terms[i];
        if (term->value == position) {
            continue;
        }
        const bb_value *value = term->value >= 0 ? &program->values[term->value] : NULL;
        steady = steady && value != NULL &&
                 (value->scope == BB_SCOPE_HOST || (is_line && value->scope == BB_SCOPE_BODY));
    }
    return steady;
}

bb_status bb_emission_vectors_find(const bb_emission_writer *writer, bool is_line,
                                   bb_emission_vectors *vectors)
{
    bb_status status = BB_OK;
    const bb_program *program = writer->program;
    const bb_step_list *list = vectors->list;
    BB_TRY(BB_ALLOCATE(program->step_count + 1, &vectors->windows));
    for (int i = 0; i < program->step_count; ++i) {
        vectors->windows[i] = (bb_emission_window){.leader = -1};
    }
    for (int i = 0; i < list->count; ++i) {
        const int number = list->steps[i];
        bb_emission_window *window = &vectors->windows[number];
        if (!has_window(writer, vectors, number, is_line) ||
            (program->steps[number].kind == BB_STEP_WRITE &&
             bb_emission_leaves_out_points(writer, list))) { // such a point writes nothing
            continue;
        }
        window->place = bb_selector_form_of(&program->steps[number], 0).constant;
        window->leader = number;
        for (int j = 0; j < i; ++j) {
            const int leader = list->steps[j];
            if (vectors->windows[leader].leader == leader && shares(program, leader, number)) {
                window->leader = leader;
                break;
            }
        }
    }
    for (int i = 0; i < list->count; ++i) {
        bb_emission_window *window = &vectors->windows[list->steps[i]];
        if (window->leader < 0) {
            continue;
        }
        const bb_step *step = &program->steps[list->steps[i]];
        const extent taken = extent_of(vectors, window->leader);
        const bb_selector_form column = bb_selector_form_of(step, 0);
        window->offset = (bb_index)(window->place - taken.low);
        window->by_vector = vector_elements(vectors, program->objects[step->object].type) > 1 &&
                            taken.low <= 0 && taken.high >= 0 &&
                            is_steady(program, &column, vectors->position, is_line);
    }
done:
    return status;
}

void bb_emission_vectors_release(bb_emission_vectors *vectors)
{
    BB_RELEASE(&vectors->windows);
}

static const char fields[] = "xyzw";

// Declares m<step>, the element of position `base` without the selector's constant.
static void print_place(bb_emission_writer *writer, const bb_emission_vectors *vectors, int number)
{
    const bb_step *step = &writer->program->steps[number];
    const bb_program_object *object = &writer->program->objects[step->object];
    const bool matrix = object->structure == BB_STRUCTURE_MATRIX;
    char columns[BB_EMISSION_NAME_BYTES] = "";
    bb_emission_coordinates(writer, number, vectors->position);
    if (matrix) {
        (void)bb_emission_name(writer, object->sizes[0], columns);
        bb_emission_line(writer, "const bb_index m%d = %s + b%d_0 + %s * b%d_1 - (%lld);", number,
                         vectors->base, number, columns, number,
                         (long long)vectors->windows[number].place);
    } else {
        bb_emission_line(writer, "const bb_index m%d = %s + b%d_0 - (%lld);", number, vectors->base,
                         number, (long long)vectors->windows[number].place);
    }
}

// The points' own elements, as vectors.
static void print_pieces(bb_emission_writer *writer, const bb_emission_vectors *vectors, int number,
                         int64_t low, bool stores)
{
    const int named = writer->program->steps[number].object;
    const bb_element_type element = writer->program->objects[named].type;
    const char *type = bb_emission_type(writer, element);
    const bb_index piece = vector_elements(vectors, element);
    for (bb_index begin = 0; begin < vectors->width; begin += piece) {
        if (stores) {
            bb_emission_line(writer, "{ %s%td q;", type, piece);
        } else {
            bb_emission_line(writer, "{ const %s%td q = *(%sconst %s%td *)(o%d + m%d + %td);", type,
                             piece, vectors->space, type, piece, named, number, begin);
        }
        for (bb_index k = 0; k < piece; ++k) {
            const long long place = begin + k - low;
            if (stores) {
                bb_emission_line(writer, "q.%c = w%d%s[%lld];", fields[k], number, vectors->row,
                                 place);
            } else {
                bb_emission_line(writer, "w%d%s[%lld] = q.%c;", number, vectors->row, place,
                                 fields[k]);
            }
        }
        bb_emission_add(writer, "%*s", 4 * writer->depth, "");
        if (stores) {
            bb_emission_add(writer, "bb_store((%s%s%td *)(o%d + m%d + %td), q); ", vectors->space,
                            type, piece, named, number, begin);
        }
        bb_emission_add(writer, "}\n");
    }
}

// One element of a window. The barrier keeps loads at their place, ahead of the computation that
// hides them; NVVM (observed with 13.0) moves one behind divisions that do not need it.
static void print_element(bb_emission_writer *writer, const bb_emission_vectors *vectors,
                          int number, int64_t place, int64_t low, bool stores)
{
    const int object = writer->program->steps[number].object;
    char element[2 * BB_EMISSION_NAME_BYTES];
    (void)snprintf(element, sizeof element, "w%d%s[%lld]", number, vectors->row,
                   (long long)(place - low));
    if (stores) {
        bb_emission_line(writer, "o%d[m%d + (%lld)] = %s;", object, number, (long long)place,
                         element);
    } else {
        bb_emission_line(writer, "%s = o%d[m%d + (%lld)];", element, object, number,
                         (long long)place);
        bb_emission_line(writer, "bb_keep(%s);", element);
    }
}

// Elements of a window: the points' own as vectors if possible, the others one by one.
static void print_window(bb_emission_writer *writer, const bb_emission_vectors *vectors, int number,
                         bool stores)
{
    const extent window = extent_of(vectors, number);
    const bb_index elements = window.high - window.low + vectors->width;
    const bool by_vector = vectors->windows[number].by_vector;
    for (int64_t k = 0; k < elements; ++k) {
        const int64_t place = window.low + k;
        if (!window.is_taken[k] || (by_vector && place >= 0 && place < vectors->width)) {
            continue;
        }
        print_element(writer, vectors, number, place, window.low, stores);
    }
    if (by_vector) {
        print_pieces(writer, vectors, number, window.low, stores);
    }
}

void bb_emission_vectors_test(bb_emission_writer *writer, const bb_emission_vectors *vectors)
{
    const bb_program *program = writer->program;
    char name[BB_EMISSION_NAME_BYTES];
    for (int i = 0; i < vectors->list->count; ++i) {
        const int number = vectors->list->steps[i];
        const bb_emission_window *window = &vectors->windows[number];
        if (window->leader != number || !window->by_vector) {
            continue;
        }
        const bb_program_object *object = &program->objects[program->steps[number].object];
        const bb_selector_form column = bb_selector_form_of(&program->steps[number], 0);
        const bb_index mask = vector_elements(vectors, object->type) - 1;
        bb_emission_add(writer, "%*saligned = aligned && ((%s", 4 * writer->depth, "",
                        vectors->base);
        for (int k = 0; k < column.count; ++k) {
            if (column.terms[k].value != vectors->position) {
                bb_emission_add(writer, " + (%lld) * %s", (long long)column.terms[k].coefficient,
                                bb_emission_name(writer, column.terms[k].value, name));
            }
        }
        bb_emission_add(writer, ") & %td) == 0", mask);
        if (object->structure == BB_STRUCTURE_MATRIX) {
            bb_emission_add(writer, " && (%s & %td) == 0",
                            bb_emission_name(writer, object->sizes[0], name), mask);
        }
        bb_emission_add(writer, ";\n");
    }
}

void bb_emission_vectors_declare(bb_emission_writer *writer, const bb_emission_vectors *vectors,
                                 const char *rows)
{
    const bb_program *program = writer->program;
    for (int i = 0; i < vectors->list->count; ++i) {
        const int number = vectors->list->steps[i];
        if (vectors->windows[number].leader == number) {
            const bb_element_type type = program->objects[program->steps[number].object].type;
            const extent window = extent_of(vectors, number);
            bb_emission_line(writer, "%s w%d%s[%lld];", bb_emission_type(writer, type), number,
                             rows, (long long)window.high - window.low + vectors->width);
        }
    }
}

// Offsets of the windows of one kind of step, and their loads or stores.
static void print_windows(bb_emission_writer *writer, const bb_emission_vectors *vectors,
                          bb_step_kind kind)
{
    for (int i = 0; i < vectors->list->count; ++i) {
        const int number = vectors->list->steps[i];
        if (vectors->windows[number].leader == number &&
            writer->program->steps[number].kind == kind) {
            print_place(writer, vectors, number);
            print_window(writer, vectors, number, kind == BB_STEP_WRITE);
        }
    }
}

void bb_emission_vectors_load(bb_emission_writer *writer, const bb_emission_vectors *vectors)
{
    print_windows(writer, vectors, BB_STEP_READ);
}

void bb_emission_vectors_store(bb_emission_writer *writer, const bb_emission_vectors *vectors)
{
    print_windows(writer, vectors, BB_STEP_WRITE);
}
