// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_store.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SECTOR = 4096, TMPFS = 0x01021994 };

typedef struct entry {
    atomic_ptrdiff_t holders;
    atomic_ptrdiff_t next_use;
    void *buffer; // NULL: only in the file
    off_t offset; // offset of its slot in the file
    bool changed; // changed since it was last read or written
} entry;

struct bb_tile_store {
    bb_tile *tiles;
    bb_index count;
    entry *entries; // [count]
    pthread_mutex_t lock;
    size_t limit, taken; // bytes of buffers, including the spare one
    void *spare;         // spare buffer of an evicted tile, or NULL
    size_t spare_bytes;
    char *scratch; // I/O buffer, aligned to sectors of the file
    char *words;
    int file;
    bool direct; // bypasses the page cache
    bb_tile_traffic traffic;
};

size_t bb_tile_store_bytes(bb_format format, bb_index rows, bb_index columns)
{
    return (size_t)(rows * columns) * (format == BB_FORMAT_FP64 ? sizeof(double) : sizeof(float));
}

static size_t buffer_bytes(const bb_tile *tile)
{
    return bb_tile_store_bytes(tile->format, tile->rows, tile->columns);
}

static size_t whole_sectors(size_t bytes)
{
    return (bytes + SECTOR - 1) / SECTOR * SECTOR;
}

static size_t file_bytes(const bb_tile *tile)
{
    return whole_sectors((size_t)(tile->rows * tile->columns) *
                         (size_t)bb_format_describe(tile->format)->bytes);
}

// Creates an unnamed file in the folder.
static bb_status open_file(const char *folder, int *out)
{
    bb_status status = BB_OK;
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/bitbudget-XXXXXX", folder);
    BB_REQUIRE(length > 0 && length < (int)sizeof path, BB_IO, "path is longer than %d bytes",
               PATH_MAX);
    *out = mkostemp(path, O_CLOEXEC);
    BB_REQUIRE(*out >= 0, BB_IO, "cannot create the tile file in folder '%s': %s", folder,
               strerror(errno));
    (void)unlink(path);
done:
    return status;
}

static bb_status reserve(const bb_tile_store *store, const char *folder, off_t bytes)
{
    bb_status status = BB_OK;
    struct statfs system;
    const int error = posix_fallocate(store->file, 0, bytes);
    BB_REQUIRE(error == 0, BB_IO, "tiles beyond the memory limit need %.6g GB in folder '%s': %s",
               1e-9 * (double)bytes, folder, strerror(error));
    if (fstatfs(store->file, &system) == 0 && system.f_type == TMPFS) {
        bb_log_warning("folder '%s' for tiles beyond the memory limit is itself in memory (tmpfs)",
                       folder);
    }
done:
    return status;
}

// True if the file system reads into sector-aligned memory without its cache.
static bool bypass_cache(const bb_tile_store *store)
{
    const int flags = fcntl(store->file, F_GETFL);
    if (flags < 0 || fcntl(store->file, F_SETFL, flags | O_DIRECT) != 0) {
        return false;
    }
    if (pread(store->file, store->words, SECTOR, 0) == SECTOR) {
        return true;
    }
    (void)fcntl(store->file, F_SETFL, flags);
    return false;
}

bb_status bb_tile_store_create(bb_tile *tiles, bb_index count, const bb_tile_store_place *place,
                               bb_tile_store **out)
{
    bb_status status = BB_OK;
    bb_tile_store *store = NULL;
    const char *folder = place->folder != NULL ? place->folder : getenv("TMPDIR");
    size_t longest = 0;
    off_t bytes = 0;
    folder = folder != NULL && *folder != '\0' ? folder : "/tmp";
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &store));
    store->file = -1;
    BB_REQUIRE(pthread_mutex_init(&store->lock, NULL) == 0, BB_INTERNAL,
               "the lock of the tile store could not be created");
    store->tiles = tiles;
    store->count = count;
    store->limit = place->limit;
    BB_TRY(BB_ZEROED(count, &store->entries));
    for (bb_index t = 0; t < count; ++t) {
        const size_t item = file_bytes(&tiles[t]);
        store->entries[t].offset = bytes;
        bytes += (off_t)item;
        longest = item > longest ? item : longest;
    }
    BB_TRY(BB_ALLOCATE((bb_index)longest + SECTOR, &store->scratch));
    store->words = store->scratch + (SECTOR - (uintptr_t)store->scratch % SECTOR) % SECTOR;
    BB_TRY(open_file(folder, &store->file));
    BB_TRY(reserve(store, folder, bytes));
    store->direct = !place->cached && bypass_cache(store);
    if (!store->direct) {
        // Do not exceed the requested bytes.
        (void)posix_fadvise(store->file, 0, 0, POSIX_FADV_RANDOM);
    }
    *out = store;
    store = NULL;
done:
    bb_tile_store_destroy(&store);
    return status;
}

