// SPDX-License-Identifier: Apache-2.0
//
// Lower triangle of a symmetric matrix in square tiles, each tile with the variant that its policy
// gave it: the variant says which format the tile is stored in and how products into it are
// computed.
//
// On the CPU the narrow formats are emulated: a tile of a 16-bit format is kept in floats that hold
// values of that format only, and counted with its true size.
#ifndef BB_SOLVERS_FACTOR_TILES_TILE_MATRIX_H
#define BB_SOLVERS_FACTOR_TILES_TILE_MATRIX_H

#include "core/matrix_source.h"
#include "core/need.h"
#include "precision/policy.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Formats, sizes and bytes of a pipeline's tiles, before there is a matrix.
typedef struct bb_tile_plan {
    bb_index tile_size;
    bb_variant arithmetic; ///< of the pipeline
    bb_policy_config policy;
    const bb_policy_map *map; ///< the resolved policy; NULL: of a policy that needs no facts
    bb_policy_sweeps sweeps;  ///< whose products take the tiles' variants, not fp32
    double sweep_energy;      ///< of light sweeps: bb_light_tiles
    bool sums_from_c;         ///< fp16 sums start from C, not from 0
    size_t memory_limit;      ///< bytes that all tiles may take in memory; 0: any
    const char *swap_folder;  ///< where those go that have no room: bb_tile_store_place.folder
} bb_tile_plan;

/// Rows of tiles of a matrix, and rows of one of them: the last may have fewer than the others.
bb_index bb_tile_plan_tile_rows(bb_index n, bb_index tile_size);
bb_index bb_tile_plan_extent(bb_index n, bb_index tile_size, bb_index tile);

/// Format of a tile with a variant: of diagonal ones fp32 or fp64.
bb_format bb_tile_plan_format(bb_variant variant, bb_index row, bb_index column);

/// Bytes of the stored triangle, each tile in its own format, before there is a matrix.
size_t bb_tile_plan_bytes(const bb_tile_plan *plan, bb_index n);

/// What the triangle takes in memory, where a narrow value is a float: what the limit is held to.
double bb_tile_plan_memory_bytes(const bb_tile_plan *plan, bb_index n);

/// Whether the triangle exceeds the plan's limit, so that tiles are kept in a file.
bool bb_tile_plan_is_stored(const bb_tile_plan *plan, bb_index n);

/// The smallest `memory_limit` that a factorization can do with: 0 where none is set, or where the
/// whole triangle fits into it.
size_t bb_tile_plan_least_memory(const bb_tile_plan *plan, bb_index n);

struct bb_tile_store;

/// One tile, row-major, leading dimension = its column count.
typedef struct bb_tile {
    bb_variant variant; ///< of the products into it
    bb_format format;   ///< of its values; diagonal tiles: fp64 or fp32
    bb_index rows, columns;
    double norm; ///< ||.||_F of A's tile, and of L's once that is final
    double *f64; ///< values of a dp tile, NULL otherwise
    float *f32;  ///< values of every other tile, NULL for dp
} bb_tile;       // both NULL: kept by another process, or in a file (tile_store.h)

/// What the products of a factorization were. After a breakdown only `factored` holds: what else
/// was done by then depends on the threads.
typedef struct bb_tile_work {
    bb_index factored;              ///< rows of the leading part that was factored
    double flops[BB_VARIANT_COUNT]; ///< of the updates, by the variant that computed them
    /// Bound on ||A - L L^T||_F / ||A||_F from the rounding of the products' operands
    /// (certificate): each adds e ||L_ik||_F ||L_jk||_F with e of bb_variant_product_error and what
    /// fp16 leaves of values below its range; potrf, trsm and the rounding of sums are not in it.
    /// NaN where outputs are rounded (hp2, hp3).
    double certificate;
    bb_index saturated; ///< operands that e4m3 clipped
} bb_tile_work;

/// What went to and came from the file of tiles that do not fit into memory.
typedef struct bb_tile_traffic {
    double read_bytes, written_bytes;
    double seconds;        ///< of reading and writing, mostly beside the work
    double waited_seconds; ///< for tiles, over the threads of a factorization
} bb_tile_traffic;

typedef struct bb_tile_matrix {
    bb_index n;                 ///< rows of the matrix
    bb_index tile_size;         ///< rows of every tile but the last
    bb_index tile_rows;         ///< ceil(n / tile_size)
    bb_tile *tiles;             ///< [tile_rows (tile_rows + 1) / 2], row by row
    double norm;                ///< ||A||_F of what was loaded
    double product_bound;       ///< the map's
    bb_variant product_variant; ///< the map's
    bool diagonal_follows;      ///< the map's
    bb_policy_sweeps sweeps;    ///< the plan's
    double sweep_energy;        ///< the plan's
    bool sums_from_c;           ///< the plan's
    unsigned char *light;  ///< [tile_rows][tile_rows] of light sweeps, once factored; else NULL
    bb_index accumulate_k; ///< of the factorization, for the sweeps
    bb_tile_work work;     ///< of the factorization
    size_t memory_limit;   ///< the plan's
    struct bb_tile_store *store;         ///< of a matrix larger than that, else NULL
    double waited_seconds;               ///< of the factorization, for tiles
    const struct bb_tile_access *access; ///< how tiles that are elsewhere are read
                                         ///< (tile_access.h), borrowed; NULL: all are here
} bb_tile_matrix;

