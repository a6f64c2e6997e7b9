// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/evaluation.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bb_evaluation bb_evaluation_start(const char *pipeline)
{
    return (bb_evaluation){.pipeline = pipeline,
                           .qoi_relative_error = NAN,
                           .operator_bytes = NAN,
                           .fp32_bytes = NAN,
                           .flops = NAN,
                           .flops_dense = NAN,
                           .encode_seconds = NAN,
                           .solve_seconds = NAN,
                           .wall_seconds = NAN,
                           .energy_joules = NAN,
                           .idle_watts = NAN,
                           .factor = bb_factor_report_start()};
}

void bb_evaluation_note_compiler(bb_evaluation *evaluation, const char *compiler)
{
    if (compiler[0] != '\0') {
        (void)snprintf(evaluation->compiler, sizeof evaluation->compiler, "%s", compiler);
    }
}

bb_status bb_evaluation_unset(bb_index count, double **out)
{
    BB_RETURN_IF_FAILED(BB_ALLOCATE(count, out));
    for (bb_index i = 0; i < count; ++i) {
        (*out)[i] = NAN;
    }
    return BB_OK;
}

static const bb_evaluation *at(const bb_evaluations *evaluations, bb_index pipeline)
{
    const char *first = (const char *)evaluations->first;
    return (const void *)(first + (size_t)pipeline * evaluations->stride);
}

bb_status bb_evaluations_publish_factors(const bb_evaluations *evaluations, bb_results *results)
{
    return bb_factor_report_publish(&evaluations->first->factor, evaluations->stride,
                                    evaluations->count, results);
}

// Notes name, architecture and driver of a device as provenance/device_<kind>_name and so on, the
// form of its kernels, and their compiler, "" if they were compiled with the program.
static bb_status note_device(bb_results *results, bb_device_kind kind, const char *compiler)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_device_report report;
    const char *prefix = bb_device_names[kind];
    BB_TRY(bb_device_open(kind, 0, &device));
    BB_TRY(bb_device_describe(device, &report));
    const struct {
        const char *suffix, *text;
        bool optional; // omitted if ""
    } notes[] = {{"name", report.name, false},
                 {"architecture", report.architecture, false},
                 {"driver", report.driver, false},
                 {"kernels", report.kernels, true},
                 {"compiler", compiler, true}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "device_%s_%s", prefix, notes[i].suffix);
        if (!notes[i].optional || notes[i].text[0] != '\0') {
            BB_TRY(bb_results_note(results, "provenance", name, notes[i].text));
        }
    }
done:
    bb_device_close(&device);
    return status;
}

// Notes the devices used, such as "cpu", "cuda" or "cpu, opencl", which replaces the requested one.
static bb_status note_devices(const bb_evaluations *evaluations, bb_results *results)
{
    char names[32] = "";
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        bool used = false;
        const char *compiler = "";
        for (bb_index p = 0; p < evaluations->count; ++p) {
            const bb_evaluation *evaluation = at(evaluations, p);
            used = used || evaluation->device == (bb_device_kind)kind;
            compiler = evaluation->device == (bb_device_kind)kind && compiler[0] == '\0'
                           ? evaluation->compiler
                           : compiler;
        }
        if (used) {
            size_t index = strlen(names);
            (void)snprintf(names + index, sizeof names - index, "%s%s", index == 0 ? "" : ", ",
                           bb_device_names[kind]);
            BB_RETURN_IF_FAILED(note_device(results, (bb_device_kind)kind, compiler));
        }
    }
    return bb_results_note(results, "provenance", "device", names);
}

enum { DETAIL_BYTES = 320 };

// Status and detail of a pipeline: those of draw 0, or `unsafe` if only some draws failed.
static void describe_outcome(const bb_evaluation *evaluation, const char **state, char *detail)
{
    const bb_draws *draws = &evaluation->draws;
    bool unsafe = bb_draws_differ(draws);
    *state = unsafe ? "unsafe" : bb_outcome_name(evaluation->outcome.kind);
    if (unsafe) {
        (void)snprintf(detail, DETAIL_BYTES, "%td of %td draws failed; draw %td: %s, %s",
                       draws->failed, draws->tried, draws->failure_draw,
                       bb_outcome_name(draws->failure.kind), draws->failure.detail);
    } else {
        (void)snprintf(detail, DETAIL_BYTES, "%s", evaluation->outcome.detail);
    }
}

// Row of a pipeline.
typedef struct evaluation_row {
    const char *pipeline, *status, *status_detail, *device;
    double qoi_relative_error, operator_bytes, compression_ratio, flops, flops_dense;
    double encode_seconds, solve_seconds, wall_seconds, energy_joules, idle_watts, cost_usd;
    bb_draws_summary draws;
    char detail[DETAIL_BYTES];
} evaluation_row;

