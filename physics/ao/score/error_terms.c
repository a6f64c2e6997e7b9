// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/error_terms.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/tomography.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    FOLDS = 8,          // spectral orders counted by aliasing, on either side
    BAND = 64,          // frequencies across a quarter of the corrected band, for the variance
    LAG_DIRECTIONS = 24 // wind directions, over half a turn
};

bool bb_error_terms_wanted(const bb_error_terms_config *config)
{
    return config != NULL && (config->fitting || config->aliasing || config->frame_delay_ms > 0.0);
}

double bb_error_terms_fitting_coefficient(void)
{
    return 2.0 * BB_PI * BB_SPECTRUM * 0.6 * pow(2.0, 5.0 / 3.0);
}

// Computes Wal(f) d^(-11/3) r0^(5/3) at a frequency in units of 1 / d.
static double aliased_spectrum(double fx, double fy)
{
    double sum = 0.0;
    for (int m = -FOLDS; m <= FOLDS; ++m) {
        for (int l = -FOLDS; l <= FOLDS; ++l) {
            if (l == 0 && m == 0) {
                continue;
            }
            const double gx = fx - l;
            const double gy = fy - m;
            const double fold = fx / gy + fy / gx;
            sum += fold * fold * pow(gx * gx + gy * gy, -11.0 / 6.0);
        }
    }
    const double share = fx * fy / (fx * fx + fy * fy);
    return BB_SPECTRUM * share * share * sum;
}

double bb_error_terms_aliasing_coefficient(void)
{
    double sum = 0.0;
    for (int j = 0; j < BAND; ++j) {
        for (int i = 0; i < BAND; ++i) {
            sum += aliased_spectrum(0.5 * (i + 0.5) / BAND, 0.5 * (j + 0.5) / BAND);
        }
    }
    return 4.0 * sum * 0.25 / ((double)BAND * BAND);
}

double bb_error_terms_lag(bb_structure_table structure, double drift_m, double r_m)
{
    double sum = 0.0;
    for (int k = 0; k < LAG_DIRECTIONS; ++k) {
        const double c = cos(BB_PI * (k + 0.5) / LAG_DIRECTIONS);
        const double square = r_m * r_m + drift_m * drift_m;
        sum += bb_structure_table_value(structure, fmax(0.0, square + 2.0 * r_m * drift_m * c)) +
               bb_structure_table_value(structure, fmax(0.0, square - 2.0 * r_m * drift_m * c));
    }
    return bb_structure_table_value(structure, drift_m * drift_m) +
           bb_structure_table_value(structure, r_m * r_m) - 0.5 * sum / LAG_DIRECTIONS;
}

typedef struct filling {
    const bb_error_terms_config *config;
    const bb_atmosphere *atmosphere;
    const double *wind_m_per_s; // [layers]
    bb_structure_table corrected;
    bb_structure_table late; // the table that the lag applies to
    double pitch_m;
    bb_displacement_grid grid;
    double square_wave; // (lambda / 2 pi)^2 of r0's wavelength, m^2
    double *half;
} filling;

// Fitting and lag of one row of displacements, for the octant i >= j only.
static bb_status fill_row(void *context, bb_index j)
{
    const filling *work = context;
    const bb_atmosphere *atmosphere = work->atmosphere;
    const double fitting = work->config->fitting ? 0.5 * work->config->fitting_coefficient /
                                                       bb_error_terms_fitting_coefficient() *
                                                       pow(atmosphere->r0_m, -5.0 / 3.0)
                                                 : 0.0;
    for (bb_index i = j; i <= work->grid.pixels / 2; ++i) {
        const double r = work->grid.pixel_m * hypot((double)i, (double)j);
        double sum = 0.0;
        if (fitting > 0.0) {
            sum = fitting * (bb_structure_table_value(atmosphere->structure, r * r) -
                             bb_structure_table_value(work->corrected, r * r));
        }
        for (bb_index l = 0; work->config->frame_delay_ms > 0.0 && l < atmosphere->layer_count;
             ++l) {
            const double drift = 1e-3 * work->config->frame_delay_ms * work->wind_m_per_s[l];
            sum += atmosphere->strength[l] * bb_error_terms_lag(work->late, drift, r);
        }
        work->half[j * work->grid.pixels + i] += work->square_wave * sum;
    }
    return BB_OK;
}

