// The loops of one variant; included by ep4j_rows.h with
//
//   EP4J_ROWS_NAME                  namespace
//   EP4J_ROWS_BYTES                 of a vector
//   EP4J_ROWS_REST                  namespace of the loops on 16 bytes for what does not fill a vector; not with vectors of 16 bytes
//   EP4J_ROWS_FMA(w, x, sum)        where the variant has the instruction
//   EP4J_ROWS_STREAM(to, a, b)      two non-temporal stores, where it has them; needs EP4J_ROWS_STREAM_FENCE()
//   EP4J_ROWS_PACK(even, odd)       two conversions to BF16 in one vector, where it has the instruction
//   EP4J_ROWS_UNPACKABLE(even, odd) whether that would not give the bits of the other variants
//
// A vector holds pairs of channels as 32-bit integers, the even channel in the low half. Even and odd channels are
// widened to binary32 by a shift and a mask, and summed apart, so nothing crosses lanes.

#if defined(EP4J_ROWS_STREAM) && !defined(EP4J_ROWS_STREAM_FENCE)
#error "non-temporal stores need EP4J_ROWS_STREAM_FENCE, or others see them after what is stored later"
#endif

#ifndef EP4J_ROWS_REST
#define EP4J_ROWS_REST EP4J_ROWS_NAME
#endif

