// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/objects/kernel_sequence.h"

#include "core/memory.h"
#include "solvers/kernels/assembled_sequence.h"

// Unit of queueing: one launch, or several joined launches.
typedef struct sequence_run {
    bb_kernel_launch *launch; // NULL: joined steps
    bb_index first, behind;
} sequence_run;

struct bb_kernel_sequence {
    bb_kernel_context *context; // NULL: no launches
    sequence_run *runs;         // [run_count]
    bb_index run_count;
    bb_assembled_sequence *joined; // NULL: no joined launches
    bb_build *build;               // build of `joined`, owned by the context
};

static bool can_join(const bb_kernel_launch *launch)
{
    return bb_assembled_sequence_supports(bb_kernel_launch_query(launch).binding);
}

// Partitions launches into runs; returns the number of joined `steps`.
static bb_index find_runs(bb_kernel_sequence *sequence, bb_kernel_launch *const *launches,
                          bb_index count, bb_assembled_step *steps)
{
    bb_index joined = 0;
    for (bb_index i = 0; i < count;) {
        bb_index length = 0;
        while (i + length < count && can_join(launches[i + length])) {
            ++length;
        }
        sequence_run *run = &sequence->runs[sequence->run_count++];
        if (length < 2) { // a single step is better launched with its own work-groups
            run->launch = launches[i++];
            continue;
        }
        run->first = joined;
        for (bb_index k = 0; k < length; ++k, ++i) {
            const bb_kernel_launch_view view = bb_kernel_launch_query(launches[i]);
            steps[joined++] = (bb_assembled_step){view.binding, view.blocks};
        }
        run->behind = joined;
    }
    return joined;
}

static bb_status join(bb_kernel_sequence *sequence, bb_kernel_launch *const *launches,
                      bb_index count)
{
    bb_status status = BB_OK;
    bb_assembled_step *steps = NULL;
    BB_TRY(BB_ZEROED(count, &steps));
    const bb_index joined = find_runs(sequence, launches, count, steps);
    if (joined > 0) {
        BB_TRY(bb_assembled_sequence_create(bb_kernel_context_device(sequence->context), steps,
                                            joined, &sequence->joined));
        BB_TRY(bb_kernel_context_build(
            sequence->context, bb_assembled_sequence_source(sequence->joined), &sequence->build));
    }
done:
    BB_RELEASE(&steps);
    return status;
}

// `kinds` lists the device kinds on which launches are joined.
static bb_status create(bb_kernel_launch *const *launches, bb_index count,
                        const bool kinds[BB_DEVICE_KIND_COUNT], bb_kernel_sequence **out)
{
    bb_status status = BB_OK;
    bb_kernel_sequence *sequence = NULL;
    BB_TRY(BB_ZEROED(1, &sequence));
    for (bb_index i = 0; i < count; ++i) {
        bb_kernel_context *context = bb_kernel_launch_query(launches[i]).context;
        BB_REQUIRE(i == 0 || context == sequence->context, BB_INVALID,
                   "launch %td of a sequence belongs to another context", i);
        sequence->context = context;
    }
    BB_TRY(BB_ZEROED(count + 1, &sequence->runs));
    if (count > 0 && kinds[bb_device_kind_of(bb_kernel_context_device(sequence->context))]) {
        BB_TRY(join(sequence, launches, count));
    } else {
        for (bb_index i = 0; i < count; ++i) {
            sequence->runs[sequence->run_count++].launch = launches[i];
        }
    }
    *out = sequence;
    sequence = NULL;
done:
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
    bb_assembled_sequence_destroy(&(*sequence)->joined);
    BB_RELEASE(&(*sequence)->runs);
    BB_RELEASE(sequence);
}

static bb_status queue_steps(const bb_kernel_sequence *sequence, const sequence_run *run)
{
    bb_status status = BB_OK;
    BB_TRY(
        bb_assembled_sequence_launch(sequence->joined, sequence->build, run->first, run->behind));
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
                                   : queue_steps(sequence, run));
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
    return sequence->joined == NULL ? "" : bb_assembled_sequence_source(sequence->joined);
}
