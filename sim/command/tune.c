// SPDX-License-Identifier: Apache-2.0
//
// bitbudget tune: the fastest variants of kernels on this machine, measured and kept.
#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "sim/command.h"
#include "sim/interrupt.h"
#include "sim/kernels/kernel_run.h"
#include "sim/kernels/kernel_subject.h"
#include "solvers/kernels/tuning/manager_subject.h"
#include "solvers/kernels/tuning/tuning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TYPES = 2, DATE_BYTES = 24, TYPE_BYTES = 48 };

static const char *const type_names[TYPES] = {"SP", "DP"};

// All that is to be tuned, and with what.
typedef struct work {
    const bb_options *options;
    const bb_kernel_manager *managers[64]; // none where a kernel of the user's own is tuned
    int manager_count;
    bool is_own;
    bb_kernel_subject users_kernel;
    bool has_type[TYPES];
    bool has_set[BB_BENCHMARK_COUNT];
    bb_device *device;
    double host_bytes; // free
    char *path;
    bb_wisdom_file file; // as it stood at the start
    bb_wisdom_key key;   // of the kernel at hand
    char kernel[64];     // its name in records and in the table
    const bb_tuning_subject *subject;
    bb_trial_data set; // its name and sizes
    int remainder;     // kernels, types and sets that are to come, this one too
    double end_s;
    bb_text table;
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

static bb_status take_managers(work *self)
{
    bb_status status = BB_OK;
    const bb_options *options = self->options;
    const bb_kernel_manager *managers = NULL;
    const int count = bb_kernel_manager_table(&managers);
    const int limit = sizeof self->managers / sizeof self->managers[0];
    BB_REQUIRE(options->operand_count <= limit, BB_INVALID, "%td kernels, expected at most %d",
               options->operand_count, limit);
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
    return options->set != NULL && strchr(options->set, '=') != NULL;
}

// Options that are of a kernel of the user's own.
static bb_status refuse_own_options(const work *self)
{
    bb_status status = BB_OK;
    const bb_options *options = self->options;
    const char *name = options->operand_count > 0 ? options->operands[0] : NULL;
    BB_REQUIRE(name != NULL || (!has_sizes(options) && options->input == NULL), BB_INVALID,
               "sizes (--set A=2048x1024,...) and --in are of one kernel: name its file");
    BB_REQUIRE(!has_sizes(options) && options->input == NULL, BB_INVALID,
               "%s has benchmark data of its own, so that --set takes seed, large, odd and small; "
               "sizes and --in go with a file, as %s",
               name, find_manager(name)->file);
    BB_REQUIRE(options->parameters.count == 0, BB_INVALID,
               "-p goes with the file of a kernel; those with benchmark data have values");
done:
    return status;
}

// Whether the operands name a kernel of the user's own, by what is no name of benchmark data.
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
               "%s: expected the file of a kernel before its types, as FILE.kernel %s",
               options->operands[0], options->operands[0]);
    BB_REQUIRE(find_manager(name) == NULL, BB_INVALID,
               "%s has benchmark data, whose type is --type SP or DP; NAME=TYPE goes with a file, "
               "as %s %s",
               name, find_manager(name)->file, options->operands[options->operand_count - 1]);
    status = bb_kernel_source_find(name, &path);
    if (status == BB_IO && strpbrk(name, "./") == NULL) {
        BB_TRY(bb_kernel_manager_find(name, &self->managers[0])); // says which is nearest
    }
    BB_TRY(status);
    BB_REQUIRE(names == 1, BB_INVALID,
               "%td kernels: '%s' is tuned alone, as its sizes are no other's", names, name);
    BB_REQUIRE(options->type == NULL, BB_INVALID,
               "--type goes with kernels that have benchmark data; types of '%s' are NAME=TYPE",
               name);
done:
    BB_RELEASE(&path);
    return status;
}

static bb_status take_own(work *self)
{
    bb_status status = BB_OK;
    const bb_options *options = self->options;
    const bb_kernel_subject_wish wish = {.name = options->operands[0],
                                         .words = options->operands + 1,
                                         .word_count = options->operand_count - 1,
                                         .sizes = options->set,
                                         .input = options->input,
                                         .parameters = options->parameters.words,
                                         .parameter_count = options->parameters.count};
    BB_TRY(bb_kernel_subject_read(&wish, &self->users_kernel));
done:
    return status;
}

