// x += rows, which are BF16.
struct Op {
  float* x;
  const u32* rows;  // in pairs
  i64 pairs;
};

EP_KERNEL(add_rows, 256) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < op.pairs; i += (i64)gridDim.x * blockDim.x) {
    op.x[2 * i] = plus(op.x[2 * i], as_float(op.rows[i] << 16));
    op.x[2 * i + 1] = plus(op.x[2 * i + 1], as_float(op.rows[i] & 0xffff0000u));
  }
}
