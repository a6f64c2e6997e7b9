// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/crew.h"

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// poll() takes milliseconds as an int.
static const double LONGEST_WAIT_S = 1e6;

enum { IDLE = -1, FIRST_ROOM = 1 << 14 };

// Header of an answer on a pipe.
typedef struct head {
    bb_status status;
    bb_index length;
} head;

typedef struct worker {
    pid_t process; // 0: none
    int items;     // pipe to the worker
    int answers;   // pipe from the worker
    bb_index item; // current item, or IDLE
    double start;
    bool late;
    char *answer; // part of the answer read so far, with its header
    bb_index length, capacity;
} worker;

static bool write_whole(int pipe_end, const void *data, size_t bytes)
{
    const char *rest = data;
    while (bytes > 0) {
        const ssize_t count = write(pipe_end, rest, bytes);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        rest += count;
        bytes -= (size_t)count;
    }
    return true;
}

static _Noreturn void run_worker(const bb_crew_task *task, bb_index worker_number, int items,
                                 int answers, pid_t parent)
{
    bb_index item = 0;
    bb_interrupt_be_child(parent);
    const bb_status begun = task->begin == NULL ? BB_OK : task->begin(task->context, worker_number);
    while (read(items, &item, sizeof item) == (ssize_t)sizeof item) {
        bb_text answer = {0};
        head start = {begun == BB_OK ? task->work(task->context, item, &answer) : begun, 0};
        if (start.status != BB_OK) {
            bb_status_record record;
            bb_status_save(&record);
            bb_text_release(&answer);
            if (bb_text_add(&answer, "%s", record.message) != BB_OK) {
                _exit(1);
            }
        }
        start.length = answer.length;
        if (!write_whole(answers, &start, sizeof start) ||
            !write_whole(answers, bb_text_string(&answer), (size_t)answer.length)) {
            _exit(1);
        }
        bb_text_release(&answer);
    }
    // exit() would run the handlers of libraries, which belong to the parent.
    _exit(0);
}

static void close_pipes(worker *member)
{
    if (member->items >= 0) {
        (void)close(member->items);
    }
    if (member->answers >= 0) {
        (void)close(member->answers);
    }
    member->items = member->answers = -1;
}

