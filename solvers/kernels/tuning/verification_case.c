// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/verification_case.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHAPE_EXTENTS = 4, LONG_ROW = 301, SPECIAL_EVERY = 11 };

// Extents that take the places of those of the odd set, the largest first: 1; primes; one less and
// one more than work-groups and tiles; beyond a chunk of a sum, in each direction.
static const bb_index shapes[][SHAPE_EXTENTS] = {
    {1, 1, 1, 1},     {131, 7, 3, 2},  {63, 65, 5, 3},  {257, 3, 33, 2},
    {1027, 17, 5, 3}, {8209, 2, 3, 2}, {2, 8209, 3, 2}, {20011, 3, 1, 1},
};
_Static_assert(sizeof shapes / sizeof shapes[0] + 1 == BB_VERIFICATION_CASES, "and small");

size_t bb_verification_case_bytes(const bb_verification_case *item, const bb_program *program,
                                  int object)
{
    return bb_element_type_row(program->objects[object].type)->bytes *
           (size_t)(item->data[object].columns * item->data[object].rows);
}

// How many extents of a set are larger than `extent`, each counted once.
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
    return extent == 1 || rank >= SHAPE_EXTENTS ? extent : shape[rank];
}

// Rows of 0 to 12 elements by turns, and one long one.
static bb_index row_elements(bb_index row)
{
    return row == 2 ? LONG_ROW : (row * 7 + 3) % 13;
}

// Extents of sparse rows follow from what the rows hold.
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

static void add_specials(const bb_program *program, const bb_program_data *data)
{
    static const double specials[] = {NAN, -0.0, INFINITY, 0.0, -INFINITY, 1e-310, 3e38};
    enum { SPECIALS = sizeof specials / sizeof specials[0] };
    for (int i = 0; i < program->object_count; ++i) {
        const bb_element_type type = program->objects[i].type;
        const bb_index count = data[i].columns * data[i].rows;
        for (bb_index k = 3 + i; k < count && bb_element_type_row(type)->is_float;
             k += SPECIAL_EVERY) {
            const double number = specials[k / SPECIAL_EVERY % SPECIALS];
            bb_evaluation_store(type, data[i].elements, k, (bb_scalar){{number, number}, 0});
        }
    }
}

static bb_status allocate(const bb_program *program, const bb_benchmark_set *set,
                          const bb_benchmark_set *odd, const bb_index *shape,
                          bb_verification_case *out)
{
    bb_status status = BB_OK;
    out->count = program->object_count;
    for (int i = 0; i < program->object_count; ++i) {
        const char *name = program->objects[i].name;
        const bb_benchmark_object *object = bb_kernel_manager_object(set, name);
        bb_program_data *data = &out->data[i];
        BB_REQUIRE(object != NULL, BB_INTERNAL, "set %s has no object %s", set->name, name);
        *data = (bb_program_data){.columns = object->columns, .rows = object->rows};
        if (shape != NULL && odd->sparsity != BB_SPARSITY_NONE) {
            data->columns = sparse_extent(name, shape[0] / 4 + 1);
        } else if (shape != NULL) {
            data->columns = replaced(odd, shape, object->columns);
            data->rows = replaced(odd, shape, object->rows);
        }
        BB_TRY(bb_memory_zeroed(data->columns * data->rows,
                                bb_element_type_row(program->objects[i].type)->bytes,
                                &data->elements));
    }
done:
    return status;
}

