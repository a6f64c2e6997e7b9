// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/surface.h"

#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "physics/zernike.h"

#include <complex.h> // FFTW's complex numbers are C's
#include <fftw3.h>
#include <math.h>
#include <string.h>

enum { ROWS_OF_A_TASK = 16 };

// A field computed by rows, and the requested parts of it.
typedef struct field {
    const bb_fringe_config *config;
    void (*row)(const struct field *field, bb_index row, double *out);
    const unsigned char *pupil;
    double *height;
    double (*moments)[3]; // [rows]: pixels, sum, sum of squares
    double mean, scale;
    // Bumps: [bumps][columns] and [bumps][rows].
    double *along_x, *along_y;
    // Waves: [rows][stride].
    double *plane;
    bb_index stride;
    uint64_t seed;
    // Polynomials.
    double *weights; // [terms]
    bb_index terms;
    double *x; // [columns], in radii
} field;

static bb_status task_moments(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    field *f = context;
    const bb_index columns = f->config->size.columns;
    double *line = NULL;
    BB_TRY(BB_ALLOCATE(columns, &line));
    for (bb_index row = begin; row < end; ++row) {
        double pixels = 0.0;
        double sum = 0.0;
        double squares = 0.0;
        f->row(f, row, line);
        for (bb_index c = 0; c < columns; ++c) {
            const double value = f->pupil[row * columns + c] != 0 ? line[c] : 0.0;
            pixels += f->pupil[row * columns + c];
            sum += value;
            squares += value * value;
        }
        f->moments[row][0] = pixels;
        f->moments[row][1] = sum;
        f->moments[row][2] = squares;
    }
done:
    BB_RELEASE(&line);
    return status;
}

static bb_status task_add(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    field *f = context;
    const bb_index columns = f->config->size.columns;
    double *line = NULL;
    BB_TRY(BB_ALLOCATE(columns, &line));
    for (bb_index row = begin; row < end; ++row) {
        f->row(f, row, line);
        for (bb_index c = 0; c < columns; ++c) {
            f->height[row * columns + c] += f->scale * (line[c] - f->mean);
        }
    }
done:
    BB_RELEASE(&line);
    return status;
}

// Adds a field without its mean, scaled to an rms over the pupil.
static bb_status add_scaled(field *f, double rms)
{
    bb_status status = BB_OK;
    const bb_index rows = f->config->size.rows;
    double total[3] = {0.0, 0.0, 0.0};
    BB_TRY(BB_ALLOCATE(rows, &f->moments));
    BB_TRY(bb_thread_ranges(rows, ROWS_OF_A_TASK, task_moments, f));
    for (bb_index row = 0; row < rows; ++row) {
        for (int k = 0; k < 3; ++k) {
            total[k] += f->moments[row][k];
        }
    }
    f->mean = total[0] > 0.0 ? total[1] / total[0] : 0.0;
    const double variance = total[0] > 0.0 ? total[2] / total[0] - f->mean * f->mean : 0.0;
    f->scale = variance > 0.0 ? rms / sqrt(variance) : 0.0;
    BB_TRY(bb_thread_ranges(rows, ROWS_OF_A_TASK, task_add, f));
done:
    BB_RELEASE(&f->moments);
    return status;
}

static void bump_row(const field *f, bb_index row, double *out)
{
    const bb_index columns = f->config->size.columns;
    const bb_index rows = f->config->size.rows;
    memset(out, 0, (size_t)columns * sizeof *out);
    for (bb_index b = 0; b < f->config->surface.freeform.bumps; ++b) {
        const double factor = f->along_y[b * rows + row];
        const double *along_x = f->along_x + b * columns;
        for (bb_index c = 0; c < columns; ++c) {
            out[c] += factor * along_x[c];
        }
    }
}

