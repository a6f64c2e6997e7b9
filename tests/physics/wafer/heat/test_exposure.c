// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "physics/wafer/heat/exposure.h"
#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/scan.h"
#include "tests/physics/wafer/wafer_defaults.h"

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_scan *scan;
} setup;

static setup make(double spacing)
{
    setup made = {NULL, NULL};
    check_ok(bb_disc_mesh_create(0.150, spacing, &made.mesh));
    made.scan = fast_scan();
    return made;
}

static void drop(setup *made)
{
    bb_scan_destroy(&made->scan);
    bb_disc_mesh_destroy(&made->mesh);
}

TEST(covered_nodes_get_exactly_the_dose)
{
    autocall(drop) setup scene = make(0.0005);
    bb_exposure *exposure = NULL;
    for (bb_index field = 44; field < 46; ++field) {
        assert_true(scene.scan->fields[field].full);
        check_ok(bb_exposure_create(scene.mesh, scene.scan, field, 1.0, &exposure));
        autofree double *sum = zeros(exposure->count);
        autofree double *energy = zeros(exposure->count);
        double total = 0.0;
        for (bb_index step = 0; step < 34; ++step) {
            total += bb_exposure_energy(exposure, step, 1, energy);
            for (bb_index i = 0; i < exposure->count; ++i) {
                sum[i] += energy[i];
            }
        }
        // 53 x 67 nodes overlap 26 x 33 mm; inner ones own a whole cell.
        assert_int_equal(exposure->count, 53 * 67);
        for (bb_index i = 0; i < exposure->count; ++i) {
            bb_index column = i % 53;
            bb_index row = i / 53;
            double part = (column % 52 ? 1.0 : 0.5) * (row % 66 ? 1.0 : 0.5);
            // Whole cells to 1e-13; on the border the coordinates of the field are rounded.
            check_relative(sum[i], 300.0 * part * 0.25e-6, part == 1.0 ? 1e-13 : 1e-12);
        }
        check_relative(total, 300.0 * 0.026 * 0.033, 1e-13);
        check_relative(exposure->total, total, 1e-12);
        check_close(exposure->clipped, 0.0, 1e-12, total);
        bb_exposure_destroy(&exposure);
    }
}

// Away from start and end the slit power is dose * width * speed in every step: 8.6 W. The parts of
// a step telescope to the step.
TEST(parts_make_up_a_step)
{
    autocall(drop) setup scene = make(0.0007);
    double *sum = NULL;
    autoptr(bb_exposure) exposure = new_object(bb_exposure, scene.mesh, scene.scan, 41, 1.0);
    autofree double *energy = doubles(exposure->count);
    for (bb_index step = 0; step < 34; step += 11) {
        check_ok(BB_ZEROED(exposure->count, &sum));
        for (bb_index part = 3 * step; part < 3 * (step + 1); ++part) {
            (void)bb_exposure_energy(exposure, part, 3, energy);
            for (bb_index i = 0; i < exposure->count; ++i) {
                sum[i] += energy[i];
            }
        }
        double total = bb_exposure_energy(exposure, step, 1, energy);
        check_all_close(sum, energy, exposure->count, 1e-12, total);
        BB_RELEASE(&sum);
    }
}

TEST(power_is_steady_and_follows_absorption)
{
    autocall(drop) setup scene = make(0.0007);
    autoptr(bb_exposure) exposure = new_object(bb_exposure, scene.mesh, scene.scan, 40, 1.25);
    autofree double *energy = doubles(exposure->count);
    double expected = 1.25 * 300.0 * 0.026 * scene.scan->speed * 1e-3;
    for (bb_index step = 6; step < 28; ++step) {
        check_relative(bb_exposure_energy(exposure, step, 1, energy), expected, 1e-12);
    }
}

TEST(edge_fields_report_what_they_lose)
{
    autocall(drop) setup scene = make(0.0005);
    double dose = 300.0 * 0.026 * 0.033;
    autoptr(bb_exposure) exposure = new_object(bb_exposure, scene.mesh, scene.scan, 0, 1.0);
    assert_true(exposure->clipped > 0.2 * dose && exposure->clipped < dose);
    check_relative(exposure->clipped + exposure->total, dose, 1e-13);
    const bb_field *field = &exposure->field;
    double inside = bb_field_area_inside(0.15, field->x - 0.013, field->x + 0.013,
                                         field->y - 0.0165, field->y + 0.0165);
    check_relative(exposure->total, 300.0 * inside, 5e-3);
}

