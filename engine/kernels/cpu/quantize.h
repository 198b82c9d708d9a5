// A row of floats as unsigned bytes with one scale: byte = round(value / scale) + levels + 1.
//
// levels is 127, or 63 where the integer product of the machine would overflow its 16-bit sums.
#pragma once

#include "vec.h"

namespace warmline {

struct Quantizer {
    Floats inverse;
    Ints zero;

    // For a row whose largest magnitude is given; tells the row's scale. A row of zeros has scale 0.
    Quantizer(float magnitude, int levels, float* scale) {
        const bool empty = !(magnitude > 1e-30f);
        *scale = empty ? 0.0f : magnitude / static_cast<float>(levels);
        inverse = splat(empty ? 0.0f : static_cast<float>(levels) / magnitude);
        zero = Ints{} + (levels + 1);
    }

    void store(uint8_t* to, Floats values) const {
        const Bytes bytes = __builtin_convertvector(round_to_int(values * inverse) + zero, Bytes);
        std::memcpy(to, &bytes, sizeof bytes);
    }
};

static inline void quantize_row(const float* row, int width, int levels, uint8_t* out, float* scale) {
    Floats magnitude = splat(0.0f);
    for (int i = 0; i < width; i += LANES) magnitude = max(magnitude, abs(load(row + i)));
    const Quantizer quantizer(largest(magnitude), levels, scale);
    for (int i = 0; i < width; i += LANES) quantizer.store(out + i, load(row + i));
}

}  // namespace warmline