// Frequencies across a quarter of the band, spaced more finely than the inverse of the grid, beyond
// which the sum repeats.
static double band_of(bb_displacement_grid grid, double pitch_m)
{
    return fmax(BAND, ceil(grid.pixel_m * (double)grid.pixels / pitch_m));
}

bb_need bb_error_terms_need(const bb_error_terms_config *config, double pitch_m,
                            bb_displacement_grid grid)
{
    const double pixels = (double)grid.pixels;
    const double lines = floor(pixels / 2.0) + 1.0;
    const double band = config->aliasing ? band_of(grid, pitch_m) : 0.0;
    const double aliasing = band > 0.0 ? band * (band + 2.0 * lines) + lines * lines : 0.0;
    return (bb_need){.host_bytes = sizeof(double) * (pixels * pixels + aliasing),
                     .seconds = 2.0 * lines * band * (band + lines) / BB_NEED_FP64_RATE};
}

// Adds int Wal (1 - cos 2 pi f r) df on the octant: two matrix products over the band's quarter.
static bb_status add_aliasing(const filling *work)
{
    bb_status status = BB_OK;
    const bb_index pixels = work->grid.pixels;
    const int lines = (int)(pixels / 2 + 1);
    const int band = (int)band_of(work->grid, work->pitch_m);
    const double step = 0.5 / band; // in units of 1 / pitch
    const double scale = work->square_wave * 4.0 * step * step *
                         pow(work->pitch_m / work->atmosphere->r0_m, 5.0 / 3.0);
    double *spectrum = NULL; // [band][band]
    double *wave = NULL;     // [lines][band]
    double *part = NULL;     // [lines][band]
    double *sum = NULL;      // [lines][lines]
    BB_TRY(BB_ALLOCATE((bb_index)band * band, &spectrum));
    BB_TRY(BB_ALLOCATE((bb_index)lines * band, &wave));
    BB_TRY(BB_ALLOCATE((bb_index)lines * band, &part));
    BB_TRY(BB_ALLOCATE((bb_index)lines * lines, &sum));
    for (bb_index k = 0; k < (bb_index)band * band; ++k) {
        const bb_index row = k / band;
        spectrum[k] =
            aliased_spectrum(step * ((double)(k % band) + 0.5), step * ((double)row + 0.5));
    }
    for (bb_index k = 0; k < (bb_index)lines * band; ++k) {
        const bb_index line = k / band;
        const double f = step * ((double)(k % band) + 0.5) / work->pitch_m;
        wave[k] = cos(2.0 * BB_PI * f * work->grid.pixel_m * (double)line);
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, lines, band, band, scale, wave, band,
                spectrum, band, 0.0, part, band);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, lines, lines, band, 1.0, part, band, wave,
                band, 0.0, sum, lines);
    for (bb_index j = 0; j < lines; ++j) {
        for (bb_index i = j; i < lines; ++i) {
            work->half[j * pixels + i] += sum[0] - sum[j * lines + i];
        }
    }
done:
    BB_RELEASE(&spectrum);
    BB_RELEASE(&wave);
    BB_RELEASE(&part);
    BB_RELEASE(&sum);
    return status;
}

