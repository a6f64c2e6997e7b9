// SPDX-License-Identifier: Apache-2.0
//
// Rules that every result file must satisfy, from outputs/README.md: ranges of the numbers in
// /results, and a comparison of two files dataset by dataset.
#ifndef BB_TESTS_SIM_CAMPAIGN_STUDY_ORACLE_H
#define BB_TESTS_SIM_CAMPAIGN_STUDY_ORACLE_H

#include "sim/output/output_table.h"
#include "sim/run/experiment.h"
#include "tests/check.h"

#include <hdf5.h>

/// Range of a dataset of /results whose first axis is `pipeline`, for pipelines with status ok.
typedef struct study_rule {
    const char *dataset;
    double least, most;
    bool may_be_unset; ///< NaN is allowed
} study_rule;

static const double STUDY_SLACK = 1e-9; // for sums that are 1 except for rounding

// clang-format off
static const study_rule study_rules[] = {
    {"qoi_relative_error", 0, INFINITY, false},
    {"operator_bytes", 0, INFINITY, false},
    {"compression_ratio", 0, INFINITY, true},
    {"compression_ratio_live", 0, INFINITY, true},
    {"flops", 1, INFINITY, false},
    {"flops_dense_equivalent", 1, INFINITY, false},
    {"encode_time_s", 0, INFINITY, false},
    {"solve_time_s", 0, INFINITY, false},
    {"wall_s", 0, INFINITY, true},
    {"draws", 1, 256, false},
    {"draws_failed", 0, 0, false},
    {"loss_std", 0, INFINITY, true},
    {"failure_bound", 0, 1, false},
    {"overlay_error_x_nm", 0, INFINITY, false},
    {"overlay_error_y_nm", 0, INFINITY, false},
    {"height_error_nm", 0, INFINITY, true},
    {"overlay_headline_nm", 0, INFINITY, true},
    {"overlay_residual_nm", 0, INFINITY, true},
    {"worst_field_nm", 0, INFINITY, true},
    {"median_field_nm", 0, INFINITY, true},
    {"field_sigma_nm", 0, INFINITY, true},
    {"field_m3s_nm", 0, INFINITY, true},
    {"field_percentile997_nm", 0, INFINITY, true},
    {"field_max_nm", 0, INFINITY, true},
    {"nce_nm", 0, INFINITY, true},
    {"displacement_deviation_nm", 0, INFINITY, true},
    {"residual_deviation_nm", 0, INFINITY, true},
    {"delivery_late_steps", 0, INFINITY, false},
    {"delivery_missed_steps", 0, INFINITY, false},
    {"delivery_held_steps", 0, INFINITY, false},
    {"delivery_uncorrected_steps", 0, INFINITY, false},
    {"bits_per_value", 0, INFINITY, false},
    {"rmse", 0, INFINITY, false},
    {"max_error", 0, INFINITY, false},
    {"nrmse", 0, INFINITY, true},
    {"certified_bound_nm", 0, INFINITY, true},
    {"certified_error_nm", 0, INFINITY, true},
    {"certificate_violations", 0, 0, false},
    {"saturated_values", 0, INFINITY, false},
    {"underflowed_values", 0, INFINITY, false},
    {"non_finite_values", 0, INFINITY, false},
    {"worst_relative_error", 0, INFINITY, false},
    {"strehl", 0, 1, false},
    {"strehl_loss", -1, 1, false},
    {"residual_rms_nm", 0, INFINITY, false},
    {"strehl_by", 0, 1, false},
    {"residual_rms_by_nm", 0, INFINITY, false},
    {"psf", 0, 1, false},
    {"fwhm_by_mas", 0, INFINITY, true},
    {"ensquared_energy", 0, 1, true},
    {"strehl_monte_carlo", 0, 1, false},
    {"strehl_monte_carlo_error", 0, 1, true},
    {"residual_rms_monte_carlo_nm", 0, INFINITY, false},
    {"strehl_time_domain", 0, 1, false},
    {"strehl_time_domain_error", 0, 1, false},
    {"strehl_pairs_delayed", 0, 1, true},
    {"residual_rms_time_domain_nm", 0, INFINITY, false},
    {"tile_share", 0, 1, false},
    {"product_share", 0, 1, true},
    {"policy_tolerance", 0, INFINITY, true},
    {"certificate", 0, INFINITY, true},
    {"relative_cost", 0, INFINITY, true},
    {"escalations", 0, 2, false},
    {"iterations_mean", 0, 60, true},
    {"iterations_most", 0, 60, true},
    {"variance_loss", -INFINITY, INFINITY, false}, // with few bits worse than no estimate at all
    {"wrong_cycles", 0, INFINITY, true},
    {"wrong_cycles_reference", 0, INFINITY, false},
    {"missing", 0, INFINITY, true},
    {"wavefront_rms_nm", 0, INFINITY, false},
    {"wavefront_pv_nm", 0, INFINITY, false},
    {"wavefront_error_nm", 0, INFINITY, true},
    {"wavefront_error_reference_nm", 0, INFINITY, false},
    {"rejected_share", 0, 1, true},
    {"cycles", 0, 200, false},
    {"reweighted", 0, 12, false},
    {"bits", 1, 16, true},
    {"saturated", 0, INFINITY, true},
};
// clang-format on

