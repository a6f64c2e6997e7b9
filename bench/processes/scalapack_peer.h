// SPDX-License-Identifier: Apache-2.0
//
// ScaLAPACK's pspotrf over the processes of a team, as an expert would call it: the library is
// loaded where it is found, the matrix is dealt block-cyclically and filled in place.
#ifndef BB_BENCH_PROCESSES_SCALAPACK_PEER_H
#define BB_BENCH_PROCESSES_SCALAPACK_PEER_H

#include "core/matrix_source.h"

typedef struct bb_scalapack_peer bb_scalapack_peer;

/// Loads the library and joins a grid of rows x columns processes; all call. Errors: BB_UNSUPPORTED
/// where there is none, BB_MEMORY.
BB_CHECKED bb_status bb_scalapack_peer_create(int rows, int columns, bb_scalapack_peer **out);
void bb_scalapack_peer_destroy(bb_scalapack_peer **peer);

/// Fills this process's blocks of `block` rows in fp32 and factors: seconds of pspotrf here. All
/// call. Errors: BB_MEMORY, the source's, BB_INTERNAL (not positive definite).
BB_CHECKED bb_status bb_scalapack_peer_time(bb_scalapack_peer *peer, const bb_matrix_source *source,
                                            bb_index block, double *seconds);

#endif
