// x[token] = embedding[ids[token]] as FP32. A block a token.
struct Op {
  const int* ids;        // [T]
  const u32* embedding;  // [vocabulary, H] BF16 in pairs
  float* x;              // [T, H]
  i64 hidden;            // H, even
};

EP_KERNEL(embed, 256) {
  const u32* row = op.embedding + (i64)op.ids[blockIdx.x] * (op.hidden / 2);
  float* out = op.x + (i64)blockIdx.x * op.hidden;
  for (i64 i = threadIdx.x; i < op.hidden / 2; i += blockDim.x) {
    out[2 * i] = as_float(row[i] << 16);
    out[2 * i + 1] = as_float(row[i] & 0xffff0000u);
  }
}
