// SPDX-License-Identifier: Apache-2.0
//
// Stands in for panel_cholesky_cuda.cu in a build without CUDA, where no cuda device opens.
#include "solvers/factor/panels/panel_cholesky.h"

static bb_status absent(void)
{
    return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                         "factorization by panels: this build has no CUDA");
}

bb_status bb_panel_plan_check(const bb_panel_plan *plan)
{
    (void)plan;
    return absent();
}

bb_status bb_panel_low_rank_apply(bb_device *device, const bb_low_rank *part, bb_index n,
                                  bb_index m, double *r, bb_outcome *outcome, double *seconds)
{
    (void)device;
    (void)part;
    (void)n;
    (void)m;
    (void)r;
    (void)outcome;
    (void)seconds;
    return absent();
}

bb_status bb_panel_cholesky_create(bb_index gpus, bb_device *const *devices,
                                   const bb_panel_plan *plan, bb_panel_cholesky **out)
{
    (void)gpus;
    (void)devices;
    (void)plan;
    *out = NULL;
    return absent();
}

void bb_panel_cholesky_destroy(bb_panel_cholesky **factor)
{
    *factor = NULL;
}

bb_status bb_panel_cholesky_factor(bb_panel_cholesky *factor, const bb_panel_sources *sources,
                                   const double *scale, bb_outcome *outcome, bb_panel_times *times)
{
    (void)factor;
    (void)sources;
    (void)scale;
    (void)outcome;
    (void)times;
    return absent();
}

bb_status bb_panel_cholesky_sweep(bb_panel_cholesky *factor, bb_panel_times *times)
{
    (void)factor;
    (void)times;
    return absent();
}

bb_status bb_panel_cholesky_result(const bb_panel_cholesky *factor, double *out)
{
    (void)factor;
    (void)out;
    return absent();
}

bb_status bb_panel_cholesky_lower(const bb_panel_cholesky *factor, double *out)
{
    (void)factor;
    (void)out;
    return absent();
}
