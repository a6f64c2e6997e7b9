// SPDX-License-Identifier: Apache-2.0
//
// Keys, rules, memory and plan lines of `realtime:` in a wafer study, and results of `bitbudget
// realtime` as a table and as datasets.
#include "sim/wafer/realtime/realtime_measurement.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>
#include <stdio.h>

const char *const bb_release_names[] = {"fixed", "back_to_back", NULL};
const char *const bb_loop_mode_names[] = {"resident", "streamed", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "pipeline", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_realtime_config, pipeline),
     .meaning = "Name of the pipeline to run; default: the first that is not the reference."},
    {.name = "release", .kind = BB_KEY_CHOICE, .choices = bb_release_names,
     .offset = offsetof(bb_realtime_config, release), .default_text = "fixed",
     .meaning = "Release of steps: at fixed times, or each when the previous one has ended."},
    {.name = "steps", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e7,
     .offset = offsetof(bb_realtime_config, steps), .default_text = "100000",
     .meaning = "Number of measured steps."},
    {.name = "period_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.01, .maximum = 1e3,
     .offset = offsetof(bb_realtime_config, period_ms),
     .default_text = "1.0", .meaning = "Period of fixed release times."},
    {.name = "deadline_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1e3,
     .exclusive_minimum = true, .offset = offsetof(bb_realtime_config, deadline_ms),
     .default_text = "1.0", .meaning = "Deadline of a step after its release."},
    {.name = "warm_up_steps", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_realtime_config, warm_up_steps), .default_text = "1000",
     .meaning = "Warm-up steps, not measured."},
    {.name = "ahead", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = BB_LOOP_AHEAD_MOST,
     .offset = offsetof(bb_realtime_config, ahead), .default_text = "0",
     .meaning = "Number of steps queued before their release, which is then timed by the device "
                "clock; 0: by the host clock."},
    {.name = "matrices", .kind = BB_KEY_CHOICE, .choices = bb_loop_mode_names,
     .offset = offsetof(bb_realtime_config, matrices), .default_text = "resident",
     .meaning = "Resident: all on the device; streamed: sent from the host field by field."},
    {.name = "gpus", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = BB_LOOP_GPUS,
     .offset = offsetof(bb_realtime_config, gpus), .default_text = "1",
     .meaning = "GPUs of this host that share the axes: axis k of response.axes on GPU k mod gpus."},
};
// clang-format on
const bb_schema bb_realtime_schema = BB_SCHEMA("realtime", bb_realtime_config, keys);

