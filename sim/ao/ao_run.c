// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/ao/ao_input.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/ao_solve.h"
#include "sim/pipelines/factor_device.h"
#include "sim/pipelines/factor_engine.h"

#include <math.h>

static const bb_device_offer offer = {.work = "the tile Cholesky of ao",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA)};

typedef struct ao_run {
    bb_ao_work work;
    bb_ao_solve pipelines;
    bb_factor_engine engine;
    double *mask;                  // pupil mask, NULL: annulus
    bb_influence_cube *influences; // [mirrors], NULL: all Gaussian
    double *noise;                 // [n] lower bounds of the variances
    const bb_matrix_source **ctm;  // [targets]
    bb_ao_mcao *mcao;              // NULL: every target has its own mirror
    bb_restart restart;
} ao_run;

static void finish(ao_run *run)
{
    bb_ao_solve_release(&run->pipelines);
    bb_restart_release(&run->restart);
    BB_RELEASE(&run->ctm);
    bb_ao_scoring_release(&run->work.scoring);
    bb_ao_storage_release(&run->work.storage);
    bb_factor_problem_release(&run->work.factor_problem);
    bb_ao_learning_destroy(&run->work.learning);
    bb_ao_mcao_destroy(&run->mcao);
    bb_tomography_destroy(&run->work.problem);
    bb_ao_input_influences_release(run->work.study, &run->influences);
    BB_RELEASE(&run->mask);
    BB_RELEASE(&run->noise);
}

// Builds sensors, mirrors, tables, the factored matrix and its right-hand sides.
static bb_status build_problem(ao_run *run, bb_results *results)
{
    bb_status status = BB_OK;
    bb_ao_work *work = &run->work;
    const bb_ao_study *study = work->study;
    const bb_index targets = study->targets.count;
    work->physics = bb_ao_study_physics(study);
    BB_TRY(bb_ao_input_pupil(study, &work->physics, &run->mask));
    BB_TRY(bb_ao_input_influences(study, &work->physics, &run->influences));
    BB_TRY(bb_ao_input_note_pupil(&work->physics, results));
    BB_TRY(
        bb_tomography_create(&work->physics, (bb_lgs_tilt)study->solver.lgs_tilt, &work->problem));
    const bb_tomography *problem = work->problem;
    BB_TRY(BB_ALLOCATE(targets, &run->ctm));
    for (bb_index t = 0; t < targets; ++t) {
        run->ctm[t] = problem->targets[t].ctm;
    }
    BB_TRY(bb_measurement_noise_bounds(&problem->guides, &problem->noise, &run->noise));
    work->factor_problem = (bb_factor_problem){
        .solver = &study->solver.common,
        .matrix = problem->cmm_core,
        .part = {problem->tilts.columns, problem->tilts.vectors, problem->tilts.variance},
        .target_count = study->correction == (int)BB_AO_CORRECTION_LTAO ? 1 : targets,
        .sides = run->ctm,
        .noise = run->noise,
        .engine = &run->engine,
        .seed = (uint64_t)study->common.seed};
    BB_TRY(bb_ao_mcao_create(problem, run->ctm, &run->mcao));
    bb_ao_mcao_set_sides(run->mcao, &work->factor_problem);
done:
    return status;
}

// Bytes of a GPU that scoring leaves to solves; all bytes where rounding runs there too.
static double reserve_of(const bb_ao_work *work)
{
    static const double spare = 2e9; // for libraries, and for kernels loaded on first use
    const bb_ao_study *study = work->study;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bb_factor_problem *posed = &work->factor_problem;
    double most = work->storage.resident ? 0.0 : INFINITY;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        most = bb_ao_storage_is_unmodified(&pipelines[p]) ? most : INFINITY;
        const bb_need need =
            bb_factor_device_need(&study->solver.common, &pipelines[p], posed->matrix->rows,
                                  bb_factor_problem_sides(posed));
        most = fmax(most, need.device_bytes);
    }
    return spare + most;
}

