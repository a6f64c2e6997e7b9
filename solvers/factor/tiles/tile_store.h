// SPDX-License-Identifier: Apache-2.0
//
// Memory for the tiles of a matrix above the memory limit: buffers of at most `limit` bytes in
// total, and a file for the other tiles. Threads hold the tiles they work on. When a buffer is
// needed, the unheld tile with the farthest next use is evicted (Belady's rule; the next use is
// known, because the order of the work is).
//
// The file has no name, so that a killed process leaves nothing behind, and its space is reserved
// before any work. It bypasses the page cache (O_DIRECT) if the folder's file system supports that;
// otherwise data is dropped from the cache once it has reached the disk. Memory thus consists of
// the buffers, one tile of scratch and the tables. Narrow tiles use their format's bytes in the
// file and a float per value in the buffers.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_STORE_H
#define BB_SOLVERS_FACTOR_TILES_TILE_STORE_H

#include "solvers/factor/tiles/tile_access.h"

typedef struct bb_tile_store bb_tile_store;

/// Next use of a tile that is not needed again; tiles with larger values are evicted first.
#define BB_TILE_STORE_NEVER PTRDIFF_MAX

/// Location of tiles that are not in memory.
typedef struct bb_tile_store_place {
    size_t limit;       ///< total bytes of buffers
    const char *folder; ///< folder of the file; NULL: TMPDIR, or /tmp
    bool cached;        ///< use the page cache even if the file system supports direct I/O
} bb_tile_store_place;

typedef enum bb_tile_store_use {
    BB_TILE_READ,   ///< values are read only
    BB_TILE_CHANGE, ///< values are read and changed
    BB_TILE_FRESH,  ///< values are undefined, all must be written
} bb_tile_store_use;

/// Creates the store of `tiles` [count], whose format and sizes are set; their values are NULL
/// unless they are in memory. `tiles` is borrowed. Warns about a folder in memory (tmpfs). Errors:
/// BB_IO with the folder (not writable) and the bytes (not enough space for all tiles), BB_MEMORY.
BB_CHECKED bb_status bb_tile_store_create(bb_tile *tiles, bb_index count,
                                          const bb_tile_store_place *place, bb_tile_store **out);
void bb_tile_store_destroy(bb_tile_store **store);

/// Loads a tile into memory for `holders` (>= 1) holders, each of which releases it. `*held` is
/// false if every buffer is held, and nothing has changed: try again after a release. Any thread
/// may hold and release; I/O is serialised. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_tile_store_acquire(bb_tile_store *store, bb_index tile,
                                           bb_tile_store_use use, bb_index holders, bool *held);

/// Releases one holder of a tile whose next use is `next_use`, in any unit shared by all tiles.
void bb_tile_store_release(bb_tile_store *store, bb_index tile, bb_index next_use);

/// Sets the next use of a tile that nobody holds.
void bb_tile_store_set_next_use(bb_tile_store *store, bb_index tile, bb_index next_use);

/// Releases all holders, after abandoned work.
void bb_tile_store_release_all(bb_tile_store *store);

/// Total number of holders of all tiles.
bb_index bb_tile_store_holders(const bb_tile_store *store);

/// Bytes read from and written to the file so far, and the time for it; `waited` is 0.
bb_tile_traffic bb_tile_store_traffic(bb_tile_store *store);

/// Access of the sweeps to a matrix with a store: holds one row or column of tiles at a time; of
/// the other tiles, the ones used again soonest stay in memory. The context of the access is NULL.
extern const bb_tile_access bb_tile_store_access;

/// Bytes of a tile in a buffer.
size_t bb_tile_store_bytes(bb_format format, bb_index rows, bb_index columns);

/// Memory of a store of `count` tiles, the largest of `items` values, including full buffers.
bb_need bb_tile_store_need(bb_index count, bb_index items, double limit);

#endif
