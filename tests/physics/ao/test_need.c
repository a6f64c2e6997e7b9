// SPDX-License-Identifier: Apache-2.0
//
// Need estimates of ao's modules against actual use, on small cases, with one thread and with
// three.
#include "physics/ao/covariance/displacement_table.h"
#include "physics/ao/frames/learn_frames.h"
#include "physics/ao/frames/monte_carlo.h"
#include "physics/ao/frames/time_domain.h"
#include "physics/ao/learn/learn.h"
#include "physics/ao/score/pair_strehl.h"
#include "physics/ao/score/whole_residual.h"
#include "physics/ao/tomography.h"
#include "physics/ao/unknown_modes.h"
#include "tests/need.h"
#include "tests/physics/ao/cases.h"

enum { WAVELENGTHS = 2, FRAMES = 6, LEARNED = 16, PIXELS = 16, LAYERS = 2 };
static const double wavelengths_m[WAVELENGTHS] = {1.65e-6, 2.2e-6};
static const bb_monte_carlo_config screens = {
    .frames = FRAMES, .pixels_per_subaperture = 8, .screen_oversize = 2.0, .subharmonics = 3};

typedef struct scene {
    ao_case c;
    bb_ao_config config;
    bb_pupil pupil;
    bb_atmosphere atmosphere;
    bb_sensor_array guides, truth;
    double threads;
} scene;

static void enter(scene *s, bb_index threads)
{
    check_ok(bb_threads_set(threads));
    *s = (scene){.c = case_without_stars(8.0, 12), .threads = (double)threads};
    add_star(&s->c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&s->c, BB_GUIDE_STAR_LGS, -12.0, 14.0);
    add_star(&s->c, BB_GUIDE_STAR_NGS, -16.0, -26.0);
    s->c.stars[1].lenslets = 10;
    add_target(&s->c, 5.0, -3.0);
    s->config = case_config(&s->c);
    s->pupil = bb_ao_config_pupil(&s->config);
    check_ok(bb_atmosphere_create(&s->c.atmosphere, 0.0, &s->atmosphere));
    check_ok(bb_sensor_array_create_guides(&s->config, &s->atmosphere, &s->guides));
    check_ok(bb_sensor_array_create_truth(&s->config, 0, &s->atmosphere, &s->truth));
}

static void leave(scene *s)
{
    bb_sensor_array_release(&s->truth);
    bb_sensor_array_release(&s->guides);
    bb_atmosphere_release(&s->atmosphere);
    bb_threads_stop();
}

static void hold_sensors(const scene *s)
{
    const bb_sensor *sensor = &s->truth.sensors[0];
    bb_sensor_array truth = {0};
    autorelease(bb_measurement_noise) noise = {0};
    bb_structure_table table = {0};
    need_start();
    check_ok(bb_structure_table_create(25.0, &table));
    need_stop();
    bb_structure_table_release(&table);
    need_hold("structure_table", bb_structure_table_need(), NEED_LOOSENESS);
    need_start();
    check_ok(bb_sensor_array_create_truth(&s->config, 0, &s->atmosphere, &truth));
    need_stop();
    need_hold("sensor_array",
              bb_sensor_array_need(sensor->lenslets, sensor->count, s->truth.layer_count),
              NEED_LOOSENESS);
    bb_sensor_array_release(&truth);
    need_start();
    check_ok(bb_measurement_noise_create(&s->guides, &s->atmosphere, &noise));
    need_stop();
    need_hold("measurement_noise", bb_measurement_noise_need(noise.count), NEED_LOOSENESS);
}

static void hold_unknown_modes(const scene *s)
{
    static const bb_unknown_modes_config config = {0.1, 400.0, 25.0};
    need_start();
    autorelease(bb_unknown_modes) modes = new_struct(bb_unknown_modes, &s->guides, 1.0, &config);
    need_stop();
    need_hold("unknown_modes",
              bb_unknown_modes_need(modes.rows, bb_unknown_modes_count(&s->guides, &config)),
              NEED_LOOSENESS);
}

