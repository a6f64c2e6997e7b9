// SPDX-License-Identifier: Apache-2.0
#include "sim/evaluation.h"

#include "core/memory.h"
#include "sim/study.h"

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
                           .factor = bb_factor_report_start()};
}

bb_status bb_evaluation_unset(bb_index count, double **out)
{
    BB_RETURN_IF_FAILED(BB_ALLOCATE(count, out));
    for (bb_index i = 0; i < count; ++i) {
        (*out)[i] = NAN;
    }
    return BB_OK;
}

bb_status bb_evaluations_publish_number(bb_results *results, const char *name, const char *unit,
                                        const char *long_name, const double *values)
{
    char path[96];
    (void)snprintf(path, sizeof path, "results/%s", name);
    return bb_results_values(results, path, unit, long_name, "pipeline", values);
}

bb_status bb_evaluations_publish_factors(bb_results *results, bb_index count,
                                         const bb_evaluation *const *evaluations)
{
    const bb_factor_report *facts[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < count && p < BB_STUDY_PIPELINES; ++p) {
        facts[p] = &evaluations[p]->factor;
    }
    return bb_factor_report_publish(results, count, facts);
}

bb_status bb_evaluations_publish_draws(bb_results *results, const char *unit, bb_index count,
                                       const bb_evaluation *const *evaluations)
{
    const bb_draws *draws[BB_STUDY_PIPELINES];
    for (bb_index p = 0; p < count && p < BB_STUDY_PIPELINES; ++p) {
        draws[p] = &evaluations[p]->draws;
    }
    return bb_draws_publish(results, unit, count, draws);
}

// Name, architecture and driver of a device that computed, as provenance/<kind>_name and so on.
static bb_status note_device(bb_results *results, bb_device_kind kind)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_device_report report;
    const char *prefix = bb_device_names[kind];
    BB_TRY(bb_device_open(kind, 0, &device));
    BB_TRY(bb_device_describe(device, &report));
    const struct {
        const char *suffix, *text;
    } notes[] = {
        {"name", report.name}, {"architecture", report.architecture}, {"driver", report.driver}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "device_%s_%s", prefix, notes[i].suffix);
        BB_TRY(bb_results_note(results, "provenance", name, notes[i].text));
    }
done:
    bb_device_close(&device);
    return status;
}

// "cpu", "cuda" or "cpu, cuda": what computed, in the place of what was asked for.
static bb_status note_devices(bb_results *results, bb_index count,
                              const bb_evaluation *const *evaluations)
{
    char names[32] = "";
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        bool used = false;
        for (bb_index p = 0; p < count; ++p) {
            used = used || evaluations[p]->device == (bb_device_kind)kind;
        }
        if (used) {
            size_t index = strlen(names);
            (void)snprintf(names + index, sizeof names - index, "%s%s", index == 0 ? "" : ", ",
                           bb_device_names[kind]);
            BB_RETURN_IF_FAILED(note_device(results, (bb_device_kind)kind));
        }
    }
    return bb_results_note(results, "provenance", "device", names);
}

enum { DETAIL_BYTES = 320 };

// Status and detail of a pipeline: draw 0's where no other draw ended otherwise.
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

static bb_status publish_texts(bb_results *results, bb_index count,
                               const bb_evaluation *const *evaluations)
{
    bb_status status = BB_OK;
    const char *names[BB_STUDY_PIPELINES];
    const char *states[BB_STUDY_PIPELINES];
    const char *details[BB_STUDY_PIPELINES];
    const char *devices[BB_STUDY_PIPELINES];
    char lines[BB_STUDY_PIPELINES][DETAIL_BYTES];
    for (bb_index p = 0; p < count; ++p) {
        names[p] = evaluations[p]->pipeline;
        describe_outcome(evaluations[p], &states[p], lines[p]);
        details[p] = lines[p];
        devices[p] = bb_device_names[evaluations[p]->device];
    }
    BB_TRY(bb_results_text_axis(results, "results/pipeline", "name of the pipeline", count, names));
    BB_TRY(
        bb_results_texts(results, "results/status",
                         "ok, or how the computation failed, or unsafe where only some draws did",
                         "pipeline", states));
    BB_TRY(bb_results_texts(results, "results/status_detail", "where and what failed", "pipeline",
                            details));
    BB_TRY(
        bb_results_texts(results, "results/device", "device that computed", "pipeline", devices));
done:
    return status;
}

enum { QOI, BYTES, RATIO, FLOPS, FLOPS_DENSE, ENCODE, SOLVE, WALL, ENERGY, COLUMNS };

static const struct {
    const char *path, *unit, *long_name;
    bool measured;
} columns[COLUMNS] = {
    [QOI] = {"results/qoi_relative_error", "1", "error of the quantity of interest", false},
    [BYTES] = {"results/operator_bytes", "byte", "operator as stored", false},
    [RATIO] = {"results/compression_ratio", "1", "bytes in fp32 over operator_bytes", false},
    [FLOPS] = {"results/flops", "1", "operations done", false},
    [FLOPS_DENSE] = {"results/flops_dense_equivalent", "1", "operations of the dense algorithm",
                     false},
    [ENCODE] = {"results/encode_time_s", "s", "making and encoding the operator", true},
    [SOLVE] = {"results/solve_time_s", "s", "apply, or factor and solve", true},
    [WALL] = {"results/wall_s", "s", "from the start to the result, looked at, in host memory",
              true},
    [ENERGY] = {"results/energy_j", "J", "energy of apply, or factor and solve", true},
};

double bb_evaluation_compression(double fp32_bytes, double operator_bytes)
{
    return operator_bytes > 0.0 ? fp32_bytes / operator_bytes : NAN;
}

static void list_numbers(const bb_evaluation *evaluation, double out[COLUMNS])
{
    out[QOI] = evaluation->qoi_relative_error;
    out[BYTES] = evaluation->operator_bytes;
    out[RATIO] = bb_evaluation_compression(evaluation->fp32_bytes, evaluation->operator_bytes);
    out[FLOPS] = evaluation->flops;
    out[FLOPS_DENSE] = evaluation->flops_dense;
    out[ENCODE] = evaluation->encode_seconds;
    out[SOLVE] = evaluation->solve_seconds;
    out[WALL] = evaluation->wall_seconds;
    out[ENERGY] = evaluation->energy_joules;
}

bb_status bb_evaluations_publish(bb_results *results, bb_index count,
                                 const bb_evaluation *const *evaluations)
{
    bb_status status = BB_OK;
    double values[COLUMNS][BB_STUDY_PIPELINES];
    double numbers[COLUMNS];
    BB_REQUIRE(count <= BB_STUDY_PIPELINES, BB_INTERNAL, "%td pipelines, expected at most %d",
               count, BB_STUDY_PIPELINES);
    BB_TRY(note_devices(results, count, evaluations));
    BB_TRY(publish_texts(results, count, evaluations));
    for (bb_index p = 0; p < count; ++p) {
        list_numbers(evaluations[p], numbers);
        for (int c = 0; c < COLUMNS; ++c) {
            values[c][p] = numbers[c];
        }
    }
    for (int c = 0; c < COLUMNS; ++c) {
        BB_TRY((columns[c].measured ? bb_results_measured : bb_results_values)(
            results, columns[c].path, columns[c].unit, columns[c].long_name, "pipeline",
            values[c]));
    }
done:
    return status;
}
