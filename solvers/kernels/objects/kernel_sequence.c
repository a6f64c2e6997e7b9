// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/objects/kernel_sequence.h"

#include "core/memory.h"
#include "solvers/kernels/emission/emission_sequence.h"

// What is queued in one go: a launch, or rows of the table.
typedef struct sequence_run {
    bb_kernel_launch *launch; // NULL: rows
    int32_t first, behind;
} sequence_run;

struct bb_kernel_sequence {
    bb_kernel_context *context; // NULL: no launches
    sequence_run *runs;         // [run_count]
    bb_index run_count;
    bb_emission_sequence joined; // of no members: nothing is
    bb_build *build;             // of `joined`; the context's
    void *table;                 // in the device's memory
};

// A launch that is joined with a neighbour.
typedef struct joined_step {
    bb_kernel_launch_view view;
    int member;
} joined_step;

// While a sequence is made.
typedef struct sequence_plan {
    bb_emission_member *members; // [member_count], one a program
    bool **is_inside;            // [member_count] [step_count], of the members
    int member_count;
    joined_step *steps; // [step_count]
    bb_index step_count;
} sequence_plan;

static void release_plan(sequence_plan *plan)
{
    for (int i = 0; plan->is_inside != NULL && i < plan->member_count; ++i) {
        BB_RELEASE(&plan->is_inside[i]);
    }
    BB_RELEASE(&plan->is_inside);
    BB_RELEASE(&plan->members);
    BB_RELEASE(&plan->steps);
}

static bool serves(const bb_kernel_launch *launch)
{
    return bb_emission_sequence_serves(bb_kernel_launch_look(launch).binding);
}

// The member that runs a binding, of which no step needs fewer boundaries.
static bb_status find_member(sequence_plan *plan, const bb_binding *binding, int *out)
{
    bb_status status = BB_OK;
    const bb_program *program = binding->program;
    int number = 0;
    while (number < plan->member_count && plan->members[number].program != program) {
        ++number;
    }
    if (number == plan->member_count) {
        BB_TRY(BB_ALLOCATE(program->step_count + 1, &plan->is_inside[number]));
        for (int i = 0; i < program->step_count; ++i) {
            plan->is_inside[number][i] = true;
        }
        plan->members[number] =
            (bb_emission_member){.program = program, .is_inside = plan->is_inside[number]};
        ++plan->member_count;
    }
    for (int i = 0; i < program->step_count; ++i) {
        plan->is_inside[number][i] = plan->is_inside[number][i] && binding->is_inside[i];
    }
    *out = number;
done:
    return status;
}

static bb_status join(sequence_plan *plan, bb_kernel_launch *const *launches, bb_index count,
                      sequence_run *run)
{
    bb_status status = BB_OK;
    run->first = (int32_t)plan->step_count;
    for (bb_index i = 0; i < count; ++i) {
        joined_step *step = &plan->steps[plan->step_count];
        step->view = bb_kernel_launch_look(launches[i]);
        BB_TRY(find_member(plan, step->view.binding, &step->member));
        ++plan->step_count;
    }
    run->behind = (int32_t)plan->step_count;
done:
    return status;
}

// Shares launches out among runs.
static bb_status find_runs(bb_kernel_sequence *sequence, bb_kernel_launch *const *launches,
                           bb_index count, bool joins, sequence_plan *plan)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count;) {
        bb_index length = 0;
        while (joins && i + length < count && serves(launches[i + length])) {
            ++length;
        }
        sequence_run *run = &sequence->runs[sequence->run_count++];
        if (length > 1) {
            BB_TRY(join(plan, &launches[i], length, run));
            i += length;
        } else {
            run->launch = launches[i++];
        }
    }
done:
    return status;
}

static bb_status fill_table(bb_kernel_sequence *sequence, const sequence_plan *plan)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(sequence->context);
    const bb_index row_words = sequence->joined.row_words;
    const size_t bytes = (size_t)(plan->step_count * row_words) * sizeof(uint64_t);
    uint64_t *table = NULL;
    BB_TRY(BB_ZEROED(plan->step_count * row_words, &table));
    for (bb_index i = 0; i < plan->step_count; ++i) {
        const joined_step *step = &plan->steps[i];
        bb_emission_sequence_row(&sequence->joined, step->member, step->view.binding,
                                 step->view.blocks, table + i * row_words);
    }
    BB_TRY(bb_device_allocate(device, bytes, &sequence->table));
    BB_TRY(bb_device_upload(device, sequence->table, table, bytes));
    BB_TRY(bb_device_wait(device)); // the host's copy goes
done:
    BB_RELEASE(&table);
    return status;
}

