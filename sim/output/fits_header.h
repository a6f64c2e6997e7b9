// SPDX-License-Identifier: Apache-2.0
//
// Headers of an exported FITS file: origin, pipeline, direction, stars and axes of each part.
// Values are copied from the result file; keywords without a value are omitted. Errors: the
// writer's.
#ifndef BB_SIM_OUTPUT_FITS_HEADER_H
#define BB_SIM_OUTPUT_FITS_HEADER_H

#include "sim/output/fits_export.h"
#include "sim/output/fits_writer.h"

/// Length of an axis of the results, `otherwise` if they have no such axis.
bb_index bb_fits_header_count(const bb_fits_export *wanted, const char *path, bb_index otherwise);

/// Number of the results at `path`, NaN if absent; or text, "" if absent.
double bb_fits_header_number(const bb_fits_export *wanted, const char *path, bb_index item);
const char *bb_fits_header_text(const bb_fits_export *wanted, const char *path, bb_index item);

/// Writes the origin of a part: study, program, digest and telescope. The origin remains known if
/// the part is copied to another file.
BB_CHECKED bb_status bb_fits_header_origin(bb_fits_writer *writer, const bb_fits_export *wanted);

/// Writes the name and formats of a pipeline: all of its keys as text, the first ones as keywords.
BB_CHECKED bb_status bb_fits_header_pipeline(bb_fits_writer *writer, const bb_fits_export *wanted,
                                             bb_index pipeline);

BB_CHECKED bb_status bb_fits_header_target(bb_fits_writer *writer, const bb_fits_export *wanted,
                                           bb_index target);

/// True if a pipeline has one reconstructor for all targets: ltao, glao and mcao.
bool bb_fits_header_is_shared(const bb_fits_export *wanted);

/// Writes the correction, the number of targets that a shared reconstructor corrects, and the
/// direction for which it was computed (moao, ltao).
BB_CHECKED bb_status bb_fits_header_correction(bb_fits_writer *writer, const bb_fits_export *wanted,
                                               bb_index target);

/// Writes the guide stars by number from 0, up to the first hundred, because keywords have no room
/// for more digits.
BB_CHECKED bb_status bb_fits_header_stars(bb_fits_writer *writer, const bb_fits_export *wanted);

/// Writes the description of the axes of an ao reconstructor, checked against the file's table of
/// slopes; nothing for user-supplied matrices. Rows are slopes of a truth sensor, or commands.
BB_CHECKED bb_status bb_fits_header_slopes(bb_fits_writer *writer, const bb_fits_export *wanted,
                                           bb_index target, bool is_of_commands);

/// Writes the linear coordinate along axis 1 or 2: the pixel at 0, counted from 1, and the step.
BB_CHECKED bb_status bb_fits_header_coordinate(bb_fits_writer *writer, int axis, double origin,
                                               double step, const char *unit);

#endif