static void draw_gaussian(bb_index count, double middle, double width, double factor, double *out)
{
    for (bb_index i = 0; i < count; ++i) {
        const double distance = ((double)i + 0.5 - middle) / width;
        out[i] = factor * exp(-0.5 * distance * distance);
    }
}

static bb_status add_bumps(field *f)
{
    bb_status status = BB_OK;
    const bb_freeform_config *freeform = &f->config->surface.freeform;
    const bb_index columns = f->config->size.columns;
    const bb_index rows = f->config->size.rows;
    const double shorter = (double)(columns < rows ? columns : rows);
    f->row = bump_row;
    BB_TRY(BB_ALLOCATE(freeform->bumps * columns, &f->along_x));
    BB_TRY(BB_ALLOCATE(freeform->bumps * rows, &f->along_y));
    for (bb_index b = 0; b < freeform->bumps; ++b) {
        double drawn[4];
        for (int k = 0; k < 3; ++k) {
            drawn[k] = bb_random_uniform(f->seed, BB_STREAM_SURFACE_BUMP, 4 * (uint64_t)b + k);
        }
        drawn[3] = bb_random_normal(f->seed, BB_STREAM_SURFACE_BUMP, 4 * (uint64_t)b + 3);
        const double width = shorter * (0.05 + 0.25 * drawn[2]);
        draw_gaussian(columns, drawn[0] * (double)columns, width, drawn[3],
                      f->along_x + b * columns);
        draw_gaussian(rows, drawn[1] * (double)rows, width, 1.0, f->along_y + b * rows);
    }
    BB_TRY(add_scaled(f, freeform->rms_nm));
done:
    BB_RELEASE(&f->along_x);
    BB_RELEASE(&f->along_y);
    return status;
}

// Frequency of a wave across the pupil's diameter, 0 for one without power. Waves of half a cycle a
// pixel are omitted: they have no phase.
static double wave_cycles(const bb_fringe_config *config, bb_index k, bb_index l)
{
    const bb_spectrum_config *spectrum = &config->surface.spectrum;
    const double x = (double)k / (double)config->size.columns;
    const double y = (double)l / (double)config->size.rows;
    const double cycles = 2.0 * bb_fringe_config_radius_px(config) * hypot(x, y);
    const bool sampled = fabs(x) < 0.5 && fabs(y) < 0.5;
    return sampled && cycles >= spectrum->low_cycles && cycles <= spectrum->high_cycles ? cycles
                                                                                        : 0.0;
}

bool bb_surface_has_waves(const bb_fringe_config *config)
{
    const double least =
        config->surface.spectrum.low_cycles / (2.0 * bb_fringe_config_radius_px(config));
    for (bb_index l = 0; l < config->size.rows; ++l) {
        const double y = (double)l / (double)config->size.rows;
        const double x = sqrt(fmax(0.0, least * least - y * y));
        const bb_index first = (bb_index)floor(fmin(x, 1.0) * (double)config->size.columns);
        // Looks for the first wave at or above the lower cutoff, allowing for rounding.
        for (bb_index k = first; k <= first + 2; ++k) {
            if (wave_cycles(config, k, l) > 0.0) {
                return true;
            }
        }
    }
    return false;
}

// Phases of waves are relative to the outer edges of the first pixels, which coincide for all
// arrays of this shape.
static double complex wave(const field *f, bb_index k, bb_index l)
{
    const double cycles = wave_cycles(f->config, k, l);
    const uint64_t address = (uint64_t)k << 32 | (uint32_t)(int32_t)l;
    double pair[2];
    if (cycles == 0.0) {
        return 0.0;
    }
    bb_random_normal_pair(f->seed, BB_STREAM_SURFACE_WAVE, address, pair);
    const double amplitude = pow(cycles, -0.5 * f->config->surface.spectrum.exponent);
    const double turn = M_PI * ((double)k / (double)f->config->size.columns +
                                (double)l / (double)f->config->size.rows);
    return amplitude * (pair[0] + pair[1] * I) * (cos(turn) + sin(turn) * I);
}

