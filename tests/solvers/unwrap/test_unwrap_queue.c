// SPDX-License-Identifier: Apache-2.0
//
// Queues, graphs and runs of an unwrapper on the CPU.
#include "tests/solvers/unwrap/queue_cases.h"

TEST_GROUP(.enter = open_context, .leave = close_context, .threads = 2);