bb_status bb_wafer_loop_check(const bb_wafer_study *study, const bb_product_pipeline *pipeline)
{
    bb_status status = BB_OK;
    BB_REQUIRE(study->mesh.stepping == (int)BB_STEPPING_EXPLICIT, BB_UNSUPPORTED,
               "mesh.stepping: the loop on a GPU steps explicitly, expected explicit");
    BB_REQUIRE(study->mesh.through_thickness == (int)BB_THROUGH_MEAN, BB_UNSUPPORTED,
               "mesh.through_thickness: the loop on a GPU has only the mean, expected mean");
    BB_REQUIRE(study->mesh.substeps == 1, BB_UNSUPPORTED,
               "mesh.substeps = %td, expected 1: the loop on a GPU has no substeps",
               study->mesh.substeps);
    BB_REQUIRE(!bb_hood_wanted(&study->hood), BB_UNSUPPORTED,
               "hood.exchange_w_per_m2_k = %g: the loop on a GPU has no hood, expected 0",
               study->hood.exchange_w_per_m2_k);
    BB_REQUIRE(study->wafers.count <= 1, BB_UNSUPPORTED,
               "wafers.count = %td: the loop on a GPU exposes one wafer, expected 1",
               study->wafers.count);
    BB_REQUIRE(
        study->wafers.arrival_rise_k == 0.0, BB_UNSUPPORTED,
        "wafers.arrival_rise_k = %g: the loop on a GPU starts from a wafer at the temperature "
        "of the water, expected 0",
        study->wafers.arrival_rise_k);
    BB_REQUIRE(!bb_edge_ring_wanted(&study->ring), BB_UNSUPPORTED,
               "ring.width_mm = %g: the loop on a GPU has no ring, expected 0",
               study->ring.width_mm);
    BB_REQUIRE(bb_delivery_on_time(&pipeline->delivery), BB_UNSUPPORTED,
               "pipeline %s, delivery: remove late or missed corrections, the loop on a GPU "
               "measures the delivery itself",
               pipeline->name);
    BB_REQUIRE(pipeline->multiply == (int)BB_FORMAT_FP32, BB_UNSUPPORTED,
               "pipeline %s, multiply: the loop on a GPU multiplies in fp32, not %s",
               pipeline->name, bb_working_format_names[pipeline->multiply]);
    BB_REQUIRE(!bb_product_pipeline_searches(pipeline), BB_UNSUPPORTED,
               "pipeline %s, max_loss: the loop needs a known storage; set the one found by "
               "`bitbudget run`",
               pipeline->name);
    BB_REQUIRE(!bb_product_pipeline_narrows(pipeline), BB_UNSUPPORTED,
               "pipeline %s: remove narrow stages, the loop computes heat, interpolation and rows "
               "in fp64",
               pipeline->name);
    const char *absent = bb_codec_absent(&pipeline->storage, BB_DEVICE_CUDA);
    BB_REQUIRE(absent == NULL, BB_UNSUPPORTED, "pipeline %s, storage: %s", pipeline->name, absent);
    BB_REQUIRE(study->realtime.matrices == (int)BB_LOOP_RESIDENT ||
                   bb_coded_operator_moves(&pipeline->storage),
               BB_UNSUPPORTED,
               "pipeline %s, storage: realtime.matrices streamed needs rows of equal size: plain "
               "formats, bfp or mx int8; use one of them, or set resident",
               pipeline->name);
done:
    return status;
}

// Peak memory in bytes.
typedef struct realtime_memory {
    double matrices; // encoded matrices of all scored fields and axes
    double host;
    double device; // device with the largest need
} realtime_memory;

static const bb_product_pipeline *pipeline_of(const bb_wafer_study *study)
{
    return (const bb_product_pipeline *)study->pipelines.items + bb_wafer_study_realtime(study);
}

static realtime_memory memory_of(const bb_wafer_study *study, const bb_wafer_extent *extent)
{
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const bb_matrix_layout *layout = &extent->layout;
    const bb_codec_config fp64 = bb_codec_plain(BB_FORMAT_FP64);
    const bool streamed = study->realtime.matrices == (int)BB_LOOP_STREAMED;
    const double cells = (double)layout->columns;
    const double axes = (double)study->response.axes.count;
    const double gpus = (double)study->realtime.gpus;
    // Operators of an axis on a device at once: one per field, or two slots and one more while its
    // field is copied to the host.
    const double sets = streamed ? BB_FIELD_SLOTS + 1.0 : extent->scored;
    const double values = (double)layout->rows * cells;
    const bb_need copy = bb_codec_needs_copy(&pipeline->storage)
                             ? bb_coded_matrix_resident(&fp64, layout)
                             : (bb_need){0};
    const bb_need coding =
        bb_product_coding_need(pipeline, extent->device, layout, 1.0, extent->threads);
    const bb_need operation =
        bb_coded_operator_need(&pipeline->storage, (double)layout->rows, cells, BB_DEVICE_CUDA);
    const bb_need loop = bb_need_together(bb_need_copies(operation, sets * ceil(axes / gpus)),
                                          bb_control_loop_need(extent->nodes, cells));
    const bb_need making = bb_need_together(bb_need_together(extent->held, extent->rows),
                                            bb_need_together(copy, coding));
    realtime_memory out = {.matrices = extent->scored * axes * values *
                                       bb_codec_bytes_per_value(&pipeline->storage),
                           .device = loop.device_bytes};
    out.host = BB_PLAN_PROGRAM_BYTES + making.host_bytes +
               bb_need_copies(operation, sets * axes).host_bytes + (streamed ? out.matrices : 0.0) +
               gpus * (double)sizeof(bb_step_record) * (double)study->realtime.steps;
    return out;
}

