// SPDX-License-Identifier: Apache-2.0
//
// The temperatures that the pipelines of a wafer study share: wafer after wafer is heated exposure
// by exposure in fp64, and the input of every scored light step of the scored wafers is kept: of
// the last one, or of all. Controllers with narrow heat or interpolation have inputs of their own,
// from a run of the same steps in their formats.
#ifndef BB_SIM_WAFER_HEAT_WAFER_HEATING_H
#define BB_SIM_WAFER_HEAT_WAFER_HEATING_H

#include "sim/output/checkpoint.h"
#include "sim/output/output_table.h"
#include "sim/wafer/wafer_study.h"
#include "solvers/step/stepper.h"

/// Heat of a problem step by step: dose into wafer and ring, hood over the wafer, ledger.
/// Zero-initialise, open, release. Read-only to users.
typedef struct bb_heat_simulation {
    const bb_wafer_problem *problem; ///< borrowed
    bb_stepper *stepper;
    bb_ledger ledger; ///< since the start
    double clipped;   ///< dose of the running exposure beside wafer and ring, J
    bb_index field;   ///< running exposure
    bb_exposure *wafer_exposure;
    bb_exposure *ring_exposure; ///< NULL without a ring
    bb_index covered;           ///< unknowns that the running exposure heats
    int32_t *where;             ///< [covered]
    double *energy;             ///< [covered] J in the last light part
    int32_t *hood_node;         ///< [hood most] NULL without a hood
    double *hood_exchange;      ///< [hood most] J/K
} bb_heat_simulation;

/// Starts from a cold wafer, with explicit steps in `narrow` formats (NULL: fp64). Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_heat_simulation_open(const bb_wafer_problem *problem,
                                             const bb_narrow_formats *narrow,
                                             bb_heat_simulation *out);
void bb_heat_simulation_release(bb_heat_simulation *simulation);

/// Makes `field` the running exposure. Errors: BB_INVALID, BB_MEMORY.
BB_CHECKED bb_status bb_heat_simulation_expose(bb_heat_simulation *simulation, bb_index field);

/// One step of heat of the running exposure: `part` counts from 0 to (light + dark steps) substeps
/// - 1. Errors: the stepper's.
BB_CHECKED bb_status bb_heat_simulation_step(bb_heat_simulation *simulation, bb_index part);

/// One step of heat of a wafer at rest, without dose or hood. Errors: the stepper's.
BB_CHECKED bb_status bb_heat_simulation_step_dark(bb_heat_simulation *simulation);

/// Clamp and ring when a wafer of the lot was loaded, and the heat that left with it.
typedef struct bb_loaded_wafer {
    double clamp_joules; ///< stored in the clamp when the wafer was loaded
    double clamp_rise;   ///< mean rise of the clamp then, K
    double ring_joules;
    double unloaded_joules; ///< left with the wafer; NaN while it has not left
} bb_loaded_wafer;

/// Temperatures at the probes of a study, at the end of every step of the scan and, between two
/// wafers, of the bare clamp, where a probe of the wafer has no value. Read-only to users. A row is
/// [time, s | wafer | rise of each probe, K].
typedef struct bb_wafer_probes {
    const bb_wafer_problem *problem; ///< borrowed
    bb_index width;                  ///< of a row; 0 without probes
    bb_index capacity;               ///< rows of a whole run
    bb_index taken;                  ///< rows so far
    double *rows;                    ///< [capacity][width]
} bb_wafer_probes;

/// Makes room for `capacity` rows; nothing where the problem has no probes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_probes_create(const bb_wafer_problem *problem, bb_index capacity,
                                            bb_wafer_probes *out);
void bb_wafer_probes_release(bb_wafer_probes *probes);

/// Takes a row at `time` s of wafer `wafer`; `bare`: no wafer is there.
void bb_wafer_probes_record(bb_wafer_probes *probes, double time, bb_index wafer, bool bare,
                            const double *state);

/// What is to be done next: a step of rest until as many as the problem's are done, a step of an
/// exposure, or of the bare clamp where `field` is the number of fields.
typedef struct bb_heating_place {
    bb_index wafer;
    bb_index field;
    bb_index step; ///< of the scan, or of the bare clamp
    bb_index next_scored;
    bb_index rested; ///< steps of rest that this wafer had before its first exposure
} bb_heating_place;

/// Inputs of controllers with one pair of formats.
typedef struct bb_narrow_inputs {
    bb_stage_formats heat, interpolation;
    double *inputs; ///< as those of bb_wafer_heating, referred
} bb_narrow_inputs;

