// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_study.h"

#include "physics/fringe/detection.h"
#include "physics/fringe/fringe_config.h"
#include "physics/fringe/wavefront.h"
#include "sim/fringe/fringe_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// clang-format off
static const bb_key slot_keys[] = {
    {.name = "arithmetic", .kind = BB_KEY_CHOICE, .choices = bb_working_format_names,
     .optional = true, .offset = offsetof(bb_fringe_slot, arithmetic),
     .meaning = "Arithmetic of the slot; default: the pipeline's."},
    {.name = "storage", .kind = BB_KEY_CHOICE, .choices = bb_format_names, .optional = true,
     .offset = offsetof(bb_fringe_slot, storage),
     .meaning = "Storage format of the slot's results; default: the pipeline's."},
};
static const bb_schema slot_schema = BB_SCHEMA("slot", bb_fringe_slot, slot_keys);

static const bb_key search_keys[] = {
    {.name = "wrong_cycles", .kind = BB_KEY_INTEGER, .unit = "1", .maximum = 1e9,
     .offset = offsetof(bb_fringe_search_config, wrong_cycles), .default_text = "0",
     .meaning = "Largest number of points, in every draw, on another cycle than the reference's."},
};
static const bb_schema search_schema = BB_SCHEMA("search", bb_fringe_search_config, search_keys);

#define SLOT(word, number, text)                                                                   \
    {.name = (word), .kind = BB_KEY_GROUP, .schema = &slot_schema,                                 \
     .offset = offsetof(bb_fringe_pipeline, slots) + (number) * sizeof(bb_fringe_slot),            \
     .replaces = {"max_loss", "search"}, .meaning = (text)}

static const bb_key pipeline_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_fringe_pipeline, name),
     .meaning = "Name in the results; `reference` is the truth for the others."},
    {.name = "arithmetic", .kind = BB_KEY_CHOICE, .choices = bb_working_format_names,
     .offset = offsetof(bb_fringe_pipeline, arithmetic), .default_text = "fp32",
     .replaces = {"max_loss", "search"},
     .meaning = "Arithmetic of every step."},
    {.name = "storage", .kind = BB_KEY_CHOICE, .choices = bb_format_names, .optional = true,
     .offset = offsetof(bb_fringe_pipeline, storage), .replaces = {"max_loss", "search"},
     .meaning = "Storage format of every step's results; default: that of the "
     "arithmetic."},
    SLOT("gradient", BB_UNWRAP_GRADIENT, "Wrapped phase, its differences, weights, right-hand side."),
    SLOT("smoother", BB_UNWRAP_SMOOTHER, "Solution on every grid."),
    SLOT("residual", BB_UNWRAP_RESIDUAL, "Right-hand sides of coarse grids."),
    SLOT("transfer", BB_UNWRAP_TRANSFER, "Weights of coarse grids, and corrections of fine ones."),
    SLOT("congruence", BB_UNWRAP_CONGRUENCE, "Unwrapped phase."),
    {.name = "bits", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 16.0,
     .optional = true, .offset = offsetof(bb_fringe_pipeline, bits),
     .meaning = "Bits of the camera, instead of the study's; the reference has "
     "unquantised frames."},
    BB_DRAWS_KEY(bb_fringe_pipeline),
    {.name = "device", .kind = BB_KEY_CHOICE, .choices = bb_device_names, .optional = true,
     .offset = offsetof(bb_fringe_pipeline, device), .meaning = "Overrides the study's device."},
    {.name = "max_loss", .kind = BB_KEY_DOUBLE, .unit = "nm", .maximum = 1e6,
     .exclusive_minimum = true, .optional = true, .offset = offsetof(bb_fringe_pipeline, max_loss),
     .replaces = {"arithmetic", "storage", "gradient", "smoother", "residual", "transfer",
                  "congruence"},
     .meaning = "Largest rms difference from the reference's wavefront, in every draw; selects "
                "arithmetic and storage of fewest bytes for every slot."},
    {.name = "search", .kind = BB_KEY_GROUP, .schema = &search_schema,
     .offset = offsetof(bb_fringe_pipeline, search),
     .meaning = "Second limit for max_loss."},
};
static const bb_schema pipeline_schema = BB_SCHEMA("pipelines", bb_fringe_pipeline, pipeline_keys);

