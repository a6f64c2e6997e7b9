// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/objects/kernel_context.h"

#include "core/memory.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/language/notation_reader.h"

#include <string.h>

// A kernel in one choice of types.
typedef struct kept_kernel kept_kernel;
struct kept_kernel {
    bb_kernel_use use;
    bb_description description;
    bb_program program;
    bool *is_inside;  // [step_count] at the sizes of all launches
    bool *was_inside; // the same when it was assembled
    bool is_bound;    // by a launch
    bool is_served;   // every launch, by the kernel
    bb_assembled_kernel *kernel;
    kept_kernel *next;
};

struct bb_kernel_context {
    bb_device *device;
    kept_kernel *first;
    const kept_kernel *last_run;
    bb_index compiled;
};

struct bb_kernel_launch {
    bb_kernel_context *context;
    kept_kernel *kept;
    bb_binding binding;
    void **blocks; // [object_count]
};

bb_status bb_kernel_context_create(bb_device *device, bb_kernel_context **out)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(1, out));
    (*out)->device = device;
done:
    return status;
}

static void forget(kept_kernel **kept)
{
    if (*kept == NULL) {
        return;
    }
    bb_assembled_kernel_destroy(&(*kept)->kernel);
    BB_RELEASE(&(*kept)->is_inside);
    BB_RELEASE(&(*kept)->was_inside);
    bb_program_release(&(*kept)->program);
    bb_description_release(&(*kept)->description);
    BB_RELEASE(kept);
}

void bb_kernel_context_destroy(bb_kernel_context **context)
{
    if (*context == NULL) {
        return;
    }
    for (kept_kernel *kept = (*context)->first; kept != NULL;) {
        kept_kernel *next = kept->next;
        forget(&kept);
        kept = next;
    }
    BB_RELEASE(context);
}

bb_device *bb_kernel_context_device(const bb_kernel_context *context)
{
    return context->device;
}

static bool same_use(const bb_kernel_use *one, const bb_kernel_use *other)
{
    bool same = strcmp(one->file, other->file) == 0 && one->type_count == other->type_count;
    for (int i = 0; same && i < one->type_count; ++i) {
        same = strcmp(one->types[i].name, other->types[i].name) == 0 &&
               strcmp(one->types[i].type, other->types[i].type) == 0;
    }
    return same;
}

static bb_status refuse(const bb_kernel_use *use, const bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_REQUIRE(problems->count == 0, BB_INVALID, "kernel %s: %s", use->file,
               bb_text_string(&problems->lines));
done:
    return status;
}

static bb_status read_kernel(const bb_kernel_use *use, kept_kernel **out)
{
    bb_status status = BB_OK;
    const char *text = bb_kernel_manager_text(use->file);
    kept_kernel *kept = NULL;
    bb_problems problems = {.count = 0};
    BB_REQUIRE(text[0] != '\0', BB_INVALID, "no kernel %s is shipped", use->file);
    BB_TRY(BB_ZEROED(1, &kept));
    kept->use = *use;
    BB_TRY(bb_notation_reader_read(text, (bb_index)strlen(text), use->file, &problems,
                                   &kept->description));
    BB_TRY(refuse(use, &problems));
    BB_TRY(bb_program_create(&kept->description, use->types, use->type_count, &problems,
                             &kept->program));
    BB_TRY(refuse(use, &problems));
    BB_TRY(BB_ZEROED(kept->program.step_count, &kept->is_inside));
    BB_TRY(BB_ZEROED(kept->program.step_count, &kept->was_inside));
    *out = kept;
    kept = NULL;
done:
    bb_problems_release(&problems);
    forget(&kept);
    return status;
}

static bb_status find(bb_kernel_context *context, const bb_kernel_use *use, kept_kernel **out)
{
    bb_status status = BB_OK;
    *out = context->first;
    while (*out != NULL && !same_use(&(*out)->use, use)) {
        *out = (*out)->next;
    }
    if (*out == NULL) {
        BB_TRY(read_kernel(use, out));
        (*out)->next = context->first;
        context->first = *out;
    }
done:
    return status;
}

