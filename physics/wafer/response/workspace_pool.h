// SPDX-License-Identifier: Apache-2.0
//
// Large workspaces of one size that tasks take and give back, so that pages are asked of the system
// once a thread and not once a task (half a gigabyte a batch of plate rows, a fifth of its time).
#ifndef BB_PHYSICS_WAFER_RESPONSE_WORKSPACE_POOL_H
#define BB_PHYSICS_WAFER_RESPONSE_WORKSPACE_POOL_H

#include "core/status.h"

typedef struct bb_workspace_pool bb_workspace_pool;

/// Workspaces of `count` >= 1 doubles; none is allocated yet. Errors: BB_MEMORY, BB_INTERNAL.
BB_CHECKED bb_status bb_workspace_pool_create(bb_index count, bb_workspace_pool **out);

/// A workspace with undefined contents, given back by bb_workspace_pool_release. Safe from several
/// threads. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_workspace_pool_acquire(bb_workspace_pool *pool, double **out);

/// Gives back `*workspace` (NULL is fine) and sets it to NULL.
void bb_workspace_pool_release(bb_workspace_pool *pool, double **workspace);

/// All workspaces have to be given back.
void bb_workspace_pool_destroy(bb_workspace_pool **pool);

#endif
