// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local bb_status_record current;

static const struct {
    const char *name;
    int exit_code;
} codes[] = {
    [BB_OK] = {"ok", 0},
    [BB_INVALID] = {"invalid input", 2},
    [BB_IO] = {"input or output failed", 3},
    [BB_MEMORY] = {"out of memory", 4},
    [BB_DEVICE] = {"device failed", 5},
    [BB_UNSUPPORTED] = {"not supported", 2},
    [BB_INTERNAL] = {"internal error", 6},
    [BB_DIFFERENT] = {"different", 1},
};

static const char *base_name(const char *path)
{
    // Keeps the last two components, such as "core/status.c": the rest is the builder's own folder.
    const char *last = strrchr(path, '/');
    if (last == NULL) {
        return path;
    }
    while (last > path && last[-1] != '/') {
        --last;
    }
    return last;
}

static void append_place(const char *file, int line, const char *what)
{
    size_t used = strlen(current.trace);
    if (used + 1 < sizeof current.trace) {
        (void)snprintf(current.trace + used, sizeof current.trace - used, "  at %s:%d %.120s\n",
                       base_name(file), line, what);
    }
}

bb_status bb_status_set(bb_status code, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(current.message, sizeof current.message, format, arguments);
    va_end(arguments);
    current.trace[0] = '\0';
    append_place(file, line, bb_status_name(code));
    return code;
}

bb_status bb_status_trace(bb_status code, const char *file, int line, const char *expression)
{
    append_place(file, line, expression);
    return code;
}

const char *bb_status_message(void)
{
    return current.message;
}

const char *bb_status_trace_text(void)
{
    return current.trace;
}

void bb_status_clear(void)
{
    current.message[0] = '\0';
    current.trace[0] = '\0';
}

const char *bb_status_name(bb_status code)
{
    const size_t count = sizeof codes / sizeof codes[0];
    return (size_t)code < count ? codes[code].name : "unknown";
}

int bb_status_exit_code(bb_status code)
{
    return codes[code].exit_code;
}

void bb_status_save(bb_status_record *record)
{
    *record = current;
}

void bb_status_restore(const bb_status_record *record)
{
    current = *record;
}

bb_status bb_status_prefix(bb_status status, const char *format, ...)
{
    bb_status_record record;
    char subject[sizeof record.message];
    va_list arguments;
    if (status != BB_OK) {
        va_start(arguments, format);
        (void)vsnprintf(subject, sizeof subject, format, arguments);
        va_end(arguments);
        bb_status_save(&record);
        (void)bb_status_set(status, __FILE__, __LINE__, "%s: %s", subject, record.message);
    }
    return status;
}
