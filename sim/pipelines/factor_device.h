// SPDX-License-Identifier: Apache-2.0
//
// Factorization and solves of a pipeline on CUDA devices, by panels
// (solvers/factor/panels/panel_cholesky.h). A panel is as wide as a tile. Within policies of hp1,
// hp2, hp3 or x3, which can be combined in one factorization, sp is computed as x3, which has the
// same accuracy.
#ifndef BB_SIM_PIPELINES_FACTOR_DEVICE_H
#define BB_SIM_PIPELINES_FACTOR_DEVICE_H

#include "sim/pipelines/factor_problem.h"
#include "sim/run/device_choice.h"
#include "sim/run/plan.h"
#include "solvers/factor/panels/panel_cholesky.h"
#include "solvers/factor/residual_scorer.h"

/// Tile of a factorization of n x n on CUDA: `solver.tile` rounded up to a multiple of 128. With
/// auto the largest of 128, 256, 512 and 1024 that gives at least 20 tiles per row, or 128.
bb_index bb_factor_device_tile(const bb_factor_solver_config *solver, bb_index n);

/// Width of a panel: the same tile, but at most n rounded up to a multiple of 128.
bb_index bb_factor_device_block(const bb_factor_solver_config *solver, bb_index n);

/// Resolves solver->tile for all pipelines of a study of n measurements, so that bands, policies
/// and maps count the same tiles. It becomes CUDA's tile if any pipeline computes there. Otherwise
/// it stays, and auto becomes 128.
void bb_factor_device_resolve_tile(const bb_list *pipelines, int study_device, bb_index n,
                                   bb_factor_solver_config *solver);

/// Reports a tile that was rounded up: as a line of the plan, or as a warning if `lines` is NULL.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_factor_device_print_tile(const bb_factor_solver_config *written,
                                                 const bb_factor_solver_config *resolved,
                                                 bb_plan *lines);

/// Reports, in the same two ways, that a pipeline has narrow operands but the matrix of n
/// measurements no product that uses them: it is one tile, or two with diagonal tiles in fp32.
BB_CHECKED bb_status bb_factor_device_print_single(const bb_list *pipelines, bb_index tile,
                                                   bb_index n, bb_plan *lines);

/// Checks that the device has kernels for a pipeline. Errors: BB_UNSUPPORTED with a message. Needs
/// neither a device nor a map.
BB_CHECKED bb_status bb_factor_device_check(const bb_factor_solver_config *solver,
                                            const bb_factor_pipeline *pipeline);

/// Adds a problem for each reason why pipelines assigned to CUDA have no kernels there, and for
/// each request for OpenCL, whatever devices this machine has.
BB_CHECKED bb_status bb_factor_devices_check(const bb_list *pipelines,
                                             const bb_factor_solver_config *solver,
                                             int study_device, const bb_config *config,
                                             bb_problems *problems);

/// Selects the device of a pipeline by bb_device_choice_make; `auto` selects CUDA only if there are
/// kernels for it. Errors: from both.
BB_CHECKED bb_status bb_factor_device_choose(const bb_device_offer *offer, int study_device,
                                             const bb_factor_solver_config *solver,
                                             const bb_factor_pipeline *pipeline,
                                             bb_device_kind *out);

/// Need of a pipeline on each GPU, for n measurements and right-hand sides of `rows` rows in total:
/// the factorization and its results. An upper bound if a rule assigns variants.
bb_need bb_factor_device_need(const bb_factor_solver_config *solver,
                              const bb_factor_pipeline *pipeline, bb_index n, bb_index rows);

/// Adds a line if `solver.memory_limit_gb` moves L to host memory, and one if a pipeline exceeds
/// the limit: with other arithmetics, tiles that are not a power of two or above 4096, on several
/// GPUs, and for data other than L. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_factor_device_print_limit(const bb_factor_solver_config *solver,
                                                  const bb_factor_pipeline *pipeline, bb_index n,
                                                  bb_index rows, bb_plan *lines);

