// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/radial_kernel.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>

enum { PROBES = 7 };

static double node(int k)
{
    return cos(M_PI * (2.0 * k + 1.0) / (2.0 * BB_RADIAL_TERMS));
}

// Newton's divided differences on the Chebyshev points, expanded into powers of t.
static void fit(const double *value, double *terms)
{
    double divided[BB_RADIAL_TERMS];
    for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
        divided[k] = value[k];
    }
    for (int order = 1; order < BB_RADIAL_TERMS; ++order) {
        for (int k = BB_RADIAL_TERMS - 1; k >= order; --k) {
            divided[k] = (divided[k] - divided[k - 1]) / (node(k) - node(k - order));
        }
    }
    for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
        terms[k] = 0.0;
    }
    for (int k = BB_RADIAL_TERMS - 1; k >= 0; --k) {
        for (int power = BB_RADIAL_TERMS - 1; power >= 1; --power) {
            terms[power] = terms[power - 1] - node(k) * terms[power];
        }
        terms[0] = divided[k] - node(k) * terms[0];
    }
}

bb_status bb_radial_table_create(bb_radial_function function, const void *context, double begin,
                                 double end, bb_index intervals, bb_radial_table *out)
{
    bb_status status = BB_OK;
    bb_radial_table table = {.begin = begin, .end = end, .intervals = intervals};
    BB_REQUIRE(begin >= 0.0 && end > begin && intervals > 0, BB_INVALID,
               "radial table of %td intervals over [%g, %g], expected a range and an interval",
               intervals, begin, end);
    double width = (end - begin) / (double)intervals;
    table.per_length = 1.0 / width;
    BB_TRY(BB_ALLOCATE(BB_RADIAL_TERMS * intervals, &table.terms));
    for (bb_index i = 0; i < intervals; ++i) {
        double middle = begin + ((double)i + 0.5) * width;
        double value[BB_RADIAL_TERMS];
        for (int k = 0; k < BB_RADIAL_TERMS; ++k) {
            value[k] = function(context, middle + 0.5 * width * node(k));
        }
        fit(value, table.terms + BB_RADIAL_TERMS * i);
        // The error is largest near the extremes of the node polynomial, between the nodes.
        for (int k = 1; k < PROBES - 1; ++k) {
            double r = middle + 0.5 * width * cos(M_PI * k / (PROBES - 1.0));
            table.error =
                fmax(table.error, fabs(bb_radial_table_at(&table, r) - function(context, r)));
        }
    }
    *out = table;
    table.terms = NULL;
done:
    bb_radial_table_release(&table);
    return status;
}

void bb_radial_table_release(bb_radial_table *table)
{
    BB_RELEASE(&table->terms);
    table->intervals = 0;
}

// In sides of a (split) cell: closed form inside NEAR, then Gauss rules of 4, 3 and 2 points.
static const double NEAR = 4.5;
static const double FOUR_POINTS = 12.0;
static const double THREE_POINTS = 80.0;

// A cell or edge stands off its middle by at most sqrt(1/2) of the longest side.
static const double HALF_DIAGONAL = 0.7072;

static const double NODES_2[] = {-0.57735026918962576451, 0.57735026918962576451};
static const double WEIGHTS_2[] = {1.0, 1.0};
static const double NODES_3[] = {-0.77459666924148337704, 0.0, 0.77459666924148337704};
static const double WEIGHTS_3[] = {5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0};
static const double NODES_4[] = {-0.86113631159405257522, -0.33998104358485626480,
                                 0.33998104358485626480, 0.86113631159405257522};
static const double WEIGHTS_4[] = {0.34785484513745385737, 0.65214515486254614263,
                                   0.65214515486254614263, 0.34785484513745385737};

typedef struct rule {
    int count;
    const double *node;
    const double *weight;
} rule;

double complex bb_radial_kernel_bessel_k0(double complex z)
{
    // The integrand narrows as 1 / sqrt(z); these steps leave less than exp(-49) and exp(-54).
    double step = fmin(0.1, 0.6 / sqrt(creal(z)));
    double complex sum = 0.5 * cexp(-z);
    for (int n = 1; n < 400; ++n) {
        double fall = cosh(n * step);
        if (creal(z) * (fall - 1.0) > 42.0) {
            break;
        }
        sum += cexp(-z * fall);
    }
    return step * sum;
}

