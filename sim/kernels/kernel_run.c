// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_run.h"

#include "core/log.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/program/evaluation.h"

#include <stdio.h>
#include <string.h>

bb_status bb_kernel_run_find_device(const char *name, bb_device_kind *out)
{
    bb_status status = BB_OK;
    int kind = 0;
    while (name != NULL && kind < BB_DEVICE_KIND_COUNT &&
           strcmp(bb_device_names[kind], name) != 0) {
        ++kind;
    }
    BB_REQUIRE(kind < BB_DEVICE_KIND_COUNT, BB_INVALID,
               "--device %s, expected one of cpu, opencl, cuda", name);
    *out = kind;
done:
    return status;
}

// In the variant's order of sums.
static bb_status evaluate(const bb_choice *choice, const bb_binding *binding)
{
    bb_status status = BB_OK;
    bb_program ordered = {.name = NULL};
    bb_binding reordered = *binding;
    BB_TRY(bb_choice_apply(choice, binding->program, &ordered));
    reordered.program = &ordered;
    BB_TRY(bb_evaluation_run(&reordered));
done:
    bb_choice_release_program(&ordered);
    return status;
}

static bb_status compute(bb_device *device, const bb_binding *binding, bb_kernel_run_record *out)
{
    bb_status status = BB_OK;
    bb_assembled_kernel *kernel = NULL;
    bb_status_record record;
    status = bb_assembled_kernel_create(device, binding->program, binding->is_inside,
                                        &out->choice.choice, &kernel);
    if (status == BB_UNSUPPORTED && bb_device_kind_of(device) == BB_DEVICE_CPU) {
        bb_status_save(&record);
        bb_log_info("kernel %s is evaluated step by step, exact and slow: %s",
                    binding->program->name, record.message);
        (void)snprintf(out->compiler, sizeof out->compiler, "none: evaluated step by step");
        BB_TRY(evaluate(&out->choice.choice, binding));
        goto done;
    }
    BB_TRY(status);
    (void)snprintf(out->compiler, sizeof out->compiler, "%s", bb_assembled_kernel_compiler(kernel));
    BB_TRY(bb_assembled_kernel_compute(kernel, binding));
done:
    bb_assembled_kernel_destroy(&kernel);
    return status;
}

bb_status bb_kernel_run_compute(bb_device_kind kind, const bb_kernel_source *source,
                                const bb_choice_wish *wish, const bb_binding *binding,
                                bb_kernel_run_record *out)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_device_report report;
    BB_TRY(bb_device_open(kind, 0, &device));
    BB_TRY(bb_device_describe(device, &report));
    (void)snprintf(out->device, sizeof out->device, "%s, %s", bb_device_names[kind], report.name);
    BB_TRY(bb_kernel_choice_find(wish, device, source, binding, &out->choice, NULL));
    BB_TRY(compute(device, binding, out));
done:
    bb_device_close(&device);
    return status;
}
