// bfloat16 numbers, alone and in pairs: two neighbours in a 32-bit lane are multiplied and added in one step.
#pragma once

#include "vec.h"

namespace warmline {

typedef uint16_t Bf16;

// Rounds to nearest, ties to even.
static inline Bf16 to_bf16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<Bf16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline void store_bf16(Bf16* to, Floats lanes) {
#if defined(__AVX512BF16__)
    const __m256bh halves = _mm512_cvtneps_pbh((__m512)lanes);
    std::memcpy(to, &halves, sizeof halves);
#else
    const Words bits = (Words)lanes;
    const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    typedef uint16_t Halves __attribute__((vector_size(32)));
    const Halves halves = __builtin_convertvector(rounded, Halves);
    std::memcpy(to, &halves, sizeof halves);
#endif
}

// Sixteen pairs from memory.
static inline Words load_pairs(const Bf16* from) {
    Words pairs;
    std::memcpy(&pairs, from, sizeof pairs);
    return pairs;
}

// One pair in all lanes.
static inline Words splat_pair(const Bf16* from) {
    uint32_t pair;
    std::memcpy(&pair, from, sizeof pair);
    return Words{} + pair;
}

// total + a.first * b.first + a.second * b.second in each lane, in float32.
static inline Floats dot_pairs(Floats total, Words a, Words b) {
#if defined(__AVX512BF16__)
    return (Floats)_mm512_dpbf16_ps((__m512)total, (__m512bh)a, (__m512bh)b);
#else
    total = fma((Floats)(a << 16), (Floats)(b << 16), total);
    return fma((Floats)(a & 0xffff0000u), (Floats)(b & 0xffff0000u), total);
#endif
}

}  // namespace warmline
