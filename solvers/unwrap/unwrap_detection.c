// SPDX-License-Identifier: Apache-2.0
#include "solvers/unwrap/unwrap_detection.h"

#include "core/memory.h"

#include <math.h>

struct bb_unwrap_detection {
    bb_kernel_context *context;
    bb_index columns, rows;
    // Pixels as 32-bit words of two (one more if odd), and as separate values.
    bb_unwrap_field pairs, pixels;
    bb_unwrap_field frames;         // `pixels` split into frames; they share its block
    bb_unwrap_field inside;         // mask as integers, 1 inside
    bb_unwrap_field cosines, sines; // weights of the four frames
    bb_unwrap_field mean, window, across, along;
    bb_unwrap_field tables[2][2]; // tables by axis: cosine and sine of the carrier
    bb_kernel_launch *four;       // four-step detection on vectors; NULL with a carrier
    bb_unwrap_step part, average, demodulate[2];
};

static bb_status check(const bb_unwrap_detection_config *config)
{
    bb_status status = BB_OK;
    BB_REQUIRE(config->frames == BB_UNWRAP_FRAMES || config->frames == 1, BB_INVALID,
               "phase detection from %td frames: use %d, or 1 with a carrier", config->frames,
               BB_UNWRAP_FRAMES);
    BB_REQUIRE(config->frames > 1 || (config->window_px > 0 && config->window_px % 2 == 1 &&
                                      config->window_px <= BB_UNWRAP_LONGEST_WINDOW),
               BB_INVALID, "window of %td pixels: use an odd number of at most %d",
               config->window_px, BB_UNWRAP_LONGEST_WINDOW);
done:
    return status;
}

// Creates a vector of values in words of a format.
static bb_status create_table(bb_unwrap_detection *detection, bb_format format, bb_index count,
                              const double *values, bb_unwrap_field *out)
{
    bb_status status = BB_OK;
    bb_device *device = bb_kernel_context_device(detection->context);
    float *floats = NULL;
    BB_TRY(bb_unwrap_field_create(detection->context, format, count, 1, out));
    BB_TRY(BB_ALLOCATE(count, &floats));
    for (bb_index i = 0; i < count; ++i) {
        floats[i] = (float)values[i];
    }
    BB_TRY(bb_device_upload(device, out->block,
                            format == BB_FORMAT_FP64 ? (const void *)values : floats, out->bytes));
    BB_TRY(bb_device_wait(device));
done:
    BB_RELEASE(&floats);
    return status;
}

static bb_status create_four(bb_unwrap_detection *detection,
                             const bb_unwrap_detection_config *config,
                             const bb_unwrap_field *wrapped)
{
    bb_status status = BB_OK;
    const bb_index points = detection->columns * detection->rows;
    BB_TRY(create_table(detection, config->arithmetic, BB_UNWRAP_FRAMES, config->cosines,
                        &detection->cosines));
    BB_TRY(create_table(detection, config->arithmetic, BB_UNWRAP_FRAMES, config->sines,
                        &detection->sines));
    const bb_kernel_use use = {.file = "fringe_four_step.kernel",
                               .types = {{"WORK", bb_unwrap_field_type(config->arithmetic)},
                                         {"I", bb_unwrap_field_type(wrapped->format)}},
                               .type_count = 2};
    const bb_program_data data[] = {{points, BB_UNWRAP_FRAMES, NULL},
                                    {BB_UNWRAP_FRAMES, 1, NULL},
                                    {BB_UNWRAP_FRAMES, 1, NULL},
                                    {points, 1, NULL}};
    void *const blocks[] = {detection->frames.block, detection->cosines.block,
                            detection->sines.block, wrapped->block};
    BB_TRY(bb_kernel_launch_create(detection->context, &use, data, NULL, blocks, &detection->four));
done:
    return status;
}

