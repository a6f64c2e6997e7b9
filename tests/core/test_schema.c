// SPDX-License-Identifier: Apache-2.0
#include "core/schema.h"
#include "tests/check.h"

typedef struct inner {
    double share;
    bb_index count;
} inner;

typedef struct outer {
    double length_m;
    double depth_m;
    inner part;
} outer;

static const bb_key inner_keys[] = {
    {.name = "share",
     .kind = BB_KEY_DOUBLE,
     .unit = "1",
     .offset = offsetof(inner, share),
     .minimum = 0.0,
     .maximum = 1.0,
     .exclusive_maximum = true,
     .meaning = "A share."},
    {.name = "count",
     .kind = BB_KEY_INTEGER,
     .unit = "1",
     .offset = offsetof(inner, count),
     .minimum = 1.0,
     .maximum = 9.0,
     .optional = true,
     .meaning = "A count."},
};
static const bb_schema inner_schema = BB_SCHEMA("part", inner, inner_keys);

static const bb_key outer_keys[] = {
    {.name = "length_m",
     .kind = BB_KEY_DOUBLE,
     .unit = "m",
     .offset = offsetof(outer, length_m),
     .minimum = 0.0,
     .maximum = 10.0,
     .exclusive_minimum = true,
     .meaning = "A length."},
    {.name = "depth_m",
     .kind = BB_KEY_DOUBLE,
     .unit = "m",
     .offset = offsetof(outer, depth_m),
     .optional = true,
     .meaning = "A depth, without a range."},
    {.name = "part",
     .kind = BB_KEY_GROUP,
     .offset = offsetof(outer, part),
     .schema = &inner_schema,
     .meaning = "A part."},
};
static const bb_schema outer_schema = BB_SCHEMA("outer", outer, outer_keys);

TEST(numbers_are_held_to_their_ranges)
{
    const outer good = {.length_m = 10.0, .depth_m = -1e9, .part = {.share = 0.0, .count = 9}};
    check_ok(bb_schema_check(&outer_schema, &good, ""));
    outer bad = good;
    bad.length_m = 0.0;
    check_fails(bb_schema_check(&outer_schema, &bad, "box"), BB_INVALID,
                "box.length_m = 0 m, expected a finite number > 0 and <= 10");
    bad = good;
    bad.depth_m = INFINITY;
    check_fails(bb_schema_check(&outer_schema, &bad, ""), BB_INVALID, "depth_m = inf m");
    assert_int_equal(bb_status_message()[0], 'd');
    bad.depth_m = NAN; // unset
    bad.part.count = BB_INTEGER_UNSET;
    check_ok(bb_schema_check(&outer_schema, &bad, ""));
    bad.length_m = NAN;
    check_fails(bb_schema_check(&outer_schema, &bad, ""), BB_INVALID, "length_m = nan m");
}

TEST(groups_are_walked_with_their_path)
{
    outer bad = {.length_m = 1.0, .depth_m = NAN, .part = {.share = 1.0, .count = 1}};
    check_fails(bb_schema_check(&outer_schema, &bad, ""), BB_INVALID,
                "part.share = 1, expected a finite number >= 0 and < 1");
    bad.part = (inner){.share = 0.5, .count = 10};
    check_fails(bb_schema_check(&outer_schema, &bad, "boxes[3]"), BB_INVALID,
                "boxes[3].part.count = 10, expected 1..9");
}