// Light and dark steps of two fields, one of them over the edge: the ledger closes.
TEST(ledger_closes_over_fields)
{
    autocall(drop) setup scene = make(0.001);
    bb_exposure *exposure = NULL;
    double *energy = NULL;
    bb_ledger ledger = {0};
    autoptr(bb_thermal) thermal =
        new_object(bb_thermal, scene.mesh, &SILICON, &CLAMP, BB_CLAMP_LAYER, 1e-3);
    autofree double *t = zeros(thermal->size);
    autofree double *next = zeros(thermal->size);
    double highest = 0.0;
    for (bb_index field = 0; field < 2; ++field) {
        check_ok(bb_exposure_create(scene.mesh, scene.scan, field == 0 ? 0 : 40, 1.0, &exposure));
        check_ok(BB_ALLOCATE(exposure->count, &energy));
        for (bb_index step = 0; step < 70; ++step) {
            check_ok(bb_csr_multiply(&thermal->step_matrix, t, next));
            double put = step < 34
                             ? bb_exposure_deposit(exposure, step, thermal->per_joule, energy, next)
                             : 0.0;
            bb_ledger_add(&ledger, thermal, t, put);
            double *swap = t;
            t = next;
            next = swap;
            for (bb_index i = 0; i < thermal->node_count; ++i) {
                assert_true(t[i] >= 0.0);
                highest = fmax(highest, t[i]);
            }
        }
        BB_RELEASE(&energy);
        bb_exposure_destroy(&exposure);
    }
    double gap = bb_ledger_close(&ledger, thermal, t);
    print_message("deposited %.6f J, lost %.3e J, clamp %.3e J, gap %.1e, highest %.3f K\n",
                  ledger.deposited, ledger.lost, ledger.stored_clamp, gap, highest);
    check_close(gap, 0.0, 1e-12, 1.0);
    // 0.233 K adiabatic (docs/manual/physics-wafer.md 1.2), and slightly more at the end of the
    // scan, since heat diffuses ahead of the slit.
    assert_true(highest > 0.22 && highest < 0.25);
}

// Six cells, none at an edge of the mesh: 26 mm = 9 + 8.5 + 8.5, 33 mm = 12.3 + 20.7.
static const double FACTORS[2][3] = {{1.1, 0.0, 0.7}, {0.9, 1.3, 2.0}};
static const double COLUMN_MM[3] = {9.0, 8.5, 8.5};
static const double ROW_MM[2] = {12.3, 20.7};

static double put_map(bb_dose_point points[6], bb_scan_config *config)
{
    static const double x_mm[3] = {-8.0, 0.0, 9.0}; // edges at -4 and 4.5
    static const double y_mm[2] = {-10.0, 1.6};     // an edge at -4.2
    double sum = 0.0;
    for (int i = 0; i < 6; ++i) {
        // In arbitrary order, neither by row nor increasing.
        const int cell = (5 * i + 3) % 6;
        points[i] = (bb_dose_point){x_mm[cell % 3], y_mm[cell / 3], FACTORS[cell / 3][cell % 3]};
        sum += FACTORS[cell / 3][cell % 3] * COLUMN_MM[cell % 3] * ROW_MM[cell / 3];
    }
    config->dose_map = (bb_list){points, 6};
    return sum / (26.0 * 33.0);
}

