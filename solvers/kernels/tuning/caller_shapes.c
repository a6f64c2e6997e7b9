// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/caller_shapes.h"

#include <stdio.h>
#include <string.h>

enum { SMALL_EXTENT = 16, MOST_ELEMENTS = 1 << 18, MOST_OF_SET = 1 << 14 };

// Ways to scale sizes, in the order in which every second shape tries them.
typedef enum scaling { BY_AXIS, BY_RANK, BY_LARGE_RANK, BY_FACTOR, SCALINGS } scaling;

typedef struct search {
    const bb_binding *set;
    const bb_scalar *parameters;
    const bool *is_range;
    bb_problems problems; // of the last that did not bind
} search;

static bb_index extent_of(const bb_program_data *data, int slot)
{
    return slot % 2 == 0 ? data[slot / 2].columns : data[slot / 2].rows;
}

// The smallest extent that is not small, of columns (0), rows (1) or both (2); 0: there is none.
static bb_index find_base(const search *self, int axis)
{
    bb_index base = 0;
    for (int slot = 0; slot < 2 * self->set->program->object_count; ++slot) {
        const bb_index extent = extent_of(self->set->data, slot);
        if ((axis == 2 || slot % 2 == axis) && extent > SMALL_EXTENT &&
            (base == 0 || extent < base)) {
            base = extent;
        }
    }
    return base;
}

// How many extents are larger, each counted once.
static int rank_of(const search *self, bb_index extent)
{
    int rank = 0;
    for (int slot = 0; slot < 2 * self->set->program->object_count; ++slot) {
        const bb_index larger = extent_of(self->set->data, slot);
        bool is_new = larger > extent;
        for (int k = 0; k < slot && is_new; ++k) {
            is_new = extent_of(self->set->data, k) != larger;
        }
        rank += is_new;
    }
    return rank;
}

// A multiple of the base and what is left over, or in proportion.
static bb_index scaled(bb_index extent, bb_index base, bb_index target)
{
    if (extent <= SMALL_EXTENT || base == 0) {
        return extent;
    }
    const bb_index factor = (extent + base / 2) / base;
    const bb_index remainder = extent - factor * base;
    if (remainder >= -SMALL_EXTENT && remainder <= SMALL_EXTENT) {
        return factor * target + remainder > 0 ? factor * target + remainder : 1;
    }
    return (bb_index)((double)extent * (double)target / (double)base) + 1;
}

static bb_index replaced(const search *self, scaling way, const bb_index *shape, int slot)
{
    const bb_index extent = extent_of(self->set->data, slot);
    const int axis = way == BY_AXIS ? slot % 2 : 2;
    if (extent <= 1 || (way == BY_LARGE_RANK && extent <= SMALL_EXTENT)) {
        return extent;
    }
    if (way == BY_RANK || way == BY_LARGE_RANK) {
        const int rank = rank_of(self, extent);
        return rank < BB_TRIAL_EXTENTS ? shape[rank] : shape[BB_TRIAL_EXTENTS - 1];
    }
    return scaled(extent, find_base(self, axis), shape[axis == 2 ? 0 : axis]);
}

static double elements_of(const bb_program *program, const bb_program_data *data)
{
    double elements = 0.0;
    for (int i = 0; i < program->object_count; ++i) {
        elements += (double)data[i].columns * (double)data[i].rows;
    }
    return elements;
}

// Whether no access passes an edge that the set does not pass.
static bool serves(const bb_binding *set, const bb_binding *binding)
{
    for (int i = 0; i < set->program->step_count; ++i) {
        if (set->is_inside[i] && !binding->is_inside[i]) {
            return false;
        }
    }
    return true;
}

// Whether sizes bind, and with points; `strictly`: past no other edges than the set.
static bb_status try_sizes(search *self, bool strictly, bb_caller_shape *shape, bool *binds)
{
    bb_status status = BB_OK;
    const bb_program *program = self->set->program;
    bb_binding binding = {.program = NULL};
    *binds = false;
    if (elements_of(program, shape->sizes.objects) > MOST_ELEMENTS) {
        goto done;
    }
    BB_TRY(bb_caller_elements_bind(program, self->parameters, self->is_range, shape->sizes.objects,
                                   &self->problems, &shape->limits, &binding));
    *binds = self->problems.count == 0 && binding.ranges[0] > 0 && binding.ranges[1] > 0 &&
             (!strictly || serves(self->set, &binding));
done:
    bb_binding_release(&binding);
    return status;
}

static bool is_known(const bb_program *program, const bb_caller_shape *shapes, int count)
{
    for (int i = 0; i < count; ++i) {
        bool is_same = true;
        for (int slot = 0; slot < 2 * program->object_count; ++slot) {
            is_same = is_same && extent_of(shapes[i].sizes.objects, slot) ==
                                     extent_of(shapes[count].sizes.objects, slot);
        }
        if (is_same) {
            return true;
        }
    }
    return false;
}

static void take_sizes(const search *self, int way, const bb_index *shape, bb_trial_data *out)
{
    const bb_program *program = self->set->program;
    *out = (bb_trial_data){.count = program->object_count};
    for (int i = 0; i < program->object_count; ++i) {
        bb_program_data *object = &out->objects[i];
        object->columns =
            shape == NULL ? self->set->data[i].columns : replaced(self, (scaling)way, shape, 2 * i);
        object->rows = shape == NULL ? self->set->data[i].rows
                                     : replaced(self, (scaling)way, shape, 2 * i + 1);
    }
    (void)snprintf(out->name, sizeof out->name, "%.24s=%tdx%td", program->objects[0].name,
                   out->objects[0].columns, out->objects[0].rows);
}

// A shape by the first way that binds and is new.
static bb_status add_shape(search *self, int number, bb_caller_shape *shapes, int *count)
{
    bb_status status = BB_OK;
    for (int k = 0; k < 2 * SCALINGS; ++k) {
        const bool strictly = k < SCALINGS;
        const int place = k % SCALINGS;
        const int way = number % 2 == 1 && place < 2 ? 1 - place : place;
        bool binds = false;
        take_sizes(self, way, bb_trial_shapes[number], &shapes[*count].sizes);
        BB_TRY(try_sizes(self, strictly, &shapes[*count], &binds));
        if (binds && !is_known(self->set->program, shapes, *count)) {
            ++*count;
            break;
        }
    }
done:
    return status;
}

bb_status bb_caller_shapes_find(const bb_binding *set, const bb_scalar *parameters,
                                const bool *is_range, bb_caller_limits limits,
                                bb_caller_shape *shapes, int *count)
{
    bb_status status = BB_OK;
    search self = {.set = set, .parameters = parameters, .is_range = is_range};
    take_sizes(&self, 0, NULL, &shapes[0].sizes);
    shapes[0].limits = limits;
    *count = elements_of(set->program, set->data) <= MOST_OF_SET;
    for (int i = 0; i < BB_TRIAL_SHAPES; ++i) {
        BB_TRY(add_shape(&self, i, shapes, count));
    }
    const bb_text *lines = &self.problems.lines;
    BB_REQUIRE(*count > 0, BB_INVALID,
               "kernel %s: no small shape like these sizes has points and binds, on which its "
               "variants could be verified%s%.*s",
               set->program->name, lines->length > 0 ? ": " : "",
               lines->length > 0 ? (int)lines->length - 1 : 0, bb_text_string(lines));
done:
    bb_problems_release(&self.problems);
    return status;
}
