// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/tiles/tile_matrix.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/team.h"
#include "core/thread.h"
#include "solvers/factor/tiles/tile_panels.h"
#include "solvers/factor/tiles/tile_store.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <xxhash.h>

bb_index bb_tile_plan_extent(bb_index n, bb_index tile_size, bb_index tile)
{
    bb_index rest = n - tile * tile_size;
    return rest < tile_size ? rest : tile_size;
}

bb_index bb_tile_plan_tile_rows(bb_index n, bb_index tile_size)
{
    return (n + tile_size - 1) / tile_size;
}

// Variant of a tile before its policy is resolved.
static bb_variant planned_variant(const bb_tile_plan *plan, bb_index row, bb_index column)
{
    if (plan->map != NULL) {
        return bb_policy_map_at(plan->map, row, column);
    }
    bb_variant variant = bb_policy_variant(&plan->policy, plan->arithmetic, row, column);
    bool follows = plan->policy.diagonal == (int)BB_POLICY_FOLLOW;
    return row == column && !follows ? bb_variant_on_diagonal(variant) : variant;
}

bb_format bb_tile_plan_format(bb_variant variant, bb_index row, bb_index column)
{
    bb_format format = bb_variant_describe(variant)->output;
    return row == column && format != BB_FORMAT_FP64 ? BB_FORMAT_FP32 : format;
}

size_t bb_tile_plan_bytes(const bb_tile_plan *plan, bb_index n)
{
    size_t bytes = 0;
    bb_index tile_rows = bb_tile_plan_tile_rows(n, plan->tile_size);
    for (bb_index row = 0; row < tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            bb_index items = bb_tile_plan_extent(n, plan->tile_size, row) *
                             bb_tile_plan_extent(n, plan->tile_size, column);
            bytes += (size_t)items *
                     (size_t)bb_format_describe(
                         bb_tile_plan_format(planned_variant(plan, row, column), row, column))
                         ->bytes;
        }
    }
    return bytes;
}

typedef struct planning {
    const bb_tile_plan *plan;
    bb_index n, size;
} planning;

static planning planning_of(const bb_tile_plan *plan, bb_index n)
{
    return (planning){plan, n, plan->tile_size < n ? plan->tile_size : n};
}

static size_t planned_bytes(const void *context, bb_index row, bb_index column)
{
    const planning *work = context;
    return bb_tile_store_bytes(
        bb_tile_plan_format(planned_variant(work->plan, row, column), row, column),
        bb_tile_plan_extent(work->n, work->size, row),
        bb_tile_plan_extent(work->n, work->size, column));
}

double bb_tile_plan_memory_bytes(const bb_tile_plan *plan, bb_index n)
{
    const planning work = planning_of(plan, n);
    double bytes = 0.0;
    for (bb_index row = 0; row < bb_tile_plan_tile_rows(n, work.size); ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            bytes += (double)planned_bytes(&work, row, column);
        }
    }
    return bytes;
}

bool bb_tile_plan_is_stored(const bb_tile_plan *plan, bb_index n)
{
    return plan->memory_limit > 0 &&
           bb_tile_plan_memory_bytes(plan, n) > (double)plan->memory_limit;
}

size_t bb_tile_plan_least_memory(const bb_tile_plan *plan, bb_index n)
{
    const planning work = planning_of(plan, n);
    return bb_tile_plan_is_stored(plan, n)
               ? bb_tile_panels_least(bb_tile_plan_tile_rows(n, work.size), planned_bytes, &work)
               : 0;
}

enum { LANES = 16 };

static double norm_of(double *lanes)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            lanes[l] += lanes[l + half];
        }
    }
    return sqrt(lanes[0]);
}

BB_CLONES static void add_squares_f32(const float *values, bb_index count, double *lanes)
{
    bb_index multiple = count / LANES * LANES;
    for (bb_index i = 0; i < multiple; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += (double)values[i + l] * (double)values[i + l];
        }
    }
    for (bb_index i = multiple; i < count; ++i) {
        lanes[i - multiple] += (double)values[i] * (double)values[i];
    }
}

