// SPDX-License-Identifier: Apache-2.0
#include "core/store.h"

#include "build_info.h"
#include "core/digest.h"
#include "core/disk_file.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCKS = 4096 };

typedef struct block {
    char key[BB_DIGEST_BYTES];
    void *data;
    bb_index bytes;
    bb_index study; // study that last used it
} block;

static struct {
    double allowed, used;
    bb_index study;
    bb_index count;
    block blocks[BLOCKS];
} store;

static void drop(bb_index index)
{
    store.used -= (double)store.blocks[index].bytes;
    BB_RELEASE(&store.blocks[index].data);
    store.blocks[index] = store.blocks[--store.count];
}

void bb_store_allow(double bytes)
{
    store.allowed = bytes;
    while (store.count > 0 && bytes == 0.0) {
        drop(store.count - 1);
    }
}

bool bb_store_has_room(double bytes)
{
    return bytes <= store.allowed;
}

void bb_store_next_study(void)
{
    ++store.study;
}

const void *bb_store_find(const char *key, bb_index *bytes)
{
    char wanted[BB_DIGEST_BYTES];
    bb_digest_of(key, strlen(key), wanted);
    for (bb_index i = 0; i < store.count; ++i) {
        block *found = &store.blocks[i];
        if (strcmp(found->key, wanted) == 0) {
            found->study = store.study;
            *bytes = found->bytes;
            return found->data;
        }
    }
    *bytes = 0;
    return NULL;
}

// Drops the least recently used blocks until there is room; false if the current study uses them.
static bool make_room(bb_index bytes)
{
    while (store.count == BLOCKS || store.used + (double)bytes > store.allowed) {
        bb_index oldest = -1;
        for (bb_index i = 0; i < store.count; ++i) {
            const bb_index study = store.blocks[i].study;
            if (study < store.study && (oldest < 0 || study < store.blocks[oldest].study)) {
                oldest = i;
            }
        }
        if (oldest < 0) {
            return false;
        }
        drop(oldest);
    }
    return true;
}

const void *bb_store_insert(const char *key, void **data, bb_index bytes)
{
    const void *kept = NULL;
    if (bb_store_has_room((double)bytes) && make_room(bytes)) {
        block *taken = &store.blocks[store.count++];
        *taken = (block){.data = *data, .bytes = bytes, .study = store.study};
        bb_digest_of(key, strlen(key), taken->key);
        store.used += (double)bytes;
        kept = *data;
        *data = NULL;
    }
    return kept;
}

enum { VERSION = 1, BUFFER_BYTES = 1 << 16, SUM_BYTES = BB_DIGEST_BYTES - 1 };

typedef struct head {
    char magic[8];
    uint64_t order, version;
} head;

static const head expected_head = {"BBSTORE", 0x0102030405060708U, VERSION};
static const char build[] = BB_VERSION " (" BB_COMMIT ")";

struct bb_store {
    FILE *file;
    const char *kind; // borrowed
    char *path, *key;
};

// Output state of one file.
typedef struct writing {
    const char *path, *kind, *key;
    const bb_store_piece *pieces;
    bb_index count;
    FILE *file;
    bb_digest *digest;
} writing;

static bb_status write_bytes(const writing *work, const void *data, bb_index bytes)
{
    bb_status status = BB_OK;
    if (bytes > 0) {
        bb_digest_add(work->digest, data, (size_t)bytes);
        BB_REQUIRE(fwrite(data, 1, (size_t)bytes, work->file) == (size_t)bytes, BB_IO,
                   "cannot write %s '%s': %s", work->kind, work->path, strerror(errno));
    }
done:
    return status;
}

static bb_status write_piece(const writing *work, const void *data, bb_index bytes)
{
    bb_status status = BB_OK;
    const uint64_t length = (uint64_t)bytes;
    BB_TRY(write_bytes(work, &length, sizeof length));
    BB_TRY(write_bytes(work, data, bytes));
done:
    return status;
}