// Widens what a kernel has to serve by a binding.
static void serve(kept_kernel *kept, const bb_binding *binding)
{
    for (int i = 0; i < kept->program.step_count; ++i) {
        kept->is_inside[i] = binding->is_inside[i] && (!kept->is_bound || kept->is_inside[i]);
        kept->is_served = kept->is_served && (binding->is_inside[i] || !kept->was_inside[i]);
    }
    kept->is_bound = true;
}

// A kernel that serves all bindings so far.
static bb_status assemble(bb_kernel_context *context, kept_kernel *kept)
{
    bb_status status = BB_OK;
    if (!kept->is_served) {
        bb_assembled_kernel_destroy(&kept->kernel);
        BB_TRY(bb_assembled_kernel_create(context->device, &kept->program, kept->is_inside, NULL,
                                          &kept->kernel));
        memcpy(kept->was_inside, kept->is_inside,
               (size_t)kept->program.step_count * sizeof *kept->is_inside);
        kept->is_served = true;
        ++context->compiled;
    }
done:
    return status;
}

bb_status bb_kernel_launch_create(bb_kernel_context *context, const bb_kernel_use *use,
                                  const bb_program_data *data, const bb_scalar *parameters,
                                  void *const *blocks, bb_kernel_launch **out)
{
    bb_status status = BB_OK;
    bb_kernel_launch *launch = NULL;
    bb_problems problems = {.count = 0};
    BB_TRY(BB_ZEROED(1, &launch));
    launch->context = context;
    BB_TRY(find(context, use, &launch->kept));
    BB_TRY(
        bb_binding_create(&launch->kept->program, data, parameters, &problems, &launch->binding));
    BB_TRY(refuse(use, &problems));
    BB_TRY(BB_ALLOCATE(launch->kept->program.object_count, &launch->blocks));
    for (int i = 0; i < launch->kept->program.object_count; ++i) {
        launch->blocks[i] = blocks[i];
    }
    serve(launch->kept, &launch->binding);
    *out = launch;
    launch = NULL;
done:
    bb_kernel_launch_destroy(&launch);
    bb_problems_release(&problems);
    return status;
}

void bb_kernel_launch_destroy(bb_kernel_launch **launch)
{
    if (*launch == NULL) {
        return;
    }
    bb_binding_release(&(*launch)->binding);
    BB_RELEASE(&(*launch)->blocks);
    BB_RELEASE(launch);
}

bb_status bb_kernel_launch_queue(bb_kernel_launch *launch)
{
    bb_status status = BB_OK;
    BB_TRY(assemble(launch->context, launch->kept));
    BB_TRY(bb_assembled_kernel_launch(launch->kept->kernel, &launch->binding, launch->blocks));
    launch->context->last_run = launch->kept;
done:
    return status;
}

double bb_kernel_launch_bytes(const bb_kernel_launch *launch)
{
    return bb_binding_bytes(&launch->binding);
}

bb_status bb_kernel_context_run(bb_kernel_context *context, const bb_kernel_use *use,
                                const bb_program_data *data, const bb_scalar *parameters,
                                void *const *blocks)
{
    bb_status status = BB_OK;
    bb_kernel_launch *launch = NULL;
    BB_TRY(bb_kernel_launch_create(context, use, data, parameters, blocks, &launch));
    BB_TRY(bb_kernel_launch_queue(launch));
done:
    bb_kernel_launch_destroy(&launch);
    return status;
}

const char *bb_kernel_context_compiler(const bb_kernel_context *context)
{
    return context->last_run == NULL || context->last_run->kernel == NULL
               ? ""
               : bb_assembled_kernel_compiler(context->last_run->kernel);
}

bb_index bb_kernel_context_compiled(const bb_kernel_context *context)
{
    return context->compiled;
}
