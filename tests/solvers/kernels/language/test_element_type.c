// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/language/expression.h"
#include "tests/check.h"

// Rows: sources; columns: targets B INT32 SP DP SP2 DP2 index.
TEST(test_widening)
{
    static const char *const expected[] = {
        "1111111", // B
        "0111111", // INT32
        "0011110", // SP
        "0001010", // DP
        "0000110", // SP2
        "0000010", // DP2
        "0111111", // index
    };
    for (int source = 0; source <= BB_ELEMENT_TYPE_COUNT; ++source) {
        for (int target = 0; target <= BB_ELEMENT_TYPE_COUNT; ++target) {
            const bool got =
                bb_element_type_widens((bb_element_type)source, (bb_element_type)target);
            if (got != (expected[source][target] == '1')) {
                fail_msg("%s to %s: got %d", bb_element_type_row((bb_element_type)source)->name,
                         bb_element_type_row((bb_element_type)target)->name, got);
            }
        }
    }
}

TEST(test_names)
{
    for (int type = 0; type < BB_ELEMENT_TYPE_COUNT; ++type) {
        bb_element_type found = BB_ELEMENT_INDEX;
        check_ok(bb_element_type_find(bb_element_type_row((bb_element_type)type)->name, &found));
        assert_int_equal(found, type);
    }
    bb_element_type found = BB_ELEMENT_INDEX;
    check_fails(bb_element_type_find("int32", &found), BB_INVALID, "did you mean INT32?");
    check_fails(bb_element_type_find("DP3", &found), BB_INVALID, "did you mean DP?");
    check_fails(bb_element_type_find("USED_FLOAT", &found), BB_INVALID,
                "unknown type 'USED_FLOAT', expected B, INT32, SP, DP, SP2 or DP2");
    check_fails(bb_element_type_find("index", &found), BB_INVALID, "unknown type 'index'");
    check_fails(bb_element_type_find("", &found), BB_INVALID, "unknown type ''");
    assert_int_equal(found, BB_ELEMENT_INDEX);
}