// Plan lines of studies with keys of `bitbudget realtime`.
static bb_status plan_lines(const void *all, const void *span, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_wafer_extent *extent = span;
    const bb_product_pipeline *pipeline = pipeline_of(study);
    const bb_realtime_config *realtime = &study->realtime;
    const bool streamed = realtime->matrices == (int)BB_LOOP_STREAMED;
    if ((realtime->pipeline == NULL && !streamed && realtime->gpus == 1) ||
        bb_product_pipeline_searches(pipeline)) {
        return BB_OK;
    }
    const realtime_memory memory = memory_of(study, extent);
    const char *maximum = isnan(bb_codec_bits_per_value(&pipeline->storage)) ? "at most " : "";
    BB_TRY(bb_plan_add(plan, "realtime", "%s, %.0f sets of %td axes %s, %s%.1f MB", pipeline->name,
                       extent->scored, study->response.axes.count,
                       streamed             ? "streamed from the host"
                       : realtime->gpus > 1 ? "on the devices"
                                            : "on the device",
                       maximum, 1e-6 * memory.matrices));
    BB_TRY(bb_plan_add(plan, "realtime, host memory", "%s%.1f MB%s", maximum, 1e-6 * memory.host,
                       streamed ? ", matrices pinned" : ""));
    BB_TRY(realtime->gpus == 1
               ? bb_plan_add(plan, "realtime, device memory", "%s%.1f MB", maximum,
                             1e-6 * memory.device)
               : bb_plan_add(plan, "realtime, device memory", "%s%.1f MB on each of %td", maximum,
                             1e-6 * memory.device, realtime->gpus));
done:
    return status;
}

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_realtime_config *realtime = &study->realtime;
    const bb_index index = bb_wafer_study_realtime(study);
    const char *name = realtime->pipeline;
    BB_TRY(bb_study_refuse(name != NULL && index < 0, config, problems,
                           "realtime.pipeline = %s: expected the name of one of the pipelines",
                           name));
    BB_TRY(bb_study_refuse(name != NULL && index >= 0 &&
                               bb_product_pipeline_searches(pipeline_of(study)),
                           config, problems,
                           "realtime.pipeline = %s: `run` finds its storage by max_loss; use a "
                           "pipeline with a given storage",
                           name));
    BB_TRY(bb_study_refuse(
        name != NULL && index >= 0 && bb_product_pipeline_narrows(pipeline_of(study)), config,
        problems,
        "realtime.pipeline = %s: the loop computes heat, interpolation and rows in fp64, expected "
        "a pipeline without narrow stages",
        name));
    BB_TRY(bb_study_refuse(realtime->gpus > study->response.axes.count, config, problems,
                           "realtime.gpus = %td: expected at most %td, the number of "
                           "response.axes, which the GPUs share",
                           realtime->gpus, study->response.axes.count));
    BB_TRY(
        bb_study_refuse(realtime->release == (int)BB_RELEASE_FIXED &&
                            (double)realtime->ahead * realtime->period_ms > BB_LOOP_AHEAD_MOST_MS,
                        config, problems,
                        "realtime.ahead = %td steps of %g ms: expected at most %d ms in total, "
                        "since an interrupt waits for these steps",
                        realtime->ahead, realtime->period_ms, (int)BB_LOOP_AHEAD_MOST_MS));
done:
    return status;
}

enum { KINDS = BB_STEP_KINDS + 1, SCHEDULES = 3 };

// Schedule of a field, measured or from Table 1 of Bamakhrama et al.; s.
typedef struct schedule_row {
    const char *name;
    double transfer, compute, period, latency;
} schedule_row;

// Results of the fields and of the queue.
typedef struct figures {
    schedule_row schedule[SCHEDULES];
    double ahead, least_queued; // least_queued NaN: unknown
    double field_steps, field_bytes;
    bb_field_times field;
    double fields_begun;  // streamed: fields whose first step was measured
    double fields_waited; // fields that waited for some of their matrices
    double longest_wait;  // s, over all devices
} figures;

