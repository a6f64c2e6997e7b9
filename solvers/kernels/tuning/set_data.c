// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/tuning/set_data.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 20 }; ///< elements that a thread compares at a time

static size_t bytes_of(const bb_set_data *set, int object)
{
    return bb_trial_data_object_bytes(set->program, &set->data, object);
}

static bool is_both(const bb_program_object *object)
{
    return object->is_read && object->is_written;
}

static bb_status upload(bb_set_data *set, int object)
{
    bb_status status = BB_OK;
    const size_t bytes = bytes_of(set, object);
    BB_TRY(bb_device_allocate(set->device, bytes > 0 ? bytes : 1, &set->blocks[object]));
    if (bytes > 0) {
        BB_TRY(bb_device_upload(set->device, set->blocks[object],
                                set->data.objects[object].elements, bytes));
        BB_TRY(bb_device_wait(set->device));
    }
    if (!is_both(&set->program->objects[object])) {
        BB_RELEASE(&set->data.objects[object].elements);
    }
done:
    return status;
}

bb_status bb_set_data_create(bb_device *device, const bb_tuning_subject *subject, int number,
                             bb_set_data *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    const bb_program *program = subject->program;
    size_t written_bytes = 0;
    out->device = device;
    out->program = program;
    subject->size_set(subject, number, &out->data);
    BB_TRY(bb_trial_data_allocate(program, &out->data));
    BB_TRY(subject->fill_set(subject, number, &out->data));
    BB_TRY(bb_binding_create(program, out->data.objects, subject->parameters, &problems,
                             &out->binding));
    BB_REQUIRE(problems.count == 0, BB_INTERNAL, "set %s: %s", out->data.name,
               bb_text_string(&problems.lines));
    for (int i = 0; i < program->object_count; ++i) {
        BB_TRY(upload(out, i));
        if (program->objects[i].is_written && bytes_of(out, i) > written_bytes) {
            written_bytes = bytes_of(out, i);
        }
    }
    BB_TRY(bb_device_host_allocate(device, written_bytes > 0 ? written_bytes : 1, &out->copy));
done:
    bb_problems_release(&problems);
    return status;
}

static void release_answer(bb_set_answer *answer)
{
    for (int i = 0; i < BB_TRIAL_OBJECTS; ++i) {
        BB_RELEASE(&answer->elements[i]);
    }
    *answer = (bb_set_answer){.is_there = false};
}

void bb_set_data_release(bb_set_data *set)
{
    for (int i = 0; i < BB_SET_ORDERS; ++i) {
        release_answer(&set->answers[i]);
    }
    for (int i = 0; set->device != NULL && i < BB_TRIAL_OBJECTS; ++i) {
        bb_device_release(set->device, &set->blocks[i]);
    }
    if (set->device != NULL) {
        bb_device_host_release(set->device, &set->copy);
    }
    bb_trial_data_release(&set->data);
    bb_binding_release(&set->binding);
    *set = (bb_set_data){.device = NULL};
}

// Restores the initial state: zeros for objects that are not read, otherwise the earlier contents.
static bb_status compute(bb_set_data *set, bb_assembled_kernel *kernel)
{
    bb_status status = BB_OK;
    for (int i = 0; i < set->program->object_count; ++i) {
        const bb_program_object *object = &set->program->objects[i];
        const size_t bytes = bytes_of(set, i);
        if (is_both(object) && bytes > 0) {
            BB_TRY(bb_device_upload(set->device, set->blocks[i], set->data.objects[i].elements,
                                    bytes));
        } else if (object->is_written && bytes > 0) {
            BB_TRY(bb_device_zero(set->device, set->blocks[i], bytes));
        }
    }
    BB_TRY(bb_assembled_kernel_launch(kernel, &set->binding, set->blocks));
    BB_TRY(bb_device_wait(set->device));
done:
    return status;
}

static bb_status download(bb_set_data *set, int object, void *out)
{
    const size_t bytes = bytes_of(set, object);
    return bytes > 0 ? bb_device_download(set->device, out, set->blocks[object], bytes) : BB_OK;
}

