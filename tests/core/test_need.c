// SPDX-License-Identifier: Apache-2.0
#include "core/need.h"
#include "tests/check.h"

static void expect(bb_need got, double host, double device, double seconds)
{
    check_close(got.host_bytes, host, 0.0, 1.0);
    check_close(got.device_bytes, device, 0.0, 1.0);
    check_close(got.seconds, seconds, 0.0, 1.0);
}

TEST(needs_add_up_as_their_names_say)
{
    const bb_need first = {.host_bytes = 100.0, .device_bytes = 3.0, .seconds = 8.0};
    const bb_need second = {.host_bytes = 40.0, .device_bytes = 7.0, .seconds = 2.0};
    expect(bb_need_together(first, second), 140.0, 10.0, 10.0);
    expect(bb_need_in_turn(first, second), 100.0, 7.0, 10.0);
    expect(bb_need_in_turn(second, first), 100.0, 7.0, 10.0);
    expect(bb_need_copies(first, 3.0), 300.0, 9.0, 24.0);
    expect(bb_need_repeated(first, 3.0), 100.0, 3.0, 24.0);
    expect(bb_need_resident(first), 100.0, 3.0, 0.0);
    expect(bb_need_shared(first, 4.0), 100.0, 3.0, 2.0);
}
