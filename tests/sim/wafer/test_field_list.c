// SPDX-License-Identifier: Apache-2.0
//
// List and map of `check --fields`, for a layout and for the grid.
#include "sim/run/experiment.h"
#include "sim/wafer/wafer_experiment.h"
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

enum { LINES = 256, WIDTH = 80 };

typedef struct listing {
    bb_text text;
    const char *lines[LINES]; // cut at their ends
    bb_index count;
} listing;

static void list(const char *const *overrides, bb_index count, listing *out)
{
    bb_problems problems = {0};
    autoptr(bb_config) config = NULL;
    *out = (listing){0};
    if (bb_experiment_load(&bb_experiments, CONFIG_WAFER_SMALL, overrides, count, &problems,
                           &config) != BB_OK) {
        print_error("%s\n", bb_text_string(&problems.lines));
        fail();
    }
    check_ok(bb_wafer_experiment_list_fields(bb_config_study(config), &out->text));
    for (char *line = out->text.data; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        assert_true(end - line <= WIDTH);
        *end = '\0';
        assert_true(out->count < LINES);
        out->lines[out->count++] = line;
        line = end + 1;
    }
}

// Line and column of a label in the map, which follows an empty line.
static void find(const listing *found, const char *label, bb_index *row, bb_index *column)
{
    bb_index first = 0;
    while (found->lines[first][0] != '\0') {
        ++first;
    }
    for (*row = first; *row < found->count; ++*row) {
        const char *place = strstr(found->lines[*row], label);
        if (place != NULL) {
            *column = place - found->lines[*row];
            return;
        }
    }
    print_error("no %s in the map\n", label);
    fail();
}

// Three fields without symmetry: lower left, top, and right.
TEST(a_layout_is_listed_and_drawn_where_it_lies)
{
    const char *const overrides[] = {
        "scan.layout=[{x_mm: 70.0, y_mm: 0.0, dose_mj_per_cm2: 41.5, direction: up, order: 9},"
        "{x_mm: -60.0, y_mm: -70.0, direction: down, order: 3},"
        "{x_mm: 4.5, y_mm: 90.0, dose_mj_per_cm2: 8.0, order: 5}]",
        "scan.offset_x_mm=0.25",
        "scan.fields=[1, 2]",
        "scan.light_steps=30",
        "scan.dark_steps=20",
        "scan.dose_mj_per_cm2=30.0",
        "mesh.step_ms=1.0",
        "scan.dose_map=[{x_mm: 0.0, y_mm: 0.0, relative_dose: 1.5}]"};
    listing found;
    list(overrides, sizeof overrides / sizeof *overrides, &found);
    const char *const expected[] = {
        "exposure     x [mm]     y [mm]  dose [mJ/cm2]   scan  scored     area     at [s]",
        "       0    -59.750    -70.000             30   down       -  100.0 %      0.000",
        "       1      4.750     90.000              8   down     yes  100.0 %      0.050",
        "       2     70.250      0.000           41.5     up     yes  100.0 %      0.100",
        "the dose within a field is multiplied by a map of 1 x 1 cells with mean 1.5",
    };
    for (int i = 0; i < 5; ++i) {
        assert_string_equal(found.lines[i], expected[i]);
    }
    // 309 mm over 80 columns and 40 lines: 3.86 mm and 7.7 mm, with the wafer's centre in the
    // middle.
    const struct {
        const char *label;
        double x_mm, y_mm;
    } labels[] = {{"0v", -59.75, -70.0}, {"1v*", 4.75, 90.0}, {"2^*", 70.25, 0.0}};
    bb_index top = 0;
    while (found.lines[top][0] != '\0') {
        ++top;
    }
    for (int i = 0; i < 3; ++i) {
        bb_index row = 0;
        bb_index column = 0;
        find(&found, labels[i].label, &row, &column);
        const double x = 3.8625 * ((double)column + 0.5 * (double)strlen(labels[i].label) - 40.0);
        const double y = 7.725 * (20.0 - ((double)(row - top - 1) + 0.5));
        check_close(x, labels[i].x_mm, 1.0, 3.0);
        check_close(y, labels[i].y_mm, 1.0, 5.0);
        // Its dose is printed below it.
        const char *const doses[] = {"30", "8", "41.5"};
        assert_non_null(strstr(found.lines[row + 1], doses[i]));
    }
    bb_text_release(&found.text);
}

TEST(every_field_of_the_grid_is_there)
{
    const char *const overrides[] = {"scan.fields=all"};
    listing found;
    list(overrides, 1, &found);
    for (int e = 0; e < 96; ++e) {
        char label[16];
        char number[16];
        bb_index row = 0;
        bb_index column = 0;
        (void)snprintf(number, sizeof number, "%8d ", e);
        assert_true(strncmp(found.lines[1 + e], number, strlen(number)) == 0);
        assert_non_null(
            strstr(found.lines[1 + e], e % 2 == 0 ? "     up     yes" : "   down     yes"));
        (void)snprintf(label, sizeof label, "%d%c*", e, e % 2 == 0 ? '^' : 'v');
        find(&found, label, &row, &column);
    }
    bb_text_release(&found.text);
}

TEST(check_prints_them)
{
    CALL_EXPECT(0, "exposure     x [mm]", "check", CONFIG_WAFER_SMALL, "scan.fields=[3]",
                "--fields");
    program_expect(&run, 0, "3v*");
    CALL_EXPECT(2, "--fields: experiment ao has no fields to list", "check", CONFIG_AO_SMALL,
                "--fields");
}

TEST_GROUP(.has_folder = true);
