// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/tune_work.h"

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "solvers/kernels/emission/emission.h"

#include <stdio.h>
#include <string.h>

enum { DATE_BYTES = 24 };

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

bb_status bb_tune_work_open(bb_tune_work *self, bb_device_kind kind)
{
    bb_status status = BB_OK;
    self->key.device = kind;
    BB_TRY(bb_wisdom_file_place(self->options->kernel.wisdom, &self->path));
    BB_TRY(bb_wisdom_file_read(self->path, &self->file));
    BB_TRY(bb_threads_set(self->options->threads));
    BB_TRY(find_host_bytes(&self->host_bytes));
    BB_TRY(bb_device_open(self->key.device, 0, &self->device));
    BB_TRY(bb_device_describe(self->device, &self->key.report));
    BB_TRY(bb_wisdom_find_compiler(self->device, self->key.compiler, sizeof self->key.compiler));
done:
    return status;
}

// Completes and writes the record of a variant; texts are borrowed.
static bb_status write_record(const bb_tune_work *self, const bb_tuning_record *record,
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

static bb_status record_trial(void *context, const bb_tuning_record *record)
{
    static const bb_index none[2] = {0, 0};
    return record->trial.status == BB_TRIAL_BEST ? BB_OK : write_record(context, record, none);
}

static bool find_record(void *context, const bb_choice *choice, bb_tuning_record *out)
{
    const bb_tune_work *self = context;
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

static bb_status add_row(bb_tune_work *self, const char *type, const bb_tuning_outcome *found,
                         const bb_tuning_record *best)
{
    bb_status status = BB_OK;
    bb_text row = {0};
    char variant[BB_CHOICE_TEXT_BYTES];
    bb_choice_write(&best->choice, variant);
    BB_TRY(bb_text_add(&row, "%-19s %-4s %-9s ", self->kernel, type, self->set.name));
    if (found != NULL) {
        BB_TRY(bb_text_add(&row, "%5d %5d %5d  ", found->tried + found->recalled, found->right,
                           found->failed));
    } else {
        BB_TRY(bb_text_add(&row, "%-17s  ", "   recorded"));
    }
    BB_TRY(bb_text_add(&row, "%-32s %10.4f %8.1f ", variant, 1e3 * best->least_s,
                       1e-9 * best->bytes / best->least_s));
    if (found != NULL && found->default_s > 0.0) {
        BB_TRY(bb_text_add(&row, "%6.2f", found->default_s / best->least_s));
    }
    if (found != NULL && !found->is_complete) {
        BB_TRY(bb_text_add(&row, "  (not all tried)"));
    }
    bb_log_info("%s", bb_text_string(&row));
    BB_TRY(bb_text_add(&self->table, "%s\n", bb_text_string(&row)));
done:
    bb_text_release(&row);
    return status;
}

static bb_status skip(bb_tune_work *self, const char *type, const char *why)
{
    bb_log_info("%-19s %-4s %-9s %s", self->kernel, type, self->set.name, why);
    return bb_text_add(&self->table, "%-19s %-4s %-9s %s\n", self->kernel, type, self->set.name,
                       why);
}

// True if the data fit into memory. They are on the host and are copied to the device, which may be
// the host, and some are needed twice.
static bool has_room(const bb_tune_work *self, double bytes)
{
    const bb_device_report *report = &self->key.report;
    const double device =
        (double)(report->free_memory_bytes > 0 ? report->free_memory_bytes : report->memory_bytes);
    const bool is_host =
        self->key.device == BB_DEVICE_CPU || strncmp(report->architecture, "cpu", 3) == 0;
    return (is_host ? 2.5 : 1.5) * bytes < self->host_bytes && 1.1 * bytes < device;
}

bool bb_tune_work_is_processor(const bb_tune_work *self)
{
    return self->key.device == BB_DEVICE_CPU ||
           strncmp(self->key.report.architecture, "cpu", 3) == 0;
}

// Number of variants that have been considered after this run, including the variants of an earlier
// complete run.
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

bb_status bb_tune_work_run(bb_tune_work *self, bb_tuning *tuning, int set, const char *type)
{
    bb_status status = BB_OK;
    bb_tuning_outcome found;
    bb_index candidates[2];
    const double now_s = bb_clock_seconds();
    const double deadline_s = now_s + (self->end_s - now_s) / self->remainder;
    const bb_tuning_listener listener = {self, record_trial, find_record, is_over};
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
        BB_TRY(skip(self, type, "skipped: not enough free memory"));
        goto done;
    }
    BB_TRY(bb_tuning_run(tuning, set, deadline_s, &listener, &found));
    if (!found.has_best) {
        BB_TRY(skip(self, type,
                    found.failed > 0 ? "no variant is correct"
                                     : "time limit reached: using the default"));
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

bb_status bb_tune_work_create_tuning(bb_tune_work *self, const bb_tuning_subject *subject,
                                     bb_tuning **out)
{
    const bb_candidate_wish wish = {
        .is_exhaustive = self->options->kernel.exhaustive,
        .may_reorder = self->options->kernel.reorder,
        .is_processor = strncmp(self->key.report.architecture, "cpu", 3) == 0,
    };
    self->subject = subject;
    return bb_tuning_create(self->device, subject, &wish, out);
}

void bb_tune_work_print(const bb_tune_work *self)
{
    if (self->table.length > 0) {
        (void)printf("%-19s %-4s %-9s %5s %5s %5s  %-32s %10s %8s %s\n%s", "kernel", "type", "set",
                     "tried", "right", "wrong", "best", "ms", "GB/s", "x default",
                     bb_text_string(&self->table));
        (void)fflush(stdout);
    }
}

void bb_tune_work_release(bb_tune_work *self)
{
    bb_device_close(&self->device);
    bb_wisdom_file_release(&self->file);
    bb_text_release(&self->table);
    BB_RELEASE(&self->path);
}