static bb_status start_worker(const bb_crew_task *task, worker *members, bb_index count,
                              worker *member)
{
    bb_status status = BB_OK;
    int items[2] = {-1, -1};
    int answers[2] = {-1, -1};
    const pid_t parent = getpid();
    (void)fflush(stdout);
    (void)fflush(stderr);
    BB_REQUIRE(pipe2(items, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0, BB_INTERNAL,
               "cannot make a pipe: %s", strerror(errno));
    const pid_t process = fork();
    BB_REQUIRE(process >= 0, BB_INTERNAL, "cannot start a process: %s", strerror(errno));
    if (process == 0) {
        // Open ends of other workers' pipes would prevent them from detecting that this process has
        // ended.
        for (bb_index i = 0; i < count; ++i) {
            close_pipes(&members[i]);
        }
        (void)close(items[1]);
        (void)close(answers[0]);
        run_worker(task, member - members, items[0], answers[1], parent);
    }
    *member = (worker){.process = process,
                       .items = items[1],
                       .answers = answers[0],
                       .item = IDLE,
                       .answer = member->answer,
                       .capacity = member->capacity};
    items[1] = answers[0] = -1;
done:
    for (int i = 0; i < 2; ++i) {
        if (items[i] >= 0) {
            (void)close(items[i]);
        }
        if (answers[i] >= 0) {
            (void)close(answers[i]);
        }
    }
    return status;
}

static int stop_worker(worker *member)
{
    int how = 0;
    close_pipes(member);
    while (member->process > 0 && waitpid(member->process, &how, 0) < 0 && errno == EINTR) {
    }
    member->process = 0;
    return how;
}

static bb_status finish_item(const bb_crew_task *task, worker *member, const bb_crew_end *end)
{
    const bb_index item = member->item;
    member->item = IDLE;
    member->length = 0;
    return task->finish(task->context, item, end);
}

// Handles a worker that ended: its item has failed.
static bb_status fail_item(const bb_crew_task *task, worker *member)
{
    bb_status status = BB_OK;
    const int how = stop_worker(member);
    const bb_crew_end end = {.status = BB_INTERNAL,
                             .signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0,
                             .late = member->late,
                             .exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 0,
                             .seconds = bb_clock_seconds() - member->start,
                             .text = ""};
    if (member->item != IDLE) {
        BB_TRY(finish_item(task, member, &end));
    }
done:
    return status;
}

static bb_status read_more(const bb_crew_task *task, worker *member)
{
    bb_status status = BB_OK;
    if (member->capacity - member->length < FIRST_ROOM / 2) {
        BB_TRY(bb_memory_resize(2 * member->capacity + FIRST_ROOM, 1, (void **)&member->answer));
        member->capacity = 2 * member->capacity + FIRST_ROOM;
    }
    // One byte is reserved for the terminator of the text.
    const ssize_t count = read(member->answers, member->answer + member->length,
                               (size_t)(member->capacity - member->length - 1));
    if (count < 0 && errno == EINTR) {
        goto done;
    }
    if (count <= 0) {
        BB_TRY(fail_item(task, member));
        goto done;
    }
    member->length += count;
    head start;
    if (member->length < (bb_index)sizeof start) {
        goto done;
    }
    memcpy(&start, member->answer, sizeof start);
    if (member->length == (bb_index)sizeof start + start.length) {
        member->answer[member->length] = '\0';
        const bb_crew_end end = {.status = start.status,
                                 .seconds = bb_clock_seconds() - member->start,
                                 .text = member->answer + sizeof start,
                                 .length = start.length};
        BB_TRY(finish_item(task, member, &end));
    }
done:
    return status;
}

// Assigns items to idle workers, and starts missing workers if there are items for them.
static bb_status assign(const bb_crew_task *task, worker *members, bb_index count, bb_index *busy)
{
    bb_status status = BB_OK;
    *busy = 0;
    for (bb_index i = 0; i < count; ++i) {
        worker *member = &members[i];
        bb_index item = IDLE;
        if (member->item == IDLE && task->next(task->context, &item)) {
            if (member->process == 0) {
                BB_TRY(start_worker(task, members, count, member));
            }
            member->item = item;
            member->start = bb_clock_seconds();
            member->late = false;
            // A worker that ended is detected at its other pipe.
            (void)write_whole(member->items, &item, sizeof item);
        }
        *busy += member->item != IDLE;
    }
done:
    return status;
}

static int wait_ms(const worker *members, bb_index count, double limit_s)
{
    double rest = INFINITY;
    for (bb_index i = 0; i < count; ++i) {
        if (members[i].item != IDLE && !members[i].late) {
            rest = fmin(rest, members[i].start + limit_s - bb_clock_seconds());
        }
    }
    return isinf(rest) ? -1 : (int)fmax(0.0, ceil(1e3 * fmin(rest, LONGEST_WAIT_S)));
}

static bb_status poll_workers(const bb_crew_task *task, worker *members, bb_index count,
                              double limit_s)
{
    bb_status status = BB_OK;
    struct pollfd ends[BB_CREW_WORKERS];
    for (bb_index i = 0; i < count; ++i) {
        ends[i] = (struct pollfd){.fd = members[i].process > 0 ? members[i].answers : -1,
                                  .events = POLLIN};
    }
    const int ready = poll(ends, (nfds_t)count, wait_ms(members, count, limit_s));
    BB_REQUIRE(ready >= 0 || errno == EINTR, BB_INTERNAL, "cannot wait for workers: %s",
               strerror(errno));
    for (bb_index i = 0; i < count; ++i) {
        if (ready > 0 && ends[i].revents != 0) {
            BB_TRY(read_more(task, &members[i]));
        }
    }
    for (bb_index i = 0; i < count; ++i) {
        worker *member = &members[i];
        if (member->item != IDLE && !member->late && bb_clock_seconds() - member->start > limit_s) {
            member->late = true;
            (void)kill(member->process, SIGKILL);
        }
    }
done:
    return status;
}

bb_status bb_crew_run(const bb_crew_task *task, bb_index workers, double limit_s)
{
    bb_status status = BB_OK;
    worker *members = NULL;
    bb_index busy = 0;
    BB_REQUIRE(workers >= 1 && workers <= BB_CREW_WORKERS, BB_INVALID,
               "%td workers, expected 1 to %d", workers, BB_CREW_WORKERS);
    BB_TRY(BB_ZEROED(workers, &members));
    for (bb_index i = 0; i < workers; ++i) {
        members[i] = (worker){.items = -1, .answers = -1, .item = IDLE};
    }
    for (;;) {
        BB_TRY(assign(task, members, workers, &busy));
        if (busy == 0) {
            break;
        }
        BB_TRY(poll_workers(task, members, workers, limit_s));
    }
done:
    for (bb_index i = 0; members != NULL && i < workers; ++i) {
        if (members[i].process > 0 && members[i].item != IDLE) {
            (void)kill(members[i].process, SIGKILL);
        }
        (void)stop_worker(&members[i]);
        BB_RELEASE(&members[i].answer);
    }
    BB_RELEASE(&members);
    return status;
}
