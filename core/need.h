// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a piece of work, computed in advance: bb_<noun>_need next to bb_<noun>_create.
//
// Bytes are the peak while the work runs, of what core/memory.h hands out, with the result that
// stays; `_held` beside a `_need` is what stays alone, where that is much less. Seconds are of one
// core, or of one device for what runs there, at nominal rates: good for a plan alone.
// A function that takes `threads` gives bytes and seconds with so many.
#ifndef BB_CORE_NEED_H
#define BB_CORE_NEED_H

#ifdef __cplusplus
extern "C" {
#endif

/// Operations a second of one core in products of large matrices by a BLAS, fp64 and fp32.
#define BB_NEED_FP64_RATE 4.0e10
#define BB_NEED_FP32_RATE 8.0e10
/// The same of a GPU, fp32 and fp64: an H200.
#define BB_NEED_DEVICE_RATE 5.0e13

/// A plan is an estimate and memory may be swapped: so many times the machine's is hopeless.
enum { BB_NEED_HOPELESS = 16 };

typedef struct bb_need {
    double host_bytes, device_bytes, seconds;
} bb_need;

/// Both are held at the same time: bytes add, and so do seconds.
bb_need bb_need_together(bb_need first, bb_need second);

/// One after the other, nothing of the first is kept: the larger bytes, the sum of seconds.
bb_need bb_need_in_turn(bb_need first, bb_need second);

/// `count` of them held at the same time.
bb_need bb_need_copies(bb_need need, double count);

/// `count` times, one after the other: the bytes of one.
bb_need bb_need_repeated(bb_need need, double count);

/// What stays when the work is done: its bytes, no seconds.
bb_need bb_need_resident(bb_need need);

/// Work that `threads` cores share: the seconds that it then takes.
bb_need bb_need_shared(bb_need need, double threads);

#ifdef __cplusplus
}
#endif

#endif
