// out[row] = share[row] * relu(x[row] * matrix of the row's expert), FP32 sums in the order of the channels, rounded to BF16 once.
// Simple on purpose: a thread an element. Names that are not C++ are those of the engine's dialect.
struct Op {
  const u16* x;         // [rows, H] BF16, grouped by expert
  const float* share;   // [rows]
  const i64* offsets;   // [L + 1]: first row of each expert, and the end
  const u16* matrices;  // [L, H in, H out] BF16
  u16* out;             // [rows, H] BF16
  i64 experts;          // L
  i64 hidden;           // H
};

EP_DEVICE float bf16(u16 bits) { return as_float((u32)bits << 16); }

EP_KERNEL(experts, 256) {
  i64 elements = op.offsets[op.experts] * op.hidden;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += (i64)gridDim.x * blockDim.x) {
    i64 row = i / op.hidden;
    i64 column = i % op.hidden;
    i64 expert = 0;
    while (op.offsets[expert + 1] <= row) expert++;
    const u16* x = op.x + row * op.hidden;
    const u16* matrix = op.matrices + expert * op.hidden * op.hidden + column;
    float sum = 0;
    for (i64 h = 0; h < op.hidden; h++) sum = fma(bf16(x[h]), bf16(matrix[h * op.hidden]), sum);
    u32 bits = as_bits(multiply(op.share[row], sum > 0 ? sum : 0));
    op.out[i] = (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}
