// SPDX-License-Identifier: Apache-2.0
//
// Temperatures shared by the pipelines of a wafer study. Wafers are heated exposure by exposure in
// fp64. The input of every scored light step is stored, for the last wafer or for all scored ones.
// Pipelines with narrow heat or interpolation have their own inputs, from the same steps in their
// formats.
#ifndef BB_SIM_WAFER_HEAT_WAFER_HEATING_H
#define BB_SIM_WAFER_HEAT_WAFER_HEATING_H

#include "sim/output/checkpoint.h"
#include "sim/output/output_table.h"
#include "sim/wafer/wafer_study.h"
#include "solvers/step/stepper.h"

/// Heat simulation of a problem step by step: dose into wafer and ring, hood over the wafer, energy
/// ledger. Zero-initialise, open, release. Read-only to users.
typedef struct bb_heat_simulation {
    const bb_wafer_problem *problem; ///< borrowed
    bb_stepper *stepper;
    bb_ledger ledger; ///< energy balance since the start
    double clipped;   ///< dose of the current exposure outside wafer and ring, J
    bb_index field;   ///< current exposure
    bb_exposure *wafer_exposure;
    bb_exposure *ring_exposure; ///< NULL without a ring
    bb_index covered;           ///< number of unknowns heated by the current exposure
    int32_t *where;             ///< [covered] indices of these unknowns
    double *energy;             ///< [covered] energies of the last light part, J
    int32_t *hood_node;         ///< [hood most] nodes under the hood; NULL without one
    double *hood_exchange;      ///< [hood most] exchange with the hood, J/K
} bb_heat_simulation;

/// Starts from a wafer at water temperature, with explicit steps in `narrow` formats (NULL: fp64).
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_heat_simulation_open(const bb_wafer_problem *problem,
                                             const bb_narrow_formats *narrow,
                                             bb_heat_simulation *out);
void bb_heat_simulation_release(bb_heat_simulation *simulation);

/// Makes `field` the current exposure. Errors: BB_INVALID, BB_MEMORY.
BB_CHECKED bb_status bb_heat_simulation_expose(bb_heat_simulation *simulation, bb_index field);

/// Runs one heat step of the current exposure; `part` counts from 0 to (light + dark steps)
/// substeps - 1. Errors: the stepper's.
BB_CHECKED bb_status bb_heat_simulation_step(bb_heat_simulation *simulation, bb_index part);

/// Runs one heat step without dose and hood. Errors: the stepper's.
BB_CHECKED bb_status bb_heat_simulation_step_dark(bb_heat_simulation *simulation);

/// State of clamp and ring when a wafer of the lot was loaded, and the heat that left with that
/// wafer.
typedef struct bb_loaded_wafer {
    double clamp_joules; ///< energy stored in the clamp at loading
    double clamp_rise;   ///< mean temperature rise of the clamp at loading, K
    double ring_joules;
    double unloaded_joules; ///< energy that left with the wafer; NaN before unloading
} bb_loaded_wafer;

/// Temperatures at the probes of a study, recorded after every step of the scan and of the bare
/// clamp between two wafers, where probes on the wafer are NaN. Read-only to users. A row is [time,
/// s | wafer | rise of each probe, K].
typedef struct bb_wafer_probes {
    const bb_wafer_problem *problem; ///< borrowed
    bb_index width;                  ///< values in a row; 0 without probes
    bb_index capacity;               ///< number of rows of a whole run
    bb_index taken;                  ///< number of recorded rows
    double *rows;                    ///< [capacity][width]
} bb_wafer_probes;

/// Allocates `capacity` rows; does nothing for a problem without probes. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_probes_create(const bb_wafer_problem *problem, bb_index capacity,
                                            bb_wafer_probes *out);
void bb_wafer_probes_release(bb_wafer_probes *probes);

/// Records a row at `time` s of wafer `wafer`; `bare`: the clamp carries no wafer.
void bb_wafer_probes_record(bb_wafer_probes *probes, double time, bb_index wafer, bool bare,
                            const double *state);

/// Next step of the simulation: a dark step until `rested` reaches the problem's number, then steps
/// of an exposure, or of the bare clamp if `field` equals the number of fields.
typedef struct bb_heating_place {
    bb_index wafer;
    bb_index field;
    bb_index step; ///< step of the scan, or of the bare clamp
    bb_index next_scored;
    bb_index rested; ///< dark steps of this wafer before its first exposure
} bb_heating_place;

/// Inputs of all pipelines with one pair of formats.
typedef struct bb_narrow_inputs {
    bb_stage_formats heat, interpolation;
    double *inputs; ///< layout of bb_wafer_heating.inputs, reference subtracted
} bb_narrow_inputs;

