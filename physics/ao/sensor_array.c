// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/sensor_array.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/subapertures.h"

#include <math.h>
#include <string.h>

// Marks the edges in use on the grid of all edges across the axis, then numbers them in order.
static void number_edges(int axis, bb_index lenslets, bb_index subapertures, const bb_index *column,
                         const bb_index *row, bb_index *grid, bb_slope_ends *ends)
{
    const bb_index wide = axis == BB_AXIS_X ? lenslets + 1 : lenslets;
    const bb_index step = axis == BB_AXIS_X ? 1 : wide;
    for (bb_index i = 0; i < subapertures; ++i) {
        const bb_index edge = row[i] * wide + column[i];
        grid[edge] = 1;
        grid[edge + step] = 1;
    }
    for (bb_index edge = 0; edge < lenslets * (lenslets + 1); ++edge) {
        ends->count += grid[edge];
        grid[edge] = ends->count - 1;
    }
    for (bb_index i = 0; i < subapertures; ++i) {
        const bb_index edge = row[i] * wide + column[i];
        ends->minus[i] = grid[edge];
        ends->plus[i] = grid[edge + step];
    }
}

// Positions come from integers, so that both owners of an edge get the same point.
static void set_coordinates(int axis, bb_index lenslets, bb_index subapertures,
                            const bb_index *column, const bb_index *row, bb_slope_ends *ends)
{
    for (bb_index i = 0; i < subapertures; ++i) {
        for (bb_index side = -1; side <= 1; side += 2) {
            const bb_index point = side < 0 ? ends->minus[i] : ends->plus[i];
            const bb_index x = 2 * column[i] + 1 - lenslets + (axis == BB_AXIS_X ? side : 0);
            const bb_index y = 2 * row[i] + 1 - lenslets + (axis == BB_AXIS_Y ? side : 0);
            ends->x[point] = (int)x;
            ends->y[point] = (int)y;
        }
    }
}

bb_status bb_slope_ends_create(int axis, bb_index lenslets, bb_index subapertures,
                               const bb_index *column, const bb_index *row, bb_index layers,
                               bb_slope_ends *out)
{
    bb_status status = BB_OK;
    bb_slope_ends ends = {0};
    bb_index *grid = NULL;
    BB_TRY(BB_ZEROED(lenslets * (lenslets + 1), &grid));
    BB_TRY(BB_ALLOCATE(subapertures, &ends.minus));
    BB_TRY(BB_ALLOCATE(subapertures, &ends.plus));
    number_edges(axis, lenslets, subapertures, column, row, grid, &ends);
    BB_TRY(BB_ALLOCATE(ends.count, &ends.x));
    BB_TRY(BB_ALLOCATE(ends.count, &ends.y));
    set_coordinates(axis, lenslets, subapertures, column, row, &ends);
    BB_TRY(BB_ALLOCATE(layers * ends.count, &ends.layer_x_m));
    BB_TRY(BB_ALLOCATE(layers * ends.count, &ends.layer_y_m));
    *out = ends;
    ends = (bb_slope_ends){0};
done:
    BB_RELEASE(&grid);
    bb_slope_ends_release(&ends);
    return status;
}

void bb_slope_ends_release(bb_slope_ends *ends)
{
    BB_RELEASE(&ends->minus);
    BB_RELEASE(&ends->plus);
    BB_RELEASE(&ends->x);
    BB_RELEASE(&ends->y);
    BB_RELEASE(&ends->layer_x_m);
    BB_RELEASE(&ends->layer_y_m);
    ends->count = 0;
}

bb_status bb_slope_ends_part_create(const bb_slope_ends *ends, bb_index first, bb_index slopes,
                                    bb_slope_ends_part *out)
{
    bb_status status = BB_OK;
    bb_slope_ends_part part = {0};
    const bb_index *minus = ends->minus + first;
    const bb_index *plus = ends->plus + first;
    BB_TRY(BB_ALLOCATE(2 * slopes, &part.point));
    BB_TRY(BB_ALLOCATE(slopes, &part.minus));
    BB_TRY(BB_ALLOCATE(slopes, &part.plus));
    // Merges the two increasing lists.
    for (bb_index i = 0, j = 0; j < slopes; ++part.count) {
        const bb_index next = i < slopes && minus[i] < plus[j] ? minus[i] : plus[j];
        part.point[part.count] = next;
        if (i < slopes && minus[i] == next) {
            part.minus[i++] = part.count;
        }
        if (plus[j] == next) {
            part.plus[j++] = part.count;
        }
    }
    *out = part;
    part = (bb_slope_ends_part){0};
done:
    bb_slope_ends_part_release(&part);
    return status;
}

