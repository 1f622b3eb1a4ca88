// Operations on rows of the host engine, for org.ep4j.engine.rows.NativeRows: copies, sums of BF16 rows, casts to FP8
// E4M3. Needs GCC or Clang (C++11 with GNU extensions), whose headers and those of C are all that it includes.
//
// ep4j_rows_loops.h is included once for each variant, which is a set of instructions: "baseline" is what every
// processor of the architecture has (SSE2 on x86-64, NEON on AArch64), the others are chosen at run time. All variants
// give the same bits as org.ep4j.engine.numeric.PlainRowKernels, and every NaN among sums is 0x7fff, since which NaN comes
// out of two is the processor's choice. The code must be compiled with -ffp-contract=off, and numbers below the smallest
// normal one must not be flushed to zero (the state that a JVM keeps its threads in).
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define EP4J_ROWS_NAME baseline
#define EP4J_ROWS_BYTES 16
#if defined(__x86_64__)
#define EP4J_ROWS_STREAM(to, a, b) \
    do { _mm_stream_si128((__m128i *)(to), (__m128i)(a)); _mm_stream_si128((__m128i *)(to) + 1, (__m128i)(b)); } while (0)
// Stores that follow are not ordered behind non-temporal ones, of whatever kind they are: only this instruction does it.
#define EP4J_ROWS_STREAM_FENCE() _mm_sfence()
#elif defined(__aarch64__)
#define EP4J_ROWS_FMA(w, x, sum) (floats)vfmaq_f32((float32x4_t)(sum), (float32x4_t)(w), (float32x4_t)(x))
#define EP4J_ROWS_STREAM(to, a, b) __asm__ volatile("stnp %q0, %q1, [%2]" : : "w"(a), "w"(b), "r"(to) : "memory")
#define EP4J_ROWS_STREAM_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif
#include "ep4j_rows_loops.h"

// Clang has no such pragma, and older compilers lack instructions.
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 9
#define EP4J_ROWS_X86 1

// What does not fill a vector of the variants below is left to these loops, which have their fused multiply-add.
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define EP4J_ROWS_NAME fma128
#define EP4J_ROWS_BYTES 16
#define EP4J_ROWS_FMA(w, x, sum) (floats)_mm_fmadd_ps((__m128)(w), (__m128)(x), (__m128)(sum))
#include "ep4j_rows_loops.h"

#define EP4J_ROWS_NAME avx2
#define EP4J_ROWS_BYTES 32
#define EP4J_ROWS_REST fma128
#define EP4J_ROWS_FMA(w, x, sum) (floats)_mm256_fmadd_ps((__m256)(w), (__m256)(x), (__m256)(sum))
#define EP4J_ROWS_STREAM(to, a, b) \
    do { _mm256_stream_si256((__m256i *)(to), (__m256i)(a)); _mm256_stream_si256((__m256i *)(to) + 1, (__m256i)(b)); } while (0)
#include "ep4j_rows_loops.h"
#pragma GCC pop_options

#define EP4J_ROWS_FMA_512(w, x, sum) (floats)_mm512_fmadd_ps((__m512)(w), (__m512)(x), (__m512)(sum))
#define EP4J_ROWS_STREAM_512(to, a, b) \
    do { _mm512_stream_si512((__m512i *)(to), (__m512i)(a)); _mm512_stream_si512((__m512i *)(to) + 1, (__m512i)(b)); } while (0)

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#define EP4J_ROWS_NAME avx512
#define EP4J_ROWS_BYTES 64
#define EP4J_ROWS_REST fma128
#define EP4J_ROWS_FMA EP4J_ROWS_FMA_512
#define EP4J_ROWS_STREAM EP4J_ROWS_STREAM_512
#include "ep4j_rows_loops.h"
#pragma GCC pop_options

#if __GNUC__ >= 10
#define EP4J_ROWS_X86_BF16 1
// The conversion makes zeros of subnormal numbers, whatever the mode, and keeps bits of a NaN, so that a vector with some
// is converted by integers. It gives the odd channels in its upper half and the even ones in its lower half.
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#define EP4J_ROWS_NAME avx512_bf16
#define EP4J_ROWS_BYTES 64
#define EP4J_ROWS_REST fma128
#define EP4J_ROWS_FMA EP4J_ROWS_FMA_512
#define EP4J_ROWS_STREAM EP4J_ROWS_STREAM_512
// Classes: quiet NaN, subnormal, signalling NaN.
#define EP4J_ROWS_UNPACKABLE(even, odd) \
    (_mm512_fpclass_ps_mask((__m512)(even), 0xa1) | _mm512_fpclass_ps_mask((__m512)(odd), 0xa1))
#define EP4J_ROWS_PACK(even, odd) \
    (ints)_mm512_permutexvar_epi16( \
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, \
                         23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0), \
        (__m512i)_mm512_cvtne2ps_pbh((__m512)(odd), (__m512)(even)))
#include "ep4j_rows_loops.h"
#pragma GCC pop_options
#else
namespace avx512_bf16 = avx512;
#endif
#endif

