// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/frame_sampler.h"

#include "core/memory.h"
#include "core/random.h"
#include "physics/ao/ao_constants.h"

#include <math.h>
#include <string.h>

// Geometric Shack-Hartmann sensor on one layer: a slope is the difference of the phase between two
// opposite edges of a subaperture's image on the layer, over its size in the pupil: at the edges'
// midpoints (point difference) or averaged along the edges, which is the gradient averaged over the
// subaperture. The cone effect shrinks the images for laser stars; the star's direction shifts
// them. The images of a sensor's subapertures on a layer must form a grid parallel to the axes. One
// sensor on one layer, as axes of the screens:
typedef struct sensor_view {
    const bb_sensor *sensor;  // borrowed
    bb_screen_axis across[2]; // by axis of the slope: differences along it
    bb_screen_axis along[2];  // positions across it, or means over the edges
} sensor_view;

// Positions and widths of a sensor's columns (axis x) or rows (axis y) on a layer.
typedef struct view_lines {
    double *position[2]; // [lenslets], by axis
    double *width[2];
} view_lines;

static void release_lines(view_lines *rows)
{
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        BB_RELEASE(&rows->position[axis]);
        BB_RELEASE(&rows->width[axis]);
    }
}

static void lenslet_of(const bb_sensor *sensor, bb_index i, bb_index indices[2])
{
    indices[BB_AXIS_X] = sensor->site[i] % (2 * sensor->lenslets - 1);
    indices[BB_AXIS_Y] = sensor->site[i] / (2 * sensor->lenslets - 1);
}

// Computes centre and extent of a subaperture's image along an axis, from the ends of its slope.
static void measure(const bb_sensor *sensor, bb_index layer, int axis, bb_index i, double *middle,
                    double *width, double *side)
{
    const bb_slope_ends *ends = &sensor->ends[axis];
    const double *x = ends->layer_x_m + layer * ends->count;
    const double *y = ends->layer_y_m + layer * ends->count;
    const double *along = axis == BB_AXIS_X ? x : y;
    const double *across = axis == BB_AXIS_X ? y : x;
    const bb_index minus = ends->minus[i];
    const bb_index plus = ends->plus[i];
    *middle = 0.5 * (along[minus] + along[plus]);
    *width = along[plus] - along[minus];
    *side = fabs(across[plus] - across[minus]);
}

static bb_status find_lines(const bb_sensor *sensor, bb_index layer, view_lines *rows)
{
    bb_status status = BB_OK;
    const double slack = 1e-9 * sensor->size_m;
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        BB_TRY(BB_ALLOCATE(sensor->lenslets, &rows->position[axis]));
        BB_TRY(BB_ZEROED(sensor->lenslets, &rows->width[axis]));
        for (bb_index k = 0; k < sensor->lenslets; ++k) {
            rows->position[axis][k] = NAN;
        }
        for (bb_index i = 0; i < sensor->count; ++i) {
            bb_index indices[2];
            double middle = 0.0;
            double width = 0.0;
            double side = 0.0;
            lenslet_of(sensor, i, indices);
            measure(sensor, layer, axis, i, &middle, &width, &side);
            double *known = &rows->position[axis][indices[axis]];
            rows->width[axis][indices[axis]] = width;
            *known = isnan(*known) ? middle : *known;
            BB_REQUIRE(side <= slack && fabs(middle - *known) <= slack, BB_UNSUPPORTED,
                       "monte_carlo: phase screens need lenslets parallel to the axes; subaperture "
                       "%td is %.3g m off",
                       i, fmax(side, fabs(middle - *known)));
        }
        for (bb_index k = 0; k < sensor->lenslets; ++k) {
            // A line without a valid subaperture is never used.
            rows->position[axis][k] =
                isnan(rows->position[axis][k]) ? 0.0 : rows->position[axis][k];
        }
    }
done:
    return status;
}

static void sensor_view_release(sensor_view *view)
{
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        bb_screen_axis_release(&view->across[axis]);
        bb_screen_axis_release(&view->along[axis]);
    }
}