typedef struct bb_wafer_heating {
    bb_index exposed_count; ///< exposures of all wafers: of the last one up to the last scored one
    bb_index wafer_count;
    bb_index scored_wafers; ///< the last ones of the wafers
    bb_index scored_count;  ///< scored fields of a wafer
    bb_index field_count;   ///< exposures of a whole wafer
    bb_index light_steps;
    bb_index cell_count; ///< of an input: problem->input_count
    /// [scored_wafers][scored_count][light_steps][cell_count], K: mean over each light step, above
    /// the water until bb_wafer_heating_subtract_reference
    double *inputs;
    double *references;     ///< [scored_wafers][cell_count] K: rise when the wafer was aligned
    bool referred;          ///< whether `inputs` count from what overlay counts from
    bb_ledger *ledgers;     ///< [exposed_count] balance since the first exposure, at each one's end
    double *imbalance;      ///< [exposed_count] relative, of the same
    double *clipped_joules; ///< [exposed_count] dose that fell beside wafer and ring
    bb_loaded_wafer *wafers; ///< [wafer_count]
    bb_wafer_probes probes;
    bb_index narrow_count;
    bb_narrow_inputs *narrow; ///< [narrow_count] of the last bb_wafer_heating_narrow
} bb_wafer_heating;

/// Runs the thermal model over all exposures up to the last scored one of the last wafer, from
/// where `restart` goes on, with its checkpoints; NULL: from the start, without. Errors: BB_MEMORY,
/// BB_INVALID, those of the checkpoints. Release with bb_wafer_heating_release.
BB_CHECKED bb_status bb_wafer_heating_resume(const bb_wafer_problem *problem, bb_restart *restart,
                                             bb_wafer_heating *out);

/// Formats of a run; NULL: fp64.
typedef struct bb_heating_formats {
    const bb_narrow_formats *heat, *interpolation;
} bb_heating_formats;

/// The same in given formats. Inputs of a narrow run may not be finite. Errors: as above.
BB_CHECKED bb_status bb_wafer_heating_run(const bb_wafer_problem *problem,
                                          const bb_heating_formats *formats, bb_restart *restart,
                                          bb_wafer_heating *out);

/// Makes `inputs` rises above what displacement counts from, and `references` that: the wafer as it
/// was aligned, or the wafer without stress. u is linear in them.
void bb_wafer_heating_subtract_reference(const bb_wafer_problem *problem,
                                         bb_wafer_heating *heating);

/// Computes the inputs that `count` pipelines have by narrow heat or interpolation, once each pair
/// of formats, after bb_wafer_heating_subtract_reference; drops those that none of them has. fp16
/// is scaled by the power of two that brings the largest cell temperature of the reference into
/// (2^11, 2^12]. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_heating_narrow(const bb_wafer_problem *problem,
                                             const bb_product_pipeline *const *pipelines,
                                             bb_index count, bb_wafer_heating *heating);

/// Pairs of formats of narrow inputs among `pipelines`: as many as need memory.
bb_index bb_wafer_heating_narrow_pairs(const bb_product_pipeline *const *pipelines, bb_index count);

/// Writes /energy, the ledger at the end of each exposure, and /wafers of several.
BB_CHECKED bb_status bb_wafer_heating_publish(const bb_wafer_heating *heating, bb_results *results);
void bb_wafer_heating_release(bb_wafer_heating *heating);

/// Input of light step `step` of scored field `index` of the last wafer: [cell_count], K.
const double *bb_wafer_heating_input(const bb_wafer_heating *heating, bb_index index,
                                     bb_index step);

/// The same above the water, whatever inputs count from, into `rises` [cell_count].
void bb_wafer_heating_rises(const bb_wafer_heating *heating, bb_index index, bb_index step,
                            double *rises);

/// Input of a step of scored wafer `wafer`, from 0, as `pipeline` computes it.
const double *bb_wafer_heating_input_of(const bb_wafer_heating *heating,
                                        const bb_product_pipeline *pipeline, bb_index wafer,
                                        bb_index index, bb_index step);

/// Appends what the heating depends on (sim/output/subject.h). Errors: those of bb_subject_write.
BB_CHECKED bb_status bb_wafer_heating_subject(const bb_wafer_study *study, bb_text *out);

/// Opens and checks what `options` resume from; every 60 s where they say nothing. Errors: those of
/// bb_checkpoint_open. Release with bb_restart_release.
BB_CHECKED bb_status bb_wafer_heating_restart(const bb_wafer_study *study,
                                              const bb_run_options *options, bb_restart *out);

/// Writes a checkpoint where one is due, or `now`. Errors: those of bb_store_write.
BB_CHECKED bb_status bb_wafer_heating_save(bb_restart *restart, bool now,
                                           const bb_heating_place *place,
                                           const bb_heat_simulation *simulation,
                                           const bb_wafer_heating *heating);

/// Reads place, state, ledger and what `heating` has kept by then. A checkpoint of products
/// (bb_wafer_products_save) has no heat: `*heated` is false then, and it stays open, but where it
/// cannot be used (`first_stage`). Errors: those of bb_store_read.
BB_CHECKED bb_status bb_wafer_heating_load(bb_restart *restart, bb_heating_place *place,
                                           bb_heat_simulation *simulation,
                                           bb_wafer_heating *heating, bool *heated);

#endif