BB_CLONES static void add_squares_f64(const double *values, bb_index count, double *lanes)
{
    bb_index multiple = count / LANES * LANES;
    for (bb_index i = 0; i < multiple; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += values[i + l] * values[i + l];
        }
    }
    for (bb_index i = multiple; i < count; ++i) {
        lanes[i - multiple] += values[i] * values[i];
    }
}

double bb_tile_norm_of(const double *values, bb_index count)
{
    double lanes[LANES] = {0.0};
    add_squares_f64(values, count, lanes);
    return norm_of(lanes);
}

double bb_tile_norm(const bb_tile *tile)
{
    double lanes[LANES] = {0.0};
    bb_index items = tile->rows * tile->columns;
    if (tile->f64 != NULL) {
        add_squares_f64(tile->f64, items, lanes);
    } else {
        add_squares_f32(tile->f32, items, lanes);
    }
    return norm_of(lanes);
}

bb_tile *bb_tile_matrix_at(const bb_tile_matrix *matrix, bb_index row, bb_index column)
{
    return &matrix->tiles[row * (row + 1) / 2 + column];
}

double bb_tile_matrix_pivot(const bb_tile_matrix *matrix, bb_index column)
{
    const bb_index place = column / matrix->tile_size;
    const bb_tile *tile = bb_tile_matrix_at(matrix, place, place);
    return tile->f64[column % matrix->tile_size * (tile->columns + 1)];
}

bb_need bb_tile_matrix_need(const bb_tile_plan *plan, bb_index n, double threads)
{
    const bb_index size = plan->tile_size < n ? plan->tile_size : n;
    const bb_index tile_rows = bb_tile_plan_tile_rows(n, size);
    // The map of an unresolved policy is released once the tiles exist.
    const bb_index tiles = tile_rows * (tile_rows + 1) / 2;
    double bytes = sizeof(bb_tile_matrix) + sizeof(bb_policy_map) +
                   (double)tiles * (double)(sizeof(bb_tile) + sizeof(bb_variant));
    bytes += bb_tile_plan_is_stored(plan, n)
                 ? bb_tile_store_need(tiles, size * size, (double)plan->memory_limit).host_bytes
                 : bb_tile_plan_memory_bytes(plan, n);
    // Each thread fills a tile in fp64 before rounding it.
    const double filling = fmin(threads, (double)tile_rows) * (double)(size * size);
    return (bb_need){.host_bytes = bytes + filling * sizeof(double)};
}

size_t bb_tile_matrix_bytes(const bb_tile_matrix *matrix)
{
    size_t bytes = 0;
    bb_index count = matrix->tile_rows * (matrix->tile_rows + 1) / 2;
    for (bb_index t = 0; t < count; ++t) {
        const bb_tile *tile = &matrix->tiles[t];
        bytes +=
            (size_t)(tile->rows * tile->columns) * (size_t)bb_format_describe(tile->format)->bytes;
    }
    return bytes;
}

void bb_tile_round(bb_tile *tile)
{
    if (tile->f32 != NULL && tile->format != BB_FORMAT_FP32) {
        (void)bb_format_round_f32(tile->format, tile->f32, tile->rows * tile->columns, tile->f32);
    }
}

typedef struct loading {
    const bb_matrix_source *source;
    const double *scale;
    bb_tile_matrix *matrix;
    const bb_tile_share *share; // NULL: all tiles
} loading;

// Rounds fp64 values to the tile's format, with a single rounding.
static void store_values(bb_tile *tile, const double *values)
{
    bb_index items = tile->rows * tile->columns;
    if (tile->f64 != NULL) {
        memcpy(tile->f64, values, (size_t)items * sizeof *values);
    } else {
        (void)bb_format_narrow(tile->format, values, items, tile->f32);
    }
}

// Fills a tile of D A D and computes its norm.
static bb_status fill_scaled(const loading *load, bb_index row, bb_index column, bb_view out,
                             double *norm)
{
    bb_status status = BB_OK;
    double *values = out.data;
    BB_TRY(bb_matrix_source_fill(load->source, row, column, out));
    for (bb_index i = 0; load->scale != NULL && i < out.shape[0]; ++i) {
        for (bb_index j = 0; j < out.shape[1]; ++j) {
            values[i * out.shape[1] + j] *= load->scale[row + i] * load->scale[column + j];
        }
    }
    *norm = bb_tile_norm_of(values, out.shape[0] * out.shape[1]);
done:
    return status;
}

