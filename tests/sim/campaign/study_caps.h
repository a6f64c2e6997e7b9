// SPDX-License-Identifier: Apache-2.0
//
// Limits of random studies beyond their schema: sizes, for run times below a second, and the names
// of existing files and objects. Every other key is drawn from its whole range.
#ifndef BB_TESTS_SIM_CAMPAIGN_STUDY_CAPS_H
#define BB_TESTS_SIM_CAMPAIGN_STUDY_CAPS_H

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct study_cap {
    const char *experiment; ///< NULL: all experiments
    const char *path;       ///< path of the key, with or without the indices of list items
    double least, most;     ///< range of a number, or of the items of a list
    double grid;            ///< numbers are multiples of it; 0: any number
    const char *words;      ///< values of a text, a file or a choice, separated by |
    bb_index items;         ///< maximum length of a list; 0: the common limit
    bool always;            ///< set in every study: its default is too large or does not fit
    bool never;             ///< never set, covered by other tests; applies to all keys of a group
    const char *reason;
} study_cap;

// clang-format off
// Codecs with additional keys are drawn for wafer and product only, as the schema is the same.
#define STUDY_PLAIN_STORAGE(experiment)                                                            \
    {experiment, "pipelines.storage.codec", .words = "fp64|fp32|tf32|bf16|fp16|e4m3|e5m2",         \
     .reason = "those without keys of their own"},                                                 \
    {experiment, "pipelines.storage.rounding", .words = "sweep", .reason = "likewise"},            \
    {experiment, "pipelines.storage.bits", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.block", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.tolerance", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.tolerance_of_range", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.band_lines", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.tile_columns", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.tile_rows", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.mode", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.dimensions", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.band_columns", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.element", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.block_scale", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.exponent", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.mantissa", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.specials", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.clip", .never = true, .reason = "likewise"}, \
    {experiment, "pipelines.storage.norm", .never = true, .reason = "likewise"}

static const study_cap study_caps[] = {
    {"fringe", "experiment", .words = "fringe", .reason = "the study's own"},
    {"fringe", "pipelines.0.arithmetic", .words = "fp64", .always = true,
     .reason = "the reference has full precision"},
    {"fringe", "pipelines.0.storage", .never = true, .reason = "the reference has full precision"},
    {"fringe", "pipelines.0.gradient", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.0.smoother", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.0.residual", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.0.transfer", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.0.congruence", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.0.bits", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.0.max_loss", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.0.search", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.2.arithmetic", .never = true, .reason = "it has max_loss"},
    {"fringe", "pipelines.2.storage", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.2.gradient", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.2.smoother", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.2.residual", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.2.transfer", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.2.congruence", .never = true, .reason = "likewise"},
    {"fringe", "pipelines.2.search", .reason = "likewise"},
    {"fringe", "pipelines.2.max_loss", 1e-3, 1e3, .always = true,
     .reason = "from one that nothing meets to one that all meet"},
    {"fringe", "pipelines.2.search.wrong_cycles", 0, 1000, .reason = "of a few thousand points"},
    {"fringe", "pipelines.max_loss", .never = true, .reason = "others have numbers"},
    {"fringe", "pipelines.search", .never = true, .reason = "likewise"},
    {"fringe", "input.file", .words = "seen.h5", .reason = "a file that exists"},
    {"fringe", "input.dataset", .always = true,
     .words = "/operators/phase_wrapped|/operators/phase_truth|/operators/interferogram",
     .reason = "datasets that exist"},
    {"fringe", "input.mask", .never = true, .reason = "a file has no integers"},
    {"fringe", "input.truth", .words = "/operators/phase_truth", .reason = "a dataset that exists"},
    {"fringe", "size.columns", 1, 80, .always = true, .reason = "pixels"},
    {"fringe", "size.rows", 1, 80, .always = true, .reason = "likewise"},
    {"fringe", "surface.zernike.j", 1, 40, .reason = "time of a polynomial"},
    {"fringe", "surface.zernike.rms_nm", -1e4, 1e4, .reason = "fringes that pixels resolve"},
    {"fringe", "surface.freeform.rms_nm", 0, 1e4, .reason = "likewise"},
    {"fringe", "surface.freeform.bumps", 1, 50, .reason = "time"},
    {"fringe", "surface.spectrum.rms_nm", 0, 1e4, .reason = "fringes that pixels resolve"},
    {"fringe", "surface.spectrum.low_cycles", 0.5, 10, .reason = "waves that there are"},
    {"fringe", "surface.spectrum.high_cycles", 2, 60, .reason = "likewise"},
    {"fringe", "surface.tilt_fringes.x", -40, 40, .reason = "fringes that pixels resolve"},
    {"fringe", "surface.tilt_fringes.y", -40, 40, .reason = "likewise"},
    {"fringe", "surface.residue_pairs.count", 0, 20, .reason = "time"},
    {"fringe", "surface.residue_pairs.separation_px", 2, 40, .reason = "pixels that there are"},
    {"fringe", "pupil.holes.count", 0, 20, .reason = "time"},
    {"fringe", "unwrap.reject", .words = "auto|off|\"1.5\"", .reason = "words and a number"},
    {"fringe", "unwrap.cycles", 1, 40, .reason = "time"},
    {"fringe", "unwrap.reweight", 0, 12, .reason = "likewise"},
    {"fringe", "unwrap.reweight_cycles", 1, 10, .reason = "likewise"},
    {"fringe", "zernike_terms", 0, 40, .reason = "likewise"},
    {"fringe", "kernels.wisdom", .never = true, .reason = "measured by a machine"},
    {"wafer", "experiment", .words = "wafer", .reason = "the study's own"},
    {"ao", "experiment", .words = "ao", .reason = "likewise"},
    {"product", "experiment", .words = "product", .reason = "likewise"},
    {"reconstructor", "experiment", .words = "reconstructor", .reason = "likewise"},
    {.path = "device", .words = "auto|cpu", .reason = "check plans for machines with other devices"},
    {.path = "pipelines.device", .words = "auto|cpu", .reason = "likewise"},
    {.path = "pipelines.draws", .least = 1, .most = 4, .reason = "time goes with them"},
    {.path = "pipelines.0.name", .words = "reference", .always = true, .reason = "the reference's"},
    {.path = "pipelines.0.storage.codec", .words = "fp64", .always = true,
     .reason = "the reference has full precision"},
    {.path = "pipelines.0.multiply", .words = "fp64", .always = true, .reason = "likewise"},
    {.path = "pipelines.0.accumulate", .words = "fp64", .always = true, .reason = "likewise"},
    {.path = "pipelines.0.arithmetic", .words = "dp", .always = true, .reason = "likewise"},
    {.path = "pipelines.0.policy.kind", .words = "uniform", .reason = "likewise"},
    {.path = "pipelines.accumulate_run", .least = 32, .most = 1024, .grid = 32,
     .reason = "1, or a multiple of 32"},
    {.path = "pipelines.refine.iterations", .least = 1, .most = 60, .reason = "time"},
    {.path = "pipelines.policy.width", .least = 0, .most = 12, .reason = "as many tiles there are"},
    {.path = "pipelines.policy.widths", .never = true,
     .reason = "two that grow, beside three zones that end in the arithmetic: none is met by chance"},
    {.path = "pipelines.policy.zones", .never = true, .reason = "likewise"},
    {.path = "pipelines.policy.table", .words = "table-1.txt|table-2.txt|table-3.txt|table-4.txt",
     .reason = "files that exist"},
    {.path = "solver.tile", .least = 8, .most = 65536, .reason = "many tiles are the rule"},
    {.path = "solver.spectrum.tiles.row", .least = 0, .most = 4, .reason = "tiles that exist"},
    {.path = "solver.spectrum.tiles.column", .least = 0, .most = 4, .reason = "likewise"},

    {"wafer", "wafer.diameter_mm", 60, 450, .reason = "nodes"},
    {"wafer", "mesh.spacing_mm", 6, 10, .always = true, .reason = "nodes: its inverse square"},
    {"wafer", "mesh.step_ms", 0.5, 20, .grid = 0.5, .reason = "steps of an exchange of wafers"},
    {"wafer", "mesh.substeps", 1, 4, .reason = "time"},
    {"wafer", "clamp.spacing_mm", 6, 50, .always = true, .reason = "at least the mesh's"},
    {"wafer", "clamp.tangential_stiffness_n_per_m3", 1, 1e12,
     .reason = "time of the kernel's tables: mesh over a length that falls with its root"},
    {"wafer", "clamp.normal_stiffness_n_per_m3", 1, 1e13, .reason = "likewise"},
    {"wafer", "clamp.burls.pitch_mm", 2, 50, .reason = "burls: its inverse square"},
    {"wafer", "scan.field_width_mm", 15, 100, .reason = "fields of a wafer"},
    {"wafer", "scan.field_height_mm", 15, 100, .reason = "likewise"},
    {"wafer", "scan.fields", 0, 6, .items = 2, .always = true, .reason = "scored fields, time"},
    {"wafer", "scan.sequence", 0, 12, .items = 6, .reason = "fields that exist"},
    {"wafer", "scan.layout", .items = 1, .reason = "fields that do not overlap"},
    {"wafer", "scan.layout.x_mm", -60, 60, .grid = 60, .reason = "likewise, on the wafer"},
    {"wafer", "scan.layout.y_mm", -60, 60, .grid = 60, .reason = "likewise"},
    {"wafer", "scan.layout.direction", .never = true,
     .reason = "five words for two senses, of which a list of one field would meet few"},
    {"wafer", "scan.layout.order", 0, 20, .reason = "in all or in none"},
    {"wafer", "scan.dose_map", .items = 1, .reason = "a full grid is not met by chance"},
    {"wafer", "scan.dose_map.x_mm", -8, 8, .reason = "within a field"},
    {"wafer", "scan.dose_map.y_mm", -8, 8, .reason = "likewise"},
    {"wafer", "scan.doses.exposure", 0, 5, .reason = "exposures that exist"},
    {"wafer", "scan.light_steps", 1, 10, .always = true, .reason = "time"},
    {"wafer", "scan.dark_steps", 0, 10, .always = true, .reason = "time"},
    {"wafer", "response.file", .words = "rows.h5", .reason = "a file that exists"},
    {"wafer", "response.cache_folder", .words = "cache", .reason = "a folder of the test's"},
    {"wafer", "response.grid.columns", 2, 24, .reason = "columns of the matrix"},
    {"wafer", "response.grid.rows", 2, 24, .reason = "likewise"},
    {"wafer", "response.slit_points.columns", 2, 5, .reason = "rows of the matrix"},
    {"wafer", "response.slit_points.rows", 2, 8, .reason = "likewise"},
    {"wafer", "response.field_rows", 2, 30, .reason = "likewise"},
    {"wafer", "metrology.columns", 1, 6, .always = true, .reason = "slit points that hold them"},
    {"wafer", "metrology.rows", 1, 6, .always = true, .reason = "likewise"},
    {"wafer", "metrology.alignment_s", 0, 0.1, .grid = 0.02, .reason = "whole steps, time"},
    {"wafer", "wafers.count", 1, 3, .reason = "time"},
    {"wafer", "wafers.exchange_s", 0, 0.5, .always = true, .reason = "steps of the bare clamp"},
    {"wafer", "pipelines", .items = 6, .reason = "more storages in a study"},
    {"wafer", "pipelines.2.max_loss", 1e-4, 1e3,
     .reason = "from one that nothing meets to one that all meet"},
    {"wafer", "pipelines.max_loss", .never = true, .reason = "others have a storage"},
    {"wafer", "pipelines.2.storage.codec", .reason = "without max_loss"},
    {"wafer", "pipelines.storage.codec", .always = true, .reason = "with them all are met"},
    {"wafer", "pipelines.search.codecs", .never = true,
     .reason = "storages, which are drawn as such; few of them go with any pipeline"},
    {"wafer", "pipelines.delivery.missed_steps", 0, 12, .reason = "steps that exist"},

    STUDY_PLAIN_STORAGE("ao"),
    STUDY_PLAIN_STORAGE("reconstructor"),
    {"ao", "learn.outer_scale_range_m", .never = true, .reason = "a search takes ten seconds"},
    {"ao", "sensors.lenslets", 1, 4, .reason = "slopes: its square"},
    {"ao", "guide_stars.lenslets", 1, 4, .reason = "likewise"},
    {"ao", "targets.lenslets", 1, 4, .reason = "likewise"},
    {"ao", "guide_stars.ring.count", .never = true, .reason = "in place of what each star must have"},
    {"ao", "guide_stars.ring.radius_arcsec", .never = true, .reason = "likewise"},
    {"ao", "guide_stars.ring.rotation_deg", .never = true, .reason = "likewise"},
    {"ao", "guide_stars.ring.centre_x_arcsec", .never = true, .reason = "likewise"},
    {"ao", "guide_stars.ring.centre_y_arcsec", .never = true, .reason = "likewise"},
    {"ao", "guide_stars.grid.count", .never = true, .reason = "likewise"},
    {"ao", "guide_stars.grid.width_arcsec", .never = true, .reason = "likewise"},
    {"ao", "guide_stars.grid.centre_x_arcsec", .never = true, .reason = "likewise"},
    {"ao", "guide_stars.grid.centre_y_arcsec", .never = true, .reason = "likewise"},
    {"ao", "targets.ring.count", .never = true, .reason = "likewise"},
    {"ao", "targets.ring.radius_arcsec", .never = true, .reason = "likewise"},
    {"ao", "targets.ring.rotation_deg", .never = true, .reason = "likewise"},
    {"ao", "targets.ring.centre_x_arcsec", .never = true, .reason = "likewise"},
    {"ao", "targets.ring.centre_y_arcsec", .never = true, .reason = "likewise"},
    {"ao", "targets.grid.count", .never = true, .reason = "likewise"},
    {"ao", "targets.grid.width_arcsec", .never = true, .reason = "likewise"},
    {"ao", "targets.grid.centre_x_arcsec", .never = true, .reason = "likewise"},
    {"ao", "targets.grid.centre_y_arcsec", .never = true, .reason = "likewise"},
    {"ao", "mirrors", .items = 2, .reason = "actuators"},
    {"ao", "mirrors.height_m", 0, 500, .reason = "actuators: its square times the field's"},
    {"ao", "mirrors.pitch_m", 2, 50, .reason = "actuators: its inverse square"},
    {"ao", "mirrors.influence", .never = true,
     .reason = "in place of pitch_m and coupling; tests/sim/ao/test_influence_file.c has such files"},
    {"ao", "realtime.telemetry", .never = true,
     .reason = "as many slopes as the study has; tests/sim/ao/realtime/ has such files"},
    {"ao", "telescope.pupil.file", .words = "ao.h5", .reason = "a file that exists"},
    {"ao", "telescope.pupil.dataset", .words = "/operators/pupil", .reason = "likewise"},
    {"ao", "wavelengths_um", .items = 2, .reason = "images, time"},
    {"ao", "frame_times.frames", 0, 3, .reason = "time"},
    {"ao", "frame_times.warm_up_frames", 0, 3, .reason = "time"},
    {"ao", "frame_times.rate_hz", 100, 1e5, .reason = "time"},
    {"ao", "monte_carlo.frames", 0, 20, .reason = "time"},
    {"ao", "monte_carlo.pixels_per_subaperture", 8, 10, .always = true,
     .reason = "points of a screen: its square"},
    {"ao", "monte_carlo.screen_oversize", 1.5, 3, .always = true, .reason = "likewise"},
    {"ao", "time_domain.frames", 0, 3, .reason = "time"},
    {"ao", "time_domain.realisations", 2, 3, .always = true, .reason = "time"},
    {"ao", "time_domain.settle_frames", 0, 4, .always = true, .reason = "time"},
    {"ao", "learn.frames", 32, 64, .always = true, .reason = "time"},
    {"ao", "learn.heights_m", .items = 2, .reason = "layers to tell apart"},
    {"ao", "learn.covariance.file", .words = "ao.h5", .reason = "a file that exists"},
    {"ao", "learn.covariance.dataset", .words = "/operators/Cmm", .reason = "likewise"},
    {"ao", "night.hours", 0.5, 1, .always = true, .reason = "samples, time"},
    {"ao", "night.sample_minutes", 20, 60, .always = true, .reason = "likewise"},
    {"ao", "night.scored_hours", .never = true, .reason = "a rare part of so short a night"},
    {"ao", "night.ages_minutes", 0, 0, .items = 1, .reason = "all of the night is scored"},
    {"ao", "night.policies", .always = true, .words = "[snapshot]|[mean]|[snapshot, shrink]|[shrink, mean]",
     .reason = "time"},
    {"ao", "night.latency_s", 0, 3600, .always = true, .items = 1,
     .reason = "one for all; a measured one differs from run to run"},
    {"ao", "night.from", .never = true, .reason = "of drift alone, with an end"},
    {"ao", "night.to", .never = true, .reason = "likewise"},
    {"ao", "night.source", .words = "off|walk|file", .reason = "likewise"},
    {"ao", "night.layers.time_s", 0, 3600, .reason = "times of the night"},

    {"product", "pipelines.storage.codec", .always = true, .reason = "it has no max_loss"},
    {"product", "pipelines.max_loss", .never = true, .reason = "refused, a loss of wafer's"},
    {"product", "pipelines.search.codecs", .never = true, .reason = "likewise"},
    {"product", "matrix.file", .words = "made.h5", .reason = "a file that exists"},
    {"product", "matrix.dataset", .words = "/operators/smooth|/operators/normal|/operators/zeros|"
     "/operators/tiny|/operators/huge|/operators/single", .reason = "datasets that exist"},
    {"product", "inputs.file", .words = "made.h5", .reason = "a file that exists"},
    {"product", "inputs.dataset", .words = "/operators/inputs", .reason = "likewise"},
    {"product", "vectors", 1, 20, .reason = "time"},
    {"product", "layout.mesh_columns", 0, 48, .reason = "columns that exist"},
    {"product", "layout.row_columns", 0, 30, .reason = "rows that exist"},

    {"reconstructor", "covariance.file", .words = "ao.h5|made.h5", .reason = "files that exist"},
    {"reconstructor", "covariance.dataset",
     .words = "/operators/Cmm|/operators/Cmm|/operators/Cmm_core",
     .reason = "datasets that exist"},
    {"reconstructor", "cross_covariance.file", .words = "ao.h5|made.h5", .reason = "likewise"},
    {"reconstructor", "cross_covariance.dataset", .words = "/operators/Ctm_0",
     .reason = "likewise"},
    {"reconstructor", "truth_covariance.file", .words = "ao.h5", .reason = "likewise"},
    {"reconstructor", "truth_covariance.dataset", .words = "/operators/Ctt_0",
     .reason = "likewise"},
    {"reconstructor", "low_rank.file", .words = "ao.h5", .reason = "likewise"},
    {"reconstructor", "low_rank.dataset", .words = "/operators/Cmm_low_rank",
     .reason = "likewise"},
    {"reconstructor", "low_rank.weights", .words = "/operators/Cmm_weights", .reason = "likewise"},
};
// clang-format on

/// Finds the cap of a key by its path with or without list indices; NULL: none.
static inline const study_cap *study_cap_find(const char *experiment, const char *path,
                                              const char *numbered)
{
    const study_cap *found = NULL;
    for (size_t i = 0; i < sizeof study_caps / sizeof *study_caps; ++i) {
        const study_cap *cap = &study_caps[i];
        if (cap->experiment != NULL && strcmp(cap->experiment, experiment) != 0) {
            continue;
        }
        if (strcmp(cap->path, numbered) == 0) {
            return cap;
        }
        found = strcmp(cap->path, path) == 0 ? cap : found;
    }
    return found;
}

#endif
