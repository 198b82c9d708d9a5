// bfloat16 numbers, alone and in pairs of neighbours in a 32-bit lane, and products of these.
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

// The nearest bf16 numbers, ties to even, as floats.
static inline Floats as_bf16(Floats lanes) {
    const Words bits = (Words)lanes;
    return (Floats)((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

static inline void store_bf16(Bf16* to, Floats lanes) {
#if defined(__AVX512BF16__)
    const __m256bh halves = _mm512_cvtneps_pbh((__m512)lanes);
    std::memcpy(to, &halves, sizeof halves);
#else
    const Words rounded = (Words)as_bf16(lanes) >> 16;
    const Halves halves = __builtin_convertvector(rounded, Halves);
    std::memcpy(to, &halves, sizeof halves);
#endif
}

// A register of pairs from memory.
static inline Words load_pairs(const Bf16* from) {
    Words pairs;
    std::memcpy(&pairs, from, sizeof pairs);
    return pairs;
}

// What multiplies whole registers of pairs is kept as the machine likes it: where two products are added in one step,
// in pairs too; elsewhere as floats of the same values, which are brought into all lanes while they are loaded.
#if defined(__AVX512BF16__)
typedef Bf16 Factor;
static inline void store_factors(Factor* to, Floats lanes) { store_bf16(to, lanes); }
static inline Factor to_factor(Bf16 number) { return number; }
#else
typedef float Factor;
static inline void store_factors(Factor* to, Floats lanes) { store(to, as_bf16(lanes)); }
static inline Factor to_factor(Bf16 number) {
    const uint32_t bits = static_cast<uint32_t>(number) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
#endif

// total[i][p] += factors[i][at] * first of pairs[p] + factors[i][at + 1] * second of pairs[p], in each lane, in float32.
template <int COUNT, int PARTS>
static inline void add_products(Floats (&total)[COUNT][PARTS], const Factor* const* factors, int at, const Words (&pairs)[PARTS]) {
#if defined(__AVX512BF16__)
    for (int i = 0; i < COUNT; ++i) {
        uint32_t both;
        std::memcpy(&both, factors[i] + at, sizeof both);
        const Words pair = Words{} + both;
        for (int p = 0; p < PARTS; ++p)
            total[i][p] = (Floats)_mm512_dpbf16_ps((__m512)total[i][p], (__m512bh)pair, (__m512bh)pairs[p]);
    }
#else
    Floats numbers[PARTS];
    for (int p = 0; p < PARTS; ++p) numbers[p] = (Floats)(pairs[p] << 16);
    for (int i = 0; i < COUNT; ++i)
        for (int p = 0; p < PARTS; ++p) total[i][p] = fma(splat(factors[i][at]), numbers[p], total[i][p]);
    for (int p = 0; p < PARTS; ++p) numbers[p] = (Floats)(pairs[p] & 0xffff0000u);
    for (int i = 0; i < COUNT; ++i)
        for (int p = 0; p < PARTS; ++p) total[i][p] = fma(splat(factors[i][at + 1]), numbers[p], total[i][p]);
#endif
}

}  // namespace warmline