static bb_status sensor_view_create(const bb_phase_screen *screen, const bb_sensor *sensor,
                                    bb_index layer, sensor_view *out)
{
    bb_status status = BB_OK;
    sensor_view view = {.sensor = sensor};
    const bb_screen_taken mean = bb_sensor_averages(sensor) ? BB_SCREEN_MEAN : BB_SCREEN_POINT;
    view_lines rows = {0};
    BB_TRY(find_lines(sensor, layer, &rows));
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        const bool x = axis == BB_AXIS_X;
        const int other = x ? BB_AXIS_Y : BB_AXIS_X;
        BB_TRY(bb_screen_axis_create(screen, x, sensor->lenslets, rows.position[axis],
                                     rows.width[axis], BB_SCREEN_DIFFERENCE, &view.across[axis]));
        BB_TRY(bb_screen_axis_create(screen, !x, sensor->lenslets, rows.position[other],
                                     rows.width[other], mean, &view.along[axis]));
    }
    *out = view;
    view = (sensor_view){0};
done:
    release_lines(&rows);
    sensor_view_release(&view);
    return status;
}

// Adds the layer's part to the slopes [2 sensor count] (x then y, arcsec).
static bb_status sensor_view_add(const sensor_view *view, const bb_phase_screen *screen,
                                 const bb_amplitude *amplitudes, double *slopes)
{
    bb_status status = BB_OK;
    const bb_sensor *sensor = view->sensor;
    const bb_index n = sensor->lenslets;
    const double arcsec_per_radian_of_phase =
        BB_ARCSEC_PER_RADIAN * BB_R0_WAVELENGTH_M / (2.0 * BB_PI * sensor->size_m);
    double *grid = NULL;
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        const bool x = axis == BB_AXIS_X;
        BB_RELEASE(&grid);
        BB_TRY(BB_ZEROED(n * n, &grid));
        BB_TRY(bb_phase_screen_add(screen, amplitudes, x ? &view->across[axis] : &view->along[axis],
                                   x ? &view->along[axis] : &view->across[axis], grid));
        for (bb_index i = 0; i < sensor->count; ++i) {
            bb_index indices[2];
            lenslet_of(sensor, i, indices);
            slopes[axis * sensor->count + i] +=
                arcsec_per_radian_of_phase * grid[indices[BB_AXIS_Y] * n + indices[BB_AXIS_X]];
        }
    }
done:
    BB_RELEASE(&grid);
    return status;
}

enum { SCREENS = 2, COARSENESS = 4 }; // a coarse and a fine one; ratio of their pixels
static const double fine_oversize = 1.5;

// The pupil's points in a target's direction on a layer.
typedef struct pupil_view {
    bb_screen_axis x, y;
} pupil_view;

struct bb_frame_sampler {
    const bb_tomography *tomography;
    bb_phase_screen screen[SCREENS];
    bb_index layers;
    sensor_view *guides; // [SCREENS layers][sensors], the screens of a layer adjacent
    sensor_view *truth;  // [SCREENS layers][targets]
    pupil_view *pupils;  // [SCREENS layers][targets]
};

// Extends [low, high] of a layer along both axes by a sensor's image.
static void widen(const bb_sensor *sensor, bb_index layer, double height, double reach_m,
                  double low[2], double high[2])
{
    const bb_sensor_layer *sensor_layer = &sensor->layer[layer];
    const double half = sensor_layer->scale * reach_m;
    const double centre[2] = {
        sensor_layer->scale * sensor->frame.shift_x_m + height * sensor->star.x_rad,
        sensor_layer->scale * sensor->frame.shift_y_m + height * sensor->star.y_rad};
    for (int axis = 0; axis < 2; ++axis) {
        low[axis] = fmin(low[axis], centre[axis] - half);
        high[axis] = fmax(high[axis], centre[axis] + half);
    }
}