static bb_status create_tables(bb_unwrap_detection *detection,
                               const bb_unwrap_detection_config *config)
{
    bb_status status = BB_OK;
    const double cycles[] = {config->carrier_x, config->carrier_y};
    const bb_index counts[] = {detection->columns, detection->rows};
    double *values = NULL; // cosines, then sines
    for (int axis = 0; axis < 2; ++axis) {
        const bb_index count = counts[axis];
        BB_TRY(BB_ALLOCATE(2 * count, &values));
        for (bb_index i = 0; i < count; ++i) {
            values[i] = cos(2.0 * M_PI * cycles[axis] * (double)i);
            values[count + i] = sin(2.0 * M_PI * cycles[axis] * (double)i);
        }
        for (int part = 0; part < 2; ++part) {
            BB_TRY(create_table(detection, config->arithmetic, count, values + part * count,
                                &detection->tables[axis][part]));
        }
        BB_RELEASE(&values);
    }
    BB_TRY(create_table(detection, config->arithmetic, config->window_px, config->window,
                        &detection->window));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status create_inside(bb_unwrap_detection *detection, const unsigned char *mask,
                               bb_index *count)
{
    bb_status status = BB_OK;
    const bb_index points = detection->columns * detection->rows;
    int32_t *values = NULL;
    *count = 0;
    BB_TRY(BB_ALLOCATE(points, &values));
    for (bb_index p = 0; p < points; ++p) {
        values[p] = mask[p] != 0;
        *count += values[p];
    }
    BB_TRY(bb_unwrap_field_integers(detection->context, values, detection->columns, detection->rows,
                                    &detection->inside));
    BB_TRY(bb_device_wait(bb_kernel_context_device(detection->context)));
    detection->inside.indices = NULL; // no index
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status create_carrier(bb_unwrap_detection *d, const bb_unwrap_detection_config *config,
                                const unsigned char *mask, const bb_unwrap_field *wrapped)
{
    bb_status status = BB_OK;
    const bb_type_binding work = {"WORK", bb_unwrap_field_type(config->arithmetic)};
    const bb_scalar reach = {.integer = (int32_t)(config->window_px / 2)};
    bb_index points = 0;
    BB_TRY(create_inside(d, mask, &points));
    BB_TRY(create_tables(d, config));
    BB_TRY(bb_unwrap_field_create(d->context, BB_FORMAT_FP64, 1, 1, &d->mean));
    BB_TRY(bb_unwrap_field_create(d->context, config->arithmetic, d->columns, d->rows, &d->across));
    BB_TRY(bb_unwrap_field_create(d->context, config->arithmetic, d->columns, d->rows, &d->along));
    const bb_unwrap_recipe average = {
        .use = {.file = "fringe_mean.kernel"},
        .fields = {&d->frames, &d->inside, &d->mean},
        .parameters = {{.parts = {(double)(points > 0 ? points : 1)}}},
    };
    const bb_unwrap_recipe rows = {
        .use = {.file = "fringe_carrier_rows.kernel", .types = {work}, .type_count = 1},
        .fields = {&d->frames, &d->inside, &d->mean, &d->window, &d->tables[0][0], &d->tables[0][1],
                   &d->across, &d->along},
        .parameters = {reach},
    };
    const bb_unwrap_recipe columns = {
        .use = {.file = "fringe_carrier.kernel",
                .types = {work, {"I", bb_unwrap_field_type(wrapped->format)}},
                .type_count = 2},
        .fields = {&d->across, &d->along, &d->window, &d->tables[1][0], &d->tables[1][1], wrapped},
        .parameters = {reach},
    };
    BB_TRY(bb_unwrap_step_create(d->context, &average, &d->average));
    BB_TRY(bb_unwrap_step_create(d->context, &rows, &d->demodulate[0]));
    BB_TRY(bb_unwrap_step_create(d->context, &columns, &d->demodulate[1]));
done:
    return status;
}

static bb_status create_frames(bb_unwrap_detection *d, bb_index count)
{
    bb_status status = BB_OK;
    const bb_index words = (count * d->columns * d->rows + 1) / 2;
    const bb_unwrap_recipe part = {.use = {.file = "fringe_pixels.kernel"},
                                   .fields = {&d->pairs, &d->pixels},
                                   .as_vectors = true};
    BB_TRY(bb_unwrap_field_integers(d->context, NULL, words, 1, &d->pairs));
    BB_TRY(bb_unwrap_field_integers(d->context, NULL, words, 2, &d->pixels));
    BB_TRY(bb_unwrap_step_create(d->context, &part, &d->part));
    d->frames = d->pixels;
    d->frames.columns = d->columns;
    d->frames.rows = d->rows * count;
done:
    return status;
}

bb_status bb_unwrap_detection_create(bb_kernel_context *context,
                                     const bb_unwrap_detection_config *config,
                                     const unsigned char *mask, const bb_unwrap_field *wrapped,
                                     bb_unwrap_detection **out)
{
    bb_status status = BB_OK;
    bb_unwrap_detection *detection = NULL;
    BB_TRY(check(config));
    BB_TRY(BB_ZEROED(1, &detection));
    detection->context = context;
    detection->columns = wrapped->columns;
    detection->rows = wrapped->rows;
    BB_TRY(create_frames(detection, config->frames));
    if (config->frames == BB_UNWRAP_FRAMES) {
        BB_TRY(create_four(detection, config, wrapped));
    } else {
        BB_TRY(create_carrier(detection, config, mask, wrapped));
    }
    *out = detection;
    detection = NULL;
done:
    bb_unwrap_detection_destroy(&detection);
    return status;
}

void bb_unwrap_detection_destroy(bb_unwrap_detection **detection)
{
    bb_unwrap_detection *d = *detection;
    if (d == NULL) {
        return;
    }
    bb_unwrap_field *const fields[] = {
        &d->pairs,        &d->pixels,       &d->inside,      &d->cosines, &d->sines,
        &d->mean,         &d->window,       &d->across,      &d->along,   &d->tables[0][0],
        &d->tables[0][1], &d->tables[1][0], &d->tables[1][1]};
    bb_kernel_launch_destroy(&d->four);
    bb_unwrap_step_release(&d->part);
    bb_unwrap_step_release(&d->average);
    bb_unwrap_step_release(&d->demodulate[0]);
    bb_unwrap_step_release(&d->demodulate[1]);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        bb_unwrap_field_release(d->context, fields[i]);
    }
    BB_RELEASE(detection);
}

bb_status bb_unwrap_detection_load(bb_unwrap_detection *detection, const uint16_t *frames)
{
    const bb_unwrap_field *field = &detection->frames;
    const size_t bytes = (size_t)field->columns * (size_t)field->rows * sizeof *frames;
    return bb_device_upload(bb_kernel_context_device(detection->context), detection->pairs.block,
                            frames, bytes);
}

bb_status bb_unwrap_detection_queue(bb_unwrap_detection *detection)
{
    bb_status status = BB_OK;
    BB_TRY(bb_unwrap_step_run(&detection->part));
    if (detection->four != NULL) {
        BB_TRY(bb_kernel_launch_queue(detection->four));
    } else {
        BB_TRY(bb_unwrap_step_run(&detection->average));
        BB_TRY(bb_unwrap_step_run(&detection->demodulate[0]));
        BB_TRY(bb_unwrap_step_run(&detection->demodulate[1]));
    }
done:
    return status;
}