double bb_radial_kernel_value(const bb_radial_kernel *kernel, double r)
{
    double sum = 0.0;
    for (int i = 0; i < kernel->mode_count; ++i) {
        sum += creal(kernel->modes[i].coefficient *
                     bb_radial_kernel_bessel_k0(kernel->modes[i].rate * r));
    }
    return sum;
}

// Integrals of r^(2k) ln r^2, r^2 = x^2 + y^2, k = 0, 1, 2, along edges and over rectangles: the
// singular part of Bessel kernels in closed form.
//
// Edge, J_k = integral over t in [0, y] of (x^2 + t^2)^k ln(x^2 + t^2), by parts:
//     J_0 = y L - 2 y + 2 x atan(y / x),  L = ln(x^2 + y^2)
//     (2k + 1) J_k = y r^2k L + 2k x^2 J_{k-1} - 2 P_k,  P_k = integral of t^2 (x^2 + t^2)^(k-1)
// Rectangle [0, x] x [0, y], from the divergence of (x, y) r^2k ln r^2:
//     (2k + 2) C_k = x J_k(x, y) + y J_k(y, x) - 2 M_k,  M_k = integral of r^2k

// J_0 .. J_2 from 0 to y at distance x; odd in y, even in x, 0 at y = 0.
static void log_moment_edge(double x, double y, double moments[BB_LOG_MOMENTS])
{
    double xx = x * x;
    double yy = y * y;
    double rr = xx + yy;
    if (y == 0.0) {
        moments[0] = moments[1] = moments[2] = 0.0;
        return;
    }
    double log_rr = log(rr);
    moments[0] = y * (log_rr - 2.0) + (x == 0.0 ? 0.0 : 2.0 * x * atan(y / x));
    moments[1] = (y * rr * log_rr + 2.0 * xx * moments[0] - 2.0 * y * yy / 3.0) / 3.0;
    moments[2] =
        (y * rr * rr * log_rr + 4.0 * xx * moments[1] - 2.0 * y * yy * (xx / 3.0 + yy / 5.0)) / 5.0;
}

// C_0 .. C_2 over [0, x] x [0, y]; odd in both.
static void log_moment_corner(double x, double y, double moments[BB_LOG_MOMENTS])
{
    double xx = x * x;
    double yy = y * y;
    double area = x * y;
    double plain[BB_LOG_MOMENTS] = {area, area * (xx + yy) / 3.0,
                                    area * (xx * xx / 5.0 + 2.0 * xx * yy / 9.0 + yy * yy / 5.0)};
    double along_y[BB_LOG_MOMENTS];
    double along_x[BB_LOG_MOMENTS];
    log_moment_edge(x, y, along_y);
    log_moment_edge(y, x, along_x);
    for (int k = 0; k < BB_LOG_MOMENTS; ++k) {
        moments[k] = (x * along_y[k] + y * along_x[k] - 2.0 * plain[k]) / (2.0 * k + 2.0);
    }
}

static double value_of(const void *context, double r)
{
    return bb_radial_kernel_value(context, r);
}

static double smooth_of(const void *context, double r)
{
    const bb_radial_kernel *kernel = context;
    double rr = r * r;
    const double *b = kernel->logs;
    return bb_radial_kernel_value(kernel, r) + 0.5 * log(rr) * (b[0] + rr * (b[1] + rr * b[2]));
}

static void find_scales(bb_radial_kernel *kernel)
{
    double fastest = 0.0;
    double decay = INFINITY;
    for (int i = 0; i < kernel->mode_count; ++i) {
        double complex k = kernel->modes[i].rate;
        double complex c = kernel->modes[i].coefficient;
        kernel->logs[0] += creal(c);
        kernel->logs[1] += creal(c * k * k) / 4.0;
        kernel->logs[2] += creal(c * k * k * k * k) / 64.0;
        if (cabs(k) > fastest) {
            fastest = cabs(k);
            decay = creal(k);
        }
    }
    kernel->split_side = 0.4 / fastest;
    // exp(-14) of the short mode is left; beyond it only longer ones count.
    kernel->split_reach = 14.0 / decay;
}

