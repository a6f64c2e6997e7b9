// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/overlay/delivery.h"

#include "core/memory.h"
#include "core/random.h"

// clang-format off
static const bb_key keys[] = {
    {.name = "late_steps", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_delivery_config, late_steps), .minimum = 0.0, .maximum = 100000.0,
     .default_text = "0",
     .meaning = "Light steps of delay of each correction."},
    {.name = "missed_fraction", .kind = BB_KEY_DOUBLE, .unit = "1",
     .offset = offsetof(bb_delivery_config, missed_fraction), .minimum = 0.0, .maximum = 1.0,
     .default_text = "0.0",
     .meaning = "Probability that a correction never arrives."},
    {.name = "missed_steps", .kind = BB_KEY_INTEGERS, .unit = "1",
     .offset = offsetof(bb_delivery_config, missed_steps), .minimum = 0.0, .maximum = 100000.0,
     .optional = true,
     .meaning = "Light steps of every field, from 0, without a correction."},
    {.name = "seed", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_delivery_config, seed), .minimum = 0.0, .maximum = 9007199254740992.0,
     .default_text = "1",
     .meaning = "Seed of the random missed corrections."},
};
// clang-format on
const bb_schema bb_delivery_schema = BB_SCHEMA("delivery", bb_delivery_config, keys);

bool bb_delivery_on_time(const bb_delivery_config *config)
{
    return config->late_steps == 0 && config->missed_fraction == 0.0 &&
           config->missed_steps.count == 0;
}

bool bb_delivery_misses(const bb_delivery_config *config, bb_index exposure, bb_index light_steps,
                        bb_index step)
{
    const bb_index *listed = config->missed_steps.items;
    for (bb_index i = 0; i < config->missed_steps.count; ++i) {
        if (listed[i] == step) {
            return true;
        }
    }
    return bb_random_uniform((uint64_t)config->seed, BB_STREAM_MISSED_DEADLINE,
                             (uint64_t)(exposure * light_steps + step)) < config->missed_fraction;
}

void bb_delivery_plan(const bb_delivery_config *config, bb_index exposure, bb_index light_steps,
                      bb_index *in_force)
{
    bb_index newest = -1;
    for (bb_index step = 0; step < light_steps; ++step) {
        bb_index arriving = step - config->late_steps;
        if (arriving >= 0 && !bb_delivery_misses(config, exposure, light_steps, arriving)) {
            newest = arriving;
        }
        in_force[step] = newest;
    }
}

bb_status bb_delivery_residual(bb_index light_steps, const bb_index *in_force, const double *truth,
                               const double *model, bb_dwell *dwell)
{
    bb_status status = BB_OK;
    double *remainder = NULL;
    bb_index points = dwell->slit.window_points;
    BB_TRY(BB_ALLOCATE(points, &remainder));
    for (bb_index step = 0; step < light_steps; ++step) {
        const double *expected = truth + step * points;
        const double *applied = in_force[step] < 0 ? NULL : model + in_force[step] * points;
        for (bb_index p = 0; p < points; ++p) {
            remainder[p] = expected[p] - (applied == NULL ? 0.0 : applied[p]);
        }
        bb_dwell_add(dwell, step, remainder);
    }
done:
    BB_RELEASE(&remainder);
    return status;
}
