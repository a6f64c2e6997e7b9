// SPDX-License-Identifier: Apache-2.0
//
// Lower triangle of a symmetric matrix in square tiles. The variant that the policy assigns to a
// tile determines its storage format and the arithmetic of products into it.
//
// On the CPU narrow formats are emulated: a tile of a 16-bit format is stored in floats restricted
// to the values of that format, and reported with its true size.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_MATRIX_H
#define BB_SOLVERS_FACTOR_TILES_TILE_MATRIX_H

#include "core/matrix_source.h"
#include "core/need.h"
#include "precision/policy.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Formats, sizes and bytes of a pipeline's tiles, before the matrix exists.
typedef struct bb_tile_plan {
    bb_index tile_size;
    bb_variant arithmetic; ///< arithmetic of the pipeline
    bb_policy_config policy;
    const bb_policy_map *map; ///< resolved policy; NULL: the policy needs no data
    bb_policy_sweeps sweeps;  ///< sweeps whose products use the tiles' variants, not fp32
    double sweep_energy;      ///< threshold of light sweeps: bb_light_tiles
    bool sums_from_c;         ///< fp16 sums start from C, not from 0
    size_t memory_limit;      ///< limit of all tiles in memory [bytes]; 0: none
    const char *swap_folder;  ///< folder for tiles beyond the limit: bb_tile_store_place.folder
} bb_tile_plan;

/// Number of tile rows of a matrix, and number of matrix rows in one of them: the last may have
/// fewer.
bb_index bb_tile_plan_tile_rows(bb_index n, bb_index tile_size);
bb_index bb_tile_plan_extent(bb_index n, bb_index tile_size, bb_index tile);

/// Format of a tile with a variant; diagonal tiles: fp32 or fp64.
bb_format bb_tile_plan_format(bb_variant variant, bb_index row, bb_index column);

/// Bytes of the stored triangle, each tile in its own format, before the matrix exists.
size_t bb_tile_plan_bytes(const bb_tile_plan *plan, bb_index n);

/// Memory of the triangle, with narrow values stored as floats; this is compared with the limit.
double bb_tile_plan_memory_bytes(const bb_tile_plan *plan, bb_index n);

/// True if the triangle exceeds the plan's limit, so that tiles are kept in a file.
bool bb_tile_plan_is_stored(const bb_tile_plan *plan, bb_index n);

/// Smallest `memory_limit` that a factorization can work with: 0 if none is set, or if the whole
/// triangle fits into it.
size_t bb_tile_plan_least_memory(const bb_tile_plan *plan, bb_index n);

struct bb_tile_store;

/// One tile, row-major; the leading dimension is its number of columns.
typedef struct bb_tile {
    bb_variant variant; ///< variant of the products into it
    bb_format format;   ///< storage format; diagonal tiles: fp64 or fp32
    bb_index rows, columns;
    double norm; ///< ||.||_F of A's tile, and of L's once it is final
    double *f64; ///< values of a dp tile, otherwise NULL
    float *f32;  ///< values of any other tile, NULL for dp
} bb_tile;       // both NULL: owned by another process, or in a file (tile_store.h)

/// Statistics of the products of a factorization. After a breakdown only `factored` is valid,
/// because the work done by then depends on the threads.
typedef struct bb_tile_work {
    bb_index factored;              ///< rows of the factored leading part
    double flops[BB_VARIANT_COUNT]; ///< operations of the updates, by variant
    /// Bound on ||A - L L^T||_F / ||A||_F from the rounding of the products' operands
    /// (certificate). Each product adds e ||L_ik||_F ||L_jk||_F, with e from
    /// bb_variant_product_error, and the underflow of fp16. Potrf, trsm and the rounding of sums
    /// are not included. NaN if outputs are rounded (hp2, hp3).
    double certificate;
    bb_index saturated; ///< number of operands clipped to e4m3
} bb_tile_work;

/// Traffic with the file of tiles that do not fit into memory.
typedef struct bb_tile_traffic {
    double read_bytes, written_bytes;
    double seconds;        ///< time of reading and writing, mostly overlapped with computation
    double waited_seconds; ///< time that threads of a factorization waited for tiles, summed over
                           ///< threads
} bb_tile_traffic;

typedef struct bb_tile_matrix {
    bb_index n;                 ///< rows of the matrix
    bb_index tile_size;         ///< rows of every tile but the last
    bb_index tile_rows;         ///< ceil(n / tile_size)
    bb_tile *tiles;             ///< [tile_rows (tile_rows + 1) / 2], row by row
    double norm;                ///< ||A||_F of the loaded matrix
    double product_bound;       ///< bound from the map
    bb_variant product_variant; ///< variant from the map
    bool diagonal_follows;      ///< flag from the map
    bb_policy_sweeps sweeps;    ///< sweeps from the plan
    double sweep_energy;        ///< threshold from the plan
    bool sums_from_c;           ///< flag from the plan
    /// [tile_rows][tile_rows] light tiles of the sweeps, once factored; else NULL.
    unsigned char *light;
    bb_index accumulate_k;       ///< accumulate_k of the factorization, for the sweeps
    bb_tile_work work;           ///< statistics of the factorization
    size_t memory_limit;         ///< limit from the plan
    struct bb_tile_store *store; ///< store of tiles if the matrix exceeds the limit, else NULL
    double waited_seconds;       ///< total time that the factorization waited for tiles
    const struct bb_tile_access *access; ///< access to tiles that are not in memory
                                         ///< (tile_access.h), borrowed; NULL: all are in memory
} bb_tile_matrix;

