// SPDX-License-Identifier: Apache-2.0
//
// Delivery of the corrections of every pipeline (physics/wafer/overlay/delivery.h): numbers of
// steps with no correction or an older one in force.
#include "core/memory.h"
#include "sim/wafer/wafer_work.h"

static bb_status check(const void *all, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_list *missed = &pipelines[p].delivery.missed_steps;
        for (bb_index i = 0; i < missed->count; ++i) {
            bb_index step = ((const bb_index *)missed->items)[i];
            BB_TRY(bb_study_refuse(step >= study->scan.light_steps, config, problems,
                                   "pipelines.%td.delivery.missed_steps: %td, expected less than "
                                   "scan.light_steps = %td",
                                   p, step, study->scan.light_steps));
        }
    }
done:
    return status;
}

// Results of a pipeline, over the scored fields.
typedef struct delivery_row {
    double late, missed, held, uncorrected;
} delivery_row;

static const bb_output rows[] = {
    {"delivery_late_steps", "pipeline", "1", "delay of the corrections in light steps",
     .note = "as configured", BB_MEMBER(delivery_row, late)},
    {"delivery_missed_steps", "pipeline", "1", "light steps with a missed correction",
     .note = "over the scored fields", BB_MEMBER(delivery_row, missed)},
    {"delivery_held_steps", "pipeline", "1", "light steps with an older correction in force",
     BB_MEMBER(delivery_row, held)},
    {"delivery_uncorrected_steps", "pipeline", "1", "light steps without a correction in force",
     BB_MEMBER(delivery_row, uncorrected)},
};
static const bb_output_table outputs = {"/results, wafer: the overlay report", NULL, "results",
                                        "pipeline", BB_OUTPUT_ROWS(rows)};

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    const bb_product_pipeline *pipelines = work->study.pipelines.items;
    const bb_index count = work->study.pipelines.count;
    const bb_index steps = work->problem->scan->light_steps;
    bb_index *in_force = NULL;       // [steps]
    delivery_row *deliveries = NULL; // [pipelines]
    BB_TRY(BB_ALLOCATE(steps, &in_force));
    BB_TRY(BB_ZEROED(count, &deliveries));
    for (bb_index p = 0; p < count; ++p) {
        const bb_delivery_config *delivery = &pipelines[p].delivery;
        deliveries[p].late = (double)delivery->late_steps;
        for (bb_index f = 0; f < work->problem->scored_count; ++f) {
            const bb_index exposure = work->problem->scored[f];
            bb_delivery_plan(delivery, exposure, steps, in_force);
            for (bb_index n = 0; n < steps; ++n) {
                deliveries[p].missed += bb_delivery_misses(delivery, exposure, steps, n);
                deliveries[p].held += in_force[n] >= 0 && in_force[n] < n;
                deliveries[p].uncorrected += in_force[n] < 0;
            }
        }
    }
    BB_TRY(bb_output_table_publish_records(&outputs, deliveries, sizeof *deliveries, count, NULL,
                                           results));
done:
    BB_RELEASE(&in_force);
    BB_RELEASE(&deliveries);
    return status;
}

const bb_part bb_wafer_delivery_part = {
    .name = "delivery", .check = check, .run = run, .outputs = BB_OUTPUTS(&outputs)};
