// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission_locals.h"

#include "core/memory.h"
#include "solvers/kernels/emission/emission_gpu.h"
#include "solvers/kernels/program/selector_form.h"

#include <stdio.h>

// Padding of lines along iterations, so that neighbouring lines use different banks.
enum { PAD_BYTES = 16 };

// Finds the position whose coefficient in a coordinate is one, all other terms being known on the
// host; returns false for any other form.
static bool find_axis(const bb_program *program, const bb_emission_locals *locals,
                      const bb_selector_form *form, int *axis)
{
    bool known = form->is_known;
    *axis = -1;
    for (int i = 0; i < form->count; ++i) {
        const bb_selector_term *term = &form->terms[i];
        const bb_value *value = term->value >= 0 ? &program->values[term->value] : NULL;
        if (value != NULL && value->scope == BB_SCOPE_HOST) {
            continue;
        }
        known = known && value != NULL && value->kind == BB_VALUE_POSITION && *axis < 0 &&
                term->coefficient == 1 && (value->owner < 0 || term->value == locals->position);
        *axis = term->value;
    }
    return known;
}

static bool has_axis(const bb_emission_local *local, int value)
{
    return local->axes[0] == value || local->axes[1] == value;
}

// True if a read can have a box, considered alone.
static bool is_candidate(const bb_program *program, const bb_emission_writer *writer,
                         const bb_emission_locals *locals, int number, bb_emission_local *out)
{
    const bb_step *step = &program->steps[number];
    *out = (bb_emission_local){.leader = number, .axes = {-1, -1}};
    if (step->kind != BB_STEP_READ || program->objects[step->object].is_written ||
        (writer != NULL && bb_emission_has_boundary(writer, number))) {
        return false;
    }
    for (int k = 0; k < step->expression.output_count; ++k) {
        const bb_selector_form form = bb_selector_form_of(step, k);
        if (!find_axis(program, locals, &form, &out->axes[k])) {
            return false;
        }
    }
    return out->axes[0] < 0 || out->axes[0] != out->axes[1];
}

// True if some dimension of the space does not affect a read of an iterator.
static bool is_repeated(const bb_program *program, const bb_emission_locals *locals,
                        const bb_emission_local *local)
{
    bool repeated = false;
    for (int k = 0; k < program->space.dimensions; ++k) {
        repeated = repeated || !has_axis(local, program->space.positions[k]);
    }
    return repeated && has_axis(local, locals->position);
}

// True if a read of a body is a shifted copy of the leader's: same object, constant offset.
static bool is_neighbour(const bb_program *program, const bb_emission_local *local, int leader,
                         int number)
{
    int64_t distances[BB_PROGRAM_DIMENSIONS];
    bool neighbour =
        bb_selector_form_shift(&program->steps[leader], &program->steps[number], distances);
    for (int k = 0; neighbour && k < program->steps[number].expression.output_count; ++k) {
        neighbour = distances[k] >= -8 && distances[k] <= 8 &&
                    local->axes[k] == program->space.positions[k];
    }
    return neighbour;
}

// Computes offsets within the leader's box, which contains all its neighbours.
static int grow_box(const bb_program *program, bb_emission_locals *locals, int leader)
{
    int members = 0;
    for (int k = 0; k < program->steps[leader].expression.output_count; ++k) {
        int64_t low = INT64_MAX;
        int64_t high = INT64_MIN;
        for (int pass = 0; pass < 2; ++pass) {
            members = 0;
            for (int i = 0; i < locals->list->count; ++i) {
                const int number = locals->list->steps[i];
                bb_emission_local *read = &locals->reads[number];
                if (read->leader != leader) {
                    continue;
                }
                const int64_t place = bb_selector_form_of(&program->steps[number], k).constant;
                low = place < low ? place : low;
                high = place > high ? place : high;
                read->offsets[k] = place - low;
                ++members;
            }
        }
        locals->reads[leader].surplus[k] = high - low;
    }
    return members;
}

static void remove_box(bb_emission_locals *locals, int leader)
{
    for (int i = 0; i < locals->list->count; ++i) {
        bb_emission_local *read = &locals->reads[locals->list->steps[i]];
        if (read->leader == leader) {
            *read = (bb_emission_local){.leader = -1};
        }
    }
}

