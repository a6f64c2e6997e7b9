// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/error_terms.h"
#include "tests/check.h"

enum { COUNT = 2, GUIDES = 2, M = 2 * COUNT, N = GUIDES * 2 * COUNT };

// Sensors of two subapertures, the second one of the guides rotated by 30 degrees.
static void make(bb_sensor *sensors, int count, bb_sensor_array *out)
{
    *out = (bb_sensor_array){.sensor_count = count,
                             .measurement_count = (bb_index)count * 2 * COUNT,
                             .sensors = sensors};
    for (int s = 0; s < count; ++s) {
        sensors[s] = (bb_sensor){.count = COUNT,
                                 .first = (bb_index)s * 2 * COUNT,
                                 .frame = {.cosine = 1.0, .sine = 0.0}};
    }
    if (count > 1) {
        sensors[1].frame.cosine = sqrt(0.75);
        sensors[1].frame.sine = 0.5;
    }
}

// Residual of an estimate by r, of slopes or of a mirror's commands.
static bb_status add(const bb_sensor_array *guides, const bb_sensor_array *truth,
                     const bb_deformable_mirror *mirror, double rms_arcsec, const double *r,
                     double *cee)
{
    double estimated[2 * M];
    check_ok(bb_error_terms_estimate_shake(guides, mirror != NULL ? mirror->actuator_count : M, r,
                                           estimated));
    return bb_error_terms_add_shake(truth, mirror, rms_arcsec, estimated, cee);
}

// An estimate that is the mean of an aligned sensor's slopes removes the whole tilt; one by half of
// it leaves half of each axis: 0.25 rms^2 in the blocks of x and of y, nothing between them.
TEST(what_an_estimate_leaves_of_a_tilt_is_added)
{
    bb_sensor sensors[GUIDES], target;
    bb_sensor_array guides, truth;
    double r[M * N] = {0.0};
    double cee[M * M];
    make(sensors, GUIDES, &guides);
    make(&target, 1, &truth);
    for (int share = 1; share <= 2; ++share) { // of the mean
        for (int i = 0; i < M; ++i) {
            for (int j = 0; j < 2 * COUNT; ++j) {
                r[i * N + j] = i / COUNT == j / COUNT ? 0.5 * (double)share / COUNT : 0.0;
            }
        }
        fill_array(cee, M * M, k, 1.0);
        check_ok(add(&guides, &truth, NULL, 3.0, r, cee));
        for (int i = 0; i < M; ++i) {
            for (int j = 0; j < M; ++j) {
                const double rest = share == 1 && i / COUNT == j / COUNT ? 0.25 * 9.0 : 0.0;
                check_close(cee[i * M + j], 1.0 + rest, 1e-13, 1.0);
            }
        }
    }
}

// The same from the rotated sensor only: its slopes are rotated back.
TEST(turned_sensors_see_a_tilt_along_their_axes)
{
    bb_sensor sensors[GUIDES], target;
    bb_sensor_array guides, truth;
    double r[M * N] = {0.0};
    double cee[M * M] = {0.0};
    make(sensors, GUIDES, &guides);
    make(&target, 1, &truth);
    for (int i = 0; i < M; ++i) {
        const double along = i < COUNT ? sqrt(0.75) : 0.5;
        const double across = i < COUNT ? -0.5 : sqrt(0.75);
        r[i * N + 2 * COUNT] = along; // the first subaperture's x slope, then its y slope
        r[i * N + 3 * COUNT] = across;
    }
    check_ok(add(&guides, &truth, NULL, 2.0, r, cee));
    for (int k = 0; k < M * M; ++k) {
        check_close(cee[k], 0.0, 1e-14, 1.0);
    }
    r[2 * COUNT] += 0.1; // of row 0: a tenth of what the x slope sees of each axis
    check_ok(add(&guides, &truth, NULL, 2.0, r, cee));
    check_relative(cee[0], 4.0 * 0.01, 1e-12);
    check_close(cee[1], 0.0, 1e-14, 1.0);
}

// Through a mirror that weights slopes: commands P t estimated by P R leave P times the residual of
// R.
TEST(commands_leave_what_their_slopes_do)
{
    enum { K = 3 };
    bb_sensor sensors[GUIDES], target;
    bb_sensor_array guides, truth;
    double projector[K * M], r[M * N], commands[K * N] = {0.0};
    double cee[M * M] = {0.0};
    double cvv[K * K] = {0.0};
    bb_deformable_mirror mirror = {
        .actuator_count = K, .measurement_count = M, .projector = projector};
    make(sensors, GUIDES, &guides);
    make(&target, 1, &truth);
    fill_array(r, M * N, i, 0.1 * sin(1.0 + i));
    fill_array(projector, K * M, i, cos(2.0 + 3.0 * i));
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < M; ++i) {
            for (int j = 0; j < N; ++j) {
                commands[k * N + j] += projector[k * M + i] * r[i * N + j];
            }
        }
    }
    check_ok(add(&guides, &truth, NULL, 2.0, r, cee));
    check_ok(add(&guides, &truth, &mirror, 2.0, commands, cvv));
    for (int k = 0; k < K * K; ++k) {
        double expected = 0.0;
        for (int i = 0; i < M * M; ++i) {
            expected += projector[k / K * M + i / M] * cee[i] * projector[k % K * M + i % M];
        }
        check_close(cvv[k], expected, 1e-12, 10.0);
    }
}

TEST(no_shake_adds_nothing)
{
    bb_sensor sensors[GUIDES], target;
    bb_sensor_array guides, truth;
    const double r[M * N] = {0.0};
    double cee[M * M] = {0.0};
    make(sensors, GUIDES, &guides);
    make(&target, 1, &truth);
    check_ok(add(&guides, &truth, NULL, 0.0, r, cee));
    assert_true(cee[0] == 0.0);
}