static bb_status take_type(work *self)
{
    bb_status status = BB_OK;
    const char *type = self->options->type;
    bool has_one = false;
    for (int i = 0; i < TYPES; ++i) {
        self->has_type[i] = type == NULL || strcmp(type, type_names[i]) == 0;
        has_one = has_one || self->has_type[i];
    }
    BB_REQUIRE(has_one, BB_INVALID, "--type %.40s, expected SP or DP", type);
done:
    return status;
}

static bb_status take_sets(work *self)
{
    bb_status status = BB_OK;
    static const char *const names[BB_BENCHMARK_COUNT] = {"seed", "large", "odd", "small"};
    const char *place = self->options->set != NULL ? self->options->set : "seed,large,odd";
    while (*place != '\0') {
        const size_t length = strcspn(place, ",");
        int found = 0;
        while (found < BB_BENCHMARK_COUNT &&
               (strlen(names[found]) != length || strncmp(names[found], place, length) != 0)) {
            ++found;
        }
        BB_REQUIRE(found < BB_BENCHMARK_COUNT, BB_INVALID,
                   "--set %.80s, expected some of seed, large, odd, small, with commas",
                   self->options->set);
        self->has_set[found] = true;
        place += length + (place[length] == ',');
    }
done:
    return status;
}

static bb_status take_kernels(work *self)
{
    bb_status status = BB_OK;
    BB_TRY(find_mode(self));
    if (self->is_own) {
        BB_TRY(take_own(self));
        goto done;
    }
    BB_TRY(take_managers(self));
    BB_TRY(take_type(self));
    BB_TRY(take_sets(self));
done:
    return status;
}

static bb_status find_host_bytes(double *out)
{
    bb_status status = BB_OK;
    bb_device *host = NULL;
    bb_device_report report;
    BB_TRY(bb_device_open(BB_DEVICE_CPU, 0, &host));
    BB_TRY(bb_device_describe(host, &report));
    *out = (double)report.free_memory_bytes;
done:
    bb_device_close(&host);
    return status;
}

static bb_status open_all(work *self)
{
    bb_status status = BB_OK;
    BB_TRY(bb_kernel_run_find_device(self->options->device, &self->key.device));
    BB_TRY(bb_wisdom_file_place(self->options->wisdom, &self->path));
    BB_TRY(bb_wisdom_file_read(self->path, &self->file));
    BB_TRY(bb_threads_set(self->options->threads));
    BB_TRY(find_host_bytes(&self->host_bytes));
    BB_TRY(bb_device_open(self->key.device, 0, &self->device));
    BB_TRY(bb_device_describe(self->device, &self->key.report));
    BB_TRY(bb_wisdom_find_compiler(self->device, self->key.compiler, sizeof self->key.compiler));
done:
    return status;
}

// What a record has beside the variant; texts are borrowed.
static bb_status write_record(const work *self, const bb_tuning_record *record,
                              const bb_index candidates[2])
{
    bb_status status = BB_OK;
    char text[BB_CHOICE_TEXT_BYTES];
    char date[DATE_BYTES];
    bb_index sizes[BB_WISDOM_SIZES];
    bb_choice_write(&record->choice, text);
    bb_clock_utc(date);
    memcpy(sizes, self->key.sizes, sizeof sizes);
    const bb_wisdom_record line = {
        .version = BB_WISDOM_VERSION,
        .kernel = self->kernel,
        .program = self->key.program,
        .code = BB_EMISSION_VERSION,
        .types = self->key.types,
        .device = (int)self->key.device,
        .architecture = self->key.report.architecture,
        .name = self->key.report.name,
        .driver = self->key.report.driver[0] != '\0' ? self->key.report.driver : NULL,
        .compiler = self->key.compiler,
        .set = self->set.name,
        .sizes = {sizes, self->key.size_count},
        .variant = text,
        .status = (int)record->trial.status,
        .why = record->trial.why[0] != '\0' ? record->trial.why : NULL,
        .least_s = record->least_s,
        .median_s = record->median_s,
        .bytes = record->bytes,
        .samples = record->samples,
        .candidates = candidates[0],
        .reordered = candidates[1],
        .date = date,
    };
    BB_TRY(bb_wisdom_file_append(self->path, &line));
done:
    return status;
}

static bb_status take(void *context, const bb_tuning_record *record)
{
    static const bb_index none[2] = {0, 0};
    return record->trial.status == BB_TRIAL_BEST ? BB_OK : write_record(context, record, none);
}

