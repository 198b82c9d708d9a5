// A tile of queries over one partition of keys: scores, softmax weights, weighted values.
//
// Each query's result comes from one order of operations, the same whatever other queries share the tile.
#include "attention.h"

namespace warmline {

namespace {

constexpr float MASKED = -1e30f;

// Sums that are kept in registers for each query of a tile, of 32 registers or of 16.
constexpr int SPLIT = BLOCK / LANES;  // registers that a pair of dimensions of a block fills
constexpr int SCORE_BLOCKS = LANES == 16 ? 2 : 1;
constexpr int VALUE_PARTS = LANES == 16 ? 4 : 2;

// Scores of COUNT queries against BLOCKS blocks of keys. Meanwhile the next keys and these blocks' values come into the
// processor's cache.
template <int COUNT, int BLOCKS>
void score_blocks(const Factor* const* queries, const Bf16* const* keys, int head_dim, int column, float (*scores)[PARTITION]) {
    const int values = head_dim * BLOCK;
    Floats total[COUNT][BLOCKS * SPLIT];
    for (int i = 0; i < COUNT; ++i)
        for (int p = 0; p < BLOCKS * SPLIT; ++p) total[i][p] = splat(0.0f);
    for (int d = 0; d < head_dim; d += 2) {
        Words pairs[BLOCKS * SPLIT];
        for (int p = 0; p < BLOCKS * SPLIT; ++p) pairs[p] = load_pairs(keys[p / SPLIT] + d * BLOCK + p % SPLIT * 2 * LANES);
        for (int b = 0; b < BLOCKS; ++b) {
            __builtin_prefetch(keys[b + BLOCKS] + d * BLOCK);
            __builtin_prefetch(keys[b] + values + d * BLOCK);
        }
        add_products(total, queries, d, pairs);
    }
    for (int i = 0; i < COUNT; ++i)
        for (int p = 0; p < BLOCKS * SPLIT; ++p) store(&scores[i][column + p * LANES], total[i][p]);
}

// Turns the scores of the visible keys into weights relative to the largest; the rest of the row becomes 0.
void soften(float* scores, int visible, int columns, Factor* weights, float* partial) {
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
        store_factors(weights + j, weight);
    }
    for (int j = end; j < columns; ++j) weights[j] = 0;
    partial[0] = maximum;
    partial[1] = sum(total);
}

// Weighted sums of PARTS * LANES dimensions of the values.
template <int COUNT, int PARTS>
void sum_values(const Factor* const* weights, const Bf16* const* values, int head_dim, int columns, int from,
                float* const* partials) {
    Floats total[COUNT][PARTS];
    for (int i = 0; i < COUNT; ++i)
        for (int p = 0; p < PARTS; ++p) total[i][p] = splat(0.0f);
    for (int j = 0; j < columns; j += 2) {
        const Bf16* from_pair = values[j / BLOCK] + ((j % BLOCK) * head_dim + from * 2);
        Words pairs[PARTS];
        for (int p = 0; p < PARTS; ++p) pairs[p] = load_pairs(from_pair + p * 2 * LANES);
        add_products(total, weights, j, pairs);
    }
    for (int i = 0; i < COUNT; ++i)
        for (int p = 0; p < PARTS; ++p) store(partials[i] + PARTIAL_HEADER + from + p * LANES, total[i][p]);
}

template <int COUNT>
void attend(const Bf16* const* queries, const int* visible, const Bf16* cache, const Shape& shape, int kv_head,
            const int32_t* blocks, float* const* partials) {
    int most = 0;
    for (int i = 0; i < COUNT; ++i) most = visible[i] > most ? visible[i] : most;
    const int used = (most + BLOCK - 1) / BLOCK;
    const Bf16* keys[PARTITION / BLOCK + SCORE_BLOCKS];
    const Bf16* values[PARTITION / BLOCK];
    for (int b = 0; b < used; ++b) {
        keys[b] = key_part(const_cast<Bf16*>(cache), shape, blocks[b], kv_head);
        values[b] = keys[b] + shape.part();
    }
    for (int b = 0; b < SCORE_BLOCKS; ++b) keys[used + b] = keys[0];
    alignas(64) Factor spread[COUNT][MAX_HEAD_DIM];
    alignas(64) float scores[COUNT][PARTITION];
    alignas(64) Factor weights[COUNT][PARTITION];
    const Factor *query_factors[COUNT], *weight_factors[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        for (int d = 0; d < shape.head_dim; ++d) spread[i][d] = to_factor(queries[i][d]);
        query_factors[i] = spread[i];
        weight_factors[i] = weights[i];
    }
    int block = 0;
    for (; block + SCORE_BLOCKS <= used; block += SCORE_BLOCKS)
        score_blocks<COUNT, SCORE_BLOCKS>(query_factors, keys + block, shape.head_dim, block * BLOCK, scores);
    for (; block < used; ++block) score_blocks<COUNT, 1>(query_factors, keys + block, shape.head_dim, block * BLOCK, scores);
    const int columns = (most + 1) / 2 * 2;
    for (int i = 0; i < COUNT; ++i) soften(scores[i], visible[i], columns, weights[i], partials[i]);
    int from = 0;
    for (; from + VALUE_PARTS * LANES <= shape.head_dim; from += VALUE_PARTS * LANES)
        sum_values<COUNT, VALUE_PARTS>(weight_factors, values, shape.head_dim, columns, from, partials);
    for (; from < shape.head_dim; from += LANES)
        sum_values<COUNT, 1>(weight_factors, values, shape.head_dim, columns, from, partials);
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