/// Tiles that a process owns of a distributed matrix.
typedef struct bb_tile_share {
    bool (*holds)(const void *context, bb_index row, bb_index column);
    const void *context; ///< borrowed during creation
} bb_tile_share;

/// Norms of the tiles of D A D: norms [tile_rows (tile_rows + 1) / 2], row by row; `scale` as
/// below. Rows of tiles are distributed over the team (core/team.h); the call is collective.
/// Errors: from the source, BB_MEMORY.
BB_CHECKED bb_status bb_tile_norms(const bb_matrix_source *source, const double *scale,
                                   bb_index tile_size, double *norms);

/// Frobenius norm of a symmetric matrix, from the norms of its lower tiles.
double bb_tile_norms_sum(bb_index tile_rows, const double *norms);

/// Fills the lower triangle of D A D (n >= 1: an empty matrix is an error) from a symmetric source
/// and rounds each tile to its format; `scale` [n] is the diagonal of D, or NULL for none. Potrf
/// and trsm compute in fp32 unless the variant is dp, so a diagonal tile is stored in fp32 or
/// fp64. Its updates are syrk in that format, or products of the policy's variant if `diagonal` is
/// follow. A triangle above the plan's memory limit is kept in a file, except for the tiles in use
/// (tile_store.h); its tiles have values only while they are acquired. Errors: BB_INVALID (also a
/// limit below bb_tile_plan_least_memory), BB_MEMORY, BB_IO, errors of the source.
BB_CHECKED bb_status bb_tile_matrix_create(const bb_matrix_source *source, const double *scale,
                                           const bb_tile_plan *plan, bb_tile_matrix **out);

/// Creates the matrix if this process owns only some tiles. For the others only formats and sizes
/// are known: values are NULL, and norms are 0 until bb_tile_matrix_set_norms. Further errors:
/// BB_UNSUPPORTED if the triangle exceeds a memory limit.
BB_CHECKED bb_status bb_tile_matrix_create_share(const bb_matrix_source *source,
                                                 const double *scale, const bb_tile_plan *plan,
                                                 const bb_tile_share *share, bb_tile_matrix **out);

/// Sets the norms of all tiles of A, norms [tile_rows (tile_rows + 1) / 2] row by row, and A's norm
/// from them.
void bb_tile_matrix_set_norms(bb_tile_matrix *matrix, const double *norms);
void bb_tile_matrix_destroy(bb_tile_matrix **matrix);

/// Tile (row, column) with row >= column.
bb_tile *bb_tile_matrix_at(const bb_tile_matrix *matrix, bb_index row, bb_index column);

/// Loads tile (row, column) into memory until it is released; `changes`: its values will be
/// changed. Does nothing for a matrix in memory. Waits if acquired tiles use the whole limit.
/// Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_tile_matrix_acquire(const bb_tile_matrix *matrix, bb_index row,
                                            bb_index column, bool changes);

/// `next_use`: expected time of the next acquisition, as for bb_tile_store_release.
void bb_tile_matrix_release(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                            bb_index next_use);

/// Total traffic with the file so far; zero without a file.
bb_tile_traffic bb_tile_matrix_traffic(const bb_tile_matrix *matrix);

/// L_kk of a factor with dp tiles only, all in memory.
double bb_tile_matrix_pivot(const bb_tile_matrix *matrix, bb_index column);

/// Digest of the tiles owned by this process, from place and values of each (for a diagonal tile
/// the lower triangle). The exclusive or over the shares of a matrix is the digest of the whole.
/// Errors: of bb_tile_matrix_acquire.
BB_CHECKED bb_status bb_tile_matrix_digest(const bb_tile_matrix *matrix, uint64_t *out);

/// Bytes of the stored triangle, each tile in its own format, over all processes.
size_t bb_tile_matrix_bytes(const bb_tile_matrix *matrix);

/// Cost of creating the matrix on the CPU, where narrow tiles are stored in floats; at most the
/// memory limit for all tiles.
bb_need bb_tile_matrix_need(const bb_tile_plan *plan, bb_index n, double threads);

/// Rounds a tile's values to its format, after computation in fp32.
void bb_tile_round(bb_tile *tile);

/// Frobenius norm of `count` values, and of a tile; summed in 16 lanes.
double bb_tile_norm_of(const double *values, bb_index count);
double bb_tile_norm(const bb_tile *tile);

#ifdef __cplusplus
}
#endif

#endif
