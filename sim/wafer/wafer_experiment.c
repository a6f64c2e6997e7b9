// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_experiment.h"

#include "sim/kernels/kernel_variants.h"
#include "sim/wafer/overlay/wafer_overlay.h"
#include "sim/wafer/wafer_work.h"

static const bb_column columns[] = {
    {"overlay_error_x_nm", "overlay x [nm]", 1.0},
    {"overlay_error_y_nm", "overlay y [nm]", 1.0},
    {"overlay_residual_nm", "residual [nm]", 1.0},
    {"qoi_relative_error", "relative error", 1.0},
    {"operator_bytes", "operator [MB]", 1e-6},
    {"compression_ratio", "ratio to fp32", 1.0},
    {"solve_time_s", "solve [ms]", 1e3},
    {"encode_time_s", "encode [ms]", 1e3},
    {"energy_j", "energy [J]", 1.0},
    {"cost_usd", "cost [USD]", 1.0},
};

static bb_status check_kernels(const void *study, const bb_config *config, bb_problems *problems)
{
    return bb_kernel_keys_check(&((const bb_wafer_study *)study)->kernels, config, problems);
}

static bb_status publish_kernels(void *work, bb_results *results)
{
    return bb_kernel_variants_publish(((bb_wafer_work *)work)->devices.variants, results);
}

static const bb_part kernels = {
    .name = "kernels",
    .check = check_kernels,
    .run = publish_kernels,
    .outputs = BB_OUTPUTS(&bb_kernel_ledger_axes, &bb_kernel_ledger_outputs),
};

// Order of running and listing: scores first, because they write the axes of /results; operators
// last, because they take ownership of problem and heating.
const bb_part *const bb_wafer_parts[] = {
    &bb_wafer_product_part,
    &bb_wafer_evaluation_part,
    &bb_wafer_overlay_part,
    &bb_wafer_delivery_part,
    &bb_lot_overlay_part,
    &bb_wafer_view_part,
    &bb_wafer_coding_part,
    &kernels, // defined above
    &bb_wafer_search_part,
    &bb_wafer_chain_part,
    &bb_wafer_certificate_part,
    &bb_wafer_heating_part,
    &bb_wafer_probes_part,
    &bb_wafer_convergence_part,
    &bb_wafer_sizes_part,
    &bb_wafer_cautions_part,
    &bb_wafer_realtime_part,
    &bb_wafer_requirements_part,
    &bb_wafer_rows_part,
    &bb_wafer_dump_part,
    NULL,
};

static const bb_column scores[] = {{"overlay_x_nm", "heating overlay x", 1.0},
                                   {"overlay_y_nm", "y", 1.0}};
static const char *const losses[] = {"overlay_error_x_nm", "overlay_error_y_nm",
                                     "overlay_residual_nm"};

const bb_experiment bb_wafer_experiment = {
    .name = "wafer",
    .schema = &bb_wafer_study_schema,
    .starter = bb_wafer_study_starter,
    .check = bb_wafer_study_check,
    .plan = bb_wafer_experiment_plan,
    .run = bb_wafer_experiment_run,
    .converge = bb_wafer_experiment_converge,
    .converge_help = "mesh and time step of the heat, compared with closed forms and finer levels",
    .realtime = BB_CUDA_TWIN(bb_wafer_experiment_realtime),
    .realtime_absent = "a control loop needs a cuda device: this build has no CUDA",
    .realtime_help = "the feed-forward of one pipeline, set by the keys of `realtime:`",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .parts = bb_wafer_parts,
    .losses = losses,
    .loss_count = sizeof losses / sizeof losses[0],
    .loss_name = "overlay error [nm]",
    .tolerance = 0.1,
    .scores = scores,
    .score_count = sizeof scores / sizeof scores[0],
    .checkpoint_help = "the heating, every 60 s",
    .sheet = "probes",
    .has_sheet = bb_wafer_study_has_probes,
    .operators = "rows,inputs",
    .list_fields = bb_wafer_experiment_list_fields,
    .report = bb_wafer_overlay_print,
};