// Draws half a spectrum, as a complex-to-real transform requires. Waves along y are paired with
// their conjugates.
static bb_status task_waves(void *context, bb_index begin, bb_index end)
{
    field *f = context;
    const bb_index rows = f->config->size.rows;
    for (bb_index row = begin; row < end; ++row) {
        double *line = f->plane + row * f->stride;
        const bb_index l = 2 * row <= rows ? row : row - rows;
        for (bb_index k = 0; k < f->stride / 2; ++k) {
            const double complex value = k == 0 && l < 0 ? conj(wave(f, 0, -l)) : wave(f, k, l);
            line[2 * k] = creal(value);
            line[2 * k + 1] = cimag(value);
        }
    }
    return BB_OK;
}

static void wave_row(const field *f, bb_index row, double *out)
{
    memcpy(out, f->plane + row * f->stride, (size_t)f->config->size.columns * sizeof *out);
}

static bb_status add_waves(field *f)
{
    bb_status status = BB_OK;
    const int columns = (int)f->config->size.columns;
    const int rows = (int)f->config->size.rows;
    fftw_plan plan = NULL;
    f->row = wave_row;
    f->stride = 2 * ((bb_index)columns / 2 + 1);
    BB_TRY(BB_ALLOCATE(rows * f->stride, &f->plane));
    plan = fftw_plan_dft_c2r_2d(rows, columns, (fftw_complex *)(void *)f->plane, f->plane,
                                FFTW_ESTIMATE);
    BB_REQUIRE(plan != NULL, BB_MEMORY, "no memory for a transform of %d x %d pixels", columns,
               rows);
    BB_TRY(bb_thread_ranges(rows, ROWS_OF_A_TASK, task_waves, f));
    fftw_execute(plan);
    BB_TRY(add_scaled(f, f->config->surface.spectrum.rms_nm));
done:
    fftw_destroy_plan(plan);
    BB_RELEASE(&f->plane);
    return status;
}

static double or_else(double value, double replacement)
{
    return isnan(value) ? replacement : value;
}

// Pixels [begin, end) whose centres are at or beyond a position on the axis.
static bb_index pixel_from(double place, bb_index pixels)
{
    return (bb_index)fmin(fmax(ceil(place - 0.5), 0.0), (double)pixels);
}

static void add_step(const bb_fringe_config *config, const bb_surface_step *step, bb_index row,
                     double *out)
{
    const bb_index columns = config->size.columns;
    const bb_index rows = config->size.rows;
    const double x = or_else(step->x, 0.5) * (double)columns;
    const double y = or_else(step->y, 0.5) * (double)rows;
    const double half =
        0.5 * or_else(step->width, 0.25) * (double)(columns < rows ? columns : rows);
    const bool mesa = step->kind == BB_SURFACE_STEP_MESA;
    const bool shear = step->kind == BB_SURFACE_STEP_SHEAR;
    if ((shear && row < pixel_from(y, rows)) ||
        (mesa && (row < pixel_from(y - half, rows) || row >= pixel_from(y + half, rows)))) {
        return;
    }
    const bb_index begin = shear ? 0 : pixel_from(mesa ? x - half : x, columns);
    const bb_index end = mesa ? pixel_from(x + half, columns) : columns;
    const double slope = columns > 1 ? step->height_nm / (double)(columns - 1) : 0.0;
    for (bb_index c = begin; c < end; ++c) {
        out[c] += shear ? slope * (double)c : step->height_nm;
    }
}

