// Which of the two ways through vec.h and bf16.h this library was compiled to take.

extern "C" const char* warmline_instructions() {
#if defined(__AVX512BF16__)
    return "AVX-512, BF16";
#elif defined(__AVX512F__)
    return "AVX-512";
#elif defined(__AVX2__)
    return "AVX2";
#else
    return "portable";
#endif
}