static void group_neighbours(const bb_program *program, bb_emission_locals *locals)
{
    for (int i = 0; i < locals->list->count; ++i) {
        const int number = locals->list->steps[i];
        bb_emission_local *read = &locals->reads[number];
        for (int j = 0; read->leader == number && j < i; ++j) {
            const int leader = locals->list->steps[j];
            if (locals->reads[leader].leader == leader &&
                is_neighbour(program, read, leader, number)) {
                read->leader = leader;
            }
        }
    }
    for (int i = 0; i < locals->list->count; ++i) {
        const int leader = locals->list->steps[i];
        if (locals->reads[leader].leader == leader && grow_box(program, locals, leader) < 2) {
            remove_box(locals, leader);
        }
    }
}

bb_status bb_emission_locals_find(const bb_program *program, const bb_emission_writer *writer,
                                  bb_emission_locals *locals)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(program->step_count + 1, &locals->reads));
    for (int i = 0; i < program->step_count; ++i) {
        locals->reads[i] = (bb_emission_local){.leader = -1};
    }
    for (int i = 0; i < locals->list->count; ++i) {
        bb_emission_local read;
        const int number = locals->list->steps[i];
        if (is_candidate(program, writer, locals, number, &read) &&
            (locals->position < 0 || is_repeated(program, locals, &read))) {
            locals->reads[number] = read;
        }
    }
    if (locals->position < 0) {
        group_neighbours(program, locals);
    }
    locals->any = false;
    for (int i = 0; i < program->step_count; ++i) {
        locals->any = locals->any || locals->reads[i].leader >= 0;
    }
done:
    return status;
}

void bb_emission_locals_release(bb_emission_locals *locals)
{
    BB_RELEASE(&locals->reads);
}

bool bb_emission_locals_exist(const bb_program *program)
{
    bb_emission_locals locals = {.list = &program->body, .position = -1};
    if (program->has_reduction || program->iterator_count > 1) {
        return false;
    }
    if (program->iterator_count == 1) {
        const bb_iterator *iterator = &program->iterators[0];
        if (iterator->space.dimensions > 1 || iterator->reduction.order.lanes > 1 ||
            program->values[iterator->space.ranges[0]].scope != BB_SCOPE_HOST) {
            return false;
        }
        locals.list = &iterator->steps;
        locals.position = iterator->space.positions[0];
    }
    if (bb_emission_locals_find(program, NULL, &locals) != BB_OK) {
        return false;
    }
    bb_emission_locals_release(&locals);
    return locals.any;
}

// Number of elements of a box along a coordinate.
static bb_index box_extent(const bb_emission_writer *writer, const bb_emission_locals *locals,
                           const bb_emission_local *local, int coordinate)
{
    const bb_program *program = writer->program;
    const bb_choice *choice = writer->choice;
    const int axis = local->axes[coordinate];
    bb_index points = 1;
    if (axis >= 0 && axis == locals->position) {
        points = BB_EMISSION_LOCAL_STEPS;
    } else if (axis >= 0) {
        points = axis == program->space.positions[0] ? choice->group[0] * choice->points
                                                     : choice->group[1] * choice->rows;
    }
    return points + (bb_index)local->surplus[coordinate];
}

void bb_emission_locals_declare(bb_emission_writer *writer, const bb_emission_locals *locals)
{
    const bb_program *program = writer->program;
    for (int i = 0; i < program->step_count; ++i) {
        const bb_emission_local *read = &locals->reads[i];
        if (read->leader != i) {
            continue;
        }
        const bb_element_type type = program->objects[program->steps[i].object].type;
        const bb_index pad = read->axes[0] >= 0 && read->axes[0] == locals->position
                                 ? PAD_BYTES / (bb_index)bb_element_type_row(type)->bytes
                                 : 0;
        (void)bb_emission_try(writer,
                              bb_text_add(writer->local,
                                          "    %s%s l%d[%td][%td] __attribute__((aligned(16)));\n",
                                          writer->words->local, bb_emission_type(writer, type), i,
                                          box_extent(writer, locals, read, 1),
                                          box_extent(writer, locals, read, 0) + pad));
    }
}