static bb_status task_shape(void *context, bb_index begin, bb_index end)
{
    const field *f = context;
    const bb_fringe_config *config = f->config;
    const bb_index columns = config->size.columns;
    const bb_list *steps = &config->surface.steps;
    for (bb_index row = begin; row < end; ++row) {
        double *line = f->height + row * columns;
        const double y = ((double)row - 0.5 * (double)(config->size.rows - 1)) /
                         bb_fringe_config_radius_px(config);
        memset(line, 0, (size_t)columns * sizeof *line);
        bb_zernike_add(f->terms, f->weights, columns, f->x, y, line);
        for (bb_index s = 0; s < steps->count; ++s) {
            add_step(config, (const bb_surface_step *)steps->items + s, row, line);
        }
    }
    return BB_OK;
}

static bb_index highest_term(const bb_list *zernike)
{
    const bb_zernike_term *terms = zernike->items;
    bb_index highest = 0;
    for (bb_index t = 0; t < zernike->count; ++t) {
        highest = terms[t].j > highest ? terms[t].j : highest;
    }
    return highest;
}

// Adds the deterministic contributions to `height`.
static bb_status draw_shape(field *f)
{
    bb_status status = BB_OK;
    const bb_fringe_config *config = f->config;
    const bb_zernike_term *terms = config->surface.zernike.items;
    f->terms = highest_term(&config->surface.zernike);
    BB_TRY(BB_ZEROED(f->terms, &f->weights));
    BB_TRY(BB_ALLOCATE(config->size.columns, &f->x));
    for (bb_index t = 0; t < config->surface.zernike.count; ++t) {
        f->weights[terms[t].j - 1] = terms[t].rms_nm;
    }
    for (bb_index c = 0; c < config->size.columns; ++c) {
        f->x[c] = ((double)c - 0.5 * (double)(config->size.columns - 1)) /
                  bb_fringe_config_radius_px(config);
    }
    BB_TRY(bb_thread_ranges(config->size.rows, ROWS_OF_A_TASK, task_shape, f));
done:
    BB_RELEASE(&f->weights);
    BB_RELEASE(&f->x);
    return status;
}

bb_status bb_surface_draw(const bb_fringe_config *config, uint64_t seed, const unsigned char *pupil,
                          double *height)
{
    bb_status status = BB_OK;
    field f = {.config = config, .pupil = pupil, .height = height, .seed = seed};
    BB_TRY(draw_shape(&f));
    if (config->surface.freeform.rms_nm > 0.0) {
        BB_TRY(add_bumps(&f));
    }
    if (config->surface.spectrum.rms_nm > 0.0) {
        BB_TRY(add_waves(&f));
    }
done:
    return status;
}

// Workspace of add_scaled in addition to a field: a line for every thread, at most one per task.
static double scratch_bytes(const bb_fringe_config *config)
{
    const bb_index tasks = (config->size.rows + ROWS_OF_A_TASK - 1) / ROWS_OF_A_TASK;
    const bb_index threads = bb_threads_count() < tasks ? bb_threads_count() : tasks;
    return (double)sizeof(double) *
           (3.0 * (double)config->size.rows + (double)threads * (double)config->size.columns);
}

bb_need bb_surface_need(const bb_fringe_config *config)
{
    const bb_fringe_surface_config *surface = &config->surface;
    const double columns = (double)config->size.columns;
    const double rows = (double)config->size.rows;
    const double word = (double)sizeof(double);
    const double terms = (double)highest_term(&surface->zernike);
    bb_need need = {.host_bytes = word * (terms + columns),
                    .seconds = 4e-9 * (1.0 + 0.3 * terms) * columns * rows};
    if (surface->freeform.rms_nm > 0.0) {
        const double bumps = (double)surface->freeform.bumps;
        need = bb_need_in_turn(
            need, (bb_need){.host_bytes = word * bumps * (columns + rows) + scratch_bytes(config),
                            .seconds = 2e-9 * (1.0 + bumps) * columns * rows});
    }
    if (surface->spectrum.rms_nm > 0.0) {
        need = bb_need_in_turn(
            need, (bb_need){.host_bytes = word * rows * (columns + 2.0) + scratch_bytes(config),
                            .seconds = 1e-7 * columns * rows});
    }
    return need;
}
