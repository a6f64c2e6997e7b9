// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_factor.h"

#include "core/disk_file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/portable.h"

#include <cblas.h>
#include <cholmod.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

// One supernode: its columns, the rows below them, and where they stand.
typedef struct block {
    int64_t first;
    int columns;
    int below;
    int rows;
    const int64_t *row; // [below], under the diagonal part
    const double *diagonal;
    const double *under;
} block;

static block block_at(const bb_supernodes *factor, int64_t s)
{
    int64_t columns = factor->first[s + 1] - factor->first[s];
    int64_t rows = factor->row_start[s + 1] - factor->row_start[s];
    return (block){
        .first = factor->first[s],
        .columns = (int)columns,
        .below = (int)(rows - columns),
        .rows = (int)rows,
        .row = factor->row + factor->row_start[s] + columns,
        .diagonal = factor->value + factor->value_start[s],
        .under = factor->value + factor->value_start[s] + columns,
    };
}

// Supernode of a column, by bisection.
static int64_t supernode_of(const bb_supernodes *factor, int64_t column)
{
    int64_t low = 0;
    int64_t high = factor->count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (factor->first[middle] <= column) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

BB_CLONES static void subtract_rows(const block *tile, bb_index width, const double *part,
                                    double *x)
{
    for (int i = 0; i < tile->below; ++i) {
        double *target = x + tile->row[i] * width;
        for (bb_index c = 0; c < width; ++c) {
            target[c] -= part[i * width + c];
        }
    }
}

static void gather_rows(const block *tile, bb_index width, const double *x, double *part)
{
    for (int i = 0; i < tile->below; ++i) {
        memcpy(part + i * width, x + tile->row[i] * width, (size_t)width * sizeof *part);
    }
}

// Row-major [rows][width] is column-major width x rows, so that x stands to the left of L'.
static void go_forward(const block *tile, bb_index width, double *part, double *x)
{
    double *own = x + tile->first * width;
    int w = (int)width;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, w, tile->columns,
                1.0, tile->diagonal, tile->rows, own, w);
    if (tile->below > 0) {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, w, tile->below, tile->columns, 1.0,
                    own, w, tile->under, tile->rows, 0.0, part, w);
        subtract_rows(tile, width, part, x);
    }
}

static void go_back(const block *tile, bb_index width, double *part, double *x)
{
    double *own = x + tile->first * width;
    int w = (int)width;
    if (tile->below > 0) {
        gather_rows(tile, width, x, part);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, w, tile->columns, tile->below, -1.0,
                    part, w, tile->under, tile->rows, 1.0, own, w);
    }
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, w, tile->columns,
                1.0, tile->diagonal, tile->rows, own, w);
}

bb_need bb_supernodes_solve_need(double nodes, double unknowns, bb_index width)
{
    static const double lines = 4.0;
    const double below = lines * sqrt(4.0 / M_PI * nodes) * unknowns;
    return (bb_need){.host_bytes =
                         below * (double)width * sizeof(double) + nodes * unknowns}; // and marks
}

bb_status bb_supernodes_solve(const bb_supernodes *factor, bb_index width, bb_index touched_count,
                              const int64_t *touched, double *x)
{
    bb_status status = BB_OK;
    double *part = NULL;
    unsigned char *reached = NULL;
    int limit = 1;
    for (int64_t s = 0; s < factor->count; ++s) {
        int below = block_at(factor, s).below;
        limit = below > limit ? below : limit;
    }
    BB_TRY(BB_ALLOCATE(limit * width, &part));
    BB_TRY(BB_ZEROED(factor->count, &reached));
    for (bb_index i = 0; i < touched_count; ++i) {
        reached[supernode_of(factor, touched[i])] = 1;
    }
    for (int64_t s = 0; s < factor->count; ++s) {
        if (touched != NULL && !reached[s]) {
            continue;
        }
        block tile = block_at(factor, s);
        go_forward(&tile, width, part, x);
        if (tile.below > 0) {
            reached[supernode_of(factor, tile.row[0])] =
                1; // its parent; the others come from there
        }
    }
    for (int64_t s = factor->count - 1; s >= 0; --s) {
        block tile = block_at(factor, s);
        go_back(&tile, width, part, x);
    }
done:
    BB_RELEASE(&part);
    BB_RELEASE(&reached);
    return status;
}

