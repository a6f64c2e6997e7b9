// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/assembled_sequence.h"

#include "core/memory.h"
#include "solvers/kernels/emission/emission_sequence.h"

struct bb_assembled_sequence {
    bb_device *device;
    bb_emission_sequence emission;
    void *table; // table of steps in device memory
};

// Distinct programs of the steps, with the accesses that stay inside their objects in all steps of
// a program.
typedef struct member_list {
    bb_emission_member *members; // [count]
    bool **is_inside;            // [count] [step_count]
    int count;
} member_list;

static void release_list(member_list *list)
{
    for (int i = 0; list->is_inside != NULL && i < list->count; ++i) {
        BB_RELEASE(&list->is_inside[i]);
    }
    BB_RELEASE(&list->is_inside);
    BB_RELEASE(&list->members);
}

bool bb_assembled_sequence_supports(const bb_binding *binding)
{
    return bb_emission_sequence_supports(binding);
}

static int find_member(const member_list *list, const bb_program *program)
{
    int number = 0;
    while (number < list->count && list->members[number].program != program) {
        ++number;
    }
    return number;
}

static bb_status add_binding(member_list *list, const bb_binding *binding)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    const int number = find_member(list, program);
    if (number == list->count) {
        BB_TRY(BB_ALLOCATE(program->step_count + 1, &list->is_inside[number]));
        for (int i = 0; i < program->step_count; ++i) {
            list->is_inside[number][i] = true;
        }
        list->members[number] =
            (bb_emission_member){.program = program, .is_inside = list->is_inside[number]};
        ++list->count;
    }
    for (int i = 0; i < program->step_count; ++i) {
        list->is_inside[number][i] = list->is_inside[number][i] && binding->is_inside[i];
    }
done:
    return status;
}

static bb_status fill_table(bb_assembled_sequence *sequence, const member_list *list,
                            const bb_assembled_step *steps, bb_index count)
{
    bb_status status = BB_OK;
    const bb_index row_words = sequence->emission.row_words;
    const size_t bytes = (size_t)(count * row_words) * sizeof(uint64_t);
    uint64_t *table = NULL;
    BB_TRY(BB_ZEROED(count * row_words, &table));
    for (bb_index i = 0; i < count; ++i) {
        const bb_binding *binding = steps[i].binding;
        bb_emission_sequence_row(&sequence->emission, find_member(list, binding->program), binding,
                                 steps[i].blocks, table + i * row_words);
    }
    BB_TRY(bb_device_allocate(sequence->device, bytes, &sequence->table));
    BB_TRY(bb_device_upload(sequence->device, sequence->table, table, bytes));
    BB_TRY(bb_device_wait(sequence->device)); // free the host copy of the table
done:
    BB_RELEASE(&table);
    return status;
}

bb_status bb_assembled_sequence_create(bb_device *device, const bb_assembled_step *steps,
                                       bb_index count, bb_assembled_sequence **out)
{
    bb_status status = BB_OK;
    static const bb_emission_target targets[BB_DEVICE_KIND_COUNT] = {
        [BB_DEVICE_CPU] = BB_EMISSION_C, [BB_DEVICE_CUDA] = BB_EMISSION_CUDA};
    const bb_device_kind kind = bb_device_kind_of(device);
    bb_assembled_sequence *sequence = NULL;
    member_list list = {.count = 0};
    BB_REQUIRE(kind != BB_DEVICE_OPENCL, BB_UNSUPPORTED,
               "OpenCL has no buffer addresses for a table of steps");
    BB_TRY(BB_ZEROED(1, &sequence));
    sequence->device = device;
    BB_TRY(BB_ZEROED(count, &list.members));
    BB_TRY(BB_ZEROED(count, &list.is_inside));
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(add_binding(&list, steps[i].binding));
    }
    BB_TRY(
        bb_emission_sequence_create(targets[kind], list.members, list.count, &sequence->emission));
    BB_TRY(fill_table(sequence, &list, steps, count));
    *out = sequence;
    sequence = NULL;
done:
    release_list(&list);
    bb_assembled_sequence_destroy(&sequence);
    return status;
}

void bb_assembled_sequence_destroy(bb_assembled_sequence **sequence)
{
    if (*sequence == NULL) {
        return;
    }
    if ((*sequence)->table != NULL) {
        bb_device_release((*sequence)->device, &(*sequence)->table);
    }
    bb_emission_sequence_release(&(*sequence)->emission);
    BB_RELEASE(sequence);
}

const char *bb_assembled_sequence_source(const bb_assembled_sequence *sequence)
{
    return bb_text_string(&sequence->emission.source);
}

bb_status bb_assembled_sequence_launch(const bb_assembled_sequence *sequence, bb_build *build,
                                       bb_index first, bb_index behind)
{
    const bool has_groups = bb_device_kind_of(sequence->device) != BB_DEVICE_CPU;
    const bb_launch_shape shape = {.groups = {1, 1},
                                   .group_items = {has_groups ? sequence->emission.items : 1, 1},
                                   .cpu_grain = 1};
    const int32_t rows[2] = {(int32_t)first, (int32_t)behind};
    const bb_launch_argument arguments[] = {
        {.block = sequence->table},
        {.scalar = &rows[0], .scalar_bytes = sizeof rows[0]},
        {.scalar = &rows[1], .scalar_bytes = sizeof rows[1]},
    };
    return bb_build_launch(build, BB_EMISSION_BODY, shape, arguments,
                           sizeof arguments / sizeof arguments[0]);
}
