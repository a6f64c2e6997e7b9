// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_experiment.h"

#include "sim/evaluation.h"
#include "sim/kernels/kernel_ledger.h"
#include "sim/pipelines/coding_report.h"
#include "sim/wafer/convergence_table.h"
#include "sim/wafer/field_list.h"
#include "sim/wafer/overlay/lot_overlay.h"
#include "sim/wafer/overlay/overlay_table.h"
#include "sim/wafer/realtime/realtime_table.h"
#include "sim/wafer/realtime/wafer_realtime.h"
#include "sim/wafer/wafer_convergence.h"
#include "sim/wafer/wafer_plan.h"
#include "sim/wafer/wafer_promise.h"
#include "sim/wafer/wafer_publication.h"
#include "sim/wafer/wafer_run.h"
#include "sim/wafer/wafer_study.h"
#include "sim/wafer/wafer_view.h"

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
static const bb_output_table *const outputs[] = {
    &bb_evaluation_outputs,
    &bb_wafer_publication_pipelines,
    &bb_wafer_publication_points,
    &bb_wafer_publication_displacements,
    &bb_wafer_overlay_outputs,
    &bb_wafer_overlay_fields,
    &bb_wafer_overlay_errors,
    &bb_wafer_overlay_field_errors,
    &bb_wafer_overlay_deliveries,
    &bb_lot_overlay_outputs,
    &bb_lot_overlay_wafers,
    &bb_lot_overlay_displacements,
    &bb_lot_overlay_spreads,
    &bb_wafer_view_outputs,
    &bb_wafer_view_temperatures,
    &bb_coding_report_outputs,
    &bb_kernel_ledger_axes,
    &bb_kernel_ledger_outputs,
    &bb_coding_report_measures,
    &bb_promise_outputs,
    &bb_promise_storages,
    &bb_wafer_promise_outputs,
    &bb_wafer_certificate_outputs,
    &bb_wafer_heating_outputs,
    &bb_wafer_loading_outputs,
    &bb_wafer_probes_outputs,
    &bb_wafer_probes_rises,
    &bb_convergence_table_outputs,
    &bb_realtime_table_axes,
    &bb_realtime_report_kinds,
    &bb_realtime_table_kinds,
    &bb_realtime_table_figures,
    &bb_realtime_report_latencies,
    &bb_realtime_table_worst,
    &bb_realtime_table_schedules,
    &bb_realtime_table_stream,
    NULL,
};
static const bb_column scores[] = {{"overlay_x_nm", "overlay by heating x", 1.0},
                                   {"overlay_y_nm", "y", 1.0}};
static const char *const prices[] = {"overlay_error_x_nm", "overlay_error_y_nm",
                                     "overlay_residual_nm"};

const bb_experiment bb_wafer_experiment = {
    .name = "wafer",
    .schema = &bb_wafer_study_schema,
    .starter = bb_wafer_study_starter,
    .check = bb_wafer_study_check,
    .plan = bb_wafer_plan,
    .run = bb_wafer_run,
    .converge = bb_wafer_convergence_run,
    .converge_help = "mesh and time step of the heat, against closed forms and finer levels",
    .realtime = BB_CUDA_TWIN(bb_wafer_realtime_run),
    .realtime_absent = "a control loop runs on a cuda device: this build has no CUDA",
    .realtime_help = "the feed-forward of one pipeline, by the keys of `realtime:`",
    .columns = columns,
    .column_count = sizeof columns / sizeof columns[0],
    .outputs = outputs,
    .prices = prices,
    .price_count = sizeof prices / sizeof prices[0],
    .price_name = "overlay error [nm]",
    .tolerance = 0.1,
    .scores = scores,
    .score_count = sizeof scores / sizeof scores[0],
    .checkpoint_help = "the heating, every 60 s",
    .sheet = "probes",
    .has_sheet = bb_wafer_study_has_probes,
    .operators = "rows,inputs",
    .list_fields = bb_field_list_write,
    .report = bb_overlay_table_write,
    .describe = bb_wafer_view_describe,
};