typedef struct bb_wafer_heating {
    bb_index exposed_count; ///< number of exposures of all wafers; the last wafer ends with its
                            ///< last scored one
    bb_index wafer_count;
    bb_index scored_wafers; ///< number of scored wafers, the last ones of the lot
    bb_index scored_count;  ///< number of scored fields of a wafer
    bb_index field_count;   ///< number of exposures of a whole wafer
    bb_index light_steps;
    bb_index cell_count; ///< values of one input: problem->input_count
    /// [scored_wafers][scored_count][light_steps][cell_count], K: mean over each light step, above
    /// the water temperature until bb_wafer_heating_subtract_reference
    double *inputs;
    double *references;      ///< [scored_wafers][cell_count] temperature rise at alignment, K
    bool is_relative;        ///< true if the reference has been subtracted from `inputs`
    bb_ledger *ledgers;      ///< [exposed_count] cumulative energies at each exposure's end
    double *imbalance;       ///< [exposed_count] relative error of the energy balance
    double *clipped_joules;  ///< [exposed_count] dose outside wafer and ring, J
    bb_loaded_wafer *wafers; ///< [wafer_count] state at the loading of each wafer
    bb_wafer_probes probes;
    bb_index narrow_count;
    bb_narrow_inputs *narrow; ///< [narrow_count] sets of the last bb_wafer_heating_narrow
} bb_wafer_heating;

/// Runs the thermal model over all exposures up to the last scored one of the last wafer. `restart`
/// gives the starting point and receives checkpoints; NULL: from the start, without checkpoints.
/// Errors: BB_MEMORY, BB_INVALID, errors of the checkpoints. Release with bb_wafer_heating_release.
BB_CHECKED bb_status bb_wafer_heating_resume(const bb_wafer_problem *problem, bb_restart *restart,
                                             bb_wafer_heating *out);

/// Number formats of a heat run; NULL: fp64.
typedef struct bb_heating_formats {
    const bb_narrow_formats *heat, *interpolation;
} bb_heating_formats;

/// Runs the thermal model as bb_wafer_heating_resume does, in given formats. Inputs in narrow
/// formats may be non-finite. Errors: as above.
BB_CHECKED bb_status bb_wafer_heating_run(const bb_wafer_problem *problem,
                                          const bb_heating_formats *formats, bb_restart *restart,
                                          bb_wafer_heating *out);

/// Subtracts the reference temperatures of displacement from `inputs` and stores them in
/// `references`: the wafer at alignment, or the stress-free wafer. u is linear in the temperatures.
void bb_wafer_heating_subtract_reference(const bb_wafer_problem *problem,
                                         bb_wafer_heating *heating);

/// Computes the inputs of `count` pipelines with narrow heat or interpolation, once for each pair
/// of formats, after bb_wafer_heating_subtract_reference; frees unused sets. fp16 is scaled by the
/// power of two that brings the largest cell temperature of the reference into (2^11, 2^12].
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_wafer_heating_narrow(const bb_wafer_problem *problem,
                                             const bb_product_pipeline *const *pipelines,
                                             bb_index count, bb_wafer_heating *heating);

/// Number of distinct narrow input sets of `pipelines`, which determines their memory.
bb_index bb_wafer_heating_narrow_pairs(const bb_product_pipeline *const *pipelines, bb_index count);

/// Writes /energy, the ledger at the end of each exposure, and /wafers for more than one wafer.
BB_CHECKED bb_status bb_wafer_heating_publish(const bb_wafer_heating *heating, bb_results *results);
void bb_wafer_heating_release(bb_wafer_heating *heating);

/// Input of light step `step` of scored field `index` of the last wafer: [cell_count], K.
const double *bb_wafer_heating_input(const bb_wafer_heating *heating, bb_index index,
                                     bb_index step);

/// Computes the input as bb_wafer_heating_input does, but above the water temperature, into `rises`
/// [cell_count].
void bb_wafer_heating_rises(const bb_wafer_heating *heating, bb_index index, bb_index step,
                            double *rises);

/// Input of a step of scored wafer `wafer`, counted from 0, in the formats of `pipeline`.
const double *bb_wafer_heating_input_of(const bb_wafer_heating *heating,
                                        const bb_product_pipeline *pipeline, bb_index wafer,
                                        bb_index index, bb_index step);

/// Appends the keys that determine the heating (sim/output/subject.h). Errors: those of
/// bb_subject_write.
BB_CHECKED bb_status bb_wafer_heating_subject(const bb_wafer_study *study, bb_text *out);

/// Opens and checks the checkpoint named in `options`; the default interval is 60 s. Errors: those
/// of bb_checkpoint_open. Release with bb_restart_release.
BB_CHECKED bb_status bb_wafer_heating_restart(const bb_wafer_study *study,
                                              const bb_run_options *options, bb_restart *out);

/// Writes a checkpoint if one is due or if `now` is true. Errors: from bb_store_write.
BB_CHECKED bb_status bb_wafer_heating_save(bb_restart *restart, bool now,
                                           const bb_heating_place *place,
                                           const bb_heat_simulation *simulation,
                                           const bb_wafer_heating *heating);

/// Reads place, state, ledger and the stored arrays of `heating`. A checkpoint of products
/// (bb_wafer_products_save) has no heat: `*heated` is then false, and the checkpoint stays open
/// unless it cannot be used (`first_stage`). Errors: from bb_store_read.
BB_CHECKED bb_status bb_wafer_heating_load(bb_restart *restart, bb_heating_place *place,
                                           bb_heat_simulation *simulation,
                                           bb_wafer_heating *heating, bool *heated);

#endif