static bb_status acquire_tile(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                              bb_tile_store_use use)
{
    bb_status status = BB_OK;
    bool held = false;
    while (!held) {
        BB_TRY(bb_tile_store_acquire(matrix->store, row * (row + 1) / 2 + column, use, 1, &held));
        if (!held) {
            (void)sched_yield(); // until another thread releases one
        }
    }
done:
    return status;
}

bb_status bb_tile_matrix_acquire(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                                 bool changes)
{
    return matrix->store == NULL
               ? BB_OK
               : acquire_tile(matrix, row, column, changes ? BB_TILE_CHANGE : BB_TILE_READ);
}

void bb_tile_matrix_release(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                            bb_index next_use)
{
    if (matrix->store != NULL) {
        bb_tile_store_release(matrix->store, row * (row + 1) / 2 + column, next_use);
    }
}

bb_tile_traffic bb_tile_matrix_traffic(const bb_tile_matrix *matrix)
{
    bb_tile_traffic traffic = {0};
    if (matrix->store != NULL) {
        traffic = bb_tile_store_traffic(matrix->store);
        traffic.waited_seconds = matrix->waited_seconds;
    }
    return traffic;
}

static bb_status load_tile(const loading *load, bb_index row, bb_index column)
{
    bb_status status = BB_OK;
    const bb_tile_matrix *matrix = load->matrix;
    bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
    double *values = NULL;
    bb_index items = tile->rows * tile->columns;
    BB_TRY(BB_ALLOCATE(items, &values));
    BB_TRY(fill_scaled(load, row * matrix->tile_size, column * matrix->tile_size,
                       bb_view_matrix(values, tile->rows, tile->columns), &tile->norm));
    if (matrix->store != NULL) {
        BB_TRY(acquire_tile(matrix, row, column, BB_TILE_FRESH));
    } else if (tile->format == BB_FORMAT_FP64) {
        BB_TRY(BB_ALLOCATE(items, &tile->f64));
    } else {
        BB_TRY(BB_ALLOCATE(items, &tile->f32));
    }
    store_values(tile, values);
    // The factorization starts with the leftmost columns.
    bb_tile_matrix_release(matrix, row, column, column);
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status load_tile_row(void *context, bb_index index)
{
    const loading *load = context;
    bb_tile_matrix *matrix = load->matrix;
    bb_index row = matrix->tile_rows - 1 - index; // longest row first
    for (bb_index column = 0; column <= row; ++column) {
        if (load->share == NULL || load->share->holds(load->share->context, row, column)) {
            BB_RETURN_IF_FAILED(load_tile(load, row, column));
        }
    }
    return BB_OK;
}

typedef struct measuring {
    loading load;
    bb_index tile_size;
    double *norms;
} measuring;

// Rows of tiles are distributed cyclically over the team.
static int measurer_of(bb_index row)
{
    return (int)(row % bb_team_joined()->size);
}

static bb_status measure_tile_row(void *context, bb_index index)
{
    bb_status status = BB_OK;
    const measuring *work = context;
    double *values = NULL;
    bb_index size = work->tile_size;
    bb_index n = work->load.source->rows;
    bb_index row = bb_tile_plan_tile_rows(n, size) - 1 - index; // longest row first
    if (measurer_of(row) != bb_team_joined()->rank) {
        return BB_OK;
    }
    BB_TRY(BB_ALLOCATE(size * size, &values));
    for (bb_index column = 0; column <= row; ++column) {
        bb_view tile = bb_view_matrix(values, bb_tile_plan_extent(n, size, row),
                                      bb_tile_plan_extent(n, size, column));
        BB_TRY(fill_scaled(&work->load, row * size, column * size, tile,
                           &work->norms[row * (row + 1) / 2 + column]));
    }
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_tile_norms(const bb_matrix_source *source, const double *scale, bb_index tile_size,
                        double *norms)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    const bb_index tile_rows = bb_tile_plan_tile_rows(source->rows, tile_size);
    measuring work = {.load = {source, scale, NULL, NULL}, .tile_size = tile_size, .norms = norms};
    BB_TRY(bb_thread_for(tile_rows, measure_tile_row, &work));
    for (bb_index row = 0; team->size > 1 && row < tile_rows; ++row) {
        BB_TRY(team->broadcast(measurer_of(row), norms + row * (row + 1) / 2,
                               (size_t)(row + 1) * sizeof *norms));
    }
done:
    return status;
}

double bb_tile_norms_sum(bb_index tile_rows, const double *norms)
{
    double sum = 0.0;
    for (bb_index row = 0; row < tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            double norm = norms[row * (row + 1) / 2 + column];
            sum += (row == column ? 1.0 : 2.0) * norm * norm;
        }
    }
    return sqrt(sum);
}