/// The tiles that a process keeps of a matrix over several.
typedef struct bb_tile_share {
    bool (*holds)(const void *context, bb_index row, bb_index column);
    const void *context; ///< borrowed while the matrix is made
} bb_tile_share;

/// Norms of the tiles of D A D: norms [tile_rows (tile_rows + 1) / 2], row by row; `scale` as
/// below. Rows of tiles are dealt over the team (core/team.h), all of which call. Errors: the
/// source's, BB_MEMORY.
BB_CHECKED bb_status bb_tile_norms(const bb_matrix_source *source, const double *scale,
                                   bb_index tile_size, double *norms);

/// Frobenius norm of a symmetric matrix from those of its lower tiles.
double bb_tile_norms_sum(bb_index tile_rows, const double *norms);

/// Pulls the lower triangle of D A D (n >= 1: an empty matrix is refused) from a symmetric source
/// and rounds each tile to its format; `scale` [n] is the diagonal of D, or NULL for none. Potrf
/// and trsm compute in fp32 unless the policy says dp, so a diagonal tile is kept in fp32 or fp64;
/// its updates are syrk in that format, or products of the policy's variant where its `diagonal`
/// says follow. A triangle that is larger in memory than the plan's limit is kept in a file as far
/// as it is not at work (tile_store.h): its tiles have values while they are held. Errors:
/// BB_INVALID (also a limit below bb_tile_plan_least_memory), BB_MEMORY, BB_IO, the source's.
BB_CHECKED bb_status bb_tile_matrix_create(const bb_matrix_source *source, const double *scale,
                                           const bb_tile_plan *plan, bb_tile_matrix **out);

/// The same where this process keeps some tiles: of the others formats and sizes alone are known,
/// values are NULL and norms 0, until bb_tile_matrix_set_norms. Errors also: BB_UNSUPPORTED for a
/// limit of memory that the triangle exceeds.
BB_CHECKED bb_status bb_tile_matrix_create_share(const bb_matrix_source *source,
                                                 const double *scale, const bb_tile_plan *plan,
                                                 const bb_tile_share *share, bb_tile_matrix **out);

/// Norms of all tiles of A, norms [tile_rows (tile_rows + 1) / 2] row by row, and A's from them.
void bb_tile_matrix_set_norms(bb_tile_matrix *matrix, const double *norms);
void bb_tile_matrix_destroy(bb_tile_matrix **matrix);

/// Tile (row, column) with row >= column.
bb_tile *bb_tile_matrix_at(const bb_tile_matrix *matrix, bb_index row, bb_index column);

/// Brings tile (row, column) into memory, where it stays until it is released; `changes`: its
/// values will be changed. Nothing for a matrix that is all in memory. Waits where all that fits is
/// held by others. Errors: BB_IO, BB_MEMORY.
BB_CHECKED bb_status bb_tile_matrix_acquire(const bb_tile_matrix *matrix, bb_index row,
                                            bb_index column, bool changes);

/// `next_use`: when the tile is likely to be held again, as bb_tile_store_release has it.
void bb_tile_matrix_release(const bb_tile_matrix *matrix, bb_index row, bb_index column,
                            bb_index next_use);

/// All traffic with the file so far; zeros where there is none.
bb_tile_traffic bb_tile_matrix_traffic(const bb_tile_matrix *matrix);

/// L_kk in a factor of dp tiles alone, all in memory.
double bb_tile_matrix_pivot(const bb_tile_matrix *matrix, bb_index column);

/// Digest of the tiles kept here, each of its place and its values (of a diagonal one those of the
/// lower triangle): the exclusive or over the shares of a matrix is that of the whole. Errors: of
/// bb_tile_matrix_acquire.
BB_CHECKED bb_status bb_tile_matrix_digest(const bb_tile_matrix *matrix, uint64_t *out);

/// Bytes of the stored triangle, each tile in its own format, whoever keeps it.
size_t bb_tile_matrix_bytes(const bb_tile_matrix *matrix);

/// What making the matrix takes on the CPU, where narrow tiles are kept in floats; at most the
/// limit for all tiles.
bb_need bb_tile_matrix_need(const bb_tile_plan *plan, bb_index n, double threads);

/// Rounds a tile's values to its format, after work in fp32.
void bb_tile_round(bb_tile *tile);

/// Frobenius norm of `count` values, and of a tile's; summed in 16 lanes.
double bb_tile_norm_of(const double *values, bb_index count);
double bb_tile_norm(const bb_tile *tile);

#ifdef __cplusplus
}
#endif

#endif
