// SPDX-License-Identifier: Apache-2.0
//
// Files of bb_plate_factor: header, the five index arrays, the values.
#include "core/disk_file.h"
#include "core/log.h"
#include "core/memory.h"
#include "physics/wafer/response/plate_factor_parts.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { FILE_VERSION = 1 };
static const char MAGIC[8] = "bbplate";

typedef struct header {
    char magic[8];
    uint64_t order; // 1: tells the byte order
    uint64_t version;
    uint64_t key[2];
    int64_t unknowns, count, row_count, value_count;
    uint64_t digest[2]; // of the fields above and of all arrays
} header;

// One array of a file.
typedef struct part {
    void *items;
    size_t bytes;
} part;

enum { PARTS = 6 };

static void list_parts(const bb_supernodes *factor, part parts[PARTS])
{
    const struct {
        const void *items;
        int64_t count;
    } all[PARTS] = {
        {factor->first, factor->count + 1},       {factor->row_start, factor->count + 1},
        {factor->value_start, factor->count + 1}, {factor->row, factor->row_count},
        {factor->permutation, factor->unknowns},  {factor->value, factor->value_count},
    };
    for (int i = 0; i < PARTS; ++i) {
        parts[i] = (part){(void *)(uintptr_t)all[i].items, 8 * (size_t)all[i].count};
    }
}

static bb_status digest(const header *head, const part parts[PARTS], uint64_t out[2])
{
    bb_status status = BB_OK;
    XXH3_state_t *hash = XXH3_createState();
    BB_REQUIRE(hash != NULL, BB_MEMORY, "out of memory for the digest of a factor");
    (void)XXH3_128bits_reset(hash);
    (void)XXH3_128bits_update(hash, head, offsetof(header, digest));
    for (int i = 0; i < PARTS; ++i) {
        (void)XXH3_128bits_update(hash, parts[i].items, parts[i].bytes);
    }
    XXH128_hash_t made = XXH3_128bits_digest(hash);
    out[0] = made.low64;
    out[1] = made.high64;
done:
    (void)XXH3_freeState(hash);
    return status;
}

bb_status bb_plate_factor_path(const char *folder, bb_factor_key key, char **out)
{
    return bb_memory_printf(out, "%s/plate-%016llx%016llx.factor", folder,
                            (unsigned long long)key.high, (unsigned long long)key.low);
}

static bb_status write_parts(FILE *file, const char *path, const header *head,
                             const part parts[PARTS])
{
    bb_status status = BB_OK;
    size_t written = fwrite(head, sizeof *head, 1, file);
    for (int i = 0; i < PARTS && written == 1; ++i) {
        written = fwrite(parts[i].items, parts[i].bytes, 1, file);
    }
    BB_REQUIRE(written == 1 && fflush(file) == 0 && fsync(fileno(file)) == 0, BB_IO,
               "cannot write '%s': %s", path, strerror(errno));
done:
    return status;
}

bb_status bb_plate_factor_store(const bb_plate_factor *factor, const char *folder,
                                bb_factor_key key)
{
    bb_status status = BB_OK;
    char *path = NULL;
    char pending[BB_DISK_PATH_BYTES] = "";
    FILE *file = NULL;
    int id = -1;
    part parts[PARTS];
    const bb_supernodes *supernodes = &factor->view;
    header head = {.order = 1,
                   .version = FILE_VERSION,
                   .key = {key.low, key.high},
                   .unknowns = supernodes->unknowns,
                   .count = supernodes->count,
                   .row_count = supernodes->row_count,
                   .value_count = supernodes->value_count};
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    list_parts(supernodes, parts);
    BB_TRY(digest(&head, parts, head.digest));
    BB_TRY(bb_plate_factor_path(folder, key, &path));
    BB_REQUIRE(mkdir(folder, 0777) == 0 || errno == EEXIST, BB_IO, "cannot make folder '%s': %s",
               folder, strerror(errno));
    BB_TRY(bb_disk_file_name(path, pending));
    BB_TRY(bb_disk_file_create(pending, path, &id));
    file = fdopen(id, "wb");
    BB_REQUIRE(file != NULL, BB_IO, "cannot write '%s': %s", path, strerror(errno));
    id = -1; // the stream's
    BB_TRY(write_parts(file, pending, &head, parts));
    int closed = fclose(file);
    file = NULL;
    BB_REQUIRE(closed == 0 && rename(pending, path) == 0, BB_IO, "cannot write '%s': %s", path,
               strerror(errno));
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    if (id >= 0) {
        (void)close(id);
    }
    bb_disk_file_settle(pending, true);
    BB_RELEASE(&path);
    return status;
}

