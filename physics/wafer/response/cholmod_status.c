// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/cholmod_status.h"

bb_status bb_cholmod_status(const cholmod_common *common, const char *step, const char *body)
{
    bb_status status = BB_OK;
    BB_REQUIRE(common->status != CHOLMOD_OUT_OF_MEMORY, BB_MEMORY, "out of memory in %s of the %s",
               step, body);
    BB_REQUIRE(common->status != CHOLMOD_NOT_POSDEF, BB_INVALID,
               "the %s's stiffness is not positive definite in fp64: stiffer springs or a coarser "
               "mesh are needed",
               body);
    BB_REQUIRE(common->status >= CHOLMOD_OK, BB_INTERNAL, "CHOLMOD status %d in %s of the %s",
               common->status, step, body);
done:
    return status;
}