static bb_status check_block(const bb_supernodes *factor, int64_t s)
{
    bb_status status = BB_OK;
    int64_t columns = factor->first[s + 1] - factor->first[s];
    int64_t rows = factor->row_start[s + 1] - factor->row_start[s];
    int64_t values = factor->value_start[s + 1] - factor->value_start[s];
    BB_REQUIRE(columns > 0 && rows >= columns && rows <= factor->unknowns && rows <= INT32_MAX &&
                   factor->first[s + 1] <= factor->unknowns && values == rows * columns &&
                   factor->row_start[s + 1] <= factor->row_count &&
                   factor->value_start[s + 1] <= factor->value_count,
               BB_INVALID, "supernode %lld of the factor does not hold together", (long long)s);
    const int64_t *row = factor->row + factor->row_start[s];
    for (int64_t i = 0; i < rows; ++i) {
        bool right = i < columns ? row[i] == factor->first[s] + i
                                 : row[i] > row[i - 1] && row[i] < factor->unknowns;
        BB_REQUIRE(right, BB_INVALID, "row %lld of supernode %lld of the factor is out of order",
                   (long long)i, (long long)s);
    }
done:
    return status;
}

bb_status bb_supernodes_check(const bb_supernodes *factor)
{
    bb_status status = BB_OK;
    BB_REQUIRE(factor->unknowns > 0 && factor->count > 0 && factor->count <= factor->unknowns &&
                   factor->first[0] == 0 && factor->first[factor->count] == factor->unknowns &&
                   factor->row_start[0] == 0 && factor->value_start[0] == 0,
               BB_INVALID, "the factor's supernodes do not cover its unknowns");
    for (int64_t s = 0; s < factor->count; ++s) {
        BB_TRY(check_block(factor, s));
    }
    for (int64_t i = 0; i < factor->unknowns; ++i) {
        BB_REQUIRE(factor->permutation[i] >= 0 && factor->permutation[i] < factor->unknowns,
                   BB_INVALID, "place %lld of the factor's permutation is out of range",
                   (long long)i);
    }
done:
    return status;
}

_Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "CHOLMOD's long has 64 bits");

struct bb_plate_factor {
    bb_supernodes view;
    int64_t *place;                   // [unknowns]
    struct bb_cholmod_parts *cholmod; // owner of what the view shows, or NULL for the next two
    int64_t *indices;                 // first, row_start, value_start, row, permutation
    double *values;
};

// What CHOLMOD made; a factor that was read from a file has none.
struct bb_cholmod_parts {
    cholmod_common common;
    cholmod_factor *factor;
};

// What CHOLMOD left in its workspace after `step`.
static bb_status cholmod_status(const cholmod_common *common, const char *step)
{
    bb_status status = BB_OK;
    BB_REQUIRE(common->status != CHOLMOD_OUT_OF_MEMORY, BB_MEMORY,
               "out of memory in %s of the plate", step);
    BB_REQUIRE(common->status != CHOLMOD_NOT_POSDEF, BB_INVALID,
               "the plate's stiffness is not positive definite in fp64: stiffer springs or a "
               "coarser mesh are needed");
    BB_REQUIRE(common->status >= CHOLMOD_OK, BB_INTERNAL, "CHOLMOD status %d in %s of the plate",
               common->status, step);
done:
    return status;
}

static bb_status view_parts(bb_plate_factor *out)
{
    bb_status status = BB_OK;
    const cholmod_factor *factor = out->cholmod->factor;
    BB_REQUIRE(factor->is_super && factor->xtype == CHOLMOD_REAL, BB_INTERNAL,
               "CHOLMOD made a simplicial factor of the plate");
    out->view = (bb_supernodes){
        .unknowns = (int64_t)factor->n,
        .count = (int64_t)factor->nsuper,
        .row_count = (int64_t)factor->ssize,
        .value_count = (int64_t)factor->xsize,
        .first = factor->super,
        .row_start = factor->pi,
        .value_start = factor->px,
        .row = factor->s,
        .value = factor->x,
        .permutation = factor->Perm,
    };
done:
    return status;
}

static bb_status fill_places(bb_plate_factor *factor)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(factor->view.unknowns, &factor->place));
    for (int64_t i = 0; i < factor->view.unknowns; ++i) {
        factor->place[factor->view.permutation[i]] = i;
    }
done:
    return status;
}

