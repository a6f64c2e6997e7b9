// SPDX-License-Identifier: Apache-2.0
#include "core/isolation.h"

#include "core/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WAITS = 1000 }; // ms to wait for a child to end

// Result sent by the child.
typedef struct verdict {
    bb_status status;
    bb_status_record record;
} verdict;

static volatile pid_t running; // the child; 0: none

void bb_isolation_abandon(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const pid_t child = running;
    if (child > 0) {
        (void)kill(child, SIGTERM);
        for (int i = 0; i < MOST_WAITS && waitpid(child, NULL, WNOHANG) == 0; ++i) {
            (void)nanosleep(&pause, NULL);
        }
    }
}

static _Noreturn void be_child(pid_t parent, int pipe_end, unsigned seconds,
                               bb_status (*task)(void *), void *context)
{
    verdict answer = {BB_OK, {"", ""}};
    running = 0;
    bb_interrupt_be_child(parent);
    (void)alarm(seconds);
    answer.status = task(context);
    bool printed = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (answer.status == BB_OK && !printed) {
        answer.status =
            bb_status_set(BB_IO, __FILE__, __LINE__, "cannot write to stdout: %s", strerror(errno));
    }
    bb_status_save(&answer.record);
    // Uses _exit instead of exit: the exit handlers of libraries belong to the parent.
    _exit(write(pipe_end, &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
}

static ssize_t read_answer(int pipe_end, verdict *answer)
{
    size_t got = 0;
    while (got < sizeof *answer) {
        ssize_t count = read(pipe_end, (char *)answer + got, sizeof *answer - got);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        got += (size_t)count;
    }
    return (ssize_t)got;
}

bb_status bb_isolation_run(const char *what, unsigned seconds, bb_status (*task)(void *),
                           void *context)
{
    bb_status status = BB_OK;
    int ends[2] = {-1, -1};
    verdict answer;
    int how = 0;
    (void)fflush(stdout);
    (void)fflush(stderr);
    BB_REQUIRE(pipe2(ends, O_CLOEXEC) == 0, BB_INTERNAL, "cannot make a pipe: %s", strerror(errno));
    const pid_t parent = getpid();
    pid_t child = fork();
    BB_REQUIRE(child >= 0, BB_MEMORY, "cannot start a process: %s", strerror(errno));
    if (child == 0) {
        (void)close(ends[0]);
        be_child(parent, ends[1], seconds, task, context);
    }
    running = child;
    (void)close(ends[1]);
    ends[1] = -1;
    ssize_t got = read_answer(ends[0], &answer);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    running = 0;
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGPIPE) {
        // The reader of stdout has closed it, which is not an error of the file.
        (void)raise(SIGPIPE);
        BB_FAIL(BB_IO, "cannot write to stdout: %s", strerror(EPIPE));
    }
    BB_REQUIRE(!WIFSIGNALED(how) || WTERMSIG(how) != SIGALRM, BB_IO,
               "%s: reading took more than %u s; the file is damaged", what, seconds);
    BB_REQUIRE(!WIFSIGNALED(how), BB_IO, "%s: the reader died of signal %d; the file is damaged",
               what, WTERMSIG(how));
    BB_REQUIRE(got == (ssize_t)sizeof answer, BB_IO, "%s: the reader returned no result", what);
    if (answer.status != BB_OK) {
        bb_status_restore(&answer.record);
        status = answer.status;
    }
done:
    for (int i = 0; i < 2; ++i) {
        if (ends[i] >= 0) {
            (void)close(ends[i]);
        }
    }
    return status;
}
