// SPDX-License-Identifier: Apache-2.0
//
// nx456 rounded in the sweep, and the effect of its errors on modes outside the covariance: focus
// of the sodium layer and reference slopes. Rounding avoids modes that it knows.
#include "sim/ao/ao_storage.h"
#include "tests/sim/driver.h"

#include <cblas.h>

#define PIPELINE(storage)                                                                          \
    "pipelines=[{name: reference, arithmetic: dp}, {name: stored, arithmetic: dp, " storage "}]"
#define SCALED                                                                                     \
    "column_scale: remainder, storage: {codec: quantiser, tolerance: 1e-4, rounding: sweep}"
#define SWEEP "storage: {codec: integer, bits: 8, rounding: sweep}"

// One stored reconstructor, Q = R + E.
typedef struct rig {
    bb_config *config;
    const bb_ao_study *study;
    bb_tomography *problem;
    double *noise;
    bb_factor_problem posed;
    bb_ao_storage storage;
    bb_ao_evaluation evaluation;
    bb_index m, n;
    double *exact, *errors; // [m][n] R and E
} rig;

static void solve(rig *self)
{
    const bb_ao_study *ao = self->study;
    const bb_factor_pipeline *pipeline = (const bb_factor_pipeline *)ao->pipelines.items + 1;
    bb_ao_evaluation *evaluation = &self->evaluation;
    check_ok(bb_ao_evaluation_create(pipeline->name, ao->targets.count, 1, 0, 1, evaluation));
    evaluation->level = *pipeline;
    evaluation->common.device = BB_DEVICE_CPU;
    check_ok(
        bb_ao_storage_solve(&self->storage, &self->posed, pipeline, ao->correction, evaluation));
    const bb_index items = self->m * self->n;
    check_ok(BB_ALLOCATE(items, &self->exact));
    check_ok(BB_ALLOCATE(items, &self->errors));
    memcpy(self->exact, evaluation->r[0], (size_t)items * sizeof(double));
    check_ok(bb_ao_storage_apply(&self->storage, pipeline, 0, evaluation));
    assert_int_equal(evaluation->common.outcome.kind, BB_OUTCOME_OK);
    fill_array(self->errors, items, i, evaluation->r[0][i] - self->exact[i]);
}

static void rig_open(rig *self, const char *inflation, const char *pipelines)
{
    const driver_case study = {CONFIG_NX456,
                               {"device=cpu", "atmosphere.profile=eris-10", inflation, pipelines}};
    *self = (rig){0};
    check_ok(driver_load(&study, &self->config));
    const bb_ao_study *ao = self->study = bb_config_study(self->config);
    const bb_ao_config physics = bb_ao_study_physics(ao);
    check_ok(bb_tomography_create(&physics, (bb_lgs_tilt)ao->solver.lgs_tilt, &self->problem));
    bb_tomography *problem = self->problem;
    self->m = problem->targets[0].ctm->rows;
    self->n = problem->cmm->rows;
    check_ok(bb_measurement_noise_bounds(&problem->guides, &problem->noise, &self->noise));
    self->posed = (bb_factor_problem){
        .solver = &ao->solver.common,
        .matrix = problem->cmm_core,
        .part = {problem->tilts.columns, problem->tilts.vectors, problem->tilts.variance},
        .target_count = 1,
        .sides = &problem->targets[0].ctm,
        .noise = self->noise,
        .seed = (uint64_t)ao->common.seed};
    check_ok(bb_factor_problem_prepare(&self->posed));
    check_ok(bb_ao_storage_open(&self->posed, ao->common.device, problem, &ao->inflation,
                                &self->storage));
    solve(self);
}

static void rig_close(rig *self)
{
    BB_RELEASE(&self->exact);
    BB_RELEASE(&self->errors);
    bb_ao_evaluation_release(&self->evaluation, self->study->targets.count);
    bb_ao_storage_release(&self->storage);
    bb_factor_problem_release(&self->posed);
    bb_tomography_destroy(&self->problem);
    BB_RELEASE(&self->noise);
    bb_config_destroy(&self->config);
}