static const bb_output outputs[] = {
    {"pipeline", "pipeline", NULL, "names, in the order of the study",
     .member = offsetof(evaluation_row, pipeline)},
    {"status", "pipeline", NULL, "ok, or the kind of failure, or unsafe if only some draws failed",
     .note = "see below", .member = offsetof(evaluation_row, status)},
    {"status_detail", "pipeline", NULL, "location and cause of the failure",
     .note = "for an ok pipeline its escalations or the result of max_loss, else "
             "empty",
     .member = offsetof(evaluation_row, status_detail)},
    {"device", "pipeline", NULL, "device that computed", .note = "`cpu`, `cuda` or `opencl`",
     .member = offsetof(evaluation_row, device)},
    {"qoi_relative_error", "pipeline", "1", "error of the quantity of interest",
     .note = "wafer, norm of u - u_ref over norm of u_ref over x and y, all scored points and "
             "steps (NaN "
             "where nothing is displaced); ao, difference of Strehl ratio over the reference's; "
             "fringe, rms of the phase minus the reference's over rms of the reference's, parts "
             "without their means; product, "
             "norm of Y - Y_ref over norm of Y_ref; reconstructor, norm of R - R_ref over norm of "
             "R_ref",
     .member = offsetof(evaluation_row, qoi_relative_error)},
    {"operator_bytes", "pipeline", "byte", "bytes of the operator as stored",
     .note = "0 for a matrix of zeros with a codec that stores only nonzero terms",
     .member = offsetof(evaluation_row, operator_bytes)},
    {"compression_ratio", "pipeline", "1", "bytes in fp32 over operator_bytes",
     .note = "NaN if that is 0", .member = offsetof(evaluation_row, compression_ratio)},
    {"flops", "pipeline", "1", "operations performed", .member = offsetof(evaluation_row, flops)},
    {"flops_dense_equivalent", "pipeline", "1", "operations of the dense algorithm",
     .member = offsetof(evaluation_row, flops_dense)},
    {"encode_time_s", "pipeline", "s", "time to compute and encode the operator",
     .note = "for wafer and product including the comparison",
     .member = offsetof(evaluation_row, encode_seconds), .measured = true},
    {"solve_time_s", "pipeline", "s", "time to apply, or to factor and solve",
     .note = "wafer and product: apply; ao and reconstructor: factor and solve; fringe: "
             "unwrapping, from the wrapped phase to the unwrapped phase in host memory",
     .member = offsetof(evaluation_row, solve_seconds), .measured = true},
    {"wall_s", "pipeline", "s", "time from the start to the checked result in host memory",
     .note =
         "ao and reconstructor, else NaN; reconstructors of ao that are only scored on a GPU stay "
         "in its memory; excludes, as do the other times, the first use of a device's kernels",
     .member = offsetof(evaluation_row, wall_seconds), .measured = true},
    {"energy_j", "pipeline", "J", "energy of apply, or factor and solve, gross",
     .note = "with `--energy`: products of wafer and product, unwrapping of fringe, "
             "assembly, factor and solve of ao and reconstructor; /provenance names "
             "the counter or the reason for NaN",
     .member = offsetof(evaluation_row, energy_joules), .measured = true},
    {"idle_power_w", "pipeline", "W", "power of the device before that work",
     .note = "NaN where energy_j is NaN", .member = offsetof(evaluation_row, idle_watts),
     .measured = true},
    {"cost_usd", "pipeline", "USD", "cost of the result on the machine of `machine:`",
     .note = "price over lifetime times wall_s, else solve_time_s, plus energy_j "
             "with a tariff; NaN without machine.price_usd, with the reason in "
             "/provenance",
     .member = offsetof(evaluation_row, cost_usd), .measured = true},
    {"draws", "pipeline", "1", "computations with independent random rounding",
     .note = "the first is the pipeline without extra randomness: all other results of a pipeline "
             "are from that one",
     .member = offsetof(evaluation_row, draws.tried)},
    {"loss_mean", "pipeline", "<of the loss>", "mean loss of the successful draws",
     .note = "the loss is the larger of `overlay_error_x_nm`, `overlay_error_y_nm` and, if "
             "present, `overlay_residual_nm` (wafer), `strehl_loss` (ao), `wrong_cycles_reference` "
             "(fringe), `qoi_relative_error` (product), `variance_loss` (reconstructor)",
     .member = offsetof(evaluation_row, draws.mean)},
    {"loss_std", "pipeline", "<of the loss>", "standard deviation of their loss",
     .note = "with divisor count - 1; NaN for fewer than two",
     .member = offsetof(evaluation_row, draws.deviation)},
    {"loss_worst", "pipeline", "<of the loss>", "their largest loss",
     .member = offsetof(evaluation_row, draws.worst)},
    {"draws_failed", "pipeline", "1", "draws that failed",
     .member = offsetof(evaluation_row, draws.failed)},
    {"failure_bound", "pipeline", "1",
     "upper bound on the probability that a draw fails, 95 % confidence, one-sided",
     .note = "Clopper and Pearson", .member = offsetof(evaluation_row, draws.failure_bound)},
};

