// SPDX-License-Identifier: Apache-2.0
//
// The whole chain from a configuration to Strehl ratios with a plain fp64 LAPACK solve in between,
// in the call order of a driver.
#ifndef BB_TESTS_PHYSICS_AO_CHAIN_H
#define BB_TESTS_PHYSICS_AO_CHAIN_H

#include "core/memory.h"
#include "physics/ao/ao_check.h"
#include "physics/ao/covariance/slope_covariance.h"
#include "physics/ao/score/point_spread.h"
#include "tests/physics/ao/cases.h"

#include <cblas.h>
#include <lapacke.h>

/// Zero-initialised; chain_release frees it.
typedef struct chain {
    bb_atmosphere atmosphere;
    bb_sensor_array guides, truth;
    bb_measurement_noise noise;
    bb_slope_covariance *cmm_source, *ctm_source, *ctt_source;
    bb_index n, m;
    double *cmm; ///< [n][n] with noise, and tilts as blocks
    double *ctm; ///< [m][n]
    double *ctt; ///< [m][m]
    double *r;   ///< [m][n] = Ctm Cmm^-1
    double *cee; ///< [m][m]
} chain;

static inline double *chain_dense(const bb_slope_covariance *covariance)
{
    const bb_matrix_source *source = bb_slope_covariance_source(covariance);
    double *matrix = doubles(source->rows * source->columns);
    check_ok(
        bb_matrix_source_fill(source, 0, 0, bb_view_matrix(matrix, source->rows, source->columns)));
    return matrix;
}

/// Sources and dense matrices of a case and its first target. `noisy` adds the noise.
static inline chain chain_assemble(const ao_case *c, bool noisy)
{
    const bb_ao_config config = case_config(c);
    chain k = {0};
    check_ok(bb_ao_check(&config));
    check_ok(
        bb_atmosphere_create(config.atmosphere, config.telescope->zenith_angle_deg, &k.atmosphere));
    check_ok(bb_sensor_array_create_guides(&config, &k.atmosphere, &k.guides));
    check_ok(bb_sensor_array_create_truth(&config, 0, &k.atmosphere, &k.truth));
    check_ok(bb_measurement_noise_create(&k.guides, &k.atmosphere, &k.noise));
    k.n = k.guides.measurement_count;
    k.m = k.truth.measurement_count;
    bb_slope_covariance_parts parts = {.name = "Cmm",
                                       .atmosphere = &k.atmosphere,
                                       .rows = &k.guides,
                                       .columns = &k.guides,
                                       .noise = noisy ? &k.noise : NULL,
                                       .tilt_blocks = true};
    // The parts point into `k`, of which the caller gets a copy: sources are used only here.
    check_ok(bb_slope_covariance_create(&parts, &k.cmm_source));
    k.cmm = chain_dense(k.cmm_source);
    parts = (bb_slope_covariance_parts){
        .name = "Ctm", .atmosphere = &k.atmosphere, .rows = &k.truth, .columns = &k.guides};
    check_ok(bb_slope_covariance_create(&parts, &k.ctm_source));
    k.ctm = chain_dense(k.ctm_source);
    parts.name = "Ctt";
    parts.columns = &k.truth;
    check_ok(bb_slope_covariance_create(&parts, &k.ctt_source));
    k.ctt = chain_dense(k.ctt_source);
    return k;
}

/// R = Ctm Cmm^-1 by Cholesky, false if Cmm is not positive definite.
static inline bool chain_solve(chain *k)
{
    const lapack_int n = (lapack_int)k->n;
    const lapack_int m = (lapack_int)k->m;
    autofree double *factor = doubles(k->n * k->n);
    check_ok(BB_ALLOCATE(k->m * k->n, &k->r));
    memcpy(factor, k->cmm, (size_t)(k->n * k->n) * sizeof *factor);
    memcpy(k->r, k->ctm, (size_t)(k->m * k->n) * sizeof *k->r);
    // Row-major [m][n] is column-major [n][m]: the right-hand sides Ctm^T.
    bool solved = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, factor, n) == 0;
    solved = solved && LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', n, m, factor, n, k->r, n) == 0;
    return solved;
}

/// Cee = Ctt - R Ctm^T - Ctm R^T + R Cmm R^T for any R.
static inline void chain_residual(chain *k)
{
    const int n = (int)k->n;
    const int m = (int)k->m;
    autofree double *product = doubles(k->m * k->n);
    check_ok(BB_ALLOCATE(k->m * k->m, &k->cee));
    memcpy(k->cee, k->ctt, (size_t)(k->m * k->m) * sizeof *k->cee);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, n, -1.0, k->r, n, k->ctm, n, 1.0,
                k->cee, m);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, n, -1.0, k->ctm, n, k->r, n, 1.0,
                k->cee, m);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, n, 1.0, k->r, n, k->cmm, n, 0.0,
                product, n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, n, 1.0, product, n, k->r, n, 1.0,
                k->cee, m);
}

static inline chain chain_run(const ao_case *c, bool noisy)
{
    chain k = chain_assemble(c, noisy);
    assert_true(chain_solve(&k));
    chain_residual(&k);
    return k;
}

/// Stationary wavefront residual of the slopes' `cee`, by bb_point_spread_residual.
static inline void chain_wavefront(const bb_point_spread *spread, const double *cee,
                                   double *correlation, double *rms_m, bb_outcome *outcome)
{
    const bb_index actuators = bb_point_spread_layout(spread)->actuator_count;
    autofree double *voltages = doubles(actuators * actuators);
    check_ok(bb_point_spread_voltages(spread, cee, voltages));
    check_ok(bb_point_spread_residual(spread, voltages, correlation, rms_m, outcome));
}

static inline void chain_release(chain *k)
{
    bb_slope_covariance_destroy(&k->cmm_source);
    bb_slope_covariance_destroy(&k->ctm_source);
    bb_slope_covariance_destroy(&k->ctt_source);
    bb_measurement_noise_release(&k->noise);
    bb_sensor_array_release(&k->guides);
    bb_sensor_array_release(&k->truth);
    bb_atmosphere_release(&k->atmosphere);
    BB_RELEASE(&k->cmm);
    BB_RELEASE(&k->ctm);
    BB_RELEASE(&k->ctt);
    BB_RELEASE(&k->r);
    BB_RELEASE(&k->cee);
}

static inline double trace(const double *matrix, bb_index n)
{
    double sum = 0.0;
    for (bb_index i = 0; i < n; ++i) {
        sum += matrix[i * n + i];
    }
    return sum;
}

static inline double frobenius(const double *matrix, bb_index items)
{
    return cblas_dnrm2((int)items, matrix, 1);
}

#endif
