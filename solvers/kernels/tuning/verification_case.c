// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/verification_case.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

enum { SPECIAL_EVERY = 11 };

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

bb_status bb_verification_case_create(const bb_tuning_subject *subject, int number,
                                      bb_verification_case *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    const bb_program *program = subject->program;
    BB_TRY(subject->make_shape(subject, number, &out->shape));
    out->has_specials = number % 2 == 0 && number > 0;
    if (out->has_specials) {
        add_specials(program, out->shape.objects);
    }
    BB_TRY(bb_binding_create(program, out->shape.objects, subject->parameters, &problems,
                             &out->binding));
    BB_REQUIRE(problems.count == 0, BB_INTERNAL, "shape %s: %s", out->shape.name,
               bb_text_string(&problems.lines));
done:
    bb_problems_release(&problems);
    return status;
}

static void release_answer(bb_verification_answer **answer)
{
    for (int i = 0; *answer != NULL && i < BB_TRIAL_OBJECTS; ++i) {
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
    bb_trial_data_release(&item->shape);
    *item = (bb_verification_case){.answer_count = 0};
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
    bb_program_data copies[BB_TRIAL_OBJECTS] = {{0}};
    bb_binding binding = item->binding;
    BB_TRY(bb_choice_apply(choice, program, &ordered));
    for (int i = 0; i < item->shape.count; ++i) {
        const bb_index elements = item->shape.objects[i].columns * item->shape.objects[i].rows;
        copies[i] = item->shape.objects[i];
        copies[i].elements = NULL;
        BB_TRY(bb_memory_allocate(elements, bb_element_type_row(program->objects[i].type)->bytes,
                                  &copies[i].elements));
        if (elements > 0) {
            memcpy(copies[i].elements, item->shape.objects[i].elements,
                   bb_trial_data_object_bytes(program, &item->shape, i));
        }
        if (absolute) {
            take_absolute(program->objects[i].type, copies[i].elements, elements);
        }
    }
    binding.program = &ordered;
    binding.data = copies;
    BB_TRY(bb_evaluation_run(&binding));
    for (int i = 0; i < item->shape.count; ++i) {
        if (program->objects[i].is_written) {
            out->elements[i] = copies[i].elements;
            copies[i].elements = NULL;
        }
    }
done:
    for (int i = 0; i < item->shape.count; ++i) {
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
    for (int i = 0; i < item->shape.count; ++i) {
        terms = fmax(terms,
                     (double)item->shape.objects[i].columns * (double)item->shape.objects[i].rows);
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
    const bb_index count = item->shape.objects[object].columns * item->shape.objects[object].rows;
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
    for (int i = 0; i < item->shape.count; ++i) {
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
