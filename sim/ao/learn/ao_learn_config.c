// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/learn/ao_learn_config.h"

#include "sim/run/study.h"

static const char *const source_names[] = {"off", "covariance_file", "frames", "profile", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "source", .kind = BB_KEY_CHOICE, .choices = source_names, .default_text = "off",
     .offset = offsetof(bb_ao_learn_config, source),
     .meaning = "Source of the learned profile: none, a covariance in a file, slopes of "
     "random frames (see monte_carlo), or the analytic covariance of the "
     "atmosphere."},
    {.name = "covariance", .kind = BB_KEY_GROUP, .schema = &bb_matrix_place_optional_schema,
     .offset = offsetof(bb_ao_learn_config, covariance),
     .meaning = "Covariance of all slopes in arcsec^2, ordered as /operators/Cmm."},
    {.name = "heights_m", .kind = BB_KEY_DOUBLES, .unit = "m", .minimum = 0.0, .maximum = 1.0e5,
     .optional = true, .offset = offsetof(bb_ao_learn_config, heights_m),
     .meaning = "Heights of the learned layers, at zenith; unset: heights of the atmosphere's layers."},
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 32.0, .maximum = 1.0e6,
     .default_text = "1000", .offset = offsetof(bb_ao_learn_config, frames),
     .meaning = "Number of independent frames with source frames, rounded up to 16 equal batches."},
    {.name = "outer_scale_range_m", .kind = BB_KEY_DOUBLES, .unit = "m", .minimum = 0.1,
     .maximum = 1.0e4, .optional = true,
     .offset = offsetof(bb_ao_learn_config, outer_scale_range_m),
     .meaning = "Smallest and largest outer scale to search; unset: that of the atmosphere, taken as known."},
    {.name = "separation", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 1.0e-6, .maximum = 1.0,
     .default_text = "0.01", .offset = offsetof(bb_ao_learn_config, separation),
     .meaning = "Smallest accepted fraction of a layer's covariance not reproduced by other layers; learning fails below it and names the layer."},
    {.name = "apply", .kind = BB_KEY_BOOLEAN, .default_text = "true",
     .offset = offsetof(bb_ao_learn_config, apply),
     .meaning = "Computes the reconstructors with the learned profile; the score uses the true one."},
};
// clang-format on
const bb_schema bb_ao_learn_schema = BB_SCHEMA("learn", bb_ao_learn_config, keys);

const char *bb_ao_learn_source_name(int source)
{
    return source_names[source];
}

bb_status bb_ao_learn_config_check(const bb_ao_learn_config *learn, const bb_config *config,
                                   bb_problems *problems)
{
    bb_status status = BB_OK;
    const bool file = learn->source == (int)BB_AO_LEARN_COVARIANCE_FILE;
    const bool placed = learn->covariance.file != NULL && learn->covariance.dataset != NULL;
    const double *range = learn->outer_scale_range_m.items;
    const bb_index ends = learn->outer_scale_range_m.count;
    BB_TRY(bb_study_refuse(
        file && !placed, config, problems,
        "learn.covariance needs file and dataset with learn.source = covariance_file"));
    const bb_place place = bb_config_place(config, "learn.outer_scale_range_m");
    if (ends != 0 && ends != 2) {
        BB_TRY(bb_problems_add(problems, place,
                               "learn.outer_scale_range_m has %td value(s), expected two", ends));
    } else if (ends == 2 && !(range[0] < range[1])) {
        BB_TRY(bb_problems_add(
            problems, place,
            "learn.outer_scale_range_m = [%g, %g]: expected the smaller value first", range[0],
            range[1]));
    }
done:
    return status;
}
