// SPDX-License-Identifier: Apache-2.0
#include "core/need.h"

#include <math.h>

bb_need bb_need_together(bb_need first, bb_need second)
{
    return (bb_need){.host_bytes = first.host_bytes + second.host_bytes,
                     .device_bytes = first.device_bytes + second.device_bytes,
                     .seconds = first.seconds + second.seconds};
}

bb_need bb_need_in_turn(bb_need first, bb_need second)
{
    return (bb_need){.host_bytes = fmax(first.host_bytes, second.host_bytes),
                     .device_bytes = fmax(first.device_bytes, second.device_bytes),
                     .seconds = first.seconds + second.seconds};
}

bb_need bb_need_copies(bb_need need, double count)
{
    return (bb_need){count * need.host_bytes, count * need.device_bytes, count * need.seconds};
}

bb_need bb_need_repeated(bb_need need, double count)
{
    need.seconds *= count;
    return need;
}

bb_need bb_need_resident(bb_need need)
{
    return bb_need_repeated(need, 0.0);
}

bb_need bb_need_shared(bb_need need, double threads)
{
    need.seconds /= threads;
    return need;
}
