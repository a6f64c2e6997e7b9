// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/point_spread.h"

#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/subapertures.h"

#include <cblas.h>
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <string.h>

// All functions transformed here except the pupil are even, so their spectra are real up to
// rounding, and a spectrum [N][N / 2 + 1] is transformed back by the plan `inverse`.
struct bb_point_spread {
    bb_point_spread_grid grid;
    bb_deformable_mirror mirror;
    double *pupil; // [points][points]
    bb_view pupil_view;
    bb_matrix_source pupil_source;
    double *transfer; // OTF_telescope [N][N], 1 at zero frequency
    double transfer_sum;
    double *influence; // |FFT f|^2 / km^2 / N^2 [N][N / 2 + 1]
    fftw_plan forward; // [N][N] -> [N][N / 2 + 1]
    fftw_plan inverse; // inverse transform, destroys its input
};

static bb_index half_spectrum(bb_index pixels)
{
    return pixels * (pixels / 2 + 1);
}

bb_index bb_point_spread_pixels(bb_index lenslets)
{
    const int octave = (int)(log2((double)lenslets + 1.0) + 0.5);
    const bb_index pixels = (bb_index)8 << octave;
    return pixels < 512 ? 512 : pixels;
}

bb_index bb_point_spread_pixels_per_lenslet(bb_index lenslets)
{
    // Pixels are at most 3 D / N.
    return (bb_index)((double)bb_point_spread_pixels(lenslets) / (3.0 * (double)lenslets) + 1.0);
}

static bb_status lay_out(double diameter_m, bb_index lenslets, bb_point_spread_grid *out)
{
    bb_status status = BB_OK;
    const double n = (double)lenslets;
    const bb_index pixels = bb_point_spread_pixels(lenslets);
    const double coarse = 3.0 * diameter_m / (double)pixels;
    const bb_index per_lenslet = (bb_index)(diameter_m / n / coarse + 1.0);
    BB_REQUIRE(2 * per_lenslet * lenslets <= pixels, BB_INVALID,
               "%td lenslets of %td pixels do not fit twice into %td pixels", lenslets, per_lenslet,
               pixels);
    *out = (bb_point_spread_grid){
        .pixels = pixels,
        .pixels_per_lenslet = per_lenslet,
        .pixel_m = diameter_m / (n * (double)per_lenslet),
    };
done:
    return status;
}

// The mirror costs a singular value decomposition: all checks come before it.
static bb_status make_mirror(double diameter_m, const bb_pupil *pupil, bb_index lenslets,
                             double condition, bb_point_spread *spread)
{
    bb_status status = BB_OK;
    BB_TRY(bb_deformable_mirror_create(diameter_m, pupil, lenslets, condition, &spread->mirror));
    spread->grid.measurement_count = spread->mirror.measurement_count;
    spread->grid.actuator_count = spread->mirror.actuator_count;
    spread->grid.dropped_modes = spread->mirror.dropped_modes;
done:
    return status;
}

static bb_status make_plans(bb_point_spread *spread)
{
    bb_status status = BB_OK;
    const int n = (int)spread->grid.pixels;
    // The plans are executed on arrays of the caller, of any alignment.
    const unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
    double *plane = NULL;
    fftw_complex *spectrum = NULL;
    BB_TRY(BB_ALLOCATE((bb_index)n * n, &plane));
    BB_TRY(BB_ALLOCATE(half_spectrum(n), &spectrum));
    spread->forward = fftw_plan_dft_r2c_2d(n, n, plane, spectrum, flags);
    spread->inverse = fftw_plan_dft_c2r_2d(n, n, spectrum, plane, flags);
    // FFTW has a plan for every size; only memory can run out.
    BB_REQUIRE(spread->forward != NULL && spread->inverse != NULL, BB_MEMORY,
               "out of memory for FFTW's plans of %d x %d", n, n);
done:
    BB_RELEASE(&plane);
    BB_RELEASE(&spectrum);
    return status;
}

// Returns the distance of pixel i from pixel 0 with wrap-around.
static bb_index wrapped(bb_index i, bb_index pixels)
{
    return i <= pixels / 2 ? i : i - pixels;
}

typedef struct influence_plane {
    const bb_point_spread *spread;
    double *plane; // [N][N]
} influence_plane;

