// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bb_status print_latencies(const bb_realtime_summary *of, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\n%-7s%9s%9s%9s%9s%9s%9s%9s%9s%8s\n", "steps", "count", "mean",
                       "p50", "p99", "p99.9", "p99.99", "max", "max/p50", "misses"));
    for (int k = 0; k < BB_REALTIME_KINDS; ++k) {
        const bb_latency_summary *s = &of->of[k];
        if (s->count > 0) {
            BB_TRY(bb_text_add(table, "%-7s%9td%9.2f%9.2f%9.2f%9.2f%9.2f%9.2f%9.2f%8td\n",
                               bb_realtime_kind_names[k], s->count, 1e6 * s->mean, 1e6 * s->p50,
                               1e6 * s->p99, 1e6 * s->p999, 1e6 * s->p9999, 1e6 * s->max,
                               s->max_over_median, s->misses));
        }
    }
    const bb_latency_summary *all = &of->of[0];
    BB_TRY(bb_text_add(
        table, "latencies in us; deadline %g us: ", 1e3 * of->loop->study->realtime.deadline_ms));
    BB_TRY(all->misses == 0
               ? bb_text_add(table, "no miss, rate below %.3g at 95 %%\n", all->miss_bound)
               : bb_text_add(table, "miss rate %.3g, below %.3g at 95 %%\n", all->miss_rate,
                             all->miss_bound));
done:
    return status;
}

// "light", or "light 1" where there are several GPUs.
static void name_row(const bb_realtime_summary *of, int kind, int gpu, char out[16])
{
    if (of->loop->gpus == 1) {
        (void)snprintf(out, 16, "%s", bb_realtime_kind_names[kind]);
    } else {
        (void)snprintf(out, 16, "%s %d", bb_realtime_kind_names[kind], gpu);
    }
}

static bb_status print_stage_row(const bb_realtime_summary *of, int kind, int gpu, bb_text *table)
{
    bb_status status = BB_OK;
    char name[16];
    name_row(of, kind, gpu, name);
    BB_TRY(bb_text_add(table, "%-7s", name));
    for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
        const int width = (int)strlen(bb_realtime_stage_names[stage]) + 2;
        const double value = of->stage_median[kind][gpu][stage];
        BB_TRY(isnan(value) ? bb_text_add(table, "%*s", width, "-")
                            : bb_text_add(table, "%*.2f", width, 1e6 * value));
    }
    BB_TRY(bb_text_add(table, "\n"));
done:
    return status;
}

static bb_status print_stages(const bb_realtime_summary *of, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\n%-7s", "stage"));
    for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
        BB_TRY(bb_text_add(table, "  %s", bb_realtime_stage_names[stage]));
    }
    BB_TRY(bb_text_add(table, "  (median us%s)\n", of->loop->gpus > 1 ? ", by GPU" : ""));
    for (int k = 1; k < BB_REALTIME_KINDS; ++k) {
        for (int g = 0; of->of[k].count > 0 && g < of->loop->gpus; ++g) {
            BB_TRY(print_stage_row(of, k, g, table));
        }
    }
done:
    return status;
}

static bb_status print_worst(const bb_realtime_summary *of, bb_text *table)
{
    bb_status status = BB_OK;
    BB_TRY(bb_text_add(table, "\nworst  at [s]      exposure  step  kind   latency [us]  "
                              "stages [us], as above\n"));
    for (bb_index i = 0; i < of->worst_count; ++i) {
        const bb_step_record *record = &of->measured->records[0][of->worst[i]];
        BB_TRY(bb_text_add(table, "%5td  %-10.6f  %8d  %4d  %-5s  %12.2f ", i + 1, record->release,
                           (int)record->exposure, (int)record->step,
                           bb_realtime_kind_names[record->kind + 1], 1e6 * record->latency));
        for (int g = 0; g < of->loop->gpus; ++g) {
            record = &of->measured->records[g][of->worst[i]];
            BB_TRY(bb_text_add(table, "%s", g == 0 ? "" : " |"));
            for (int stage = 0; stage < BB_STEP_STAGES; ++stage) {
                const double value = record->stage[stage];
                BB_TRY(isnan(value) ? bb_text_add(table, " -")
                                    : bb_text_add(table, " %.2f", 1e6 * value));
            }
        }
        BB_TRY(bb_text_add(table, "\n"));
    }
done:
    return status;
}

