// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/phase_screen.h"

#include "core/memory.h"
#include "core/random.h"
#include "physics/ao/ao_constants.h"

#include <cblas.h>
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <string.h>

// Subharmonics of a level: one of each pair of opposite frequencies, in cells.
enum { SLOW_WAVES = 4 };
static const int slow_x[SLOW_WAVES] = {1, 1, 1, 0};
static const int slow_y[SLOW_WAVES] = {-1, 0, 1, 1};

static double spectrum(double fx, double fy, double outer_scale_m)
{
    return BB_SPECTRUM *
           pow(fx * fx + fy * fy + 1.0 / (outer_scale_m * outer_scale_m), -11.0 / 6.0);
}

bb_index bb_phase_screen_points(bb_index points)
{
    for (bb_index n = points < 2 ? 2 : points + points % 2;; n += 2) {
        bb_index rest = n;
        for (bb_index prime = 2; prime <= 7; prime += prime == 2 ? 1 : 2) {
            while (rest % prime == 0) {
                rest /= prime;
            }
        }
        if (rest == 1) {
            return n;
        }
    }
}

static double cell(const bb_phase_screen *screen)
{
    return 1.0 / ((double)screen->points * screen->pixel_m);
}

// Returns the frequency of row l of the spectrum, in cells.
static bb_index row_frequency(const bb_phase_screen *screen, bb_index l)
{
    return l < screen->points / 2 ? l : l - screen->points;
}

static double subharmonic_cell(const bb_phase_screen *screen, bb_index level)
{
    return cell(screen) * pow(3.0, -(double)(level + 1));
}

// A wave and its opposite are equivalent: half the frequency plane, with twice the variance.
static void set_deviations(bb_phase_screen *screen)
{
    const bb_index n = screen->points;
    const bb_index columns = n / 2;
    const double df = cell(screen);
    for (bb_index l = 0; l < n; ++l) {
        const bb_index fy = row_frequency(screen, l);
        for (bb_index k = 0; k < columns; ++k) {
            const bool known =
                df * (double)k <= screen->beyond && df * fabs((double)fy) <= screen->beyond;
            const bool counted = fy != -n / 2 && (k > 0 || fy > 0) && !known;
            const double power =
                2.0 * df * df * spectrum(df * (double)k, df * (double)fy, screen->outer_scale_m);
            screen->deviation[l * columns + k] = counted ? sqrt(power) : 0.0;
        }
    }
    for (bb_index p = 0; p < screen->levels; ++p) {
        const double h = subharmonic_cell(screen, p);
        for (int w = 0; w < SLOW_WAVES; ++w) {
            const double power =
                2.0 * h * h * spectrum(h * slow_x[w], h * slow_y[w], screen->outer_scale_m);
            screen->deviation[n * columns + p * SLOW_WAVES + w] = sqrt(power);
        }
    }
}

static bb_status make_plan(bb_phase_screen *screen)
{
    bb_status status = BB_OK;
    const int n = (int)screen->points;
    fftw_complex *half = NULL;
    double *plane = NULL;
    BB_TRY(BB_ALLOCATE((bb_index)n * (n / 2 + 1), &half));
    BB_TRY(BB_ALLOCATE((bb_index)n * n, &plane));
    screen->plan = fftw_plan_dft_c2r_2d(n, n, half, plane, FFTW_ESTIMATE | FFTW_UNALIGNED);
    BB_REQUIRE(screen->plan != NULL, BB_MEMORY, "out of memory for FFTW's plan of %d x %d", n, n);
done:
    BB_RELEASE(&half);
    BB_RELEASE(&plane);
    return status;
}

