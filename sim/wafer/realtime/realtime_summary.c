// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_summary.h"

#include <math.h>
#include <string.h>

const int bb_realtime_kinds[BB_REALTIME_KINDS] = {BB_STEP_ALL, BB_STEP_LIGHT, BB_STEP_HEAT,
                                                  BB_STEP_DARK};
const char *const bb_realtime_kind_names[BB_REALTIME_KINDS] = {"all", "light", "heat", "dark"};
const char *const bb_realtime_stage_names[BB_STEP_STAGES] = {
    "state", "input", "reading and products", "outputs", "waiting for matrices", "launch and host"};

// Latencies are those of any GPU, stages are each one's.
static bb_status sum_up_kind(int k, bb_realtime_summary *out)
{
    bb_status status = BB_OK;
    const bb_realtime_measurement *measured = out->measured;
    const double deadline = 1e-3 * out->loop->study->realtime.deadline_ms;
    for (int g = out->loop->gpus - 1; g >= 0; --g) {
        BB_TRY(bb_latency_summarise(measured->count, measured->records[g], bb_realtime_kinds[k],
                                    deadline, &out->of[k]));
        memcpy(out->stage_median[k][g], out->of[k].stage_median, sizeof out->stage_median[k][g]);
    }
done:
    return status;
}

static void sum_up_waits(bb_realtime_summary *out)
{
    const bb_realtime_measurement *measured = out->measured;
    for (bb_index i = 0; i < measured->count; ++i) {
        double longest = NAN;
        for (int g = 0; g < out->loop->gpus; ++g) {
            longest = fmax(longest, measured->records[g][i].stage[BB_STEP_MATRICES]);
        }
        out->fields_begun += !isnan(longest);
        out->fields_waited += longest > 0.0;
        out->longest_wait = fmax(out->longest_wait, longest);
    }
}

bb_status bb_realtime_summarise(const bb_wafer_loop *loop, const bb_realtime_measurement *measured,
                                bb_realtime_summary *out)
{
    bb_status status = BB_OK;
    *out = (bb_realtime_summary){.loop = loop, .measured = measured, .longest_wait = NAN};
    BB_REQUIRE(measured->count > 0, BB_INVALID, "interrupted before the first measured step");
    for (int k = 0; k < BB_REALTIME_KINDS; ++k) {
        BB_TRY(sum_up_kind(k, out));
    }
    out->worst_count =
        bb_latency_worst(measured->count, measured->records[0], BB_REALTIME_WORST, out->worst);
    sum_up_waits(out);
done:
    return status;
}