// Table 1 of the seed beside what was measured.
static bb_status print_streaming(const bb_realtime_summary *of, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_field_times *field = &of->measured->field;
    if (!of->loop->streamed) {
        return BB_OK;
    }
    BB_TRY(bb_text_add(table,
                       "matrices cross field by field: %.1f MB a field, 1 / %.2f of fp32; %td of "
                       "%td fields waited for them",
                       1e-6 * of->loop->field_bytes, field->ratio, of->fields_waited,
                       of->fields_begun));
    BB_TRY(of->fields_waited == 0
               ? bb_text_add(table, "\n")
               : bb_text_add(table, ", at most %.3f ms\n", 1e3 * of->longest_wait));
    BB_TRY(bb_text_add(table, "\n%-22s%10s%12s%10s%10s\n", "a field [ms]", "transfer",
                       "computation", "period", "latency"));
    BB_TRY(bb_text_add(table, "%-22s%10.3f%12.3f%10.3f%10.3f\n", "predicted for fp32",
                       1e3 * field->transfer * field->ratio, 1e3 * field->each,
                       1e3 * field->plain.period, 1e3 * field->plain.latency));
    BB_TRY(bb_text_add(table, "%-22s%10.3f%12.3f%10.3f%10.3f\n", "predicted", 1e3 * field->transfer,
                       1e3 * field->each, 1e3 * field->predicted.period,
                       1e3 * field->predicted.latency));
    BB_TRY(bb_text_add(table, "%-22s%10.3f%12.3f%10.3f%10.3f\n", "measured", 1e3 * field->transfer,
                       1e3 * field->each, 1e3 * field->measured.period,
                       1e3 * field->measured.latency));
done:
    return status;
}

static bb_status print_host(const bb_realtime_summary *of, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *m = of->measured;
    const bb_host_state *host = &m->before;
    BB_TRY(bb_text_add(table,
                       "\nhost: %s; kernel %s; hypervisor: %s; isolated cores: %s; "
                       "governor: %s\n",
                       host->processor, host->kernel, host->hypervisor, host->isolated,
                       host->governor));
    BB_TRY(bb_text_add(table, "load: %s before, %s after\n", host->load, m->after.load));
    BB_TRY(bb_text_add(table, "thread: %s; memory %s; %s\n", m->thread.core, m->thread.memory,
                       m->thread.policy));
    for (int g = 0; g < of->loop->gpus; ++g) {
        BB_TRY(
            bb_text_add(table, "device %d: %s, %s\n", g, m->device[g].name, m->device[g].driver));
    }
    BB_TRY(bb_text_add(table, "clocks sm, memory, and their most: %s\n", m->after.clocks));
done:
    return status;
}

static bb_status print_head(const bb_realtime_summary *of, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_config *config = &of->loop->study->realtime;
    const bb_realtime_measurement *m = of->measured;
    const int gpus = of->loop->gpus;
    BB_TRY(bb_text_add(table, "pipeline %s, %d axes, %td fields, %.1f MB of matrices on ",
                       of->loop->pipeline->name, of->loop->axes, of->loop->problem->scored_count,
                       1e-6 * of->loop->device_bytes));
    BB_TRY(gpus == 1 ? bb_text_add(table, "the device\n")
                     : bb_text_add(table, "%d GPUs, axes dealt to them in turn\n", gpus));
    BB_TRY(config->release == (int)BB_RELEASE_FIXED
               ? bb_text_add(table, "%td steps, released every %g ms", m->count, config->period_ms)
               : bb_text_add(table, "%td steps, released back to back", m->count));
    BB_TRY(config->ahead == 0
               ? bb_text_add(table, ", by the host's clock")
               : bb_text_add(table, ", by the device's clock, queued %td ahead", config->ahead));
    BB_TRY(bb_text_add(table, ", %.3f s%s\n", m->wall_seconds,
                       m->interrupted ? "; ended by an interrupt" : ""));
done:
    return status;
}

bb_status bb_realtime_table(const bb_realtime_summary *of, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *m = of->measured;
    BB_TRY(print_head(of, table));
    BB_TRY(print_latencies(of, table));
    if (of->loop->study->realtime.ahead > 0 && m->least_queued >= 0) {
        BB_TRY(bb_text_add(table,
                           "the device never had fewer than %td of %td steps to go on with\n",
                           m->least_queued, of->loop->study->realtime.ahead));
    }
    BB_TRY(print_stages(of, table));
    BB_TRY(print_worst(of, table));
    BB_TRY(bb_text_add(table,
                       "\na field, %td steps back to back, median of %d: %.3f ms, each step waited "
                       "for; %.3f ms queued at once\n",
                       of->loop->steps, (int)BB_FIELD_ROUNDS, 1e3 * m->field.each,
                       1e3 * m->field.queued));
    BB_TRY(print_streaming(of, table));
    BB_TRY(print_host(of, table));
done:
    return status;
}
