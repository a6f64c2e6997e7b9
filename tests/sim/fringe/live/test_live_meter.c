// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "sim/fringe/live/live_table.h"
#include "tests/check.h"

TEST(quantiles_are_ranks)
{
    bb_live_meter meter = {0};
    bb_latency found;
    check_ok(bb_live_meter_all(&meter, &found));
    assert_true(isnan(found.p50) && isnan(found.p99) && isnan(found.max));
    for (int k = 0; k < 5000; ++k) { // 0 to 4999, shuffled
        check_ok(bb_live_meter_add(&meter, (double)(k * 1237 % 5000)));
    }
    check_ok(bb_live_meter_all(&meter, &found));
    assert_true(found.p50 == 2499.0 && found.p99 == 4949.0 && found.max == 4999.0);
    assert_true(meter.count == 5000 && bb_live_meter_count(&meter) == 5000);
    bb_live_meter_release(&meter);
    assert_int_equal(bb_memory_blocks(), 0);
}

TEST(a_line_is_about_what_came_since_the_last)
{
    autorelease(bb_live_meter) meter = {0};
    bb_latency found;
    bb_index count = 0;
    for (int k = 0; k < 10; ++k) {
        check_ok(bb_live_meter_add(&meter, 100.0 + k));
    }
    check_ok(bb_live_meter_recent(&meter, &count, &found));
    assert_true(count == 10 && found.p50 == 104.0 && found.max == 109.0);
    check_ok(bb_live_meter_add(&meter, 3.0));
    check_ok(bb_live_meter_add(&meter, 2.0));
    check_ok(bb_live_meter_recent(&meter, &count, &found));
    assert_true(count == 2 && found.p50 == 2.0 && found.p99 == 3.0 && found.max == 3.0);
    check_ok(bb_live_meter_recent(&meter, &count, &found));
    assert_true(count == 0 && isnan(found.p50));
}

// A full ring drops the first latencies; the overall maximum stays known.
TEST(the_last_ones_are_kept)
{
    autorelease(bb_live_meter) meter = {0};
    bb_latency found;
    check_ok(bb_live_meter_add(&meter, 9e9));
    for (bb_index k = 0; k < BB_LIVE_LATENCIES; ++k) {
        check_ok(bb_live_meter_add(&meter, (double)k));
    }
    assert_int_equal(bb_live_meter_count(&meter), BB_LIVE_LATENCIES);
    check_ok(bb_live_meter_all(&meter, &found));
    assert_true(found.p50 == BB_LIVE_LATENCIES / 2 - 1);
    assert_true(found.max == 9e9);
}
