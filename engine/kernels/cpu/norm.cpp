// What stands before a matrix product: add the last product to the residual stream, normalise, quantise.
#include <cmath>
#include <cstddef>

#include "quantize.h"

using namespace warmline;

// For each of rows: x += y * y_scale (unless y is null); out = quantised x / rms(x) * weight.
// width is a multiple of 16.
extern "C" void warmline_add_norm_quantize(float* x, const float* y, const float* y_scale, const float* weight, float eps,
                                           int rows, int width, int levels, uint8_t* out, float* out_scale) {
#pragma omp parallel for schedule(static) if (rows >= 8)
    for (int row = 0; row < rows; ++row) {
        const size_t start = static_cast<size_t>(row) * width;
        float* x_row = x + start;
        Floats squares = splat(0.0f);
        if (y == nullptr) {
            for (int i = 0; i < width; i += LANES) squares = fma(load(x_row + i), load(x_row + i), squares);
        } else {
            const Floats scale = splat(y_scale[row]);
            for (int i = 0; i < width; i += LANES) {
                const Floats added = fma(load(y + start + i), scale, load(x_row + i));
                store(x_row + i, added);
                squares = fma(added, added, squares);
            }
        }
        const Floats inverse = splat(1.0f / std::sqrt(sum(squares) / static_cast<float>(width) + eps));
        Floats magnitude = splat(0.0f);
        for (int i = 0; i < width; i += LANES)
            magnitude = max(magnitude, abs(load(x_row + i) * inverse * load(weight + i)));
        const Quantizer quantizer(largest(magnitude), levels, out_scale + row);
        for (int i = 0; i < width; i += LANES)
            quantizer.store(out + start + i, load(x_row + i) * inverse * load(weight + i));
    }
}