bb_status bb_error_terms_create(const bb_error_terms_config *config,
                                const bb_atmosphere *atmosphere, bb_structure_table corrected,
                                double pitch_m, bb_displacement_grid grid, double *half)
{
    bb_status status = BB_OK;
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    const bb_index n = grid.pixels;
    filling work = {.config = config,
                    .atmosphere = atmosphere,
                    .wind_m_per_s = config->wind_m_per_s.count > 0 ? config->wind_m_per_s.items
                                                                   : atmosphere->wind_m_per_s,
                    .corrected = corrected,
                    .late = corrected.coefficients != NULL ? corrected : atmosphere->structure,
                    .pitch_m = pitch_m,
                    .grid = grid,
                    .square_wave = wave_m * wave_m,
                    .half = half};
    for (bb_index k = 0; k < n * n; ++k) {
        half[k] = 0.0;
    }
    BB_TRY(bb_thread_for(n / 2 + 1, fill_row, &work));
    half[0] = 0.0; // without the rounding of D
    if (config->aliasing) {
        BB_TRY(add_aliasing(&work));
    }
    for (bb_index j = 0; j < n; ++j) {
        for (bb_index i = 0; i < n; ++i) {
            const bb_index x = i <= n / 2 ? i : n - i;
            const bb_index y = j <= n / 2 ? j : n - j;
            half[j * n + i] = x >= y ? half[y * n + x] : half[x * n + y];
        }
    }
done:
    return status;
}

bb_status bb_error_budget_of_terms(const bb_error_terms_config *config,
                                   const bb_tomography *tomography, bb_index target,
                                   bb_error_budget *out)
{
    bb_status status = BB_OK;
    const bb_tomography_target *aim = &tomography->targets[target];
    const bb_point_spread_grid *grid = bb_point_spread_layout(aim->spread);
    const bb_sensor *sensor = &aim->truth.sensors[0];
    double *variances[] = {&out->fitting, &out->aliasing, &out->lag};
    double *half = NULL;
    *out = (bb_error_budget){0};
    BB_TRY(BB_ALLOCATE(grid->pixels * grid->pixels, &half));
    for (int term = 0; term < 3; ++term) {
        bb_error_terms_config alone = *config;
        alone.fitting = config->fitting && term == 0;
        alone.aliasing = config->aliasing && term == 1;
        alone.frame_delay_ms = term == 2 ? config->frame_delay_ms : 0.0;
        if (!bb_error_terms_wanted(&alone)) {
            continue;
        }
        BB_TRY(bb_error_terms_create(&alone, &tomography->atmosphere, aim->corrected,
                                     sensor->size_m,
                                     (bb_displacement_grid){grid->pixels, grid->pixel_m}, half));
        *variances[term] = bb_point_spread_variance(aim->spread, half);
    }
done:
    BB_RELEASE(&half);
    return status;
}

// Computes a row of N: the variance of a slope and its covariance with the other slope of its
// subaperture.
static bb_status add_row(const bb_tomography *tomography, const bb_sensor *sensor, bb_index row,
                         bb_triplets *list)
{
    bb_status status = BB_OK;
    const bool x = row < sensor->first + sensor->count;
    const bb_index subaperture = row - sensor->first - (x ? 0 : sensor->count);
    const bb_index other = x ? row + sensor->count : row - sensor->count;
    const bb_slope_noise *noise = &tomography->noise.subaperture[sensor->first / 2 + subaperture];
    BB_TRY(bb_triplets_add(list, row, row, x ? noise->xx : noise->yy));
    BB_TRY(bb_triplets_add(list, row, other, noise->xy));
done:
    return status;
}

bb_status bb_error_budget_noise(const bb_tomography *tomography, bb_csr *out)
{
    bb_status status = BB_OK;
    const bb_index n = tomography->guides.measurement_count;
    bb_triplets list = {0};
    for (bb_index s = 0; s < tomography->guides.sensor_count; ++s) {
        const bb_sensor *sensor = &tomography->guides.sensors[s];
        for (bb_index i = 0; i < 2 * sensor->count; ++i) {
            BB_TRY(add_row(tomography, sensor, sensor->first + i, &list));
        }
    }
    BB_TRY(bb_csr_assemble(n, n, &list, out));
done:
    bb_triplets_release(&list);
    return status;
}

double bb_error_budget_slope_noise(const bb_tomography *tomography, bb_index star)
{
    const bb_sensor *sensor = &tomography->guides.sensors[star];
    double sum = 0.0;
    for (bb_index i = 0; i < sensor->count; ++i) {
        const bb_slope_noise *noise = &tomography->noise.subaperture[sensor->first / 2 + i];
        sum += 0.5 * (noise->xx + noise->yy);
    }
    return sqrt(sum / (double)sensor->count);
}

