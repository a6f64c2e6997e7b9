// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/workspace_pool.h"

#include "core/memory.h"

#include <pthread.h>
#include <string.h>

// A free workspace holds the address of the next one in its first bytes.
struct bb_workspace_pool {
    pthread_mutex_t lock;
    bb_index count;
    double *first;
};

bb_status bb_workspace_pool_create(bb_index count, bb_workspace_pool **out)
{
    bb_status status = BB_OK;
    bb_workspace_pool *pool = NULL;
    BB_TRY(BB_ZEROED(1, &pool));
    BB_REQUIRE(pthread_mutex_init(&pool->lock, NULL) == 0, BB_INTERNAL, "no lock for workspaces");
    pool->count = count;
    *out = pool;
    pool = NULL;
done:
    BB_RELEASE(&pool);
    return status;
}

bb_status bb_workspace_pool_take(bb_workspace_pool *pool, double **out)
{
    double *taken = NULL;
    (void)pthread_mutex_lock(&pool->lock);
    taken = pool->first;
    if (taken != NULL) {
        memcpy(&pool->first, taken, sizeof pool->first);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    *out = taken;
    return taken != NULL ? BB_OK : BB_ALLOCATE(pool->count, out);
}

void bb_workspace_pool_give(bb_workspace_pool *pool, double **workspace)
{
    if (*workspace == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    memcpy(*workspace, &pool->first, sizeof pool->first);
    pool->first = *workspace;
    (void)pthread_mutex_unlock(&pool->lock);
    *workspace = NULL;
}

void bb_workspace_pool_destroy(bb_workspace_pool **pool)
{
    if (pool == NULL || *pool == NULL) {
        return;
    }
    while ((*pool)->first != NULL) {
        double *taken = (*pool)->first;
        memcpy(&(*pool)->first, taken, sizeof taken);
        BB_RELEASE(&taken);
    }
    (void)pthread_mutex_destroy(&(*pool)->lock);
    BB_RELEASE(pool);
}