// The reason why a header cannot be that of the factor, NULL when it can. Sizes are bounded by the
// file's, so that nothing is allocated for numbers that are not there.
static const char *distrust(const header *head, bb_factor_key key, int64_t unknowns, int64_t bytes)
{
    if (memcmp(head->magic, MAGIC, sizeof MAGIC) != 0 || head->order != 1) {
        return "it is not a factor";
    }
    if (head->version != FILE_VERSION) {
        return "it is of another version";
    }
    if (head->key[0] != key.low || head->key[1] != key.high || head->unknowns != unknowns) {
        return "it is of another plate";
    }
    int64_t limit = bytes / 8;
    if (head->count <= 0 || head->count > unknowns || head->row_count <= 0 ||
        head->row_count > limit || head->value_count <= 0 || head->value_count > limit) {
        return "its sizes cannot be";
    }
    int64_t expected = (int64_t)sizeof *head + 8 * (3 * (head->count + 1) + head->row_count +
                                                    head->unknowns + head->value_count);
    return expected == bytes ? NULL : "it is cut or too long";
}

static bb_status hold_parts(const header *head, bb_plate_factor *out)
{
    bb_status status = BB_OK;
    int64_t starts = head->count + 1;
    BB_TRY(BB_ALLOCATE(3 * starts + head->row_count + head->unknowns, &out->indices));
    BB_TRY(BB_ALLOCATE(head->value_count, &out->values));
    out->view = (bb_supernodes){
        .unknowns = head->unknowns,
        .count = head->count,
        .row_count = head->row_count,
        .value_count = head->value_count,
        .first = out->indices,
        .row_start = out->indices + starts,
        .value_start = out->indices + 2 * starts,
        .row = out->indices + 3 * starts,
        .permutation = out->indices + 3 * starts + head->row_count,
        .value = out->values,
    };
done:
    return status;
}

// Reads what the header announces; `*reason` says why it cannot be trusted.
static bb_status read_parts(FILE *file, const header *head, bb_plate_factor *out,
                            const char **reason)
{
    bb_status status = BB_OK;
    part parts[PARTS];
    uint64_t found[2];
    BB_TRY(hold_parts(head, out));
    list_parts(&out->view, parts);
    for (int i = 0; i < PARTS; ++i) {
        if (fread(parts[i].items, parts[i].bytes, 1, file) != 1) {
            *reason = "it cannot be read";
            goto done;
        }
    }
    BB_TRY(digest(head, parts, found));
    if (found[0] != head->digest[0] || found[1] != head->digest[1]) {
        *reason = "its digest does not fit its contents";
    } else if (bb_supernodes_check(&out->view) != BB_OK) { // it allocates nothing
        *reason = "its indices do not hold together";
        bb_status_clear();
    } else {
        BB_TRY(bb_plate_factor_place(out));
    }
done:
    return status;
}

bb_status bb_plate_factor_load(const char *folder, bb_factor_key key, int64_t unknowns,
                               bb_plate_factor **out)
{
    bb_status status = BB_OK;
    char *path = NULL;
    FILE *file = NULL;
    bb_plate_factor *factor = NULL;
    const char *reason = NULL;
    header head;
    struct stat about;
    *out = NULL;
    BB_TRY(bb_plate_factor_path(folder, key, &path));
    if (lstat(path, &about) != 0) {
        goto done;
    }
    if (bb_disk_file_open(path, false, &file) != BB_OK) {
        bb_log_warning("%s; the plate is factored anew", bb_status_message());
        bb_status_clear();
        goto done;
    }
    if (fstat(fileno(file), &about) != 0 || fread(&head, sizeof head, 1, file) != 1) {
        reason = "it has no header";
    } else {
        reason = distrust(&head, key, unknowns, (int64_t)about.st_size);
    }
    if (reason == NULL) {
        BB_TRY(BB_ZEROED(1, &factor));
        BB_TRY(read_parts(file, &head, factor, &reason));
    }
    if (reason == NULL) {
        *out = factor;
        factor = NULL;
    } else {
        bb_log_warning("'%s' is not used: %s; the plate is factored anew", path, reason);
    }
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    bb_plate_factor_destroy(&factor);
    BB_RELEASE(&path);
    return status;
}