// Where tables start and how dense they are: the finest pieces set it.
typedef struct layout {
    double begin, smooth_end, interval;
} layout;

static layout lay_out(const bb_radial_kernel *kernel)
{
    const double pieces = ceil(kernel->side / kernel->split_side);
    const double finest = kernel->side / pieces;
    const double begin = (NEAR - HALF_DIAGONAL) * finest;
    return (layout){
        .begin = begin, .smooth_end = (NEAR + HALF_DIAGONAL) * finest, .interval = begin / 24.0};
}

bb_need bb_radial_kernel_need(const bb_radial_mode *modes, int mode_count, double cell_width,
                              double cell_height, double reach)
{
    bb_radial_kernel kernel = {.mode_count = mode_count, .side = fmax(cell_width, cell_height)};
    for (int i = 0; i < mode_count; ++i) {
        kernel.modes[i] = modes[i];
    }
    find_scales(&kernel);
    const layout tables = lay_out(&kernel);
    const double intervals =
        ceil(tables.smooth_end / tables.interval) + ceil((reach - tables.begin) / tables.interval);
    return (bb_need){.host_bytes = BB_RADIAL_TERMS * intervals * sizeof(double)};
}

bb_status bb_radial_kernel_create(const bb_radial_mode *modes, int mode_count, double cell_width,
                                  double cell_height, double reach, bb_radial_kernel *out)
{
    bb_status status = BB_OK;
    bb_radial_kernel kernel = {.mode_count = mode_count};
    BB_REQUIRE(mode_count >= 1 && mode_count <= BB_RADIAL_MODES, BB_INVALID,
               "radial kernel of %d modes, expected 1..%d", mode_count, BB_RADIAL_MODES);
    for (int i = 0; i < mode_count; ++i) {
        BB_REQUIRE(creal(modes[i].rate) > 0.0, BB_INVALID,
                   "radial kernel: rate %g 1/m, expected a positive real part",
                   creal(modes[i].rate));
        kernel.modes[i] = modes[i];
    }
    find_scales(&kernel);
    kernel.side = fmax(cell_width, cell_height);
    const layout tables = lay_out(&kernel);
    BB_TRY(bb_radial_table_create(smooth_of, &kernel, 0.0, tables.smooth_end,
                                  (bb_index)ceil(tables.smooth_end / tables.interval),
                                  &kernel.smooth));
    BB_TRY(bb_radial_table_create(value_of, &kernel, tables.begin, reach,
                                  (bb_index)ceil((reach - tables.begin) / tables.interval),
                                  &kernel.far));
    *out = kernel;
    kernel = (bb_radial_kernel){0};
done:
    bb_radial_kernel_release(&kernel);
    return status;
}

// Whole cells beyond the reach of the short modes may be too long for the closed form.
static bool is_far(const bb_radial_kernel *kernel, double side, double distance)
{
    return distance >= NEAR || side > kernel->split_side;
}

// Rule for a piece whose middle lies `distance` sides away, outside NEAR.
static rule choose(double distance)
{
    if (distance < FOUR_POINTS) {
        return (rule){4, NODES_4, WEIGHTS_4};
    }
    return distance < THREE_POINTS ? (rule){3, NODES_3, WEIGHTS_3} : (rule){2, NODES_2, WEIGHTS_2};
}

static double gauss_edge(const bb_radial_table *table, rule with, double x, double y0, double y1)
{
    double middle = 0.5 * (y0 + y1);
    double half = 0.5 * (y1 - y0);
    double sum = 0.0;
    for (int k = 0; k < with.count; ++k) {
        double y = middle + half * with.node[k];
        sum += with.weight[k] * bb_radial_table_at(table, sqrt(x * x + y * y));
    }
    return half * sum;
}