static bb_status fill_influence(void *context, bb_index begin, bb_index end)
{
    const influence_plane *work = context;
    const bb_point_spread *spread = work->spread;
    const bb_index n = spread->grid.pixels;
    for (bb_index j = begin; j < end; ++j) {
        for (bb_index i = 0; i < n; ++i) {
            const double distance = hypot((double)wrapped(i, n), (double)wrapped(j, n));
            work->plane[j * n + i] =
                bb_deformable_mirror_influence(&spread->mirror, distance * spread->grid.pixel_m);
        }
    }
    return BB_OK;
}

static bb_status transform_influence(bb_point_spread *spread)
{
    bb_status status = BB_OK;
    const bb_index n = spread->grid.pixels;
    const bb_index bins = half_spectrum(n);
    double *plane = NULL;
    double complex *spectrum = NULL;
    BB_TRY(BB_ALLOCATE(n * n, &plane));
    BB_TRY(BB_ALLOCATE(bins, &spectrum));
    BB_TRY(BB_ALLOCATE(bins, &spread->influence));
    influence_plane work = {spread, plane};
    BB_TRY(bb_thread_ranges(n, 32, fill_influence, &work));
    fftw_execute_dft_r2c(spread->forward, plane, spectrum);
    const double km = (double)spread->grid.pixels_per_lenslet;
    const double scale = 1.0 / (km * km * (double)n * (double)n);
    for (bb_index k = 0; k < bins; ++k) {
        const double re = creal(spectrum[k]);
        const double im = cimag(spectrum[k]);
        spread->influence[k] = scale * (re * re + im * im);
    }
done:
    BB_RELEASE(&plane);
    BB_RELEASE(&spectrum);
    return status;
}

static bb_status draw_pupil(const bb_pupil *pupil, bb_point_spread *spread)
{
    bb_status status = BB_OK;
    const bb_index across = spread->mirror.lenslets * spread->grid.pixels_per_lenslet;
    const bb_index points = bb_pupil_points(across);
    spread->grid.pupil_points = points;
    BB_TRY(BB_ALLOCATE(points * points, &spread->pupil));
    bb_pupil_draw(pupil, across, spread->pupil);
    spread->pupil_view = bb_view_matrix(spread->pupil, points, points);
    spread->pupil_source = bb_matrix_source_dense(&spread->pupil_view, "pupil", "1");
    for (bb_index k = 0; k < points * points; ++k) {
        spread->grid.pupil_pixels += spread->pupil[k] > 0.0 ? 1 : 0;
        spread->grid.pupil_power += spread->pupil[k] * spread->pupil[k];
    }
    spread->grid.pupil_light = bb_pupil_light(pupil, across);
    BB_REQUIRE(spread->grid.pupil_pixels > 0, BB_INVALID,
               "the pupil transmits nothing at the %td x %td points of its square", points, points);
done:
    return status;
}

// The pupil need not be even, but the squared magnitude of its spectrum is real and even.
static bb_status transform_pupil(bb_point_spread *spread)
{
    bb_status status = BB_OK;
    const bb_index n = spread->grid.pixels;
    const bb_index bins = half_spectrum(n);
    const bb_index points = spread->grid.pupil_points;
    const bb_index first = n / 2 - points / 2;
    double complex *spectrum = NULL;
    BB_TRY(BB_ZEROED(n * n, &spread->transfer));
    BB_TRY(BB_ALLOCATE(bins, &spectrum));
    for (bb_index j = 0; j < points; ++j) {
        memcpy(spread->transfer + (first + j) * n + first, spread->pupil + j * points,
               (size_t)points * sizeof *spread->pupil);
    }
    fftw_execute_dft_r2c(spread->forward, spread->transfer, spectrum);
    const double scale = 1.0 / ((double)n * (double)n * spread->grid.pupil_power);
    for (bb_index k = 0; k < bins; ++k) {
        const double re = creal(spectrum[k]);
        const double im = cimag(spectrum[k]);
        spectrum[k] = scale * (re * re + im * im);
    }
    fftw_execute_dft_c2r(spread->inverse, spectrum, spread->transfer);
    for (bb_index k = 0; k < n * n; ++k) {
        spread->transfer_sum += spread->transfer[k];
    }
done:
    BB_RELEASE(&spectrum);
    return status;
}