// Creates a screen whose sizes, outer scale, limit and stream are set.
static bb_status make(bb_index points, bb_phase_screen screen, bb_phase_screen *out)
{
    bb_status status = BB_OK;
    const bb_index levels = screen.levels;
    BB_REQUIRE(points >= 2 && levels >= 0 && screen.pixel_m > 0.0 && screen.outer_scale_m > 0.0,
               BB_INVALID,
               "invalid screen: %td points of %g m with %td levels and an outer scale of %g m",
               points, screen.pixel_m, levels, screen.outer_scale_m);
    screen.points = bb_phase_screen_points(points);
    screen.waves = screen.points * (screen.points / 2) + SLOW_WAVES * levels;
    BB_TRY(BB_ALLOCATE(screen.waves, &screen.deviation));
    set_deviations(&screen);
    BB_TRY(make_plan(&screen));
    *out = screen;
    screen = (bb_phase_screen){0};
done:
    bb_phase_screen_release(&screen);
    return status;
}

bb_status bb_phase_screen_create(bb_index points, double pixel_m, double outer_scale_m,
                                 bb_index levels, bb_phase_screen *out)
{
    const bb_phase_screen screen = {.pixel_m = pixel_m,
                                    .outer_scale_m = outer_scale_m,
                                    .levels = levels,
                                    .beyond = -1.0,
                                    .stream = BB_STREAM_PHASE_SCREEN};
    return make(points, screen, out);
}

bb_status bb_phase_screen_refine(const bb_phase_screen *coarse, bb_index points, double pixel_m,
                                 bb_phase_screen *out)
{
    // The cells of the coarse screen's highest waves extend half a cell further.
    const double highest = (0.5 * (double)coarse->points - 0.5) * cell(coarse);
    const bb_phase_screen screen = {.pixel_m = pixel_m,
                                    .outer_scale_m = coarse->outer_scale_m,
                                    .beyond = highest,
                                    .stream = BB_STREAM_PHASE_DETAIL};
    return make(points, screen, out);
}

// Half the frequency plane; the few subharmonics are not counted.
static double waves_of(bb_index points)
{
    return 0.5 * (double)points * (double)points;
}

bb_need bb_phase_screen_resident(bb_index points)
{
    return (bb_need){.host_bytes = waves_of(points) * sizeof(double)};
}

// The plan is created on a spectrum and a plane.
bb_need bb_phase_screen_need(bb_index points)
{
    const double n = (double)points;
    const bb_need planning = {.host_bytes = n * (0.5 * n + 1.0) * sizeof(fftw_complex) +
                                            n * n * sizeof(double)};
    return bb_need_together(bb_phase_screen_resident(points), planning);
}

bb_need bb_phase_screen_draw_need(bb_index points)
{
    static const double seconds_per_wave = 7.0e-8;
    return (bb_need){.host_bytes = waves_of(points) * sizeof(bb_amplitude),
                     .seconds = seconds_per_wave * waves_of(points)};
}

bb_need bb_phase_screen_move_need(bb_index points)
{
    static const double seconds_per_wave = 6.0e-9;
    return (bb_need){.host_bytes = 1.5 * (double)points * sizeof(bb_amplitude),
                     .seconds = seconds_per_wave * waves_of(points)};
}

void bb_phase_screen_release(bb_phase_screen *screen)
{
    BB_RELEASE(&screen->deviation);
    fftw_destroy_plan(screen->plan);
    screen->plan = NULL;
}

void bb_phase_screen_draw(const bb_phase_screen *screen, double strength, uint64_t seed,
                          uint64_t number, bb_amplitude *amplitudes)
{
    const double root = sqrt(strength);
    const uint64_t first = number * (uint64_t)screen->waves;
    for (bb_index w = 0; w < screen->waves; ++w) {
        double pair[2] = {0.0, 0.0};
        if (screen->deviation[w] > 0.0) {
            bb_random_normal_pair(seed, (bb_stream)screen->stream, first + (uint64_t)w, pair);
        }
        amplitudes[w][0] = root * screen->deviation[w] * pair[0];
        amplitudes[w][1] = root * screen->deviation[w] * pair[1];
    }
}

void bb_phase_screen_limit(const bb_phase_screen *screen, double cutoff,
                           const bb_amplitude *amplitudes, bb_amplitude *out)
{
    const bb_index columns = screen->points / 2;
    const bb_index fast = screen->points * columns;
    for (bb_index w = 0; w < screen->waves; ++w) {
        const double x = (double)(w % columns);
        const double y = (double)row_frequency(screen, w / columns);
        const bool kept = w >= fast || cell(screen) * hypot(x, y) <= cutoff;
        out[w][0] = kept ? amplitudes[w][0] : 0.0;
        out[w][1] = kept ? amplitudes[w][1] : 0.0;
    }
}

