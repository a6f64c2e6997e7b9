// SPDX-License-Identifier: Apache-2.0
//
// Crank-Nicolson steps and time-dependent exchange: by hand, order of convergence, energy balance.
#include "core/thread.h"
#include "solvers/step/stepper.h"
#include "tests/check.h"

// A chain of `n` unknowns coupled by conductances of 1; the first is coupled to the outside with
// 0.5.
static void chain(bb_index n, bb_csr *out)
{
    autorelease(bb_triplets) list = {0};
    check_ok(bb_triplets_add(&list, 0, 0, 0.5));
    for (bb_index i = 0; i + 1 < n; ++i) {
        check_ok(bb_triplets_add(&list, i, i, 1.0));
        check_ok(bb_triplets_add(&list, i + 1, i + 1, 1.0));
        check_ok(bb_triplets_add(&list, i, i + 1, -1.0));
        check_ok(bb_triplets_add(&list, i + 1, i, -1.0));
    }
    check_ok(bb_csr_assemble(n, n, &list, out));
}

// T' = T / 2 + 2 u - 2 g (T - 3): from 0 with u = 1, g = 0.25: 2 + 1.5, then 1.75 + 2 - 0.25.
TEST(explicit_exchange_by_hand)
{
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) a;
    const double b = 2.0;
    const double u = 1.0;
    const double g = 0.25;
    const int32_t where = 0;
    const bb_stepper_input input = {1, &where, &u, 1, &where, &g, 3.0, 0};
    check_ok(bb_triplets_add(&list, 0, 0, 0.5));
    check_ok(bb_csr_assemble(1, 1, &list, &a));
    autoptr(bb_stepper) stepper = new_object(bb_stepper, &a, &b);
    check_ok(bb_stepper_advance(stepper, &input));
    assert_true(bb_stepper_state(stepper)[0] == 3.5);
    assert_true(bb_stepper_exchanged(stepper)[0] == 0.0);
    check_ok(bb_stepper_advance(stepper, &input));
    assert_true(bb_stepper_state(stepper)[0] == 3.5);
    assert_true(bb_stepper_exchanged(stepper)[0] == 3.5);
}

// One unknown, M = 2, S = 0.5, dt = 0.4, u = 1, g = 0.3 to 3: (2 + 0.1 + 0.15) D = 1 + 0.9.
TEST(implicit_step_by_hand)
{
    autorelease(bb_csr) s;
    autoptr(bb_stepper) stepper = NULL;
    const double m = 2.0;
    const double u = 1.0;
    const double g = 0.3;
    const int32_t where = 0;
    const bb_stepper_input input = {1, &where, &u, 1, &where, &g, 3.0, 0};
    chain(1, &s);
    check_ok(bb_stepper_create_implicit(&s, &m, 0.4, &stepper));
    check_ok(bb_stepper_advance(stepper, &input));
    check_relative(bb_stepper_state(stepper)[0], 1.9 / 2.25, 1e-15);
    check_relative(bb_stepper_exchanged(stepper)[0], 0.95 / 2.25, 1e-15);
    // Without the exchange the diagonal is unchanged.
    check_ok(bb_stepper_step(stepper, 0, NULL, NULL));
    check_relative(bb_stepper_state(stepper)[0], 1.9 / 2.25 * 1.9 / 2.1, 1e-15);
}

// M T' = -S T + q - h(t) T with time-dependent h: error after one second in `steps` steps against a
// run with many steps. Also explicit.
static double final_state(bb_index steps, bool implicit)
{
    enum { N = 5 };
    autorelease(bb_csr) s;
    autorelease(bb_triplets) list = {0};
    autorelease(bb_csr) a;
    autoptr(bb_stepper) stepper = NULL;
    const double m[N] = {1.0, 2.0, 1.5, 1.0, 3.0};
    double inverse[N];
    const double dt = 1.0 / (double)steps;
    const int32_t where[2] = {1, 3};
    chain(N, &s);
    for (bb_index row = 0; row < N; ++row) {
        inverse[row] = 1.0 / m[row];
        check_ok(bb_triplets_add(&list, row, row, 1.0));
        for (bb_index i = s.row_start[row]; i < s.row_start[row + 1]; ++i) {
            check_ok(bb_triplets_add(&list, row, s.column[i], -dt / m[row] * s.value[i]));
        }
    }
    check_ok(bb_csr_assemble(N, N, &list, &a));
    check_ok(implicit ? bb_stepper_create_implicit(&s, m, dt, &stepper)
                      : bb_stepper_create(&a, inverse, &stepper));
    for (bb_index n = 0; n < steps; ++n) {
        double middle = ((double)n + 0.5) * dt;
        const double u[2] = {dt * (1.0 + middle), dt};
        const double g[2] = {dt * (1.0 + sin(3.0 * middle)), dt * middle};
        const bb_stepper_input input = {2, where, u, 2, where, g, -1.0, 0};
        check_ok(bb_stepper_advance(stepper, &input));
    }
    double end = bb_stepper_state(stepper)[1];
    return end;
}