void bb_slope_ends_part_release(bb_slope_ends_part *part)
{
    BB_RELEASE(&part->point);
    BB_RELEASE(&part->minus);
    BB_RELEASE(&part->plus);
    part->count = 0;
}

static double either(double override, double otherwise)
{
    return isnan(override) ? otherwise : override;
}

static bb_index either_count(bb_index override, bb_index otherwise)
{
    return override == BB_INTEGER_UNSET ? otherwise : override;
}

// The pupil's edge in the star's direction unless the config gives another position; atan2(0, 0) =
// 0 puts the launch telescope of a star on the axis at azimuth zero, the edge at +x.
static void place_launch(const bb_guide_star_config *config, double diameter_m, bb_star *star)
{
    const double azimuth = atan2(config->y_arcsec, config->x_arcsec);
    const double radius = config->launch == BB_LAUNCH_CENTRAL ? 0.0 : 0.5 * diameter_m;
    star->launch_x_m = either(config->launch_x_m, radius * cos(azimuth));
    star->launch_y_m = either(config->launch_y_m, radius * sin(azimuth));
}

static bb_star resolve_star(const bb_ao_config *config, const bb_guide_star_config *guide,
                            double airmass)
{
    const bb_sensors_config *sensors = config->sensors;
    const bb_guide_star_kind *kind = bb_guide_star_kinds[guide->kind];
    const bb_star_settings settings = bb_guide_star_kind_settings(
        kind, bb_sensors_config_star(sensors, guide->kind), &guide->settings);
    const bb_star_air air = {.pupil_altitude_m = config->telescope->altitude_m,
                             .airmass = airmass,
                             .transmission = sensors->atmosphere_transmission};
    bb_star star = {
        .kind = kind,
        .x_rad = guide->x_arcsec / BB_ARCSEC_PER_RADIAN,
        .y_rad = guide->y_arcsec / BB_ARCSEC_PER_RADIAN,
        .frame_s = 1e-3 * either(guide->frame_ms, sensors->frame_ms),
        .read_noise_e = either(guide->read_noise_e, sensors->read_noise_e),
        .pixel_arcsec = settings.pixel_arcsec,
        .wavelength_m = 1e-9 * settings.wavelength_nm,
        .transmission = settings.transmission,
        .photons = settings.photons_per_frame,
        .noise_arcsec = 1e-3 * settings.noise_mas,
        .excess_noise = settings.excess_noise,
        .background_e = settings.background_e,
    };
    kind->resolve(&settings, &air, &star);
    if (kind->launched) {
        place_launch(guide, config->telescope->diameter_m, &star);
    }
    return star;
}

// Computes the ends of all slopes on a layer.
static void place_ends(const bb_sensor *sensor, bb_index l)
{
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        const bb_slope_ends *ends = &sensor->ends[axis];
        double *x = ends->layer_x_m + l * ends->count;
        double *y = ends->layer_y_m + l * ends->count;
        for (bb_index i = 0; i < ends->count; ++i) {
            bb_sensor_frame_place(&sensor->frame, &sensor->layer[l], ends->x[i], ends->y[i], &x[i],
                                  &y[i]);
        }
    }
}

static void project(const bb_atmosphere *atmosphere, bb_sensor *sensor)
{
    const bb_star *star = &sensor->star;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        const double height = atmosphere->height_m[l];
        sensor->layer[l] = (bb_sensor_layer){.scale = fmax(0.0, 1.0 - height / star->altitude_m),
                                             .offset_x_m = height * star->x_rad,
                                             .offset_y_m = height * star->y_rad};
        place_ends(sensor, l);
    }
}

void bb_sensor_array_drift(bb_sensor_array *array, const double (*drift_m)[2])
{
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        for (bb_index l = 0; l < array->layer_count; ++l) {
            bb_sensor_layer *layer = &sensor->layer[l];
            layer->drift_x_m += drift_m[l][0];
            layer->drift_y_m += drift_m[l][1];
            layer->offset_x_m += drift_m[l][0];
            layer->offset_y_m += drift_m[l][1];
            place_ends(sensor, l);
        }
    }
}

static bb_status lay_out_lenslets(const bb_pupil *pupil, bb_index layers, bb_sensor *sensor)
{
    bb_status status = BB_OK;
    const bb_index lenslets = sensor->lenslets;
    bb_index *column = NULL;
    bb_index *row = NULL;
    BB_TRY(BB_ALLOCATE(sensor->count, &column));
    BB_TRY(BB_ALLOCATE(sensor->count, &row));
    BB_TRY(BB_ALLOCATE(sensor->count, &sensor->site));
    bb_subapertures_lenslets(lenslets, pupil, column, row);
    for (bb_index i = 0; i < sensor->count; ++i) {
        sensor->site[i] = (2 * lenslets - 1) * row[i] + column[i];
    }
    for (int axis = BB_AXIS_X; axis <= BB_AXIS_Y; ++axis) {
        BB_TRY(bb_slope_ends_create(axis, lenslets, sensor->count, column, row, layers,
                                    &sensor->ends[axis]));
    }
done:
    BB_RELEASE(&column);
    BB_RELEASE(&row);
    return status;
}

