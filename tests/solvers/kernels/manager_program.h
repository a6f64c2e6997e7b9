// SPDX-License-Identifier: Apache-2.0
//
// Programs of the managers' descriptions, and of replacement texts, for tests of the tuner.
#ifndef BB_TESTS_SOLVERS_KERNELS_MANAGER_PROGRAM_H
#define BB_TESTS_SOLVERS_KERNELS_MANAGER_PROGRAM_H

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
    bb_type_binding types[BB_MANAGER_TYPES];
    const int count = bb_kernel_manager_types(manager, type, types);
    *fixture = (program_fixture){.data = {{0}}};
    check_ok(bb_kernel_manager_read(manager->file, manager->name, types, count,
                                    &fixture->description, &fixture->program));
}

#endif
