// SPDX-License-Identifier: Apache-2.0
//
// bitbudget tune: measures and records the fastest variants of kernels on this machine.
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/cli/command.h"
#include "sim/cli/tune_work.h"
#include "sim/kernels/kernel_run.h"
#include "sim/kernels/kernel_source.h"
#include "sim/kernels/object_file.h"
#include "sim/run/device_choice.h"
#include "solvers/kernels/tuning/caller_subject.h"
#include "solvers/kernels/tuning/manager_subject.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Kernel to tune. Zero-initialise; release with release_subject.
typedef struct kernel_subject {
    bb_kernel_source source;
    bb_object_file_data data;
    bb_scalar *parameters;
    bb_caller_subject *subject;
} kernel_subject;

static const char subject_set[] = "own";

static bb_status read_parameters(const bb_options *options, kernel_subject *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_scalar *ones = NULL;
    const bb_program *program = &out->source.program;
    BB_TRY(BB_ZEROED(program->parameter_count + 1, &ones));
    BB_TRY(BB_ZEROED(program->parameter_count + 1, &out->parameters));
    for (int i = 0; i < program->parameter_count; ++i) {
        ones[i] = (bb_scalar){.parts = {1.0}, .integer = 1};
    }
    BB_TRY(bb_kernel_source_parameters(program, options->kernel.parameters.words,
                                       options->kernel.parameters.count, ones, &problems,
                                       out->parameters));
    BB_TRY(bb_kernel_source_report(&out->source, &problems));
done:
    BB_RELEASE(&ones);
    bb_problems_release(&problems);
    return status;
}

static bb_status make_subject(kernel_subject *out)
{
    bb_status status = BB_OK;
    bb_problems problems = {0};
    bb_status_record failure;
    bb_index limit = 0;
    status = bb_caller_subject_create(&out->source.program, subject_set, out->data.objects,
                                      out->parameters, &problems, &out->subject);
    if (status == BB_UNSUPPORTED) {
        bb_status_save(&failure);
        bb_status_clear();
        BB_FAIL(BB_INVALID, "%s; --in FILE.h5 reads them from datasets", failure.message);
    }
    BB_TRY(status);
    BB_TRY(bb_kernel_source_report(&out->source, &problems));
    const char *name = bb_caller_subject_synthetic(out->subject, &limit);
    if (name != NULL) {
        bb_log_info("elements of %s and other integers are random from 0 to %td; --in FILE.h5 "
                    "reads them from datasets",
                    name, limit - 1);
    }
done:
    bb_problems_release(&problems);
    return status;
}

static bb_status read_subject(const bb_options *options, kernel_subject *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_kernel_source_load(options->operands[0], options->operands + 1,
                                 options->operand_count - 1, &out->source));
    BB_TRY(bb_object_file_find(options->kernel.input, options->kernel.set, out->source.path,
                               &out->source.program, &out->data));
    BB_TRY(read_parameters(options, out));
    BB_TRY(make_subject(out));
done:
    return status;
}

static void release_subject(kernel_subject *subject)
{
    bb_caller_subject_destroy(&subject->subject);
    BB_RELEASE(&subject->parameters);
    bb_object_file_release(&subject->data);
    bb_kernel_source_release(&subject->source);
}

enum { TYPES = 2, TYPE_BYTES = 48 };

static const char *const type_names[TYPES] = {"SP", "DP"};

// Kernels to tune and the options for them.
typedef struct work {
    const bb_options *options;
    const bb_kernel_manager *managers[64]; // none for a user-defined kernel
    int manager_count;
    bool is_own;
    kernel_subject users_kernel;
    bool has_type[TYPES];
    bool has_set[BB_BENCHMARK_COUNT];
    bb_tune_work common;
} work;

static const bb_kernel_manager *find_manager(const char *name)
{
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    for (int i = 0; i < count; ++i) {
        if (strcmp(managers[i].name, name) == 0) {
            return &managers[i];
        }
    }
    return NULL;
}

