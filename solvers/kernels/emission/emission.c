// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/emission.h"

#include "core/memory.h"
#include "solvers/kernels/emission/emission_steps.h"

bb_status bb_emission_create(bb_emission_target target, const bb_program *program,
                             const bool *is_inside, const bb_choice *choice, bb_emission *out)
{
    bb_status status = BB_OK;
    static const bb_expression_dialect *const dialects[BB_EMISSION_TARGET_COUNT] = {
        [BB_EMISSION_C] = &bb_expression_dialect_c,
        [BB_EMISSION_OPENCL] = &bb_expression_dialect_opencl,
        [BB_EMISSION_CUDA] = &bb_expression_dialect_cuda,
    };
    bb_emission emission = {.values = NULL};
    bool *marks = NULL;
    const int values = program->value_count;
    BB_TRY(BB_ZEROED(3 * values + program->step_count, &marks));
    bb_emission_writer writer = {.program = program,
                                 .dialect = dialects[target],
                                 .target = target,
                                 .is_inside = is_inside,
                                 .choice = choice,
                                 .runs_loops = target == BB_EMISSION_C || choice->tile > 0,
                                 .is_used = marks,
                                 .is_saved = marks + values,
                                 .is_done = marks + 2 * values,
                                 .fast = marks + 3 * values};
    BB_TRY(writer.runs_loops ? bb_emission_fill_loops(&writer, &emission)
                             : bb_emission_fill_gpu(&writer, &emission));
    *out = emission;
    emission = (bb_emission){.values = NULL};
done:
    bb_emission_release(&emission);
    BB_RELEASE(&marks);
    return status;
}

void bb_emission_list_values(bb_emission_writer *writer, bb_emission *out)
{
    if (!bb_emission_try(writer, BB_ALLOCATE(writer->program->value_count, &out->values))) {
        return;
    }
    for (int i = 0; i < writer->program->value_count; ++i) {
        if (writer->is_used[i]) {
            out->values[out->value_count++] = i;
        }
    }
}

void bb_emission_release(bb_emission *emission)
{
    bb_text_release(&emission->source);
    BB_RELEASE(&emission->values);
    *emission = (bb_emission){.values = NULL};
}

const bb_reduction *bb_emission_parted(const bb_program *program)
{
    const bool has_own = program->has_reduction || program->iterator_count == 0;
    return has_own ? &program->reduction : &program->iterators[0].reduction;
}
