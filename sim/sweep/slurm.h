// SPDX-License-Identifier: Apache-2.0
//
// Sweep as Slurm jobs: an array of its shards, and a job after it (afterany: also after failures)
// that collects. For a search that job submits the next generation until there is none. The state
// of points is read from the records of the shards, not from Slurm.
#ifndef BB_SIM_SWEEP_SLURM_H
#define BB_SIM_SWEEP_SLURM_H

#include "sim/sweep/sweep_plan.h"

/// Environment variable of the job after the array of a search: number of points pending before the
/// array. If the array completed none of them, it is not repeated.
#define BB_SLURM_OPEN "BITBUDGET_OPEN_POINTS"

enum { BB_SLURM_ELEMENTS = 1000 }; ///< most elements of an array; the usual MaxArraySize is 1001

/// Jobs to submit. Zero-initialise.
typedef struct bb_slurm_request {
    const bb_sweep_plan *plan;
    const char *output; ///< the collected file
    double max_loss;    ///< limit for the answer, NaN: none
    bb_index nodes;     ///< elements of the array, 0: one for each shard, at most BB_SLURM_ELEMENTS
    const char *const *extras; ///< [extra_count] options of sbatch for the array; the options for
                               ///< place and account also apply to the job after it
    bb_index extra_count;
    bool print_only;
    bb_index open; ///< number of pending points of a search's generation
} bb_slurm_request;

/// Writes the two scripts to the plan's folder and submits them; appends the numbers of the jobs.
/// With `print_only`, appends the scripts and commands and writes nothing. Errors: BB_UNSUPPORTED
/// (no sbatch), BB_IO (sbatch failed), BB_MEMORY.
BB_CHECKED bb_status bb_slurm_submit(const bb_slurm_request *request, bb_text *out);

/// Memory of a Slurm job on this node according to its environment, bytes; INFINITY outside of a
/// job, or if it has the whole node.
double bb_slurm_memory(void);

#endif