bb_status bb_verification_case_create(const bb_kernel_manager *manager, const bb_program *program,
                                      int number, bb_verification_case *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    const bb_benchmark_set *odd = &manager->sets[BB_BENCHMARK_ODD];
    const bb_benchmark_set *set = number == 0 ? &manager->sets[BB_BENCHMARK_SMALL] : odd;
    const bb_index *shape = number == 0 ? NULL : shapes[number - 1];
    bb_benchmark_set plain = *set;
    BB_REQUIRE(program->object_count <= BB_MANAGER_OBJECTS &&
                   program->parameter_count <= BB_MANAGER_PARAMETERS,
               BB_INTERNAL, "kernel %s has too many objects", program->name);
    BB_TRY(allocate(program, set, odd, shape, out));
    if (shape != NULL) {
        plain.sparsity = BB_SPARSITY_NONE;
        (void)snprintf(out->name, sizeof out->name, "%td x %td x %td", shape[0], shape[1],
                       shape[2]);
    } else {
        (void)snprintf(out->name, sizeof out->name, "%s", set->name);
    }
    bb_kernel_manager_fill(program, &plain, out->data);
    if (shape != NULL && odd->sparsity != BB_SPARSITY_NONE) {
        fill_sparse(program, out->data, shape[0] / 4 + 1);
    }
    out->has_specials = number % 2 == 0 && number > 0;
    if (out->has_specials) {
        add_specials(program, out->data);
    }
    BB_TRY(bb_binding_create(program, out->data, bb_kernel_manager_parameters, &problems,
                             &out->binding));
    BB_REQUIRE(problems.count == 0, BB_INTERNAL, "shape %s: %s", out->name,
               bb_text_string(&problems.lines));
done:
    bb_problems_release(&problems);
    return status;
}

static void release_answer(bb_verification_answer **answer)
{
    for (int i = 0; *answer != NULL && i < BB_MANAGER_OBJECTS; ++i) {
        BB_RELEASE(&(*answer)->elements[i]);
    }
    BB_RELEASE(answer);
}

void bb_verification_case_release(bb_verification_case *item)
{
    for (int i = 0; i < item->answer_count; ++i) {
        release_answer(&item->answers[i]);
    }
    BB_RELEASE(&item->answers);
    bb_binding_release(&item->binding);
    for (int i = 0; i < item->count; ++i) {
        BB_RELEASE(&item->data[i].elements);
    }
    *item = (bb_verification_case){.count = 0};
}

static void take_absolute(bb_element_type type, void *elements, bb_index count)
{
    for (bb_index k = 0; k < count && bb_element_type_row(type)->is_float; ++k) {
        bb_scalar value = bb_evaluation_load(type, elements, k);
        value.parts[0] = fabs(value.parts[0]);
        value.parts[1] = fabs(value.parts[1]);
        bb_evaluation_store(type, elements, k, value);
    }
}

// Evaluates copies of the data, or of their absolute values, and keeps what was written.
static bb_status evaluate(const bb_verification_case *item, const bb_program *program,
                          const bb_choice *choice, bool absolute, bb_verification_answer *out)
{
    bb_status status = BB_OK;
    bb_program ordered = {.name = NULL};
    bb_program_data copies[BB_MANAGER_OBJECTS] = {{0}};
    bb_binding binding = item->binding;
    BB_TRY(bb_choice_apply(choice, program, &ordered));
    for (int i = 0; i < item->count; ++i) {
        const bb_index elements = item->data[i].columns * item->data[i].rows;
        copies[i] = item->data[i];
        copies[i].elements = NULL;
        BB_TRY(bb_memory_allocate(elements, bb_element_type_row(program->objects[i].type)->bytes,
                                  &copies[i].elements));
        if (elements > 0) {
            memcpy(copies[i].elements, item->data[i].elements,
                   bb_verification_case_bytes(item, program, i));
        }
        if (absolute) {
            take_absolute(program->objects[i].type, copies[i].elements, elements);
        }
    }
    binding.program = &ordered;
    binding.data = copies;
    BB_TRY(bb_evaluation_run(&binding));
    for (int i = 0; i < item->count; ++i) {
        if (program->objects[i].is_written) {
            out->elements[i] = copies[i].elements;
            copies[i].elements = NULL;
        }
    }
done:
    for (int i = 0; i < item->count; ++i) {
        BB_RELEASE(&copies[i].elements);
    }
    bb_choice_release_program(&ordered);
    return status;
}

// Additions that a term passes on its way, at most.
static double additions(bb_reduction_order order, double terms)
{
    const double chunk = order.chunk > 0 ? fmin((double)order.chunk, terms) : terms;
    const double here = ceil(chunk / (double)order.lanes) + log2((double)order.lanes);
    return chunk < terms ? here + additions(order, ceil(terms / chunk)) : here;
}