static bb_status fill(const char *temporary, void *context)
{
    bb_status status = BB_OK;
    writing *work = context;
    const char *const texts[] = {build, work->kind, work->key};
    char sum[BB_DIGEST_BYTES];
    struct stat about;
    work->file = fopen(temporary, "wb");
    BB_REQUIRE(work->file != NULL, BB_IO, "cannot write %s '%s': %s", work->kind, work->path,
               strerror(errno));
    // Removes the write permission of others, whatever the umask: a file with it would be rejected
    // later.
    BB_REQUIRE(fstat(fileno(work->file), &about) == 0 &&
                   fchmod(fileno(work->file), about.st_mode & 07777 & ~(mode_t)S_IWOTH) == 0,
               BB_IO, "cannot write %s '%s': %s", work->kind, work->path, strerror(errno));
    BB_TRY(write_bytes(work, &expected_head, sizeof expected_head));
    for (int i = 0; i < 3; ++i) {
        BB_TRY(write_piece(work, texts[i], (bb_index)strlen(texts[i])));
    }
    for (bb_index i = 0; i < work->count; ++i) {
        BB_TRY(write_piece(work, work->pieces[i].data, work->pieces[i].bytes));
    }
    bb_digest_text(work->digest, sum);
    BB_TRY(write_bytes(work, sum, SUM_BYTES));
    FILE *file = work->file;
    work->file = NULL;
    BB_REQUIRE(fclose(file) == 0, BB_IO, "cannot write %s '%s': %s", work->kind, work->path,
               strerror(errno));
done:
    if (work->file != NULL) {
        (void)fclose(work->file);
        work->file = NULL;
    }
    return status;
}

bb_status bb_store_write(const char *path, const char *kind, const char *key,
                         const bb_store_piece *pieces, bb_index count)
{
    bb_status status = BB_OK;
    writing work = {.path = path, .kind = kind, .key = key, .pieces = pieces, .count = count};
    BB_TRY(bb_digest_create(&work.digest));
    BB_TRY(bb_file_write_by(path, true, fill, &work));
done:
    bb_digest_destroy(&work.digest);
    return status;
}

// Returns whether the last bytes are the checksum of all preceding bytes.
static bb_status verify(const bb_store *file)
{
    bb_status status = BB_OK;
    unsigned char *buffer = NULL;
    bb_digest *digest = NULL;
    char sum[BB_DIGEST_BYTES];
    BB_TRY(bb_digest_create(&digest));
    BB_TRY(BB_ALLOCATE(BUFFER_BYTES, &buffer));
    rewind(file->file);
    size_t used = 0; // the last bytes read may be the checksum
    for (size_t got = 1; got > 0; used += got) {
        if (used > SUM_BYTES) {
            bb_digest_add(digest, buffer, used - SUM_BYTES);
            memmove(buffer, buffer + used - SUM_BYTES, SUM_BYTES);
            used = SUM_BYTES;
        }
        got = fread(buffer + used, 1, BUFFER_BYTES - used, file->file);
    }
    BB_REQUIRE(ferror(file->file) == 0, BB_IO, "cannot read %s '%s': %s", file->kind, file->path,
               strerror(errno));
    bb_digest_text(digest, sum);
    BB_REQUIRE(used == SUM_BYTES && memcmp(buffer, sum, SUM_BYTES) == 0, BB_IO,
               "%s '%s' is truncated or corrupted: its checksum does not match", file->kind,
               file->path);
done:
    BB_RELEASE(&buffer);
    bb_digest_destroy(&digest);
    return status;
}

bb_status bb_store_read_new(bb_store *file, void **out, bb_index *bytes)
{
    bb_status status = BB_OK;
    uint64_t length = 0;
    struct stat about;
    char *made = NULL;
    BB_REQUIRE(fread(&length, sizeof length, 1, file->file) == 1 &&
                   fstat(fileno(file->file), &about) == 0 && length <= (uint64_t)about.st_size,
               BB_IO, "%s '%s' has a record of %llu bytes, beyond its end", file->kind, file->path,
               (unsigned long long)length);
    BB_TRY(BB_ALLOCATE((bb_index)length + 1, &made));
    BB_REQUIRE(fread(made, 1, (size_t)length, file->file) == (size_t)length, BB_IO,
               "%s '%s' ends within a record of %llu bytes", file->kind, file->path,
               (unsigned long long)length);
    made[length] = '\0';
    *bytes = (bb_index)length;
    *out = made;
    made = NULL;
done:
    BB_RELEASE(&made);
    return status;
}