static const char *const kind_names[KINDS] = {"all", "light", "heat", "dark"};
static const char *const schedule_names[SCHEDULES] = {"predicted for fp32", "predicted",
                                                      "measured"};
static const char *const stage_names[BB_STEP_STAGES] = {
    "state", "input", "reading and products", "outputs", "waiting for matrices", "launch and host"};

static const bb_output axis_rows[] = {
    {"kind", "kind", NULL, "kind of step", .note = "light with products, heat only, or dark",
     BB_OUTPUT_NAMES(kind_names)},
    {"gpu", "gpu", "1", "GPU", .note = "response axes are distributed over the GPUs",
     .count = offsetof(bb_realtime_summary, shares), .indices = true},
    {"stage", "stage", NULL, "part of a step", BB_OUTPUT_NAMES(stage_names)},
};
static const bb_output_table axis_outputs = {"realtime", NULL, "", NULL, BB_OUTPUT_ROWS(axis_rows)};

static const bb_output kind_rows[] = {
    {"stage_p50_us", "kind, gpu, stage", "us", "median time of a stage",
     .note = "waiting for matrices: median over the steps that begin a field",
     BB_ARRAY(bb_realtime_kind, stages), .scale = 1e6, .measured = true},
};
static const bb_output_table kind_outputs = {"/results, realtime", NULL, "results", "kind",
                                             BB_OUTPUT_ROWS(kind_rows)};

static const bb_output worst_rows[] = {
    {"exposure", "rank", "1", "exposure of the step", BB_MEMBER(bb_realtime_worst, exposure),
     .measured = true},
    {"step", "rank", "1", "step of the exposure", BB_MEMBER(bb_realtime_worst, step),
     .measured = true},
    {"stage_us", "rank, gpu, stage", "us", "time of a stage of the step",
     BB_ARRAY(bb_realtime_worst, stages), .scale = 1e6, .measured = true},
};
static const bb_output_table worst_outputs = {"/worst, realtime", NULL, "worst", "rank",
                                              BB_OUTPUT_ROWS(worst_rows)};

static const bb_realtime_form form = {.step = "step",
                                      .kinds = KINDS,
                                      .stages = BB_STEP_STAGES,
                                      .kind_names = kind_names,
                                      .stage_names = stage_names,
                                      .axes = &axis_outputs,
                                      .kind_table = &kind_outputs,
                                      .worst_table = &worst_outputs};

static const bb_output figure_rows[] = {
    {"ahead", "", "1", "steps queued before their release; 0: the host releases each",
     .note = "as configured", BB_MEMBER(figures, ahead)},
    {"least_queued", "", "1",
     "smallest number of steps left on the device when the host queued "
     "another",
     .note = "NaN if unknown", BB_MEMBER(figures, least_queued), .measured = true},
    {"field_steps", "", "1", "number of steps of a field", .note = "light and dark",
     BB_MEMBER(figures, field_steps)},
    {"field_time_s", "", "s", "median time of a field's steps, each waited for",
     .note = "back to back, of a scored field; of 32", BB_MEMBER(figures, field.each),
     .measured = true},
    {"field_queued_time_s", "", "s", "median time of a field's steps, queued at once",
     .note = "likewise", BB_MEMBER(figures, field.queued), .measured = true},
};
static const bb_output_table figure_outputs = {"/results, realtime", NULL, "results", NULL,
                                               BB_OUTPUT_ROWS(figure_rows)};

#define OF_SCHEDULE(field) BB_MEMBER(schedule_row, field), .measured = true

static const char stream_title[] = "/stream, realtime with `realtime.matrices: streamed`";

