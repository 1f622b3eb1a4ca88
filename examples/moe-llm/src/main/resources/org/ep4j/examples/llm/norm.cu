// RMSNorm: out[i] = x[row of i] / sqrt(mean of squares + epsilon) * weights. A block a row.
struct Op {
  const float* x;      // [., size]
  const int* rows;     // row of x for each row of out; 0: the same
  const u16* weights;  // [size] BF16
  float* out;          // [., size]; 0 where nobody needs it
  u32* pairs;          // [., size] BF16 in pairs; 0 where nobody needs it
  i64 size;            // even
  float epsilon;
};

EP_KERNEL(rms_norm, 256) {
  EP_SHARED float sums[256 / EP_LANES];
  i64 row = op.rows ? op.rows[blockIdx.x] : blockIdx.x;
  const float* x = op.x + row * op.size;
  float sum = 0;
  for (i64 i = threadIdx.x; i < op.size; i += blockDim.x) sum = fma(x[i], x[i], sum);
  for (int half = EP_LANES / 2; half > 0; half /= 2) sum = plus(sum, shuffle_xor(sum, half));
  if (lane() == 0) sums[warp()] = sum;
  sync_block();
  float all = 0;
  for (int i = 0; i < (int)blockDim.x / EP_LANES; i++) all = plus(all, sums[i]);
  float factor = exp2_near(multiply(-0.5f, log2_near(plus(divide(all, (float)op.size), op.epsilon))));
  i64 to = (i64)blockIdx.x * op.size;
  for (i64 i = threadIdx.x; i < op.size / 2; i += blockDim.x) {
    float low = multiply(multiply(x[2 * i], factor), bf16(op.weights[2 * i]));
    float high = multiply(multiply(x[2 * i + 1], factor), bf16(op.weights[2 * i + 1]));
    if (op.out) {
      op.out[to + 2 * i] = low;
      op.out[to + 2 * i + 1] = high;
    }
    if (op.pairs) op.pairs[to / 2 + i] = rounded(low, high);
  }
}