void bb_tile_store_destroy(bb_tile_store **store)
{
    if (*store == NULL) {
        return;
    }
    for (bb_index t = 0; (*store)->entries != NULL && t < (*store)->count; ++t) {
        BB_RELEASE(&(*store)->entries[t].buffer);
        (*store)->tiles[t].f64 = NULL;
        (*store)->tiles[t].f32 = NULL;
    }
    if ((*store)->file >= 0) {
        (void)close((*store)->file);
    }
    BB_RELEASE(&(*store)->spare);
    BB_RELEASE(&(*store)->scratch);
    BB_RELEASE(&(*store)->entries);
    (void)pthread_mutex_destroy(&(*store)->lock);
    BB_RELEASE(store);
}

// Converts the tile's buffer to the words of the file, or back.
static void pack(const bb_tile *tile, const void *buffer, char *words)
{
    const bb_index items = tile->rows * tile->columns;
    const bb_index word = bb_format_describe(tile->format)->bytes;
    if ((size_t)(items * word) == buffer_bytes(tile)) {
        memcpy(words, buffer, buffer_bytes(tile));
        return;
    }
    (void)bb_format_encode_f32(tile->format, buffer, items, 1.0, words);
}

static void unpack(const bb_tile *tile, const char *words, void *buffer)
{
    const bb_index items = tile->rows * tile->columns;
    const bb_index word = bb_format_describe(tile->format)->bytes;
    if ((size_t)(items * word) == buffer_bytes(tile)) {
        memcpy(buffer, words, buffer_bytes(tile));
    } else {
        bb_format_decode_f32(tile->format, words, items, buffer);
    }
}

