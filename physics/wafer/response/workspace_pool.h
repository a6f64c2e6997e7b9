// SPDX-License-Identifier: Apache-2.0
//
// Pool of large workspaces of one size, acquired and released by tasks, so that memory pages are
// requested once per thread and not once per task (half a gigabyte per batch of plate rows, a fifth
// of its time).
#ifndef BB_PHYSICS_WAFER_RESPONSE_WORKSPACE_POOL_H
#define BB_PHYSICS_WAFER_RESPONSE_WORKSPACE_POOL_H

#include "core/status.h"

typedef struct bb_workspace_pool bb_workspace_pool;

/// Creates a pool of workspaces of `count` >= 1 doubles; none is allocated yet. Errors: BB_MEMORY,
/// BB_INTERNAL.
BB_CHECKED bb_status bb_workspace_pool_create(bb_index count, bb_workspace_pool **out);

/// Acquires a workspace with undefined contents, to be returned by bb_workspace_pool_release. Safe
/// from several threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_workspace_pool_acquire(bb_workspace_pool *pool, double **out);

/// Returns `*workspace` (NULL is ignored) to the pool and sets it to NULL.
void bb_workspace_pool_release(bb_workspace_pool *pool, double **workspace);

/// Destroys a pool. All workspaces must have been returned.
void bb_workspace_pool_destroy(bb_workspace_pool **pool);

#endif