static double loaded_norm(const bb_tile_matrix *matrix)
{
    double sum = 0.0;
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            double norm = bb_tile_matrix_at(matrix, row, column)->norm;
            sum += (row == column ? 1.0 : 2.0) * norm * norm;
        }
    }
    return sqrt(sum);
}

// Lays out the tiles of the map, without values.
static bb_status lay_out(bb_tile_matrix *matrix, const bb_policy_map *map)
{
    bb_status status = BB_OK;
    BB_REQUIRE(map != NULL, BB_INTERNAL, "the tiles have no policy map");
    BB_REQUIRE(map->tile_rows == matrix->tile_rows, BB_INVALID,
               "policy map of %td tile rows, expected %td for %td rows in tiles of %td",
               map->tile_rows, matrix->tile_rows, matrix->n, matrix->tile_size);
    matrix->product_bound = map->product_bound;
    matrix->product_variant = map->product_variant;
    matrix->diagonal_follows = map->diagonal_follows;
    BB_TRY(BB_ZEROED(matrix->tile_rows * (matrix->tile_rows + 1) / 2, &matrix->tiles));
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            bb_variant variant = bb_policy_map_at(map, row, column);
            *bb_tile_matrix_at(matrix, row, column) =
                (bb_tile){.variant = variant,
                          .format = bb_tile_plan_format(variant, row, column),
                          .rows = bb_tile_plan_extent(matrix->n, matrix->tile_size, row),
                          .columns = bb_tile_plan_extent(matrix->n, matrix->tile_size, column)};
        }
    }
done:
    return status;
}

// Creates a store if the triangle exceeds the limit.
static bb_status find_place(bb_tile_matrix *matrix, const bb_tile_plan *plan, bool is_shared)
{
    bb_status status = BB_OK;
    const bb_tile_store_place place = {.limit = plan->memory_limit, .folder = plan->swap_folder};
    matrix->memory_limit = plan->memory_limit;
    if (!bb_tile_plan_is_stored(plan, matrix->n)) {
        return BB_OK;
    }
    BB_REQUIRE(!is_shared, BB_UNSUPPORTED,
               "a memory limit for tiles is not supported over several processes");
    const size_t least = bb_tile_plan_least_memory(plan, matrix->n);
    BB_REQUIRE(plan->memory_limit >= least, BB_INVALID,
               "memory limit of %.6g GB is below the minimum of %.6g GB for %td rows in tiles of "
               "%td (%.6g GB for all of them)",
               1e-9 * (double)plan->memory_limit, 1e-9 * (double)least, matrix->n,
               matrix->tile_size, 1e-9 * bb_tile_plan_memory_bytes(plan, matrix->n));
    BB_TRY(bb_tile_store_create(matrix->tiles, matrix->tile_rows * (matrix->tile_rows + 1) / 2,
                                &place, &matrix->store));
    matrix->access = &bb_tile_store_access;
done:
    return status;
}

void bb_tile_matrix_set_norms(bb_tile_matrix *matrix, const double *norms)
{
    for (bb_index t = 0; t < matrix->tile_rows * (matrix->tile_rows + 1) / 2; ++t) {
        matrix->tiles[t].norm = norms[t];
    }
    matrix->norm = bb_tile_norms_sum(matrix->tile_rows, norms);
}

bb_status bb_tile_matrix_create(const bb_matrix_source *source, const double *scale,
                                const bb_tile_plan *plan, bb_tile_matrix **out)
{
    return bb_tile_matrix_create_share(source, scale, plan, NULL, out);
}