// Quarter turns are exact, so that they permute a covariance.
static void rotation(double angle_deg, double *cosine, double *sine)
{
    static const double steps[] = {1.0, 0.0, -1.0, 0.0};
    const double quarters = angle_deg / 90.0;
    if (quarters == rint(quarters)) {
        const int quarter = ((int)quarters % 4 + 4) % 4;
        *cosine = steps[quarter];
        *sine = steps[(quarter + 3) % 4];
    } else {
        *cosine = cos(angle_deg * BB_PI / 180.0);
        *sine = sin(angle_deg * BB_PI / 180.0);
    }
}

// Returns a grid of `lenslets` with the misalignment of `guide`; NULL: aligned.
static bb_sensor_frame make_frame(const bb_ao_config *config, bb_index lenslets,
                                  const bb_guide_star_config *guide)
{
    const double diameter_m = config->telescope->diameter_m;
    bb_sensor_frame frame = {.half_lenslet_m = 0.5 * diameter_m / (double)lenslets, .cosine = 1.0};
    if (guide != NULL) {
        frame.half_lenslet_m *= guide->magnification;
        rotation(guide->rotation_deg, &frame.cosine, &frame.sine);
        frame.shift_x_m = guide->shift_x_m;
        frame.shift_y_m = guide->shift_y_m;
    }
    frame.half_edge_m = bb_ao_config_averages(config, lenslets, guide) ? frame.half_lenslet_m : 0.0;
    return frame;
}

bool bb_sensor_averages(const bb_sensor *sensor)
{
    return sensor->frame.half_edge_m > 0.0;
}

static bb_status fill_sensor(const bb_ao_config *config, const bb_atmosphere *atmosphere,
                             bb_index lenslets, const bb_guide_star_config *guide,
                             bb_sensor *sensor)
{
    bb_status status = BB_OK;
    const bb_telescope_config *telescope = config->telescope;
    const bb_index layers = atmosphere->layer_count;
    const double magnification = guide != NULL ? guide->magnification : 1.0;
    const double radius = 0.5 * telescope->diameter_m * magnification;
    const bb_pupil pupil = bb_ao_config_pupil(config);
    const bb_index count = bb_subapertures_count(lenslets, &pupil);
    sensor->lenslets = lenslets;
    sensor->count = count;
    sensor->size_m = telescope->diameter_m / (double)lenslets * magnification;
    sensor->frame = make_frame(config, lenslets, guide);
    BB_TRY(BB_ALLOCATE(count, &sensor->x_m));
    BB_TRY(BB_ALLOCATE(count, &sensor->y_m));
    BB_TRY(BB_ALLOCATE(layers, &sensor->layer));
    BB_TRY(lay_out_lenslets(&pupil, layers, sensor));
    bb_subapertures_centres(lenslets, &pupil, sensor->x_m, sensor->y_m);
    for (bb_index i = 0; i < count; ++i) {
        double x, y;
        bb_sensor_frame_turn(&sensor->frame, radius * sensor->x_m[i], radius * sensor->y_m[i], &x,
                             &y);
        sensor->x_m[i] = x + sensor->frame.shift_x_m;
        sensor->y_m[i] = y + sensor->frame.shift_y_m;
    }
    project(atmosphere, sensor);
done:
    return status;
}

bb_need bb_sensor_array_need(bb_index lenslets, bb_index subapertures, bb_index layers)
{
    const double count = (double)subapertures;
    const double ends = count + 2.0 * (double)lenslets; // neighbours share them
    const double places = 2.0 * (count * sizeof(double) + ends * (double)layers * sizeof(double));
    const double slopes = 2.0 * (2.0 * count * sizeof(bb_index) + 2.0 * ends * sizeof(int));
    const double grid = (double)lenslets * (double)(lenslets + 1) * sizeof(bb_index);
    return (bb_need){.host_bytes = sizeof(bb_sensor) + (double)layers * sizeof(bb_sensor_layer) +
                                   places + 2.0 * ends * (double)layers * sizeof(double) + slopes +
                                   3.0 * count * sizeof(bb_index) + grid};
}

