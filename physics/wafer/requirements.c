// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/requirements.h"

#include <math.h>
#include <stdbool.h>

bb_requirements bb_requirements_of(const bb_requirement_sizes *sizes, bb_reading reading)
{
    enum { WORD_BYTES = 4 };
    const bool printed = reading == BB_READING_PRINTED;
    const double all = sizes->light + sizes->dark;
    const double steps = printed ? sizes->dark : sizes->light;
    const double m = sizes->window;
    const double s = sizes->sources;
    const double t = sizes->unknowns;
    bb_requirements out = {
        .deformation_flop = steps * m * (2.0 * s - 1.0),
        .thermal_flop = all * t * (2.0 * sizes->entries + 2.0 * sizes->inputs - 1.0),
        .deformation_bytes = WORD_BYTES * steps * (m * s + s + m),
        .thermal_bytes = WORD_BYTES * all * t * (2.0 * (printed ? t : sizes->entries) + 3.0),
        .field_bytes = WORD_BYTES * sizes->field_points * s,
    };
    out.flop = sizes->axes * out.deformation_flop + out.thermal_flop;
    out.flops = out.flop / sizes->budget;
    out.flops_axis = (out.deformation_flop + out.thermal_flop) / sizes->budget;
    out.bytes_per_s_axis = (out.deformation_bytes + out.thermal_bytes) / sizes->budget;
    out.link_bytes_per_s = out.field_bytes / sizes->budget;
    return out;
}

double bb_requirements_entries(double nodes, double clamp_nodes, double ratio)
{
    enum { STENCIL = 9 };
    const double line = (2.0 * ratio - 1.0) / ratio;
    const double both = nodes + clamp_nodes;
    return (STENCIL * both + 2.0 * line * line * nodes) / both;
}

bb_field_stages bb_field_stages_at(double bytes, double flop, double link, double decode_rate,
                                   double flops, double ratio)
{
    return (bb_field_stages){.transfer = bytes / link,
                             .decode = bytes / decode_rate,
                             .compute = flop / flops,
                             .ratio = ratio};
}

bb_field_schedule bb_field_schedule_plain(const bb_field_stages *stages)
{
    return (bb_field_schedule){.period = fmax(stages->transfer, stages->compute),
                               .latency = stages->compute + stages->transfer};
}

bb_field_schedule bb_field_schedule_compressed(const bb_field_stages *stages)
{
    const double transfer = stages->transfer / stages->ratio;
    return (bb_field_schedule){.period = fmax(transfer, stages->compute + stages->decode),
                               .latency = stages->compute + transfer + stages->decode};
}

bool bb_field_decodes_in_time(const bb_field_stages *stages)
{
    return stages->decode <= stages->transfer;
}
