// What experts.cu computes, not weighted, for rows in the packed layout of low latency: each expert has room for so many rows, of which the
// first ones are there.
struct Op {
  const u16* x;         // [L, rows of an expert, H] BF16
  const int* counts;    // [L]
  const u16* matrices;  // [L, H in, H out] BF16
  u16* out;             // [L, rows of an expert, H] BF16
  i64 experts;          // L
  i64 hidden;           // H
  i64 capacity;         // rows of an expert
};

EP_DEVICE float bf16(u16 bits) { return as_float((u32)bits << 16); }

EP_KERNEL(packed_experts, 256) {
  for (i64 expert = 0; expert < op.experts; expert++) {
    const u16* matrix = op.matrices + expert * op.hidden * op.hidden;
    const i64 elements = op.counts[expert] * op.hidden;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += (i64)gridDim.x * blockDim.x) {
      const i64 row = expert * op.capacity + i / op.hidden;
      const i64 column = i % op.hidden;
      const u16* x = op.x + row * op.hidden;
      float sum = 0;
      for (i64 h = 0; h < op.hidden; h++) sum = fma(bf16(x[h]), bf16(matrix[h * op.hidden + column]), sum);
      u32 bits = as_bits(sum > 0 ? sum : 0.0f);
      op.out[row * op.hidden + column] = (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
  }
}
