// SPDX-License-Identifier: Apache-2.0
//
// Headers of an exported FITS file: origin, pipeline, direction, stars and axes of each part.
// Values are copied from the result file; keywords without a value are omitted. Errors: the
// writer's.
#ifndef BB_SIM_REPORT_FITS_HEADER_H
#define BB_SIM_REPORT_FITS_HEADER_H

#include "sim/report/fits_export.h"
#include "sim/report/fits_writer.h"

/// Items of an axis of the results, `otherwise` where they have none of it.
bb_index bb_fits_header_count(const bb_fits_export *wanted, const char *path, bb_index otherwise);

/// A number of the results, NaN where they have none; a text, "" where they have none.
double bb_fits_header_number(const bb_fits_export *wanted, const char *path, bb_index item);
const char *bb_fits_header_text(const bb_fits_export *wanted, const char *path, bb_index item);

/// Study, program, digest, telescope: what a part says by itself, also copied out of its file.
BB_CHECKED bb_status bb_fits_header_origin(bb_fits_writer *writer, const bb_fits_export *wanted);

/// A pipeline by its name and its formats: all of its keys in words, the first ones as keywords.
BB_CHECKED bb_status bb_fits_header_pipeline(bb_fits_writer *writer, const bb_fits_export *wanted,
                                             bb_index pipeline);

BB_CHECKED bb_status bb_fits_header_target(bb_fits_writer *writer, const bb_fits_export *wanted,
                                           bb_index target);

/// Whether a pipeline has one reconstructor for all targets: ltao, glao and mcao.
bool bb_fits_header_is_shared(const bb_fits_export *wanted);

/// The correction, the number of targets that a shared reconstructor corrects, and the direction
/// that it was computed for (moao, ltao).
BB_CHECKED bb_status bb_fits_header_correction(bb_fits_writer *writer, const bb_fits_export *wanted,
                                               bb_index target);

/// Guide stars by number from 0, the first hundred: a keyword has no room for more.
BB_CHECKED bb_status bb_fits_header_stars(bb_fits_writer *writer, const bb_fits_export *wanted);

/// What the axes of a reconstructor of ao are, once the file's own table of slopes bears it out; of
/// matrices of the user's nothing. Rows are slopes of a truth sensor, or commands.
BB_CHECKED bb_status bb_fits_header_slopes(bb_fits_writer *writer, const bb_fits_export *wanted,
                                           bb_index target, bool is_of_commands);

/// A linear coordinate along axis 1 or 2: the pixel that lies at 0, from 1, and the step.
BB_CHECKED bb_status bb_fits_header_coordinate(bb_fits_writer *writer, int axis, double origin,
                                               double step, const char *unit);

#endif
