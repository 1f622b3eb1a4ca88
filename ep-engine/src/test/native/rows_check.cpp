// Compares every variant of ep4j_rows.h that this processor runs with loops over single channels, on random rows: ends with 1 and says where they
// differ. Needs no JVM, so that it also runs on an emulated processor:
//
//   aarch64-linux-gnu-g++ -O3 -ffp-contract=off -static -I ep-engine/src/main/native ep-engine/src/test/native/rows_check.cpp -o rows_check
//   qemu-aarch64 ./rows_check
#include "ep4j_rows.h"

#include <cstdio>
#include <cstdlib>
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

static bool is_nan(uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }

static uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (value != value) {
        return (uint16_t)((bits | 0x00400000) >> 16);
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

static bool check_sum(int variant, int rows, size_t channels, size_t shift, bool weighted, bool stream) {
    std::vector<std::vector<uint16_t>> input(rows, std::vector<uint16_t>(channels + 8));
    std::vector<uint16_t> memory(channels + 64, 0x5a5a);
    uint16_t *out = (uint16_t *)(((uintptr_t)memory.data() + 15) / 16 * 16) + shift;
    std::vector<int64_t> list = {(int64_t)out, rows, weighted};
    std::vector<float> weights(rows);
    for (int r = 0; r < rows; r++) {
        for (uint16_t &c : input[r]) {
            c = channel();
        }
        list.push_back((int64_t)input[r].data());
    }
    for (int r = 0; weighted && r < rows; r++) {
        weights[r] = (float)(int32_t)next() * 0x1p-30f;
        uint32_t bits;
        memcpy(&bits, &weights[r], 4);
        list.push_back(bits);
    }
    ep4j_rows_sum(variant, list.data(), 1, (long long)(2 * channels), stream);
    for (size_t i = 0; i < channels; i++) {
        float sum = 0;
        for (int r = 0; r < rows; r++) {
            sum = weighted ? fmaf(weights[r], widen(input[r][i]), sum) : sum + widen(input[r][i]);
        }
        uint16_t expected = narrow(sum);
        if (is_nan(expected) ? !is_nan(out[i]) : expected != out[i]) {
            return fail(weighted ? "weighted sum" : "sum", variant, i, expected, out[i]);
        }
    }
    return out[channels] == 0x5a5a || fail("behind a sum", variant, channels, 0x5a5a, out[channels]);
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

int main() {
    int variants = 0;
    for (int variant = 0; variant < EP4J_ROWS_VARIANTS; variant++) {
        if (!ep4j_rows_runs(variant)) {
            continue;
        }
        variants++;
        for (int i = 0; i < 2000; i++) {
            size_t channels = 8 * (1 + next() % 100);
            bool fine = check_sum(variant, (int)(next() % 33), channels, 8 * (next() % 4), next() % 2, next() % 2)
                    && check_copy(variant, next() % 1000, next() % 64, next() % 2) && check_cast(variant, (int)channels, next() % 2);
            if (!fine) {
                return 1;
            }
        }
    }
    printf("%d variants give the expected rows\n", variants);
    return 0;
}