bb_status bb_screen_size_for(const bb_monte_carlo_config *config, const bb_atmosphere *atmosphere,
                             bb_index array_count, const bb_sensor_array *const *arrays,
                             bb_screen_size *out)
{
    bb_status status = BB_OK;
    double widest = 0.0;
    double size = INFINITY;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        double low[2] = {INFINITY, INFINITY};
        double high[2] = {-INFINITY, -INFINITY};
        for (bb_index a = 0; a < array_count; ++a) {
            for (bb_index s = 0; s < arrays[a]->sensor_count; ++s) {
                const bb_sensor *sensor = &arrays[a]->sensors[s];
                widen(sensor, l, atmosphere->height_m[l], 0.5 * arrays[a]->diameter_m, low, high);
                size = fmin(size, sensor->size_m);
            }
        }
        widest = fmax(widest, fmax(high[0] - low[0], high[1] - low[1]));
    }
    const double fine = size / (double)config->pixels_per_subaperture;
    const double pixel = COARSENESS * fine;
    const double coarse_points = ceil(config->screen_oversize * widest / pixel);
    const double fine_points = ceil(fine_oversize * widest / fine);
    // Checked before conversion to an integer, and before searching the next number with small
    // factors.
    BB_REQUIRE(fmax(coarse_points, fine_points) <= BB_PHASE_SCREEN_MOST, BB_INVALID,
               "phase screens of %g and %g points along an edge, expected at most %d: stars and "
               "targets together cover %g m of a layer, and the finest pixel is %g m",
               coarse_points, fine_points, BB_PHASE_SCREEN_MOST, widest, fine);
    *out = (bb_screen_size){bb_phase_screen_points((bb_index)coarse_points), pixel,
                            bb_phase_screen_points((bb_index)fine_points), fine};
done:
    return status;
}

static bb_status make_screen(const bb_monte_carlo_config *config, bb_frame_sampler *sampler)
{
    bb_status status = BB_OK;
    const bb_tomography *tomography = sampler->tomography;
    const bb_sensor_array **arrays = NULL;
    BB_TRY(BB_ALLOCATE(tomography->target_count + 1, &arrays));
    arrays[0] = &tomography->guides;
    for (bb_index t = 0; t < tomography->target_count; ++t) {
        arrays[t + 1] = &tomography->targets[t].truth;
    }
    bb_screen_size size;
    BB_TRY(bb_screen_size_for(config, &tomography->atmosphere, tomography->target_count + 1, arrays,
                              &size));
    BB_TRY(bb_phase_screen_create(size.points, size.pixel_m, tomography->atmosphere.outer_scale_m,
                                  config->subharmonics, &sampler->screen[0]));
    BB_TRY(bb_phase_screen_refine(&sampler->screen[0], size.fine_points, size.fine_pixel_m,
                                  &sampler->screen[1]));
done:
    BB_RELEASE(&arrays);
    return status;
}

static bb_status view_pupil(const bb_frame_sampler *sampler, bb_index place, bb_index index,
                            pupil_view *out)
{
    bb_status status = BB_OK;
    const bb_tomography_target *target = &sampler->tomography->targets[index];
    const bb_point_spread_grid *grid = bb_point_spread_layout(target->spread);
    const bb_star *star = &target->truth.sensors[0].star;
    const bb_phase_screen *screen = &sampler->screen[place % SCREENS];
    const double height = sampler->tomography->atmosphere.height_m[place / SCREENS];
    double *x = NULL;
    double *y = NULL;
    BB_TRY(BB_ALLOCATE(grid->pupil_points, &x));
    BB_TRY(BB_ALLOCATE(grid->pupil_points, &y));
    const bb_index middle = grid->pupil_points / 2;
    for (bb_index i = 0; i < grid->pupil_points; ++i) {
        const double position = grid->pixel_m * (double)(i - middle);
        x[i] = position + height * star->x_rad;
        y[i] = position + height * star->y_rad;
    }
    BB_TRY(
        bb_screen_axis_create(screen, true, grid->pupil_points, x, NULL, BB_SCREEN_POINT, &out->x));
    BB_TRY(bb_screen_axis_create(screen, false, grid->pupil_points, y, NULL, BB_SCREEN_POINT,
                                 &out->y));
done:
    BB_RELEASE(&x);
    BB_RELEASE(&y);
    return status;
}

