// SPDX-License-Identifier: Apache-2.0
//
// The coupled element: shapes, rigid motions, states of constant strain and curvature, loads, and
// the isotropic and cubic constants of docs/manual/physics-wafer.md 1.4.
#include "physics/wafer/response/membrane.h"
#include "physics/wafer/response/plate_assembly.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const double SIDE = 0.002;
static const int CORNER[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};

static bb_plate silicon(int elasticity)
{
    bb_wafer_material_config wafer = SILICON;
    wafer.elasticity = elasticity;
    wafer.c11_gpa = 165.7;
    wafer.c12_gpa = 63.9;
    wafer.c44_gpa = 79.6;
    return bb_plate_make(&wafer, &CLAMP);
}

// w = x^3 y^3 and the like are in the space: nodal values reproduce them between the nodes.
TEST(shapes_hold_bicubics_and_bilinears)
{
    for (int power = 0; power < 16; ++power) {
        int m = power % 4;
        int n = power / 4;
        bb_plate_shapes shapes;
        bb_plate_shapes_at(0.3, 0.8, SIDE, &shapes);
        double w[4] = {0.0};
        double q = 0.0;
        for (int k = 0; k < 4; ++k) {
            double x = CORNER[k][0];
            double y = CORNER[k][1];
            const double dof[4] = {pow(x, m) * pow(y, n),
                                   m == 0 ? 0.0 : m * pow(x, m - 1) * pow(y, n),
                                   n == 0 ? 0.0 : n * pow(x, m) * pow(y, n - 1),
                                   m == 0 || n == 0 ? 0.0 : m * n * pow(x, m - 1) * pow(y, n - 1)};
            for (int i = 0; i < 4; ++i) {
                w[0] += shapes.w[4 * k + i] * dof[i];
                w[1] += shapes.w_x[4 * k + i] * dof[i] * SIDE;
                w[2] += shapes.w_yy[4 * k + i] * dof[i] * SIDE * SIDE;
                w[3] += shapes.w_xy[4 * k + i] * dof[i] * SIDE * SIDE;
            }
            q += shapes.q[k] * pow(x, m % 2) * pow(y, n % 2);
        }
        check_close(w[0], pow(0.3, m) * pow(0.8, n), 1e-14, 1.0);
        check_close(w[1], m == 0 ? 0.0 : m * pow(0.3, m - 1) * pow(0.8, n), 1e-13, 1.0);
        check_close(w[2], n < 2 ? 0.0 : n * (n - 1) * pow(0.3, m) * pow(0.8, n - 2), 1e-13, 1.0);
        check_close(w[3], m * n == 0 ? 0.0 : m * n * pow(0.3, m - 1) * pow(0.8, n - 1), 1e-13, 1.0);
        check_close(q, pow(0.3, m % 2) * pow(0.8, n % 2), 1e-15, 1.0);
    }
}

// Unknowns of a quadratic state: u = a x + b y, v = b x + c y, w = (e x^2 + f y^2) / 2 + g x y + r.
typedef struct quadratic {
    double a, b, c, e, f, g, r;
} quadratic;

static void fill_state(const quadratic *form, double out[BB_PLATE_ELEMENT])
{
    for (int k = 0; k < 4; ++k) {
        double x = SIDE * CORNER[k][0];
        double y = SIDE * CORNER[k][1];
        out[6 * k] = form->a * x + form->b * y;
        out[6 * k + 1] = form->b * x + form->c * y;
        out[6 * k + 2] = 0.5 * (form->e * x * x + form->f * y * y) + form->g * x * y + form->r;
        out[6 * k + 3] = SIDE * (form->e * x + form->g * y);
        out[6 * k + 4] = SIDE * (form->f * y + form->g * x);
        out[6 * k + 5] = SIDE * SIDE * form->g;
    }
}

static double energy(const double matrix[BB_PLATE_ELEMENT][BB_PLATE_ELEMENT], const double *x)
{
    double sum = 0.0;
    for (int i = 0; i < BB_PLATE_ELEMENT; ++i) {
        for (int j = 0; j < BB_PLATE_ELEMENT; ++j) {
            sum += 0.5 * x[i] * matrix[i][j] * x[j];
        }
    }
    return sum;
}

static double expected_energy(const bb_plate *plate, const quadratic *form)
{
    double stretch = form->a * form->a + form->c * form->c +
                     2.0 * plate->poisson * form->a * form->c +
                     4.0 * plate->shear * form->b * form->b;
    double bend = form->e * form->e + form->f * form->f + 2.0 * plate->poisson * form->e * form->f +
                  4.0 * plate->shear * form->g * form->g;
    return 0.5 * SIDE * SIDE * (plate->membrane * stretch + plate->bending * bend);
}

TEST(constant_strains_have_their_energy)
{
    static const quadratic states[] = {{1, 0, 0, 0, 0, 0, 0},   {0, 1, 0, 0, 0, 0, 0},
                                       {1, 0, 2, 0, 0, 0, 0},   {0, 0, 0, 1, 0, 0, 0},
                                       {0, 0, 0, 0, 0, 1, 0},   {0, 0, 0, 1, 3, 0, 0},
                                       {1, 2, -1, 2, 1, -3, 4}, {0, 0, 0, 0, 0, 0, 1}};
    for (int elasticity = 0; elasticity < 3; ++elasticity) {
        bb_plate plate = silicon(elasticity);
        bb_plate_element element;
        bb_plate_element_make(&plate, SIDE, &element);
        for (size_t i = 0; i < sizeof states / sizeof *states; ++i) {
            double x[BB_PLATE_ELEMENT];
            // Curvatures of a size that makes both energies similar.
            quadratic form = states[i];
            form.e *= 1e3;
            form.f *= 1e3;
            form.g *= 1e3;
            fill_state(&form, x);
            check_close(energy(element.elastic, x), expected_energy(&plate, &form), 1e-9,
                        SIDE * SIDE * plate.membrane);
        }
    }
}