static double *dense(const bb_matrix_source *source)
{
    double *values = new_array(double, source->rows * source->columns);
    check_ok(
        bb_matrix_source_fill(source, 0, 0, bb_view_matrix(values, source->rows, source->columns)));
    return values;
}

// tr(E A E^T).
static double trace_in(const rig *self, const bb_matrix_source *source)
{
    const int m = (int)self->m;
    const int n = (int)self->n;
    autofree double *matrix = dense(source);
    autofree double *product = NULL; // [m][n]
    check_ok(BB_ALLOCATE(self->m * self->n, &product));
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, n, 1.0, self->errors, n, matrix, n,
                0.0, product, n);
    const double trace = cblas_ddot(m * n, product, 1, self->errors, 1);
    return trace;
}

// r v for every mode v, [m][columns], times the root of its variance.
static double *seen(const rig *self, const double *r, const bb_unknown_modes *modes)
{
    const int count = (int)modes->columns;
    double *out = new_array(double, self->m * modes->columns);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)self->m, count, (int)self->n, 1.0,
                r, (int)self->n, modes->vectors, count, 0.0, out, count);
    for (bb_index i = 0; i < self->m * modes->columns; ++i) {
        out[i] *= sqrt(modes->variances[i % modes->columns]);
    }
    return out;
}

// Sum of s2 |r v|^2 over modes v of variance s2.
static double trace_of(const rig *self, const double *r, const bb_unknown_modes *modes)
{
    autofree double *values = seen(self, r, modes);
    const int items = (int)(self->m * modes->columns);
    const double trace = cblas_ddot(items, values, 1, values, 1);
    return trace;
}

// Strehl ratio of R, or of R + E, after modes have moved: their slopes r v stay in the residual.
static double strehl(const rig *self, const double *r, const bb_unknown_modes *modes, double *trace)
{
    const int m = (int)self->m;
    const int n = (int)self->n;
    const double wavelength_m = 1.65e-6;
    double ratio = NAN;
    bb_outcome outcome = {0};
    bb_tomography_score score = {.kind = BB_SCORE_STATIONARY, .strehl = &ratio};
    autofree double *cee = dense(self->problem->targets[0].ctt);
    autofree double *ctm = dense(self->problem->targets[0].ctm);
    autofree double *cmm = dense(self->problem->cmm);
    autofree double *drift = seen(self, r, modes);
    autofree double *product = NULL; // [m][n] R Cmm - 2 Ctm
    check_ok(BB_ALLOCATE(self->m * self->n, &product));
    fill_array(product, m * n, i, -2.0 * ctm[i]);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, n, 1.0, r, n, cmm, n, 1.0, product,
                n);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, n, 0.5, product, n, r, n, 1.0, cee,
                m);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, n, 0.5, r, n, product, n, 1.0, cee,
                m);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, (int)modes->columns, 1.0, drift,
                (int)modes->columns, drift, (int)modes->columns, 1.0, cee, m);
    *trace = 0.0;
    for (int i = 0; i < m; ++i) {
        *trace += cee[i * m + i];
    }
    check_ok(bb_tomography_rate(self->problem, 0, cee, 1, &wavelength_m, &score, &outcome));
    return ratio;
}

// Cost of rounding, relative to the trace of the exact residual.
typedef struct rounding_cost {
    double trace;   // tr(E Cmm E^T)
    double drifted; // sum of s2 |E v|^2 over the moved modes
    double loss;    // of the Strehl ratio
    double lost;    // of the Strehl ratio after modes have moved, relative to R then
} rounding_cost;

// The norm used for rounding includes the modes given in the study.
static void hold_norm(rig *self, double trace)
{
    const bool filtered = self->evaluation.level.filter == (int)BB_SLOPE_FILTER_MEANS;
    bb_matrix_source source;
    check_ok(bb_rounding_norm_source(&self->storage.common.norms[filtered], &source));
    check_relative(trace_in(self, &source),
                   trace + trace_of(self, self->errors, &self->storage.unknown), 1e-5);
}

