// SPDX-License-Identifier: Apache-2.0
#include "solvers/loop/control_loop.h"

bb_need bb_control_loop_need(double nodes, double cells)
{
    // Bytes measured on a grid of 0.5 mm: rows of A, B and states per node; rows of W and x per
    // cell.
    static const double node_bytes = 130.0;
    static const double cell_bytes = 64.0;
    return (bb_need){.device_bytes = node_bytes * nodes + cell_bytes * cells};
}
