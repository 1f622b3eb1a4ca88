// Attention of each head of each token over the tokens up to it. A block a head of a token; its warps take positions in turn,
// each with its own softmax, and are merged at the end. Nothing depends on the other tokens of the batch.
#define MOST 8  // elements of a head that a lane holds: heads of up to 256
#define WARPS (256 / EP_LANES)

struct Op {
  const float* q;              // [T, heads, D]
  u16* const* keys;            // [T]: [position, kvHeads, D] BF16
  u16* const* values;          // [T]
  const int* positions;        // [T]
  float* out;                  // [T, heads, D]
  u16* rounded;                // the same in BF16; 0 where nobody needs it
  i64 heads;
  i64 kvHeads;
  i64 size;     // D
  float scale;  // of scores, in units of log2
};

EP_KERNEL(attention, 256) {
  EP_SHARED float highest[WARPS];
  EP_SHARED float totals[WARPS];
  EP_SHARED float sums[WARPS][MOST * EP_LANES];
  i64 token = blockIdx.x / op.heads;
  i64 head = blockIdx.x % op.heads;
  i64 kv = head / (op.heads / op.kvHeads);
  i64 length = op.positions[token] + 1;
  i64 stride = op.kvHeads * op.size;
  const u16* keys = op.keys[token] + kv * op.size;
  const u16* values = op.values[token] + kv * op.size;
  const float* q = op.q + (token * op.heads + head) * op.size;
  float query[MOST];
  float sum[MOST];
  for (int j = 0; j < MOST; j++) {
    i64 i = lane() + (i64)j * EP_LANES;
    query[j] = i < op.size ? q[i] : 0;
    sum[j] = 0;
  }
  float high = -1e30f;
  float total = 0;
  for (i64 p = warp(); p < length; p += blockDim.x / EP_LANES) {
    const u16* key = keys + p * stride;
    float score = 0;
    for (int j = 0; j < MOST; j++) {
      i64 i = lane() + (i64)j * EP_LANES;
      if (i < op.size) score = fma(query[j], bf16(key[i]), score);
    }
    for (int half = EP_LANES / 2; half > 0; half /= 2) score = plus(score, shuffle_xor(score, half));
    score = multiply(score, op.scale);
    float higher = score > high ? score : high;
    float old = exp2_near(plus(high, -higher));
    float share = exp2_near(plus(score, -higher));
    total = fma(total, old, share);
    const u16* value = values + p * stride;
    for (int j = 0; j < MOST; j++) {
      i64 i = lane() + (i64)j * EP_LANES;
      if (i < op.size) sum[j] = fma(share, bf16(value[i]), multiply(sum[j], old));
    }
    high = higher;
  }
  if (lane() == 0) {
    highest[warp()] = high;
    totals[warp()] = total;
  }
  for (int j = 0; j < MOST; j++) sums[warp()][lane() + j * EP_LANES] = sum[j];
  sync_block();
  float top = highest[0];
  for (int w = 1; w < WARPS; w++) top = highest[w] > top ? highest[w] : top;
  float all = 0;
  for (int w = 0; w < WARPS; w++) all = fma(totals[w], exp2_near(plus(highest[w], -top)), all);
  for (i64 i = threadIdx.x; i < op.size; i += blockDim.x) {
    float merged = 0;
    for (int w = 0; w < WARPS; w++) merged = fma(sums[w][i], exp2_near(plus(highest[w], -top)), merged);
    i64 to = (token * op.heads + head) * op.size + i;
    float value = divide(merged, all);
    op.out[to] = value;
    if (op.rounded) op.rounded[to] = (u16)rounded(value, 0);
  }
}