static const bb_reduction *longest_sum(const bb_program *program)
{
    const bb_reduction *found = &program->reduction;
    for (int i = 0; i < program->iterator_count && !program->has_reduction; ++i) {
        found = i == 0 || program->iterators[i].reduction.order.lanes > found->order.lanes
                    ? &program->iterators[i].reduction
                    : found;
    }
    return found;
}

static double sum_bound(const bb_verification_case *item, const bb_program *program,
                        bb_reduction_order order, bb_element_type type)
{
    const double unit = bb_element_type_row(type)->part == BB_ELEMENT_SP ? 0x1p-24 : 0x1p-53;
    double terms = 1.0;
    for (int i = 0; i < item->count; ++i) {
        terms = fmax(terms, (double)item->data[i].columns * (double)item->data[i].rows);
    }
    // Two roundings more: of the product, and of what is made of the sum.
    const double own = additions(longest_sum(program)->order, terms) + 2.0;
    const double other = additions(order, terms) + 2.0;
    return own * unit / (1.0 - own * unit) + other * unit / (1.0 - other * unit);
}

static bool is_close(const bb_verification_case *item, const bb_program *program, int object,
                     const bb_verification_answer *const answers[3], double bound)
{
    const bb_element_type type = program->objects[object].type;
    const bb_index count = item->data[object].columns * item->data[object].rows;
    for (bb_index k = 0; k < count; ++k) {
        const bb_scalar x = bb_evaluation_load(type, answers[0]->elements[object], k);
        const bb_scalar y = bb_evaluation_load(type, answers[1]->elements[object], k);
        const bb_scalar size = bb_evaluation_load(type, answers[2]->elements[object], k);
        for (int part = 0; part < 2; ++part) {
            const double limit = bound * hypot(size.parts[0], size.parts[1]);
            if (!(fabs(x.parts[part] - y.parts[part]) <= limit)) {
                return false;
            }
        }
    }
    return true;
}

// Holds an answer in another order to the program's.
static bb_status bound_answer(bb_verification_case *item, const bb_program *program,
                              const bb_choice *choice, bb_verification_answer *answer)
{
    bb_status status = BB_OK;
    const bb_choice plain = {.points = 1};
    const bb_verification_answer *program_answer = NULL;
    bb_verification_answer *size = NULL;
    answer->is_bounded = true;
    if (choice->order.lanes == 0 || item->has_specials) {
        goto done;
    }
    BB_TRY(bb_verification_case_answer(item, program, &plain, &program_answer));
    BB_TRY(BB_ZEROED(1, &size));
    BB_TRY(evaluate(item, program, &plain, true, size));
    const bb_verification_answer *const answers[3] = {answer, program_answer, size};
    for (int i = 0; i < item->count; ++i) {
        if (program->objects[i].is_written) {
            const double bound = sum_bound(item, program, choice->order, program->objects[i].type);
            answer->is_bounded = answer->is_bounded && is_close(item, program, i, answers, bound);
        }
    }
done:
    release_answer(&size);
    return status;
}

bb_status bb_verification_case_answer(bb_verification_case *item, const bb_program *program,
                                      const bb_choice *choice, const bb_verification_answer **out)
{
    bb_status status = BB_OK;
    bb_verification_answer *made = NULL;
    for (int i = 0; i < item->answer_count; ++i) {
        if (item->answers[i]->order.lanes == choice->order.lanes &&
            item->answers[i]->order.chunk == choice->order.chunk) {
            *out = item->answers[i];
            goto done;
        }
    }
    BB_TRY(BB_ZEROED(1, &made));
    made->order = choice->order;
    BB_TRY(evaluate(item, program, choice, false, made));
    BB_TRY(bound_answer(item, program, choice, made));
    BB_TRY(bb_memory_resize(item->answer_count + 1, sizeof(bb_verification_answer *),
                            (void **)&item->answers));
    item->answers[item->answer_count++] = made;
    *out = made;
    made = NULL;
done:
    release_answer(&made);
    return status;
}
