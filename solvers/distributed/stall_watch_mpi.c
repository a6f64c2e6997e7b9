// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/stall_watch_mpi.h"

#include "core/clock.h"
#include "core/memory.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

// A listener that was away for so long was stopped itself.
static const double pause_s = 1.0;
static const double turn_s = 0.05;

// What a process says; its host and process id are what an operator looks for.
typedef struct beat {
    int is_last;
    long process;
    char host[64];
} beat;

struct bb_stall_watch {
    MPI_Comm comm; // its own: beats meet no other message
    double stall_s, interval_s;
    int rank, size;
    pthread_t thread;
    atomic_bool stopping;
};

static void name_host(char *out, size_t bytes)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    (void)MPI_Get_processor_name(name, &length);
    (void)snprintf(out, bytes, "%.*s", length, name);
}

// The beat on its way to the next process; there is one at a time.
typedef struct speaking {
    beat words;
    MPI_Request request;
    double next_s; // when the next one is due
    bool is_over;  // the last one has been sent
} speaking;

static void speak(const bb_stall_watch *watch, speaking *out, double now)
{
    int is_sent = 1;
    if (out->request != MPI_REQUEST_NULL) {
        (void)MPI_Test(&out->request, &is_sent, MPI_STATUS_IGNORE);
    }
    const bool ends = atomic_load(&watch->stopping);
    if (!is_sent || out->words.is_last || (now < out->next_s && !ends)) {
        out->is_over = is_sent && out->words.is_last;
        return;
    }
    out->words.is_last = ends;
    out->next_s = now + watch->interval_s;
    (void)MPI_Isend(&out->words, (int)sizeof out->words, MPI_BYTE, (watch->rank + 1) % watch->size,
                    0, watch->comm, &out->request);
}

// Takes what has come; returns whether something has.
static bool listen_for(const bb_stall_watch *watch, beat *heard)
{
    const int before = (watch->rank + watch->size - 1) % watch->size;
    int has_come = 0;
    (void)MPI_Iprobe(before, 0, watch->comm, &has_come, MPI_STATUS_IGNORE);
    if (has_come) {
        (void)MPI_Recv(heard, (int)sizeof *heard, MPI_BYTE, before, 0, watch->comm,
                       MPI_STATUS_IGNORE);
    }
    return has_come;
}

static void end_all(const bb_stall_watch *watch, const beat *heard)
{
    const int before = (watch->rank + watch->size - 1) % watch->size;
    (void)fprintf(stderr,
                  "bitbudget: process %d of %d (%s, pid %ld) has not been heard of for %g s "
                  "(solver.stall_s): the run ends\n",
                  before, watch->size, heard->host, heard->process, watch->stall_s);
    (void)fflush(stderr);
    (void)MPI_Abort(watch->comm, bb_status_exit_code(BB_INTERNAL));
}

static void *run(void *context)
{
    const bb_stall_watch *watch = context;
    const struct timespec turn = {.tv_nsec = (long)(1e9 * turn_s)};
    beat heard = {.host = "not heard yet"};
    speaking spoken = {.request = MPI_REQUEST_NULL};
    double last = bb_clock_seconds();
    double turned = last;
    spoken.words.process = (long)getpid();
    name_host(spoken.words.host, sizeof spoken.words.host);
    while (!spoken.is_over || !heard.is_last) {
        const double now = bb_clock_seconds();
        last += now - turned > pause_s ? now - turned : 0.0;
        turned = now;
        speak(watch, &spoken, now);
        while (!heard.is_last && listen_for(watch, &heard)) {
            last = now;
        }
        if (!heard.is_last && now - last > watch->stall_s) {
            end_all(watch, &heard);
        }
        (void)nanosleep(&turn, NULL);
    }
    return NULL;
}

bb_status bb_stall_watch_start(double stall_s, bb_stall_watch **out)
{
    bb_status status = BB_OK;
    bb_stall_watch *watch = NULL;
    int size = 1;
    *out = NULL;
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (stall_s <= 0.0 || size == 1) {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, &watch));
    watch->stall_s = stall_s;
    watch->interval_s = stall_s / 4.0 < 1.0 ? stall_s / 4.0 : 1.0;
    watch->size = size;
    BB_REQUIRE(MPI_Comm_dup(MPI_COMM_WORLD, &watch->comm) == MPI_SUCCESS, BB_INTERNAL,
               "MPI gave no communicator for beats");
    (void)MPI_Comm_rank(watch->comm, &watch->rank);
    BB_REQUIRE(pthread_create(&watch->thread, NULL, run, watch) == 0, BB_INTERNAL,
               "no thread to watch the processes");
    *out = watch;
    watch = NULL;
done:
    BB_RELEASE(&watch);
    return status;
}

void bb_stall_watch_stop(bb_stall_watch **watch)
{
    if (*watch != NULL) {
        atomic_store(&(*watch)->stopping, true);
        (void)pthread_join((*watch)->thread, NULL);
        (void)MPI_Comm_free(&(*watch)->comm);
        BB_RELEASE(watch);
    }
}
