// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/field_stages.h"

#include <math.h>

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