static bb_status make_views(bb_frame_sampler *sampler)
{
    bb_status status = BB_OK;
    const bb_tomography *tomography = sampler->tomography;
    const bb_index sensors = tomography->guides.sensor_count;
    const bb_index targets = tomography->target_count;
    BB_TRY(BB_ZEROED(SCREENS * sampler->layers * sensors, &sampler->guides));
    BB_TRY(BB_ZEROED(SCREENS * sampler->layers * targets, &sampler->truth));
    BB_TRY(BB_ZEROED(SCREENS * sampler->layers * targets, &sampler->pupils));
    for (bb_index index = 0; index < SCREENS * sampler->layers; ++index) {
        const bb_phase_screen *screen = &sampler->screen[index % SCREENS];
        for (bb_index s = 0; s < sensors; ++s) {
            BB_TRY(sensor_view_create(screen, &tomography->guides.sensors[s], index / SCREENS,
                                      &sampler->guides[index * sensors + s]));
        }
        for (bb_index t = 0; t < targets; ++t) {
            BB_TRY(sensor_view_create(screen, &tomography->targets[t].truth.sensors[0],
                                      index / SCREENS, &sampler->truth[index * targets + t]));
            BB_TRY(view_pupil(sampler, index, t, &sampler->pupils[index * targets + t]));
        }
    }
done:
    return status;
}

bb_status bb_frame_sampler_create(const bb_tomography *tomography,
                                  const bb_monte_carlo_config *config, bb_frame_sampler **out)
{
    bb_status status = BB_OK;
    bb_frame_sampler *sampler = NULL;
    BB_TRY(BB_ZEROED(1, &sampler));
    sampler->tomography = tomography;
    sampler->layers = tomography->atmosphere.layer_count;
    BB_TRY(make_screen(config, sampler));
    BB_TRY(make_views(sampler));
    *out = sampler;
    sampler = NULL;
done:
    bb_frame_sampler_destroy(&sampler);
    return status;
}

void bb_frame_sampler_destroy(bb_frame_sampler **sampler)
{
    bb_frame_sampler *s = *sampler;
    if (s == NULL) {
        return;
    }
    const bb_index sensors = s->tomography->guides.sensor_count;
    const bb_index targets = s->tomography->target_count;
    for (bb_index k = 0; s->guides != NULL && k < SCREENS * s->layers * sensors; ++k) {
        sensor_view_release(&s->guides[k]);
    }
    for (bb_index k = 0; s->truth != NULL && k < SCREENS * s->layers * targets; ++k) {
        sensor_view_release(&s->truth[k]);
    }
    for (bb_index k = 0; s->pupils != NULL && k < SCREENS * s->layers * targets; ++k) {
        bb_screen_axis_release(&s->pupils[k].x);
        bb_screen_axis_release(&s->pupils[k].y);
    }
    BB_RELEASE(&s->guides);
    BB_RELEASE(&s->truth);
    BB_RELEASE(&s->pupils);
    for (int k = 0; k < SCREENS; ++k) {
        bb_phase_screen_release(&s->screen[k]);
    }
    BB_RELEASE(sampler);
}

bb_screen_size bb_frame_sampler_screen(const bb_frame_sampler *sampler)
{
    return (bb_screen_size){sampler->screen[0].points, sampler->screen[0].pixel_m,
                            sampler->screen[1].points, sampler->screen[1].pixel_m};
}

const bb_tomography *bb_frame_sampler_tomography(const bb_frame_sampler *sampler)
{
    return sampler->tomography;
}

static bb_index phase_points(const bb_tomography *tomography, bb_index target)
{
    return bb_point_spread_layout(tomography->targets[target].spread)->pupil_points;
}

