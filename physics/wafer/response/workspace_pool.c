// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/workspace_pool.h"

#include "core/memory.h"

#include <pthread.h>

// Link in a free workspace.
typedef struct link {
    struct link *next;
} link;

struct bb_workspace_pool {
    pthread_mutex_t lock;
    bb_index count;
    link *first;
};

bb_status bb_workspace_pool_create(bb_index count, bb_workspace_pool **out)
{
    bb_status status = BB_OK;
    bb_workspace_pool *pool = NULL;
    BB_TRY(BB_ZEROED(1, &pool));
    BB_REQUIRE(pthread_mutex_init(&pool->lock, NULL) == 0, BB_INTERNAL,
               "cannot create a lock for workspaces");
    pool->count = count;
    *out = pool;
    pool = NULL;
done:
    BB_RELEASE(&pool);
    return status;
}

bb_status bb_workspace_pool_acquire(bb_workspace_pool *pool, double **out)
{
    (void)pthread_mutex_lock(&pool->lock);
    link *taken = pool->first;
    if (taken != NULL) {
        pool->first = taken->next;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    *out = (double *)(void *)taken;
    return taken != NULL ? BB_OK : BB_ALLOCATE(pool->count, out);
}

void bb_workspace_pool_release(bb_workspace_pool *pool, double **workspace)
{
    if (*workspace == NULL) {
        return;
    }
    link *given = (link *)(void *)*workspace;
    (void)pthread_mutex_lock(&pool->lock);
    given->next = pool->first;
    pool->first = given;
    (void)pthread_mutex_unlock(&pool->lock);
    *workspace = NULL;
}

void bb_workspace_pool_destroy(bb_workspace_pool **pool)
{
    if (pool == NULL || *pool == NULL) {
        return;
    }
    while ((*pool)->first != NULL) {
        link *taken = (*pool)->first;
        (*pool)->first = taken->next;
        BB_RELEASE(&taken);
    }
    (void)pthread_mutex_destroy(&(*pool)->lock);
    BB_RELEASE(pool);
}
