// SPDX-License-Identifier: Apache-2.0
//
// A sweep as jobs of Slurm: one array of its shards, and a job after it, whether or not all of them
// ended well (afterany), that collects. Of a search that job asks for the next generation, until
// there is none. What became of a point is read from the lines of the shards, never from Slurm.
#ifndef BB_SIM_SWEEP_SLURM_H
#define BB_SIM_SWEEP_SLURM_H

#include "sim/sweep/sweep_plan.h"

/// What the job after an array of a search has in its environment: points that were to do before
/// the array. Where it did none of them another one would not either.
#define BB_SLURM_OPEN "BITBUDGET_OPEN_POINTS"

enum { BB_SLURM_ELEMENTS = 1000 }; ///< of an array, MaxArraySize being 1001 as a rule

/// Zero-initialise.
typedef struct bb_slurm_request {
    const bb_sweep_plan *plan;
    const char *output;        ///< the collected file
    double max_loss;           ///< of the answer, NaN: none
    bb_index nodes;            ///< elements of the array, 0: one a shard, at most BB_SLURM_ELEMENTS
    const char *const *extras; ///< [extra_count] options for sbatch, of the array; those that say
                               ///< where it may run and who pays hold for the job after it too
    bb_index extra_count;
    bool print_only;
    bb_index open; ///< points of a search's generation that are to do
} bb_slurm_request;

/// Writes the two scripts into the plan's folder and submits them; appends what was submitted, or
/// with `print_only` the scripts and commands, and nothing is written then. Errors: BB_UNSUPPORTED
/// (no sbatch), BB_IO (it refuses, with its words), BB_MEMORY.
BB_CHECKED bb_status bb_slurm_submit(const bb_slurm_request *request, bb_text *out);

/// Memory that a job of Slurm has on this node, as its environment says, bytes; INFINITY outside of
/// one, and where it has all of the node.
double bb_slurm_memory(void);

#endif
