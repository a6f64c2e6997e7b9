// SPDX-License-Identifier: Apache-2.0
#include "core/interrupt.h"

#include "core/disk_file.h"
#include "core/isolation.h"
#include "core/log.h"
#include "core/work_folder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t deferred;
static volatile sig_atomic_t noted; // signal number, or 0

// Double-buffered texts: the one that a handler may read is never being written.
typedef struct phrase {
    char texts[2][BB_INTERRUPT_LOSS_BYTES];
    volatile sig_atomic_t current;
} phrase;

static phrase loss;
static phrase rest; // text about what is preserved, such as a resume hint

static void store_phrase(phrase *words, const char *text)
{
    const int other = 1 - (int)words->current;
    (void)snprintf(words->texts[other], sizeof words->texts[other], "%s", text);
    words->current = other;
}

void bb_interrupt_loses(const char *text)
{
    store_phrase(&rest, "");
    store_phrase(&loss, text);
}

void bb_interrupt_keeps(const char *text)
{
    store_phrase(&rest, text);
}

const char *bb_interrupt_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL || strlen(path) <= BB_INTERRUPT_PATH_BYTES ? path : slash + 1;
}

static void write_text(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; // no way to report a failure here
}

// Prints the phrase after a separator, unless it is empty.
static void write_phrase(const char *separator, const phrase *words)
{
    const char *text = words->texts[words->current];
    write_text(text[0] == '\0' ? "" : separator);
    write_text(text);
}

static void raise_default(int number)
{
    if (deferred && !noted) {
        noted = number;
        return;
    }
    bb_isolation_abandon();
    bb_work_folder_abandon();
    bb_disk_file_abandon();
    write_text(number == SIGINT    ? "\nbitbudget: ended by SIGINT"
               : number == SIGTERM ? "\nbitbudget: ended by SIGTERM"
                                   : "\nbitbudget: ended by SIGHUP");
    write_text(bb_log_job()[0] == '\0' ? "" : " while ");
    write_text(bb_log_job());
    write_phrase(": ", &loss);
    write_phrase("; ", &rest);
    write_text("\n");
    _exit(128 + number);
}

bb_status bb_interrupt_install(void)
{
    bb_status status = BB_OK;
    const struct sigaction end = {.sa_handler = raise_default};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction hangup;
    BB_REQUIRE(sigaction(SIGINT, &end, NULL) == 0 && sigaction(SIGTERM, &end, NULL) == 0 &&
                   sigaction(SIGPIPE, &ignore, NULL) == 0 &&
                   sigaction(SIGXFSZ, &ignore, NULL) == 0 && sigaction(SIGHUP, NULL, &hangup) == 0,
               BB_INTERNAL, "cannot install signal handlers: %s", strerror(errno));
    if (hangup.sa_handler != SIG_IGN) {
        BB_REQUIRE(sigaction(SIGHUP, &end, NULL) == 0, BB_INTERNAL,
                   "cannot install signal handlers: %s", strerror(errno));
    }
done:
    return status;
}

// Restores the default action, so that the signal ends the process when this returns.
static void end_child(int number)
{
    bb_work_folder_abandon();
    bb_disk_file_abandon();
    (void)raise(number);
}

void bb_interrupt_be_child(pid_t parent)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    static const int fatal[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct sigaction end = {.sa_handler = end_child, .sa_flags = (int)SA_RESETHAND};
    const struct rlimit no_core = {0, 0};
    bb_disk_file_disown();
    bb_work_folder_disown();
    (void)setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; ++i) {
        (void)signal(fatal[i], SIG_DFL);
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; ++i) {
        struct sigaction present;
        if (sigaction(ends[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN) {
            (void)sigaction(ends[i], &end, NULL);
        }
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(1); // the parent ended before prctl
    }
}

void bb_interrupt_defer(bool defer)
{
    noted = 0;
    deferred = defer;
}

void bb_interrupt_deliver(void)
{
    const int number = noted;
    bb_interrupt_defer(false);
    if (number != 0) {
        (void)raise(number);
    }
}

bool bb_interrupt_noted(void)
{
    return noted != 0;
}