static rounding_cost find_cost(const char *inflation, const char *pipelines,
                               const bb_unknown_modes_config *moved)
{
    static const bb_unknown_modes_config none = {0};
    autocall(rig_close) rig self;
    double exact_trace, trace, ignored;
    rig_open(&self, inflation, pipelines);
    const bb_sensor_array *guides = &self.problem->guides;
    const double airmass = self.problem->atmosphere.airmass;
    const double *stored = self.evaluation.r[0];
    autorelease(bb_unknown_modes) still = new_struct(bb_unknown_modes, guides, airmass, &none);
    autorelease(bb_unknown_modes) modes = new_struct(bb_unknown_modes, guides, airmass, moved);
    rounding_cost out = {0};
    out.loss = strehl(&self, self.exact, &still, &exact_trace);
    out.loss -= strehl(&self, stored, &still, &trace);
    out.lost = strehl(&self, self.exact, &modes, &ignored);
    out.lost -= strehl(&self, stored, &modes, &ignored);
    const double added = trace_in(&self, self.problem->cmm);
    check_relative(trace - exact_trace, added, 1e-5);
    hold_norm(&self, added);
    out.trace = added / exact_trace;
    out.drifted = trace_of(&self, self.errors, &modes) / exact_trace;
    print_message("%-42s trace %.2e + %.2e, loss %.2e, moved %.2e\n", inflation, out.trace,
                  out.drifted, out.loss, out.lost);
    return out;
}

#define INFLATION(text) "rounding_inflation." text

// The trace added by moved modes falls by at least `factor` from the first inflation to each
// following one, and the remaining cost of rounding changes by less than a third. That change is
// one draw of many, because the rounding differs. Bounds are as measured; the last bits of sweeps
// depend on the machine.
static void hold(const char *pipelines, const char *const *inflations,
                 const bb_unknown_modes_config *moved, const double *drifted, double factor)
{
    const rounding_cost blind = find_cost(inflations[0], pipelines, moved);
    check_relative(blind.drifted, drifted[0], 0.1);
    for (int k = 1; k < 3; ++k) {
        const rounding_cost knowing = find_cost(inflations[k], pipelines, moved);
        check_relative(knowing.drifted, drifted[k], 0.2);
        assert_true(knowing.drifted * pow(factor, k) < blind.drifted);
        check_close(knowing.trace / blind.trace, 1.0, 0.33, 1.0);
        check_close(knowing.loss / blind.loss, 1.0, 0.33, 1.0);
    }
}

// The sodium layer has moved by 30 m rms above each laser star.
TEST_FULL(rounding_keeps_out_of_the_focus_of_laser_stars)
{
    static const bb_unknown_modes_config moved = {.sodium_height_m2 = 900.0};
    static const char *const inflations[] = {INFLATION("sodium_height_m2=0"),
                                             INFLATION("sodium_height_m2=1e3"),
                                             INFLATION("sodium_height_m2=1e4")};
    hold(PIPELINE(SWEEP), inflations, &moved, (const double[]){1.25e-3, 4.5e-5, 2.05e-5}, 7.0);
    hold(PIPELINE(SWEEP ", filter: means"), inflations, &moved,
         (const double[]){1.26e-3, 4.5e-5, 1.41e-5}, 9.0);
    hold(PIPELINE(SCALED), inflations, &moved, (const double[]){6.1e-3, 1.03e-4, 5.2e-6}, 30.0);
}

// The optics of all sensors have moved by 30 nm rms in each of seven aberrations.
TEST_FULL(rounding_keeps_out_of_reference_slopes)
{
    static const bb_unknown_modes_config moved = {.reference_nm2 = 900.0};
    static const char *const inflations[] = {INFLATION("reference_nm2=0"),
                                             INFLATION("reference_nm2=1e3"),
                                             INFLATION("reference_nm2=1e4")};
    hold(PIPELINE(SWEEP), inflations, &moved, (const double[]){4.0e-4, 1.65e-4, 3.7e-5}, 2.0);
    hold(PIPELINE(SWEEP ", filter: means"), inflations, &moved,
         (const double[]){3.8e-4, 1.41e-4, 3.3e-5}, 2.0);
    hold(PIPELINE(SCALED), inflations, &moved, (const double[]){1.37e-3, 5.1e-4, 8.1e-5}, 2.0);
}

TEST_GROUP(.threads = 2);