bb_status bb_point_spread_create(double diameter_m, const bb_pupil *pupil, bb_index lenslets,
                                 double condition, bb_point_spread **out)
{
    bb_status status = BB_OK;
    bb_point_spread *spread = NULL;
    BB_TRY(BB_ZEROED(1, &spread));
    BB_TRY(lay_out(diameter_m, lenslets, &spread->grid));
    BB_TRY(make_plans(spread));
    BB_TRY(make_mirror(diameter_m, pupil, lenslets, condition, spread));
    BB_TRY(transform_influence(spread));
    BB_TRY(draw_pupil(pupil, spread));
    BB_TRY(transform_pupil(spread));
    *out = spread;
    spread = NULL;
done:
    bb_point_spread_destroy(&spread);
    return status;
}

bb_need bb_point_spread_resident(const bb_pupil *pupil, bb_index lenslets)
{
    const bb_index pixels = bb_point_spread_pixels(lenslets);
    const double points =
        (double)bb_pupil_points(lenslets * bb_point_spread_pixels_per_lenslet(lenslets));
    const double values =
        points * points + (double)(pixels * pixels) + (double)half_spectrum(pixels);
    const bb_need planes = {.host_bytes = sizeof(bb_point_spread) + sizeof(double) * values};
    return bb_need_together(bb_deformable_mirror_resident(pupil, lenslets), planes);
}

// The mirror first; then the permanent planes are transformed with a temporary plane and spectrum.
bb_need bb_point_spread_need(const bb_pupil *pupil, bb_index lenslets)
{
    const bb_index pixels = bb_point_spread_pixels(lenslets);
    const bb_need transform = {.host_bytes = sizeof(double) * (double)(pixels * pixels) +
                                             sizeof(fftw_complex) * (double)half_spectrum(pixels)};
    return bb_need_in_turn(bb_deformable_mirror_need(pupil, lenslets),
                           bb_need_together(bb_point_spread_resident(pupil, lenslets), transform));
}

void bb_point_spread_destroy(bb_point_spread **spread)
{
    if (*spread == NULL) {
        return;
    }
    bb_deformable_mirror_release(&(*spread)->mirror);
    BB_RELEASE(&(*spread)->pupil);
    BB_RELEASE(&(*spread)->transfer);
    BB_RELEASE(&(*spread)->influence);
    fftw_destroy_plan((*spread)->forward);
    fftw_destroy_plan((*spread)->inverse);
    BB_RELEASE(spread);
}

const bb_point_spread_grid *bb_point_spread_layout(const bb_point_spread *spread)
{
    return &spread->grid;
}

const bb_matrix_source *bb_point_spread_pupil(const bb_point_spread *spread)
{
    return &spread->pupil_source;
}

const double *bb_point_spread_transmission(const bb_point_spread *spread)
{
    return spread->pupil;
}

const bb_deformable_mirror *bb_point_spread_mirror(const bb_point_spread *spread)
{
    return &spread->mirror;
}

typedef struct projection {
    const bb_deformable_mirror *mirror;
    const double *cee;
    double *half; // Dx Cee [actuators][slopes]
    double *voltages;
} projection;

enum { PROJECTED_ROWS = 64 };

static bb_status project_slopes(void *context, bb_index begin, bb_index end)
{
    const projection *work = context;
    const int slopes = (int)work->mirror->measurement_count;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin), slopes, slopes, 1.0,
                work->mirror->projector + begin * slopes, slopes, work->cee, slopes, 0.0,
                work->half + begin * slopes, slopes);
    return BB_OK;
}

static bb_status project_voltages(void *context, bb_index begin, bb_index end)
{
    const projection *work = context;
    const int slopes = (int)work->mirror->measurement_count;
    const int actuators = (int)work->mirror->actuator_count;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - begin), actuators, slopes, 1.0,
                work->half + begin * slopes, slopes, work->mirror->projector, slopes, 0.0,
                work->voltages + begin * actuators, actuators);
    return BB_OK;
}

