// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/peers/gemv_peer.h"

bb_status bb_gemv_peer_create(bb_device *device, bb_gemv_peer_kind kind, bb_index rows,
                              bb_index columns, const double *x, bb_gemv_peer **out)
{
    bb_status status = BB_OK;
    (void)device;
    (void)kind;
    (void)rows;
    (void)columns;
    (void)x;
    *out = NULL;
    BB_FAIL(BB_UNSUPPORTED, "this build has no CUDA");
done:
    return status;
}

void bb_gemv_peer_destroy(bb_gemv_peer **peer)
{
    *peer = NULL;
}

bb_status bb_gemv_peer_load(bb_gemv_peer *peer, bb_index row, const double *values)
{
    (void)peer;
    (void)row;
    (void)values;
    return BB_UNSUPPORTED;
}

bb_status bb_gemv_peer_time(bb_gemv_peer *peer, int repeats, double *seconds)
{
    (void)peer;
    (void)repeats;
    (void)seconds;
    return BB_UNSUPPORTED;
}

bb_status bb_gemv_peer_result(bb_gemv_peer *peer, double *y)
{
    (void)peer;
    (void)y;
    return BB_UNSUPPORTED;
}