/// The first violated rule as a sentence; "" if there is none.
typedef char study_verdict[400];

static inline const bb_dataset *study_of(const bb_results *results, const char *name)
{
    char path[96];
    (void)snprintf(path, sizeof path, "results/%s", name);
    return bb_results_find(results, path);
}

static inline double study_at(const bb_results *results, const char *name, bb_index pipeline)
{
    const bb_dataset *dataset = study_of(results, name);
    return dataset == NULL ? NAN
                           : dataset->numbers[pipeline * (dataset->count / dataset->shape[0])];
}

static inline bool study_ok(const bb_results *results, bb_index pipeline)
{
    return strcmp(study_of(results, "status")->texts[pipeline], "ok") == 0;
}

static inline void study_judge_ranges(const bb_results *results, bb_index pipeline,
                                      study_verdict out)
{
    const bool lost =
        !study_ok(results, 0); // losses need the reference, which is the first pipeline
    for (size_t r = 0; r < sizeof study_rules / sizeof *study_rules && out[0] == '\0'; ++r) {
        const study_rule *rule = &study_rules[r];
        const bb_dataset *dataset = study_of(results, rule->dataset);
        if (dataset == NULL || dataset->is_text || dataset->rank == 0 ||
            strcmp(dataset->axes[0], "pipeline") != 0) {
            continue;
        }
        const bb_index row = dataset->count / dataset->shape[0];
        const bb_dataset *points = study_of(results, "point");
        // A single scored point has no standard deviation.
        const bool single = points != NULL && points->count == 1 &&
                            strncmp(rule->dataset, "overlay_error", 13) == 0;
        // Relative errors are unset without a displacement or with a flat wavefront. Operations of
        // generated kernels are not counted, and fields are not encoded.
        const bb_dataset *wavefront = study_of(results, "wavefront_rms_nm");
        const bb_dataset *size =
            wavefront != NULL ? wavefront : study_of(results, "overlay_reference_rms_nm");
        const bool uncounted = wavefront != NULL && (strncmp(rule->dataset, "flops", 5) == 0 ||
                                                     strcmp(rule->dataset, "encode_time_s") == 0);
        const bool nothing = size != NULL && !(size->numbers[0] > 0.0) &&
                             strcmp(rule->dataset, "qoi_relative_error") == 0;
        for (bb_index i = 0; i < row; ++i) {
            const double value = dataset->numbers[pipeline * row + i];
            const bool fits =
                isnan(value)
                    ? rule->may_be_unset || single || nothing || lost || uncounted
                    : value >= rule->least - STUDY_SLACK && value <= rule->most + STUDY_SLACK &&
                          (isfinite(value) || strcmp(rule->dataset, "certificate") == 0 ||
                           strcmp(rule->dataset, "certified_bound_nm") == 0);
            if (!fits) {
                (void)snprintf(out, sizeof(study_verdict),
                               "pipeline %td is ok with %s[%td] = %.17g, expected %g to %g",
                               pipeline, rule->dataset, i, value, rule->least, rule->most);
                return;
            }
        }
    }
}

// Checks rules between datasets.
static inline void study_judge_relations(const bb_results *results, bb_index pipeline,
                                         study_verdict out)
{
    const double bytes = study_at(results, "operator_bytes", pipeline);
    const double ratio = study_at(results, "compression_ratio", pipeline);
    const double mean = study_at(results, "loss_mean", pipeline);
    const double worst = study_at(results, "loss_worst", pipeline);
    const double draws = study_at(results, "draws", pipeline);
    const double deviation = study_at(results, "loss_std", pipeline);
    const bb_dataset *points = study_of(results, "point");
    const bool has_loss = study_ok(results, 0) && (points == NULL || points->count > 1);
    if ((bytes > 0.0) != (ratio > 0.0)) {
        (void)snprintf(out, sizeof(study_verdict), "pipeline %td: %g bytes, compression ratio %g",
                       pipeline, bytes, ratio);
    } else if (has_loss && !(worst >= mean - STUDY_SLACK * fabs(mean))) {
        (void)snprintf(out, sizeof(study_verdict), "pipeline %td: worst loss %g, mean %g", pipeline,
                       worst, mean);
    } else if (has_loss && draws >= 2.0 && !(deviation >= 0.0)) {
        (void)snprintf(out, sizeof(study_verdict), "pipeline %td: %g draws, loss_std %g", pipeline,
                       draws, deviation);
    }
    const bb_dataset *rmse = study_of(results, "rmse");
    const bb_dataset *dataset = study_of(results, "max_error");
    for (bb_index i = 0; rmse != NULL && i < rmse->count / rmse->shape[0]; ++i) {
        const bb_index index = pipeline * (rmse->count / rmse->shape[0]) + i;
        if (rmse->numbers[index] > dataset->numbers[index] * (1.0 + STUDY_SLACK)) {
            (void)snprintf(out, sizeof(study_verdict), "pipeline %td: rmse %g, max_error %g",
                           pipeline, rmse->numbers[index], dataset->numbers[index]);
        }
    }
    static const char *const shares[] = {"tile_share", "product_share"};
    for (int s = 0; s < 2; ++s) {
        const bb_dataset *share = study_of(results, shares[s]);
        double sum = 0.0;
        for (bb_index v = 0; share != NULL && v < share->shape[1]; ++v) {
            sum += share->numbers[pipeline * share->shape[1] + v];
        }
        // A matrix with a single tile has no updates.
        const bool unset = s == 1 && isnan(sum);
        if (share != NULL && !unset && !(fabs(sum - 1.0) <= STUDY_SLACK)) {
            (void)snprintf(out, sizeof(study_verdict), "pipeline %td: %s adds up to %.17g",
                           pipeline, shares[s], sum);
        }
    }
}

