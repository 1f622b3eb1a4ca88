// LogFMT-10, laid out as by org.ep4j.engine.numeric.LogFmt. One lane works on one group of 16 channels, so that a wave works on EP_LOG_BLOCKS
// blocks of 128 at a time. A group takes 20 bytes in a coded block (16 codes of 9 bits, then 16 signs) and 32 bytes as it is in others; all
// blocks begin at multiples of 16 bytes. Called by whole waves. The pointers are to shared memory: what peers wrote is copied there first.
#define EP_LOG_BLOCKS (EP_LANES / 8)
#define EP_LOG_LEVELS 510

// "range" is the BF16 bits of the block's largest magnitude, and above them those of its smallest. Coded: 0 < largest < 1, and not all alike.
EP_DEVICE bool log_fmt_coded(u32 range) { return (range & 0x7fff) < 0x3f80 && (range >> 16 & 0x7fff) < (range & 0x7fff); }

// log2 of a BF16 magnitude that is not 0, less "exponent". In two parts, so that no digits are lost far from 1.
EP_DEVICE float log_fmt_log2(u32 magnitude, int exponent) {
  int more = 0;
  if (magnitude < 0x80) {  // subnormal: times 2^16 it is not
    magnitude = as_bits(multiply(as_float(magnitude << 16), 65536.0f)) >> 16;
    more = 16;
  }
  return plus((float)((int)(magnitude >> 7) - 127 - more - exponent), log2_near(as_float((magnitude & 0x7f) << 16 | 0x3f800000)));
}

// Logarithms are counted from the power of two below the largest magnitude.
struct LogScale { int exponent; float low; float range; };

EP_DEVICE LogScale log_fmt_scale(u32 range) {
  u32 most = range & 0x7fff, least = range >> 16 & 0x7fff;
  LogScale scale;
  scale.exponent = (int)(most >> 7) - 127;
  if (most < 0x80) scale.exponent = (int)(as_bits(multiply(as_float(most << 16), 65536.0f)) >> 23) - 127 - 16;
  float high = log_fmt_log2(most, scale.exponent);
  scale.low = plus(high, -32.0f);
  if (least != 0) {
    float low = log_fmt_log2(least, scale.exponent);
    if (low > scale.low) scale.low = low;
  }
  scale.range = plus(high, -scale.low);
  return scale;
}

// Codes 16 channels into 5 words.
EP_DEVICE void log_fmt_group(u32 range, const u32* pairs, u32* words) {
  LogScale scale = log_fmt_scale(range);
  float per_step = divide((float)EP_LOG_LEVELS, scale.range);
  // 2 - log2((1 + 2^step) / 2) / step, which makes rounding down of codes round values to the nearer neighbour, is 3/2 - step ln(2) / 8 and less
  // than 10^-6 for all steps there are.
  float first = plus(fma(divide(scale.range, (float)EP_LOG_LEVELS), -0.0866434f, 1.5f), -multiply(scale.low, per_step));
  u32 signs = 0;
  u64 held = 0;
  int bits = 0, next = 0;
#pragma unroll
  for (int j = 0; j < 16; j++) {
    u32 value = pairs[j / 2] >> (j % 2 * 16) & 0xffff;
    u32 magnitude = value & 0x7fff;
    u32 code = 0;
    if (magnitude != 0) {
      float level = fma(log_fmt_log2(magnitude, scale.exponent), per_step, first);
      code = level < 1.0f ? 1 : level >= (float)(EP_LOG_LEVELS + 1) ? EP_LOG_LEVELS + 1 : (u32)level;
    }
    signs |= (value >> 15) << j;
    held |= (u64)code << bits;
    bits += 9;
    if (bits >= 32) {
      words[next++] = (u32)held;
      held >>= 32;
      bits -= 32;
    }
  }
  words[4] = (u32)held | signs << 16;
}

// Bytes of the groups of the lanes below this one, and of all lanes.
EP_DEVICE int log_fmt_place(bool inside, bool coded, int* all) {
  Lanes in = ballot(inside), small = ballot(inside && coded), below = ((Lanes)1 << lane()) - 1;
  *all = 32 * count(in) - 12 * count(small);
  return 32 * count(in & below) - 12 * count(small & below);
}

// Range of a block, of which eight lanes have a group each; what they have is no part of it unless it is inside the row.
EP_DEVICE u32 log_fmt_range(const u32* pairs, bool inside) {
  u32 most = 0, least = 0x7fff;
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const u32 magnitude = pairs[i / 2] >> (i % 2 * 16) & 0x7fff;
    if (inside && magnitude > most) most = magnitude;
    if (inside && magnitude < least) least = magnitude;
  }
#pragma unroll
  for (int by = 1; by < 8; by *= 2) {
    u32 other = shuffle_xor(most, by);
    most = other > most ? other : most;
    other = shuffle_xor(least, by);
    least = other < least ? other : least;
  }
  return most | least << 16;
}

// Codes the groups of a wave's lanes one after another. Returns their bytes.
EP_DEVICE int log_fmt_encode(u32 range, const u32* pairs, bool inside, char* coded) {
  const bool small = log_fmt_coded(range);
  int bytes;
  u32* out = (u32*)(coded + log_fmt_place(inside, small, &bytes));
  u32 words[5];
  if (inside && small) log_fmt_group(range, pairs, words);
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (inside && (i < 5 || !small)) out[i] = small ? words[i < 5 ? i : 4] : pairs[i];
  return bytes;
}

// Decodes a lane's group of the blocks that begin at "coded", and adds it to sums. Lanes outside of the row have no group.
EP_DEVICE void log_fmt_add(u32 range, bool inside, const char* coded, float weight, bool weighted, float* sums) {
  const bool small = log_fmt_coded(range);
  int all;
  const u32* in = (const u32*)(coded + log_fmt_place(inside, small, &all));
  if (!inside) return;
  float values[16];
  if (small) {
    LogScale scale = log_fmt_scale(range);
    float step = divide(scale.range, (float)EP_LOG_LEVELS);
    // A power of two down to 2^-133, which is subnormal.
    float unit = scale.exponent < -126 ? as_float(0x400000u >> (-127 - scale.exponent)) : as_float((u32)(scale.exponent + 127) << 23);
    u32 words[5];
#pragma unroll
    for (int i = 0; i < 5; i++) words[i] = in[i];
#pragma unroll
    for (int j = 0; j < 16; j++) {
      int word = 9 * j / 32, bit = 9 * j % 32;
      u32 code = words[word] >> bit;
      if (bit > 23) code |= words[word + 1] << (32 - bit);
      code &= 0x1ff;
      float magnitude = code == 0 ? 0.0f : multiply(exp2_near(fma((float)((int)code - 1), step, scale.low)), unit);
      values[j] = as_float(as_bits(magnitude) | (words[4] >> (16 + j) & 1) << 31);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      values[2 * i] = low_half(in[i]);
      values[2 * i + 1] = high_half(in[i]);
    }
  }
#pragma unroll
  for (int j = 0; j < 16; j++) sums[j] = weighted ? fma(weight, values[j], sums[j]) : plus(sums[j], values[j]);
}