static void hold_covariance(const scene *s, const char *what, const bb_sensor_array *columns)
{
    char text[64];
    const bb_slope_covariance_parts parts = {
        .name = "C", .atmosphere = &s->atmosphere, .rows = &s->guides, .columns = columns};
    need_start();
    autoptr(bb_slope_covariance) covariance = new_object(bb_slope_covariance, &parts);
    need_stop();
    need_hold(what, bb_slope_covariance_need(&s->guides, columns, s->threads), NEED_LOOSENESS);
    const bb_matrix_source *source = bb_slope_covariance_source(covariance);
    autofree double *values = doubles(source->rows * source->columns);
    need_start();
    check_ok(
        bb_matrix_source_fill(source, 0, 0, bb_view_matrix(values, source->rows, source->columns)));
    need_stop();
    (void)snprintf(text, sizeof text, "%s, filled", what);
    need_hold(text, bb_slope_covariance_fill_need(&s->guides, columns, 1.0), NEED_LOOSENESS);
}

static void hold_tables(const scene *s)
{
    const bb_sensor *sensor = &s->guides.sensors[0];
    need_start();
    autorelease(bb_displacement_table) table =
        new_struct(bb_displacement_table, &s->atmosphere, sensor, sensor);
    need_stop();
    need_hold("displacement_table",
              bb_displacement_table_need(sensor->lenslets, s->guides.layer_count), NEED_LOOSENESS);
    need_stop_held();
    need_hold("displacement_table, held", bb_displacement_table_resident(sensor->lenslets),
              NEED_LOOSENESS);
}

static void hold_mirror(const scene *s)
{
    const bb_index lenslets = s->truth.sensors[0].lenslets;
    need_start();
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &s->pupil, lenslets, NAN);
    need_stop();
    need_hold("deformable_mirror", bb_deformable_mirror_need(&s->pupil, lenslets), NEED_LOOSENESS);
    assert_int_equal(bb_deformable_mirror_actuators(&s->pupil, lenslets), mirror.actuator_count);
    need_stop_held();
    need_hold("deformable_mirror, held", bb_deformable_mirror_resident(&s->pupil, lenslets),
              NEED_LOOSENESS);
}

static void hold_point_spread(const scene *s)
{
    autorelease(bb_pair_strehl) pairs = {0};
    const bb_index lenslets = s->truth.sensors[0].lenslets;
    need_start();
    autoptr(bb_point_spread) spread = new_object(bb_point_spread, 8.0, &s->pupil, lenslets, NAN);
    need_stop();
    need_hold("point_spread", bb_point_spread_need(&s->pupil, lenslets), NEED_LOOSENESS);
    need_stop_held();
    need_hold("point_spread, held", bb_point_spread_resident(&s->pupil, lenslets), NEED_LOOSENESS);
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    autofree double *cee = zeros(grid->measurement_count * grid->measurement_count);
    need_start();
    autofree double *voltages = doubles(grid->actuator_count * grid->actuator_count);
    check_ok(bb_point_spread_voltages(spread, cee, voltages));
    need_stop();
    need_hold("point_spread, voltages",
              bb_point_spread_voltages_need(&s->pupil, lenslets, s->threads), NEED_LOOSENESS);
    need_start();
    check_ok(bb_pair_strehl_create(spread, voltages,
                                   bb_pair_strehl_step(lenslets, grid->pixels_per_lenslet),
                                   WAVELENGTHS, wavelengths_m, &pairs));
    need_stop();
    need_hold("pair_strehl", bb_pair_strehl_need(lenslets, WAVELENGTHS, s->threads),
              NEED_LOOSENESS);
}