bb_status bb_frame_create(const bb_frame_sampler *sampler, bb_frame *out)
{
    bb_status status = BB_OK;
    const bb_tomography *tomography = sampler->tomography;
    bb_frame frame = {.target_count = tomography->target_count};
    bb_amplitude *amplitudes = NULL;
    bb_amplitude *corrected = NULL;
    BB_TRY(BB_ALLOCATE(tomography->guides.measurement_count, &frame.guides));
    BB_TRY(BB_ZEROED(frame.target_count, &frame.truth));
    BB_TRY(BB_ZEROED(frame.target_count, &frame.phase));
    for (bb_index t = 0; t < frame.target_count; ++t) {
        const bb_index points = phase_points(tomography, t);
        BB_TRY(BB_ALLOCATE(tomography->targets[t].truth.measurement_count, &frame.truth[t]));
        BB_TRY(BB_ALLOCATE(points * points, &frame.phase[t]));
    }
    const bb_index waves = sampler->screen[0].waves > sampler->screen[1].waves
                               ? sampler->screen[0].waves
                               : sampler->screen[1].waves;
    BB_TRY(BB_ALLOCATE(waves, &amplitudes));
    frame.amplitudes = amplitudes;
    BB_TRY(BB_ALLOCATE(waves, &corrected));
    frame.corrected = corrected;
    *out = frame;
    frame = (bb_frame){0};
done:
    bb_frame_release(&frame);
    return status;
}

void bb_frame_release(bb_frame *frame)
{
    for (bb_index t = 0; t < frame->target_count; ++t) {
        if (frame->truth != NULL) {
            BB_RELEASE(&frame->truth[t]);
        }
        if (frame->phase != NULL) {
            BB_RELEASE(&frame->phase[t]);
        }
    }
    BB_RELEASE(&frame->guides);
    BB_RELEASE(&frame->truth);
    BB_RELEASE(&frame->phase);
    BB_RELEASE(&frame->amplitudes);
    BB_RELEASE(&frame->corrected);
}

void bb_frame_clear(const bb_frame_sampler *sampler, int parts, bb_frame *frame)
{
    const bb_tomography *tomography = sampler->tomography;
    if ((parts & BB_FRAME_GUIDES) != 0) {
        memset(frame->guides, 0,
               (size_t)tomography->guides.measurement_count * sizeof *frame->guides);
    }
    for (bb_index t = 0; (parts & BB_FRAME_TARGETS) != 0 && t < frame->target_count; ++t) {
        const bb_index points = phase_points(tomography, t);
        memset(frame->truth[t], 0,
               (size_t)tomography->targets[t].truth.measurement_count * sizeof **frame->truth);
        memset(frame->phase[t], 0, (size_t)(points * points) * sizeof **frame->phase);
    }
}

static bb_status add_guides(const bb_frame_sampler *sampler, bb_index index,
                            const bb_amplitude *amplitudes, bb_frame *frame)
{
    bb_status status = BB_OK;
    const bb_index sensors = sampler->tomography->guides.sensor_count;
    const bb_phase_screen *screen = &sampler->screen[index % SCREENS];
    for (bb_index s = 0; s < sensors; ++s) {
        const sensor_view *view = &sampler->guides[index * sensors + s];
        BB_TRY(sensor_view_add(view, screen, amplitudes, frame->guides + view->sensor->first));
    }
done:
    return status;
}