bb_status bb_point_spread_voltages(const bb_point_spread *spread, const double *cee,
                                   double *voltages)
{
    bb_status status = BB_OK;
    const bb_index actuators = spread->mirror.actuator_count;
    projection work = {.mirror = &spread->mirror, .cee = cee, .voltages = voltages};
    BB_TRY(BB_ALLOCATE(actuators * spread->mirror.measurement_count, &work.half));
    BB_TRY(bb_thread_ranges(actuators, PROJECTED_ROWS, project_slopes, &work));
    BB_TRY(bb_thread_ranges(actuators, PROJECTED_ROWS, project_voltages, &work));
done:
    BB_RELEASE(&work.half);
    return status;
}

bb_need bb_point_spread_voltages_need(const bb_pupil *pupil, bb_index lenslets, double threads)
{
    const double actuators = (double)bb_deformable_mirror_actuators(pupil, lenslets);
    const double slopes = 2.0 * (double)bb_subapertures_count(lenslets, pupil);
    return (bb_need){.host_bytes = sizeof(double) * actuators * (actuators + slopes),
                     .seconds = 2.0 * actuators * slopes * (slopes + actuators) /
                                (BB_NEED_FP64_RATE * threads)};
}

// State of the average of Cvv over ordered pairs of actuators of equal displacement.
typedef struct averaging {
    const bb_point_spread *spread;
    const double *voltages;
    bb_index *first; // [lenslets + 2] first actuator of each row of the grid, in row order
    double *mean;    // [2 lenslets + 1][2 lenslets + 1], 0 without a pair
} averaging;

// One row of displacements: pairs of actuator rows that far apart, in order.
static bb_status average_row(void *context, bb_index displacement)
{
    bb_status status = BB_OK;
    const averaging *work = context;
    const bb_deformable_mirror *mirror = &work->spread->mirror;
    const bb_index lenslets = mirror->lenslets;
    const bb_index edge = 2 * lenslets + 1;
    double *sum = work->mean + displacement * edge;
    bb_index *pairs = NULL; // [edge]
    BB_TRY(BB_ZEROED(edge, &pairs));
    for (bb_index row = 0; row <= lenslets; ++row) {
        const bb_index other = row + lenslets - displacement;
        if (other < 0 || other > lenslets) {
            continue;
        }
        for (bb_index a = work->first[row]; a < work->first[row + 1]; ++a) {
            for (bb_index b = work->first[other]; b < work->first[other + 1]; ++b) {
                const bb_index i = mirror->column[a] - mirror->column[b] + lenslets;
                sum[i] += work->voltages[a * mirror->actuator_count + b];
                ++pairs[i];
            }
        }
    }
    for (bb_index i = 0; i < edge; ++i) {
        sum[i] = pairs[i] > 0 ? sum[i] / (double)pairs[i] : 0.0;
    }
done:
    BB_RELEASE(&pairs);
    return status;
}

// Averages Cvv onto `plane` [N][N], km pixels per step.
static bb_status average(const bb_point_spread *spread, const double *voltages, double *plane)
{
    bb_status status = BB_OK;
    const bb_deformable_mirror *mirror = &spread->mirror;
    const bb_index edge = 2 * mirror->lenslets + 1;
    const bb_index n = spread->grid.pixels;
    const bb_index km = spread->grid.pixels_per_lenslet;
    averaging work = {.spread = spread, .voltages = voltages};
    BB_TRY(BB_ZEROED(edge * edge, &work.mean));
    BB_TRY(BB_ZEROED(mirror->lenslets + 2, &work.first));
    for (bb_index a = 0; a < mirror->actuator_count; ++a) {
        ++work.first[mirror->row[a] + 1];
    }
    for (bb_index row = 0; row <= mirror->lenslets; ++row) {
        work.first[row + 1] += work.first[row];
    }
    BB_TRY(bb_thread_for(edge, average_row, &work));
    memset(plane, 0, (size_t)(n * n) * sizeof *plane);
    for (bb_index j = 0; j < edge; ++j) {
        for (bb_index i = 0; i < edge; ++i) {
            const bb_index x = ((i - mirror->lenslets) * km + n) % n;
            const bb_index y = ((j - mirror->lenslets) * km + n) % n;
            // Both ends of a displacement of N / 2 share a pixel.
            plane[y * n + x] += work.mean[j * edge + i];
        }
    }
done:
    BB_RELEASE(&work.mean);
    BB_RELEASE(&work.first);
    return status;
}

