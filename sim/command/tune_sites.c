// SPDX-License-Identifier: Apache-2.0
#include "sim/command/tune_sites.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/interrupt.h"
#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/tuning/caller_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 64, WORD_BYTES = 40 };

typedef struct bb_tune_site {
    bb_device_kind device;
    char file[FILE_BYTES]; // of configs/kernels
    char names[BB_KERNEL_CONTEXT_TYPES][WORD_BYTES], types[BB_KERNEL_CONTEXT_TYPES][WORD_BYTES];
    int type_count, object_count;
    bb_program_data data[BB_TRIAL_OBJECTS]; // without elements
    double bytes;                           // of all objects
} bb_tune_site;

void bb_tune_sites_release(bb_tune_sites *sites)
{
    BB_RELEASE(&sites->items);
    *sites = (bb_tune_sites){.count = 0};
}

bb_status bb_tune_sites_meet(void *context, bb_device *device, const bb_kernel_site *site)
{
    bb_status status = BB_OK;
    bb_tune_sites *sites = context;
    const bb_program *program = site->program;
    if (program->object_count > BB_TRIAL_OBJECTS) {
        goto done;
    }
    if (sites->count == sites->capacity) {
        const bb_index capacity = 2 * sites->capacity + 64;
        BB_TRY(bb_memory_resize(capacity, sizeof *sites->items, (void **)&sites->items));
        sites->capacity = capacity;
    }
    bb_tune_site *added = &sites->items[sites->count++];
    *added = (bb_tune_site){.device = bb_device_kind_of(device),
                            .type_count = site->use->type_count,
                            .object_count = program->object_count};
    (void)snprintf(added->file, FILE_BYTES, "%s", site->use->file);
    for (int i = 0; i < added->type_count; ++i) {
        (void)snprintf(added->names[i], WORD_BYTES, "%s", site->use->types[i].name);
        (void)snprintf(added->types[i], WORD_BYTES, "%s", site->use->types[i].type);
    }
    for (int i = 0; i < added->object_count; ++i) {
        const double bytes = (double)bb_element_type_row(program->objects[i].type)->bytes;
        added->data[i] = (bb_program_data){site->data[i].columns, site->data[i].rows, NULL};
        added->bytes += bytes * (double)site->data[i].columns * (double)site->data[i].rows;
    }
done:
    return status;
}

bool bb_tune_sites_have(const bb_tune_sites *sites, bb_device_kind kind)
{
    bool found = false;
    for (bb_index i = 0; i < sites->count && !found; ++i) {
        found = sites->items[i].device == kind;
    }
    return found;
}

// The largest first; equal ones by name, so that the order is the same in every run.
static int compare(const void *first, const void *second)
{
    const bb_tune_site *a = first;
    const bb_tune_site *b = second;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : strcmp(a->file, b->file);
}

// What a site is made of again.
typedef struct subject {
    bb_description description;
    bb_program program;
    bb_type_binding types[BB_KERNEL_CONTEXT_TYPES];
    bb_scalar *parameters; // all 1
    bb_caller_subject *caller;
} subject;

static void release(subject *made)
{
    bb_caller_subject_destroy(&made->caller);
    BB_RELEASE(&made->parameters);
    bb_program_release(&made->program);
    bb_description_release(&made->description);
}

static bb_status check(const bb_tune_site *site, const bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_REQUIRE(problems->count == 0, BB_UNSUPPORTED, "kernel %s: %s", site->file,
               bb_text_string(&problems->lines));
done:
    return status;
}

static bb_status make(const bb_tune_site *site, subject *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {.count = 0};
    const char *text = bb_kernel_manager_text(site->file);
    for (int i = 0; i < site->type_count; ++i) {
        out->types[i] = (bb_type_binding){site->names[i], site->types[i]};
    }
    BB_TRY(bb_notation_reader_read(text, (bb_index)strlen(text), site->file, &problems,
                                   &out->description));
    BB_TRY(check(site, &problems));
    BB_TRY(bb_program_create(&out->description, out->types, site->type_count, &problems,
                             &out->program));
    BB_TRY(check(site, &problems));
    BB_TRY(BB_ZEROED(out->program.parameter_count + 1, &out->parameters));
    for (int i = 0; i < out->program.parameter_count; ++i) {
        out->parameters[i] = (bb_scalar){.parts = {1.0}, .integer = 1};
    }
    BB_TRY(bb_caller_subject_create(&out->program, "study", site->data, out->parameters, &problems,
                                    &out->caller));
    BB_TRY(check(site, &problems));
done:
    bb_problems_release(&problems);
    return status;
}

static bb_status tune(const bb_tune_site *site, const subject *made, bb_tune_work *work)
{
    bb_status status = BB_OK;
    bb_tuning *tuning = NULL;
    bb_wisdom_key key;
    const bb_kernel_use use = {.file = site->file, .type_count = site->type_count};
    bb_kernel_use typed = use;
    memcpy(typed.types, made->types, sizeof typed.types);
    const bb_kernel_site as_met = {&typed, &made->description, &made->program, site->data};
    BB_TRY(bb_kernel_variants_key(work->device, &as_met, &key));
    memcpy(key.compiler, work->key.compiler, sizeof key.compiler);
    work->key = key;
    (void)snprintf(work->kernel, sizeof work->kernel, "%s", key.kernel);
    BB_TRY(bb_tune_work_create_tuning(work, bb_caller_subject_table(made->caller), &tuning));
    BB_TRY(bb_tune_work_run(work, tuning, 0, site->type_count > 0 ? site->types[0] : ""));
done:
    bb_tuning_destroy(&tuning);
    return status;
}

bb_status bb_tune_sites_run(bb_tune_sites *sites, bb_tune_work *work, bb_index *tuned)
{
    bb_status status = BB_OK;
    const bb_device_kind kind = work->key.device;
    if (sites->count > 0) {
        qsort(sites->items, (size_t)sites->count, sizeof *sites->items, compare);
    }
    for (bb_index i = 0; i < sites->count; ++i) {
        const bb_tune_site *site = &sites->items[i];
        subject made = {.caller = NULL};
        if (site->device != kind || bb_clock_seconds() >= work->end_s || bb_interrupt_noted()) {
            continue;
        }
        work->remainder = 1; // the large ones have all the time that they need
        status = make(site, &made);
        if (status == BB_UNSUPPORTED || status == BB_INVALID) {
            bb_log_info("%s is left out: %s", site->file, bb_status_message());
            bb_status_clear();
            status = BB_OK;
        } else if (status == BB_OK) {
            status = tune(site, &made, work);
            ++*tuned;
        }
        release(&made);
        BB_TRY(status);
    }
done:
    return status;
}
