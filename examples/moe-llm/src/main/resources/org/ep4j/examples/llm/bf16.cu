// Put before every kernel's source. Names that are not C++ are those of the engine's dialect (cuda.cu).
EP_DEVICE float low(u32 pair) { return as_float(pair << 16); }
EP_DEVICE float high(u32 pair) { return as_float(pair & 0xffff0000u); }
EP_DEVICE float bf16(u16 bits) { return as_float((u32)bits << 16); }

// Two BF16 numbers, rounded to nearest even.
EP_DEVICE u32 rounded(float first, float second) {
#if EP_HAS_BF16
  return bf16_pair(first, second);
#else
  u32 a = as_bits(first);
  u32 b = as_bits(second);
  a = (a + 0x7fff + (a >> 16 & 1)) >> 16;
  b = (b + 0x7fff + (b >> 16 & 1)) >> 16;
  return a | b << 16;
#endif
}