const bb_output_table bb_evaluation_outputs = {.title = "/results, all experiments",
                                               .group = "results",
                                               .axes = "pipeline",
                                               BB_OUTPUT_ROWS(outputs)};

double bb_evaluation_compression(double fp32_bytes, double operator_bytes)
{
    return operator_bytes > 0.0 ? fp32_bytes / operator_bytes : NAN;
}

static const double seconds_a_year = 365.25 * 86400.0;
static const double joules_a_kwh = 3.6e6;

double bb_evaluation_cost(const bb_machine_price *machine, double seconds, double joules)
{
    const double share = seconds / (machine->lifetime_years * seconds_a_year);
    const bool metered = !isnan(machine->electricity_usd_per_kwh);
    return machine->price_usd * share +
           (metered ? machine->electricity_usd_per_kwh * joules / joules_a_kwh : 0.0);
}

// Notes in /provenance the terms of cost_usd, or why it is NaN.
static bb_status note_price(const bb_machine_price *machine, bb_results *results)
{
    char text[200];
    if (isnan(machine->price_usd)) {
        (void)snprintf(text, sizeof text, "NaN: machine.price_usd is not given");
    } else if (isnan(machine->electricity_usd_per_kwh)) {
        (void)snprintf(text, sizeof text, "%.9g USD over %.9g years, without electricity",
                       machine->price_usd, machine->lifetime_years);
    } else {
        (void)snprintf(text, sizeof text,
                       "%.9g USD over %.9g years, and %.9g USD per kWh: NaN where energy_j is NaN",
                       machine->price_usd, machine->lifetime_years,
                       machine->electricity_usd_per_kwh);
    }
    return bb_results_note(results, "provenance", "cost_usd", text);
}

// Time for which the result occupies the machine, for the same work as the joules: the whole time
// to R for factorizations, otherwise the time of the products.
static double occupied_seconds(const bb_evaluation *evaluation)
{
    return isnan(evaluation->wall_seconds) ? evaluation->solve_seconds : evaluation->wall_seconds;
}

static void fill_row(const bb_evaluation *evaluation, const bb_machine_price *machine,
                     evaluation_row *out)
{
    *out = (evaluation_row){
        .pipeline = evaluation->pipeline,
        .status_detail = out->detail,
        .device = bb_device_names[evaluation->device],
        .qoi_relative_error = evaluation->qoi_relative_error,
        .operator_bytes = evaluation->operator_bytes,
        .compression_ratio =
            bb_evaluation_compression(evaluation->fp32_bytes, evaluation->operator_bytes),
        .flops = evaluation->flops,
        .flops_dense = evaluation->flops_dense,
        .encode_seconds = evaluation->encode_seconds,
        .solve_seconds = evaluation->solve_seconds,
        .wall_seconds = evaluation->wall_seconds,
        .energy_joules = evaluation->energy_joules,
        .idle_watts = evaluation->idle_watts,
        .cost_usd = machine == NULL ? NAN
                                    : bb_evaluation_cost(machine, occupied_seconds(evaluation),
                                                         evaluation->energy_joules),
        .draws = bb_draws_summarise(&evaluation->draws),
    };
    describe_outcome(evaluation, &out->status, out->detail);
}

bb_status bb_evaluations_publish(const bb_evaluations *evaluations, const char *loss_unit,
                                 bb_results *results)
{
    bb_status status = BB_OK;
    evaluation_row *rows = NULL; // [evaluations->count]
    const bb_output_fill fill = {.unit = loss_unit};
    BB_TRY(note_devices(evaluations, results));
    BB_TRY(BB_ALLOCATE(evaluations->count, &rows));
    for (bb_index p = 0; p < evaluations->count; ++p) {
        fill_row(at(evaluations, p), evaluations->machine, &rows[p]);
    }
    if (evaluations->machine != NULL) {
        BB_TRY(note_price(evaluations->machine, results));
    }
    BB_TRY(bb_output_table_publish_records(&bb_evaluation_outputs, rows, sizeof *rows,
                                           evaluations->count, &fill, results));
done:
    BB_RELEASE(&rows);
    return status;
}