static void hold_rating(const scene *s, const bb_tomography *problem, bb_score kind,
                        const char *what)
{
    const bb_index m = problem->targets[0].ctt->rows;
    double strehl[WAVELENGTHS];
    bb_outcome outcome = {0};
    bb_tomography_score score = {.kind = kind, .strehl = strehl};
    autofree double *cee = zeros(m * m);
    need_start();
    check_ok(bb_tomography_rate(problem, 0, cee, WAVELENGTHS, wavelengths_m, &score, &outcome));
    need_stop();
    need_hold(what,
              bb_tomography_rate_need(&s->pupil, s->truth.sensors[0].lenslets, kind, WAVELENGTHS,
                                      s->threads),
              NEED_LOOSENESS);
}

static void hold_whole(const scene *s, const bb_tomography *problem)
{
    const bb_index m = s->truth.measurement_count;
    const bb_index n = s->guides.measurement_count;
    const bb_deformable_mirror *mirror = bb_point_spread_mirror(problem->targets[0].spread);
    const double own = (double)mirror->actuator_count;
    const bb_whole_extent extent = {mirror->lenslets, own, own, (double)m, &s->guides};
    const bb_whole_look look = {1.0, NULL};
    double strehl[WAVELENGTHS];
    bb_outcome outcome = {0};
    need_start();
    autoptr(bb_whole_residual) whole = new_object(bb_whole_residual, problem, 0, NULL, 1, &look);
    need_stop();
    need_hold("whole_residual", bb_whole_residual_need(&extent, s->threads), NEED_LOOSENESS);
    need_stop_held();
    need_hold("whole_residual, held", bb_whole_residual_resident(&extent), NEED_LOOSENESS);
    autofree double *r = zeros(m * n);
    autofree double *cee = zeros(m * m);
    const bb_whole_estimate estimate = {.whole = whole, .r = r};
    bb_tomography_score score = {.kind = BB_SCORE_PAIRS, .estimate = &estimate, .strehl = strehl};
    bb_need need = bb_tomography_rate_need(&s->pupil, mirror->lenslets, BB_SCORE_STATIONARY,
                                           WAVELENGTHS, s->threads);
    need = bb_need_together(need, bb_whole_residual_field_need(&extent, WAVELENGTHS, s->threads));
    need_start();
    check_ok(bb_tomography_rate(problem, 0, cee, WAVELENGTHS, wavelengths_m, &score, &outcome));
    need_stop();
    need_hold("tomography, whole residual", need, NEED_LOOSENESS);
}

// A closed loop in which guide stars do not measure the mirrors.
static void hold_time(const scene *s, const bb_frame_sampler *sampler,
                      const bb_frame_sampler_extent *frames, const double *r)
{
    const bb_index n = s->guides.measurement_count;
    const bb_index m = s->truth.measurement_count;
    static const double wind[LAYERS][2] = {{10.0, 0.0}, {0.0, 20.0}};
    bb_frame_mean correctable[WAVELENGTHS], whole[WAVELENGTHS], loss[WAVELENGTHS];
    autofree double *seen = zeros(n * m);
    bb_time_domain_estimate estimate = {
        .rows = m, .q = r, .seen = seen, .correctable = correctable, .total = whole, .loss = loss};
    const bb_time_domain_task task = {.realisations = FRAMES,
                                      .frames = 1,
                                      .settle = 2,
                                      .frame_s = 2e-3,
                                      .delay_s = 4e-3,
                                      .gain = 0.5,
                                      .wind = wind,
                                      .wavelength_count = WAVELENGTHS,
                                      .wavelengths_m = wavelengths_m,
                                      .estimate_count = 1,
                                      .estimates = &estimate};
    const bb_time_domain_extent extent = {.frames = *frames,
                                          .realisations = FRAMES,
                                          .scored = 1.0,
                                          .settle = 2.0,
                                          .estimates = 1.0,
                                          .rows = (double)m,
                                          .slopes = (double)n,
                                          .delay = 2.0,
                                          .wavelengths = WAVELENGTHS};
    need_start();
    check_ok(bb_time_domain_run(sampler, &task));
    need_stop();
    need_hold("time_domain", bb_time_domain_need(&extent, s->threads), NEED_LOOSENESS);
}