static bool recall(void *context, const bb_choice *choice, bb_tuning_record *out)
{
    const work *self = context;
    const bb_wisdom_record *known = bb_wisdom_find(&self->file, &self->key, choice);
    if (known == NULL) {
        return false;
    }
    out->trial.status = (bb_trial_status)known->status;
    (void)snprintf(out->trial.why, sizeof out->trial.why, "%s",
                   known->why != NULL ? known->why : "");
    out->least_s = known->least_s;
    out->median_s = known->median_s;
    out->samples = (int)known->samples;
    return true;
}

static bool is_over(void *context)
{
    (void)context;
    return bb_interrupt_noted();
}

static bb_status add_row(work *self, const char *type, const bb_tuning_outcome *found,
                         const bb_tuning_record *best)
{
    bb_status status = BB_OK;
    bb_text row = {0};
    char variant[BB_CHOICE_TEXT_BYTES];
    bb_choice_write(&best->choice, variant);
    BB_TRY(bb_text_add(&row, "%-16s %-4s %-6s ", self->kernel, type, self->set.name));
    if (found != NULL) {
        BB_TRY(bb_text_add(&row, "%5d %5d %5d  ", found->tried + found->recalled, found->right,
                           found->failed));
    } else {
        BB_TRY(bb_text_add(&row, "%-17s  ", "   as known"));
    }
    BB_TRY(bb_text_add(&row, "%-32s %10.4f %8.1f ", variant, 1e3 * best->least_s,
                       1e-9 * best->bytes / best->least_s));
    if (found != NULL && found->default_s > 0.0) {
        BB_TRY(bb_text_add(&row, "%6.2f%s", found->default_s / best->least_s,
                           found->is_complete ? "" : "  (not all tried)"));
    }
    bb_log_info("%s", bb_text_string(&row));
    BB_TRY(bb_text_add(&self->table, "%s\n", bb_text_string(&row)));
done:
    bb_text_release(&row);
    return status;
}

static bb_status skip(work *self, const char *type, const char *why)
{
    bb_log_info("%-16s %-4s %-6s %s", self->kernel, type, self->set.name, why);
    return bb_text_add(&self->table, "%-16s %-4s %-6s %s\n", self->kernel, type, self->set.name,
                       why);
}

// Data stand on the host until they are on the device, which may be the host, and some twice.
static bool has_room(const work *self, double bytes)
{
    const bb_device_report *report = &self->key.report;
    const double device =
        (double)(report->free_memory_bytes > 0 ? report->free_memory_bytes : report->memory_bytes);
    const bool is_host =
        self->key.device == BB_DEVICE_CPU || strncmp(report->architecture, "cpu", 3) == 0;
    return (is_host ? 2.5 : 1.5) * bytes < self->host_bytes && 1.1 * bytes < device;
}

static bool is_processor(const work *self)
{
    return self->key.device == BB_DEVICE_CPU ||
           strncmp(self->key.report.architecture, "cpu", 3) == 0;
}

// A processor takes many seconds for each launch of the large matrix product, which the seed's
// size tells as much of: it is tuned where it is asked for.
static bool is_asked(const work *self, const bb_kernel_manager *manager, int set)
{
    return self->has_set[set] && (set != BB_BENCHMARK_LARGE || self->options->set != NULL ||
                                  !manager->is_compute_bound || !is_processor(self));
}

// How many variants are known to have been considered once this run is over: those of an earlier
// one that was complete count on.
static void count_candidates(const bb_tuning *tuning, const bb_wisdom_record *known,
                             bool is_complete, bb_index out[2])
{
    for (int k = 0; k < 2; ++k) {
        const bb_index before = known == NULL ? 0 : k == 0 ? known->candidates : known->reordered;
        const bb_index now = is_complete ? bb_tuning_candidate_count(tuning, k == 1) : 0;
        out[k] = now > before ? now : before;
    }
}

static bool is_known(const bb_tuning *tuning, const bb_wisdom_record *known)
{
    return known != NULL && known->candidates >= bb_tuning_candidate_count(tuning, false) &&
           known->reordered >= bb_tuning_candidate_count(tuning, true);
}

