// SPDX-License-Identifier: Apache-2.0
//
// The wafer problem as used by a driver: scored points, rows by either generator, the restriction,
// and rejected configurations.
#include "core/memory.h"
#include "physics/wafer/device_rows.h"
#include "physics/wafer/wafer_problem.h"
#include "tests/physics/wafer/wafer_case.h"

TEST(scored_fields_are_those_asked_for)
{
    wafer_case c;
    coarse_case(&c);
    bb_wafer_config config = config_of(&c);
    autoptr(bb_wafer_problem) problem = new_object(bb_wafer_problem, &config);
    assert_int_equal(problem->scored_count, 2);
    assert_int_equal(problem->scored[0], 1);
    assert_int_equal(problem->scored[1], 44);
    assert_ptr_equal(bb_wafer_problem_field(problem, 1), &problem->scan->fields[44]);
    assert_int_equal(problem->point_count, problem->dwells[0]->count + problem->dwells[1]->count);
    assert_int_equal(problem->dwells[1]->count, 35); // well inside
    assert_true(problem->dwells[0]->count < 35);     // at the rim
    assert_non_null(problem->response);
    assert_null(problem->membrane);
    bb_wafer_problem_destroy(&problem);
    c.scan.fields = (bb_list){0, BB_LIST_ALL};
    check_ok(bb_wafer_problem_create(&config, &problem));
    assert_int_equal(problem->scored_count, problem->scan->field_count);
    assert_int_equal(problem->scored[problem->scored_count - 1], problem->scan->field_count - 1);
}

static void check_refused(const wafer_case *c, bb_status code, const char *text)
{
    bb_wafer_problem *problem = NULL;
    bb_wafer_config config = config_of(c);
    check_fails(bb_wafer_problem_create(&config, &problem), code, text);
    assert_null(problem);
}

TEST(what_cannot_be_is_refused)
{
    wafer_case c;
    coarse_case(&c);
    c.mesh.step_ms = 500.0;
    check_refused(&c, BB_INVALID, " ms: explicit steps are unstable above that on a mesh of 5 mm");
    coarse_case(&c);
    c.fields[1] = 1;
    check_refused(&c, BB_INVALID, "scan.fields: 1 after 1, expected ascending order");
    coarse_case(&c);
    c.fields[1] = 4000;
    check_refused(&c, BB_INVALID, "4000");
    coarse_case(&c);
    c.response.slit_points.rows = 2;
    c.response.field_rows = 40;
    check_refused(&c, BB_INVALID, "response.slit_points: 2 rows of");
}

// Rows of both generators for a field at the centre: the same pattern, up to the mesh. A field far
// outside a small wafer is found without the problem, with the message of its rows.
TEST(fields_beyond_the_kernel_are_found_beforehand)
{
    static const char beyond[] =
        "a field at (-13, -33) mm reaches 91.4129 mm over the grid, expected at most 84.8528";
    wafer_case c;
    bb_wafer_rows rows = {0};
    coarse_case(&c);
    bb_wafer_config config = config_of(&c);
    check_ok(bb_wafer_problem_check_fields(&config));
    c.wafer.diameter_mm = 60.0;
    c.scan.usable_radius_mm = 28.0;
    c.response.grid = (bb_grid_config){24, 20};
    c.fields[0] = 0;
    c.scan.fields.count = 1;
    check_fails(bb_wafer_problem_check_fields(&config), BB_INVALID, beyond);
    bb_wafer_problem *problem = new_object(bb_wafer_problem, &config);
    check_fails(bb_wafer_problem_rows(problem, 0, BB_AXIS_X, &rows), BB_INVALID, beyond);
    bb_wafer_problem_destroy(&problem);
    c.response.generator = BB_GENERATOR_FEM;
    check_fails(bb_wafer_problem_check_fields(&config), BB_INVALID, beyond); // its axis z
    c.response.axes.count = 2;
    check_ok(bb_wafer_problem_check_fields(&config));
    c.response.generator = BB_GENERATOR_PLATE;
    check_ok(bb_wafer_problem_check_fields(&config));
}