static const bb_output schedule_rows[] = {
    {"schedule", "schedule", NULL,
     "schedule of a field, predicted by Table 1 from transfer and "
     "computation times, or measured",
     BB_OUTPUT_NAMES(schedule_names)},
    {"transfer_s", "schedule", "s", "transfer of a field's matrices to all devices",
     .note = "nothing else in flight; median of 32", OF_SCHEDULE(transfer)},
    {"compute_s", "schedule", "s", "all steps of a field, each waited for", .note = "median of 32",
     OF_SCHEDULE(compute)},
    {"period_s", "schedule", "s", "time between consecutive fields",
     .note = "between the ends of scored fields, back to back", OF_SCHEDULE(period)},
    {"latency_s", "schedule", "s",
     "from the start of a field's transfer to the end of its last step",
     .note = "nothing else in flight", OF_SCHEDULE(latency)},
};
static const bb_output_table schedule_outputs = {stream_title, NULL, "stream", "schedule",
                                                 BB_OUTPUT_ROWS(schedule_rows)};

static const bb_output stream_rows[] = {
    {"field_bytes", "", "byte", "encoded matrices of a field", BB_MEMBER(figures, field_bytes)},
    {"ratio", "", "1", "bytes in fp32 over encoded bytes", BB_MEMBER(figures, field.ratio)},
    {"fields", "", "1", "number of fields started", .note = "within the measured steps",
     BB_MEMBER(figures, fields_begun), .measured = true},
    {"fields_waited", "", "1", "fields that waited for their matrices",
     BB_MEMBER(figures, fields_waited), .measured = true},
    {"longest_wait_us", "", "us", "longest wait for the matrices of a field",
     BB_MEMBER(figures, longest_wait), .scale = 1e6, .measured = true},
};
static const bb_output_table stream_outputs = {stream_title, NULL, "stream", NULL,
                                               BB_OUTPUT_ROWS(stream_rows)};

// Lists the schedules of Table 1 of Bamakhrama et al. and the measured one.
static void list_schedules(figures *out)
{
    const bb_field_times *field = &out->field;
    const bb_field_schedule *times[SCHEDULES] = {&field->plain, &field->predicted,
                                                 &field->measured};
    for (int i = 0; i < SCHEDULES; ++i) {
        out->schedule[i] =
            (schedule_row){.name = schedule_names[i],
                           .transfer = i == 0 ? field->ratio * field->transfer : field->transfer,
                           .compute = field->each,
                           .period = times[i]->period,
                           .latency = times[i]->latency};
    }
}

static void count_waits(const bb_realtime_measurement *steps, figures *out)
{
    for (bb_index i = 0; i < steps->count; ++i) {
        double longest = NAN;
        for (bb_index g = 0; g < steps->shares; ++g) {
            longest = fmax(longest, steps->records[g * steps->steps + i].stage[BB_STEP_MATRICES]);
        }
        out->fields_begun += !isnan(longest);
        out->fields_waited += longest > 0.0;
        out->longest_wait = fmax(out->longest_wait, longest);
    }
}

bb_realtime_schedule bb_wafer_loop_schedule(const bb_wafer_loop *loop)
{
    const bb_realtime_config *config = &loop->study->realtime;
    const bool fixed = config->release == (int)BB_RELEASE_FIXED;
    return (bb_realtime_schedule){.warm_up = config->warm_up_steps,
                                  .steps = config->steps,
                                  .period_ns = fixed ? (int64_t)llrint(1e6 * config->period_ms) : 0,
                                  .by_device = config->ahead > 0,
                                  .depth = config->ahead + 1,
                                  .stops_threads = true};
}

static figures figures_of(const bb_wafer_loop *loop, const bb_wafer_measurement *measured)
{
    figures out = {.ahead = (double)loop->study->realtime.ahead,
                   .least_queued =
                       measured->least_queued < 0 ? NAN : (double)measured->least_queued,
                   .field_steps = (double)loop->steps,
                   .field_bytes = loop->field_bytes,
                   .field = measured->field,
                   .longest_wait = NAN};
    list_schedules(&out);
    count_waits(&measured->steps, &out);
    return out;
}

static bb_status publish(const bb_wafer_loop *loop, const bb_realtime_summary *summary,
                         const figures *run, bb_results *results)
{
    bb_status status = BB_OK;
    BB_TRY(bb_realtime_summary_publish(summary, loop->pipeline->name, results));
    BB_TRY(bb_output_table_publish(&figure_outputs, run, NULL, results));
    BB_TRY(bb_results_note(results, "results", "matrices",
                           bb_loop_mode_names[loop->study->realtime.matrices]));
    if (loop->streamed) {
        BB_TRY(bb_output_table_publish_records(&schedule_outputs, run->schedule,
                                               sizeof *run->schedule, SCHEDULES, NULL, results));
        BB_TRY(bb_output_table_publish(&stream_outputs, run, NULL, results));
    }
done:
    return status;
}

