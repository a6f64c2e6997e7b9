// SPDX-License-Identifier: Apache-2.0
//
// Pipelines of studies that factor a covariance and solve with it: each record of `pipelines:`
// assigns arithmetics to tile updates.
#ifndef BB_SIM_PIPELINES_FACTOR_PIPELINE_H
#define BB_SIM_PIPELINES_FACTOR_PIPELINE_H

#include "precision/codec.h"
#include "precision/policy.h"
#include "sim/pipelines/draws.h"
#include "sim/run/study.h"
#include "solvers/distributed/tile_message.h"
#include "solvers/factor/refinement.h"

typedef enum bb_factor_scale {
    BB_FACTOR_SCALE_UNIT_DIAGONAL,
    BB_FACTOR_SCALE_NONE
} bb_factor_scale;
extern const char *const bb_factor_scale_names[];

typedef enum bb_accumulate_from {
    BB_ACCUMULATE_FROM_ZERO,
    BB_ACCUMULATE_FROM_C
} bb_accumulate_from;
extern const char *const bb_accumulate_from_names[];

/// Component removed from slopes before the stored reconstructor multiplies them.
typedef enum bb_slope_filter { BB_SLOPE_FILTER_NONE, BB_SLOPE_FILTER_MEANS } bb_slope_filter;
extern const char *const bb_slope_filter_names[];

/// Stored operator: R, or the commands of the mirror.
typedef enum bb_stored_operator { BB_STORED_SLOPES, BB_STORED_COMMANDS } bb_stored_operator;
extern const char *const bb_stored_operator_names[];

/// Scaling of a reconstructor's columns before rounding (storage/column_scale.h).
typedef enum bb_column_scale {
    BB_COLUMN_SCALE_NONE,
    BB_COLUMN_SCALE_DEVIATION,
    BB_COLUMN_SCALE_REMAINDER,
    BB_COLUMN_SCALE_BALANCED,
} bb_column_scale;
extern const char *const bb_column_scale_names[];

/// Keys of `slopes:` of a pipeline.
typedef struct bb_slope_config {
    int format;          ///< bb_format, -1: not given
    bb_index bits;       ///< number of bits in a range, BB_INTEGER_UNSET: not given
    double range_sigmas; ///< half of the range, in units of the largest standard deviation
} bb_slope_config;

extern const bb_schema bb_slope_schema;

/// Losses of Strehl ratio bounded by max_loss, named by `over`.
typedef enum bb_loss_over { BB_LOSS_OVER_ALL, BB_LOSS_OVER_FIRST } bb_loss_over;

/// Keys of `search:` of a pipeline, with max_loss (factor_search.h, storage_search.h).
typedef struct bb_factor_search_config {
    int over;         ///< bb_loss_over
    bb_list variants; ///< list of int, bb_variant: candidate arithmetics; empty: by rule
    int inside;       ///< bb_variant: second variant of a mixture
    int rounding;     ///< bb_policy_rounding of mixtures by product
} bb_factor_search_config;

/// Position of a tile.
typedef struct bb_factor_tile {
    bb_index row, column;
} bb_factor_tile;

/// Keys of `solver.spectrum:`.
typedef struct bb_factor_spectrum {
    bool matrix;   ///< eigenvalues of the whole matrix
    bb_list tiles; ///< list of bb_factor_tile: tiles whose singular values are computed
    bb_index size; ///< tile size for `tiles`, independent of the device's; not a key; 0: the
                   ///< solver's
} bb_factor_spectrum;

extern const bb_schema bb_factor_spectrum_schema;

/// Engine of tile factorizations on the CPU (factor_engine.h).
typedef enum bb_factor_engine_kind {
    BB_FACTOR_ENGINE_AUTO, ///< over processes if the program has such an engine, else own
    BB_FACTOR_ENGINE_OWN,
    BB_FACTOR_ENGINE_STARPU
} bb_factor_engine_kind;
extern const char *const bb_factor_engine_names[];