TEST(both_generators_give_rows)
{
    wafer_case c;
    bb_wafer_rows rows[2];
    double *values[2] = {NULL, NULL};
    coarse_case(&c);
    c.fields[1] = 48;
    bb_wafer_config config = config_of(&c);
    autoptr(bb_wafer_problem) kernel = new_object(bb_wafer_problem, &config);
    c.response.generator = BB_GENERATOR_FEM;
    autoptr(bb_wafer_problem) fem = new_object(bb_wafer_problem, &config);
    assert_non_null(fem->membrane);
    for (int axis = 0; axis < 2; ++axis) {
        check_ok(bb_wafer_problem_rows(kernel, 1, axis, &rows[0]));
        check_ok(bb_wafer_problem_rows(fem, 1, axis, &rows[1]));
        double difference = 0.0;
        double norm = 0.0;
        bb_index count = 0;
        for (int g = 0; g < 2; ++g) {
            const bb_matrix_source *source = rows[g].source;
            assert_int_equal(source->rows, kernel->slit.field_points);
            assert_int_equal(source->columns, kernel->grid->cell_count);
            assert_true(rows[g].batch > 0);
            count = source->rows * source->columns;
            check_ok(BB_ALLOCATE(count, &values[g]));
            check_ok(bb_matrix_source_fill(
                source, 0, 0, bb_view_matrix(values[g], source->rows, source->columns)));
        }
        for (bb_index i = 0; i < count; ++i) {
            difference += pow(values[0][i] - values[1][i], 2.0);
            norm += pow(values[0][i], 2.0);
        }
        print_message("axis %d: rows differ by %.2g\n", axis, sqrt(difference / norm));
        assert_true(norm > 0.0 && difference < 0.3 * 0.3 * norm);
        BB_RELEASE(&values[0]);
        BB_RELEASE(&values[1]);
    }
}

// Relative difference of all rows of two sources.
static double row_difference(const bb_wafer_rows *a, const bb_wafer_rows *b)
{
    double *values[2] = {NULL, NULL};
    const bb_matrix_source *sources[2] = {a->source, b->source};
    double difference = 0.0;
    double norm = 0.0;
    for (int g = 0; g < 2; ++g) {
        check_ok(BB_ALLOCATE(sources[g]->rows * sources[g]->columns, &values[g]));
        check_ok(bb_matrix_source_load(sources[g], values[g]));
    }
    for (bb_index i = 0; i < sources[0]->rows * sources[0]->columns; ++i) {
        difference += pow(values[0][i] - values[1][i], 2.0);
        norm += pow(values[1][i], 2.0);
    }
    BB_RELEASE(&values[0]);
    BB_RELEASE(&values[1]);
    return sqrt(difference / norm);
}

// The membrane has no height: fem uses the kernel's if z is configured, else it has none.
TEST(height_by_fem_is_the_kernels)
{
    wafer_case c;
    bb_wafer_rows rows[2];
    coarse_case(&c);
    bb_wafer_config config = config_of(&c);
    autoptr(bb_wafer_problem) kernel = new_object(bb_wafer_problem, &config);
    c.response.generator = BB_GENERATOR_FEM;
    autoptr(bb_wafer_problem) fem = new_object(bb_wafer_problem, &config);
    check_ok(bb_wafer_problem_rows(kernel, 1, BB_AXIS_Z, &rows[0]));
    check_ok(bb_wafer_problem_rows(fem, 1, BB_AXIS_Z, &rows[1]));
    assert_true(row_difference(&rows[0], &rows[1]) == 0.0);
    bb_wafer_problem_destroy(&fem);
    c.response.axes.count = 2;
    check_ok(bb_wafer_problem_create(&config, &fem));
    assert_null(fem->response);
    check_fails(bb_wafer_problem_rows(fem, 1, BB_AXIS_Z, &rows[1]), BB_UNSUPPORTED,
                "axis z is not among the study's response.axes");
}

// The plate's rows equal the membrane's except for the coupling and (d/2) grad w; it also has z.
TEST_FULL(the_plate_gives_rows_of_all_axes)
{
    wafer_case c;
    bb_wafer_rows rows[2];
    coarse_case(&c);
    bb_wafer_config config = config_of(&c);
    autoptr(bb_wafer_problem) kernel = new_object(bb_wafer_problem, &config);
    c.response.generator = BB_GENERATOR_FEM;
    autoptr(bb_wafer_problem) fem = new_object(bb_wafer_problem, &config);
    c.response.generator = BB_GENERATOR_PLATE;
    autoptr(bb_wafer_problem) plate = new_object(bb_wafer_problem, &config);
    assert_non_null(plate->plate);
    assert_null(plate->membrane);
    for (int axis = 0; axis < 3; ++axis) {
        bool height = axis == (int)BB_AXIS_Z;
        check_ok(bb_wafer_problem_rows(plate, 1, axis, &rows[0]));
        check_ok(bb_wafer_problem_rows(height ? kernel : fem, 1, axis, &rows[1]));
        assert_int_equal(rows[0].batch, BB_PLATE_BATCH);
        double difference = row_difference(&rows[0], &rows[1]);
        print_message("axis %d: the plate's rows differ by %.2g\n", axis, difference);
        assert_true(difference > 1e-5 && difference < (height ? 0.3 : 0.05));
    }
}