static void check_residual(const bb_point_spread *spread, double *correlation, double *rms_m,
                           bb_outcome *outcome)
{
    const bb_index items = spread->grid.pixels * spread->grid.pixels;
    if (bb_outcome_first_non_finite(correlation, items) >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE, "the residual wavefront is not finite");
    } else if (correlation[0] < 0.0) {
        bb_outcome_set(outcome, BB_OUTCOME_NOT_SPD,
                       "the residual wavefront has a negative variance, %g m^2", correlation[0]);
    } else {
        *rms_m = sqrt(correlation[0]);
        return;
    }
    *rms_m = NAN;
    for (bb_index k = 0; k < items; ++k) {
        correlation[k] = NAN;
    }
}

bb_status bb_point_spread_residual(const bb_point_spread *spread, const double *voltages,
                                   double *correlation, double *rms_m, bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_index bins = half_spectrum(spread->grid.pixels);
    double complex *spectrum = NULL;
    BB_TRY(BB_ALLOCATE(bins, &spectrum));
    BB_TRY(average(spread, voltages, correlation));
    fftw_execute_dft_r2c(spread->forward, correlation, spectrum);
    for (bb_index k = 0; k < bins; ++k) {
        spectrum[k] *= spread->influence[k];
    }
    fftw_execute_dft_c2r(spread->inverse, spectrum, correlation);
    check_residual(spread, correlation, rms_m, outcome);
done:
    BB_RELEASE(&spectrum);
    return status;
}

// Computes the OTF of telescope and residual at pixel k.
static double transfer(const bb_point_spread *spread, const double *correlation, double wavenumber,
                       bb_index k)
{
    const double structure = 2.0 * wavenumber * wavenumber * (correlation[0] - correlation[k]);
    return spread->transfer[k] * exp(-0.5 * structure);
}

double bb_point_spread_strehl(const bb_point_spread *spread, const double *correlation,
                              double wavelength_m)
{
    const double wavenumber = 2.0 * BB_PI / wavelength_m;
    double sum = 0.0;
    for (bb_index k = 0; k < spread->grid.pixels * spread->grid.pixels; ++k) {
        sum += transfer(spread, correlation, wavenumber, k);
    }
    return sum / spread->transfer_sum;
}

double bb_point_spread_excess(const bb_point_spread *spread, const double *correlation,
                              double wavelength_m)
{
    const double wavenumber = 2.0 * BB_PI / wavelength_m;
    double sum = 0.0;
    for (bb_index k = 0; k < spread->grid.pixels * spread->grid.pixels; ++k) {
        if (correlation[k] > correlation[0] && spread->transfer[k] > 0.0) {
            sum += transfer(spread, correlation, wavenumber, k) - spread->transfer[k];
        }
    }
    return sum / spread->transfer_sum;
}

double bb_point_spread_variance(const bb_point_spread *spread, const double *half)
{
    double sum = 0.0;
    for (bb_index k = 0; k < spread->grid.pixels * spread->grid.pixels; ++k) {
        sum += spread->transfer[k] * half[k];
    }
    return sum / spread->transfer_sum;
}

// Computes the mean of exp(-2 pi i r a / lambda) over a box's width.
static double box_factor(double displacement_m, double width_rad, double wavelength_m)
{
    const double half = BB_PI * displacement_m * width_rad / wavelength_m;
    return half != 0.0 ? sin(half) / half : 1.0;
}

double bb_point_spread_ensquared(const bb_point_spread *spread, const double *correlation,
                                 double wavelength_m, double width_rad)
{
    const bb_index n = spread->grid.pixels;
    const double pixel = spread->grid.pixel_m;
    const double wavenumber = 2.0 * BB_PI / wavelength_m;
    const double share = pixel * width_rad / wavelength_m;
    double sum = 0.0;
    if (share > 1.0) {
        return NAN;
    }
    for (bb_index j = 0; j < n; ++j) {
        const double along_y = box_factor(pixel * (double)wrapped(j, n), width_rad, wavelength_m);
        double line = 0.0;
        for (bb_index i = 0; i < n; ++i) {
            line += box_factor(pixel * (double)wrapped(i, n), width_rad, wavelength_m) *
                    transfer(spread, correlation, wavenumber, j * n + i);
        }
        sum += along_y * line;
    }
    return share * share * sum * spread->grid.pupil_power / spread->grid.pupil_light;
}

