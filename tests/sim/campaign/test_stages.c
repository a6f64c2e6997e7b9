// SPDX-License-Identifier: Apache-2.0
//
// NaN and infinities injected between the stages of a run; each stage must detect its own. A fault
// in a shared stage ends the run with its position; a fault in a single pipeline is the outcome of
// that pipeline.
#include "core/stage.h"
#include "tests/sim/driver.h"

typedef struct boundary {
    const char *stage;
    const char *words;    // part of the message or of the pipeline's detail
    const char *pipeline; // affected pipeline; NULL: the whole run
} boundary;

static const double values[] = {NAN, INFINITY, -INFINITY};

static void plant_each(const driver_case *study, const boundary *boundaries, size_t count)
{
    for (size_t b = 0; b < count; ++b) {
        for (size_t v = 0; v < sizeof values / sizeof values[0]; ++v) {
            autoptr(bb_results) results = NULL;
            bb_stage_plant(boundaries[b].stage, values[v], 7);
            bb_status status = driver_run(study, 1, &results);
            if (!bb_stage_planted()) {
                print_error("nothing passed stage '%s'\n", boundaries[b].stage);
                fail();
            }
            bb_stage_plant(NULL, 0.0, 0);
            if (boundaries[b].pipeline == NULL) {
                check_fails(status, BB_INVALID, boundaries[b].words);
                continue;
            }
            check_ok(status);
            const bb_dataset *states = driver_dataset(results, "status");
            bb_index hurt = driver_pipeline(results, boundaries[b].pipeline);
            const char *detail = driver_text(results, "status_detail", boundaries[b].pipeline);
            assert_string_equal(states->texts[hurt], "non_finite");
            if (strstr(detail, boundaries[b].words) == NULL) {
                print_error("'%s' lacks '%s'\n", detail, boundaries[b].words);
                fail();
            }
        }
    }
}

TEST(wafer)
{
    const driver_case study = {CONFIG_WAFER_SMALL,
                               {"mesh.spacing_mm=6.0", "scan.fields=[0]", "response.axes=[x, y]"}};
    static const boundary boundaries[] = {
        {"temperatures", "temperature of cell 7 in light step 0 of field 0", NULL},
        {"rows", "row 0, column 7", NULL},
        {"displacements", "displacement x, field 0, light step 0, slit point 7", "reference"},
        {"dwell", "mean displacement x, field 0", "reference"},
    };
    plant_each(&study, boundaries, sizeof boundaries / sizeof boundaries[0]);
}

TEST_FULL(ao)
{
    static const boundary boundaries[] = {
        {"diagonal", "diagonal 7", "reference"},
        {"right-hand side", "Ctm, row 0, column 7", "reference"},
        {"reconstructor", "reconstructor 0, row 0, column 7", "reference"},
        {"residual", "residual covariance of target 0, row 0", "reference"},
    };
    plant_each(CASE(CONFIG_AO_SMALL, {"score=stationary"}), boundaries,
               sizeof boundaries / sizeof boundaries[0]);
}

TEST_GROUP(.is_quiet = true);
