// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include "core/clock.h"
#include "core/thread.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bb_log_level current_level = BB_LOG_NORMAL;

enum { NAME_BYTES = 24, STEP_BYTES = 40, DEPTH = 4, LINE_BYTES = 128 };

typedef struct job {
    char name[NAME_BYTES];
    char step[STEP_BYTES];
    bb_index done, total;
} job;

static struct {
    bool drawn;          // a progress bar is on the terminal's last line
    double last_seconds; // time of the last bar or line
    double last_status;  // time of the last line of bb_log_status; 0: none
    job jobs[DEPTH];     // [depth], each within a step of the previous one
    int depth;
    double start_seconds; // start of the outermost job
    double part;          // completed part of the innermost job's current step
    double begin, end;    // range of that step covered by bb_log_progress_within
    double step_reached;  // largest fraction reported of the outermost job's current step
    // Double-buffered: the text that a signal handler may read is never being written.
    char texts[2][LINE_BYTES];
    volatile sig_atomic_t text;
} progress;

static void erase_bar(void)
{
    if (progress.drawn) {
        (void)fputs("\r\033[K", stderr);
        progress.drawn = false;
    }
}

BB_PRINTF(2, 0)
static void write_line(const char *mark, const char *format, va_list arguments)
{
    char now[21];
    bb_clock_utc(now);
    erase_bar();
    (void)fprintf(stderr, "%s %s", now, mark);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
}

void bb_log_set_level(bb_log_level level)
{
    current_level = level;
}

bb_log_level bb_log_present_level(void)
{
    return current_level;
}

void bb_log_warning(const char *format, ...)
{
    va_list arguments;
    if (current_level < BB_LOG_QUIET) {
        return;
    }
    va_start(arguments, format);
    write_line("warning: ", format, arguments);
    va_end(arguments);
}

