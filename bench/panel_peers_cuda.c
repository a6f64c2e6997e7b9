// SPDX-License-Identifier: Apache-2.0
#include "bench/panel_peers.h"
#include "bench/peers/library_loop.h"
#include "bench/peers/potrf_peer.h"
#include "core/log.h"

#include <math.h>

enum { ROUNDS = 3, MOST_PEERS = 16, WARM_ROWS = 1024, LOOP_PANEL = 1024 };

static const double enough_s = 2.0;

static struct known {
    bb_bench_matrix_kind kind;
    bb_index n;
    bb_panel_peers times;
} known[MOST_PEERS]; // those of this process: at 98304 rows one takes seconds

typedef bb_status (*peer_call)(const bb_device_source *matrix, double *seconds);

static bb_status call_loop(const bb_device_source *matrix, double *seconds)
{
    return bb_library_loop_time(matrix, LOOP_PANEL, seconds);
}

static bb_status time_rounds(peer_call call, bb_device *device, bb_bench_matrix_kind kind,
                             bb_index n, int rounds, double *best)
{
    bb_status status = BB_OK;
    bb_bench_matrix matrix = {0};
    double spent = 0.0;
    *best = INFINITY;
    BB_TRY(bb_bench_matrix_open(kind, n, device, &matrix));
    for (int round = 0; round < rounds && spent < enough_s; ++round) {
        double seconds = 0.0;
        BB_TRY(call(matrix.twin, &seconds));
        *best = fmin(*best, seconds);
        spent += seconds;
    }
done:
    bb_bench_matrix_close(&matrix);
    return status;
}

// What a host or a GPU cannot do is a reason to go without a peer, not an error.
static bb_status time_peer(peer_call call, const char *name, bb_device *device,
                           bb_bench_matrix_kind kind, bb_index n, double *best)
{
    double warm = 0.0;
    bb_status status = time_rounds(call, device, BB_BENCH_DECAY, WARM_ROWS, 1, &warm);
    status = status == BB_OK ? time_rounds(call, device, kind, n, ROUNDS, best) : status;
    if (status == BB_MEMORY || status == BB_UNSUPPORTED) {
        bb_log_warning("bench: no %s at n = %td: %s", name, n, bb_status_message());
        bb_status_clear();
        *best = NAN;
        status = BB_OK;
    }
    return status;
}

bb_status bb_panel_peers_find(bb_device *device, bb_bench_matrix_kind kind, bb_index n,
                              bb_panel_peers *out)
{
    bb_status status = BB_OK;
    int place = 0;
    while (place + 1 < MOST_PEERS && known[place].n != 0 &&
           (known[place].n != n || known[place].kind != kind)) {
        ++place;
    }
    if (known[place].n != n || known[place].kind != kind) {
        bb_panel_peers times = {NAN, NAN};
        BB_TRY(time_peer(bb_potrf_peer_time, "potrf", device, kind, n, &times.potrf_s));
        BB_TRY(time_peer(call_loop, "library loop", device, kind, n, &times.loop_s));
        known[place] = (struct known){kind, n, times};
    }
    *out = known[place].times;
done:
    return status;
}