static bb_status find_answer(bb_set_data *set, const bb_choice *choice, bb_set_answer **out)
{
    bb_status status = BB_OK;
    bb_assembled_kernel *kernel = NULL;
    bb_set_answer *answer = NULL;
    bb_choice plain = bb_choice_default(bb_device_kind_of(set->device), set->program);
    for (int i = 0; i < BB_SET_ORDERS; ++i) {
        if (set->answers[i].is_there && set->answers[i].order.lanes == choice->order.lanes &&
            set->answers[i].order.chunk == choice->order.chunk) {
            *out = &set->answers[i];
            goto done;
        }
    }
    answer = &set->answers[set->next_answer];
    set->next_answer = (set->next_answer + 1) % BB_SET_ORDERS;
    release_answer(answer);
    plain.order = choice->order;
    if (choice->order.lanes > 0 && plain.group[0] > choice->order.lanes) {
        plain.group[0] = choice->order.lanes;
    }
    BB_TRY(bb_assembled_kernel_create(set->device, set->program, set->binding.is_inside, &plain,
                                      &kernel));
    BB_TRY(compute(set, kernel));
    for (int i = 0; i < set->program->object_count; ++i) {
        if (set->program->objects[i].is_written) {
            BB_TRY(bb_memory_allocate((bb_index)bytes_of(set, i), 1, &answer->elements[i]));
            BB_TRY(download(set, i, answer->elements[i]));
        }
    }
    answer->order = choice->order;
    answer->is_there = true;
    *out = answer;
done:
    if (status != BB_OK && answer != NULL) {
        release_answer(answer);
    }
    bb_assembled_kernel_destroy(&kernel);
    return status;
}

/// Comparison of an object as written by a variant with the expected contents.
typedef struct comparison {
    bb_element_type type;
    const unsigned char *got, *expected;
    bb_index *firsts; ///< [pieces] first element that differs, -1: none
} comparison;

static bb_status compare_piece(void *context, bb_index begin, bb_index end)
{
    const comparison *both = context;
    const size_t bytes = bb_element_type_row(both->type)->bytes;
    bb_index first = 0;
    const bool is_same =
        bb_verification_equal(both->type, both->got + bytes * (size_t)begin,
                              both->expected + bytes * (size_t)begin, end - begin, &first);
    both->firsts[begin / PIECE] = is_same ? -1 : begin + first;
    return BB_OK;
}

// Compares on all threads, because large sets have gigabytes. `first` is -1 if nothing differs.
static bb_status compare(bb_element_type type, const void *got, const void *expected,
                         bb_index count, bb_index *first)
{
    bb_status status = BB_OK;
    const bb_index pieces = (count + PIECE - 1) / PIECE;
    comparison both = {type, got, expected, NULL};
    *first = -1;
    BB_TRY(BB_ALLOCATE(pieces, &both.firsts));
    BB_TRY(bb_thread_ranges(count, PIECE, compare_piece, &both));
    for (bb_index i = 0; i < pieces && *first < 0; ++i) {
        *first = both.firsts[i];
    }
done:
    BB_RELEASE(&both.firsts);
    return status;
}

bb_status bb_set_data_check(bb_set_data *set, const bb_choice *choice, bb_assembled_kernel *kernel,
                            bb_trial *out)
{
    bb_status status = BB_OK;
    bb_set_answer *answer = NULL;
    BB_TRY(find_answer(set, choice, &answer));
    BB_TRY(compute(set, kernel));
    for (int i = 0; i < set->program->object_count && out->status == BB_TRIAL_RIGHT; ++i) {
        bb_index first = 0;
        const bb_program_object *object = &set->program->objects[i];
        if (!object->is_written) {
            continue;
        }
        BB_TRY(download(set, i, set->copy));
        BB_TRY(compare(object->type, set->copy, answer->elements[i],
                       set->data.objects[i].columns * set->data.objects[i].rows, &first));
        if (first >= 0) {
            out->status = BB_TRIAL_WRONG;
            (void)snprintf(out->why, sizeof out->why,
                           "%s[%td] differs from the default variant's result for this set",
                           object->name, first);
        }
    }
done:
    return status;
}

bb_status bb_set_data_time(bb_set_data *set, bb_assembled_kernel *kernel, int repeats,
                           double *seconds)
{
    bb_status status = BB_OK;
    const bool is_cpu = bb_device_kind_of(set->device) == BB_DEVICE_CPU;
    const double begin = bb_clock_seconds();
    if (!is_cpu) {
        BB_TRY(bb_device_timer_start(set->device));
    }
    for (int i = 0; i < repeats; ++i) {
        BB_TRY(bb_assembled_kernel_launch(kernel, &set->binding, set->blocks));
    }
    if (is_cpu) {
        *seconds = bb_clock_seconds() - begin;
    } else {
        BB_TRY(bb_device_timer_stop(set->device, seconds));
    }
    *seconds /= repeats;
done:
    return status;
}
