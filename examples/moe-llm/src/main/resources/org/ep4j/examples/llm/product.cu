// out[t][r] (+)= sum over i of weights[r][i] * x[t][i]. A warp a row of weights and eight tokens at a time. Each sum is in the
// same order whatever is computed beside it.
#define TOKENS 8

struct Op {
  const Vec* weights;  // [rows, columns] BF16
  const float* x;      // [T, columns]
  float* out;          // [T, rows]
  i64 tokens;          // T
  i64 rows;
  i64 columns;  // a multiple of 8
  i64 add;      // 1: to what is there
};

EP_KERNEL(product, 256) {
  i64 vecs = op.columns / 8;
  i64 row = (i64)blockIdx.x * (blockDim.x / EP_LANES) + warp();
  if (row >= op.rows) return;
  const Vec* weights = op.weights + row * vecs;
  for (i64 first = 0; first < op.tokens; first += TOKENS) {
    float sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) sum[t] = 0;
    for (i64 i = lane(); i < vecs; i += EP_LANES) {
      Vec w = weights[i];
      for (int t = 0; t < TOKENS; t++) {
        if (first + t < op.tokens) {
          const float* x = op.x + (first + t) * op.columns + 8 * i;
          sum[t] = fma(low(w.x), x[0], sum[t]);
          sum[t] = fma(high(w.x), x[1], sum[t]);
          sum[t] = fma(low(w.y), x[2], sum[t]);
          sum[t] = fma(high(w.y), x[3], sum[t]);
          sum[t] = fma(low(w.z), x[4], sum[t]);
          sum[t] = fma(high(w.z), x[5], sum[t]);
          sum[t] = fma(low(w.w), x[6], sum[t]);
          sum[t] = fma(high(w.w), x[7], sum[t]);
        }
      }
    }
    for (int t = 0; t < TOKENS; t++) {
      float all = sum[t];
      for (int half = EP_LANES / 2; half > 0; half /= 2) all = plus(all, shuffle_xor(all, half));
      if (lane() == 0 && first + t < op.tokens) {
        float* out = op.out + (first + t) * op.rows + row;
        *out = op.add ? plus(*out, all) : all;
      }
    }
  }
}
