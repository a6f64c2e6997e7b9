// SPDX-License-Identifier: Apache-2.0
#include "core/thread.h"

#include "core/memory.h"

#include <cblas.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { COPIED_BYTES = 1 << 20 }; // bytes copied per task

// The loop that the pool works on. One loop at a time: nested loops run on their own thread.
typedef struct loop {
    bb_task task;
    void *context;
    bb_index count;
    atomic_ptrdiff_t next;
    atomic_bool failed;
    pthread_mutex_t failure_lock;
    bb_index failure_index;
    bb_status failure;
    bb_status_record record;
} loop;

typedef struct pool {
    pthread_mutex_t turn; // of the thread whose loop the pool works on, or that changes the workers
    pthread_mutex_t lock;
    pthread_cond_t start;
    pthread_cond_t finish;
    pthread_t *workers; // [worker_count]
    atomic_ptrdiff_t worker_count;
    bb_index ready; // workers that wait for a loop or have served one
    bb_index busy;
    unsigned long generation;
    bool stopping;
    loop *current;
} pool;

static pool shared = {.turn = PTHREAD_MUTEX_INITIALIZER,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .start = PTHREAD_COND_INITIALIZER,
                      .finish = PTHREAD_COND_INITIALIZER};

static _Thread_local bool inside_loop;
static _Thread_local bool is_worker;
static _Thread_local pool *own; // pool of a side thread; NULL: the shared one

static void reset_locks(pool *crew)
{
    (void)pthread_mutex_init(&crew->turn, NULL);
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->start, NULL);
    (void)pthread_cond_init(&crew->finish, NULL);
}

static pool *pool_here(void)
{
    return own != NULL ? own : &shared;
}

static void note_failure(loop *work, bb_index index, bb_status status)
{
    pthread_mutex_lock(&work->failure_lock);
    if (work->failure == BB_OK || index < work->failure_index) {
        work->failure = status;
        work->failure_index = index;
        bb_status_save(&work->record);
    }
    pthread_mutex_unlock(&work->failure_lock);
    atomic_store(&work->failed, true);
}

static void drain(loop *work)
{
    inside_loop = true;
    while (!atomic_load_explicit(&work->failed, memory_order_relaxed)) {
        bb_index index = atomic_fetch_add(&work->next, 1);
        if (index >= work->count) {
            break;
        }
        bb_status status = work->task(work->context, index);
        if (status != BB_OK) {
            note_failure(work, index, status);
        }
    }
    inside_loop = false;
}

