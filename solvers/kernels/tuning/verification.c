// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/verification.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const bb_trial_names[] = {"right", "best", "slow",  "compile",
                                      "limit", "run",  "wrong", NULL};

enum { GUARD_BYTES = 256, GUARD = 0xFF };

struct bb_verification {
    const bb_program *program;
    bb_verification_case *cases; // [count]
    int count;
};

bool bb_trial_is_failure(bb_status status, bb_trial *out)
{
    switch (status) {
    case BB_INTERNAL:
    case BB_INVALID:
        out->status = BB_TRIAL_COMPILE;
        break;
    case BB_UNSUPPORTED:
        out->status = BB_TRIAL_LIMIT;
        break;
    case BB_DEVICE:
        out->status = BB_TRIAL_RUN;
        break;
    default:
        return false;
    }
    (void)snprintf(out->why, sizeof out->why, "%s", bb_status_message());
    return true;
}

bb_status bb_verification_create(const bb_tuning_subject *subject, bb_verification **out)
{
    bb_status status = BB_OK;
    bb_verification *made = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    made->program = subject->program;
    BB_TRY(BB_ZEROED(subject->shape_count, &made->cases));
    for (; made->count < subject->shape_count; ++made->count) {
        bb_verification_case *item = &made->cases[made->count];
        status = bb_verification_case_create(subject, made->count, item);
        if (status != BB_OK) {
            bb_verification_case_release(item);
        }
        BB_TRY(status);
    }
    *out = made;
    made = NULL;
done:
    bb_verification_destroy(&made);
    return status;
}

void bb_verification_destroy(bb_verification **verification)
{
    bb_verification *self = *verification;
    if (self == NULL) {
        return;
    }
    for (int i = 0; i < self->count; ++i) {
        bb_verification_case_release(&self->cases[i]);
    }
    BB_RELEASE(&self->cases);
    BB_RELEASE(verification);
}

static bool is_same(bb_scalar got, bb_scalar expected)
{
    bool same = got.integer == expected.integer;
    for (int k = 0; k < 2; ++k) {
        const double x = got.parts[k];
        const double y = expected.parts[k];
        same = same && ((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y)));
    }
    return same;
}

bool bb_verification_equal(bb_element_type type, const void *got, const void *expected,
                           bb_index count, bb_index *first)
{
    const size_t bytes = bb_element_type_row(type)->bytes;
    if (count == 0 || memcmp(got, expected, bytes * (size_t)count) == 0) {
        return true;
    }
    for (bb_index i = 0; i < count; ++i) {
        if (!is_same(bb_evaluation_load(type, got, i), bb_evaluation_load(type, expected, i))) {
            *first = i;
            return false;
        }
    }
    return true;
}

// An object in device memory with its guard bytes.
typedef struct guarded {
    void *block;
    unsigned char *image; ///< guard bytes and elements on the host
    size_t front, bytes, whole;
} guarded;

// Starting inside a block needs addresses, which OpenCL does not have.
static void *address_of(const guarded *memory)
{
    return memory->front == 0 ? memory->block : (unsigned char *)memory->block + memory->front;
}

static bb_status place(bb_device *device, size_t bytes, const void *elements, guarded *out)
{
    bb_status status = BB_OK;
    out->front = bb_device_kind_of(device) == BB_DEVICE_OPENCL ? 0 : GUARD_BYTES;
    out->bytes = bytes;
    out->whole = out->front + bytes + GUARD_BYTES;
    BB_TRY(BB_ALLOCATE((bb_index)out->whole, &out->image));
    memset(out->image, GUARD, out->whole);
    if (bytes > 0) {
        memcpy(out->image + out->front, elements, bytes);
    }
    BB_TRY(bb_device_allocate(device, out->whole, &out->block));
    BB_TRY(bb_device_upload(device, out->block, out->image, out->whole));
done:
    return status;
}

static bool is_guarded(const guarded *memory)
{
    for (size_t i = 0; i < memory->whole; ++i) {
        if ((i < memory->front || i >= memory->front + memory->bytes) &&
            memory->image[i] != GUARD) {
            return false;
        }
    }
    return true;
}