static bb_status print_head(const bb_wafer_loop *loop, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "pipeline %s, %d axes, %td fields, %.1f MB of matrices on ",
                       loop->pipeline->name, loop->axes, loop->problem->scored_count,
                       1e-6 * loop->device_bytes));
    BB_TRY(loop->gpus == 1 ? bb_text_add(table, "the device\n")
                           : bb_text_add(table, "%d GPUs, axes distributed in turn\n", loop->gpus));
done:
    return status;
}

static bb_status print_streaming(const bb_wafer_loop *loop, const figures *f, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table,
                       "matrices are streamed: %.1f MB per field, 1 / %.2f of fp32; %.0f of %.0f "
                       "fields waited for them",
                       1e-6 * loop->field_bytes, f->field.ratio, f->fields_waited,
                       f->fields_begun));
    BB_TRY(f->fields_waited == 0.0
               ? bb_text_add(table, "\n")
               : bb_text_add(table, ", at most %.3f ms\n", 1e3 * f->longest_wait));
    BB_TRY(bb_text_add(table, "\n%-22s%10s%12s%10s%10s\n", "per field [ms]", "transfer",
                       "computation", "period", "latency"));
    for (int k = 0; k < SCHEDULES; ++k) {
        const schedule_row *row = &f->schedule[k];
        BB_TRY(bb_text_add(table, "%-22s%10.3f%12.3f%10.3f%10.3f\n", row->name, 1e3 * row->transfer,
                           1e3 * row->compute, 1e3 * row->period, 1e3 * row->latency));
    }
done:
    return status;
}

static bb_status print(const bb_wafer_loop *loop, const bb_realtime_summary *summary,
                       const figures *f, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(print_head(loop, table));
    BB_TRY(bb_realtime_summary_print_head(summary, table));
    BB_TRY(bb_realtime_summary_print_latencies(summary, table));
    if (!isnan(f->least_queued)) {
        BB_TRY(bb_text_add(table, "the device always had at least %.0f of %.0f steps queued\n",
                           f->least_queued, f->ahead));
    }
    BB_TRY(bb_realtime_summary_print_worst(summary, table));
    BB_TRY(bb_text_add(table,
                       "\none field, %td steps back to back, median of %d: %.3f ms, each step "
                       "waited for; %.3f ms queued at once\n",
                       loop->steps, (int)BB_FIELD_ROUNDS, 1e3 * f->field.each,
                       1e3 * f->field.queued));
    BB_TRY(loop->streamed ? print_streaming(loop, f, table) : BB_OK);
    BB_TRY(bb_realtime_measurement_print_host(summary->measured, table));
done:
    return status;
}

bb_status bb_wafer_measurement_report(const bb_wafer_loop *loop,
                                      const bb_wafer_measurement *measured, bb_results *results,
                                      bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_schedule schedule = bb_wafer_loop_schedule(loop);
    bb_realtime_summary summary;
    BB_TRY(bb_realtime_summary_make(&form, &measured->steps, &schedule,
                                    loop->study->realtime.deadline_ms, loop->device_bytes,
                                    loop->coding.seconds, &summary));
    const figures run = figures_of(loop, measured);
    BB_TRY(print(loop, &summary, &run, table));
    BB_TRY(publish(loop, &summary, &run, results));
done:
    return status;
}

const bb_part bb_wafer_realtime_part = {
    .name = "realtime",
    .check = check,
    .plan_lines = plan_lines,
    .outputs =
        BB_OUTPUTS(&axis_outputs, &bb_realtime_report_kinds, &kind_outputs, &figure_outputs,
                   &bb_realtime_report_figures, &bb_realtime_report_latencies,
                   &bb_realtime_report_worst, &worst_outputs, &schedule_outputs, &stream_outputs),
};
