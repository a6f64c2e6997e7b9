// SPDX-License-Identifier: Apache-2.0
#include "core/thread.h"
#include "tests/check.h"
#include "physics/ao/monte_carlo.h"
#include "physics/ao/pair_strehl.h"
#include "tests/physics/ao/chain.h"
#include <stdlib.h>
static void probe(void **state)
{
    (void)state;
    check_ok(bb_threads_set(2));
    const bb_index frames = getenv("FRAMES") ? atol(getenv("FRAMES")) : 200;
    const int which = getenv("CASE") ? atoi(getenv("CASE")) : 0;
    ao_case c = case_without_stars(8.0, 10);
    c.atmosphere.profile = BB_PROFILE_MOAO_2;
    if (which == 0) { add_star(&c, BB_GUIDE_STAR_NGS, 0, 0); }
    if (which >= 1) { add_star(&c, BB_GUIDE_STAR_LGS, 17, 3); add_star(&c, BB_GUIDE_STAR_LGS, -12, 14);
    add_star(&c, BB_GUIDE_STAR_NGS, 9, -21); c.stars[0].altitude_km = 90; c.stars[1].altitude_km=90; c.stars[2].magnitude = 11;}
    if (which == 3) { c.telescope.diameter_m = 8; c.stars[0].lenslets = 8; c.stars[2].lenslets=7; add_star(&c, BB_GUIDE_STAR_NGS, -30, 11); }
    add_target(&c, which == 3 ? 6 : 0, which==3 ? -4:0);
    chain k = chain_run(&c, true);
    const bb_ao_config config = case_config(&c);
    bb_tomography *t = NULL;
    check_ok(bb_tomography_create(&config, true, &t));
    double wl[2] = {1.65e-6, 2.2e-6};
    double sr[2]; bb_tomography_score score = {.strehl = sr};
    bb_outcome o = {0};
    check_ok(bb_tomography_rate(t, 0, k.cee, 2, wl, &score, NULL, &o));
    double *v; check_ok(BB_ALLOCATE(1000*1000, &v));
    check_ok(bb_point_spread_voltages(t->targets[0].spread, k.cee, v));
    double p[2], p2[2];
    check_ok(bb_pair_strehl(t->targets[0].spread, v, 4, 2, wl, p));
    check_ok(bb_pair_strehl(t->targets[0].spread, v, 8, 2, wl, p2));
    printf("stationary %.5f %.5f rms %g; pairs %.5f %.5f, finer %.5f %.5f\n", sr[0], sr[1], score.residual_rms*1e9, p[0], p[1], p2[0], p2[1]);
    bb_monte_carlo_config mc = {frames, getenv("PPS") ? atol(getenv("PPS")) : 8, 4.0, 4};
    bb_frame_sampler *s = NULL;
    check_ok(bb_frame_sampler_create(t, &mc, false, &s));
    bb_frame_mean a[2], w[2], st[3]; bb_index seps[3] = {1,2,5};
    bb_monte_carlo_estimate e = {.r = k.r, .correctable = a, .whole = w};
    bb_monte_carlo_task task = {.seed = 5, .frames = frames, .wavelength_count = 2, .wavelengths_m = wl, .estimate_count = 1, .estimates=&e, .separation_count=3, .separations=seps, .structure=st};
    check_ok(bb_monte_carlo_run(s, &task));
    printf("screen %td\n", bb_frame_sampler_screen(s).points);
    for (int i=0;i<2;i++) printf("mc %.5f +- %.5f  (stationary %.1f, pairs %.1f sigma), whole %.5f +- %.5f\n", a[i].mean, a[i].error, (a[i].mean-sr[i])/a[i].error, (a[i].mean-p[i])/a[i].error, w[i].mean, w[i].error);
    printf("rms %.2f nm\n", 1e9*sqrt(e.residual_m2.mean));
    for (int i=0;i<3;i++) printf("structure %.4f +- %.4f\n", st[i].mean, st[i].error);
    chain_release(&k);
}
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(probe)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
