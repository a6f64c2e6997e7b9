// SPDX-License-Identifier: Apache-2.0
//
// The enums and structs that bitbudget.h declares by itself equal those of core/.

// The header as a user includes it, with names that do not collide with those of core/.
// clang-format off
#define bb_index        public_index
#define bb_status       public_status
#define BB_OK           PUBLIC_OK
#define BB_INVALID      PUBLIC_INVALID
#define BB_IO           PUBLIC_IO
#define BB_MEMORY       PUBLIC_MEMORY
#define BB_DEVICE       PUBLIC_DEVICE
#define BB_UNSUPPORTED  PUBLIC_UNSUPPORTED
#define BB_INTERNAL     PUBLIC_INTERNAL
#define BB_DIFFERENT    PUBLIC_DIFFERENT
#define bb_outcome      public_outcome
#define bb_outcome_kind public_outcome_kind
#define bb_outcome_name public_outcome_name
#define bb_status_message public_status_message
#define bb_status_name  public_status_name
#define bb_status_clear public_status_clear
#define BB_OUTCOME_OK   PUBLIC_OUTCOME_OK
#define BB_OUTCOME_NOT_SPD         PUBLIC_OUTCOME_NOT_SPD
#define BB_OUTCOME_NON_FINITE      PUBLIC_OUTCOME_NON_FINITE
#define BB_OUTCOME_NOT_CONVERGED   PUBLIC_OUTCOME_NOT_CONVERGED
#define BB_OUTCOME_UNDERDETERMINED PUBLIC_OUTCOME_UNDERDETERMINED
#define BB_OUTCOME_NOT_HELD        PUBLIC_OUTCOME_NOT_HELD
#include "lib/bitbudget.h"
#undef bb_index
#undef bb_status
#undef BB_OK
#undef BB_INVALID
#undef BB_IO
#undef BB_MEMORY
#undef BB_DEVICE
#undef BB_UNSUPPORTED
#undef BB_INTERNAL
#undef BB_DIFFERENT
#undef bb_outcome
#undef bb_outcome_kind
#undef bb_outcome_name
#undef bb_status_message
#undef bb_status_name
#undef bb_status_clear
#undef BB_OUTCOME_OK
#undef BB_OUTCOME_NOT_SPD
#undef BB_OUTCOME_NON_FINITE
#undef BB_OUTCOME_NOT_CONVERGED
#undef BB_OUTCOME_UNDERDETERMINED
#undef BB_OUTCOME_NOT_HELD

#include "core/outcome.h"
#include "tests/check.h"
// clang-format on

#define SAME(name)                                                                                 \
    _Static_assert((int)BB_##name == (int)PUBLIC_##name, "bitbudget.h: another value of "          \
                                                         "BB_" #name)
SAME(OK);
SAME(INVALID);
SAME(IO);
SAME(MEMORY);
SAME(DEVICE);
SAME(UNSUPPORTED);
SAME(INTERNAL);
SAME(DIFFERENT);
SAME(OUTCOME_OK);
SAME(OUTCOME_NOT_SPD);
SAME(OUTCOME_NON_FINITE);
SAME(OUTCOME_NOT_CONVERGED);
SAME(OUTCOME_UNDERDETERMINED);
SAME(OUTCOME_NOT_HELD);
_Static_assert(sizeof(bb_index) == sizeof(public_index), "bitbudget.h: another bb_index");
_Static_assert(sizeof(bb_outcome) == sizeof(public_outcome) &&
                   offsetof(bb_outcome, detail) == offsetof(public_outcome, detail),
               "bitbudget.h: another bb_outcome");

// The last code and kind have names, and there are no further ones.
TEST(codes_of_the_header_are_complete)
{
    assert_string_equal(bb_status_name((bb_status)PUBLIC_DIFFERENT), bb_status_name(BB_DIFFERENT));
    assert_string_equal(bb_status_name((bb_status)(PUBLIC_DIFFERENT + 1)), "unknown");
    assert_string_equal(bb_outcome_name((bb_outcome_kind)PUBLIC_OUTCOME_NOT_HELD), "not_held");
}