/// Keys of `solver:` common to all studies that factor.
typedef struct bb_factor_solver_config {
    bb_index tile; ///< BB_INTEGER_UNSET: auto (bb_factor_device_resolve_tile)
    int scale;     ///< bb_factor_scale
    /// rows of the unit diagonal are scaled by independent factors in [1 - dither, 1]
    double dither;
    bb_index gpus;          ///< GPUs of this host that share factorizations and scores on CUDA
    int engine;             ///< bb_factor_engine_kind
    const char *grid;       ///< process grid: "auto" or "2x4"
    int wire;               ///< bb_wire
    double memory_limit_gb; ///< limit for tiles in memory, or for GPU memory; 0: none
    const char *swap_dir;   ///< folder of the file for tiles beyond the limit; NULL: TMPDIR
    double stall_s;         ///< timeout after which an idle process ends the run
    bb_factor_spectrum spectrum;
} bb_factor_solver_config;

/// Rows of a solver's table; `type` has a bb_factor_solver_config member `common`.
#define BB_FACTOR_SOLVER_KEYS(type)                                                                \
    {.name = "tile",                                                                               \
     .kind = BB_KEY_INTEGER,                                                                       \
     .unit = "1",                                                                                  \
     .minimum = 8.0,                                                                               \
     .maximum = 65536.0,                                                                           \
     .offset = offsetof(type, common.tile),                                                        \
     .default_text = "auto",                                                                       \
     .word = "auto",                                                                               \
     .meaning = "Rows and columns of a tile of the factorization; auto: 128, on cuda 128 to 1024 " \
                "by the order of the matrix. On cuda rounded up to a multiple of 128."},           \
        {.name = "scale",                                                                          \
         .kind = BB_KEY_CHOICE,                                                                    \
         .choices = bb_factor_scale_names,                                                         \
         .offset = offsetof(type, common.scale),                                                   \
         .default_text = "unit_diagonal",                                                          \
         .meaning = "Scaling of the covariance before it is rounded."},                            \
        {.name = "dither",                                                                         \
         .kind = BB_KEY_DOUBLE,                                                                    \
         .unit = "1",                                                                              \
         .minimum = 0.0,                                                                           \
         .maximum = 0.5,                                                                           \
         .offset = offsetof(type, common.dither),                                                  \
         .default_text = "0.04",                                                                   \
         .meaning = "unit_diagonal: its rows are scaled by random factors in [1 - dither, 1]."},   \
        {.name = "gpus",                                                                           \
         .kind = BB_KEY_INTEGER,                                                                   \
         .unit = "1",                                                                              \
         .minimum = 1.0,                                                                           \
         .maximum = 8.0,                                                                           \
         .offset = offsetof(type, common.gpus),                                                    \
         .default_text = "1",                                                                      \
         .meaning = "GPUs of this host that share factorizations and scores on device cuda."},     \
        {.name = "engine",                                                                         \
         .kind = BB_KEY_CHOICE,                                                                    \
         .choices = bb_factor_engine_names,                                                        \
         .offset = offsetof(type, common.engine),                                                  \
         .default_text = "auto",                                                                   \
         .meaning =                                                                                \
             "Engine of factorizations on the cpu: own, or starpu over processes; auto: starpu "   \
             "in bitbudget-mpi."},                                                                 \
        {.name = "grid",                                                                           \
         .kind = BB_KEY_TEXT,                                                                      \
         .offset = offsetof(type, common.grid),                                                    \
         .default_text = "auto",                                                                   \
         .meaning =                                                                                \
             "starpu: rows and columns of processes, such as 2x4; auto: nearest to a square."},    \
        {.name = "wire",                                                                           \
         .kind = BB_KEY_CHOICE,                                                                    \
         .choices = bb_wire_names,                                                                 \
         .offset = offsetof(type, common.wire),                                                    \
         .default_text = "follow",                                                                 \
         .meaning =                                                                                \
             "starpu: format of tiles sent between processes: that of their readers, or fp32."},   \
        {.name = "memory_limit_gb",                                                                \
         .kind = BB_KEY_DOUBLE,                                                                    \
         .unit = "GB",                                                                             \
         .minimum = 0.0,                                                                           \
         .maximum = 1.0e6,                                                                         \
         .offset = offsetof(type, common.memory_limit_gb),                                         \
         .default_text = "0",                                                                      \
         .meaning = "own: memory limit for tiles, the rest in a file; cuda: size above which L "   \
                    "in planes "                                                                   \
                    "of fp16 is kept in pinned host memory; 0: no limit."},                        \
        {.name = "swap_dir",                                                                       \
         .kind = BB_KEY_TEXT,                                                                      \
         .optional = true,                                                                         \
         .offset = offsetof(type, common.swap_dir),                                                \
         .writes_folder = true,                                                                    \
         .meaning = "Folder of that file, on a disk; default: TMPDIR, or /tmp."},                  \
        {.name = "stall_s",                                                                        \
         .kind = BB_KEY_DOUBLE,                                                                    \
         .unit = "s",                                                                              \
         .minimum = 0.0,                                                                           \
         .maximum = 86400.0,                                                                       \
         .offset = offsetof(type, common.stall_s),                                                 \
         .default_text = "60",                                                                     \
         .meaning = "starpu: timeout after which a silent process ends the run; 0: never."},       \
    {                                                                                              \
        .name = "spectrum", .kind = BB_KEY_GROUP, .schema = &bb_factor_spectrum_schema,            \
        .offset = offsetof(type, common.spectrum),                                                 \
        .meaning = "Eigenvalues to write with the results."                                        \
    }

