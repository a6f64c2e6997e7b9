// SPDX-License-Identifier: Apache-2.0
//
// What command_team.c works on, for it and its test alone.
#ifndef BB_SOLVERS_LOOP_COMMAND_TEAM_PARTS_H
#define BB_SOLVERS_LOOP_COMMAND_TEAM_PARTS_H

#include "solvers/loop/command_team.h"

struct bb_command_team {
    int devices, matrices;
    unsigned long long posted, taken; // frames
    bb_command_loop *loops[BB_COMMAND_DEVICES];
    bb_index rows[BB_COMMAND_DEVICES][BB_COMMAND_MATRICES]; // that a device has of a matrix
    int64_t ahead_ns[BB_COMMAND_DEVICES];                   // that a clock is of the first one's
    bool has_release[BB_COMMAND_AHEAD];                     // frame f, at f modulo BB_COMMAND_AHEAD
};

#endif
