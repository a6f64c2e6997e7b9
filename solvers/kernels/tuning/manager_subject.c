// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/manager_subject.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

enum { LONG_ROW = 301, SHAPES = BB_TRIAL_SHAPES + 1 };

struct bb_manager_subject {
    const bb_kernel_manager *manager;
    bb_description description;
    bb_program program;
    bb_tuning_subject table;
};

// Number of distinct extents of a set larger than `extent`.
static int rank_of(const bb_benchmark_set *set, bb_index extent)
{
    bb_index larger[2 * BB_MANAGER_OBJECTS];
    int count = 0;
    for (int i = 0; i < 2 * BB_MANAGER_OBJECTS; ++i) {
        const bb_benchmark_object *object = &set->objects[i / 2];
        const bb_index other = i % 2 == 0 ? object->columns : object->rows;
        bool is_new = other > extent;
        for (int k = 0; k < count; ++k) {
            is_new = is_new && larger[k] != other;
        }
        if (is_new) {
            larger[count++] = other;
        }
    }
    return count;
}

static bb_index replaced(const bb_benchmark_set *odd, const bb_index *shape, bb_index extent)
{
    const int rank = rank_of(odd, extent);
    return extent == 1 || rank >= BB_TRIAL_EXTENTS ? extent : shape[rank];
}

// Rows of 0 to 12 elements cyclically, and one long row.
static bb_index row_elements(bb_index row)
{
    return row == 2 ? LONG_ROW : (row * 7 + 3) % 13;
}

// Extents of sparse rows follow from the contents of the rows.
static bb_index sparse_extent(const char *name, bb_index rows)
{
    bb_index elements = 0;
    for (bb_index row = 0; row < rows; ++row) {
        elements += row_elements(row);
    }
    return strcmp(name, "row_start") == 0                              ? rows + 1
           : strcmp(name, "column") == 0 || strcmp(name, "value") == 0 ? elements
           : strcmp(name, "x") == 0                                    ? LONG_ROW + 5
                                                                       : rows;
}

static void fill_sparse(const bb_program *program, const bb_program_data *data, bb_index rows)
{
    for (int i = 0; i < program->object_count; ++i) {
        int32_t *elements = data[i].elements;
        bb_index sum = 0;
        if (strcmp(program->objects[i].name, "row_start") == 0) {
            for (bb_index row = 0; row <= rows; ++row) {
                elements[row] = (int32_t)sum;
                sum += row_elements(row);
            }
        } else if (strcmp(program->objects[i].name, "column") == 0) {
            for (bb_index k = 0; k < data[i].columns; ++k) {
                elements[k] = (int32_t)(k * 7 % (LONG_ROW + 5));
            }
        }
    }
}

// Every set of a manager has all objects of its kernel; bb_manager_subject_create has checked that.
static void set_sizes(const bb_program *program, const bb_benchmark_set *set, bb_trial_data *out)
{
    (void)snprintf(out->name, sizeof out->name, "%s", set->name);
    out->count = program->object_count;
    for (int i = 0; i < program->object_count; ++i) {
        const bb_benchmark_object *object = bb_kernel_manager_object(set, program->objects[i].name);
        out->objects[i] = (bb_program_data){.columns = object->columns, .rows = object->rows};
    }
}

static bb_status create_shape(const bb_tuning_subject *subject, int number, bb_trial_data *out)
{
    bb_status status = BB_OK;
    const bb_manager_subject *self = subject->context;
    const bb_program *program = &self->program;
    const bb_benchmark_set *odd = &self->manager->sets[BB_BENCHMARK_ODD];
    const bb_index *shape = number == 0 ? NULL : bb_trial_shapes[number - 1];
    const bool is_sparse = shape != NULL && odd->sparsity != BB_SPARSITY_NONE;
    bb_benchmark_set plain = shape != NULL ? *odd : self->manager->sets[BB_BENCHMARK_SMALL];
    set_sizes(program, &plain, out);
    for (int i = 0; i < program->object_count && shape != NULL; ++i) {
        bb_program_data *object = &out->objects[i];
        object->columns = is_sparse ? sparse_extent(program->objects[i].name, shape[0] / 4 + 1)
                                    : replaced(odd, shape, object->columns);
        object->rows = is_sparse ? object->rows : replaced(odd, shape, object->rows);
    }
    BB_TRY(bb_trial_data_allocate(program, out));
    if (shape != NULL) {
        plain.sparsity = BB_SPARSITY_NONE;
        (void)snprintf(out->name, sizeof out->name, "%td x %td x %td", shape[0], shape[1],
                       shape[2]);
    }
    bb_kernel_manager_fill(program, &plain, out->objects);
    if (is_sparse) {
        fill_sparse(program, out->objects, shape[0] / 4 + 1);
    }
done:
    return status;
}

static void size_set(const bb_tuning_subject *subject, int number, bb_trial_data *out)
{
    const bb_manager_subject *self = subject->context;
    set_sizes(&self->program, &self->manager->sets[number], out);
}

static bb_status fill_set(const bb_tuning_subject *subject, int number, bb_trial_data *data)
{
    const bb_manager_subject *self = subject->context;
    bb_kernel_manager_fill(&self->program, &self->manager->sets[number], data->objects);
    return BB_OK;
}

static bb_status check_sets(const bb_manager_subject *subject)
{
    bb_status status = BB_OK;
    const bb_program *program = &subject->program;
    BB_REQUIRE(program->object_count <= BB_MANAGER_OBJECTS &&
                   program->parameter_count <= BB_MANAGER_PARAMETERS,
               BB_INTERNAL, "kernel %s has too many objects", program->name);
    for (int i = 0; i < BB_BENCHMARK_COUNT * program->object_count; ++i) {
        const bb_benchmark_set *set = &subject->manager->sets[i % BB_BENCHMARK_COUNT];
        const char *name = program->objects[i / BB_BENCHMARK_COUNT].name;
        BB_REQUIRE(bb_kernel_manager_object(set, name) != NULL, BB_INTERNAL,
                   "set %s has no object %s", set->name, name);
    }
done:
    return status;
}

bb_status bb_manager_subject_create(const bb_kernel_manager *manager, const char *type,
                                    bb_manager_subject **out)
{
    bb_status status = BB_OK;
    bb_manager_subject *made = NULL;
    bb_type_binding types[BB_MANAGER_TYPES];
    const int count = bb_kernel_manager_types(manager, type, types);
    BB_TRY(BB_ZEROED(1, &made));
    made->manager = manager;
    BB_TRY(bb_kernel_manager_read(manager->file, manager->name, types, count, &made->description,
                                  &made->program));
    BB_TRY(check_sets(made));
    made->table = (bb_tuning_subject){.program = &made->program,
                                      .parameters = bb_kernel_manager_parameters,
                                      .context = made,
                                      .shape_count = SHAPES,
                                      .set_count = BB_BENCHMARK_COUNT,
                                      .make_shape = create_shape,
                                      .size_set = size_set,
                                      .fill_set = fill_set};
    *out = made;
    made = NULL;
done:
    bb_manager_subject_destroy(&made);
    return status;
}

void bb_manager_subject_destroy(bb_manager_subject **subject)
{
    bb_manager_subject *self = *subject;
    if (self == NULL) {
        return;
    }
    bb_program_release(&self->program);
    bb_description_release(&self->description);
    BB_RELEASE(subject);
}

const bb_tuning_subject *bb_manager_subject_table(const bb_manager_subject *subject)
{
    return &subject->table;
}

const bb_description *bb_manager_subject_description(const bb_manager_subject *subject)
{
    return &subject->description;
}
