// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include "core/clock.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bb_log_level current_level = BB_LOG_NORMAL;

static struct {
    bool drawn;          // a bar stands on the terminal's last line
    double last_seconds; // of the last bar or line
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

static void draw_bar(const char *job, bb_index done, bb_index total)
{
    enum { WIDTH = 32 };
    char bar[WIDTH + 1];
    bb_index filled = done * WIDTH / total;
    memset(bar, '-', WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[WIDTH] = '\0';
    (void)fprintf(stderr, "\r\033[K%-16s [%s] %3td %%", job, bar, 100 * done / total);
    (void)fflush(stderr);
    progress.drawn = true;
}

void bb_log_progress(const char *job, bb_index done, bb_index total)
{
    bool terminal = isatty(STDERR_FILENO);
    double now = bb_clock_seconds();
    double interval = terminal ? 0.1 : 10.0;
    if (current_level < BB_LOG_NORMAL || total <= 0) {
        return;
    }
    if (done >= total) {
        erase_bar();
        return;
    }
    if (done == 0 && !terminal) {
        progress.last_seconds = now;
    }
    if (now - progress.last_seconds < interval) {
        return;
    }
    progress.last_seconds = now;
    if (terminal) {
        draw_bar(job, done, total);
    } else {
        bb_log_info("%s: %td of %td", job, done, total);
    }
}