// Computes scales and right-hand sides, and opens storage and scoring.
static bb_status prepare(bb_ao_work *work)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = work->study;
    BB_TRY(bb_factor_problem_prepare(&work->factor_problem));
    BB_TRY(bb_ao_storage_open(&work->factor_problem, study->common.device, work->problem,
                              &study->inflation, &work->storage));
    work->storage.resident = work->on_device && bb_ao_storage_only_scores(study, work->dump);
    BB_TRY(bb_ao_scoring_open(study, work->problem, &work->storage, work->on_device,
                              work->on_device ? reserve_of(work) : 0.0, &work->scoring));
    work->factor_problem.kept = bb_factor_device_scorer_residuals(work->scoring.scorer);
done:
    return status;
}

// Warns of sensors with point differences over large lenslets: names the first and counts the
// others.
static void warn_slopes(const bb_ao_config *physics, const bb_tomography *problem)
{
    const bb_sensor *first = NULL;
    bb_index name = 0;
    bb_index others = 0;
    const bb_index stars = physics->guide_star_count;
    for (bb_index s = 0; s < stars + physics->target_count; ++s) {
        const bb_guide_star_config *guide = s < stars ? &physics->guide_stars[s] : NULL;
        const bb_sensor *sensor =
            s < stars ? &problem->guides.sensors[s] : &problem->targets[s - stars].truth.sensors[0];
        if (bb_sensor_averages(sensor) || !bb_ao_config_coarse(physics, sensor->lenslets, guide)) {
            continue;
        }
        others += first != NULL ? 1 : 0;
        name = first == NULL ? s : name;
        first = first == NULL ? sensor : first;
    }
    if (first != NULL) {
        bb_log_warning("slope_model: point_difference over %td lenslets of %.3g m in %s[%td] and "
                       "%td other sensor(s): a two-point difference is inaccurate over more than 1 "
                       "m; leave slope_model out or set averaged_gradient",
                       first->lenslets, first->size_m, name < stars ? "guide_stars" : "targets",
                       name < stars ? name : name - stars, others);
    }
}

// Logs sizes and warnings before the first solve.
static bb_status announce(const bb_ao_work *work)
{
    bb_status status = BB_OK;
    const bb_ao_study *study = work->study;
    const bb_index n = work->problem->cmm->rows;
    bb_log_info("%td measurements, %td target(s), %td pipeline(s)", n, study->targets.count,
                study->pipelines.count);
    BB_TRY(bb_factor_device_print_single(&study->pipelines, study->solver.common.tile, n, NULL));
    warn_slopes(&work->physics, work->problem);
    BB_TRY(bb_ao_mcao_caution(work->problem));
done:
    return status;
}

bb_status bb_ao_run(const void *written, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_study *asked = written;
    bb_ao_study study; // with `auto` resolved
    ao_run run = {.work = {.study = &study, .dump = options->dump}};
    bb_ao_work *work = &run.work;
    double begin = 0.0;
    BB_TRY(bb_pipeline_restart_open(&bb_ao_study_schema, asked, options, &run.restart));
    BB_TRY(bb_ao_extent_resolve(asked, &study));
    BB_TRY(bb_pipeline_restart_restore_tile(&run.restart, &study.pipelines, study.common.device,
                                            asked->solver.common.tile == BB_INTEGER_UNSET,
                                            &study.solver.common));
    bb_device_choice_announce(&offer, asked->common.device, study.common.device);
    BB_TRY(bb_factor_device_print_tile(&asked->solver.common, &study.solver.common, NULL));
    BB_TRY(bb_factor_engine_open(&study.solver.common, &run.engine));
    BB_TRY(bb_ao_solve_open(work, &run.restart, &offer, &run.pipelines));
    BB_TRY(bb_ao_solve_warm(&run.pipelines));
    begin = bb_clock_seconds();
    BB_TRY(build_problem(&run, results));
    bb_parts_log_phase("sensors, mirrors and tables", &begin);
    BB_TRY(announce(work));
    bb_ao_solve_await(&run.pipelines);
    bb_parts_log_phase("kernels of the device", &begin);
    work->resumed = run.restart.resumed;
    BB_TRY(bb_parts_start(bb_ao_parts, &study, work, results));
    BB_TRY(prepare(work));
    bb_parts_log_phase("scales and right-hand sides", &begin);
    BB_TRY(bb_ao_solve_all(&run.pipelines, options));
    BB_TRY(bb_factor_engine_note(&run.engine, results));
    BB_TRY(bb_parts_run(bb_ao_parts, &study, work, results));
done:
    bb_factor_engine_close(&run.engine, status);
    finish(&run);
    return status;
}
