// SPDX-License-Identifier: Apache-2.0
//
// The processes that mpirun started, as a team (core/team.h).
#ifndef BB_SOLVERS_DISTRIBUTED_TEAM_MPI_H
#define BB_SOLVERS_DISTRIBUTED_TEAM_MPI_H

#include "core/team.h"

/// All processes of MPI_COMM_WORLD, joined until MPI ends. MPI has been started.
void bb_team_mpi_join(void);

#endif