bb_status bb_tile_matrix_create_share(const bb_matrix_source *source, const double *scale,
                                      const bb_tile_plan *plan, const bb_tile_share *share,
                                      bb_tile_matrix **out)
{
    bb_status status = BB_OK;
    bb_tile_matrix *matrix = NULL;
    bb_policy_map *map = NULL;
    *out = NULL;
    BB_REQUIRE(source->rows == source->columns && source->rows > 0, BB_INVALID,
               "matrix %s is %td x %td; it must be square and not empty", source->name,
               source->rows, source->columns);
    BB_REQUIRE(plan->tile_size > 0, BB_INVALID, "tile of %td rows, expected at least 1",
               plan->tile_size);
    BB_TRY(BB_ZEROED(1, &matrix));
    matrix->n = source->rows;
    // A tile is at most as large as the matrix, because workspaces are sized by the tile.
    matrix->tile_size = plan->tile_size < matrix->n ? plan->tile_size : matrix->n;
    matrix->sweeps = plan->sweeps;
    matrix->sweep_energy = plan->sweep_energy;
    matrix->sums_from_c = plan->sums_from_c;
    matrix->tile_rows = bb_tile_plan_tile_rows(matrix->n, matrix->tile_size);
    if (plan->map == NULL) {
        const bb_policy_facts facts = {
            .tile_rows = matrix->tile_rows, .tile_size = matrix->tile_size, .noise_floor = NAN};
        BB_TRY(bb_policy_map_create(&plan->policy, plan->arithmetic, &facts, &map));
    }
    BB_TRY(lay_out(matrix, map != NULL ? map : plan->map));
    BB_TRY(find_place(matrix, plan, share != NULL));
    loading load = {source, scale, matrix, share};
    BB_TRY(bb_thread_for(matrix->tile_rows, load_tile_row, &load));
    matrix->norm = loaded_norm(matrix);
    *out = matrix;
    matrix = NULL;
done:
    bb_policy_map_destroy(&map);
    bb_tile_matrix_destroy(&matrix);
    return status;
}

// Digests the rows of a diagonal tile up to the diagonal, and whole rows of another tile.
static uint64_t tile_digest(const bb_tile *tile, bb_index row, bb_index column)
{
    const char *values = tile->f64 != NULL ? (const char *)tile->f64 : (const char *)tile->f32;
    const size_t word = tile->f64 != NULL ? sizeof *tile->f64 : sizeof *tile->f32;
    uint64_t digest = XXH3_64bits_withSeed(&column, sizeof column, (XXH64_hash_t)row);
    for (bb_index i = 0; i < tile->rows; ++i) {
        const bb_index count = row == column ? i + 1 : tile->columns;
        digest = XXH3_64bits_withSeed(values + (size_t)(i * tile->columns) * word,
                                      (size_t)count * word, digest);
    }
    return digest;
}

bb_status bb_tile_matrix_digest(const bb_tile_matrix *matrix, uint64_t *out)
{
    bb_status status = BB_OK;
    *out = 0;
    for (bb_index row = 0; row < matrix->tile_rows; ++row) {
        for (bb_index column = 0; column <= row; ++column) {
            const bb_tile *tile = bb_tile_matrix_at(matrix, row, column);
            BB_TRY(bb_tile_matrix_acquire(matrix, row, column, false));
            if (tile->f64 != NULL || tile->f32 != NULL) {
                *out ^= tile_digest(tile, row, column);
            }
            bb_tile_matrix_release(matrix, row, column, row);
        }
    }
done:
    return status;
}

void bb_tile_matrix_destroy(bb_tile_matrix **matrix)
{
    if (*matrix == NULL) {
        return;
    }
    bb_index count = (*matrix)->tile_rows * ((*matrix)->tile_rows + 1) / 2;
    bb_tile_store_destroy(&(*matrix)->store); // releases the values, too
    for (bb_index t = 0; (*matrix)->tiles != NULL && t < count; ++t) {
        BB_RELEASE(&(*matrix)->tiles[t].f64);
        BB_RELEASE(&(*matrix)->tiles[t].f32);
    }
    BB_RELEASE(&(*matrix)->light);
    BB_RELEASE(&(*matrix)->tiles);
    BB_RELEASE(matrix);
}