// CHOLMOD asks OpenMP for four threads in loops of microseconds, however many processors there are:
// on two a third of the time goes into waking them. Regions at no level run on the caller. The
// runtime is CHOLMOD's own choice, so that its functions are looked up; without them nothing is
// lost but time. Returns the level there was, -1 where it is not known.
static int limit_openmp(int levels)
{
    void *get = dlsym(RTLD_DEFAULT, "omp_get_max_active_levels");
    void *set = dlsym(RTLD_DEFAULT, "omp_set_max_active_levels");
    if (get == NULL || set == NULL || levels < 0) {
        return -1;
    }
    int before = ((int (*)(void))get)();
    ((void (*)(int))set)(levels);
    return before;
}

bb_status bb_plate_factor_create(const bb_upper_triangle *matrix, const int64_t *order,
                                 bb_plate_factor **out)
{
    bb_status status = BB_OK;
    bb_plate_factor *factor = NULL;
    cholmod_sparse sparse = {.nrow = (size_t)matrix->unknowns,
                             .ncol = (size_t)matrix->unknowns,
                             .nzmax = (size_t)matrix->start[matrix->unknowns],
                             .p = matrix->start,
                             .i = matrix->row,
                             .x = matrix->value,
                             .stype = 1,
                             .itype = CHOLMOD_LONG,
                             .xtype = CHOLMOD_REAL,
                             .dtype = CHOLMOD_DOUBLE,
                             .sorted = 1,
                             .packed = 1};
    BB_TRY(BB_ZEROED(1, &factor));
    BB_TRY(BB_ZEROED(1, &factor->cholmod));
    cholmod_common *common = &factor->cholmod->common;
    (void)cholmod_l_start(common);
    common->supernodal = CHOLMOD_SUPERNODAL;
    common->nmethods = 1;
    common->method[0].ordering = CHOLMOD_GIVEN;
    common->print = 0;
    // CHOLMOD takes the permutation without const and only reads it.
    factor->cholmod->factor =
        cholmod_l_analyze_p(&sparse, (SuiteSparse_long *)(uintptr_t)order, NULL, 0, common);
    BB_TRY(cholmod_status(common, "analysis"));
    int levels = limit_openmp(0);
    (void)cholmod_l_factorize(&sparse, factor->cholmod->factor, common);
    (void)limit_openmp(levels);
    BB_TRY(cholmod_status(common, "factorisation"));
    BB_TRY(view_parts(factor));
    BB_TRY(fill_places(factor));
    *out = factor;
    factor = NULL;
done:
    bb_plate_factor_destroy(&factor);
    return status;
}

bb_need bb_plate_factor_held(double unknowns, double per_unknown)
{
    const double values = per_unknown * unknowns * log2(unknowns);
    return (bb_need){.host_bytes = values * sizeof(double)};
}

bb_need bb_plate_factor_need(double unknowns, double per_unknown, double matrix_values)
{
    static const double rate = 8.0e7; // unknowns^1.5 a second, of one core
    const bb_need copies = {.host_bytes = 2.0 * matrix_values * (sizeof(int64_t) + sizeof(double)),
                            .seconds = pow(unknowns, 1.5) / rate};
    return bb_need_together(bb_plate_factor_held(unknowns, per_unknown), copies);
}

double bb_plate_factor_peak_bytes(const bb_plate_factor *factor)
{
    return factor->cholmod == NULL ? 0.0 : (double)factor->cholmod->common.memory_usage;
}

const bb_supernodes *bb_plate_factor_supernodes(const bb_plate_factor *factor)
{
    return &factor->view;
}

const int64_t *bb_plate_factor_places(const bb_plate_factor *factor)
{
    return factor->place;
}

void bb_plate_factor_destroy(bb_plate_factor **factor)
{
    bb_plate_factor *plate_factor = factor == NULL ? NULL : *factor;
    if (plate_factor == NULL) {
        return;
    }
    if (plate_factor->cholmod != NULL) {
        (void)cholmod_l_free_factor(&plate_factor->cholmod->factor, &plate_factor->cholmod->common);
        (void)cholmod_l_finish(&plate_factor->cholmod->common);
        BB_RELEASE(&plate_factor->cholmod);
    }
    BB_RELEASE(&plate_factor->indices);
    BB_RELEASE(&plate_factor->values);
    BB_RELEASE(&plate_factor->place);
    BB_RELEASE(factor);
}

// Files: header, the five index arrays, the values.

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
        BB_TRY(fill_places(out));
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