/// True if a pipeline of a study computes on CUDA; `auto` needs a CUDA build and a GPU.
bool bb_factor_device_supports(const bb_factor_solver_config *solver,
                               const bb_factor_pipeline *pipeline, int study_device);

/// Times and traffic of a run on the device.
typedef struct bb_factor_device_times {
    double fill_s, solve_s;
    double operator_bytes;
    bb_panel_traffic traffic; ///< traffic of L
    bool swapped;             ///< true if L was in host memory
} bb_factor_device_times;

/// Factors and solves with the resolved map of a policy; allocates r[t] [m][n] for each target. A
/// numerical failure is an outcome. Errors: BB_DEVICE, BB_MEMORY, BB_UNSUPPORTED, the sources'.
BB_CHECKED bb_status bb_factor_device_solve(const bb_factor_problem *problem,
                                            const bb_factor_pipeline *pipeline,
                                            const bb_policy_map *map, double **r,
                                            bb_outcome *outcome, bb_factor_device_times *times);

/// Factors and solves as an engine (bb_factor_engine_row.solve), with the map of the pipeline's
/// policy.
BB_CHECKED bb_status bb_factor_device_run(const bb_factor_problem *problem,
                                          const bb_factor_problem *drawn,
                                          const bb_factor_pipeline *pipeline, double **r,
                                          bb_evaluation *evaluation, bb_factor_effort *spent);

/// Scores estimates over Cmm, on the first `gpus` CUDA devices, or on the CPU if 0. Errors: those
/// of bb_residual_covariance and its device twin.
BB_CHECKED bb_status bb_factor_device_score(const bb_matrix_source *cmm, bb_index gpus,
                                            bb_index count, const bb_residual_task *tasks);

/// Scorer of estimates, one after another, on the first CUDA devices for the duration of a run
/// (solvers/factor/residual_scorer.h).
typedef struct bb_factor_device_scorer bb_factor_device_scorer;

/// Opens `gpus` devices, 1 to BB_RESIDUAL_GPUS, for estimates over `cmm`, borrowed, and its
/// low-rank `part`, NULL for none. Panels of `cmm` are cached there, except in `reserve_bytes`
/// (bb_residual_scorer_cache_panels). Errors: BB_UNSUPPORTED in a build without CUDA, those of
/// bb_residual_scorer_create. Owner: the caller.
BB_CHECKED bb_status bb_factor_device_scorer_open(bb_index gpus, const bb_matrix_source *cmm,
                                                  const bb_low_rank *part, double reserve_bytes,
                                                  bb_factor_device_scorer **out);
void bb_factor_device_scorer_close(bb_factor_device_scorer **scorer);

/// Residual scorer of the devices, borrowed; NULL for NULL.
bb_residual_scorer *bb_factor_device_scorer_residuals(bb_factor_device_scorer *scorer);

/// Scores estimates. Errors: from bb_residual_scorer_score.
BB_CHECKED bb_status bb_factor_device_scorer_score(bb_factor_device_scorer *scorer, bb_index count,
                                                   const bb_residual_task *tasks);

/// Large products on the first device, as callbacks for physics (bb_projection of
/// physics/ao/tomography.h); `scorer` is a bb_factor_device_scorer. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_factor_device_scorer_congruence(void *scorer, bb_index rows,
                                                        bb_index columns, const double *weights,
                                                        const double *symmetric, double *out);
BB_CHECKED bb_status bb_factor_device_scorer_multiply(void *scorer, bb_index rows,
                                                      const bb_row_product *product,
                                                      const void *resident);

/// Sums over pairs on the first device. Errors: from bb_residual_scorer_pairs.
BB_CHECKED bb_status bb_factor_device_scorer_pairs(bb_factor_device_scorer *scorer,
                                                   const bb_residual_pairs *task);

/// R N R^T of a sparse N on the first device. Errors: from bb_residual_scorer_noise.
BB_CHECKED bb_status bb_factor_device_scorer_noise(bb_factor_device_scorer *scorer,
                                                   const bb_csr *noise,
                                                   const bb_residual_task *task, double *out);

#endif