// Checks that a failed pipeline has a known status and a detail.
static inline void study_judge_failure(const bb_results *results, bb_index pipeline,
                                       study_verdict out)
{
    static const char *const words[] = {
        "not_spd", "non_finite", "not_held", "not_converged", "underdetermined", "unsafe", "lost"};
    const char *word = study_of(results, "status")->texts[pipeline];
    const char *detail = study_of(results, "status_detail")->texts[pipeline];
    const double draws = study_at(results, "draws", pipeline);
    const double failed = study_at(results, "draws_failed", pipeline);
    bool known = false;
    for (size_t w = 0; w < sizeof words / sizeof *words; ++w) {
        known = known || strcmp(word, words[w]) == 0;
    }
    if (!known || detail[0] == '\0') {
        (void)snprintf(out, sizeof(study_verdict), "pipeline %td: status '%s', detail '%s'",
                       pipeline, word, detail);
    } else if (strcmp(word, "unsafe") == 0 && !(failed > 0.0 && failed < draws)) {
        (void)snprintf(out, sizeof(study_verdict), "pipeline %td: unsafe, %g of %g draws failed",
                       pipeline, failed, draws);
    }
}

static inline void study_judge(const bb_results *results, study_verdict out)
{
    const bb_dataset *names = study_of(results, "pipeline");
    out[0] = '\0';
    for (bb_index p = 0; p < names->count && out[0] == '\0'; ++p) {
        if (study_ok(results, p)) {
            study_judge_ranges(results, p, out);
            if (out[0] == '\0') {
                study_judge_relations(results, p, out);
            }
        } else {
            study_judge_failure(results, p, out);
        }
    }
}

typedef struct study_comparison {
    hid_t other;
    bb_index compared;
    char *difference; ///< a study_verdict
} study_comparison;

static inline bool study_same_values(hid_t a, hid_t b)
{
    const hid_t type = H5Dget_type(a);
    const hid_t space = H5Dget_space(a);
    const hid_t other = H5Dget_space(b);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    bool same = count == H5Sget_simple_extent_npoints(other);
    if (same && H5Tget_class(type) == H5T_FLOAT && count > 0) {
        double *first = calloc((size_t)count, sizeof *first);
        double *second = calloc((size_t)count, sizeof *second);
        same = H5Dread(a, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, first) >= 0 &&
               H5Dread(b, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, second) >= 0 &&
               memcmp(first, second, (size_t)count * sizeof *first) == 0;
        free(first);
        free(second);
    }
    (void)H5Sclose(space);
    (void)H5Sclose(other);
    (void)H5Tclose(type);
    return same;
}

static inline herr_t study_compare_object(hid_t file, const char *name, const H5O_info_t *info,
                                          void *context)
{
    study_comparison *comparison = context;
    if (info->type != H5O_TYPE_DATASET || strncmp(name, "provenance", 10) == 0) {
        return 0;
    }
    const hid_t a = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t b = H5Dopen2(comparison->other, name, H5P_DEFAULT);
    if (b < 0 || (H5Aexists(a, "measured") <= 0 && !study_same_values(a, b))) {
        (void)snprintf(comparison->difference, sizeof(study_verdict), "/%s differs", name);
    }
    ++comparison->compared;
    (void)H5Dclose(a);
    (void)H5Dclose(b);
    return 0;
}

/// Compares every number of two files except measured ones; `out` is "" if all bits agree. The
/// digests, which the caller compares, include the texts of /results.
static inline void study_compare(const char *first, const char *second, study_verdict out)
{
    study_comparison comparison = {.difference = out};
    out[0] = '\0';
    const hid_t file = H5Fopen(first, H5F_ACC_RDONLY, H5P_DEFAULT);
    comparison.other = H5Fopen(second, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0 && comparison.other >= 0);
    (void)H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, study_compare_object, &comparison,
                    H5O_INFO_BASIC);
    assert_true(comparison.compared > 0);
    (void)H5Fclose(file);
    (void)H5Fclose(comparison.other);
}

#endif
