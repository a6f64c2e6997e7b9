// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_step.h"

#include <math.h>

const char *bb_unwrap_field_type(bb_format format)
{
    return format == BB_FORMAT_FP64 ? "DP" : "SP";
}

static bb_status allocate(bb_kernel_context *context, size_t bytes, bb_unwrap_field *field)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(context);
    field->bytes = bytes;
    BB_TRY(bb_device_allocate(device, bytes > 0 ? bytes : 1, &field->block));
    BB_TRY(bb_device_zero(device, field->block, bytes > 0 ? bytes : 1));
done:
    return status;
}

// Parameters of the rounding kernel: spacing of a format between powers of two, and its limits
// (precision/format.h).
static bb_status ready_rounding(bb_kernel_context *context, bb_unwrap_field *field)
{
    const bb_format_info *format = bb_format_describe(field->format);
    const bb_kernel_use use = {.file = "unwrap_round.kernel",
                               .types = {{"T", bb_unwrap_field_type(field->format)}},
                               .type_count = 1};
    const bb_program_data data = {field->columns, field->rows, NULL};
    const bb_scalar parameters[] = {
        {.parts = {ldexp(1.0, format->significand - 1)}},
        {.parts = {bb_format_smallest_subnormal(field->format)}},
        {.parts = {format->largest}},
        {.parts = {format->saturates ? format->largest : INFINITY}},
    };
    return bb_kernel_launch_create(context, &use, &data, parameters, &field->block,
                                   &field->rounding);
}

bb_status bb_unwrap_field_create(bb_kernel_context *context, bb_format format, bb_index columns,
                                 bb_index rows, bb_unwrap_field *out)
{
    bb_status status = BB_OK;
    const size_t word = format == BB_FORMAT_FP64 ? sizeof(double) : sizeof(float);
    *out = (bb_unwrap_field){.columns = columns, .rows = rows, .format = format};
    BB_TRY(allocate(context, (size_t)columns * (size_t)rows * word, out));
    if (format != BB_FORMAT_FP64 && format != BB_FORMAT_FP32) {
        BB_TRY(ready_rounding(context, out));
    }
done:
    return status;
}

bb_status bb_unwrap_field_integers(bb_kernel_context *context, int32_t *values, bb_index columns,
                                   bb_index rows, bb_unwrap_field *out)
{
    bb_status status = BB_OK;
    *out = (bb_unwrap_field){.columns = columns, .rows = rows, .indices = values};
    BB_TRY(allocate(context, (size_t)columns * (size_t)rows * sizeof *values, out));
    if (values != NULL && out->bytes > 0) {
        BB_TRY(bb_device_upload(bb_kernel_context_device(context), out->block, values, out->bytes));
    }
done:
    return status;
}

void bb_unwrap_field_release(bb_kernel_context *context, bb_unwrap_field *field)
{
    bb_kernel_launch_destroy(&field->rounding);
    if (field->block != NULL) {
        bb_device_release(bb_kernel_context_device(context), &field->block);
    }
}

bb_status bb_unwrap_step_create(bb_kernel_context *context, const bb_unwrap_recipe *recipe,
                                bb_unwrap_step *out)
{
    bb_status status = BB_OK;
    bb_program_data data[BB_UNWRAP_OPERANDS] = {{0}};
    void *blocks[BB_UNWRAP_OPERANDS] = {NULL};
    *out = (bb_unwrap_step){.launch = NULL};
    for (int i = 0; i < BB_UNWRAP_OPERANDS && recipe->fields[i] != NULL; ++i) {
        const bb_unwrap_field *field = recipe->fields[i];
        data[i] = (bb_program_data){field->columns, field->rows, field->indices};
        if (recipe->as_vectors) {
            data[i].columns *= data[i].rows;
            data[i].rows = 1;
        }
        blocks[i] = field->block;
    }
    for (int i = 0; i < BB_UNWRAP_WRITTEN; ++i) {
        out->written[i] = recipe->written[i];
    }
    BB_TRY(bb_kernel_launch_create(context, &recipe->use, data, recipe->parameters, blocks,
                                   &out->launch));
done:
    return status;
}

void bb_unwrap_step_release(bb_unwrap_step *step)
{
    bb_kernel_launch_destroy(&step->launch);
}

bb_status bb_unwrap_step_run(const bb_unwrap_step *step)
{
    bb_status status = BB_OK;
    BB_TRY(bb_kernel_launch_queue(step->launch));
    for (int i = 0; i < BB_UNWRAP_WRITTEN && step->written[i] != NULL; ++i) {
        if (step->written[i]->rounding != NULL) {
            BB_TRY(bb_kernel_launch_queue(step->written[i]->rounding));
        }
    }
done:
    return status;
}