enum { ROWS = 16 }; // per task

// Slopes [measurement_count] of a tilt of one arcsecond along an axis of the sky (0: x), projected
// on the axes of each grid.
static void fill_tilt(const bb_sensor_array *array, int axis, double *slopes)
{
    for (bb_index s = 0; s < array->sensor_count; ++s) {
        const bb_sensor *sensor = &array->sensors[s];
        for (int along = 0; along < 2; ++along) {
            double x;
            double y;
            bb_sensor_frame_turn(&sensor->frame, along == 0 ? 1.0 : 0.0, along == 0 ? 0.0 : 1.0, &x,
                                 &y);
            for (bb_index i = 0; i < sensor->count; ++i) {
                slopes[sensor->first + along * sensor->count + i] = axis == 0 ? x : y;
            }
        }
    }
}

// Computes the exact estimate of a tilt along an axis: slopes of the truth sensor, or commands of
// the mirror.
static bb_status fill_exact(const bb_sensor_array *truth, const bb_deformable_mirror *mirror,
                            int axis, double *out)
{
    bb_status status = BB_OK;
    const int slopes = (int)truth->measurement_count;
    double *seen = NULL;
    if (mirror == NULL) {
        fill_tilt(truth, axis, out);
        goto done;
    }
    BB_TRY(BB_ALLOCATE(truth->measurement_count, &seen));
    fill_tilt(truth, axis, seen);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)mirror->actuator_count, slopes, 1.0,
                mirror->projector, slopes, seen, 1, 0.0, out, 1);
done:
    BB_RELEASE(&seen);
    return status;
}

typedef struct estimating {
    bb_index n;
    const double *tilts; // [2][n]
    const double *r;
    double *out;
} estimating;

static bb_status estimate_rows(void *context, bb_index begin, bb_index end)
{
    const estimating *work = context;
    for (bb_index i = begin; i < end; ++i) {
        for (int axis = 0; axis < 2; ++axis) {
            double sum = 0.0;
            for (bb_index j = 0; j < work->n; ++j) {
                sum += work->r[i * work->n + j] * work->tilts[axis * work->n + j];
            }
            work->out[2 * i + axis] = sum;
        }
    }
    return BB_OK;
}

bb_status bb_error_terms_estimate_shake(const bb_sensor_array *guides, bb_index rows,
                                        const double *r, double *out)
{
    bb_status status = BB_OK;
    const bb_index n = guides->measurement_count;
    double *tilts = NULL; // [2][n]
    BB_TRY(BB_ALLOCATE(2 * n, &tilts));
    fill_tilt(guides, 0, tilts);
    fill_tilt(guides, 1, tilts + n);
    estimating work = {n, tilts, r, out};
    BB_TRY(bb_thread_ranges(rows, ROWS, estimate_rows, &work));
done:
    BB_RELEASE(&tilts);
    return status;
}

bb_status bb_error_terms_add_shake(const bb_sensor_array *truth, const bb_deformable_mirror *mirror,
                                   double rms_arcsec, const double *estimated, double *cee)
{
    bb_status status = BB_OK;
    const bb_index m = mirror != NULL ? mirror->actuator_count : truth->measurement_count;
    double *rest = NULL; // [m]
    if (rms_arcsec == 0.0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(m, &rest));
    for (int axis = 0; axis < 2; ++axis) {
        BB_TRY(fill_exact(truth, mirror, axis, rest));
        for (bb_index i = 0; i < m; ++i) {
            rest[i] -= estimated[2 * i + axis];
        }
        for (bb_index i = 0; i < m; ++i) {
            for (bb_index j = 0; j < m; ++j) {
                cee[i * m + j] += rms_arcsec * rms_arcsec * rest[i] * rest[j];
            }
        }
    }
done:
    BB_RELEASE(&rest);
    return status;
}
