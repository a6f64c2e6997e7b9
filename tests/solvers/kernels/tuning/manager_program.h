// SPDX-License-Identifier: Apache-2.0
//
// Programs of managers' descriptions, and of texts in their place, for tests of the tuner.
#ifndef BB_TESTS_SOLVERS_KERNELS_TUNING_MANAGER_PROGRAM_H
#define BB_TESTS_SOLVERS_KERNELS_TUNING_MANAGER_PROGRAM_H

#include "solvers/kernels/kernel_manager.h"
#include "tests/solvers/kernels/program_fixture.h"

static inline const bb_kernel_manager *manager_of(const char *name)
{
    const bb_kernel_manager *found = NULL;
    check_ok(bb_kernel_manager_find(name, &found));
    return found;
}

static inline void make_manager(program_fixture *fixture, const bb_kernel_manager *manager,
                                const char *type)
{
    fixture_make(fixture, bb_kernel_manager_text(manager->file), "T", type);
}

#endif