#define BB_FACTOR_DITHER 0.04 ///< default of the key

/// Record of `pipelines:`.
typedef struct bb_factor_pipeline {
    const char *name;
    int arithmetic; ///< bb_variant
    bb_policy_config policy;
    bb_index accumulate_k; ///< hp3: products between roundings of the accumulator
    int accumulate_from;   ///< hp3: bb_accumulate_from
    int sweeps;            ///< bb_policy_sweeps
    double sweep_energy;   ///< of light sweeps
    bb_refine_config refine;
    bool escalate;           ///< repeat after a failure in x3, then dp
    bb_codec_config storage; ///< storage of the reconstructor; codec -1: not stored
    double max_loss;         ///< NaN: no search
    bb_factor_search_config search;
    int stored;              ///< bb_stored_operator
    int row_scale;           ///< bb_row_scale, applied before rounding
    int column_scale;        ///< bb_column_scale, applied before rounding
    int filter;              ///< bb_slope_filter, applied before multiplication
    bb_slope_config slopes;  ///< rounding of the slopes
    int multiply;            ///< bb_format of products with slopes
    int accumulate;          ///< bb_format of their sums
    bb_index accumulate_run; ///< products per sum before it is added in fp32; BB_INTEGER_UNSET: a
                             ///< whole row
    bb_index draws; ///< number of factorizations with independent rounding, including draw 0
    int device;     ///< as bb_study.device; -1: the device of the study
} bb_factor_pipeline;

extern const bb_schema bb_factor_pipeline_schema;

/// True if max_loss finds the arithmetic (no storage is given), the storage, or either.
bool bb_factor_pipeline_finds_arithmetic(const bb_factor_pipeline *pipeline);
bool bb_factor_pipeline_finds_storage(const bb_factor_pipeline *pipeline);
bool bb_factor_pipeline_searches(const bb_factor_pipeline *pipeline);

/// Pipeline to plan with before its arithmetic is found, by the tile-norm rule; other pipelines are
/// unchanged.
bb_factor_pipeline bb_factor_pipeline_planned(const bb_factor_pipeline *pipeline);

/// True if two pipelines on the same device have the same factorization and solves, whatever they
/// store. Both must use one arithmetic throughout and have no search.
bool bb_factor_pipeline_solves_alike(const bb_factor_pipeline *a, const bb_factor_pipeline *b);

/// True if a pipeline before `index` in bb_factor_pipeline `pipelines` has the same solve.
bool bb_factor_pipelines_repeat(const bb_list *pipelines, bb_index index);

/// Index of the reference among bb_factor_pipeline `pipelines`.
bb_index bb_factor_pipelines_reference(const bb_list *pipelines);

/// Checks the keys of `solver:` against each other. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_factor_pipeline_solver_check(const bb_factor_solver_config *solver,
                                                     const bb_config *config,
                                                     bb_problems *problems);

/// Checks a study's bb_factor_pipeline `pipelines`: names, a reference in full precision. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_factor_pipelines_check(const bb_list *pipelines, const bb_config *config,
                                               bb_problems *problems);

/// Tile plan of a pipeline's factorization.
bb_tile_plan bb_factor_pipeline_tiles(const bb_factor_solver_config *solver,
                                      const bb_factor_pipeline *pipeline);

#endif