void bb_log_info(const char *format, ...)
{
    if (current_level < BB_LOG_NORMAL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}

void bb_log_detail(const char *format, ...)
{
    if (current_level < BB_LOG_VERBOSE) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}

// Completed fraction of the outermost job's current step. Work outside of nested jobs is unknown,
// so the fraction never decreases.
static double step_fraction(void)
{
    double fraction = progress.part;
    for (int i = progress.depth - 1; i > 0; --i) {
        fraction = ((double)progress.jobs[i].done + fraction) / (double)progress.jobs[i].total;
    }
    progress.step_reached = fmax(progress.step_reached, fmin(fraction, 1.0));
    return progress.step_reached;
}

static void write_time(double seconds, char out[16])
{
    if (seconds < 120.0) {
        (void)snprintf(out, 16, "%.0f s", seconds);
    } else if (seconds < 7200.0) {
        (void)snprintf(out, 16, "%.0f min", seconds / 60.0);
    } else {
        (void)snprintf(out, 16, "%.1f h", seconds / 3600.0);
    }
}

// Writes "12 s, 35 s left".
static void write_times(double elapsed, double fraction, char out[48])
{
    char taken[16];
    char left_over[16];
    write_time(elapsed, taken);
    write_time(elapsed * (1.0 - fraction) / fraction, left_over);
    (void)snprintf(out, 48, "%s%s%s%s", taken, fraction > 0.0 ? ", " : "",
                   fraction > 0.0 ? left_over : "", fraction > 0.0 ? " left" : "");
}

static void draw_bar(const char *state, double fraction, const char *times)
{
    enum { WIDTH = 16 };
    char bar[WIDTH + 1];
    memset(bar, '-', WIDTH);
    memset(bar, '#', (size_t)(fraction * WIDTH));
    bar[WIDTH] = '\0';
    (void)fprintf(stderr, "\r\033[K%s [%s] %s", state, bar, times);
    (void)fflush(stderr);
    progress.drawn = true;
}

// Reports the progress of the outermost job when an update is due.
static void print_progress(double now)
{
    const job *outer = &progress.jobs[0];
    const double elapsed = now - progress.start_seconds;
    const double step = step_fraction();
    const double fraction = ((double)outer->done + step) / (double)outer->total;
    char state[LINE_BYTES];
    char times[48];
    if (current_level < BB_LOG_NORMAL || now - progress.last_seconds < 0.1) {
        return;
    }
    const bool terminal = isatty(STDERR_FILENO);
    if (terminal ? elapsed < 2.0 : now - progress.last_seconds < 10.0) {
        return;
    }
    progress.last_seconds = now;
    write_times(elapsed, fraction, times);
    if (outer->step[0] == '\0') {
        (void)snprintf(state, sizeof state, "%s: %td of %td", outer->name, outer->done,
                       outer->total);
    } else {
        (void)snprintf(state, sizeof state, "%.36s: %.0f %%", bb_log_job(), floor(100.0 * step));
    }
    if (terminal) {
        draw_bar(state, fraction, times);
    } else {
        bb_log_info("%s, %s", state, times);
    }
}

static void set_text(const char *text)
{
    const int other = 1 - (int)progress.text;
    (void)snprintf(progress.texts[other], LINE_BYTES, "%s", text);
    progress.text = other;
}

// Finds the job of that name and ends the jobs within it; an unknown job is started.
static job *find_job(const char *name, double now)
{
    for (int i = 0; i < progress.depth; ++i) {
        if (strncmp(progress.jobs[i].name, name, NAME_BYTES - 1) == 0) {
            progress.depth = i + 1;
            return &progress.jobs[i];
        }
    }
    progress.depth = progress.depth == DEPTH ? 1 : progress.depth + 1;
    job *found = &progress.jobs[progress.depth - 1];
    *found = (job){.total = 1};
    (void)snprintf(found->name, sizeof found->name, "%s", name);
    if (progress.depth == 1) {
        progress.start_seconds = progress.last_seconds = now;
    }
    return found;
}

void bb_log_progress_step(const char *name, const char *step, bb_index done, bb_index total)
{
    const double now = bb_clock_seconds();
    char text[LINE_BYTES];
    if (total <= 0) {
        return;
    }
    job *found = find_job(name, now);
    const bool outermost = progress.depth == 1;
    if (outermost && done < found->done) { // a new job of the same name
        progress.start_seconds = progress.last_seconds = now;
    }
    found->done = done;
    found->total = total;
    (void)snprintf(found->step, sizeof found->step, "%s", step == NULL ? "" : step);
    progress.part = progress.begin = 0.0;
    progress.end = 1.0;
    if (outermost) {
        (void)snprintf(text, sizeof text, "%s%s%s (%td of %td)", found->name,
                       step == NULL ? "" : " ", found->step, done + 1, total);
        progress.step_reached = 0.0;
        set_text(done < total ? text : "");
    }
    if (done >= total) {
        --progress.depth;
        progress.part = progress.depth > 0 ? progress.step_reached : 0.0;
        if (outermost) {
            erase_bar();
        }
        return;
    }
    print_progress(now);
}

void bb_log_progress(const char *name, bb_index done, bb_index total)
{
    bb_log_progress_step(name, NULL, done, total);
}

void bb_log_progress_within(bb_index done, bb_index total)
{
    if (bb_thread_is_worker() || progress.depth == 0 || total <= 0) {
        return;
    }
    progress.part = progress.begin + (progress.end - progress.begin) * (double)done / (double)total;
    print_progress(bb_clock_seconds());
}

void bb_log_progress_part(double begin, double end)
{
    progress.begin = begin;
    progress.end = end;
}

void bb_log_status(const char *text)
{
    const double now = bb_clock_seconds();
    if (current_level < BB_LOG_NORMAL) {
        return;
    }
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r\033[K%s", text);
        (void)fflush(stderr);
        progress.drawn = true;
    } else if (progress.last_status == 0.0 || now - progress.last_status >= 10.0) {
        progress.last_status = now;
        bb_log_info("%s", text);
    }
}

const char *bb_log_job(void)
{
    return progress.texts[progress.text];
}

void bb_log_clear(void)
{
    erase_bar();
    (void)fflush(stderr);
}