// Burls and crystals affect the rows; generators without them reject them.
TEST_FULL(burls_and_crystals_need_elements)
{
    wafer_case c;
    bb_wafer_problem *problem[3] = {NULL, NULL, NULL};
    bb_wafer_rows rows[2];
    coarse_case(&c);
    bb_wafer_config config = config_of(&c);
    c.clamp.burls = (bb_burl_config){
        .pitch_mm = 10.0, .footprint_mm = 5.0, .scatter = 0.2, .missing_fraction = 0.1, .seed = 1};
    check_refused(&c, BB_UNSUPPORTED, "only response.generator: plate supports burls");
    c.response.generator = BB_GENERATOR_PLATE;
    check_ok(bb_wafer_problem_create(&config, &problem[0]));
    c.clamp.burls.pitch_mm = NAN;
    check_ok(bb_wafer_problem_create(&config, &problem[1]));
    c.wafer.elasticity = BB_ELASTICITY_CUBIC_110;
    c.wafer.c11_gpa = 165.7;
    c.wafer.c12_gpa = 63.9;
    c.wafer.c44_gpa = 79.6;
    check_ok(bb_wafer_problem_create(&config, &problem[2]));
    for (int k = 0; k < 3; k += 2) {
        check_ok(bb_wafer_problem_rows(problem[1], 1, BB_AXIS_X, &rows[0]));
        check_ok(bb_wafer_problem_rows(problem[k], 1, BB_AXIS_X, &rows[1]));
        double difference = row_difference(&rows[0], &rows[1]);
        print_message("%s: rows differ by %.2g\n", k == 0 ? "burls" : "crystal", difference);
        assert_true(difference > 0.01 && difference < 1.0);
    }
    for (int k = 0; k < 3; ++k) {
        bb_wafer_problem_destroy(&problem[k]);
    }
    c.response.generator = BB_GENERATOR_KERNEL;
    check_refused(&c, BB_UNSUPPORTED, "the closed-form kernel is isotropic");
    c.response.generator = BB_GENERATOR_PLATE;
    c.clamp.burls.pitch_mm = 3.0;
    check_refused(&c, BB_INVALID, "clamp.burls.footprint_mm = 5");
}

// Both keys of the scatter have the same effect.
TEST(both_keys_of_scatter_are_one)
{
    wafer_case c;
    bb_wafer_problem *problem[2] = {NULL, NULL};
    bb_wafer_rows rows[2];
    coarse_case(&c);
    bb_wafer_config config = config_of(&c);
    c.response.generator = BB_GENERATOR_PLATE;
    for (int k = 0; k < 2; ++k) {
        c.clamp.burls = (bb_burl_config){
            .pitch_mm = 10.0, .footprint_mm = 5.0, .scatter = k == 0 ? 0.2 : 0.0, .seed = 1};
        c.response.burl_stiffness_scatter = k == 0 ? 0.0 : 0.2;
        check_ok(bb_wafer_problem_create(&config, &problem[k]));
        check_ok(bb_wafer_problem_rows(problem[k], 1, BB_AXIS_Y, &rows[k]));
    }
    assert_true(row_difference(&rows[0], &rows[1]) == 0.0);
    bb_wafer_problem_destroy(&problem[0]);
    bb_wafer_problem_destroy(&problem[1]);
}

// S = W T of a constant is that constant on cells of the wafer, and heat is conserved.
// Rows of every generator and axis in single precision: close to the exact ones, not their bits.
TEST(narrow_rows_are_rows_in_single_precision)
{
    static const int generators[] = {BB_GENERATOR_KERNEL, BB_GENERATOR_FEM, BB_GENERATOR_PLATE};
    for (int g = 0; g < 3; ++g) {
        wafer_case c;
        coarse_case(&c);
        c.response.generator = generators[g];
        bb_wafer_config config = config_of(&c);
        bb_wafer_problem *narrow = NULL;
        autoptr(bb_wafer_problem) problem = new_object(bb_wafer_problem, &config);
        check_ok(bb_wafer_problem_narrow(problem, NULL, &narrow));
        for (int axis = 0; axis < 3; ++axis) {
            bb_wafer_rows exact;
            bb_wafer_rows single;
            check_ok(bb_wafer_problem_rows(problem, 0, axis, &exact));
            check_ok(bb_wafer_problem_rows(narrow, 0, axis, &single));
            const double difference = row_difference(&single, &exact);
            print_message("generator %d, axis %d: %.1e\n", generators[g], axis, difference);
            assert_true(difference > 1e-9 && difference < 1e-4);
        }
        const bb_need need = bb_wafer_problem_narrow_need(&config);
        assert_true((need.host_bytes > 0.0) == (generators[g] != BB_GENERATOR_KERNEL));
        bb_wafer_problem_narrow_destroy(&narrow);
    }
}