static void *run_worker(void *argument)
{
    pool *crew = argument;
    unsigned long seen = 0;
    is_worker = true;
    pthread_mutex_lock(&crew->lock);
    ++crew->ready;
    pthread_cond_signal(&crew->finish);
    for (;;) {
        while (crew->generation == seen && !crew->stopping) {
            pthread_cond_wait(&crew->start, &crew->lock);
        }
        if (crew->stopping) {
            break;
        }
        seen = crew->generation;
        loop *work = crew->current;
        pthread_mutex_unlock(&crew->lock);
        drain(work);
        pthread_mutex_lock(&crew->lock);
        if (--crew->busy == 0) {
            pthread_cond_signal(&crew->finish);
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static void stop_workers(pool *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->stopping = true;
    pthread_cond_broadcast(&crew->start);
    pthread_mutex_unlock(&crew->lock);
    for (bb_index i = 0; i < crew->worker_count; ++i) {
        pthread_join(crew->workers[i], NULL);
    }
    BB_RELEASE(&crew->workers);
    crew->worker_count = 0;
    crew->ready = 0;
    crew->generation = 0;
    crew->stopping = false;
}

void bb_threads_stop(void)
{
    (void)pthread_mutex_lock(&shared.turn);
    stop_workers(&shared);
    (void)pthread_mutex_unlock(&shared.turn);
}

void bb_threads_abandon(void)
{
    reset_locks(&shared);
    BB_RELEASE(&shared.workers);
    shared.worker_count = 0;
    shared.ready = 0;
    shared.generation = 0;
}

// A thread that is still starting may hold a lock of its run-time library, on which a forked child
// would wait forever; a thread that waits for a loop holds none.
static void await_workers(pool *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->ready < crew->worker_count) {
        pthread_cond_wait(&crew->finish, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
}

// Starts the workers of an empty pool, for loops of `count` threads.
static bb_status start_workers(pool *crew, bb_index count)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(count - 1, &crew->workers));
    for (bb_index i = 0; i < count - 1; ++i) {
        int error = pthread_create(&crew->workers[i], NULL, run_worker, crew);
        BB_REQUIRE(error == 0, error == EAGAIN ? BB_MEMORY : BB_INTERNAL,
                   "cannot start thread %td of %td (error %d)", i + 2, count, error);
        ++crew->worker_count;
    }
    await_workers(crew);
done:
    return status;
}

bb_status bb_threads_set(bb_index count)
{
    bb_status status = BB_OK;
    BB_REQUIRE(count >= 1 && count <= 1024, BB_INVALID, "%td threads, expected 1..1024", count);
    openblas_set_num_threads(1);
    (void)pthread_mutex_lock(&shared.turn);
    stop_workers(&shared);
    status = start_workers(&shared, count);
    (void)pthread_mutex_unlock(&shared.turn);
done:
    return status;
}

bb_index bb_threads_count(void)
{
    return pool_here()->worker_count + 1;
}

bool bb_thread_is_worker(void)
{
    return is_worker;
}

bb_index bb_threads_available(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : (bb_index)online;
}

static bb_status run_on_caller(bb_index count, bb_task task, void *context)
{
    for (bb_index index = 0; index < count; ++index) {
        bb_status status = task(context, index);
        if (status != BB_OK) {
            return status;
        }
    }
    return BB_OK;
}

bb_status bb_thread_for(bb_index count, bb_task task, void *context)
{
    pool *crew = pool_here();
    if (inside_loop || crew->worker_count == 0 || count <= 1 ||
        pthread_mutex_trylock(&crew->turn) != 0) {
        return run_on_caller(count, task, context);
    }
    loop work = {.task = task,
                 .context = context,
                 .count = count,
                 .failure_lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_mutex_lock(&crew->lock);
    crew->current = &work;
    crew->busy = crew->worker_count;
    ++crew->generation;
    pthread_cond_broadcast(&crew->start);
    pthread_mutex_unlock(&crew->lock);
    drain(&work);
    pthread_mutex_lock(&crew->lock);
    while (crew->busy > 0) {
        pthread_cond_wait(&crew->finish, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    pthread_mutex_unlock(&crew->turn);
    pthread_mutex_destroy(&work.failure_lock);
    if (work.failure != BB_OK) {
        bb_status_restore(&work.record);
    }
    return work.failure;
}

typedef struct ranges {
    bb_range_task task;
    void *context;
    bb_index count;
    bb_index grain;
} ranges;

static bb_status run_range(void *context, bb_index index)
{
    const ranges *limits = context;
    bb_index begin = index * limits->grain;
    bb_index end = begin + limits->grain < limits->count ? begin + limits->grain : limits->count;
    return limits->task(limits->context, begin, end);
}

bb_status bb_thread_ranges(bb_index count, bb_index grain, bb_range_task task, void *context)
{
    ranges limits = {task, context, count, grain};
    return bb_thread_for((count + grain - 1) / grain, run_range, &limits);
}

typedef struct copying {
    char *target;
    const char *source;
} copying;

static bb_status copy_range(void *context, bb_index begin, bb_index end)
{
    const copying *work = context;
    memcpy(work->target + begin, work->source + begin, (size_t)(end - begin));
    return BB_OK;
}

bb_status bb_thread_copy(void *target, const void *source, size_t bytes)
{
    copying work = {target, source};
    return bb_thread_ranges((bb_index)bytes, COPIED_BYTES, copy_range, &work);
}

struct bb_side_thread {
    pthread_t thread;
    bb_task task;
    void *context;
    bb_status status;
    bb_status_record record;
};

static void *run_side_task(void *argument)
{
    bb_side_thread *self = argument;
    inside_loop = true;
    is_worker = true;
    self->status = self->task(self->context, 0);
    bb_status_save(&self->record);
    if (own != NULL) {
        stop_workers(own);
        BB_RELEASE(&own);
    }
    return NULL;
}

bb_status bb_side_thread_widen(bb_index threads)
{
    bb_status status = BB_OK;
    BB_REQUIRE(is_worker && own == NULL && threads >= 1, BB_INTERNAL,
               "loops of %td threads: expected 1 or more, once per side thread", threads);
    BB_TRY(BB_ZEROED(1, &own));
    reset_locks(own);
    BB_TRY(start_workers(own, threads));
    inside_loop = false;
done:
    return status;
}

bb_status bb_side_thread_start(bb_task task, void *context, bb_side_thread **out)
{
    bb_status status = BB_OK;
    bb_side_thread *self = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &self));
    self->task = task;
    self->context = context;
    const int error = pthread_create(&self->thread, NULL, run_side_task, self);
    BB_REQUIRE(error == 0, error == EAGAIN ? BB_MEMORY : BB_INTERNAL,
               "cannot start a thread (error %d)", error);
    *out = self;
    self = NULL;
done:
    BB_RELEASE(&self);
    return status;
}

bb_status bb_side_thread_join(bb_side_thread **thread)
{
    if (*thread == NULL) {
        return BB_OK;
    }
    pthread_join((*thread)->thread, NULL);
    const bb_status status = (*thread)->status;
    if (status != BB_OK) {
        bb_status_restore(&(*thread)->record);
    }
    BB_RELEASE(thread);
    return status;
}
