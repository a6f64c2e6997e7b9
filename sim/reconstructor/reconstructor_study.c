// SPDX-License-Identifier: Apache-2.0
#include "sim/reconstructor/reconstructor_study.h"

#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_engine.h"
#include "sim/pipelines/storage_search.h"

#include <math.h>

// clang-format off
static const bb_key solver_keys[] = {
    BB_FACTOR_SOLVER_KEYS(bb_reconstructor_solver_config),
};
static const bb_schema solver_schema =
    BB_SCHEMA("solver", bb_reconstructor_solver_config, solver_keys);

static const bb_key low_rank_keys[] = {
    {.name = "file", .kind = BB_KEY_PATH, .offset = offsetof(bb_reconstructor_low_rank, file),
     .optional = true, .meaning = "HDF5 or FITS file, relative to the file that names it."},
    {.name = "dataset", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_reconstructor_low_rank, dataset),
     .meaning = "Matrix U, measurements by columns, such as /operators/Cmm_low_rank."},
    {.name = "weights", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_reconstructor_low_rank, weights),
     .meaning = "Weights, one per column, such as /operators/Cmm_weights; default: unbounded."},
};
static const bb_schema low_rank_schema =
    BB_SCHEMA("low_rank", bb_reconstructor_low_rank, low_rank_keys);

static const bb_key keys[] = {
    BB_STUDY_KEYS(bb_reconstructor_study),
    {.name = "covariance", .kind = BB_KEY_GROUP, .schema = &bb_matrix_place_schema,
     .offset = offsetof(bb_reconstructor_study, covariance),
     .meaning = "Covariance of the measurements, symmetric: Cmm."},
    {.name = "low_rank", .kind = BB_KEY_GROUP, .schema = &low_rank_schema,
     .offset = offsetof(bb_reconstructor_study, low_rank),
     .meaning = "Low-rank part of the covariance, U diag(w) U^T, kept out of narrow "
     "formats."},
    {.name = "cross_covariance", .kind = BB_KEY_GROUP, .schema = &bb_matrix_place_schema,
     .offset = offsetof(bb_reconstructor_study, cross_covariance),
     .meaning = "Cross-covariance of truth and measurements: Ctm."},
    {.name = "truth_covariance", .kind = BB_KEY_GROUP, .schema = &bb_matrix_place_optional_schema,
     .offset = offsetof(bb_reconstructor_study, truth_covariance),
     .meaning = "Covariance of the truth, for residual_trace: Ctt."},
    {.name = "solver", .kind = BB_KEY_GROUP, .schema = &solver_schema,
     .offset = offsetof(bb_reconstructor_study, solver),
     .meaning = "Factorization of the covariance."},
    {.name = "machine", .kind = BB_KEY_GROUP, .schema = &bb_machine_price_schema,
     .offset = offsetof(bb_reconstructor_study, machine), .meaning = "Cost of the computing machine."},
    {.name = "pipelines", .kind = BB_KEY_RECORDS, .schema = &bb_factor_pipeline_schema,
     .minimum_count = 1, .offset = offsetof(bb_reconstructor_study, pipelines),
     .meaning = "Pipelines to compare; the one named reference, else the first, is the "
     "truth."},
};
// clang-format on
const bb_schema bb_reconstructor_study_schema =
    BB_SCHEMA("reconstructor", bb_reconstructor_study, keys);

const char bb_reconstructor_study_starter[] =
    "experiment: reconstructor\n"
    "title: arithmetic of the factorization of my covariance\n"
    "covariance: {file: mine.h5, dataset: /operators/Cmm}\n"
    "cross_covariance: {file: mine.h5, dataset: /operators/Ctm_0}\n"
    "pipelines:\n"
    "  - {name: reference, arithmetic: dp}\n"
    "  - {name: sp, arithmetic: sp}\n"
    "  - {name: hp1, arithmetic: hp1, policy: {kind: band, width: 1, inside: sp}}\n";

// A reconstructor study has one loss, unknown noise and no sensor geometry.
static bb_status check_policies(const bb_reconstructor_study *request, const bb_config *config,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *pipelines = request->pipelines.items;
    for (bb_index p = 0; p < request->pipelines.count; ++p) {
        const bb_policy_config *policy = &pipelines[p].policy;
        BB_TRY(bb_study_refuse(pipelines[p].filter != (int)BB_SLOPE_FILTER_NONE, config, problems,
                               "pipelines[%td].filter: remove it, a covariance from a file does "
                               "not assign slopes to sensors",
                               p));
        BB_TRY(bb_study_refuse(
            pipelines[p].stored != (int)BB_STORED_SLOPES, config, problems,
            "pipelines[%td].operator: remove it, a covariance from a file has no mirror", p));
        BB_TRY(bb_study_refuse(bb_factor_pipeline_finds_storage(&pipelines[p]), config, problems,
                               "pipelines[%td].storage: remove it, max_loss selects the "
                               "arithmetic; only ao selects a storage",
                               p));
        BB_TRY(bb_study_refuse(
            pipelines[p].search.over != (int)BB_LOSS_OVER_ALL, config, problems,
            "pipelines[%td].search.over: remove it, a reconstructor study has only one loss", p));
        BB_TRY(bb_study_refuse(
            bb_policy_describe(policy)->by_tolerance && isnan(policy->tolerance), config, problems,
            "pipelines[%td].policy: expected the key tolerance, as the noise of the covariance is "
            "unknown",
            p));
    }
done:
    return status;
}

bb_status bb_reconstructor_study_check(const void *study, const bb_config *config,
                                       bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_reconstructor_study *request = study;
    const bb_matrix_place *truth = &request->truth_covariance;
    BB_TRY(bb_study_refuse((truth->file == NULL) != (truth->dataset == NULL), config, problems,
                           "truth_covariance: expected both file and dataset, or neither"));
    const bb_reconstructor_low_rank *part = &request->low_rank;
    BB_TRY(bb_study_refuse(
        (part->file == NULL) != (part->dataset == NULL) ||
            (part->weights != NULL && part->file == NULL),
        config, problems,
        "low_rank: expected both file and dataset, or neither, and weights only with them"));
    BB_TRY(check_policies(request, config, problems));
    BB_TRY(bb_factor_pipeline_solver_check(&request->solver.common, config, problems));
    BB_TRY(bb_factor_pipelines_check(&request->pipelines, config, problems));
    BB_TRY(bb_factor_engine_check(&request->solver.common, config, problems));
    BB_TRY(bb_factor_devices_check(&request->pipelines, &request->solver.common,
                                   request->common.device, config, problems));
done:
    return status;
}