TEST(orders_in_time_with_moving_exchange)
{
    double truth = final_state(8192, true);
    double second = log2((final_state(16, true) - truth) / (final_state(32, true) - truth));
    double first = log2((final_state(64, false) - truth) / (final_state(128, false) - truth));
    print_message("orders: Crank-Nicolson %.3f, explicit %.3f\n", second, first);
    check_close(second, 2.0, 0.02, 1.0);
    check_close(first, 1.0, 0.05, 1.0);
}

// Steps far above the explicit limit, long chain: the stored energy is inflow minus outflow.
TEST(implicit_steps_balance_on_any_threads)
{
    enum { N = 9000 };
    autorelease(bb_csr) s;
    chain(N, &s);
    autofree double *m = new_array(double, N);
    autofree double *kept = new_array(double, N);
    fill_array(m, N, i, 1.0 + 0.5 * sin((double)i));
    for (bb_index threads = 1; threads <= 4; threads *= 2) {
        autoptr(bb_stepper) stepper = NULL;
        const int32_t where = 3;
        const double u = 2.0;
        double input = 0.0;
        check_ok(bb_threads_set(threads));
        check_ok(bb_stepper_create_implicit(&s, m, 20.0, &stepper));
        for (int n = 0; n < 10; ++n) {
            check_ok(bb_stepper_step(stepper, n < 5, &where, &u));
            input += (n < 5 ? u : 0.0) - 20.0 * 0.5 * bb_stepper_exchanged(stepper)[0];
        }
        double stored = 0.0;
        for (bb_index i = 0; i < N; ++i) {
            stored += m[i] * bb_stepper_state(stepper)[i];
        }
        print_message("in %.6f, gap %.1e\n", input, stored - input);
        check_close(stored, input, 1e-13, 10.0);
        if (threads == 1) {
            memcpy(kept, bb_stepper_state(stepper), N * sizeof *kept);
        }
        assert_memory_equal(bb_stepper_state(stepper), kept, N * sizeof *kept);
    }
}

TEST(gradients_solve_and_say_when_they_cannot)
{
    enum { N = 300 };
    autorelease(bb_csr) s;
    double d[N];
    double b[N];
    double x[N];
    double product[N];
    chain(N, &s);
    for (int i = 0; i < N; ++i) {
        d[i] = 0.01;
        b[i] = i % 7 - 3.0;
    }
    bb_shifted_cg *solver = new_object(bb_shifted_cg, &s, 2.0);
    check_ok(bb_shifted_cg_solve(solver, d, b, 1e-13, x));
    check_ok(bb_csr_multiply(&s, x, product));
    for (int i = 0; i < N; ++i) {
        check_close(d[i] * x[i] + 2.0 * product[i], b[i], 1e-11, 3.0);
    }
    assert_true(bb_shifted_cg_iterations(solver) > 0 && bb_shifted_cg_iterations(solver) <= N);
    fill_array(d, N, i, -8.5);
    check_fails(bb_shifted_cg_solve(solver, d, b, 1e-13, x), BB_INVALID, "not positive definite");
    b[4] = NAN;
    check_fails(bb_shifted_cg_solve(solver, d, b, 1e-13, x), BB_INVALID, "not finite");
    bb_shifted_cg_destroy(&solver);
    s.columns = N + 1;
    check_fails(bb_shifted_cg_create(&s, 2.0, &solver), BB_INVALID, "300 x 301; it must be square");
}