static void check_object(const bb_verification_case *item, const bb_program_object *object,
                         int number, const guarded *memory, const bb_verification_answer *answer,
                         bb_trial *out)
{
    const bb_program_data *data = &item->shape.objects[number];
    const void *expected = object->is_written ? answer->elements[number] : data->elements;
    const unsigned char *got = memory->image + memory->front;
    bb_index first = 0;
    if (!is_guarded(memory)) {
        out->status = BB_TRIAL_WRONG;
        (void)snprintf(out->why, sizeof out->why, "%s: writes outside %s", item->shape.name,
                       object->name);
    } else if (!bb_verification_equal(object->type, got, expected, data->columns * data->rows,
                                      &first)) {
        const bb_scalar x = bb_evaluation_load(object->type, got, first);
        const bb_scalar y = bb_evaluation_load(object->type, expected, first);
        out->status = BB_TRIAL_WRONG;
        (void)snprintf(out->why, sizeof out->why,
                       "%s: %s[%td] is %.17g (%lld), expected %.17g (%lld)", item->shape.name,
                       object->name, first, x.parts[0], (long long)x.integer, y.parts[0],
                       (long long)y.integer);
    }
}

static bb_status compute(const bb_verification *self, bb_device *device,
                         bb_assembled_kernel *kernel, const bb_verification_case *item,
                         const bb_verification_answer *answer, bb_trial *out)
{
    bb_status status = BB_OK;
    const bb_program *program = self->program;
    guarded memory[BB_TRIAL_OBJECTS] = {{NULL, NULL, 0, 0, 0}};
    void *blocks[BB_TRIAL_OBJECTS];
    for (int i = 0; i < program->object_count; ++i) {
        BB_TRY(place(device, bb_trial_data_object_bytes(program, &item->shape, i),
                     item->shape.objects[i].elements, &memory[i]));
        blocks[i] = address_of(&memory[i]);
    }
    BB_TRY(bb_assembled_kernel_launch(kernel, &item->binding, blocks));
    for (int i = 0; i < program->object_count && out->status == BB_TRIAL_RIGHT; ++i) {
        BB_TRY(bb_device_download(device, memory[i].image, memory[i].block, memory[i].whole));
        check_object(item, &program->objects[i], i, &memory[i], answer, out);
    }
    BB_TRY(bb_device_wait(device));
done:
    for (int i = 0; i < program->object_count; ++i) {
        bb_device_release(device, &memory[i].block);
        BB_RELEASE(&memory[i].image);
    }
    return status;
}

static bb_status check_case(const bb_verification *self, bb_device *device, const bb_choice *choice,
                            const bool *is_inside, bb_assembled_kernel *kernel,
                            bb_verification_case *item, bb_trial *out)
{
    bb_status status = BB_OK;
    bb_assembled_kernel *edge_kernel = NULL;
    const bb_verification_answer *answer = NULL;
    BB_TRY(bb_verification_case_answer(item, self->program, choice, &answer));
    if (!answer->is_bounded) {
        out->status = BB_TRIAL_WRONG;
        (void)snprintf(out->why, sizeof out->why,
                       "%s: sums in this order exceed the rounding bound", item->shape.name);
        goto done;
    }
    if (bb_binding_find_outside(&item->binding, is_inside) < self->program->step_count) {
        BB_TRY(bb_assembled_kernel_create(device, self->program, item->binding.is_inside, choice,
                                          &edge_kernel));
        kernel = edge_kernel;
    }
    BB_TRY(compute(self, device, kernel, item, answer, out));
done:
    bb_assembled_kernel_destroy(&edge_kernel);
    return status;
}

bb_status bb_verification_check(bb_verification *verification, bb_device *device,
                                const bb_choice *choice, const bool *is_inside,
                                bb_assembled_kernel *kernel, bb_trial *out)
{
    bb_status status = BB_OK;
    *out = (bb_trial){.status = BB_TRIAL_RIGHT};
    for (int i = 0; i < verification->count && out->status == BB_TRIAL_RIGHT; ++i) {
        status = check_case(verification, device, choice, is_inside, kernel,
                            &verification->cases[i], out);
        if (status != BB_OK && bb_trial_is_failure(status, out)) {
            status = BB_OK;
        }
        BB_TRY(status);
    }
done:
    return status;
}

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

static void make_absolute(bb_element_type type, void *elements, bb_index count)
{
    for (bb_index k = 0; k < count && bb_element_type_row(type)->is_float; ++k) {
        bb_scalar value = bb_evaluation_load(type, elements, k);
        value.parts[0] = fabs(value.parts[0]);
        value.parts[1] = fabs(value.parts[1]);
        bb_evaluation_store(type, elements, k, value);
    }
}

// Evaluates copies of the data, or of their absolute values, and stores the written objects.
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
            make_absolute(program->objects[i].type, copies[i].elements, elements);
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

// Upper bound of the number of additions on the path of one term.
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
    // Two more roundings: of the product, and of values computed from the sum.
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

// Compares a result in another order with that in the program's order.
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
