// SPDX-License-Identifier: Apache-2.0
//
// Team (core/team.h) of the processes started by mpirun.
#ifndef BB_SOLVERS_DISTRIBUTED_TEAM_MPI_H
#define BB_SOLVERS_DISTRIBUTED_TEAM_MPI_H

#include "core/team.h"

/// All processes of MPI_COMM_WORLD; valid until MPI is finalised. MPI must be initialised.
void bb_team_mpi_join(void);

#endif
