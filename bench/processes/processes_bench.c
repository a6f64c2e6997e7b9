// SPDX-License-Identifier: Apache-2.0
//
// The factorization by the engine over processes (solvers/distributed/engine.h), of the symmetric
// matrix of bench_source.h, each process with as many workers as threads. By itself it is held to
// this program's own engine in the same variant, over several to ScaLAPACK's pspotrf on the same
// grid, which has fp32 alone. Rounds alternate; seconds are the slowest process's.
#include "bench/bench.h"
#include "bench/bench_source.h"
#include "bench/processes/scalapack_peer.h"
#include "core/clock.h"
#include "core/team.h"
#include "solvers/distributed/engine.h"
#include "solvers/factor/tiles/tile_cholesky.h"

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 5 };

// All start together, and all know the slowest one's time.
static bb_status agree(double *seconds)
{
    bb_status status = BB_OK;
    const bb_team *team = bb_team_joined();
    double slowest = 0.0;
    for (int rank = 0; rank < team->size; ++rank) {
        double spent = *seconds;
        BB_TRY(team->broadcast(rank, &spent, sizeof spent));
        slowest = fmax(slowest, spent);
    }
    *seconds = slowest;
done:
    return status;
}

static bb_status factor(const bb_engine_row *row, const bb_engine_config *config,
                        const bb_matrix_source *source, const bb_tile_plan *plan,
                        bb_bench_times *times)
{
    bb_status status = BB_OK;
    bb_engine *engine = NULL;
    bb_tile_matrix *matrix = NULL;
    bb_outcome outcome = {0};
    double seconds = 0.0;
    BB_TRY(row->create(config, &engine));
    BB_TRY(row->load(engine, source, NULL, plan, &matrix));
    BB_TRY(agree(&seconds));
    const double begin = bb_clock_seconds();
    BB_TRY(row->factor(engine, matrix, 4, &outcome, NULL));
    seconds = bb_clock_seconds() - begin;
    BB_TRY(agree(&seconds));
    bb_bench_add(times, seconds);
    BB_REQUIRE(outcome.kind == BB_OUTCOME_OK, BB_INTERNAL, "%s: %s", row->name, outcome.detail);
done:
    bb_tile_matrix_destroy(&matrix);
    if (engine != NULL) {
        row->destroy(&engine);
    }
    return status;
}

static bb_status factor_by_peer(bb_scalapack_peer *peer, const bb_matrix_source *source,
                                bb_index tile, bb_bench_times *times)
{
    bb_status status = BB_OK;
    double seconds = 0.0;
    BB_TRY(bb_scalapack_peer_time(peer, source, tile, &seconds));
    BB_TRY(agree(&seconds));
    bb_bench_add(times, seconds);
done:
    return status;
}

bb_status bb_bench_processes(const bb_bench_case *self, const bb_bench_setup *setup,
                             bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const int processes = bb_team_joined()->size;
    const bb_index n = setup->quick ? 256 : setup->n > 0 ? setup->n : self->n;
    const bb_matrix_source source = bb_decay_source(&bb_decay_matrix, n, n, "bench");
    const bb_tile_plan plan = {.tile_size = setup->quick ? 64 : 512,
                               .arithmetic = (bb_variant)self->choice,
                               .policy = {.kind = BB_POLICY_UNIFORM, .diagonal = BB_POLICY_FOLLOW}};
    const bb_engine_config config = {
        .grid = bb_process_grid_of(processes), .wire = BB_WIRE_FOLLOW, .workers = setup->threads};
    bb_scalapack_peer *peer = NULL;
    bb_bench_times shared = {0};
    bb_bench_times other = {0};
    if (bb_engine_offered() == NULL) {
        (void)snprintf(out->detail, sizeof out->detail, "skipped: bitbudget-mpi has the engine");
        out->best_s = out->median_s = NAN;
        goto done;
    }
    if (processes > 1 &&
        bb_scalapack_peer_create(config.grid.rows, config.grid.columns, &peer) != BB_OK) {
        bb_status_clear(); // without a peer it is timed alone
    }
    for (int round = 0; round < ROUNDS; ++round) {
        BB_TRY(factor(bb_engine_offered(), &config, &source, &plan, &shared));
        if (processes == 1) {
            BB_TRY(factor(&bb_engine_own, &config, &source, &plan, &other));
        } else if (peer != NULL) {
            BB_TRY(factor_by_peer(peer, &source, plan.tile_size, &other));
        }
    }
    out->best_s = bb_bench_best(&shared);
    out->median_s = bb_bench_median(&shared);
    out->flops = bb_tile_cholesky_flops(n, 0);
    out->against = processes == 1 ? "own" : "pspotrf";
    out->bar = processes == 1 ? 1.0 / 1.15 : 1.0 / 1.2;
    out->binds = "flops";
    if (other.count > 0) {
        out->peer = 1e-9 * out->flops / bb_bench_best(&other);
        out->ratio = bb_bench_median(&other) / out->median_s;
    }
    (void)snprintf(out->detail, sizeof out->detail,
                   "n %td, tile %td, %dx%d processes of %td; ratio of medians%s", n, plan.tile_size,
                   config.grid.rows, config.grid.columns, setup->threads,
                   other.count == 0 ? "; no ScaLAPACK here" : "");
done:
    bb_scalapack_peer_destroy(&peer);
    return status;
}