// Transfers a whole slot of the file by calls that may transfer less.
static bb_status transfer(bb_tile_store *store, bb_index tile, bool writes)
{
    bb_status status = BB_OK;
    const size_t bytes = file_bytes(&store->tiles[tile]);
    const off_t begin = store->entries[tile].offset;
    const int64_t start = bb_clock_ns();
    size_t done = 0;
    while (done < bytes) {
        char *words = store->words + done;
        const off_t offset = begin + (off_t)done;
        const ssize_t count = writes ? pwrite(store->file, words, bytes - done, offset)
                                     : pread(store->file, words, bytes - done, offset);
        BB_REQUIRE(count > 0 || (count < 0 && errno == EINTR), BB_IO,
                   "cannot %s %zu bytes of a tile: %s", writes ? "write" : "read", bytes - done,
                   count == 0 ? "unexpected end of file" : strerror(errno));
        done += count > 0 ? (size_t)count : 0;
    }
    if (!store->direct) {
        if (writes) {
            (void)sync_file_range(store->file, begin, (off_t)bytes,
                                  SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
        }
        (void)posix_fadvise(store->file, begin, (off_t)bytes, POSIX_FADV_DONTNEED);
    }
    *(writes ? &store->traffic.written_bytes : &store->traffic.read_bytes) += (double)bytes;
    store->traffic.seconds += 1e-9 * (double)(bb_clock_ns() - start);
done:
    return status;
}

static void set_values(bb_tile *tile, void *buffer)
{
    tile->f64 = tile->format == BB_FORMAT_FP64 ? buffer : NULL;
    tile->f32 = tile->format == BB_FORMAT_FP64 ? NULL : buffer;
}

// Unheld tile in memory with the latest next use; -1 if there is none.
static bb_index farthest(const bb_tile_store *store)
{
    bb_index found = -1;
    bb_index latest = 0;
    for (bb_index t = 0; t < store->count; ++t) {
        entry *candidate = &store->entries[t];
        if (candidate->buffer == NULL ||
            atomic_load_explicit(&candidate->holders, memory_order_acquire) > 0) {
            continue;
        }
        const bb_index next = atomic_load_explicit(&candidate->next_use, memory_order_relaxed);
        if (found < 0 || next > latest) {
            found = t;
            latest = next;
        }
    }
    return found;
}

// Evicts a tile; its buffer becomes the spare one.
static bb_status evict(bb_tile_store *store, bb_index tile)
{
    bb_status status = BB_OK;
    entry *leaving = &store->entries[tile];
    if (leaving->changed) {
        pack(&store->tiles[tile], leaving->buffer, store->words);
        BB_TRY(transfer(store, tile, true));
        leaving->changed = false;
    }
    set_values(&store->tiles[tile], NULL);
    store->spare = leaving->buffer;
    store->spare_bytes = buffer_bytes(&store->tiles[tile]);
    leaving->buffer = NULL;
done:
    return status;
}

// Returns a buffer of `bytes`, or NULL if all are held.
static bb_status find_room(bb_tile_store *store, size_t bytes, void **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    while (*out == NULL) {
        if (store->spare != NULL && store->spare_bytes == bytes) {
            *out = store->spare;
            store->spare = NULL;
        } else if (store->taken + bytes <= store->limit) {
            BB_TRY(bb_memory_allocate((bb_index)bytes, 1, out));
            store->taken += bytes;
        } else if (store->spare != NULL) {
            BB_RELEASE(&store->spare);
            store->taken -= store->spare_bytes;
        } else {
            const bb_index tile = farthest(store);
            if (tile < 0) {
                break;
            }
            BB_TRY(evict(store, tile));
        }
    }
done:
    return status;
}

static bb_status load_tile(bb_tile_store *store, bb_index tile, bb_tile_store_use use, bool *held)
{
    bb_status status = BB_OK;
    entry *coming = &store->entries[tile];
    void *buffer = NULL;
    BB_TRY(find_room(store, buffer_bytes(&store->tiles[tile]), &buffer));
    *held = buffer != NULL;
    if (*held && use != BB_TILE_FRESH) {
        BB_TRY(transfer(store, tile, false));
        unpack(&store->tiles[tile], store->words, buffer);
    }
    coming->buffer = buffer;
    set_values(&store->tiles[tile], buffer);
    buffer = NULL;
done:
    if (buffer != NULL) {
        BB_RELEASE(&buffer);
        store->taken -= buffer_bytes(&store->tiles[tile]);
    }
    return status;
}

bb_status bb_tile_store_acquire(bb_tile_store *store, bb_index tile, bb_tile_store_use use,
                                bb_index holders, bool *held)
{
    bb_status status = BB_OK;
    entry *wanted = &store->entries[tile];
    *held = true;
    pthread_mutex_lock(&store->lock);
    if (wanted->buffer == NULL) {
        BB_TRY(load_tile(store, tile, use, held));
    }
    if (*held) {
        wanted->changed = wanted->changed || use != BB_TILE_READ;
        atomic_fetch_add_explicit(&wanted->holders, holders, memory_order_relaxed);
    }
done:
    pthread_mutex_unlock(&store->lock);
    return status;
}

void bb_tile_store_release(bb_tile_store *store, bb_index tile, bb_index next_use)
{
    bb_tile_store_set_next_use(store, tile, next_use);
    atomic_fetch_sub_explicit(&store->entries[tile].holders, 1, memory_order_release);
}

void bb_tile_store_set_next_use(bb_tile_store *store, bb_index tile, bb_index next_use)
{
    atomic_store_explicit(&store->entries[tile].next_use, next_use, memory_order_relaxed);
}

void bb_tile_store_release_all(bb_tile_store *store)
{
    for (bb_index t = 0; t < store->count; ++t) {
        atomic_store(&store->entries[t].holders, 0);
    }
}

bb_index bb_tile_store_holders(const bb_tile_store *store)
{
    bb_index holders = 0;
    for (bb_index t = 0; t < store->count; ++t) {
        holders += atomic_load(&store->entries[t].holders);
    }
    return holders;
}

// Acquires tile (row, column) for reading and sets its next use, counted in lines of the sweeps.
static bb_status acquire_tile(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                              bb_index next_use)
{
    bb_status status = BB_OK;
    bool held = false;
    const bb_index tile = row * (row + 1) / 2 + column;
    BB_TRY(bb_tile_store_acquire(matrix->store, tile, BB_TILE_READ, 1, &held));
    BB_REQUIRE(held, BB_INTERNAL,
               "the memory limit is below one row of tiles, which the plan checks");
    bb_tile_store_set_next_use(matrix->store, tile, next_use);
done:
    return status;
}

static bb_status acquire_row(void *context, const bb_tile_matrix *matrix, bb_index k)
{
    bb_status status = BB_OK;
    (void)context;
    bb_tile_store_release_all(matrix->store);
    for (bb_index column = 0; column <= k; ++column) { // next in the column, backward sweep
        BB_TRY(acquire_tile(matrix, k, column, 2 * matrix->tile_rows - 1 - column));
    }
done:
    return status;
}

static bb_status acquire_column(void *context, const bb_tile_matrix *matrix, bb_index k)
{
    bb_status status = BB_OK;
    (void)context;
    bb_tile_store_release_all(matrix->store);
    for (bb_index row = k; row < matrix->tile_rows; ++row) { // next in another solve's row
        BB_TRY(acquire_tile(matrix, row, k, 2 * matrix->tile_rows + row));
    }
done:
    return status;
}

static void release_line(void *context, const bb_tile_matrix *matrix)
{
    (void)context;
    bb_tile_store_release_all(matrix->store);
}

const bb_tile_access bb_tile_store_access = {
    .load_row = acquire_row, .load_column = acquire_column, .release = release_line};

bb_tile_traffic bb_tile_store_traffic(bb_tile_store *store)
{
    pthread_mutex_lock(&store->lock);
    const bb_tile_traffic traffic = store->traffic;
    pthread_mutex_unlock(&store->lock);
    return traffic;
}

bb_need bb_tile_store_need(bb_index count, bb_index items, double limit)
{
    const double scratch = (double)whole_sectors((size_t)items * sizeof(double)) + SECTOR;
    return (bb_need){.host_bytes = (double)(sizeof(bb_tile_store) + (size_t)count * sizeof(entry)) +
                                   scratch + limit};
}