// Numbers of variants, as in org.ep4j.engine.rows.RowVariant.
enum { EP4J_ROWS_BASELINE, EP4J_ROWS_AVX2, EP4J_ROWS_AVX512, EP4J_ROWS_AVX512_BF16, EP4J_ROWS_VARIANTS };

// Whether the processor and the operating system can run a variant.
static inline int ep4j_rows_runs(int variant) {
    switch (variant) {
        case EP4J_ROWS_BASELINE:
            return 1;
#ifdef EP4J_ROWS_X86
        case EP4J_ROWS_AVX2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        case EP4J_ROWS_AVX512:
            return ep4j_rows_runs(EP4J_ROWS_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
#ifdef EP4J_ROWS_X86_BF16
        case EP4J_ROWS_AVX512_BF16: {
            // Not every compiler that has the instruction knows its name here.
            unsigned a = 0, b, c, d;
            return ep4j_rows_runs(EP4J_ROWS_AVX512) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
        }
#endif
        default:
            return 0;
    }
}

// Whether a variant multiplies and adds in one instruction; without it, sums with weights call the C library for each channel.
static inline int ep4j_rows_fused(int variant) { return variant != EP4J_ROWS_BASELINE || baseline::FUSED; }

// Runs a function of the loops in the namespace of a variant that runs here.
#ifdef EP4J_ROWS_X86
#define EP4J_ROWS_CALL(variant, call) \
    ((variant) == EP4J_ROWS_AVX512_BF16 ? avx512_bf16::call \
        : (variant) == EP4J_ROWS_AVX512 ? avx512::call \
        : (variant) == EP4J_ROWS_AVX2   ? avx2::call \
                                        : baseline::call)
#else
#define EP4J_ROWS_CALL(variant, call) ((void)(variant), baseline::call)
#endif

// Orders non-temporal stores before what this thread stores afterwards, so that a thread that sees the one sees the other.
static inline void ep4j_rows_fence(int stream) {
#ifdef EP4J_ROWS_STREAM_FENCE
    if (stream) {
        EP4J_ROWS_STREAM_FENCE();
    }
#else
    (void)stream;
#endif
}

// Copies ranges that do not overlap, with non-temporal stores if stream is not 0. The list has three words for each: target,
// source, bytes.
static inline void ep4j_rows_copy(int variant, const void *list, int count, int stream) {
    const int64_t *words = (const int64_t *)list;
    for (int i = 0; i < count; i++, words += 3) {
        if (stream) {
            EP4J_ROWS_CALL(variant, copy_streamed((char *)words[0], (const char *)words[1], (size_t)words[2]));
        } else {
            memcpy((void *)words[0], (const void *)words[1], (size_t)words[2]);
        }
    }
    ep4j_rows_fence(stream);
}

// Sums BF16 rows, whose bytes are a multiple of 16, in FP32 from +0 in the given order, and rounds each sum to BF16 once.
// The target may be one of the sources. The list has for each sum: target, number n of rows, 1 for weights or 0, n
// sources, and with weights another n words with a float in the low half.
static inline void ep4j_rows_sum(int variant, const void *list, int count, long long bytes, int stream) {
    const int64_t *words = (const int64_t *)list;
    for (int i = 0; i < count; i++) {
        int64_t rows = words[1];
        const int64_t *sources = words + 3;
        const int64_t *weights = words[2] ? sources + rows : 0;
        EP4J_ROWS_CALL(variant, sum((char *)words[0], sources, weights, rows, (size_t)bytes, stream));
        words = sources + (weights ? 2 * rows : rows);
    }
    ep4j_rows_fence(stream);
}

// Casts a BF16 row to E4M3 codes, with a scale for each 128 channels by which codes are to be multiplied: the largest
// magnitude / 448, with power rounded up to a power of two. The number of channels is a multiple of 8.
static inline void ep4j_rows_cast(int variant, const void *row, void *codes, void *scales, int channels, int power) {
    const char *from = (const char *)row;
    for (int at = 0, block = 0; at < channels; at += 128, block++) {
        int end = at + 128 < channels ? at + 128 : channels;
        uint32_t bits = EP4J_ROWS_CALL(variant, largest(from + 2 * at, 2 * (size_t)(end - at)));
        float most;
        memcpy(&most, &bits, 4);
        most = most > 1e-4f ? most : 1e-4f;
        float scale = most / 448.0f;
        float factor = 448.0f / most;
        if (power) {
            memcpy(&bits, &scale, 4);
            int exponent = (int)(bits >> 23) + ((bits & 0x7fffff) != 0);
            bits = (uint32_t)exponent << 23;
            memcpy(&scale, &bits, 4);
            factor = ldexpf(1.0f, 127 - exponent);
        }
        memcpy((char *)scales + 4 * block, &scale, 4);
        EP4J_ROWS_CALL(variant, encode(from + 2 * at, (char *)codes + at, 2 * (size_t)(end - at), factor));
    }
}