static bb_status add_targets(const bb_frame_sampler *sampler, bb_index index,
                             const bb_amplitude *amplitudes, bb_frame *frame)
{
    bb_status status = BB_OK;
    const bb_tomography *tomography = sampler->tomography;
    const bb_phase_screen *screen = &sampler->screen[index % SCREENS];
    for (bb_index t = 0; t < frame->target_count; ++t) {
        const bb_index place = index * frame->target_count + t;
        const bb_amplitude *seen = amplitudes;
        if (tomography->targets[t].corrected.coefficients != NULL) {
            const double pitch_m = tomography->targets[t].truth.sensors[0].size_m;
            bb_phase_screen_limit(screen, 0.5 / pitch_m, amplitudes, frame->corrected);
            seen = frame->corrected;
        }
        BB_TRY(sensor_view_add(&sampler->truth[place], screen, seen, frame->truth[t]));
        BB_TRY(bb_phase_screen_add(screen, amplitudes, &sampler->pupils[place].x,
                                   &sampler->pupils[place].y, frame->phase[t]));
    }
done:
    return status;
}

bb_index bb_frame_sampler_screens(const bb_frame_sampler *sampler)
{
    return SCREENS * sampler->layers;
}

bb_index bb_frame_sampler_layers(const bb_frame_sampler *sampler)
{
    return sampler->layers;
}

const bb_phase_screen *bb_frame_sampler_waves(const bb_frame_sampler *sampler, bb_index index)
{
    return &sampler->screen[index % SCREENS];
}

void bb_frame_sampler_draw(const bb_frame_sampler *sampler, uint64_t seed, uint64_t number,
                           bb_index index, bb_amplitude *amplitudes)
{
    const bb_index layer = index / SCREENS;
    bb_phase_screen_draw(&sampler->screen[index % SCREENS],
                         sampler->tomography->atmosphere.strength[layer], seed,
                         number * (uint64_t)sampler->layers + (uint64_t)layer, amplitudes);
}

bb_status bb_frame_show(const bb_frame_sampler *sampler, int parts, bb_index index,
                        const bb_amplitude *amplitudes, bb_frame *frame)
{
    bb_status status = BB_OK;
    if ((parts & BB_FRAME_GUIDES) != 0) {
        BB_TRY(add_guides(sampler, index, amplitudes, frame));
    }
    if ((parts & BB_FRAME_TARGETS) != 0) {
        BB_TRY(add_targets(sampler, index, amplitudes, frame));
    }
done:
    return status;
}

static void add_noise(const bb_tomography *tomography, uint64_t seed, uint64_t number,
                      double *slopes)
{
    const bb_sensor_array *guides = &tomography->guides;
    const uint64_t first = number * (uint64_t)tomography->noise.count;
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        for (bb_index i = 0; i < sensor->count; ++i) {
            const bb_index subaperture = sensor->first / 2 + i;
            const bb_slope_noise noise = tomography->noise.subaperture[subaperture];
            double pair[2];
            bb_random_normal_pair(seed, BB_STREAM_SLOPE_NOISE, first + (uint64_t)subaperture, pair);
            // Cholesky factor of the covariance of the two slopes.
            const double x = sqrt(noise.xx);
            const double shared = x > 0.0 ? noise.xy / x : 0.0;
            const double rest = sqrt(fmax(0.0, noise.yy - shared * shared));
            slopes[sensor->first + i] += x * pair[0];
            slopes[sensor->first + sensor->count + i] += shared * pair[0] + rest * pair[1];
        }
    }
}

static void add_tilts(const bb_sensor_array *guides, uint64_t seed, uint64_t number, double *slopes)
{
    const uint64_t first = number * (uint64_t)guides->sensor_count;
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        const double variance = sensor->star.tilt_variance_arcsec2;
        double pair[2];
        if (!sensor->star.kind->tilt_unknown || !isfinite(variance) || variance <= 0.0) {
            continue;
        }
        bb_random_normal_pair(seed, BB_STREAM_LASER_TILT, first + (uint64_t)s, pair);
        for (bb_index i = 0; i < 2 * sensor->count; ++i) {
            slopes[sensor->first + i] += sqrt(variance) * pair[i < sensor->count ? 0 : 1];
        }
    }
}