bb_status bb_point_spread_image(const bb_point_spread *spread, const double *correlation,
                                double wavelength_m, double *image)
{
    bb_status status = BB_OK;
    const bb_index n = spread->grid.pixels;
    const bb_index bins = n / 2 + 1;
    const double wavenumber = 2.0 * BB_PI / wavelength_m;
    double complex *spectrum = NULL;
    BB_TRY(BB_ALLOCATE(half_spectrum(n), &spectrum));
    for (bb_index k = 0; k < n * n; ++k) {
        image[k] = transfer(spread, correlation, wavenumber, k) / spread->transfer_sum;
    }
    fftw_execute_dft_r2c(spread->forward, image, spectrum);
    for (bb_index j = 0; j < n; ++j) {
        for (bb_index i = 0; i < n; ++i) {
            // The half omitted by r2c is the mirror image; the image is real.
            const bb_index y = i < bins ? j : (n - j) % n;
            const bb_index x = i < bins ? i : n - i;
            image[((j + n / 2) % n) * n + (i + n / 2) % n] = creal(spectrum[y * bins + x]);
        }
    }
done:
    BB_RELEASE(&spectrum);
    return status;
}

// The OTF in rings a quarter of a pixel wide.
typedef struct rings {
    bb_index count;
    double *sum;    // [count] of the OTF
    double *radius; // [count] its mean distance, m
    double total;
} rings;

static bb_status draw_rings(const bb_point_spread *spread, const double *correlation,
                            double wavelength_m, rings *out)
{
    enum { PER_PIXEL = 4 };
    bb_status status = BB_OK;
    const bb_index n = spread->grid.pixels;
    const double wavenumber = 2.0 * BB_PI / wavelength_m;
    out->count = PER_PIXEL * n;
    BB_TRY(BB_ZEROED(out->count, &out->sum));
    BB_TRY(BB_ZEROED(out->count, &out->radius));
    for (bb_index k = 0; k < n * n; ++k) {
        const double distance = hypot((double)wrapped(k % n, n), (double)wrapped(k / n, n));
        const double value = transfer(spread, correlation, wavenumber, k);
        const bb_index ring = (bb_index)(PER_PIXEL * distance + 0.5);
        out->sum[ring] += value;
        out->radius[ring] += value * distance * spread->grid.pixel_m;
        out->total += value;
    }
    for (bb_index ring = 0; ring < out->count; ++ring) {
        out->radius[ring] = out->sum[ring] > 0.0 ? out->radius[ring] / out->sum[ring] : 0.0;
    }
done:
    return status;
}

// Computes the intensity at `angle` off the axis relative to that on it.
static double intensity(const rings *image, double wavelength_m, double angle)
{
    double sum = 0.0;
    for (bb_index ring = 0; ring < image->count; ++ring) {
        if (image->sum[ring] != 0.0) {
            sum += image->sum[ring] * j0(2.0 * BB_PI * image->radius[ring] * angle / wavelength_m);
        }
    }
    return sum / image->total;
}

bb_status bb_point_spread_width(const bb_point_spread *spread, const double *correlation,
                                double wavelength_m, double *width_rad)
{
    bb_status status = BB_OK;
    rings image = {0};
    // Extent of the image of a single pixel of the pupil.
    const double limit = wavelength_m / spread->grid.pixel_m;
    double inside = 0.0;
    double outside = limit / (8.0 * (double)spread->grid.pixels);
    *width_rad = NAN;
    BB_TRY(draw_rings(spread, correlation, wavelength_m, &image));
    while (outside < limit && intensity(&image, wavelength_m, outside) > 0.5) {
        inside = outside;
        outside *= 1.5;
    }
    for (int step = 0; step < 40 && outside < limit && !isnan(image.total); ++step) {
        const double middle = 0.5 * (inside + outside);
        const bool bright = intensity(&image, wavelength_m, middle) > 0.5;
        inside = bright ? middle : inside;
        outside = bright ? outside : middle;
        *width_rad = inside + outside;
    }
done:
    BB_RELEASE(&image.sum);
    BB_RELEASE(&image.radius);
    return status;
}