static double edge_piece(const bb_radial_kernel *kernel, double side, double x, double y0,
                         double y1)
{
    double middle = 0.5 * (y0 + y1);
    double distance = sqrt(x * x + middle * middle) / side;
    if (is_far(kernel, side, distance)) {
        return gauss_edge(&kernel->far, choose(distance), x, y0, y1);
    }
    double low[BB_LOG_MOMENTS];
    double high[BB_LOG_MOMENTS];
    log_moment_edge(x, y0, low);
    log_moment_edge(x, y1, high);
    double singular = 0.0;
    for (int k = 0; k < BB_LOG_MOMENTS; ++k) {
        singular += kernel->logs[k] * (high[k] - low[k]);
    }
    rule with = {4, NODES_4, WEIGHTS_4};
    return gauss_edge(&kernel->smooth, with, x, y0, y1) - 0.5 * singular;
}

static double gauss_cell(const bb_radial_table *table, rule with, double x0, double x1, double y0,
                         double y1)
{
    double middle = 0.5 * (x0 + x1);
    double half = 0.5 * (x1 - x0);
    double sum = 0.0;
    for (int k = 0; k < with.count; ++k) {
        sum += with.weight[k] * gauss_edge(table, with, middle + half * with.node[k], y0, y1);
    }
    return half * sum;
}

static double cell_piece(const bb_radial_kernel *kernel, double side, double x0, double x1,
                         double y0, double y1)
{
    double distance = hypot(0.5 * (x0 + x1), 0.5 * (y0 + y1)) / side;
    if (is_far(kernel, side, distance)) {
        return gauss_cell(&kernel->far, choose(distance), x0, x1, y0, y1);
    }
    double singular = 0.0;
    const double x[2] = {x0, x1};
    const double y[2] = {y0, y1};
    for (int corner = 0; corner < 4; ++corner) {
        double moments[BB_LOG_MOMENTS];
        int i = corner & 1;
        int j = corner >> 1;
        log_moment_corner(x[i], y[j], moments);
        for (int k = 0; k < BB_LOG_MOMENTS; ++k) {
            singular += (i == j ? 1.0 : -1.0) * kernel->logs[k] * moments[k];
        }
    }
    rule with = {4, NODES_4, WEIGHTS_4};
    return gauss_cell(&kernel->smooth, with, x0, x1, y0, y1) - 0.5 * singular;
}

// Pieces a side of a cell must be cut into at this distance.
static int pieces_at(const bb_radial_kernel *kernel, double x, double y)
{
    if (kernel->side <= kernel->split_side) {
        return 1;
    }
    double reach = kernel->split_reach + kernel->side;
    return x * x + y * y > reach * reach ? 1 : (int)ceil(kernel->side / kernel->split_side);
}

double bb_radial_kernel_edge(const bb_radial_kernel *kernel, double x, double y0, double y1)
{
    int pieces = pieces_at(kernel, x, 0.5 * (y0 + y1));
    double step = (y1 - y0) / pieces;
    double sum = 0.0;
    for (int k = 0; k < pieces; ++k) {
        double high = k == pieces - 1 ? y1 : y0 + (k + 1) * step;
        sum += edge_piece(kernel, kernel->side / pieces, x, y0 + k * step, high);
    }
    return sum;
}

double bb_radial_kernel_cell(const bb_radial_kernel *kernel, double x0, double x1, double y0,
                             double y1)
{
    int pieces = pieces_at(kernel, 0.5 * (x0 + x1), 0.5 * (y0 + y1));
    double side = kernel->side / pieces;
    double step_x = (x1 - x0) / pieces;
    double step_y = (y1 - y0) / pieces;
    double sum = 0.0;
    for (int j = 0; j < pieces; ++j) {
        for (int i = 0; i < pieces; ++i) {
            sum += cell_piece(kernel, side, x0 + i * step_x, x0 + (i + 1) * step_x, y0 + j * step_y,
                              y0 + (j + 1) * step_y);
        }
    }
    return sum;
}

void bb_radial_kernel_release(bb_radial_kernel *kernel)
{
    bb_radial_table_release(&kernel->smooth);
    bb_radial_table_release(&kernel->far);
}
