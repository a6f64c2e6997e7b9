// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/objects/kernel_context.h"

#include "core/log.h"
#include "core/memory.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/kernel_manager.h"

#include <string.h>

// A kernel that was replaced by another one; a recorded graph may still refer to it.
typedef struct replaced_kernel replaced_kernel;
struct replaced_kernel {
    bb_assembled_kernel *kernel;
    replaced_kernel *next;
};

// A kernel with given types in one variant, for all sizes that use this variant.
typedef struct kept_variant kept_variant;
struct kept_variant {
    bb_choice wanted;
    bb_choice choice; // variant in use: the requested one, or the default after a failure
    bool is_default;
    bool *is_inside;  // [step_count] accesses inside their objects at the sizes of all launches
    bool *was_inside; // [step_count] accesses inside their objects at the time of assembly
    bool is_bound;    // at least one launch uses it
    bool is_served;   // the kernel serves every launch
    bb_assembled_kernel *kernel;
    replaced_kernel *replaced;
    kept_variant *next;
};

// Sizes for which the chooser has been asked.
typedef struct kept_site kept_site;
struct kept_site {
    bb_program_data *data; // [object_count], without elements
    kept_variant *variant;
    kept_site *next;
};

// A kernel with given types.
typedef struct kept_kernel kept_kernel;
struct kept_kernel {
    bb_kernel_use use;
    bb_description description;
    bb_program program;
    kept_variant *variants;
    kept_site *sites;
    kept_kernel *next;
};

// A text of several kernels.
typedef struct kept_text kept_text;
struct kept_text {
    bb_text source;
    bb_build *build;
    kept_text *next;
};

struct bb_kernel_context {
    bb_device *device;
    bb_kernel_chooser chooser;
    kept_kernel *first;
    kept_text *texts;
    const kept_variant *last_run;
    const bb_build *last_text; // compiler of the last text that ran; NULL: use `last_run`
    bb_index compiled;
};

