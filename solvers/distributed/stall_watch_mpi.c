// SPDX-License-Identifier: Apache-2.0
#include "solvers/distributed/stall_watch_mpi.h"

#include "core/clock.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

// A longer pause means that the listener itself was suspended.
static const double pause_s = 1.0;
static const double turn_s = 0.05;
static const double interval_s = 0.25; // time between heartbeats

// Heartbeat of a process, with the host and process id that an operator needs.
typedef struct beat {
    int is_last;
    long process;
    char host[64];
} beat;

// State of the watch thread.
typedef struct watching {
    MPI_Comm comm; // duplicate, so that heartbeats cannot match other messages
    int rank, size;
    pthread_t thread;
    _Atomic double limit_s; // 0: no limit
    atomic_bool stopping;
    bool is_on;
} watching;

static watching watch;

static void name_host(char *out, size_t bytes)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    (void)MPI_Get_processor_name(name, &length);
    (void)snprintf(out, bytes, "%.*s", length, name);
}

// Heartbeat being sent to the next process; at most one is in flight.
typedef struct speaking {
    beat words;
    MPI_Request request; // persistent request
    bool is_begun;
    double next_s; // time of the next heartbeat
    bool is_over;  // the last heartbeat has been sent
} speaking;

static void speak(speaking *out, double now)
{
    int is_sent = 1;
    if (out->is_begun) {
        (void)MPI_Test(&out->request, &is_sent, MPI_STATUS_IGNORE);
    }
    const bool ends = atomic_load(&watch.stopping);
    if (!is_sent || out->words.is_last || (now < out->next_s && !ends)) {
        out->is_over = is_sent && out->words.is_last;
        return;
    }
    out->words.is_last = ends;
    out->next_s = now + interval_s;
    out->is_begun = true;
    (void)MPI_Start(&out->request);
}

// Receives one heartbeat if any has arrived; returns true if it received one.
static bool listen_for(beat *heard)
{
    const int before = (watch.rank + watch.size - 1) % watch.size;
    int has_come = 0;
    (void)MPI_Iprobe(before, 0, watch.comm, &has_come, MPI_STATUS_IGNORE);
    if (has_come) {
        (void)MPI_Recv(heard, (int)sizeof *heard, MPI_BYTE, before, 0, watch.comm,
                       MPI_STATUS_IGNORE);
    }
    return has_come;
}

static void end_all(const beat *heard, double limit_s)
{
    const int before = (watch.rank + watch.size - 1) % watch.size;
    (void)fprintf(stderr,
                  "bitbudget: process %d of %d (%s, pid %ld) sent no heartbeat for %g s "
                  "(solver.stall_s): aborting the run\n",
                  before, watch.size, heard->host, heard->process, limit_s);
    (void)fflush(stderr);
    (void)MPI_Abort(watch.comm, bb_status_exit_code(BB_INTERNAL));
}

static void *run(void *context)
{
    (void)context;
    const struct timespec turn = {.tv_nsec = (long)(1e9 * turn_s)};
    beat heard = {.host = "unknown: no heartbeat yet"};
    speaking spoken = {.request = MPI_REQUEST_NULL};
    (void)MPI_Send_init(&spoken.words, (int)sizeof spoken.words, MPI_BYTE,
                        (watch.rank + 1) % watch.size, 0, watch.comm, &spoken.request);
    double last = bb_clock_seconds();
    double turned = last;
    spoken.words.process = (long)getpid();
    name_host(spoken.words.host, sizeof spoken.words.host);
    while (!spoken.is_over || !heard.is_last) {
        const double now = bb_clock_seconds();
        last += now - turned > pause_s ? now - turned : 0.0;
        turned = now;
        speak(&spoken, now);
        while (!heard.is_last && listen_for(&heard)) {
            last = now;
        }
        const double limit_s = atomic_load(&watch.limit_s);
        if (!heard.is_last && limit_s > 0.0 && now - last > limit_s) {
            end_all(&heard, limit_s);
        }
        (void)nanosleep(&turn, NULL);
    }
    (void)MPI_Request_free(&spoken.request);
    return NULL;
}

bb_status bb_stall_watch_start(void)
{
    bb_status status = BB_OK;
    (void)MPI_Comm_size(MPI_COMM_WORLD, &watch.size);
    if (watch.size == 1) {
        goto done;
    }
    bb_stall_watch_limit(BB_STALL_WATCH_S);
    BB_REQUIRE(MPI_Comm_dup(MPI_COMM_WORLD, &watch.comm) == MPI_SUCCESS, BB_INTERNAL,
               "MPI_Comm_dup failed for the heartbeat communicator");
    (void)MPI_Comm_rank(watch.comm, &watch.rank);
    BB_REQUIRE(pthread_create(&watch.thread, NULL, run, NULL) == 0, BB_INTERNAL,
               "the thread of the stall watch could not be created");
    watch.is_on = true;
done:
    return status;
}

void bb_stall_watch_limit(double seconds)
{
    atomic_store(&watch.limit_s, seconds);
}

void bb_stall_watch_stop(void)
{
    if (watch.is_on) {
        atomic_store(&watch.stopping, true);
        (void)pthread_join(watch.thread, NULL);
        (void)MPI_Comm_free(&watch.comm);
        watch.is_on = false;
    }
}
