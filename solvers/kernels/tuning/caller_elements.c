// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/caller_elements.h"

#include "core/memory.h"
#include "solvers/kernels/program/evaluation.h"
#include "solvers/kernels/tuning/trial_data.h"

enum { MOST_LIMITS = 12, OBJECT_STRIDE = 7919, ROW_PERIOD = 4 };

// Marks the objects that a value is read from; a value is looked at once.
static void mark(const bb_program *program, int number, bool *is_seen, bool *is_range)
{
    const bb_value *value = &program->values[number];
    if (is_seen[number]) {
        return;
    }
    is_seen[number] = true;
    if (value->kind == BB_VALUE_READ) {
        is_range[program->steps[value->owner].object] = true;
    } else if (value->kind == BB_VALUE_FUNCTION) {
        const bb_step *step = &program->steps[value->owner];
        for (int i = 0; i < step->expression.inputs; ++i) {
            mark(program, step->inputs[i], is_seen, is_range);
        }
    } else if (value->kind == BB_VALUE_REDUCTION && value->owner >= 0) {
        const bb_reduction *reduction = &program->iterators[value->owner].reduction;
        for (int i = 0; i < reduction->count; ++i) {
            mark(program, reduction->inputs[i], is_seen, is_range);
        }
    }
}

bb_status bb_caller_elements_find_ranges(const bb_program *program, bool *is_range)
{
    bb_status status = BB_OK;
    bool *is_seen = NULL;
    BB_TRY(BB_ZEROED(program->value_count + 1, &is_seen));
    for (int i = 0; i < program->object_count; ++i) {
        is_range[i] = false;
    }
    for (int i = 0; i < program->iterator_count; ++i) {
        const bb_iteration_space *space = &program->iterators[i].space;
        for (int k = 0; k < space->dimensions; ++k) {
            mark(program, space->ranges[k], is_seen, is_range);
        }
    }
done:
    BB_RELEASE(&is_seen);
    return status;
}

static uint32_t hash_of(int object, bb_index index)
{
    return ((uint32_t)index + (uint32_t)object * OBJECT_STRIDE) * 2654435761U >> 8;
}

// In [-1, 1), another one for each object, so that differences of objects are not 0.
static inline double number_at(int object, bb_index index)
{
    return (double)hash_of(object, index) * 0x1p-23 - 1.0;
}

// Rises from 0 to `range`; of four steps two are 0, as empty rows.
static int32_t rising_at(bb_index index, bb_index count, bb_index range)
{
    const bb_index place =
        index % ROW_PERIOD < 3 && index + 1 < count ? index - index % ROW_PERIOD : index;
    return count < 2 ? 0 : (int32_t)((double)range * (double)place / (double)(count - 1));
}

static void fill_integers(const bool *is_range, bb_caller_limits limits, int object, bb_index count,
                          int32_t *elements)
{
    for (bb_index k = 0; k < count; ++k) {
        elements[k] = is_range[object] ? rising_at(k, count, limits.range)
                                       : (int32_t)((bb_index)hash_of(object, k) % limits.index);
    }
}

void bb_caller_elements_fill(const bb_program *program, const bool *is_range,
                             bb_caller_limits limits, int object, const bb_program_data *data)
{
    const bb_element_type type = program->objects[object].type;
    const bb_index count = data->columns * data->rows;
    if (type == BB_ELEMENT_INT32) {
        fill_integers(is_range, limits, object, count, data->elements);
        return;
    }
    for (bb_index k = 0; k < count && type == BB_ELEMENT_SP; ++k) {
        ((float *)data->elements)[k] = (float)number_at(object, k);
    }
    for (bb_index k = 0; k < count && type == BB_ELEMENT_DP; ++k) {
        ((double *)data->elements)[k] = number_at(object, k);
    }
    for (bb_index k = 0; k < count && type != BB_ELEMENT_SP && type != BB_ELEMENT_DP; ++k) {
        const double number = number_at(object, k);
        bb_evaluation_store(type, data->elements, k,
                            (bb_scalar){{number, -number}, hash_of(object, k) % 3 == 0});
    }
}

// Extents, the largest first, each once, then 1; returns how many.
static int list_limits(const bb_program *program, const bb_program_data *data,
                       bb_index out[MOST_LIMITS])
{
    int count = 0;
    bb_index below = INT32_MAX;
    while (count < MOST_LIMITS - 1) {
        bb_index largest = 1;
        for (int i = 0; i < 2 * program->object_count; ++i) {
            const bb_index extent = i % 2 == 0 ? data[i / 2].columns : data[i / 2].rows;
            largest = extent < below && extent > largest ? extent : largest;
        }
        if (largest == 1) {
            break;
        }
        out[count++] = largest;
        below = largest;
    }
    out[count++] = 1;
    return count;
}

// Room for the integers, which alone are looked at when a program is bound.
static bb_status allocate_integers(const bb_program *program, bb_program_data *data)
{
    bb_status status = BB_OK;
    for (int i = 0; i < program->object_count; ++i) {
        if (program->objects[i].type == BB_ELEMENT_INT32 && program->objects[i].is_read &&
            data[i].columns >= 0 && data[i].rows >= 0) {
            BB_TRY(bb_memory_allocate(data[i].columns * data[i].rows, sizeof(int32_t),
                                      &data[i].elements));
        }
    }
done:
    return status;
}

static bb_status try_limits(const bb_program *program, const bb_scalar *parameters,
                            const bool *is_range, const bb_program_data *data,
                            bb_caller_limits limits, bb_problems *problems, bb_binding *out)
{
    bb_status status = BB_OK;
    for (int i = 0; i < program->object_count; ++i) {
        if (data[i].elements != NULL) {
            bb_caller_elements_fill(program, is_range, limits, i, &data[i]);
        }
    }
    bb_problems_release(problems);
    BB_TRY(bb_binding_create(program, data, parameters, problems, out));
    for (int i = 0; i < program->object_count && problems->count == 0; ++i) {
        out->data[i].elements = NULL;
    }
done:
    return status;
}

bb_status bb_caller_elements_bind(const bb_program *program, const bb_scalar *parameters,
                                  const bool *is_range, const bb_program_data *data,
                                  bb_problems *problems, bb_caller_limits *limits, bb_binding *out)
{
    bb_status status = BB_OK;
    bb_program_data copies[BB_TRIAL_OBJECTS] = {{0}};
    bb_index list[MOST_LIMITS];
    bool has_indices = false;
    bool has_ranges = false;
    for (int i = 0; i < program->object_count; ++i) {
        copies[i] = (bb_program_data){.columns = data[i].columns, .rows = data[i].rows};
        const bool is_integer =
            program->objects[i].type == BB_ELEMENT_INT32 && program->objects[i].is_read;
        has_indices = has_indices || (is_integer && !is_range[i]);
        has_ranges = has_ranges || (is_integer && is_range[i]);
    }
    BB_TRY(allocate_integers(program, copies));
    const int count = list_limits(program, data, list);
    for (int r = has_ranges ? 0 : count - 1; r < count; ++r) {
        for (int i = has_indices ? 0 : count - 1; i < count; ++i) {
            *limits = (bb_caller_limits){.index = list[i], .range = list[r]};
            BB_TRY(try_limits(program, parameters, is_range, copies, *limits, problems, out));
            if (problems->count == 0) {
                goto done;
            }
        }
    }
done:
    for (int i = 0; i < program->object_count; ++i) {
        BB_RELEASE(&copies[i].elements);
    }
    return status;
}