static const bb_key input_keys[] = {
    {.name = "file", .kind = BB_KEY_PATH, .optional = true,
     .offset = offsetof(bb_fringe_input_config, file),
     .meaning = "HDF5 or FITS file with a measured phase or frames; size, surface, pupil and "
                "noise then have no effect (except pupil.diameter: the disc of Zernike "
                "polynomials)."},
    {.name = "dataset", .kind = BB_KEY_TEXT, .default_text = "/wrapped",
     .offset = offsetof(bb_fringe_input_config, dataset),
     .meaning = "Wrapped phase in rad [rows][columns], from -pi to pi or from 0 to 2 pi, or "
                "frames [step][rows][columns] in any unit; NaN at points without data. For FITS: "
                "name or number of an image, default the first."},
    {.name = "mask", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_fringe_input_config, mask),
     .meaning = "Integers or booleans [rows][columns] in the same file, 0 at points without data."},
    {.name = "truth", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_fringe_input_config, truth),
     .meaning = "Unwrapped phase in rad [rows][columns] in the same file, used as "
     "truth."},
    {.name = "steps_rad", .kind = BB_KEY_DOUBLES, .unit = "rad", .minimum = -1e3, .maximum = 1e3,
     .optional = true, .offset = offsetof(bb_fringe_input_config, steps_rad),
     .meaning = "Phase shift of each frame; not with detection.algorithm carre."},
    {.name = "full_scale", .kind = BB_KEY_DOUBLE, .unit = "1", .maximum = 1e30,
     .exclusive_minimum = true, .optional = true,
     .offset = offsetof(bb_fringe_input_config, full_scale),
     .meaning = "Full scale of frames, for bits and least_modulation; default: for integers the "
                "smallest 2^k - 1 not below the values in the mask, for floats 1 or the largest "
                "value if greater."},
};
static const bb_schema input_schema = BB_SCHEMA("input", bb_fringe_input_config, input_keys);

#define GROUP(member, table, text)                                                                 \
    {.name = #member, .kind = BB_KEY_GROUP, .schema = (table),                                     \
     .offset = offsetof(bb_fringe_study, physics.member), .meaning = (text)}

static const bb_key keys[] = {
    BB_STUDY_KEYS(bb_fringe_study),
    {.name = "input", .kind = BB_KEY_GROUP, .schema = &input_schema,
     .offset = offsetof(bb_fringe_study, input),
     .meaning = "Measured phase or frames, instead of a synthetic scene."},
    GROUP(size, &bb_fringe_size_schema, "Pixels of the camera."),
    {.name = "wavelength_nm", .kind = BB_KEY_DOUBLE, .unit = "nm", .maximum = 1e6,
     .exclusive_minimum = true, .offset = offsetof(bb_fringe_study, physics.wavelength_nm),
     .default_text = "632.8", .meaning = "Wavelength of the light."},
    {.name = "waves_per_fringe", .kind = BB_KEY_DOUBLE, .unit = "1", .maximum = 1000.0,
     .exclusive_minimum = true, .offset = offsetof(bb_fringe_study, physics.waves_per_fringe),
     .default_text = "0.5",
     .meaning = "Height of a fringe (2 pi of phase) in waves: 0.5 in reflection, 1 in "
                "transmission."},
    GROUP(surface, &bb_fringe_surface_schema, "Measured surface or wavefront."),
    GROUP(pupil, &bb_fringe_pupil_schema, "Pixels inside the pupil."),
    GROUP(camera, &bb_fringe_camera_schema, "Noise and quantisation of a frame."),
    GROUP(detection, &bb_fringe_detection_schema, "Phase detection from frames."),
    {.name = "unwrap", .kind = BB_KEY_GROUP, .schema = &bb_unwrap_method_schema,
     .offset = offsetof(bb_fringe_study, unwrap), .meaning = "Unwrapping method."},
    {.name = "zernike_terms", .kind = BB_KEY_INTEGER, .unit = "1",
     .maximum = BB_WAVEFRONT_TERMS, .offset = offsetof(bb_fringe_study, zernike_terms),
     .default_text = "36", .meaning = "Number of Zernike polynomials fitted to every phase; 0: "
                                      "none."},
    {.name = "machine", .kind = BB_KEY_GROUP, .schema = &bb_machine_price_schema,
     .offset = offsetof(bb_fringe_study, machine), .meaning = "Cost of the computing machine."},
    BB_KERNELS_KEY(bb_fringe_study),
    {.name = "pipelines", .kind = BB_KEY_RECORDS, .schema = &pipeline_schema, .minimum_count = 1,
     .offset = offsetof(bb_fringe_study, pipelines),
     .meaning = "Pipelines to compare; the one named reference, else the first, is the "
     "truth."},
};
// clang-format on
const bb_schema bb_fringe_study_schema = BB_SCHEMA("fringe", bb_fringe_study, keys);

const char bb_fringe_study_starter[] =
    "experiment: fringe\n"
    "title: wrong fringes of my interferometer\n"
    "size: {columns: 256, rows: 256}\n"
    "surface:\n"
    "  zernike: [{j: 4, rms_nm: 700.0}, {j: 7, rms_nm: 150.0}, {j: 11, rms_nm: 80.0}]\n"
    "pupil: {kind: annulus, obstruction: 0.25}\n"
    "camera: {bits: 12, noise: 0.01}\n"
    "pipelines:\n"
    "  - {name: reference, arithmetic: fp64}\n"
    "  - {name: fp32, arithmetic: fp32}\n"
    "  - {name: fp16, arithmetic: fp32, storage: fp16}\n";