static void hold_frames(const scene *s, const bb_tomography *problem)
{
    const bb_index n = s->guides.measurement_count;
    const bb_index m = s->truth.measurement_count;
    const double points = (double)bb_point_spread_layout(problem->targets[0].spread)->pupil_points;
    autorelease(bb_learn_frames) learned = {0};
    bb_frame_mean correctable[WAVELENGTHS], whole[WAVELENGTHS], fitting;
    double psf[PIXELS * PIXELS];
    need_start();
    autoptr(bb_frame_sampler) sampler = new_object(bb_frame_sampler, problem, &screens);
    need_stop();
    const bb_frame_sampler_extent extent = {.frames = FRAMES,
                                            .layers = (double)s->atmosphere.layer_count,
                                            .lines = 12.0 + 10.0 + 12.0 + 12.0,
                                            .slopes = (double)(n + m),
                                            .points = points,
                                            .squared_points = points * points,
                                            .levels = screens.subharmonics,
                                            .screen = bb_frame_sampler_screen(sampler)};
    need_hold("frame_sampler", bb_frame_sampler_need(&extent), NEED_LOOSENESS);
    need_stop_held();
    need_hold("frame_sampler, held", bb_frame_sampler_resident(&extent), NEED_LOOSENESS);
    autofree double *r = zeros(m * n);
    bb_monte_carlo_estimate estimate = {
        .r = r, .correctable = correctable, .total = whole, .psf = psf};
    const bb_monte_carlo_task task = {.frames = FRAMES,
                                      .wavelength_count = WAVELENGTHS,
                                      .wavelengths_m = wavelengths_m,
                                      .estimate_count = 1,
                                      .estimates = &estimate,
                                      .psf_pixels = PIXELS,
                                      .fitting = &fitting};
    need_start();
    check_ok(bb_monte_carlo_run(sampler, &task));
    need_stop();
    need_hold("monte_carlo",
              bb_monte_carlo_need(&extent, 1.0, WAVELENGTHS, 1.0, PIXELS, s->threads),
              NEED_LOOSENESS);
    hold_time(s, sampler, &extent, r);
    bb_frame_sampler_extent drawn = extent;
    drawn.frames = LEARNED;
    need_start();
    check_ok(bb_learn_frames_draw(sampler, 1, 0, LEARNED, &learned));
    need_stop();
    need_hold("learn_frames", bb_learn_frames_need(&drawn, n, s->threads), NEED_LOOSENESS);
    need_stop_held();
    need_hold("learn_frames, held", bb_learn_frames_resident(n), NEED_LOOSENESS);
}

static void hold_learning(const scene *s, const bb_tomography *problem)
{
    static const double heights_m[LAYERS] = {0.0, 9000.0};
    autorelease(bb_learned_profile) learned = {0};
    const bb_learn_task task = {.config = &s->config,
                                .layer_count = LAYERS,
                                .height_m = heights_m,
                                .outer_scale_low_m = 24.9999,
                                .outer_scale_high_m = 25.0001,
                                .separation = 1e-6,
                                .source_count = 1,
                                .source = problem->cmm};
    const bb_learn_extent extent = {.guides = &s->guides,
                                    .layers = LAYERS,
                                    .sources = 1.0,
                                    .outer_scale_low_m = task.outer_scale_low_m,
                                    .outer_scale_high_m = task.outer_scale_high_m};
    need_start();
    check_ok(bb_learn_fit(&task, &learned));
    need_stop();
    assert_int_equal(learned.outcome.kind, BB_OUTCOME_OK);
    need_hold("learn", bb_learn_need(&extent, s->threads), NEED_LOOSENESS);
}