// Energy is dose * sum of factor * area of the cells, in total and in each node: nothing is
// normalised. The power of a step under one row of cells is that of its mean factor.
TEST(a_map_gives_each_cell_its_dose)
{
    autocall(drop) setup scene = {NULL, NULL};
    bb_dose_point points[6];
    bb_scan_config config = FAST_SCAN;
    const double mean = put_map(points, &config);
    check_ok(bb_disc_mesh_create(0.150, 0.0007, &scene.mesh));
    check_ok(bb_scan_create(&config, 1e-3, &scene.scan));
    check_relative(bb_dose_map_mean(scene.scan->dose_map), mean, 1e-14);
    autoptr(bb_exposure) exposure = new_object(bb_exposure, scene.mesh, scene.scan, 44, 1.25);
    autofree double *energy = zeros(exposure->count);
    autofree double *sum = zeros(exposure->count);
    const bb_field *field = &exposure->field;
    double total = 0.0;
    double power = 0.0; // of step 20, which is in the upper row
    for (bb_index step = 0; step < 34; ++step) {
        const double put = bb_exposure_energy(exposure, step, 1, energy);
        total += put;
        power = step == 20 ? put : power;
        for (bb_index i = 0; i < exposure->count; ++i) {
            sum[i] += energy[i];
        }
    }
    check_relative(total, 1.25 * 300.0 * mean * 0.026 * 0.033, 1e-12);
    check_relative(exposure->total, total, 1e-12);
    check_close(exposure->clipped, 0.0, 1e-12, total);
    const double row_mean = (9.0 * 0.9 + 8.5 * 1.3 + 8.5 * 2.0) / 26.0;
    assert_true(field->up);
    check_relative(power, 1.25 * 300.0 * row_mean * 0.026 * scene.scan->speed * 1e-3, 1e-12);
    for (bb_index i = 0; i < exposure->count; ++i) {
        const double x = bb_disc_mesh_x(scene.mesh, exposure->node[i]) - field->x;
        const double y = bb_disc_mesh_y(scene.mesh, exposure->node[i]) - field->y;
        const int column = x < -4e-3 ? 0 : x < 4.5e-3 ? 1 : 2;
        const int row = y < -4.2e-3 ? 0 : 1;
        const double away = fmin(fmin(fabs(x + 4e-3), fabs(x - 4.5e-3)), fabs(y + 4.2e-3));
        const double inside = fmin(0.013 - fabs(x), 0.0165 - fabs(y));
        if (fmin(away, inside) > 0.0004) {
            check_close(sum[i], 1.25 * 300.0 * FACTORS[row][column] * 0.49e-6, 1e-12, 1e-4);
        }
    }
}

// For a field at the rim the lost part is weighted by the factors of its cells.
TEST(a_map_is_clipped_with_its_field)
{
    autocall(drop) setup scene = {NULL, NULL};
    bb_dose_point points[6];
    bb_scan_config config = FAST_SCAN;
    const double mean = put_map(points, &config);
    check_ok(bb_disc_mesh_create(0.150, 0.001, &scene.mesh));
    check_ok(bb_scan_create(&config, 1e-3, &scene.scan));
    autoptr(bb_exposure) exposure = new_object(bb_exposure, scene.mesh, scene.scan, 0, 1.0);
    assert_true(exposure->clipped > 0.1 * exposure->total);
    check_relative(exposure->clipped + exposure->total, 300.0 * mean * 0.026 * 0.033, 1e-12);
}

// A map with a single cell of factor 1 changes no bit.
TEST(a_map_of_one_is_no_map)
{
    autocall(drop) setup scene = make(0.0007);
    bb_dose_point point = {2.0, -3.0, 1.0};
    bb_scan_config config = FAST_SCAN;
    config.dose_map = (bb_list){&point, 1};
    autoptr(bb_scan) mapped = new_object(bb_scan, &config, 1e-3);
    autoptr(bb_exposure) plain = new_object(bb_exposure, scene.mesh, scene.scan, 41, 1.0);
    autoptr(bb_exposure) exposure = new_object(bb_exposure, scene.mesh, mapped, 41, 1.0);
    assert_int_equal(exposure->count, plain->count);
    autofree double *energy = zeros(plain->count);
    autofree double *expected = zeros(plain->count);
    for (bb_index step = 0; step < 34; ++step) {
        (void)bb_exposure_energy(plain, step, 1, expected);
        (void)bb_exposure_energy(exposure, step, 1, energy);
        assert_memory_equal(energy, expected, (size_t)plain->count * sizeof *energy);
    }
}

TEST(bad_maps_are_refused)
{
    const struct {
        bb_dose_point points[4];
        bb_index count;
        const char *message;
    } cases[] = {
        {{{0.0, 0.0, 1.0}, {13.5, 0.0, 1.0}}, 2, "scan.dose_map.1.x_mm: 13.5, expected at most"},
        {{{0.0, -17.0, 1.0}}, 1, "scan.dose_map.0.y_mm: -17, expected at most"},
        {{{0.0, 0.0, 1.0}, {5.0, 0.0, 1.0}, {0.0, 0.0, 2.0}},
         3,
         "scan.dose_map.2.x_mm: the point at (0, 0) mm is given twice"},
        {{{0.0, 0.0, 1.0}, {5.0, 0.0, 1.0}, {5.0, 5.0, 1.0}},
         3,
         "scan.dose_map: 3 points at 2 positions in x and 2 in y, expected all 4"},
    };
    bb_scan *scan = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        bb_dose_point points[4];
        bb_scan_config config = FAST_SCAN;
        memcpy(points, cases[i].points, sizeof points);
        config.dose_map = (bb_list){points, cases[i].count};
        check_fails(bb_scan_create(&config, 1e-3, &scan), BB_INVALID, cases[i].message);
    }
}
