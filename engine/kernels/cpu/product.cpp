// Integer products for processors without VNNI, where oneDNN packs the weights anew in every call.
//
// The weight lies in blocks of 16 outputs, and in these by groups of four inputs: what one multiplication of a block
// with four inputs of a row needs is 64 bytes in a row. Sums are 32-bit integers, so neither their order nor the rows
// beside a row can be seen in what comes out.
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int OUTPUTS = 16;
constexpr int GROUP = 4;
constexpr int TILE = 4;  // rows at a time: their sums and the weights fill the registers

#if defined(__AVX2__)
inline __m256i multiply_add(__m256i sum, __m256i bytes, __m256i weights) {
    // Pairs are added in 16 bits: 2 * 127 * 127 fits, 8-bit activations would not.
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, weights), _mm256_set1_epi16(1)));
}
#endif

// The sums of ROWS rows with a block, [ROWS, OUTPUTS].
template <int ROWS>
inline void sum_tile(const uint8_t* rows, int width, const int8_t* block, int32_t* sums) {
#if defined(__AVX2__)
    __m256i low[ROWS], high[ROWS];
    for (int row = 0; row < ROWS; ++row) low[row] = high[row] = _mm256_setzero_si256();
    for (int i = 0; i < width; i += GROUP) {
        const auto* weights = reinterpret_cast<const __m256i*>(block + static_cast<size_t>(i) * OUTPUTS);
        const __m256i first = _mm256_loadu_si256(weights), second = _mm256_loadu_si256(weights + 1);
        for (int row = 0; row < ROWS; ++row) {
            int32_t four;
            std::memcpy(&four, rows + static_cast<size_t>(row) * width + i, sizeof four);
            const __m256i bytes = _mm256_set1_epi32(four);
            low[row] = multiply_add(low[row], bytes, first);
            high[row] = multiply_add(high[row], bytes, second);
        }
    }
    for (int row = 0; row < ROWS; ++row) {
        auto* to = reinterpret_cast<__m256i*>(sums + row * OUTPUTS);
        _mm256_storeu_si256(to, low[row]);
        _mm256_storeu_si256(to + 1, high[row]);
    }
#else
    std::memset(sums, 0, sizeof(int32_t) * ROWS * OUTPUTS);
    for (int i = 0; i < width; i += GROUP)
        for (int row = 0; row < ROWS; ++row)
            for (int output = 0; output < OUTPUTS; ++output)
                for (int part = 0; part < GROUP; ++part)
                    sums[row * OUTPUTS + output] += rows[static_cast<size_t>(row) * width + i + part] *
                                                    block[static_cast<size_t>(i) * OUTPUTS + output * GROUP + part];
#endif
}

}  // namespace

// Whether this product is the one to take for 7-bit activations: with AVX-512 oneDNN's is faster.
extern "C" int warmline_has_product() {
#if defined(__AVX2__) && !defined(__AVX512F__)
    return 1;
#else
    return 0;
#endif
}

// weight is [outputs, width], packed has room for outputs rounded up to a multiple of 16; width is a multiple of 4.
// totals [outputs] are the sums of each row of the weight.
extern "C" void warmline_pack_product(const int8_t* weight, int outputs, int width, int8_t* packed, int32_t* totals) {
    const int blocks = (outputs + OUTPUTS - 1) / OUTPUTS;
#pragma omp parallel for schedule(static)
    for (int block = 0; block < blocks; ++block) {
        int8_t* to = packed + static_cast<size_t>(block) * OUTPUTS * width;
        std::memset(to, 0, static_cast<size_t>(OUTPUTS) * width);
        for (int output = 0; output < OUTPUTS && block * OUTPUTS + output < outputs; ++output) {
            const int8_t* from = weight + static_cast<size_t>(block * OUTPUTS + output) * width;
            int32_t total = 0;
            for (int i = 0; i < width; ++i) {
                to[static_cast<size_t>(i / GROUP) * GROUP * OUTPUTS + output * GROUP + i % GROUP] = from[i];
                total += from[i];
            }
            totals[block * OUTPUTS + output] = total;
        }
    }
}

// out [count, outputs] = (rows [count, width] - zero) times the packed weight, and each output times its scale.
extern "C" void warmline_product(const uint8_t* rows, int count, int width, int zero, const int8_t* packed,
                                 const int32_t* totals, const float* scale, int outputs, float* out) {
    const int blocks = (outputs + OUTPUTS - 1) / OUTPUTS;
#pragma omp parallel for schedule(static)
    for (int block = 0; block < blocks; ++block) {
        const int8_t* weights = packed + static_cast<size_t>(block) * OUTPUTS * width;
        const int first = block * OUTPUTS, last = first + OUTPUTS < outputs ? first + OUTPUTS : outputs;
        int32_t sums[TILE * OUTPUTS];
        for (int row = 0; row < count; row += TILE) {
            const uint8_t* from = rows + static_cast<size_t>(row) * width;
            const int tile = count - row < TILE ? count - row : TILE;
            if (tile == 4) sum_tile<4>(from, width, weights, sums);
            else if (tile == 3) sum_tile<3>(from, width, weights, sums);
            else if (tile == 2) sum_tile<2>(from, width, weights, sums);
            else sum_tile<1>(from, width, weights, sums);
            for (int in_tile = 0; in_tile < tile; ++in_tile) {
                float* to = out + static_cast<size_t>(row + in_tile) * outputs;
                for (int output = first; output < last; ++output)
                    to[output] = static_cast<float>(sums[in_tile * OUTPUTS + output - first] - zero * totals[output]) *
                                 scale[output];
            }
        }
    }
}
