// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_run.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/kernels/wisdom.h"
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

// Evaluates with the variant's order of summation.
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
        bb_log_info("kernel %s is evaluated step by step (exact but slow): %s",
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

static const char default_name[] = "default";

bb_status bb_choice_wish_check(const bb_choice_wish *wish)
{
    bb_status status = BB_OK;
    BB_REQUIRE(
        !wish->is_deterministic ||
            (wish->variant == NULL && wish->wisdom == NULL && !wish->may_reorder),
        BB_INVALID,
        "--deterministic selects the default variant; remove --variant, --wisdom and --reorder");
    BB_REQUIRE(wish->variant == NULL || (wish->wisdom == NULL && !wish->may_reorder), BB_INVALID,
               "--variant selects the variant; remove --wisdom and --reorder");
done:
    return status;
}

static void set_choice(const bb_choice *choice, const char *origin, bb_kernel_choice *out)
{
    out->choice = *choice;
    bb_choice_write(choice, out->text);
    (void)snprintf(out->origin, sizeof out->origin, "%s", origin);
}

bb_status bb_kernel_choice_read(const bb_choice_wish *wish, bb_device_kind kind,
                                const bb_program *program, bb_kernel_choice *out)
{
    bb_status status = BB_OK;
    bb_choice choice = bb_choice_default(kind, program);
    char text[BB_CHOICE_TEXT_BYTES];
    char why[160];
    bb_choice_write(&choice, text);
    if (wish->variant == NULL || strcmp(wish->variant, default_name) == 0) {
        set_choice(&choice, wish->variant == NULL ? default_name : "given", out);
        goto done;
    }
    BB_TRY(bb_choice_read(wish->variant, &choice));
    BB_REQUIRE(bb_choice_is_legal(&choice, kind, program, why, sizeof why), BB_INVALID,
               "--variant %.96s: kernel %s has no such variant on %s: %s; its default is %s",
               wish->variant, program->name, bb_device_names[kind], why, text);
    set_choice(&choice, "given", out);
done:
    return status;
}

// True if there are records of this kernel, so that the compiler has to be determined.
static bool has_records(const bb_wisdom_file *file, const bb_wisdom_key *key)
{
    for (bb_index i = 0; i < file->count; ++i) {
        if (bb_wisdom_record_fit(&file->records[i], key) == BB_WISDOM_FITS) {
            return true;
        }
    }
    return false;
}

static bb_status make_key(bb_device *device, const bb_kernel_source *source,
                          const bb_program_data *data, bb_wisdom_key *out)
{
    bb_status status = BB_OK;
    out->device = bb_device_kind_of(device);
    bb_wisdom_name(source->path, out->kernel);
    BB_TRY(bb_wisdom_program(&source->description, out->program));
    BB_TRY(bb_wisdom_types(source->words, source->word_count, out->types));
    BB_TRY(bb_device_describe(device, &out->report));
    bb_wisdom_key_set_sizes(out, &source->program, data);
done:
    return status;
}

// Without a compiler no record applies, and the evaluator needs none.
static bb_status find_compiler(bb_device *device, bb_wisdom_key *key)
{
    bb_status status = bb_wisdom_find_compiler(device, key->compiler, sizeof key->compiler);
    if (status == BB_UNSUPPORTED) {
        (void)snprintf(key->compiler, sizeof key->compiler, "none");
        bb_status_clear();
        status = BB_OK;
    }
    return status;
}

// Finds records in the user's file or in the named one.
static bb_status find_user_variant(const bb_choice_wish *wish, bb_device *device,
                                   const bb_kernel_source *source, const bb_program_data *data,
                                   bb_kernel_choice *out, bool *is_found, bb_text *reasons)
{
    bb_status status = BB_OK;
    bb_wisdom_file file = {0};
    bb_wisdom_key key = {.size_count = 0};
    char *path = NULL;
    const bb_wisdom_record *record = NULL;
    bool is_exact = false;
    *is_found = false;
    status = bb_wisdom_file_place(wish->wisdom, &path);
    if (status == BB_IO && wish->wisdom == NULL) {
        bb_status_clear(); // without a home directory a user has no file
        status = BB_OK;
        goto done;
    }
    BB_TRY(status);
    BB_TRY(bb_wisdom_file_read(path, &file));
    BB_REQUIRE(file.count > 0 || wish->wisdom == NULL, BB_IO,
               "'%s' has no records; bitbudget tune --wisdom FILE writes them", path);
    BB_TRY(make_key(device, source, data, &key));
    if (has_records(&file, &key)) {
        BB_TRY(find_compiler(device, &key));
    }
    if (reasons != NULL) {
        BB_TRY(bb_text_add(reasons, "measured, of %s (%td records):\n", path, file.count));
    }
    BB_TRY(bb_wisdom_choose(&file, &key, &source->program, wish->may_reorder, &record, &is_exact,
                            reasons));
    if (record != NULL) {
        set_choice(&record->choice, "", out);
        (void)snprintf(out->origin, sizeof out->origin, "wisdom %s, set %.40s of %.160s",
                       is_exact ? "exact" : "nearest", record->set, path);
        *is_found = true;
    }
done:
    bb_wisdom_file_release(&file);
    BB_RELEASE(&path);
    return status;
}

static bb_status find_shipped_variant(bb_device *device, const bb_kernel_source *source,
                                      const bb_program_data *data, bb_kernel_choice *out,
                                      bb_text *reasons)
{
    bb_status status = BB_OK;
    bb_wisdom_file file = {0};
    bb_wisdom_key key = {.size_count = 0};
    const bb_wisdom_record *record = NULL;
    char origin[BB_SHIPPED_ORIGIN_BYTES];
    BB_TRY(bb_wisdom_read_shipped(&file));
    BB_TRY(make_key(device, source, data, &key));
    BB_TRY(bb_wisdom_choose_shipped(&file, &key, &source->program, &record, origin, reasons));
    if (record != NULL) {
        set_choice(&record->choice, origin, out);
    }
done:
    bb_wisdom_file_release(&file);
    return status;
}

bb_status bb_kernel_choice_find(const bb_choice_wish *wish, bb_device *device,
                                const bb_kernel_source *source, const bb_binding *binding,
                                bb_kernel_choice *out, bb_text *reasons)
{
    bb_status status = BB_OK;
    bool is_found = false;
    BB_TRY(bb_choice_wish_check(wish));
    BB_TRY(bb_kernel_choice_read(wish, bb_device_kind_of(device), &source->program, out));
    if (wish->variant == NULL || strcmp(wish->variant, default_name) == 0) {
        const bb_choice choice = bb_choice_default_over(device, binding);
        set_choice(&choice, wish->variant == NULL ? default_name : "given", out);
    }
    if (wish->variant != NULL || wish->is_deterministic) {
        goto done;
    }
    BB_TRY(find_user_variant(wish, device, source, binding->data, out, &is_found, reasons));
    if (!is_found) {
        BB_TRY(find_shipped_variant(device, source, binding->data, out, reasons));
    }
done:
    return status;
}