static bb_status select_managers(work *self)
{
    bb_status status = BB_OK;
    const bb_options *options = self->options;
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    const int limit = sizeof self->managers / sizeof self->managers[0];
    BB_REQUIRE(options->operand_count <= limit, BB_INVALID,
               "%td kernels are too many; name at most %d", options->operand_count, limit);
    for (int i = 0; i < count && options->operand_count == 0; ++i) {
        self->managers[self->manager_count++] = &managers[i];
    }
    for (bb_index i = 0; i < options->operand_count; ++i) {
        const bb_kernel_manager *found = NULL;
        BB_TRY(bb_kernel_manager_find(options->operands[i], &found));
        bool is_new = true;
        for (int k = 0; k < self->manager_count; ++k) {
            is_new = is_new && self->managers[k] != found;
        }
        if (is_new) {
            self->managers[self->manager_count++] = found;
        }
    }
done:
    return status;
}

static bool has_sizes(const bb_options *options)
{
    return options->kernel.set != NULL && strchr(options->kernel.set, '=') != NULL;
}

// Refuses options that are valid only for a user-defined kernel.
static bb_status refuse_own_options(const work *self)
{
    bb_status status = BB_OK;
    const bb_options *options = self->options;
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    BB_REQUIRE(name != NULL || (!has_sizes(options) && options->kernel.input == NULL), BB_INVALID,
               "sizes (--set A=2048x1024,...) and --in need a single kernel; name its file");
    BB_REQUIRE(
        !has_sizes(options) && options->kernel.input == NULL, BB_INVALID,
        "%s has its own benchmark data: --set accepts published, large, odd and small; use sizes "
        "or --in with a kernel file such as %s",
        name, find_manager(name)->file);
    BB_REQUIRE(options->kernel.parameters.count == 0, BB_INVALID,
               "-p needs a kernel file; the benchmark data of named kernels include parameters");
done:
    return status;
}

