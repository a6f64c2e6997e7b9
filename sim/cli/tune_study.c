// SPDX-License-Identifier: Apache-2.0
//
// tune --for STUDY: searches number formats for slots and tunes the kernels of a run.
#include "core/clock.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/cli/tune_work.h"
#include "sim/kernels/kernel_variants.h"
#include "sim/pipelines/search.h"
#include "sim/run/device_choice.h"
#include "sim/run/study.h"
#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/tuning/caller_subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = 64, WORD_BYTES = 40 };

typedef struct kernel_site {
    bb_device_kind device;
    char file[FILE_BYTES]; // in configs/kernels
    char names[BB_KERNEL_CONTEXT_TYPES][WORD_BYTES], types[BB_KERNEL_CONTEXT_TYPES][WORD_BYTES];
    int type_count, object_count;
    bb_program_data data[BB_TRIAL_OBJECTS]; // without elements
    double bytes;                           // total of all objects
} kernel_site;

// Kernels, types and sizes, largest first. Zero-initialise; release with release_sites.
typedef struct site_list {
    kernel_site *items; // [count]
    bb_index count, capacity;
} site_list;

static void release_sites(site_list *sites)
{
    BB_RELEASE(&sites->items);
    *sites = (site_list){.count = 0};
}

static bb_status add_site(void *context, bb_device *device, const bb_kernel_site *site)
{
    bb_status status = BB_OK;
    site_list *sites = context;
    const bb_program *program = site->program;
    if (program->object_count > BB_TRIAL_OBJECTS) {
        goto done;
    }
    if (sites->count == sites->capacity) {
        const bb_index capacity = 2 * sites->capacity + 64;
        BB_TRY(bb_memory_resize(capacity, sizeof *sites->items, (void **)&sites->items));
        sites->capacity = capacity;
    }
    kernel_site *added = &sites->items[sites->count++];
    *added = (kernel_site){.device = bb_device_kind_of(device),
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

static bool has_sites(const site_list *sites, bb_device_kind kind)
{
    bool found = false;
    for (bb_index i = 0; i < sites->count && !found; ++i) {
        found = sites->items[i].device == kind;
    }
    return found;
}

// Orders sites by decreasing size, then by name, so that the order is reproducible.
static int compare(const void *first, const void *second)
{
    const kernel_site *a = first;
    const kernel_site *b = second;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : strcmp(a->file, b->file);
}

// Kernel of a call site, rebuilt from its description.
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

static bb_status check(const kernel_site *site, const bb_problems *problems)
{
    bb_status status = BB_OK;
    BB_REQUIRE(problems->count == 0, BB_UNSUPPORTED, "kernel %s: %s", site->file,
               bb_text_string(&problems->lines));
done:
    return status;
}

static bb_status make(const kernel_site *site, subject *out)
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

static bb_status tune(const kernel_site *site, const subject *made, bb_tune_work *work)
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

static bb_status tune_sites(site_list *sites, bb_tune_work *work, bb_index *tuned)
{
    bb_status status = BB_OK;
    const bb_device_kind kind = work->key.device;
    if (sites->count > 0) {
        qsort(sites->items, (size_t)sites->count, sizeof *sites->items, compare);
    }
    for (bb_index i = 0; i < sites->count; ++i) {
        const kernel_site *site = &sites->items[i];
        subject made = {.caller = NULL};
        if (site->device != kind || bb_clock_seconds() >= work->end_s || bb_interrupt_noted()) {
            continue;
        }
        work->remainder = 1; // the large sites use as much time as they need
        status = make(site, &made);
        if (status == BB_UNSUPPORTED || status == BB_INVALID) {
            bb_log_info("%s is skipped: %s", site->file, bb_status_message());
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

enum { DRAWS = 3, SEED_BYTES = 48 };

static const double kernel_seconds = 60.0; // default of --budget
static const char pipeline_name[] = "tuned";

typedef struct work {
    const bb_options *options;
    const bb_experiment_table *experiments;
    const bb_experiment *experiment;
    const bb_slot_table *table;
    bb_config *config;
    bb_run_options run;
    char *path; // path of the study to write
    void *trials;
    double tolerance;
    bb_index draws; // number of draws: 1 for measured frames
    bb_search search;
    bb_search_slots slots;
    bb_slot_score drawn;  // score of the last computed draw
    bb_search_trial best; // last accepted trial
    bb_text text;         // text of the study
    char *wisdom;         // tuning cache named by the study; NULL: none
    site_list sites;
    bool has_warned; // warnings have been printed in one run; later runs would repeat them
} work;

static void finish(work *self)
{
    if (self->trials != NULL) {
        self->table->close(&self->trials);
    }
    release_sites(&self->sites);
    bb_text_release(&self->text);
    BB_RELEASE(&self->wisdom);
    BB_RELEASE(&self->path);
    bb_config_destroy(&self->config);
}

static bb_status find_path(const bb_options *options, char **out)
{
    if (options->output != NULL) {
        return bb_memory_text(options->output, out);
    }
    const char *slash = strrchr(options->kernel.study, '/');
    const char *name = slash == NULL ? options->kernel.study : slash + 1;
    const char *dot = strrchr(name, '.');
    const int length = dot != NULL && dot != name ? (int)(dot - name) : (int)strlen(name);
    return bb_memory_printf(out, "%.*s-tuned.yaml", length, name);
}

// Loads the study as `run` does: its name is inserted before the overrides.
static bb_status load(work *self)
{
    bb_status status = BB_OK;
    bb_options as_run = *self->options;
    char **operands = NULL;
    BB_TRY(BB_ALLOCATE(self->options->operand_count + 1, &operands));
    BB_TRY(bb_memory_text(self->options->kernel.study, &operands[0]));
    for (bb_index i = 0; i < self->options->operand_count; ++i) {
        operands[i + 1] = self->options->operands[i];
    }
    as_run.operands = operands;
    as_run.operand_count = self->options->operand_count + 1;
    status = bb_command_load(&as_run, self->experiments, bb_device_choice_require, &self->config);
    BB_RELEASE(&operands[0]);
    BB_TRY(status);
done:
    BB_RELEASE(&operands);
    return status;
}

static bb_status start(work *self)
{
    bb_status status = BB_OK;
    const bb_options *options = self->options;
    bb_file_list inputs = {0};
    BB_TRY(load(self));
    self->experiment = bb_experiment_find(self->experiments, bb_config_schema(self->config)->name);
    self->table = self->experiment->slots;
    BB_REQUIRE(self->table != NULL, BB_INVALID,
               "--for %s: pipelines of experiment %s have no number formats to choose",
               options->kernel.study, self->experiment->name);
    BB_TRY(find_path(options, &self->path));
    BB_TRY(bb_command_inputs(options, self->config, &inputs));
    BB_TRY(bb_file_check(self->path, false, options->force, 0.0, &inputs));
    const void *study = bb_config_study(self->config);
    self->tolerance = isnan(options->max_loss) ? self->table->tolerance(study) : options->max_loss;
    self->draws = self->table->has_draws(study) ? DRAWS : 1;
    self->run = (bb_run_options){.threads = options->threads};
    BB_TRY(bb_threads_set(options->threads));
    BB_TRY(self->table->open(study, &self->run, &self->trials));
done:
    bb_file_list_release(&inputs);
    return status;
}

static void print_trial(const char *slot, const char *numbers, const bb_search_trial *trial,
                        const char *verdict)
{
    (void)printf("%-12s %-12s %12.0f %12.4g %10.4g  %s\n", slot, numbers, trial->wrong, trial->loss,
                 1e-6 * trial->cost, verdict);
    (void)fflush(stdout);
}

static bb_status evaluate(void *context, const void *state, bb_index draw, double *loss)
{
    bb_status status = BB_OK;
    work *self = context;
    BB_TRY(self->table->score(self->trials, state, draw, &self->drawn));
    *loss = self->drawn.error;
done:
    return status;
}

static double cost(void *context)
{
    return ((const work *)context)->drawn.bytes;
}

static double wrong(void *context)
{
    return ((const work *)context)->drawn.wrong;
}

// Prints the worst draw of a trial, or the first draw beyond a limit.
static void print_tried(void *context, int slot, const int *state, bool accepted)
{
    work *self = context;
    const bb_slot_table *table = self->table;
    const bb_search_trial *last = &self->search.last;
    self->best = accepted ? *last : self->best;
    print_trial(slot < 0 ? "all" : table->slots[slot], table->numbers[slot < 0 ? 0 : state[slot]],
                last, accepted ? "accepted" : "-");
}

static bb_status search(work *self)
{
    bb_status status = BB_OK;
    const bb_slot_table *table = self->table;
    char error[32];
    self->search = (bb_search){.name = pipeline_name,
                               .max_loss = self->tolerance,
                               .draws = self->draws,
                               .context = self,
                               .evaluate = evaluate,
                               .cost = cost,
                               .wrong = wrong};
    self->slots = (bb_search_slots){
        .table = table, .study = bb_config_study(self->config), .tried = print_tried};
    (void)snprintf(error, sizeof error, "%s %s", table->error, table->unit);
    (void)printf("%s 0, and %s within %.4g %s of the reference, in %td %s:\n", table->wrong,
                 table->error, self->tolerance, table->unit, self->draws,
                 self->draws == 1 ? "draw" : "draws");
    (void)printf("%-12s %-12s %12s %12s %10s\n", "slot", "numbers", table->wrong, error, "MB");
    BB_TRY(bb_search_run_slots(&self->search, &self->slots));
    BB_REQUIRE(self->search.found, BB_INVALID,
               "--for %s: target missed even with %s in every slot, so that precision is not the "
               "cause; increase --max-loss, or reduce other losses (camera, noise)",
               self->options->kernel.study, table->numbers[0]);
    table->close(&self->trials);
done:
    return status;
}

static bb_status print_study(work *self)
{
    bb_text_release(&self->text);
    return self->table->write(bb_config_study(self->config), self->slots.state, pipeline_name,
                              self->wisdom, self->wisdom != NULL && self->options->kernel.reorder,
                              &self->text);
}

// Computes the whole study with the formats found and a seed (0: the study's own).
static bb_status compute(work *self, bb_index seed, const bb_kernel_wish *kernels,
                         bb_slot_score *out)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_results *results = NULL;
    bb_problems problems = {0};
    char override[SEED_BYTES];
    const char *const overrides[] = {override};
    const bb_config_file file = {self->path, bb_text_string(&self->text)};
    bb_run_options run = self->run;
    run.kernels = kernels;
    (void)snprintf(override, sizeof override, "seed=%td", seed);
    status = bb_experiment_load_text(self->experiments, &file, overrides, seed > 0 ? 1 : 0,
                                     &problems, &config);
    if (problems.count > 0) {
        bb_text_print(bb_text_string(&problems.lines), stderr);
    }
    BB_TRY(status);
    BB_TRY(bb_results_create(&results));
    bb_log_set_level(self->has_warned ? BB_LOG_SILENT : BB_LOG_QUIET);
    status = self->experiment->run(bb_config_study(config), &run, results);
    bb_log_set_level(self->options->level);
    self->has_warned = true;
    BB_TRY(status);
    BB_TRY(self->table->read(results, pipeline_name, out));
done:
    bb_problems_release(&problems);
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    return status;
}

static bb_status tune_device(work *self, bb_device_kind kind, bb_index *tuned)
{
    bb_status status = BB_OK;
    bb_tune_work tuning = {.options = self->options};
    BB_TRY(bb_tune_work_open(&tuning, kind));
    tuning.end_s =
        bb_clock_seconds() +
        (isnan(self->options->kernel.budget_s) ? kernel_seconds : self->options->kernel.budget_s);
    status = tune_sites(&self->sites, &tuning, tuned);
    bb_tune_work_print(&tuning);
    BB_TRY(status);
    (void)printf("records: %s\n", tuning.path);
done:
    bb_tune_work_release(&tuning);
    return status;
}

// Tunes the kernels launched by the study's run, at its sizes.
static bb_status tune_kernels(work *self)
{
    bb_status status = BB_OK;
    bb_slot_score score;
    bb_index tuned = 0;
    const bb_kernel_wish wish = {
        .is_deterministic = true, .context = &self->sites, .visit = add_site};
    BB_TRY(compute(self, 0, &wish, &score));
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        if (has_sites(&self->sites, kind)) {
            BB_TRY(tune_device(self, kind, &tuned));
        }
    }
    (void)printf("kernels: tuned %td of %td launched by the run, by type and size\n", tuned,
                 self->sites.count);
    if (tuned > 0 && self->options->kernel.wisdom != NULL &&
        access(self->options->kernel.wisdom, F_OK) == 0) {
        BB_TRY(bb_memory_text(self->options->kernel.wisdom, &self->wisdom));
        BB_TRY(print_study(self));
    }
done:
    return status;
}

// Evaluates a whole run. If draws differ, the run uses another seed than the search.
static bb_status evaluate_whole(void *context, const void *state, bb_index draw, double *loss)
{
    bb_status status = BB_OK;
    work *self = context;
    const bb_study *study = bb_config_study(self->config);
    (void)state;
    BB_TRY(compute(self, self->draws > 1 ? study->seed + draw + 1 : 0, NULL, &self->drawn));
    *loss = self->drawn.error;
done:
    return status;
}

// Reverts changes that exceed a limit in new draws, the last change first.
static bb_status confirm(work *self)
{
    bb_status status = BB_OK;
    const bb_slot_table *table = self->table;
    const bb_study *study = bb_config_study(self->config);
    const bb_search_candidate candidate = {pipeline_name, NAN, NULL};
    bb_search whole = self->search;
    const bb_search_trial *worst = &whole.last;
    bool accepted = false;
    whole.evaluate = evaluate_whole;
    BB_TRY(bb_search_try(&whole, &candidate, &accepted));
    while (!accepted && self->slots.change_count > 0) {
        const int slot = self->slots.changes[self->slots.change_count - 1].slot;
        print_trial(table->slots[slot], table->numbers[self->slots.state[slot]], worst,
                    "reverted: target missed with another seed");
        (void)bb_search_slots_retreat(&self->slots);
        BB_TRY(print_study(self));
        BB_TRY(bb_search_try(&whole, &candidate, &accepted));
    }
    BB_REQUIRE(accepted, BB_INVALID,
               "--for %s: with other seeds, from %td, the target is missed even with %s in every "
               "slot: %s %.0f, %s %.4g %s",
               self->options->kernel.study, study->seed + 1, table->numbers[0], table->wrong,
               worst->wrong, table->error, worst->loss, table->unit);
    self->best = *worst;
    if (self->draws == 1) {
        (void)printf("confirmed by a whole run; measured frames have no other draws");
    } else {
        (void)printf("confirmed by %td whole runs, seeds %td to %td", self->draws, study->seed + 1,
                     study->seed + self->draws);
    }
    (void)printf(": %s %.0f, %s at most %.4g %s\n", table->wrong, worst->wrong, table->error,
                 worst->loss, table->unit);
done:
    return status;
}

static bb_status write_study(work *self)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    char found[BB_SEARCH_NAME];
    BB_TRY(bb_text_add(&text, "# %s, with the pipeline found by bitbudget tune --for.\n%s",
                       self->options->kernel.study, bb_text_string(&self->text)));
    BB_TRY(bb_file_write(self->path, self->options->force, text.data, text.length));
    bb_slot_table_describe(self->table, self->slots.state, found);
    (void)printf("found: %s; %.4g MB\n", found, 1e-6 * self->best.cost);
    (void)printf("study: %s\nrun it: bitbudget run %s\n", self->path, self->path);
done:
    bb_text_release(&text);
    return status;
}

bb_status bb_tune_work_run_study(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    work self = {.options = options, .experiments = experiments};
    BB_TRY(start(&self));
    BB_TRY(search(&self));
    BB_TRY(print_study(&self));
    BB_TRY(confirm(&self));
    BB_TRY(tune_kernels(&self));
    if (self.wisdom != NULL &&
        options->kernel.reorder) { // another order of summation gives other bits
        BB_TRY(confirm(&self));
    }
    BB_TRY(write_study(&self));
done:
    finish(&self);
    return status;
}