static void hold_tomography(scene *s)
{
    const bb_error_terms_config terms = {.fitting = true, .aliasing = true};
    bb_need making, held;
    s->config.error_terms = &terms;
    check_ok(bb_tomography_need(&s->config, BB_LGS_TILT_UPDATE, s->threads, &making, &held));
    need_start();
    autoptr(bb_tomography) problem = new_object(bb_tomography, &s->config, BB_LGS_TILT_UPDATE);
    need_stop();
    need_hold("tomography", making, NEED_LOOSENESS);
    need_stop_held();
    need_hold("tomography, held", held, NEED_LOOSENESS);
    hold_rating(s, problem, BB_SCORE_STATIONARY, "tomography, stationary");
    hold_rating(s, problem, BB_SCORE_PAIRS, "tomography, pairs");
    hold_whole(s, problem);
    hold_frames(s, problem);
    hold_learning(s, problem);
    s->config.error_terms = NULL;
}

// Two mirrors towards two of three directions, and their right-hand side.
static void hold_commands(const scene *s)
{
    enum { TARGETS = 3 };
    ao_case c = s->c;
    bb_sensor_array truth[TARGETS] = {{0}};
    const bb_sensor *truths[TARGETS];
    bb_slope_covariance *covariance[TARGETS] = {NULL};
    const bb_matrix_source *ctm[TARGETS];
    add_target(&c, 15.0, -3.0);
    add_target(&c, 5.0, 20.0);
    c.targets[1].weight = 0.0;
    add_mirror(&c, 0.0, NAN);
    add_mirror(&c, 8000.0, 0.7);
    c.mirrors_condition = 100.0;
    const bb_ao_config config = case_config(&c);
    for (bb_index t = 0; t < TARGETS; ++t) {
        check_ok(bb_sensor_array_create_truth(&config, t, &s->atmosphere, &truth[t]));
        truths[t] = truth[t].sensors;
        const bb_slope_covariance_parts parts = {
            .name = "Ctm", .atmosphere = &s->atmosphere, .rows = &truth[t], .columns = &s->guides};
        check_ok(bb_slope_covariance_create(&parts, &covariance[t]));
        ctm[t] = bb_slope_covariance_source(covariance[t]);
    }
    const double m = (double)truth[0].measurement_count;
    need_start();
    bb_mirror_commands *commands = new_object(bb_mirror_commands, &config, truths);
    need_stop();
    need_hold("mirror_commands", bb_mirror_commands_need(&config, 3.0 * m, 2.0 * m),
              NEED_LOOSENESS);
    need_stop_held();
    need_hold("mirror_commands, held", bb_mirror_commands_resident(&config, 3.0 * m, 2.0 * m),
              NEED_LOOSENESS);
    const bb_index n = s->guides.measurement_count;
    const bb_index actuators = commands->stack.actuator_count;
    autofree double *side = doubles(actuators * n);
    need_start();
    check_ok(bb_mirror_commands_gather(commands, ctm, side));
    need_stop();
    const bb_need gathering = bb_need_together(
        bb_mirror_commands_gather_need(m, n, (double)actuators, 2.0 * m, s->threads),
        bb_slope_covariance_fill_need(&truth[0], &s->guides, s->threads));
    need_hold("mirror_commands, gathered", gathering, NEED_LOOSENESS);
    bb_mirror_commands_destroy(&commands);
    for (bb_index t = 0; t < TARGETS; ++t) {
        bb_slope_covariance_destroy(&covariance[t]);
        bb_sensor_array_release(&truth[t]);
    }
}

TEST_FULL(needs_cover_what_is_taken)
{
    for (bb_index threads = 1; threads <= 3; threads += 2) {
        autocall(leave) scene s;
        enter(&s, threads);
        hold_sensors(&s);
        hold_unknown_modes(&s);
        hold_tables(&s);
        hold_covariance(&s, "slope_covariance", &s.guides);
        hold_covariance(&s, "slope_covariance, Ctm", &s.truth);
        hold_mirror(&s);
        hold_point_spread(&s);
        hold_commands(&s);
        hold_tomography(&s);
    }
}