static bb_status start_array(const bb_ao_config *config, const bb_atmosphere *atmosphere,
                             bb_index sensors, bb_sensor_array *array)
{
    bb_status status = BB_OK;
    *array = (bb_sensor_array){
        .layer_count = atmosphere->layer_count,
        .diameter_m = config->telescope->diameter_m,
        .obstruction = config->telescope->obstruction,
        .atmosphere_transmission = config->sensors->atmosphere_transmission,
    };
    BB_REQUIRE(config->telescope->pupil.file == NULL || config->pupil_mask != NULL, BB_INTERNAL,
               "the mask of telescope.pupil.file = %s has not been loaded",
               config->telescope->pupil.file);
    BB_TRY(BB_ZEROED(sensors, &array->sensors));
    array->sensor_count = sensors;
done:
    return status;
}

bb_status bb_sensor_array_create_guides(const bb_ao_config *config, const bb_atmosphere *atmosphere,
                                        bb_sensor_array *out)
{
    bb_status status = BB_OK;
    bb_sensor_array array = {0};
    BB_TRY(start_array(config, atmosphere, config->guide_star_count, &array));
    for (bb_index s = 0; s < array.sensor_count; ++s) {
        const bb_guide_star_config *guide = &config->guide_stars[s];
        bb_sensor *sensor = &array.sensors[s];
        sensor->star = resolve_star(config, guide, atmosphere->airmass);
        sensor->first = array.measurement_count;
        BB_TRY(fill_sensor(config, atmosphere,
                           either_count(guide->lenslets, config->sensors->lenslets), guide,
                           sensor));
        array.measurement_count += 2 * sensor->count;
    }
    *out = array;
    array = (bb_sensor_array){0};
done:
    bb_sensor_array_release(&array);
    return status;
}

bb_status bb_sensor_array_create_truth(const bb_ao_config *config, bb_index target,
                                       const bb_atmosphere *atmosphere, bb_sensor_array *out)
{
    bb_status status = BB_OK;
    bb_sensor_array array = {0};
    BB_REQUIRE(target >= 0 && target < config->target_count, BB_INVALID,
               "target %td, expected 0..%td", target, config->target_count - 1);
    const bb_target_config *aim = &config->targets[target];
    BB_TRY(start_array(config, atmosphere, 1, &array));
    array.sensors[0].star = (bb_star){.kind = &bb_ngs_star,
                                      .altitude_m = INFINITY,
                                      .x_rad = aim->x_arcsec / BB_ARCSEC_PER_RADIAN,
                                      .y_rad = aim->y_arcsec / BB_ARCSEC_PER_RADIAN};
    BB_TRY(fill_sensor(config, atmosphere, either_count(aim->lenslets, config->sensors->lenslets),
                       NULL, &array.sensors[0]));
    array.measurement_count = 2 * array.sensors[0].count;
    *out = array;
    array = (bb_sensor_array){0};
done:
    bb_sensor_array_release(&array);
    return status;
}

void bb_sensor_array_release(bb_sensor_array *array)
{
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        bb_sensor *sensor = &array->sensors[s];
        BB_RELEASE(&sensor->x_m);
        BB_RELEASE(&sensor->y_m);
        BB_RELEASE(&sensor->layer);
        BB_RELEASE(&sensor->site);
        bb_slope_ends_release(&sensor->ends[BB_AXIS_X]);
        bb_slope_ends_release(&sensor->ends[BB_AXIS_Y]);
    }
    BB_RELEASE(&array->sensors);
    array->sensor_count = 0;
}

static double unknown_variance(const bb_sensor *sensor, bool infinite)
{
    if (!sensor->star.kind->tilt_unknown) {
        return 0.0;
    }
    return infinite ? INFINITY : sensor->star.tilt_variance_arcsec2;
}

bb_status bb_tilt_vectors_create(const bb_sensor_array *array, bool infinite, bb_tilt_vectors *out)
{
    bb_status status = BB_OK;
    bb_tilt_vectors tilts = {.rows = array->measurement_count};
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        tilts.columns += unknown_variance(&array->sensors[s], infinite) > 0.0 ? 2 : 0;
    }
    BB_TRY(BB_ZEROED(tilts.rows * tilts.columns, &tilts.vectors));
    BB_TRY(BB_ALLOCATE(tilts.columns, &tilts.variance));
    bb_index column = 0;
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        const double variance = unknown_variance(sensor, infinite);
        if (variance == 0.0) {
            continue;
        }
        for (bb_index axis = 0; axis < 2; ++axis, ++column) {
            tilts.variance[column] = variance;
            for (bb_index i = 0; i < sensor->count; ++i) {
                const bb_index row = sensor->first + axis * sensor->count + i;
                tilts.vectors[row * tilts.columns + column] = 1.0;
            }
        }
    }
    *out = tilts;
    tilts = (bb_tilt_vectors){0};
done:
    bb_tilt_vectors_release(&tilts);
    return status;
}

void bb_tilt_vectors_release(bb_tilt_vectors *tilts)
{
    BB_RELEASE(&tilts->vectors);
    BB_RELEASE(&tilts->variance);
}