TEST(restriction_keeps_heat)
{
    wafer_case c;
    coarse_case(&c);
    bb_wafer_config config = config_of(&c);
    autoptr(bb_wafer_problem) problem = new_object(bb_wafer_problem, &config);
    autofree double *states = zeros(problem->thermal->size);
    autofree double *cells = doubles(problem->grid->cell_count);
    double nodes = 0.0;
    for (bb_index i = 0; i < problem->mesh->node_count; ++i) {
        states[i] = 1.0 + sin(0.1 * (double)i);
        nodes += problem->mesh->node_area[i] * states[i];
    }
    check_ok(bb_wafer_problem_restrict(problem, states, cells));
    double sum = 0.0;
    for (bb_index j = 0; j < problem->grid->cell_count; ++j) {
        sum += problem->grid->area[j] * cells[j];
        assert_true(problem->grid->area[j] > 0.0 || cells[j] == 0.0);
    }
    check_relative(sum, nodes, 1e-12);
    fill_array(states, problem->mesh->node_count, i, 0.25);
    check_ok(bb_wafer_problem_restrict(problem, states, cells));
    for (bb_index j = 0; j < problem->grid->cell_count; ++j) {
        if (problem->grid->area[j] > 0.0) {
            check_relative(cells[j], 0.25, 1e-12);
        }
    }
}

TEST_FULL(every_allocation_may_fail)
{
    static const int generators[] = {BB_GENERATOR_FEM, BB_GENERATOR_KERNEL, BB_GENERATOR_PLATE};
    for (int generator = 0; generator < 3; ++generator) {
        wafer_case c;
        coarse_case(&c);
        c.mesh.spacing_mm = c.clamp.spacing_mm = 10.0;
        c.response.generator = generators[generator];
        if (generators[generator] == (int)BB_GENERATOR_PLATE) {
            c.clamp.burls = (bb_burl_config){.pitch_mm = 10.0, .footprint_mm = 5.0, .seed = 1};
        }
        bb_wafer_config config = config_of(&c);
        // The kernel's tables take a tenth of a second: in strides there.
        failing_allocation walk = {.stride =
                                       generators[generator] == (int)BB_GENERATOR_KERNEL ? 7 : 1};
        bb_status status = BB_OK;
        while (fail_next(&walk, status)) {
            autoptr(bb_wafer_problem) problem = NULL;
            status = bb_wafer_problem_create(&config, &problem);
            assert_true((status == BB_OK) == (problem != NULL));
        }
        assert_true(walk.k > 40);
    }
}

// Springs as stiff as those of the paper, and softer by nine orders of magnitude.
TEST(plans_know_which_rows_a_gpu_makes)
{
    for (int soft = 0; soft < 2; ++soft) {
        wafer_case c;
        coarse_case(&c);
        c.response.generator = BB_GENERATOR_FEM;
        c.response.axes.count = 2;
        c.clamp.tangential_stiffness_n_per_m3 = soft ? 1e2 : 1e11;
        const bb_wafer_config config = config_of(&c);
        autoptr(bb_wafer_problem) problem = new_object(bb_wafer_problem, &config);
        assert_int_equal(bb_membrane_is_soft(problem->membrane), soft);
        assert_int_equal(bb_device_rows_planned(&config), !soft);
    }
}

// 544 points are solved at once, 545 in two halves.
TEST(rows_on_a_gpu_take_room_for_the_points_of_a_panel)
{
    wafer_case c;
    coarse_case(&c);
    c.response.generator = BB_GENERATOR_FEM;
    const bb_wafer_config config = config_of(&c);
    const double few = bb_device_rows_need(&config, 1e4, 10.0).device_bytes;
    const double most = bb_device_rows_need(&config, 1e4, 544.0).device_bytes;
    assert_true(most - few >= 534.0 * 1e4 * sizeof(double));
    assert_true(bb_device_rows_need(&config, 1e4, 545.0).device_bytes < most);
}
