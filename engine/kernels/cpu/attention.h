// The shape of paged attention, and how keys and values lie in a block of the cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bf16.h"

namespace warmline {

constexpr int BLOCK = 16;             // keys in a block
constexpr int PARTITION = 256;        // keys that are attended to in one piece
constexpr int TILE = 6;               // queries that share a pass over the keys
constexpr int PARTIAL_HEADER = 16;  // floats before the sums of a partial result: its maximum and its weight
constexpr int MAX_HEAD_DIM = 256;

// One layer's share of the cache is [block][kv_head][key part, value part], each part head_dim * BLOCK numbers:
//   keys   [head_dim / 2][BLOCK][2]: a register holds two dimensions of LANES keys;
//   values [BLOCK / 2][head_dim][2]: a register holds LANES dimensions of two values.
struct Shape {
    int heads;
    int kv_heads;
    int head_dim;

    int group() const { return heads / kv_heads; }
    int qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
    size_t part() const { return static_cast<size_t>(head_dim) * BLOCK; }
    size_t partial() const { return static_cast<size_t>(head_dim) + PARTIAL_HEADER; }
};

// Consecutive rows of one sequence; blocks lists the sequence's blocks in order.
struct Slice {
    int32_t first_row;
    int32_t rows;
    int32_t position;
    int32_t table_start;
};

static inline Bf16* key_part(Bf16* cache, const Shape& shape, int block, int kv_head) {
    return cache + (static_cast<size_t>(block) * shape.kv_heads + kv_head) * 2 * shape.part();
}

static inline int partitions(int keys) { return (keys + PARTITION - 1) / PARTITION; }

// Rotates one row's queries and its key, and stores key and value at its position. last: no row of this pass follows.
void rotate_and_store(const float* qkv, float scale, const float* cosines, const float* sines, const Shape& shape, int block,
                      int place, bool last, Bf16* queries, Bf16* cache);

// What count (1 to TILE) queries, [head_dim] each, make of the keys of one partition. Query i sees visible[i] of them.
// Writes for each a maximum, the sum of weights relative to it, and from PARTIAL_HEADER on the weighted sum of values.
void attend_partition(int count, const Bf16* const* queries, const int* visible, const Bf16* cache, const Shape& shape,
                      int kv_head, const int32_t* blocks, float* const* partials);

}  // namespace warmline