static bb_format storage_of(const bb_fringe_pipeline *pipeline)
{
    return (bb_format)(pipeline->storage >= 0 ? pipeline->storage : pipeline->arithmetic);
}

bb_unwrap_config bb_fringe_study_unwrap(const bb_fringe_study *study,
                                        const bb_fringe_pipeline *pipeline)
{
    bb_unwrap_config config = {.method = study->unwrap};
    for (int i = 0; i < BB_UNWRAP_SLOTS; ++i) {
        const bb_fringe_slot *slot = &pipeline->slots[i];
        bb_unwrap_numbers *numbers = &config.slots[i];
        const bool is_own = slot->arithmetic >= 0;
        numbers->arithmetic = (bb_format)(is_own ? slot->arithmetic : pipeline->arithmetic);
        numbers->storage = slot->storage >= 0                ? (bb_format)slot->storage
                           : pipeline->storage < 0 && is_own ? numbers->arithmetic
                                                             : storage_of(pipeline);
    }
    return config;
}

static bool is_full_precision(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline)
{
    const bb_unwrap_config config = bb_fringe_study_unwrap(study, pipeline);
    bool full = pipeline->bits == BB_INTEGER_UNSET && !bb_fringe_pipeline_searches(pipeline);
    for (int slot = 0; slot < BB_UNWRAP_SLOTS && full; ++slot) {
        full = config.slots[slot].arithmetic == BB_FORMAT_FP64 &&
               config.slots[slot].storage == BB_FORMAT_FP64;
    }
    return full;
}

static bb_index list_facts(const bb_fringe_study *study,
                           bb_pipeline_facts facts[BB_STUDY_PIPELINES])
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    bb_index count = 0;
    while (count < study->pipelines.count && count < BB_STUDY_PIPELINES) {
        facts[count] =
            (bb_pipeline_facts){pipelines[count].name, is_full_precision(study, &pipelines[count])};
        ++count;
    }
    return count;
}

bool bb_fringe_pipeline_searches(const bb_fringe_pipeline *pipeline)
{
    return pipeline->max_loss > 0.0;
}

bb_index bb_fringe_study_draws(const bb_fringe_study *study, const bb_fringe_pipeline *pipeline)
{
    return study->input.file != NULL ? 1 : pipeline->draws;
}

bb_index bb_fringe_study_reference(const bb_fringe_study *study)
{
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    const bb_index count = list_facts(study, facts);
    return bb_study_reference(facts, count);
}

bb_index bb_fringe_study_bits(const bb_fringe_study *study, bb_index pipeline)
{
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    return pipeline == bb_fringe_study_reference(study)   ? BB_INTEGER_UNSET
           : pipelines[pipeline].bits != BB_INTEGER_UNSET ? pipelines[pipeline].bits
                                                          : study->physics.camera.bits;
}

static bb_status check_bits(const bb_fringe_study *study, const bb_config *config,
                            bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_fringe_pipeline *pipelines = study->pipelines.items;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        BB_TRY(bb_study_refuse(
            pipelines[p].bits != BB_INTEGER_UNSET && study->input.file == NULL &&
                study->physics.detection.algorithm == BB_DETECTION_NONE,
            config, problems,
            "pipelines.%td.bits = %td: detection.algorithm none has no frames to store", p,
            pipelines[p].bits));
    }
done:
    return status;
}

// Physics of a measured scene: no surface, and a disc as the pupil.
static bb_fringe_config without_scene(const bb_fringe_study *study)
{
    bb_fringe_config physics = study->physics;
    if (study->input.file != NULL) {
        physics.surface.zernike.count = 0;
        physics.surface.steps.count = 0;
        physics.surface.spectrum.rms_nm = 0.0;
        physics.surface.spectrum.low_cycles = 1.0;
        physics.surface.spectrum.high_cycles = 2.0;
        physics.surface.residue_pairs.count = 0;
        physics.pupil.kind = BB_FRINGE_PUPIL_DISC;
        physics.pupil.obstruction = 0.0;
    }
    return physics;
}

bb_status bb_fringe_study_check(const void *study, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_fringe_study *fringe = study;
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    BB_TRY(bb_study_refuse(fringe->pipelines.count > BB_STUDY_PIPELINES, config, problems,
                           "pipelines: %td, expected at most %d", fringe->pipelines.count,
                           BB_STUDY_PIPELINES));
    const bb_fringe_config physics = without_scene(fringe);
    BB_TRY(bb_study_check_rules(bb_fringe_config_check(&physics), config, problems));
    BB_TRY(bb_study_check_rules(bb_unwrap_method_check(&fringe->unwrap), config, problems));
    BB_TRY(check_bits(fringe, config, problems));
    BB_TRY(bb_parts_check(bb_fringe_parts, study, config, problems));
    BB_TRY(bb_study_check_pipelines(facts, list_facts(fringe, facts),
                                    "arithmetic and storage fp64 in every slot, no bits and no "
                                    "max_loss",
                                    config, problems));
done:
    return status;
}
