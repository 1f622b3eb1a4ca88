// Compares every variant of ep4j_rows.h that this processor runs with loops over single channels, on random rows. Then
// checks that a thread that acquires a number sees the rows that another thread stored before it released the number. Ends
// with 1 and says what is wrong. Needs no JVM, whose own fences would hide a missing one, and so also runs on an emulated
// processor:
//
//   aarch64-linux-gnu-g++ -O3 -ffp-contract=off -pthread -static -I src/main/native src/test/native/rows_check.cpp -o rows_check
//   qemu-aarch64 ./rows_check
#include "ep4j_rows.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static uint64_t state = 42;

static uint32_t next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(state >> 32);
}

static float widen(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

static uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (value != value) {
        return 0x7fff;
    }
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Any bits, with more of what is special: zeros, subnormal numbers, infinities, NaN.
static uint16_t channel() {
    switch (next() % 8) {
        case 0:
            return (uint16_t)(next() & 0x807f);
        case 1:
            return (uint16_t)(next() & 0x8000) | 0x7f80;
        default:
            return (uint16_t)next();
    }
}

static uint8_t code(uint16_t bits, float factor) {
    float size = fabsf(widen(bits) * factor);
    uint8_t sign = bits >> 8 & 0x80;
    if (size != size) {
        return sign | 0x7f;
    }
    if (size >= 448) {
        return sign | 0x7e;
    }
    // The nearest of all codes, the even one of two.
    int best = 0;
    float distance = 1e9f;
    for (int c = 0; c < 0x7f; c++) {
        float value = c < 8 ? ldexpf((float)c, -9) : ldexpf(1 + (c & 7) / 8.0f, (c >> 3) - 7);
        float d = fabsf(value - size);
        if (d < distance || (d == distance && (c & 1) == 0)) {
            best = c;
            distance = d;
        }
    }
    return sign | (uint8_t)best;
}

static bool fail(const char *what, int variant, size_t at, unsigned expected, unsigned got) {
    printf("%s, variant %d: %x instead of %x at %zu\n", what, variant, got, expected, at);
    return false;
}

// Any weight: of ordinary size, or with more of what is special.
static float any_weight() { return next() % 2 ? (float)(int32_t)next() * 0x1p-30f : widen(channel()); }

// A few sums of different lengths in one list; the first row of some is where the sum is stored.
static bool check_sums(int variant, size_t channels, size_t shift, bool stream) {
    int count = 1 + next() % 4;
    size_t step = channels + 8;
    std::vector<uint16_t> memory(64 + count * step), expected(count * channels);
    uint16_t *out = (uint16_t *)(((uintptr_t)memory.data() + 15) / 16 * 16) + shift;
    std::vector<std::vector<uint16_t>> inputs;
    std::vector<int64_t> list;
    for (int s = 0; s < count; s++) {
        uint16_t *to = out + s * step;
        for (size_t i = 0; i < step; i++) {
            to[i] = i < channels ? channel() : 0x5a5a;
        }
        int rows = next() % 20;
        bool weighted = next() % 2;
        bool in_place = rows > 0 && next() % 3 == 0;
        std::vector<const uint16_t *> sources(rows);
        std::vector<float> weights(rows);
        for (int r = 0; r < rows; r++) {
            if (r == 0 && in_place) {
                sources[r] = to;
            } else {
                size_t before = next() % 40;
                inputs.emplace_back(before + channels);
                for (uint16_t &c : inputs.back()) {
                    c = channel();
                }
                sources[r] = inputs.back().data() + before;
            }
            weights[r] = any_weight();
        }
        for (size_t i = 0; i < channels; i++) {
            float sum = 0;
            for (int r = 0; r < rows; r++) {
                sum = weighted ? fmaf(weights[r], widen(sources[r][i]), sum) : sum + widen(sources[r][i]);
            }
            expected[s * channels + i] = narrow(sum);
        }
        list.push_back((int64_t)to);
        list.push_back(rows);
        list.push_back(weighted);
        for (const uint16_t *source : sources) {
            list.push_back((int64_t)source);
        }
        for (int r = 0; weighted && r < rows; r++) {
            uint32_t bits;
            memcpy(&bits, &weights[r], 4);
            list.push_back(bits);
        }
    }
    ep4j_rows_sum(variant, list.data(), count, (long long)(2 * channels), stream);
    for (int s = 0; s < count; s++) {
        for (size_t i = 0; i < channels; i++) {
            if (out[s * step + i] != expected[s * channels + i]) {
                return fail("sum", variant, i, expected[s * channels + i], out[s * step + i]);
            }
        }
        if (out[s * step + channels] != 0x5a5a) {
            return fail("behind a sum", variant, channels, 0x5a5a, out[s * step + channels]);
        }
    }
    return true;
}

static bool check_copy(int variant, size_t bytes, size_t shift, bool stream) {
    std::vector<char> from(bytes + 128), to(bytes + 128, 'x');
    for (char &c : from) {
        c = (char)next();
    }
    int64_t list[] = {(int64_t)(to.data() + 1 + shift), (int64_t)(from.data() + shift / 2), (int64_t)bytes};
    ep4j_rows_copy(variant, list, 1, stream);
    for (size_t i = 0; i < bytes; i++) {
        if (to[1 + shift + i] != from[shift / 2 + i]) {
            return fail("copy", variant, i, from[shift / 2 + i], to[1 + shift + i]);
        }
    }
    bool around = to[shift] == 'x' && to[1 + shift + bytes] == 'x';
    return around || fail("around a copy", variant, bytes, 'x', to[1 + shift + bytes]);
}

static bool check_cast(int variant, int channels, bool power) {
    std::vector<uint16_t> row(channels);
    for (uint16_t &c : row) {
        c = channel();
        // Most rows have no NaN and no infinities.
        c = channels % 32 && (c & 0x7f80) == 0x7f80 ? 0x3f80 : c;
    }
    std::vector<uint8_t> codes(channels);
    std::vector<float> scales((channels + 127) / 128);
    ep4j_rows_cast(variant, row.data(), codes.data(), scales.data(), channels, power);
    for (int b = 0; b * 128 < channels; b++) {
        float most = 1e-4f;
        for (int i = b * 128; i < channels && i < (b + 1) * 128; i++) {
            float size = fabsf(widen(row[i]));
            most = size > most ? size : most;
        }
        float scale = most / 448, factor = 448 / most;
        if (power) {
            int exponent;
            float mantissa = frexpf(scale, &exponent);
            exponent = isinf(scale) ? 128 : mantissa == 0.5f ? exponent - 1 : exponent;
            scale = ldexpf(1, exponent);
            factor = ldexpf(1, -exponent);
        }
        if (scale != scales[b]) {
            return fail("scale", variant, (size_t)b, (unsigned)scale, (unsigned)scales[b]);
        }
        for (int i = b * 128; i < channels && i < (b + 1) * 128; i++) {
            if (codes[i] != code(row[i], factor)) {
                return fail("code", variant, (size_t)i, code(row[i], factor), codes[i]);
            }
        }
    }
    return true;
}

// Rows in flight between two threads. The number of patterns is no multiple of that of slots, so that rows of different
// numbers in one slot differ.
enum { SLOTS = 8, PATTERNS = 101, PAUSE = 200 };

static uint16_t pattern(uint64_t number) { return (uint16_t)(0x3f80 + number % PATTERNS); }

static bool check_visible(int variant, bool sums, size_t bytes) {
    // Some rows begin inside a cache line, so that parts of lines stay in the processor for longest.
    size_t stride = bytes / 64 * 64 + 96;
    std::vector<char> memory(64 + SLOTS * stride);
    char *slots = (char *)(((uintptr_t)memory.data() + 63) / 64 * 64);
    std::vector<uint16_t> rows(PATTERNS * bytes / 2);
    for (size_t i = 0; i < rows.size(); i++) {
        rows[i] = pattern(i / (bytes / 2));
    }
    alignas(64) std::atomic<uint64_t> sent(0);
    alignas(64) std::atomic<uint64_t> seen(0);
    uint64_t missing = 0;
    std::thread receiver([&] {
        for (uint64_t number = 1;; number++) {
            uint64_t last;
            while ((last = sent.load(std::memory_order_acquire)) < number) {
                // Not all the time, or the sender waits for the number's cache line, and its rows arrive meanwhile.
                for (volatile int i = 0; i < PAUSE; i = i + 1) {
                }
            }
            if (last == UINT64_MAX) {
                return;
            }
            const uint16_t *row = (const uint16_t *)(slots + number % SLOTS * stride);
            bool whole = true;
            for (size_t i = bytes / 2; i > 0; i--) {
                whole &= ((const volatile uint16_t *)row)[i - 1] == pattern(number);
            }
            missing += !whole;
            seen.store(number, std::memory_order_release);
        }
    });
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    for (uint64_t number = 1; std::chrono::steady_clock::now() < end; number++) {
        while (seen.load(std::memory_order_acquire) + SLOTS / 2 < number) {
        }
        int64_t to = (int64_t)(slots + number % SLOTS * stride);
        int64_t from = (int64_t)(rows.data() + number % PATTERNS * (bytes / 2));
        if (sums) {
            int64_t list[] = {to, 1, 0, from};
            ep4j_rows_sum(variant, list, 1, (long long)bytes, 1);
        } else {
            int64_t list[] = {to, from, (int64_t)bytes};
            ep4j_rows_copy(variant, list, 1, 1);
        }
        sent.store(number, std::memory_order_release);
    }
    sent.store(UINT64_MAX, std::memory_order_release);
    receiver.join();
    if (missing > 0) {
        printf("variant %d: %llu %s of %zu bytes were not visible\n", variant, (unsigned long long)missing,
                sums ? "sums" : "copies", bytes);
    }
    return missing == 0;
}

int main() {
    int variants = 0;
    for (int variant = 0; variant < EP4J_ROWS_VARIANTS; variant++) {
        if (!ep4j_rows_runs(variant)) {
            continue;
        }
        variants++;
        for (int i = 0; i < 2000; i++) {
            size_t channels = 8 * (1 + next() % 100);
            bool fine = check_sums(variant, channels, next() % 4 ? 8 * (next() % 4) : next() % 32, next() % 2)
                    && check_copy(variant, next() % (i % 16 ? 1000 : 20000), next() % 64, next() % 2)
                    && check_cast(variant, (int)channels, next() % 2);
            if (!fine) {
                return 1;
            }
        }
        size_t vector = variant == EP4J_ROWS_BASELINE ? 16 : variant == EP4J_ROWS_AVX2 ? 32 : 64;
        for (size_t bytes : {6 * vector, (size_t)14336}) {
            if (!check_visible(variant, false, bytes) || !check_visible(variant, true, bytes)) {
                return 1;
            }
        }
    }
    printf("%d variants give the expected rows\n", variants);
    return 0;
}