// The membrane of the coupled element is that of the separate element.
TEST(membrane_part_is_the_membrane_element)
{
    bb_plate plate = silicon(BB_ELASTICITY_CUBIC_110);
    bb_plate_element element;
    bb_membrane_element membrane;
    bb_plate_element_make(&plate, SIDE, &element);
    bb_membrane_element_make(&plate, SIDE, &membrane);
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) {
            int index = 6 * (i / 2) + i % 2;
            int with = 6 * (j / 2) + j % 2;
            check_close(element.elastic[index][with] + element.springs[index][with],
                        membrane.stiffness[i][j], 1e-14, plate.membrane);
        }
        for (int l = 0; l < 4; ++l) {
            check_close(element.load[6 * (i / 2) + i % 2][l], membrane.load[i][l], 1e-14,
                        plate.thermal * SIDE);
        }
    }
}

// Springs act on u0 + (d/2) grad w and w: a tilt w = s x with u = -s d/2 leaves only k_n.
TEST(springs_hold_the_bottom)
{
    bb_plate plate = silicon(BB_ELASTICITY_ISOTROPIC);
    bb_plate_element element;
    bb_plate_element_make(&plate, SIDE, &element);
    double x[BB_PLATE_ELEMENT] = {0.0};
    for (int k = 0; k < 4; ++k) {
        x[6 * k] = -0.5 * plate.thickness;
        x[6 * k + 2] = SIDE * CORNER[k][0];
        x[6 * k + 3] = SIDE;
    }
    double expected = 0.5 * plate.normal * pow(SIDE, 4) / 3.0;
    check_relative(energy(element.springs, x), expected, 1e-12);
    for (int k = 0; k < 4; ++k) {
        x[6 * k] = 0.5 * plate.thickness;
    }
    expected += 0.5 * plate.tangential * SIDE * SIDE * plate.thickness * plate.thickness;
    check_relative(energy(element.springs, x), expected, 1e-12);
    check_close(energy(element.elastic, x), 0.0, 1e-12, plate.membrane * SIDE * SIDE);
}

// Work of the loads on constant strain and curvature: N_T div u and -M_T lap w, times the area.
TEST(loads_do_their_work)
{
    bb_plate plate = silicon(BB_ELASTICITY_CUBIC_100);
    bb_plate_element element;
    bb_plate_element_make(&plate, SIDE, &element);
    quadratic form = {1.0, 0.5, 3.0, 4.0, 5.0, 6.0, 7.0};
    double x[BB_PLATE_ELEMENT];
    const double t[4] = {1.0, 2.0, 4.0, 5.0};
    fill_state(&form, x);
    double work[2] = {0.0, 0.0};
    for (int i = 0; i < BB_PLATE_ELEMENT; ++i) {
        for (int l = 0; l < 4; ++l) {
            work[0] += x[i] * element.load[i][l] * t[l];
            work[1] += x[i] * element.moment[i][l] * t[l];
        }
    }
    double area = SIDE * SIDE * 3.0; // times the mean temperature
    check_relative(work[0], plate.thermal * 4.0 * area, 1e-12);
    // The curvatures are small differences of corner values.
    check_relative(work[1], -plate.thermal * plate.thickness / 6.0 * 9.0 * area, 1e-9);
}

// docs/manual/physics-wafer.md 1.4: 141.06, 39.26, 79.6 GPa along <100>, 169.76, 10.56, 50.90 along
// <110>.
TEST(cubic_constants_are_those_of_silicon)
{
    static const double known[2][3] = {{141.06, 39.26, 79.60}, {169.76, 10.56, 50.90}};
    for (int i = 0; i < 2; ++i) {
        bb_plate plate = silicon(BB_ELASTICITY_CUBIC_100 + i);
        double q11 = 1e-9 * plate.membrane / plate.thickness;
        check_close(q11, known[i][0], 5e-3, 1.0);
        check_close(q11 * plate.poisson, known[i][1], 5e-3, 1.0);
        check_close(q11 * plate.shear, known[i][2], 5e-3, 1.0);
        check_relative(plate.thermal / (plate.expansion * plate.thickness), 180.317e9, 1e-5);
        check_relative(plate.contraction, 63.9 / 165.7, 1e-14);
        check_relative(plate.bending, plate.membrane * plate.thickness * plate.thickness / 12.0,
                       1e-14);
    }
}

// C44 = (C11 - C12) / 2 makes the crystal isotropic, with E and nu of C11 and C12.
TEST(isotropic_crystals_are_isotropic)
{
    bb_wafer_material_config wafer = SILICON;
    double e = 160.0;
    double nu = 0.28;
    wafer.c11_gpa = e * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu));
    wafer.c12_gpa = e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
    wafer.c44_gpa = 0.5 * e / (1.0 + nu);
    bb_plate plain = bb_plate_make(&wafer, &CLAMP);
    for (int i = 0; i < 2; ++i) {
        wafer.elasticity = BB_ELASTICITY_CUBIC_100 + i;
        bb_plate cubic = bb_plate_make(&wafer, &CLAMP);
        check_relative(cubic.poisson, plain.poisson, 1e-14);
        check_relative(cubic.shear, plain.shear, 1e-14);
        check_relative(cubic.contraction, plain.contraction, 1e-14);
        check_relative(cubic.membrane, plain.membrane, 1e-14);
        check_relative(cubic.bending, plain.bending, 1e-14);
        check_relative(cubic.thermal, plain.thermal, 1e-14);
    }
}