static bb_status compile(bb_kernel_sequence *sequence, const sequence_plan *plan)
{
    bb_status status = BB_OK;
    const bool is_cpu =
        bb_device_kind_of(bb_kernel_context_device(sequence->context)) == BB_DEVICE_CPU;
    if (plan->step_count == 0) {
        goto done;
    }
    BB_TRY(bb_emission_sequence_create(is_cpu ? BB_EMISSION_C : BB_EMISSION_CUDA, plan->members,
                                       plan->member_count, &sequence->joined));
    BB_TRY(bb_kernel_context_build(sequence->context, bb_text_string(&sequence->joined.source),
                                   &sequence->build));
    BB_TRY(fill_table(sequence, plan));
done:
    return status;
}

// `kinds` says on which devices launches are joined.
static bb_status create(bb_kernel_launch *const *launches, bb_index count,
                        const bool kinds[BB_DEVICE_KIND_COUNT], bb_kernel_sequence **out)
{
    bb_status status = BB_OK;
    bb_kernel_sequence *sequence = NULL;
    sequence_plan plan = {.member_count = 0};
    BB_TRY(BB_ZEROED(1, &sequence));
    for (bb_index i = 0; i < count; ++i) {
        bb_kernel_context *context = bb_kernel_launch_look(launches[i]).context;
        BB_REQUIRE(i == 0 || context == sequence->context, BB_INVALID,
                   "launch %td of a sequence is of another context than those before it", i);
        sequence->context = context;
    }
    BB_TRY(BB_ZEROED(count + 1, &sequence->runs));
    BB_TRY(BB_ZEROED(count + 1, &plan.steps));
    BB_TRY(BB_ZEROED(count + 1, &plan.members));
    BB_TRY(BB_ZEROED(count + 1, &plan.is_inside));
    if (count > 0) {
        const bb_device_kind kind = bb_device_kind_of(bb_kernel_context_device(sequence->context));
        BB_TRY(find_runs(sequence, launches, count, kinds[kind], &plan));
        BB_TRY(compile(sequence, &plan));
    }
    *out = sequence;
    sequence = NULL;
done:
    release_plan(&plan);
    bb_kernel_sequence_destroy(&sequence);
    return status;
}

bb_status bb_kernel_sequence_create(bb_kernel_launch *const *launches, bb_index count,
                                    bb_kernel_sequence **out)
{
    static const bool kinds[BB_DEVICE_KIND_COUNT] = {[BB_DEVICE_CUDA] = true};
    return create(launches, count, kinds, out);
}

bb_status bb_kernel_sequence_join(bb_kernel_launch *const *launches, bb_index count,
                                  bb_kernel_sequence **out)
{
    static const bool kinds[BB_DEVICE_KIND_COUNT] = {
        [BB_DEVICE_CPU] = true, [BB_DEVICE_CUDA] = true};
    return create(launches, count, kinds, out);
}

void bb_kernel_sequence_destroy(bb_kernel_sequence **sequence)
{
    if (*sequence == NULL) {
        return;
    }
    if ((*sequence)->table != NULL) {
        bb_device_release(bb_kernel_context_device((*sequence)->context), &(*sequence)->table);
    }
    bb_emission_sequence_release(&(*sequence)->joined);
    BB_RELEASE(&(*sequence)->runs);
    BB_RELEASE(sequence);
}

static bb_status queue_rows(const bb_kernel_sequence *sequence, const sequence_run *run)
{
    bb_status status = BB_OK;
    const bool is_cpu =
        bb_device_kind_of(bb_kernel_context_device(sequence->context)) == BB_DEVICE_CPU;
    const bb_launch_shape shape = {
        .groups = {1, 1}, .group_items = {is_cpu ? 1 : sequence->joined.items, 1}, .cpu_grain = 1};
    const bb_launch_argument arguments[] = {
        {.block = sequence->table},
        {.scalar = &run->first, .scalar_bytes = sizeof run->first},
        {.scalar = &run->behind, .scalar_bytes = sizeof run->behind},
    };
    BB_TRY(bb_build_launch(sequence->build, BB_EMISSION_BODY, shape, arguments,
                           sizeof arguments / sizeof arguments[0]));
    bb_kernel_context_note_run(sequence->context, sequence->build);
done:
    return status;
}

bb_status bb_kernel_sequence_queue(bb_kernel_sequence *sequence)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < sequence->run_count; ++i) {
        const sequence_run *run = &sequence->runs[i];
        BB_TRY(run->launch != NULL ? bb_kernel_launch_queue(run->launch)
                                   : queue_rows(sequence, run));
    }
done:
    return status;
}

bb_index bb_kernel_sequence_runs(const bb_kernel_sequence *sequence)
{
    return sequence->run_count;
}

const char *bb_kernel_sequence_source(const bb_kernel_sequence *sequence)
{
    return bb_text_string(&sequence->joined.source);
}