// "const bb_index x0 = X + i0;": the point, or iteration, of an element of the box.
static void print_position(bb_emission_writer *writer, const bb_emission_local *local, int value,
                           const char *origin)
{
    char name[BB_EMISSION_NAME_BYTES];
    (void)bb_emission_name(writer, value, name);
    for (int k = 0; k < BB_PROGRAM_DIMENSIONS; ++k) {
        if (local->axes[k] == value) {
            bb_emission_line(writer, "const bb_index %s = %s + i%d - %lld;", name, origin, k,
                             (long long)local->offsets[k]);
            return;
        }
    }
    bb_emission_line(writer, "const bb_index %s = %s;", name, origin);
}

// Number of box elements that a work-item loads.
static bb_index share_of(const bb_emission_writer *writer, const bb_emission_locals *locals,
                         const bb_emission_local *local)
{
    const bb_index items = writer->choice->group[0] * writer->choice->group[1];
    return (box_extent(writer, locals, local, 0) * box_extent(writer, locals, local, 1) - 1) /
               items +
           1;
}

void bb_emission_locals_begin(bb_emission_writer *writer, const bb_emission_locals *locals)
{
    const bb_program *program = writer->program;
    for (int number = 0; number < program->step_count; ++number) {
        if (locals->reads[number].leader == number) {
            const bb_element_type type = program->objects[program->steps[number].object].type;
            bb_emission_line(writer, "%s m%d[%td];", bb_emission_type(writer, type), number,
                             share_of(writer, locals, &locals->reads[number]));
        }
    }
}

// Opens a loop over a work-item's elements of a box; i0 and i1 are the indices of an element.
static void open_elements(bb_emission_writer *writer, const bb_emission_locals *locals,
                          const bb_emission_local *local)
{
    const bb_index items = writer->choice->group[0] * writer->choice->group[1];
    const bb_index columns = box_extent(writer, locals, local, 0);
    const bb_index elements = columns * box_extent(writer, locals, local, 1);
    bb_emission_line(writer, "#pragma unroll");
    bb_emission_line(writer, "for (int j = 0; j < %td; ++j) {", share_of(writer, locals, local));
    bb_emission_line(writer, "const int i = item + %td * j;", items);
    if (elements % items != 0) {
        bb_emission_line(writer, "if (i >= %td) break;", elements);
    }
    bb_emission_line(writer, "const int i1 = i / %td, i0 = i - i1 * %td;", columns, columns);
}

static void fetch_box(bb_emission_writer *writer, const bb_emission_locals *locals, int number,
                      const char *iteration)
{
    const bb_program *program = writer->program;
    const bb_emission_local *read = &locals->reads[number];
    static const char *const origins[BB_PROGRAM_DIMENSIONS] = {"X", "Y"};
    char element[BB_EMISSION_TEXT_BYTES];
    open_elements(writer, locals, read);
    for (int k = 0; k < BB_PROGRAM_DIMENSIONS && k < program->space.dimensions; ++k) {
        print_position(writer, read, program->space.positions[k], origins[k]);
    }
    if (locals->position >= 0) {
        print_position(writer, read, locals->position, iteration);
    }
    bb_emission_coordinates(writer, number, -1);
    bb_emission_element(writer, number, element);
    bb_emission_line(writer, "m%d[j] = %s;", number, element);
    bb_emission_line(writer, "}");
}

void bb_emission_locals_fetch(bb_emission_writer *writer, const bb_emission_locals *locals,
                              const char *iteration)
{
    for (int number = 0; number < writer->program->step_count; ++number) {
        if (locals->reads[number].leader == number) {
            fetch_box(writer, locals, number, iteration);
        }
    }
}

void bb_emission_locals_store(bb_emission_writer *writer, const bb_emission_locals *locals)
{
    for (int number = 0; number < writer->program->step_count; ++number) {
        if (locals->reads[number].leader == number) {
            open_elements(writer, locals, &locals->reads[number]);
            bb_emission_line(writer, "l%d[i1][i0] = m%d[j];", number, number);
            bb_emission_line(writer, "}");
        }
    }
}