static bb_status tune_set(work *self, bb_tuning *tuning, int set, const char *type)
{
    bb_status status = BB_OK;
    bb_tuning_outcome found;
    bb_index candidates[2];
    const double now_s = bb_clock_seconds();
    const double deadline_s = now_s + (self->end_s - now_s) / self->remainder;
    const bb_tuning_listener listener = {self, take, recall, is_over};
    const bb_tuning_subject *subject = self->subject;
    subject->size_set(subject, set, &self->set);
    bb_wisdom_key_set_sizes(&self->key, subject->program, self->set.objects);
    const bb_wisdom_record *known = bb_wisdom_find_best(&self->file, &self->key);
    if (is_known(tuning, known)) {
        const bb_tuning_record best = {
            .choice = known->choice, .least_s = known->least_s, .bytes = known->bytes};
        BB_TRY(add_row(self, type, NULL, &best));
        goto done;
    }
    if (!has_room(self, bb_trial_data_bytes(subject->program, &self->set))) {
        BB_TRY(skip(self, type, "left out: it needs more memory than is free"));
        goto done;
    }
    BB_TRY(bb_tuning_run(tuning, set, deadline_s, &listener, &found));
    if (!found.has_best) {
        BB_TRY(skip(self, type,
                    found.failed > 0 ? "no variant is right" : "no time left: the default stays"));
        goto done;
    }
    count_candidates(tuning, known, found.is_complete, candidates);
    BB_TRY(write_record(self, &found.best, candidates));
    BB_TRY(add_row(self, type, &found, &found.best));
    if (found.has_reordered) {
        BB_TRY(write_record(self, &found.reordered, candidates));
        BB_TRY(add_row(self, type, &found, &found.reordered));
    }
done:
    return status;
}

static bb_status create_tuning(work *self, const bb_tuning_subject *subject, bb_tuning **out)
{
    const bb_candidate_wish wish = {
        .is_exhaustive = self->options->exhaustive,
        .may_reorder = self->options->reorder,
        .is_processor = strncmp(self->key.report.architecture, "cpu", 3) == 0,
    };
    self->subject = subject;
    return bb_tuning_create(self->device, subject, &wish, out);
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
    (void)snprintf(self->kernel, sizeof self->kernel, "%s", manager->name);
    BB_TRY(bb_wisdom_types(words, count, self->key.types));
    BB_TRY(bb_manager_subject_create(manager, type, &subject));
    BB_TRY(create_tuning(self, bb_manager_subject_table(subject), &tuning));
    BB_TRY(bb_wisdom_program(bb_manager_subject_description(subject), self->key.program));
    for (int i = 0; i < BB_BENCHMARK_COUNT && !bb_interrupt_noted(); ++i) {
        if (is_asked(self, manager, i)) {
            BB_TRY(tune_set(self, tuning, i, type));
        }
        self->remainder -= self->has_set[i];
    }
done:
    bb_tuning_destroy(&tuning);
    bb_manager_subject_destroy(&subject);
    return status;
}

// The type that most of the table is about: that of the first placeholder.
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
    bb_wisdom_name(source->path, self->kernel);
    BB_TRY(bb_wisdom_types(source->words, source->word_count, self->key.types));
    BB_TRY(bb_wisdom_program(&source->description, self->key.program));
    BB_TRY(create_tuning(self, bb_caller_subject_table(self->users_kernel.subject), &tuning));
    BB_TRY(tune_set(self, tuning, 0, first_type(self)));
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
    self->remainder = self->manager_count * (self->has_type[0] + self->has_type[1]) * sets;
    self->end_s =
        isnan(self->options->budget_s) ? INFINITY : bb_clock_seconds() + self->options->budget_s;
    if (self->is_own) {
        self->remainder = 1;
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

bb_status bb_command_tune(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    work self = {.options = options};
    char kept[BB_INTERRUPT_LOSS_BYTES];
    (void)experiments;
    BB_TRY(take_kernels(&self));
    BB_TRY(open_all(&self));
    bb_log_info("tuning on %s, %s; records go to %s", bb_device_names[self.key.device],
                self.key.report.name, self.path);
    bb_interrupt_defer(true);
    status = tune_all(&self);
    if (self.table.length > 0) {
        (void)printf("%-16s %-4s %-6s %5s %5s %5s  %-32s %10s %8s %s\n%s", "kernel", "type", "set",
                     "tried", "right", "wrong", "best", "ms", "GB/s", "x default",
                     bb_text_string(&self.table));
        (void)fflush(stdout);
    }
    (void)snprintf(kept, sizeof kept, "what was found is in '%s', and counts",
                   bb_interrupt_path(self.path));
    bb_interrupt_loses("");
    bb_interrupt_keeps(kept);
    bb_interrupt_deliver();
    bb_interrupt_keeps("");
    BB_TRY(status);
    (void)printf("records: %s\n", self.path);
done:
    bb_interrupt_defer(false);
    bb_device_close(&self.device);
    bb_wisdom_file_release(&self.file);
    bb_kernel_subject_release(&self.users_kernel);
    bb_text_release(&self.table);
    BB_RELEASE(&self.path);
    return status;
}
