// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_parts.h"
#include "tests/check.h"

// Two parts that meet below, one that meets nothing, one that touches by a corner only.
TEST(parts_are_what_neighbours_connect)
{
    static const char *const drawing = "##.##"
                                       "#..##"
                                       "####."
                                       "....#"
                                       "#...#";
    static const int32_t labels[] = {0, 0,  -1, 0,  0,  0,  -1, -1, 0,  0,  0,  0, 0,
                                     0, -1, -1, -1, -1, -1, 1,  2,  -1, -1, -1, 1};
    unsigned char mask[25];
    bb_unwrap_parts parts;
    for (int p = 0; p < 25; ++p) {
        mask[p] = drawing[p] == '#';
    }
    check_ok(bb_unwrap_parts_create(mask, 5, 5, &parts));
    for (int p = 0; p < 25; ++p) {
        assert_int_equal(parts.labels[p], labels[p]);
    }
    assert_int_equal(parts.count, 3);
    assert_int_equal(parts.point_count, 14);
    assert_int_equal(parts.sizes[0], 11);
    assert_int_equal(parts.sizes[1], 2);
    assert_int_equal(parts.sizes[2], 1);
    assert_int_equal(parts.run_count, 3);
    assert_int_equal(parts.starts[3], 14);
    assert_int_equal(parts.firsts[2], 2);
    assert_int_equal(parts.order[11], 19);
    assert_int_equal(parts.order[13], 20);
    bb_unwrap_parts_release(&parts);
}

// Runs are cut at their maximum length and at the end of a part, and contain each point once.
TEST(runs_cover_every_point_once)
{
    enum { COLUMNS = 70, ROWS = 50 };
    static unsigned char mask[ROWS * COLUMNS], seen[ROWS * COLUMNS];
    bb_unwrap_parts parts;
    memset(mask, 1, sizeof mask);
    memset(mask + 30 * COLUMNS, 0, COLUMNS);
    check_ok(bb_unwrap_parts_create(mask, COLUMNS, ROWS, &parts));
    assert_int_equal(parts.count, 2);
    assert_int_equal(parts.run_count, 17 + 11); // 2100 and 1330 points
    assert_int_equal(parts.group_count, 2);
    assert_int_equal(parts.heads[1], 17);
    assert_int_equal(parts.heads[2], parts.run_count);
    assert_int_equal(parts.firsts[2], parts.group_count);
    for (bb_index run = 0; run < parts.run_count; ++run) {
        assert_in_range(parts.starts[run + 1] - parts.starts[run], 1, BB_UNWRAP_RUN);
        for (int32_t k = parts.starts[run]; k < parts.starts[run + 1]; ++k) {
            assert_int_equal(parts.labels[parts.order[k]], parts.owners[run]);
            seen[parts.order[k]] += 1;
        }
    }
    assert_memory_equal(seen, mask, sizeof mask);
    bb_unwrap_parts_release(&parts);
}

// In one part of 70 x 50 points, the second run is points 128 to 255, reordered so that every
// fourth one comes first.
TEST(a_run_begins_with_every_fourth_point)
{
    enum { COLUMNS = 70, ROWS = 50, QUARTER = BB_UNWRAP_RUN / 4 };
    static unsigned char mask[ROWS * COLUMNS];
    bb_unwrap_parts parts;
    memset(mask, 1, sizeof mask);
    check_ok(bb_unwrap_parts_create(mask, COLUMNS, ROWS, &parts));
    const int32_t *run = parts.order + parts.starts[1];
    for (int k = 0; k < QUARTER; ++k) {
        assert_int_equal(run[k], BB_UNWRAP_RUN + 4 * k);
    }
    assert_int_equal(run[QUARTER], BB_UNWRAP_RUN + 1);
    bb_unwrap_parts_release(&parts);
}

// 300 x 100 points are 235 runs, two groups of one part.
TEST(a_group_has_so_many_runs)
{
    enum { COLUMNS = 300, ROWS = 100 };
    static unsigned char mask[ROWS * COLUMNS];
    bb_unwrap_parts parts;
    memset(mask, 1, sizeof mask);
    check_ok(bb_unwrap_parts_create(mask, COLUMNS, ROWS, &parts));
    assert_int_equal(parts.group_count, 2);
    assert_int_equal(parts.heads[1], BB_UNWRAP_GROUP);
    assert_int_equal(parts.heads[2], 235);
    bb_unwrap_parts_release(&parts);
}

// A serpentine of 9 x 5 points: 8 steps along each of three rows and 2 between two rows, from one
// corner to the opposite one. On a staircase no path is longer than the distance. The larger detour
// of two parts counts: 8, and 10 from the lower right corner to the inner end. Then vertical paths,
// and a part next to a point, with as many gaps as bends.
TEST(detours_are_longer_than_distances)
{
    static const struct {
        const char *drawing;
        bb_index detour;
    } cases[] = {{"#########"
                  "........#"
                  "#########"
                  "#........"
                  "#########",
                  16},
                 {"#########"
                  "#########"
                  "###......"
                  "##......."
                  "#........",
                  0},
                 {"###.#####"
                  "#.#.#...#"
                  "#.#.#.#.#"
                  "#.#.###.#"
                  "#.#.#...#",
                  10},
                 {"#.###.###"
                  "#.#.#.#.#"
                  "#.#.#.#.#"
                  "#.#.#.#.#"
                  "###.###.#",
                  16},
                 {"#.#......"
                  "###......"
                  "........."
                  "...#....."
                  ".........",
                  2}};
    for (int i = 0; i < 5; ++i) {
        unsigned char mask[45];
        bb_unwrap_parts parts;
        for (int p = 0; p < 45; ++p) {
            mask[p] = cases[i].drawing[p] == '#';
        }
        check_ok(bb_unwrap_parts_create(mask, 9, 5, &parts));
        assert_int_equal(parts.detour, cases[i].detour);
        bb_unwrap_parts_release(&parts);
    }
}

TEST(an_empty_mask_has_no_part)
{
    const unsigned char mask[6] = {0};
    bb_unwrap_parts parts;
    check_ok(bb_unwrap_parts_create(mask, 3, 2, &parts));
    assert_int_equal(parts.count, 0);
    bb_unwrap_parts_release(&parts);
}
