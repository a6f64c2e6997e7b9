// SPDX-License-Identifier: Apache-2.0
//
// A phase or frames of the user's in the place of a synthetic scene.
#ifndef BB_SIM_FRINGE_FRINGE_INPUT_H
#define BB_SIM_FRINGE_FRINGE_INPUT_H

#include "core/need.h"
#include "physics/fringe/interferogram.h"
#include "sim/fringe/fringe_study.h"

/// What `input:` gives. Zero-initialised it is none.
typedef struct bb_fringe_input {
    bb_index columns, rows; ///< 0: no input
    bb_index steps;         ///< frames; 0: a wrapped phase
    bool has_truth;
    bb_scene *scene;   ///< phase: the truth, NaN without; mask: where it is 1 and data are finite
    double *wrapped;   ///< [rows][columns], rad; NULL of frames
    bb_frames *frames; ///< over full scale; NULL of a wrapped phase
    double full_scale; ///< of the frames' numbers
} bb_fringe_input;

/// Looks at what the file of a study holds, without its values: sizes, steps, and what of the study
/// does not fit them. A study without `input.file` gives none. Errors: those of
/// bb_map_file_inspect; BB_INVALID (a mask or truth of another size, a number of steps_rad or of
/// Carre's frames, bits of a pipeline where there are no frames).
BB_CHECKED bb_status bb_fringe_input_inspect(const bb_fringe_study *study, bb_fringe_input *out);

/// The same with the values. Errors: also BB_INVALID (no point has data and lies in the mask, a
/// truth without a value there), BB_MEMORY. Release whatever the status.
BB_CHECKED bb_status bb_fringe_input_open(const bb_fringe_study *study, bb_fringe_input *out);
void bb_fringe_input_release(bb_fringe_input *input);

/// The study with the input's sizes in the place of those of its own.
bb_fringe_study bb_fringe_input_study(const bb_fringe_study *study, const bb_fringe_input *input);

/// What an input takes while it is read; seconds are those of a disk of 200 MB/s.
bb_need bb_fringe_input_need(const bb_fringe_input *input);

#endif