// Phase factors of `count` frequencies first, first + 1, ... cells for a shift along one axis.
static void turn_axis(double cell_width, bb_index first, bb_index count, double shift_m,
                      bb_amplitude *turns)
{
    for (bb_index k = 0; k < count; ++k) {
        const double phase = -2.0 * BB_PI * cell_width * (double)(first + k) * shift_m;
        turns[k][0] = cos(phase);
        turns[k][1] = sin(phase);
    }
}

// out = amplitude x y, times the mean of a wave over a path with ends at +-`phase` from its
// midpoint.
static void move_wave(const double *amplitude, const double *x, const double *y, double phase,
                      double *out)
{
    const double mean = phase != 0.0 ? sin(phase) / phase : 1.0;
    const double re = mean * (x[0] * y[0] - x[1] * y[1]);
    const double im = mean * (x[0] * y[1] + x[1] * y[0]);
    out[0] = amplitude[0] * re - amplitude[1] * im;
    out[1] = amplitude[0] * im + amplitude[1] * re;
}

static void move_subharmonics(const bb_phase_screen *screen, const double shift_m[2],
                              const double path_m[2], const bb_amplitude *amplitudes,
                              bb_amplitude *out)
{
    const bb_index fast = screen->points * (screen->points / 2);
    for (bb_index p = 0; p < screen->levels; ++p) {
        const double h = subharmonic_cell(screen, p);
        for (int w = 0; w < SLOW_WAVES; ++w) {
            const bb_index wave = fast + p * SLOW_WAVES + w;
            bb_amplitude x, y;
            turn_axis(h, slow_x[w], 1, shift_m[0], &x);
            turn_axis(h, slow_y[w], 1, shift_m[1], &y);
            move_wave(amplitudes[wave], x, y,
                      BB_PI * h * (slow_x[w] * path_m[0] + slow_y[w] * path_m[1]), out[wave]);
        }
    }
}

bb_status bb_phase_screen_move(const bb_phase_screen *screen, const double shift_m[2],
                               const double path_m[2], const bb_amplitude *amplitudes,
                               bb_amplitude *out)
{
    bb_status status = BB_OK;
    const bb_index n = screen->points;
    const bb_index columns = n / 2;
    const double df = cell(screen);
    bb_amplitude *x = NULL; // [columns]
    bb_amplitude *y = NULL; // [n], from the lowest frequency up
    BB_TRY(BB_ALLOCATE(columns, &x));
    BB_TRY(BB_ALLOCATE(n, &y));
    turn_axis(df, 0, columns, shift_m[0], x);
    turn_axis(df, -columns, n, shift_m[1], y);
    for (bb_index l = 0; l < n; ++l) {
        const bb_index frequency = row_frequency(screen, l);
        for (bb_index k = 0; k < columns; ++k) {
            const double phase =
                BB_PI * df * ((double)k * path_m[0] + (double)frequency * path_m[1]);
            move_wave(amplitudes[l * columns + k], x[k], y[frequency + columns], phase,
                      out[l * columns + k]);
        }
    }
    move_subharmonics(screen, shift_m, path_m, amplitudes, out);
done:
    BB_RELEASE(&x);
    BB_RELEASE(&y);
    return status;
}

// Adds the subharmonics to [y count][x count] values.
static void add_subharmonics(const bb_phase_screen *screen, const bb_amplitude *amplitudes,
                             const bb_screen_axis *x, const bb_screen_axis *y, double *out)
{
    const bb_index fast = screen->points * (screen->points / 2);
    for (bb_index p = 0; p < screen->levels; ++p) {
        for (int w = 0; w < SLOW_WAVES; ++w) {
            const double *a = amplitudes[fast + p * SLOW_WAVES + w];
            for (bb_index j = 0; j < y->count; ++j) {
                const double *fy = y->slow[(j * screen->levels + p) * 3 + slow_y[w] + 1];
                const double re = a[0] * fy[0] - a[1] * fy[1];
                const double im = a[0] * fy[1] + a[1] * fy[0];
                for (bb_index i = 0; i < x->count; ++i) {
                    const double *fx = x->slow[(i * screen->levels + p) * 3 + slow_x[w] + 1];
                    out[j * x->count + i] += re * fx[0] - im * fx[1];
                }
            }
        }
    }
}

