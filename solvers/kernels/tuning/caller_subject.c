// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/caller_subject.h"

#include "core/memory.h"
#include "solvers/kernels/tuning/caller_shapes.h"

#include <stdio.h>
#include <string.h>

struct bb_caller_subject {
    const bb_program *program;
    const char *name;
    bb_program_data data[BB_TRIAL_OBJECTS]; // elements borrowed, or NULL
    bool has_elements;
    bool is_range[BB_TRIAL_OBJECTS];
    bb_caller_limits limits; // of the set's integers
    bb_caller_shape shapes[BB_CALLER_SHAPES];
    int shape_count;
    bb_tuning_subject table;
};

// The caller's elements, or what stands in for them.
static void fill(const bb_caller_subject *self, bool is_set, bb_caller_limits limits,
                 bb_trial_data *data)
{
    for (int i = 0; i < data->count; ++i) {
        const size_t bytes = bb_trial_data_object_bytes(self->program, data, i);
        if (!is_set || self->data[i].elements == NULL) {
            bb_caller_elements_fill(self->program, self->is_range, limits, i, &data->objects[i]);
        } else if (bytes > 0) {
            memcpy(data->objects[i].elements, self->data[i].elements, bytes);
        }
    }
}

static bool is_set(const bb_caller_subject *self, const bb_trial_data *data)
{
    bool is_same = true;
    for (int i = 0; i < data->count; ++i) {
        is_same = is_same && data->objects[i].columns == self->data[i].columns &&
                  data->objects[i].rows == self->data[i].rows;
    }
    return is_same;
}

static bb_status make_shape(const bb_tuning_subject *subject, int number, bb_trial_data *out)
{
    bb_status status = BB_OK;
    const bb_caller_subject *self = subject->context;
    const bb_caller_shape *shape = &self->shapes[number];
    *out = shape->sizes;
    BB_TRY(bb_trial_data_allocate(self->program, out));
    fill(self, is_set(self, out), shape->limits, out);
done:
    return status;
}

static void size_set(const bb_tuning_subject *subject, int number, bb_trial_data *out)
{
    const bb_caller_subject *self = subject->context;
    (void)number;
    (void)snprintf(out->name, sizeof out->name, "%s", self->name);
    out->count = self->program->object_count;
    for (int i = 0; i < out->count; ++i) {
        out->objects[i] =
            (bb_program_data){.columns = self->data[i].columns, .rows = self->data[i].rows};
    }
}

static bb_status fill_set(const bb_tuning_subject *subject, int number, bb_trial_data *data)
{
    const bb_caller_subject *self = subject->context;
    (void)number;
    fill(self, true, self->limits, data);
    return BB_OK;
}

// Where nobody gave elements: integers that say how far something runs cannot be made up.
static bb_status check_ranges(const bb_caller_subject *self)
{
    bb_status status = BB_OK;
    for (int i = 0; i < self->program->object_count && !self->has_elements; ++i) {
        BB_REQUIRE(!self->is_range[i], BB_UNSUPPORTED,
                   "kernel %s: how far a sum runs follows from the elements of %s, which sizes do "
                   "not tell",
                   self->program->name, self->program->objects[i].name);
    }
done:
    return status;
}

static bb_status bind(bb_caller_subject *self, const bb_scalar *parameters, bb_problems *problems,
                      bb_binding *out)
{
    bb_status status = BB_OK;
    const char *name = NULL;
    bb_index limit = 0;
    if (self->has_elements) {
        BB_TRY(bb_binding_create(self->program, self->data, parameters, problems, out));
        goto done;
    }
    BB_TRY(bb_caller_elements_bind(self->program, parameters, self->is_range, self->data, problems,
                                   &self->limits, out));
    name = bb_caller_subject_stand_in(self, &limit);
    BB_REQUIRE(problems->count == 0 || name == NULL, BB_UNSUPPORTED,
               "kernel %s does not bind with integers that were made up for %s, below any extent "
               "or all 0",
               self->program->name, name);
done:
    return status;
}

static bb_status take_data(bb_caller_subject *self, const bb_program_data *data)
{
    bb_status status = BB_OK;
    BB_REQUIRE(self->program->object_count <= BB_TRIAL_OBJECTS, BB_INVALID,
               "kernel %s has %d objects, expected at most %d of one that is tuned",
               self->program->name, self->program->object_count, BB_TRIAL_OBJECTS);
    self->has_elements = false;
    for (int i = 0; i < self->program->object_count; ++i) {
        self->data[i] = data[i];
        self->has_elements = self->has_elements || data[i].elements != NULL;
    }
    BB_TRY(bb_caller_elements_find_ranges(self->program, self->is_range));
    BB_TRY(check_ranges(self));
done:
    return status;
}

bb_status bb_caller_subject_create(const bb_program *program, const char *name,
                                   const bb_program_data *data, const bb_scalar *parameters,
                                   bb_problems *problems, bb_caller_subject **out)
{
    bb_status status = BB_OK;
    bb_caller_subject *made = NULL;
    bb_binding set = {.program = NULL};
    BB_TRY(BB_ZEROED(1, &made));
    made->program = program;
    made->name = name;
    BB_TRY(take_data(made, data));
    BB_TRY(bind(made, parameters, problems, &set));
    if (problems->count > 0) {
        goto done;
    }
    BB_REQUIRE(set.ranges[0] > 0 && set.ranges[1] > 0, BB_INVALID,
               "kernel %s has no points at these sizes", program->name);
    BB_TRY(bb_caller_shapes_find(&set, parameters, made->is_range, made->limits, made->shapes,
                                 &made->shape_count));
    made->table = (bb_tuning_subject){.program = program,
                                      .parameters = parameters,
                                      .context = made,
                                      .shape_count = made->shape_count,
                                      .set_count = 1,
                                      .make_shape = make_shape,
                                      .size_set = size_set,
                                      .fill_set = fill_set};
    *out = made;
    made = NULL;
done:
    bb_binding_release(&set);
    bb_caller_subject_destroy(&made);
    return status;
}

void bb_caller_subject_destroy(bb_caller_subject **subject)
{
    BB_RELEASE(subject);
}

const bb_tuning_subject *bb_caller_subject_table(const bb_caller_subject *subject)
{
    return &subject->table;
}

const char *bb_caller_subject_stand_in(const bb_caller_subject *subject, bb_index *limit)
{
    for (int i = 0; i < subject->program->object_count && !subject->has_elements; ++i) {
        const bb_program_object *object = &subject->program->objects[i];
        if (object->type == BB_ELEMENT_INT32 && object->is_read) {
            *limit = subject->limits.index;
            return object->name;
        }
    }
    return NULL;
}
