// A tile of queries over one partition of keys: scores, softmax weights, weighted values.
//
// Each query's result comes from one order of operations, the same whatever other queries share the tile.
#include "attention.h"

namespace warmline {

namespace {

constexpr float MASKED = -1e30f;

// Scores of COUNT queries against BLOCKS blocks of keys. Meanwhile the next keys and these blocks' values come into the
// processor's cache.
template <int COUNT, int BLOCKS>
void score_blocks(const Bf16* const* queries, const Bf16* const* keys, int head_dim, int column, float (*scores)[PARTITION]) {
    const int values = head_dim * BLOCK;
    Floats total[COUNT][BLOCKS];
    for (int i = 0; i < COUNT; ++i)
        for (int b = 0; b < BLOCKS; ++b) total[i][b] = splat(0.0f);
    for (int d = 0; d < head_dim; d += 2) {
        Words key[BLOCKS];
        for (int b = 0; b < BLOCKS; ++b) {
            key[b] = load_pairs(keys[b] + d * BLOCK);
            __builtin_prefetch(keys[b + BLOCKS] + d * BLOCK);
            __builtin_prefetch(keys[b] + values + d * BLOCK);
        }
        for (int i = 0; i < COUNT; ++i) {
            const Words query = splat_pair(queries[i] + d);
            for (int b = 0; b < BLOCKS; ++b) total[i][b] = dot_pairs(total[i][b], query, key[b]);
        }
    }
    for (int i = 0; i < COUNT; ++i)
        for (int b = 0; b < BLOCKS; ++b) store(&scores[i][column + b * BLOCK], total[i][b]);
}

// Turns the scores of the visible keys into weights relative to the largest, in bf16; the rest of the row becomes 0.
void soften(float* scores, int visible, int columns, Bf16* weights, float* partial) {
    const int end = (visible + LANES - 1) / LANES * LANES;
    for (int j = visible; j < end; ++j) scores[j] = MASKED;
    Floats top = splat(MASKED);
    for (int j = 0; j < end; j += LANES) top = max(top, load(scores + j));
    const float maximum = largest(top);
    Floats total = splat(0.0f);
    for (int j = 0; j < end; j += LANES) {
        const Floats score = load(scores + j);
        const Floats weight = score > splat(MASKED) ? exp(score - splat(maximum)) : splat(0.0f);
        total += weight;
        store_bf16(weights + j, weight);
    }
    for (int j = end; j < columns; ++j) weights[j] = 0;
    partial[0] = maximum;
    partial[1] = sum(total);
}

// Weighted sums of CHUNKS * 16 dimensions of the values.
template <int COUNT, int CHUNKS>
void sum_values(const Bf16 (*weights)[PARTITION], const Bf16* const* values, int head_dim, int columns, int from,
                float* const* partials) {
    Floats total[COUNT][CHUNKS];
    for (int i = 0; i < COUNT; ++i)
        for (int c = 0; c < CHUNKS; ++c) total[i][c] = splat(0.0f);
    for (int j = 0; j < columns; j += 2) {
        const Bf16* pair = values[j / BLOCK] + ((j % BLOCK) * head_dim + from * 2);
        Words value[CHUNKS];
        for (int c = 0; c < CHUNKS; ++c) value[c] = load_pairs(pair + c * 2 * LANES);
        for (int i = 0; i < COUNT; ++i) {
            const Words weight = splat_pair(&weights[i][j]);
            for (int c = 0; c < CHUNKS; ++c) total[i][c] = dot_pairs(total[i][c], weight, value[c]);
        }
    }
    for (int i = 0; i < COUNT; ++i)
        for (int c = 0; c < CHUNKS; ++c) store(partials[i] + PARTIAL_HEADER + from + c * LANES, total[i][c]);
}

template <int COUNT>
void attend(const Bf16* const* queries, const int* visible, const Bf16* cache, const Shape& shape, int kv_head,
            const int32_t* blocks, float* const* partials) {
    int most = 0;
    for (int i = 0; i < COUNT; ++i) most = visible[i] > most ? visible[i] : most;
    const int used = (most + BLOCK - 1) / BLOCK;
    const Bf16* keys[PARTITION / BLOCK + 2];
    const Bf16* values[PARTITION / BLOCK];
    for (int b = 0; b < used; ++b) {
        keys[b] = key_part(const_cast<Bf16*>(cache), shape, blocks[b], kv_head);
        values[b] = keys[b] + shape.part();
    }
    keys[used] = keys[used + 1] = keys[0];
    alignas(64) float scores[COUNT][PARTITION];
    alignas(64) Bf16 weights[COUNT][PARTITION];
    int block = 0;
    for (; block + 2 <= used; block += 2)
        score_blocks<COUNT, 2>(queries, keys + block, shape.head_dim, block * BLOCK, scores);
    if (block < used) score_blocks<COUNT, 1>(queries, keys + block, shape.head_dim, block * BLOCK, scores);
    const int columns = (most + 1) / 2 * 2;
    for (int i = 0; i < COUNT; ++i) soften(scores[i], visible[i], columns, weights[i], partials[i]);
    int from = 0;
    for (; from + 4 * LANES <= shape.head_dim; from += 4 * LANES)
        sum_values<COUNT, 4>(weights, values, shape.head_dim, columns, from, partials);
    for (; from < shape.head_dim; from += LANES)
        sum_values<COUNT, 1>(weights, values, shape.head_dim, columns, from, partials);
}

}  // namespace

void attend_partition(int count, const Bf16* const* queries, const int* visible, const Bf16* cache, const Shape& shape,
                      int kv_head, const int32_t* blocks, float* const* partials) {
    switch (count) {
        case 1: return attend<1>(queries, visible, cache, shape, kv_head, blocks, partials);
        case 2: return attend<2>(queries, visible, cache, shape, kv_head, blocks, partials);
        case 3: return attend<3>(queries, visible, cache, shape, kv_head, blocks, partials);
        case 4: return attend<4>(queries, visible, cache, shape, kv_head, blocks, partials);
        case 5: return attend<5>(queries, visible, cache, shape, kv_head, blocks, partials);
        default: return attend<TILE>(queries, visible, cache, shape, kv_head, blocks, partials);
    }
}

}  // namespace warmline
