// SPDX-License-Identifier: Apache-2.0
//
// Memory for the tiles of a matrix that does not fit into what it may take: buffers of at most
// `limit` bytes in all, and a file for the tiles that are in none of them. Who works on a tile
// holds it meanwhile; of the tiles that nobody holds, the one whose next use is farthest goes to
// the file when another needs room (Belady's rule: who holds them knows the order of the work).
//
// The file has no name, so that a process that is killed leaves nothing, and its space is reserved
// before any work. It is read and written past the page cache (O_DIRECT) where the folder's file
// system can do so; elsewhere what was read or written is dropped from the cache, after it has
// reached the disk. So what is in memory are the buffers, one tile of scratch and the tables.
// Narrow tiles take their format's bytes in the file and a float a value in the buffers.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_STORE_H
#define BB_SOLVERS_FACTOR_TILES_TILE_STORE_H

#include "solvers/factor/tiles/tile_access.h"

typedef struct bb_tile_store bb_tile_store;

/// Next use of a tile that is not needed again; larger ones go to the file first.
#define BB_TILE_STORE_NEVER PTRDIFF_MAX

/// Where tiles go that are not in memory.
typedef struct bb_tile_store_place {
    size_t limit;       ///< bytes of all buffers
    const char *folder; ///< of the file; NULL: TMPDIR, or /tmp
    bool cached;        ///< by the page cache even where the file system could do without
} bb_tile_store_place;

typedef enum bb_tile_store_use {
    BB_TILE_READ,   ///< values as they are, not to be changed
    BB_TILE_CHANGE, ///< values as they are
    BB_TILE_FRESH,  ///< values undefined, all to be set
} bb_tile_store_use;

/// Makes the store of tiles [count], whose format and sizes are set; their values are NULL but
/// while they are in memory. `tiles` is borrowed. A folder that is memory itself (tmpfs) is warned
/// of. Errors: BB_IO with the folder (not writable) and the bytes (no room for all tiles),
/// BB_MEMORY.
BB_CHECKED bb_status bb_tile_store_create(bb_tile *tiles, bb_index count,
                                          const bb_tile_store_place *place, bb_tile_store **out);
void bb_tile_store_destroy(bb_tile_store **store);

/// Brings a tile into memory for `holders` (>= 1), each of whom releases it. `*held` is false where
/// every buffer is held, and nothing has changed: try again when something was released. Any thread
/// may hold and release; one at a time reads and writes. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_tile_store_acquire(bb_tile_store *store, bb_index tile,
                                           bb_tile_store_use use, bb_index holders, bool *held);

/// One holder less, of a tile whose next use is `next_use`, in any unit that all tiles share.
void bb_tile_store_release(bb_tile_store *store, bb_index tile, bb_index next_use);

/// The next use of a tile that nobody holds.
void bb_tile_store_expect(bb_tile_store *store, bb_index tile, bb_index next_use);

/// No tile is held any longer: after work that was given up.
void bb_tile_store_release_all(bb_tile_store *store);

/// Holders of all tiles together.
bb_index bb_tile_store_holders(const bb_tile_store *store);

/// What was read from and written to the file so far, and the seconds that took; none waited.
bb_tile_traffic bb_tile_store_traffic(bb_tile_store *store);

/// How the sweeps read a matrix with a store: a row or column of tiles is held at a time, and of
/// the others those stay in memory that come again soonest. Its context is nothing.
extern const bb_tile_access bb_tile_store_access;

/// Bytes of a tile in a buffer.
size_t bb_tile_store_bytes(bb_format format, bb_index rows, bb_index columns);

/// Memory of a store of `count` tiles, the largest of `items` values, full buffers included.
bb_need bb_tile_store_need(bb_index count, bb_index items, double limit);

#endif