namespace EP4J_ROWS_NAME {

typedef int32_t ints __attribute__((vector_size(EP4J_ROWS_BYTES)));
typedef uint32_t words __attribute__((vector_size(EP4J_ROWS_BYTES)));
typedef float floats __attribute__((vector_size(EP4J_ROWS_BYTES)));
typedef int16_t halves __attribute__((vector_size(EP4J_ROWS_BYTES / 2)));
typedef int32_t loose_ints __attribute__((vector_size(EP4J_ROWS_BYTES), aligned(1), may_alias));
typedef int16_t loose_halves __attribute__((vector_size(EP4J_ROWS_BYTES / 2), aligned(1), may_alias));

enum { BYTES = EP4J_ROWS_BYTES, LANES = EP4J_ROWS_BYTES / 4, STEP = 4 };

#ifdef EP4J_ROWS_FMA
enum { FUSED = 1 };
#else
enum { FUSED = 0 };
#endif

#define EP4J_ROWS_INLINE static inline __attribute__((always_inline))

EP4J_ROWS_INLINE ints load(const char *from) { return *(const loose_ints *)from; }

EP4J_ROWS_INLINE void store(char *to, ints value) { *(loose_ints *)to = value; }

EP4J_ROWS_INLINE void store_two(char *to, ints a, ints b, const bool stream) {
#ifdef EP4J_ROWS_STREAM
    if (stream) {
        EP4J_ROWS_STREAM(to, a, b);
        return;
    }
#else
    (void)stream;
#endif
    store(to, a);
    store(to + BYTES, b);
}

EP4J_ROWS_INLINE ints all(int32_t value) { return value - (ints){}; }

EP4J_ROWS_INLINE floats all(float value) { return value - (floats){}; }

EP4J_ROWS_INLINE floats fma(floats weight, floats value, floats sum) {
#ifdef EP4J_ROWS_FMA
    return EP4J_ROWS_FMA(weight, value, sum);
#else
    for (int i = 0; i < LANES; i++) {
        sum[i] = fmaf(weight[i], value[i], sum[i]);
    }
    return sum;
#endif
}

// Rounds to the nearest BF16, ties to even, in the upper halves; each NaN becomes the same one.
EP4J_ROWS_INLINE ints round(floats values) {
    ints bits = (ints)values;
    // Of unsigned integers, which may overflow: for a NaN, whose sum is not used, they do.
    ints rounded = (ints)((words)bits + (words)((bits & 0x10000) != 0 ? all(0x8000) : all(0x7fff)));
    return values != values ? all(0x7fff0000) : rounded;
}

EP4J_ROWS_INLINE ints pack(floats even, floats odd) {
#ifdef EP4J_ROWS_PACK
    if (__builtin_expect(!EP4J_ROWS_UNPACKABLE(even, odd), 1)) {
        return EP4J_ROWS_PACK(even, odd);
    }
#endif
    return (ints)((words)round(even) >> 16) | (round(odd) & (int32_t)0xffff0000);
}

// Bytes of a range before the first boundary of a vector. All of the range where the boundary is no multiple of 16 away, or
// fewer than two vectors would follow.
EP4J_ROWS_INLINE size_t head(const char *to, size_t bytes) {
    size_t before = -(uintptr_t)to & (BYTES - 1);
    return before % 16 != 0 || before + 2 * BYTES > bytes ? bytes : before;
}

static inline void copy_streamed(char *to, const char *from, size_t bytes) {
    size_t at = head(to, bytes);
    memcpy(to, from, at);
    for (; at + 4 * BYTES <= bytes; at += 4 * BYTES) {
        ints a = load(from + at), b = load(from + at + BYTES);
        ints c = load(from + at + 2 * BYTES), d = load(from + at + 3 * BYTES);
        store_two(to + at, a, b, true);
        store_two(to + at + 2 * BYTES, c, d, true);
    }
    memcpy(to + at, from + at, bytes - at);
}

// Sums a number of neighbouring vectors of the rows, from `at` on, in registers.
EP4J_ROWS_INLINE void sum_vectors(
        char *to, const int64_t *sources, const int64_t *weights, int64_t rows, size_t at, const int vectors,
        const bool weighted, const bool stream) {
    floats even[STEP], odd[STEP];
    for (int v = 0; v < vectors; v++) {
        even[v] = odd[v] = (floats){};
    }
    for (int64_t r = 0; r < rows; r++) {
        const char *row = (const char *)sources[r] + at;
        float weight = 0;
        if (weighted) {
            uint32_t bits = (uint32_t)weights[r];
            memcpy(&weight, &bits, 4);
        }
        for (int v = 0; v < vectors; v++) {
            ints pairs = load(row + v * BYTES);
            floats low = (floats)(pairs << 16), high = (floats)(pairs & (int32_t)0xffff0000);
            even[v] = weighted ? fma(all(weight), low, even[v]) : even[v] + low;
            odd[v] = weighted ? fma(all(weight), high, odd[v]) : odd[v] + high;
        }
    }
    if (vectors == 1) {
        store(to + at, pack(even[0], odd[0]));
        return;
    }
    for (int v = 0; v < vectors; v += 2) {
        store_two(to + at + v * BYTES, pack(even[v], odd[v]), pack(even[v + 1], odd[v + 1]), stream);
    }
}

EP4J_ROWS_INLINE void sum_range(
        char *to, const int64_t *sources, const int64_t *weights, int64_t rows, size_t at, size_t end,
        const bool weighted, const bool stream) {
    for (; at + STEP * BYTES <= end; at += STEP * BYTES) {
        sum_vectors(to, sources, weights, rows, at, STEP, weighted, stream);
    }
    for (; at + BYTES <= end; at += BYTES) {
        sum_vectors(to, sources, weights, rows, at, 1, weighted, false);
    }
}

// The range [at, end) of a row, which is a multiple of a vector.
static void sum_part(
        char *to, const int64_t *sources, const int64_t *weights, int64_t rows, size_t at, size_t end, bool stream) {
    if (weights != 0) {
        if (stream) {
            sum_range(to, sources, weights, rows, at, end, true, true);
        } else {
            sum_range(to, sources, weights, rows, at, end, true, false);
        }
    } else if (stream) {
        sum_range(to, sources, weights, rows, at, end, false, true);
    } else {
        sum_range(to, sources, weights, rows, at, end, false, false);
    }
}

static inline void sum(char *to, const int64_t *sources, const int64_t *weights, int64_t rows, size_t bytes, bool stream) {
    // Only non-temporal stores must be aligned.
    size_t first = stream ? head(to, bytes) : bytes;
    if (first == bytes) {
        stream = false;
        first = 0;
    }
    size_t last = first + (bytes - first) / BYTES * BYTES;
    EP4J_ROWS_REST::sum_part(to, sources, weights, rows, 0, first, false);
    sum_part(to, sources, weights, rows, first, last, stream);
    EP4J_ROWS_REST::sum_part(to, sources, weights, rows, last, bytes, false);
}

EP4J_ROWS_INLINE ints larger(ints a, ints b) { return a > b ? a : b; }

// A magnitude's bits; 0 for a NaN.
EP4J_ROWS_INLINE ints magnitude(ints bits) {
    ints size = bits & 0x7fff0000;
    return size > 0x7f800000 ? (ints){} : size;
}

// Bits of the largest magnitude of a range of BF16 channels, a multiple of 16 bytes; NaN are passed over.
static uint32_t largest(const char *row, size_t bytes) {
    ints most = {};
    size_t at = 0;
    for (; at + BYTES <= bytes; at += BYTES) {
        ints pairs = load(row + at);
        most = larger(most, larger(magnitude(pairs), magnitude(pairs << 16)));
    }
    uint32_t result = at < bytes ? EP4J_ROWS_REST::largest(row + at, bytes - at) : 0;
    for (int i = 0; i < LANES; i++) {
        result = (uint32_t)most[i] > result ? (uint32_t)most[i] : result;
    }
    return result;
}

// Codes of 32-bit values as E4M3: rounded to nearest even, saturated, a NaN stays one. The sign is the value's also
// where the product is a NaN.
EP4J_ROWS_INLINE ints codes_of(ints bits, floats factor) {
    const int32_t largest_bits = 0x43e00000, smallest_normal_bits = 0x3c800000, magic_bits = 0x46800000;
    ints product = (ints)((floats)bits * factor) & 0x7fffffff;
    ints clamped = product > largest_bits ? all(largest_bits) : product;
    ints normal = ((clamped + 0x7ffff + ((clamped >> 20) & 1)) >> 20) - ((127 - 7) << 3);
    // Adding 2^14 to a magnitude below 2^-6 leaves it, rounded to a multiple of 2^-9, in the low bits of the sum.
    ints subnormal = (ints)((floats)clamped + 16384.0f) - magic_bits;
    ints code = clamped < smallest_normal_bits ? subnormal : normal;
    code = product > 0x7f800000 ? all(0x7f) : code;
    return code | ((bits >> 24) & 0x80);
}

// Stores the lower half of each lane.
EP4J_ROWS_INLINE void store_halves(char *to, ints value) {
#if defined(__clang__) || __GNUC__ >= 9
    *(loose_halves *)to = __builtin_convertvector(value, halves);
#else
    for (int i = 0; i < LANES; i++) {
        int16_t half = (int16_t)value[i];
        memcpy(to + 2 * i, &half, 2);
    }
#endif
}

// Codes of a range of BF16 channels, a multiple of 16 bytes.
static void encode(const char *row, char *codes, size_t bytes, float factor) {
    size_t at = 0;
    for (; at + BYTES <= bytes; at += BYTES) {
        ints pairs = load(row + at);
        ints low = codes_of(pairs << 16, all(factor)), high = codes_of(pairs & (int32_t)0xffff0000, all(factor));
        store_halves(codes + at / 2, low | (high << 8));
    }
    if (at < bytes) {
        EP4J_ROWS_REST::encode(row + at, codes + at / 2, bytes - at, factor);
    }
}

}  // namespace

#undef EP4J_ROWS_NAME
#undef EP4J_ROWS_BYTES
#undef EP4J_ROWS_REST
#undef EP4J_ROWS_FMA
#undef EP4J_ROWS_STREAM
#undef EP4J_ROWS_PACK
#undef EP4J_ROWS_UNPACKABLE
#undef EP4J_ROWS_INLINE