// Half spectrum in FFTW's layout: rows of N / 2 + 1, the first column with its mirror image.
static void lay_out_spectrum(const bb_phase_screen *screen, const bb_amplitude *amplitudes,
                             double complex *half)
{
    const bb_index n = screen->points;
    const bb_index columns = n / 2;
    memset(half, 0, (size_t)(n * (columns + 1)) * sizeof *half);
    for (bb_index l = 0; l < n; ++l) {
        for (bb_index k = 0; k < columns; ++k) {
            const double *a = amplitudes[l * columns + k];
            // The origin is the centre of the plane: a shift by half a period is a sign.
            const double sign = (k + l) % 2 == 0 ? 0.5 : -0.5;
            const double complex value = sign * (a[0] + I * a[1]);
            half[l * (columns + 1) + k] += value;
            if (k == 0 && l > 0) {
                half[(n - l) * (columns + 1)] += conj(value);
            }
        }
    }
}

static bb_status create_own_axes(const bb_phase_screen *screen, bb_screen_axis *x,
                                 bb_screen_axis *y)
{
    bb_status status = BB_OK;
    double *position = NULL;
    BB_TRY(BB_ALLOCATE(screen->points, &position));
    const bb_index middle = screen->points / 2;
    for (bb_index i = 0; i < screen->points; ++i) {
        position[i] = screen->pixel_m * (double)(i - middle);
    }
    BB_TRY(bb_screen_axis_create(screen, true, screen->points, position, NULL, BB_SCREEN_POINT, x));
    BB_TRY(
        bb_screen_axis_create(screen, false, screen->points, position, NULL, BB_SCREEN_POINT, y));
done:
    BB_RELEASE(&position);
    return status;
}

bb_status bb_phase_screen_plane(const bb_phase_screen *screen, const bb_amplitude *amplitudes,
                                double *plane)
{
    bb_status status = BB_OK;
    const bb_index n = screen->points;
    double complex *half = NULL;
    bb_screen_axis x = {0};
    bb_screen_axis y = {0};
    BB_TRY(BB_ALLOCATE(n * (n / 2 + 1), &half));
    BB_TRY(create_own_axes(screen, &x, &y));
    lay_out_spectrum(screen, amplitudes, half);
    fftw_execute_dft_c2r(screen->plan, half, plane);
    add_subharmonics(screen, amplitudes, &x, &y, plane);
done:
    BB_RELEASE(&half);
    bb_screen_axis_release(&x);
    bb_screen_axis_release(&y);
    return status;
}

double bb_phase_screen_structure(const bb_phase_screen *screen, double strength, double x_m,
                                 double y_m)
{
    const bb_index columns = screen->points / 2;
    const double df = cell(screen);
    double sum = 0.0;
    for (bb_index l = 0; l < screen->points; ++l) {
        const double fy = df * (double)row_frequency(screen, l);
        for (bb_index k = 0; k < columns; ++k) {
            const double deviation = screen->deviation[l * columns + k];
            const double turn = 2.0 * BB_PI * (df * (double)k * x_m + fy * y_m);
            sum += deviation * deviation * (1.0 - cos(turn));
        }
    }
    for (bb_index p = 0; p < screen->levels; ++p) {
        const double h = subharmonic_cell(screen, p);
        for (int w = 0; w < SLOW_WAVES; ++w) {
            const double deviation =
                screen->deviation[screen->points * columns + p * SLOW_WAVES + w];
            const double turn = 2.0 * BB_PI * h * (slow_x[w] * x_m + slow_y[w] * y_m);
            sum += deviation * deviation * (1.0 - cos(turn));
        }
    }
    return 2.0 * strength * sum;
}

