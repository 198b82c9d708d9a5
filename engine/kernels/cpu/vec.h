// A register of float lanes: sixteen with AVX-512, eight otherwise. A type wider than the registers would be kept in
// memory by the compiler, each operation on it a load and a store of its parts.
//
// Written with the vector extensions of GCC and Clang. The build forbids contraction (a * b + c stays two operations
// unless fma() is called), so every lane computes what is written here, however a loop is unrolled around it.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace warmline {

#if defined(__AVX512F__)
constexpr int LANES = 16;
#else
constexpr int LANES = 8;
#endif

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));
typedef uint8_t Bytes __attribute__((vector_size(LANES)));

static inline Floats splat(float value) { return Floats{} + value; }

static inline Floats load(const float* from) {
    Floats lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline void store(float* to, Floats lanes) { std::memcpy(to, &lanes, sizeof lanes); }

static inline Floats fma(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
    return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

static inline Floats max(Floats a, Floats b) { return a > b ? a : b; }

static inline Floats min(Floats a, Floats b) { return a < b ? a : b; }

static inline Floats abs(Floats a) { return (Floats)((Words)a & 0x7fffffffu); }

// Adding and taking off 1.5 * 2^23 rounds to the nearest integer, ties to even, for |a| < 2^22.
static inline Ints round_to_int(Floats a) {
    const Floats magic = splat(12582912.0f);
    return (Ints)(a + magic) - (Ints)magic;
}

// One order of summation: halves onto halves.
static inline float sum(Floats lanes) {
    float part[LANES];
    store(part, lanes);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) part[i] += part[i + half];
    return part[0];
}

static inline float largest(Floats lanes) {
    float found = lanes[0];
    for (int i = 1; i < LANES; ++i) found = lanes[i] > found ? lanes[i] : found;
    return found;
}

// e^a to about 2e-7 for a between -87 and 88; beyond these it stays what it is there.
static inline Floats exp(Floats a) {
    const Floats scaled = min(max(a, splat(-87.0f)), splat(88.0f)) * splat(1.44269504f);
    const Ints whole = round_to_int(scaled);
    const Floats part = scaled - __builtin_convertvector(whole, Floats);
    Floats power = splat(0.00133335581f);
    power = fma(power, part, splat(0.00961812911f));
    power = fma(power, part, splat(0.0555041087f));
    power = fma(power, part, splat(0.240226507f));
    power = fma(power, part, splat(0.693147181f));
    power = fma(power, part, splat(1.0f));
    return power * (Floats)((whole + 127) << 23);
}

}  // namespace warmline