void bb_frame_finish(const bb_frame_sampler *sampler, int parts, uint64_t seed, uint64_t number,
                     bb_frame *frame)
{
    const bb_tomography *tomography = sampler->tomography;
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    for (bb_index t = 0; (parts & BB_FRAME_TARGETS) != 0 && t < frame->target_count; ++t) {
        const bb_index points = phase_points(tomography, t);
        for (bb_index k = 0; k < points * points; ++k) {
            frame->phase[t][k] *= wave_m;
        }
    }
    if ((parts & BB_FRAME_GUIDES) != 0) {
        add_noise(tomography, seed, number, frame->guides);
        add_tilts(&tomography->guides, seed, number, frame->guides);
    }
}

bb_status bb_frame_draw(const bb_frame_sampler *sampler, uint64_t seed, uint64_t number,
                        bb_frame *frame)
{
    bb_status status = BB_OK;
    bb_frame_clear(sampler, BB_FRAME_WHOLE, frame);
    for (bb_index index = 0; index < bb_frame_sampler_screens(sampler); ++index) {
        bb_frame_sampler_draw(sampler, seed, number, index, frame->amplitudes);
        BB_TRY(bb_frame_show(sampler, BB_FRAME_WHOLE, index, frame->amplitudes, frame));
    }
    bb_frame_finish(sampler, BB_FRAME_WHOLE, seed, number, frame);
done:
    return status;
}

// Both screens of every layer; two axes and two values per sensor, two axes per pupil.
bb_need bb_frame_sampler_resident(const bb_frame_sampler_extent *frames)
{
    const bb_index points[SCREENS] = {frames->screen.points, frames->screen.fine_points};
    const bb_index levels[SCREENS] = {frames->levels, 0};
    const double lines = 2.0 * frames->lines + frames->points;
    bb_need need = {.host_bytes = sizeof(bb_frame_sampler)};
    for (int k = 0; k < SCREENS; ++k) {
        bb_need views = bb_screen_axis_need(points[k], levels[k], lines);
        views.host_bytes += frames->lines * sizeof(sensor_view); // a view has at least one line
        need = bb_need_together(need, bb_phase_screen_resident(points[k]));
        need = bb_need_together(need, bb_need_copies(views, frames->layers));
    }
    return need;
}

// Screens first: the fine one is created while the coarse one exists.
bb_need bb_frame_sampler_need(const bb_frame_sampler_extent *frames)
{
    const bb_need screens =
        bb_need_in_turn(bb_phase_screen_need(frames->screen.points),
                        bb_need_together(bb_phase_screen_resident(frames->screen.points),
                                         bb_phase_screen_need(frames->screen.fine_points)));
    return bb_need_in_turn(screens, bb_frame_sampler_resident(frames));
}

// A screen is drawn, then evaluated twice by every sensor and once by every pupil. The two screens
// of a layer share memory for the larger one's amplitudes, all of them and those that a mirror
// corrects.
bb_need bb_frame_need(const bb_frame_sampler_extent *frames, double threads)
{
    const bb_index points[SCREENS] = {frames->screen.points, frames->screen.fine_points};
    bb_need amplitudes = {0};
    bb_need views = {0};
    for (int k = 0; k < SCREENS; ++k) {
        const double n = (double)points[k];
        const bb_need drawn = bb_phase_screen_draw_need(points[k]);
        bb_need seen = bb_phase_screen_add_need(points[k], sqrt(frames->squared_points));
        seen.seconds = (4.0 * n * n * (2.0 * frames->lines + frames->points) +
                        8.0 * n * frames->squared_points) /
                       BB_NEED_FP64_RATE;
        amplitudes = bb_need_in_turn(amplitudes, drawn);
        views = bb_need_in_turn(views, seen);
    }
    amplitudes.host_bytes *= 2.0;
    bb_need frame = bb_need_repeated(bb_need_together(amplitudes, views), frames->layers);
    frame.host_bytes += (frames->slopes + frames->squared_points) * sizeof(double) +
                        2.0 * frames->lines * sizeof(double *); // two arrays per target
    frame = bb_need_repeated(frame, frames->frames);
    frame.host_bytes *= fmin(threads, frames->frames);
    return bb_need_shared(frame, threads);
}