static void set_factor(double frequency, double position, double width, bb_screen_taken taken,
                       double out[2])
{
    const double turn = 2.0 * BB_PI * frequency * position;
    const double half = BB_PI * frequency * width;
    const double c = cos(turn);
    const double s = sin(turn);
    if (taken == BB_SCREEN_DIFFERENCE) {
        out[0] = -2.0 * sin(half) * s;
        out[1] = 2.0 * sin(half) * c;
    } else {
        const double mean = taken == BB_SCREEN_MEAN && half != 0.0 ? sin(half) / half : 1.0;
        out[0] = mean * c;
        out[1] = mean * s;
    }
}

bb_status bb_screen_axis_create(const bb_phase_screen *screen, bool along_x, bb_index count,
                                const double *position_m, const double *width_m,
                                bb_screen_taken taken, bb_screen_axis *out)
{
    bb_status status = BB_OK;
    bb_screen_axis axis = {.count = count, .waves = along_x ? screen->points / 2 : screen->points};
    BB_TRY(BB_ALLOCATE(count * axis.waves, &axis.factors));
    BB_TRY(BB_ALLOCATE(count * screen->levels * 3, &axis.slow));
    for (bb_index i = 0; i < count; ++i) {
        const double width = width_m != NULL ? width_m[i] : 0.0;
        for (bb_index w = 0; w < axis.waves; ++w) {
            const bb_index f = along_x ? w : row_frequency(screen, w);
            set_factor(cell(screen) * (double)f, position_m[i], width, taken,
                       axis.factors[i * axis.waves + w]);
        }
        for (bb_index p = 0; p < screen->levels; ++p) {
            for (bb_index f = -1; f <= 1; ++f) {
                set_factor(subharmonic_cell(screen, p) * (double)f, position_m[i], width, taken,
                           axis.slow[(i * screen->levels + p) * 3 + f + 1]);
            }
        }
    }
    *out = axis;
    axis = (bb_screen_axis){0};
done:
    bb_screen_axis_release(&axis);
    return status;
}

bb_need bb_screen_axis_need(bb_index points, bb_index levels, double count)
{
    const double factors = 1.5 * (double)points + 2.0 * 3.0 * (double)levels;
    return (bb_need){.host_bytes = count * factors * sizeof(bb_amplitude)};
}

bb_need bb_phase_screen_add_need(bb_index points, double count)
{
    const double n = (double)points;
    return (bb_need){.host_bytes = count * (n + count) * sizeof(bb_amplitude),
                     .seconds =
                         (4.0 * n * n * count + 8.0 * n * count * count) / BB_NEED_FP64_RATE};
}

void bb_screen_axis_release(bb_screen_axis *axis)
{
    BB_RELEASE(&axis->factors);
    BB_RELEASE(&axis->slow);
    axis->count = 0;
}

bb_status bb_phase_screen_add(const bb_phase_screen *screen, const bb_amplitude *amplitudes,
                              const bb_screen_axis *x, const bb_screen_axis *y, double *out)
{
    bb_status status = BB_OK;
    const int rows = (int)screen->points;
    const int columns = rows / 2;
    const int nx = (int)x->count;
    const int ny = (int)y->count;
    const double one[2] = {1.0, 0.0};
    const double zero[2] = {0.0, 0.0};
    bb_amplitude *half = NULL; // [rows][nx]
    bb_amplitude *grid = NULL; // [ny][nx]
    BB_TRY(BB_ALLOCATE((bb_index)rows * nx, &half));
    BB_TRY(BB_ALLOCATE((bb_index)ny * nx, &grid));
    cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, nx, columns, one, amplitudes,
                columns, x->factors, columns, zero, half, nx);
    cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ny, nx, rows, one, y->factors, rows,
                half, nx, zero, grid, nx);
    for (bb_index k = 0; k < (bb_index)ny * nx; ++k) {
        out[k] += grid[k][0];
    }
    add_subharmonics(screen, amplitudes, x, y, out);
done:
    BB_RELEASE(&half);
    BB_RELEASE(&grid);
    return status;
}