struct bb_kernel_launch {
    bb_kernel_context *context;
    kept_kernel *kept;
    kept_variant *variant;
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

void bb_kernel_context_set_chooser(bb_kernel_context *context, const bb_kernel_chooser *chooser)
{
    context->chooser = *chooser;
}

static void release_variant(kept_variant **variant)
{
    if (*variant == NULL) {
        return;
    }
    bb_assembled_kernel_destroy(&(*variant)->kernel);
    for (replaced_kernel *replaced = (*variant)->replaced; replaced != NULL;) {
        replaced_kernel *next = replaced->next;
        bb_assembled_kernel_destroy(&replaced->kernel);
        BB_RELEASE(&replaced);
        replaced = next;
    }
    BB_RELEASE(&(*variant)->is_inside);
    BB_RELEASE(&(*variant)->was_inside);
    BB_RELEASE(variant);
}

static void release_site(kept_site **site)
{
    if (*site == NULL) {
        return;
    }
    BB_RELEASE(&(*site)->data);
    BB_RELEASE(site);
}

static void release_kernel(kept_kernel **kept)
{
    if (*kept == NULL) {
        return;
    }
    for (kept_variant *variant = (*kept)->variants; variant != NULL;) {
        kept_variant *next = variant->next;
        release_variant(&variant);
        variant = next;
    }
    for (kept_site *site = (*kept)->sites; site != NULL;) {
        kept_site *next = site->next;
        release_site(&site);
        site = next;
    }
    bb_program_release(&(*kept)->program);
    bb_description_release(&(*kept)->description);
    BB_RELEASE(kept);
}

static void release_text(kept_text **text)
{
    if (*text == NULL) {
        return;
    }
    bb_build_destroy(&(*text)->build);
    bb_text_release(&(*text)->source);
    BB_RELEASE(text);
}

void bb_kernel_context_destroy(bb_kernel_context **context)
{
    if (*context == NULL) {
        return;
    }
    for (kept_kernel *kept = (*context)->first; kept != NULL;) {
        kept_kernel *next = kept->next;
        release_kernel(&kept);
        kept = next;
    }
    for (kept_text *text = (*context)->texts; text != NULL;) {
        kept_text *next = text->next;
        release_text(&text);
        text = next;
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

static bb_status read_kernel(const bb_kernel_use *use, kept_kernel **out)
{
    bb_status status = BB_OK;
    kept_kernel *kept = NULL;
    BB_REQUIRE(bb_kernel_manager_text(use->file)[0] != '\0', BB_INVALID,
               "there is no shipped kernel %s", use->file);
    BB_TRY(BB_ZEROED(1, &kept));
    kept->use = *use;
    BB_TRY(bb_kernel_manager_read(use->file, use->file, use->types, use->type_count,
                                  &kept->description, &kept->program));
    *out = kept;
    kept = NULL;
done:
    release_kernel(&kept);
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

static bb_status find_variant(kept_kernel *kept, const bb_choice *choice, bool is_default,
                              kept_variant **out)
{
    bb_status status = BB_OK;
    kept_variant *made = NULL;
    *out = kept->variants;
    while (*out != NULL && !bb_choice_equal(&(*out)->wanted, choice)) {
        *out = (*out)->next;
    }
    if (*out == NULL) {
        BB_TRY(BB_ZEROED(1, &made));
        BB_TRY(BB_ZEROED(kept->program.step_count, &made->is_inside));
        BB_TRY(BB_ZEROED(kept->program.step_count, &made->was_inside));
        made->wanted = *choice;
        made->choice = *choice;
        made->is_default = is_default;
        made->next = kept->variants;
        kept->variants = made;
        *out = made;
        made = NULL;
    }
done:
    release_variant(&made);
    return status;
}

static bool same_sizes(const kept_site *site, const bb_program_data *data, int count)
{
    bool same = true;
    for (int i = 0; i < count && same; ++i) {
        same = site->data[i].columns == data[i].columns && site->data[i].rows == data[i].rows;
    }
    return same;
}

// Warns that a failed variant has been replaced.
static void warn_replaced(const bb_kernel_context *context, const kept_kernel *kept,
                          const kept_variant *variant, const bb_program_data *data)
{
    const bb_kernel_chooser *chooser = &context->chooser;
    if (chooser->fall_back != NULL && !bb_choice_equal(&variant->wanted, &variant->choice)) {
        const bb_kernel_site site = {&kept->use, &kept->description, &kept->program, data};
        chooser->fall_back(chooser->context, &site, &variant->wanted, &variant->choice);
    }
}

static bb_status query_chooser(const bb_kernel_context *context, kept_kernel *kept,
                               const bb_binding *binding, kept_site *site)
{
    bb_status status = BB_OK;
    const bb_choice plain = bb_choice_default_over(context->device, binding);
    bb_choice choice = plain;
    if (context->chooser.choose != NULL) {
        const bb_kernel_site question = {&kept->use, &kept->description, &kept->program,
                                         site->data};
        BB_TRY(context->chooser.choose(context->chooser.context, &question, &choice));
    }
    BB_TRY(find_variant(kept, &choice, bb_choice_equal(&choice, &plain), &site->variant));
    warn_replaced(context, kept, site->variant, site->data);
done:
    return status;
}

// Variant for given sizes; the chooser is asked once per size.
static bb_status choose(const bb_kernel_context *context, kept_kernel *kept,
                        const bb_binding *binding, kept_variant **out)
{
    bb_status status = BB_OK;
    const int count = kept->program.object_count;
    const bb_program_data *data = binding->data;
    kept_site *made = NULL;
    kept_site *site = kept->sites;
    while (site != NULL && !same_sizes(site, data, count)) {
        site = site->next;
    }
    if (site == NULL) {
        BB_TRY(BB_ZEROED(1, &made));
        BB_TRY(BB_ZEROED(count + 1, &made->data));
        for (int i = 0; i < count; ++i) {
            made->data[i] = (bb_program_data){.columns = data[i].columns, .rows = data[i].rows};
        }
        BB_TRY(query_chooser(context, kept, binding, made));
        made->next = kept->sites;
        kept->sites = made;
        site = made;
        made = NULL;
    }
    *out = site->variant;
done:
    release_site(&made);
    return status;
}

// Extends the requirements on a variant by a binding.
static void add_binding(const kept_kernel *kept, kept_variant *variant, const bb_binding *binding)
{
    for (int i = 0; i < kept->program.step_count; ++i) {
        variant->is_inside[i] =
            binding->is_inside[i] && (!variant->is_bound || variant->is_inside[i]);
        variant->is_served =
            variant->is_served && (binding->is_inside[i] || !variant->was_inside[i]);
    }
    variant->is_bound = true;
}

// Retires the kernel of the variant, so that another one can replace it.
static bb_status replace(kept_variant *variant)
{
    bb_status status = BB_OK;
    replaced_kernel *replaced = NULL;
    if (variant->kernel != NULL) {
        BB_TRY(BB_ZEROED(1, &replaced));
        *replaced = (replaced_kernel){variant->kernel, variant->replaced};
        variant->replaced = replaced;
        variant->kernel = NULL;
    }
done:
    return status;
}

// Assembles a kernel that serves all bindings so far.
static bb_status assemble(bb_kernel_context *context, const kept_kernel *kept,
                          kept_variant *variant)
{
    bb_status status = BB_OK;
    if (!variant->is_served) {
        BB_TRY(replace(variant));
        BB_TRY(bb_assembled_kernel_create(context->device, &kept->program, variant->is_inside,
                                          &variant->choice, &variant->kernel));
        memcpy(variant->was_inside, variant->is_inside,
               (size_t)kept->program.step_count * sizeof *variant->is_inside);
        variant->is_served = true;
        ++context->compiled;
    }
done:
    return status;
}

static bb_status assemble_and_queue(bb_kernel_launch *launch)
{
    bb_status status = BB_OK;
    BB_TRY(assemble(launch->context, launch->kept, launch->variant));
    BB_TRY(bb_assembled_kernel_launch(launch->variant->kernel, &launch->binding, launch->blocks));
done:
    return status;
}

// Replaces a variant that this device does not support by the default, with a warning.
static void fall_back(const bb_kernel_launch *launch)
{
    const bb_kernel_context *context = launch->context;
    kept_variant *variant = launch->variant;
    char text[BB_CHOICE_TEXT_BYTES];
    bb_status_record record;
    bb_status_save(&record);
    bb_status_clear();
    bb_choice_write(&variant->wanted, text);
    bb_log_warning("kernel %s: variant %s failed, using the default: %s", launch->kept->use.file,
                   text, record.message);
    variant->choice = bb_choice_default_over(context->device, &launch->binding);
    variant->is_default = true;
    variant->is_served = false;
    warn_replaced(context, launch->kept, variant, launch->binding.data);
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
    BB_REQUIRE(problems.count == 0, BB_INVALID, "kernel %s: %s", use->file,
               bb_text_string(&problems.lines));
    BB_TRY(BB_ALLOCATE(launch->kept->program.object_count, &launch->blocks));
    for (int i = 0; i < launch->kept->program.object_count; ++i) {
        launch->blocks[i] = blocks[i];
    }
    BB_TRY(choose(context, launch->kept, &launch->binding, &launch->variant));
    add_binding(launch->kept, launch->variant, &launch->binding);
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
    bb_status status = assemble_and_queue(launch);
    if (status != BB_OK && status != BB_MEMORY && !launch->variant->is_default) {
        fall_back(launch);
        status = assemble_and_queue(launch);
    }
    BB_TRY(status);
    launch->context->last_run = launch->variant;
    launch->context->last_text = NULL;
done:
    return status;
}

bb_kernel_launch_view bb_kernel_launch_query(const bb_kernel_launch *launch)
{
    return (bb_kernel_launch_view){launch->context, &launch->binding, launch->blocks};
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

bb_status bb_kernel_context_build(bb_kernel_context *context, const char *source, bb_build **out)
{
    bb_status status = BB_OK;
    kept_text *made = NULL;
    kept_text *text = context->texts;
    bb_status_record record;
    while (text != NULL && strcmp(bb_text_string(&text->source), source) != 0) {
        text = text->next;
    }
    if (text == NULL) {
        BB_TRY(BB_ZEROED(1, &made));
        BB_TRY(bb_text_add(&made->source, "%s", source));
        status = bb_build_create(context->device, source, NULL, &made->build);
        if (status == BB_INVALID) {
            bb_status_save(&record);
            BB_FAIL(BB_INTERNAL, "the joined text of several kernels does not compile: %s",
                    record.message);
        }
        BB_TRY(status);
        made->next = context->texts;
        context->texts = made;
        text = made;
        made = NULL;
        ++context->compiled;
    }
    *out = text->build;
done:
    release_text(&made);
    return status;
}

void bb_kernel_context_note_run(bb_kernel_context *context, const bb_build *build)
{
    context->last_text = build;
}

const char *bb_kernel_context_compiler(const bb_kernel_context *context)
{
    if (context->last_text != NULL) {
        return bb_build_compiler(context->last_text);
    }
    return context->last_run == NULL || context->last_run->kernel == NULL
               ? ""
               : bb_assembled_kernel_compiler(context->last_run->kernel);
}

bb_index bb_kernel_context_readied(const bb_kernel_context *context)
{
    return context->compiled;
}