// Selects user-defined kernels if an operand is not the name of a kernel with benchmark data.
static bb_status find_mode(work *self)
{
    bb_status status = BB_OK;
    const bb_options *options = self->options;
    char *path = NULL;
    const char *name = NULL;
    bb_index names = 0;
    for (bb_index i = 0; i < options->operand_count; ++i) {
        const char *word = options->operands[i];
        const bool is_type = strchr(word, '=') != NULL;
        names += !is_type;
        self->is_own = self->is_own || is_type || find_manager(word) == NULL;
        name = !is_type && (name == NULL || find_manager(word) == NULL) ? word : name;
    }
    if (!self->is_own) {
        BB_TRY(refuse_own_options(self));
        goto done;
    }
    BB_REQUIRE(name != NULL && strchr(options->operands[0], '=') == NULL, BB_INVALID,
               "%s: give the file of a kernel before its types, as FILE.kernel %s",
               options->operands[0], options->operands[0]);
    BB_REQUIRE(find_manager(name) == NULL, BB_INVALID,
               "%s has benchmark data: use --type SP or DP; NAME=TYPE needs a file, as %s %s", name,
               find_manager(name)->file, options->operands[options->operand_count - 1]);
    status = bb_kernel_source_find(name, &path);
    if (status == BB_IO && strpbrk(name, "./") == NULL) {
        BB_TRY(
            bb_kernel_manager_find(name, &self->managers[0])); // the error names the nearest kernel
    }
    BB_TRY(status);
    BB_REQUIRE(names == 1, BB_INVALID,
               "%td kernels: tune '%s' alone, since the sizes apply to one kernel only", names,
               name);
    BB_REQUIRE(options->kernel.type == NULL, BB_INVALID,
               "--type needs kernels with benchmark data; set types of '%s' by NAME=TYPE", name);
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status read_type(work *self)
{
    bb_status status = BB_OK;
    const char *type = self->options->kernel.type;
    bool has_one = false;
    for (int i = 0; i < TYPES; ++i) {
        self->has_type[i] = type == NULL || strcmp(type, type_names[i]) == 0;
        has_one = has_one || self->has_type[i];
    }
    BB_REQUIRE(has_one, BB_INVALID, "--type %.40s: use SP or DP", type);
done:
    return status;
}

static bb_status read_sets(work *self)
{
    bb_status status = BB_OK;
    static const char *const names[BB_BENCHMARK_COUNT] = {"published", "large", "odd", "small"};
    const char *place =
        self->options->kernel.set != NULL ? self->options->kernel.set : "published,large,odd";
    while (*place != '\0') {
        const size_t length = strcspn(place, ",");
        int found = 0;
        while (found < BB_BENCHMARK_COUNT &&
               (strlen(names[found]) != length || strncmp(names[found], place, length) != 0)) {
            ++found;
        }
        BB_REQUIRE(found < BB_BENCHMARK_COUNT, BB_INVALID,
                   "--set %.80s: use published, large, odd, small, separated by commas",
                   self->options->kernel.set);
        self->has_set[found] = true;
        place += length + (place[length] == ',');
    }
done:
    return status;
}

static bb_status select_kernels(work *self)
{
    bb_status status = BB_OK;
    BB_TRY(find_mode(self));
    if (self->is_own) {
        BB_TRY(read_subject(self->options, &self->users_kernel));
        goto done;
    }
    BB_TRY(select_managers(self));
    BB_TRY(read_type(self));
    BB_TRY(read_sets(self));
done:
    return status;
}

// True if a set is tuned. A launch of the large matrix product takes many seconds on a processor
// and gives no more information than the set `published`, so that it needs an explicit request.
static bool is_selected(const work *self, const bb_kernel_manager *manager, int set)
{
    return self->has_set[set] &&
           (set != BB_BENCHMARK_LARGE || self->options->kernel.set != NULL ||
            !manager->is_compute_bound || !bb_tune_work_is_processor(&self->common));
}

static bb_status tune_kernel(work *self, const bb_kernel_manager *manager, const char *type)
{
    bb_status status = BB_OK;
    bb_manager_subject *subject = NULL;
    bb_tuning *tuning = NULL;
    bb_type_binding types[BB_MANAGER_TYPES];
    char texts[BB_MANAGER_TYPES][TYPE_BYTES];
    char *words[BB_MANAGER_TYPES];
    const int count = bb_kernel_manager_types(manager, type, types);
    for (int i = 0; i < count; ++i) {
        (void)snprintf(texts[i], TYPE_BYTES, "%s=%s", types[i].name, types[i].type);
        words[i] = texts[i];
    }
    (void)snprintf(self->common.kernel, sizeof self->common.kernel, "%s", manager->name);
    BB_TRY(bb_wisdom_types(words, count, self->common.key.types));
    BB_TRY(bb_manager_subject_create(manager, type, &subject));
    BB_TRY(bb_tune_work_create_tuning(&self->common, bb_manager_subject_table(subject), &tuning));
    BB_TRY(bb_wisdom_program(bb_manager_subject_description(subject), self->common.key.program));
    for (int i = 0; i < BB_BENCHMARK_COUNT && !bb_interrupt_noted(); ++i) {
        if (is_selected(self, manager, i)) {
            BB_TRY(bb_tune_work_run(&self->common, tuning, i, type));
        }
        self->common.remainder -= self->has_set[i];
    }
done:
    bb_tuning_destroy(&tuning);
    bb_manager_subject_destroy(&subject);
    return status;
}

// Type of the first placeholder, shown in the table.
static const char *first_type(const work *self)
{
    const bb_kernel_source *source = &self->users_kernel.source;
    return source->word_count > 0 ? strchr(source->words[0], '=') + 1 : "";
}

static bb_status tune_own(work *self)
{
    bb_status status = BB_OK;
    bb_tuning *tuning = NULL;
    const bb_kernel_source *source = &self->users_kernel.source;
    bb_wisdom_name(source->path, self->common.kernel);
    BB_TRY(bb_wisdom_types(source->words, source->word_count, self->common.key.types));
    BB_TRY(bb_wisdom_program(&source->description, self->common.key.program));
    BB_TRY(bb_tune_work_create_tuning(
        &self->common, bb_caller_subject_table(self->users_kernel.subject), &tuning));
    BB_TRY(bb_tune_work_run(&self->common, tuning, 0, first_type(self)));
done:
    bb_tuning_destroy(&tuning);
    return status;
}

static bb_status tune_all(work *self)
{
    bb_status status = BB_OK;
    int sets = 0;
    for (int i = 0; i < BB_BENCHMARK_COUNT; ++i) {
        sets += self->has_set[i];
    }
    self->common.remainder = self->manager_count * (self->has_type[0] + self->has_type[1]) * sets;
    self->common.end_s = isnan(self->options->kernel.budget_s)
                             ? INFINITY
                             : bb_clock_seconds() + self->options->kernel.budget_s;
    if (self->is_own) {
        self->common.remainder = 1;
        BB_TRY(tune_own(self));
    }
    for (int i = 0; i < self->manager_count; ++i) {
        for (int t = 0; t < TYPES && !bb_interrupt_noted(); ++t) {
            if (self->has_type[t]) {
                BB_TRY(tune_kernel(self, self->managers[i], type_names[t]));
            }
        }
    }
done:
    return status;
}

// Refuses options of kernels together with options of a study.
static bb_status check_options(const bb_options *options)
{
    bb_status status = BB_OK;
    if (options->kernel.study == NULL) {
        BB_REQUIRE(isnan(options->max_loss) && options->output == NULL && !options->force,
                   BB_INVALID, "--max-loss, -o and --force need --for STUDY");
        goto done;
    }
    BB_REQUIRE(
        options->kernel.set == NULL && options->kernel.type == NULL &&
            options->kernel.input == NULL && options->kernel.parameters.count == 0,
        BB_INVALID,
        "--for %s: the run determines kernels, types and sizes; remove --set, --type, --in and -p",
        options->kernel.study);
    BB_REQUIRE(isnan(options->max_loss) || options->max_loss >= 0.0, BB_INVALID,
               "--max-loss %g: use a number of at least 0", options->max_loss);
    BB_REQUIRE(!options->kernel.reorder || options->kernel.wisdom != NULL, BB_INVALID,
               "--reorder with --for needs --wisdom FILE; name that file in the study");
done:
    return status;
}

bb_status bb_command_tune(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    work self = {.options = options, .common = {.options = options}};
    bb_device_kind kind = BB_DEVICE_CPU;
    char kept[BB_INTERRUPT_LOSS_BYTES];
    BB_TRY(bb_device_choice_require(bb_command_device(options)));
    BB_TRY(check_options(options));
    if (options->kernel.study != NULL) {
        BB_TRY(bb_tune_work_run_study(options, experiments));
        goto done;
    }
    BB_TRY(select_kernels(&self));
    BB_TRY(bb_kernel_run_find_device(options->device, &kind));
    BB_TRY(bb_tune_work_open(&self.common, kind));
    bb_log_info("tuning on %s, %s; recording in %s", bb_device_names[self.common.key.device],
                self.common.key.report.name, self.common.path);
    bb_interrupt_defer(true);
    status = tune_all(&self);
    bb_tune_work_print(&self.common);
    (void)snprintf(kept, sizeof kept, "results until then are recorded in '%s' and used",
                   bb_interrupt_path(self.common.path));
    bb_interrupt_loses("");
    bb_interrupt_keeps(kept);
    bb_interrupt_deliver();
    bb_interrupt_keeps("");
    BB_TRY(status);
    (void)printf("records: %s\n", self.common.path);
done:
    bb_interrupt_defer(false);
    release_subject(&self.users_kernel);
    bb_tune_work_release(&self.common);
    return status;
}
