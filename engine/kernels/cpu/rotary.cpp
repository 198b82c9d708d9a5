// Rotary embedding of queries and keys, and the write into the paged cache.
#include <cmath>

#include "attention.h"

namespace warmline {

namespace {

// Half-split order: dimension i turns with i + head_dim / 2.
void rotate_head(const float* head, float factor, const float* cosines, const float* sines, int half, float* out) {
    for (int i = 0; i < half; ++i) {
        const float first = head[i] * factor;
        const float second = head[i + half] * factor;
        out[i] = first * cosines[i] - second * sines[i];
        out[i + half] = second * cosines[i] + first * sines[i];
    }
}

}  // namespace

void rotate_and_store(const float* qkv, float scale, const float* cosines, const float* sines, const Shape& shape, int block,
                      int place, bool last, Bf16* queries, Bf16* cache) {
    const int dim = shape.head_dim;
    float rotated[MAX_HEAD_DIM];
    const float query_factor = scale / std::sqrt(static_cast<float>(dim));
    for (int head = 0; head < shape.heads; ++head, qkv += dim) {
        rotate_head(qkv, query_factor, cosines, sines, dim / 2, rotated);
        for (int i = 0; i < dim; i += LANES) store_bf16(queries + head * dim + i, load(rotated + i));
    }
    for (int head = 0; head < shape.kv_heads; ++head, qkv += dim) {
        rotate_head(qkv, scale, cosines, sines, dim / 2, rotated);
        Bf16* keys = key_part(cache, shape, block, head) + place * 2;
        for (int i = 0; i < dim; i += 2, keys += 2 * BLOCK) {
            keys[0] = to_bf16(rotated[i]);
            keys[1] = to_bf16(rotated[i + 1]);
        }
    }
    for (int head = 0; head < shape.kv_heads; ++head, qkv += dim) {
        Bf16* values = key_part(cache, shape, block, head) + shape.part() + (place / 2) * 2 * dim + place % 2;
        for (int i = 0; i < dim; ++i) values[2 * i] = to_bf16(qkv[i] * scale);
        // A value is read together with its neighbour at weight zero: that must not be a stale infinity.
        if (last && place % 2 == 0)
            for (int i = 0; i < dim; ++i) values[2 * i + 1] = 0;
    }
}

}  // namespace warmline
