// SPDX-License-Identifier: Apache-2.0
#include "core/team.h"
#include "tests/check.h"

enum { MEMBERS = 3, ROW = 2, BLOCK = 4 };

static struct {
    int root;
    const char *values;
    size_t bytes;
} calls[8];
static int called;

static bb_status note(int root, void *values, size_t bytes)
{
    calls[called].root = root;
    calls[called].values = values;
    calls[called++].bytes = bytes;
    return BB_OK;
}

TEST(a_process_by_itself_is_a_team)
{
    double values[3] = {1.0, 2.0, 3.0};
    bb_index begin = -1;
    bb_index end = -1;
    assert_int_equal(bb_team_joined()->rank, 0);
    assert_int_equal(bb_team_joined()->size, 1);
    bb_team_part(5, 0, &begin, &end);
    assert_int_equal(begin, 0);
    assert_int_equal(end, 5);
    check_ok(bb_team_gather(3, 2, sizeof *values, values));
    assert_true(values[0] == 1.0 && values[2] == 3.0);
}

// Every item has one owner, in order, and no part is larger than another by two.
TEST(parts_cover_all_items_once)
{
    const bb_team team = {.rank = 1, .size = MEMBERS, .broadcast = note};
    bb_team_join(&team);
    for (bb_index count = 0; count < 12; ++count) {
        bb_index next = 0;
        for (int rank = 0; rank < MEMBERS; ++rank) {
            bb_index begin = -1;
            bb_index end = -1;
            bb_team_part(count, rank, &begin, &end);
            assert_int_equal(begin, next);
            assert_in_range(end - begin, count / MEMBERS, (count + MEMBERS - 1) / MEMBERS);
            next = end;
        }
        assert_int_equal(next, count);
    }
    bb_team_join(NULL);
}

// 11 rows in blocks of 4: parts of 1 block each, the last of 3 rows; 5 rows: one rank has none.
TEST(rows_come_from_those_who_have_them)
{
    const bb_team team = {.rank = 2, .size = MEMBERS, .broadcast = note};
    char values[11 * ROW];
    bb_team_join(&team);
    called = 0;
    check_ok(bb_team_gather(11, BLOCK, ROW, values));
    assert_int_equal(called, 3);
    for (int rank = 0; rank < MEMBERS; ++rank) {
        assert_int_equal(calls[rank].root, rank);
        assert_ptr_equal(calls[rank].values, values + (ptrdiff_t)(rank * BLOCK) * ROW);
        assert_int_equal(calls[rank].bytes, (rank < 2 ? BLOCK : 3) * ROW);
    }
    called = 0;
    check_ok(bb_team_gather(5, BLOCK, ROW, values));
    assert_int_equal(called, 2);
    assert_int_equal(calls[0].root, 1);
    assert_int_equal(calls[1].root, 2);
    assert_int_equal(calls[1].bytes, ROW);
    bb_team_join(NULL);
}