// Checks the header, from the magic number to the key; the pieces follow.
static bb_status check(bb_store *file)
{
    bb_status status = BB_OK;
    const char *path = file->path;
    const char *kind = file->kind;
    char *texts[2] = {NULL, NULL}; // build and kind in the file
    bb_index length = 0;
    head got = {.order = 0};
    BB_REQUIRE(fread(&got, 1, sizeof got, file->file) >= sizeof got.magic &&
                   memcmp(got.magic, expected_head.magic, sizeof got.magic) == 0,
               BB_IO,
               "'%s' is not a %s of bitbudget, or has an earlier format, which cannot be read",
               path, kind);
    BB_TRY(verify(file));
    BB_REQUIRE(got.order == expected_head.order, BB_IO,
               "%s '%s' was written on a machine with another byte order", kind, path);
    BB_REQUIRE(got.version == VERSION, BB_IO, "%s '%s' has format %llu, expected %d", kind, path,
               (unsigned long long)got.version, VERSION);
    BB_REQUIRE(fseek(file->file, (long)sizeof got, SEEK_SET) == 0, BB_IO, "cannot read %s '%s': %s",
               kind, path, strerror(errno));
    BB_TRY(bb_store_read_new(file, (void **)&texts[0], &length));
    BB_TRY(bb_store_read_new(file, (void **)&texts[1], &length));
    BB_REQUIRE(strcmp(texts[1], kind) == 0, BB_INVALID, "'%s' is a %s, expected a %s", path,
               texts[1], kind);
    BB_REQUIRE(strcmp(texts[0], build) == 0, BB_INVALID,
               "%s '%s' was written by bitbudget %s, this is %s: only the same build can continue "
               "bit for bit",
               kind, path, texts[0], build);
    BB_TRY(bb_store_read_new(file, (void **)&file->key, &length));
done:
    BB_RELEASE(&texts[0]);
    BB_RELEASE(&texts[1]);
    return status;
}

bb_status bb_store_open(const char *path, const char *kind, bb_store **out)
{
    bb_status status = BB_OK;
    bb_store *file = NULL;
    const bb_disk_trust trust = {.owner = geteuid(), .writers = S_IWOTH};
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &file));
    file->kind = kind;
    BB_TRY(bb_memory_text(path, &file->path));
    BB_TRY(bb_disk_file_open(path, true, &file->file));
    BB_TRY(bb_disk_trust_check(file->file, path, trust));
    BB_TRY(check(file));
    *out = file;
    file = NULL;
done:
    bb_store_close(&file);
    return status == BB_UNSUPPORTED ? BB_IO : status; // the file is not trusted
}

const char *bb_store_key(const bb_store *file)
{
    return file->key;
}

bb_status bb_store_read(bb_store *file, void *data, bb_index bytes)
{
    bb_status status = BB_OK;
    uint64_t stored = 0;
    BB_REQUIRE(fread(&stored, sizeof stored, 1, file->file) == 1 && stored == (uint64_t)bytes &&
                   fread(data, 1, (size_t)bytes, file->file) == (size_t)bytes,
               BB_IO, "%s '%s' has a record of %llu bytes, expected %td", file->kind, file->path,
               (unsigned long long)stored, bytes);
done:
    return status;
}

bb_status bb_store_read_list(bb_store *file, const bb_store_piece *pieces, bb_index count)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < count; ++i) {
        BB_TRY(bb_store_read(file, (void *)(uintptr_t)pieces[i].data, pieces[i].bytes));
    }
done:
    return status;
}

void bb_store_close(bb_store **file)
{
    if (*file != NULL) {
        if ((*file)->file != NULL) {
            (void)fclose((*file)->file);
        }
        BB_RELEASE(&(*file)->path);
        BB_RELEASE(&(*file)->key);
        BB_RELEASE(file);
    }
}

bb_status bb_store_path(const char *folder, const char *kind, const char *key, char **out)
{
    char digest[BB_DIGEST_BYTES];
    bb_digest_of(key, strlen(key), digest);
    return bb_memory_printf(out, "%s/%s-%s.store", folder, kind, digest);
}

bb_status bb_store_save(const char *folder, const char *kind, const char *key,
                        const bb_store_piece *pieces, bb_index count)
{
    bb_status status = BB_OK;
    char *path = NULL;
    BB_TRY(bb_store_path(folder, kind, key, &path));
    BB_REQUIRE(mkdir(folder, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               folder, strerror(errno));
    BB_TRY(bb_store_write(path, kind, key, pieces, count));
done:
    BB_RELEASE(&path);
    return status;
}

void bb_store_reject(bb_store **file)
{
    bb_log_warning("%s%s%s; recomputing", *file == NULL ? "" : (*file)->path,
                   *file == NULL ? "" : ": ", bb_status_message());
    bb_status_clear();
    bb_store_close(file);
}

bb_status bb_store_load(const char *folder, const char *kind, const char *key, bb_store **out)
{
    bb_status status = BB_OK;
    char *path = NULL;
    struct stat about;
    *out = NULL;
    BB_TRY(bb_store_path(folder, kind, key, &path));
    if (lstat(path, &about) != 0) {
        goto done;
    }
    status = bb_store_open(path, kind, out);
    if (status == BB_OK && strcmp(bb_store_key(*out), key) != 0) {
        status = bb_status_set(BB_INVALID, __FILE__, __LINE__, "its key differs");
    }
    if (status != BB_OK && status != BB_MEMORY) {
        bb_store_reject(out);
        status = BB_OK;
    }
done:
    BB_RELEASE(&path);
    return status;
}
