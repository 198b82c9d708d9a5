// The middle of the feed-forward layer: SiLU(gate) * up, quantised.
#include <cstddef>

#include "quantize.h"

using namespace warmline;

// gate_up is [rows, 2 * width], gate first, to be multiplied by scale[row]; its gate half is overwritten.
// width is a multiple of 16.
extern "C" void warmline_silu_quantize(float* gate_up, const float* scale, int rows, int width, int levels, uint8_t* out,
                                       float* out_scale) {
#pragma omp parallel for schedule(static) if (rows >= 4)
    for (int row = 0; row < rows; ++row) {
        float* gate_row = gate_up + static_cast<size_t>(row) * 2 * width;
        const float* up_row = gate_row + width;
        const Floats factor = splat(scale[row]);
        for (int i = 0; i < width; i += LANES) {
            const Floats gate = load(gate_row + i) * factor;
            const Floats up = load(up_row + i) * factor;
            store(gate_row + i, gate / (splat(1.0f) + exp(splat(0.0f) - gate)) * up);
        }
        quantize_row(gate_row, width, levels, out + static_cast<size_t>(row) * width, out_scale + row);
    }
}
