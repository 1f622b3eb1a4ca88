// The experts with the highest scores, and their part of the softmax over all of them. A warp a token.
struct Op {
  float* scores;  // [T, E]; overwritten
  int* ids;       // [T, K]
  float* shares;  // [T, K]
  i64 tokens;
  i64 experts;
  i64 topK;
  i64 normalize;  // 1: shares add up to 1
};

EP_KERNEL(router, 256) {
  i64 token = (i64)blockIdx.x * (blockDim.x / EP_LANES) + warp();
  if (token >= op.tokens) return;
  float* scores = op.scores + token * op.experts;
  float high = -1e30f;
  for (i64 e = lane(); e < op.experts; e += EP_LANES) high = scores[e] > high ? scores[e] : high;
  for (int half = EP_LANES / 2; half > 0; half /= 2) {
    float other = shuffle_xor(high, half);
    high = other > high ? other : high;
  }
  float all = 0;
  for (i64 e = lane(); e < op.experts; e += EP_LANES) {
    scores[e] = exp2_near(multiply(plus(scores[e], -high), 1.44269504f));
    all = plus(all, scores[e]);
  }
  for (int half = EP_LANES / 2; half > 0; half /= 2) all = plus(all, shuffle_xor(all, half));
  float chosen = 0;
  for (i64 k = 0; k < op.topK; k++) {
    float best = -2;
    u32 id = 0x7fffffffu;
    for (i64 e = lane(); e < op.experts; e += EP_LANES) {
      if (scores[e] > best) {
        best = scores[e];
        id = (u32)e;
      }
    }
    // The lowest of equals.
    for (int half = EP_LANES / 2; half > 0; half /= 2) {
      float other = shuffle_xor(best, half);
      u32 its = shuffle_xor(id, half);
      if (other > best || (other == best && its < id)) {
        best = other;
        id = its;
      }
    }
    if (lane() == (int)(id % EP_LANES)) scores[id] = -1;
    float share = divide(best, all);
    chosen = plus(chosen, share);
    if (lane() == 0) {
      op.ids[token * op.topK + k] = (int)id;
      op.shares[token * op.topK + k] = share;
    }
  }
  sync_lanes();
  if (op.normalize && lane() == 0) {
    for (i64 k = 0; k < op.topK; k++) op.shares[token * op.topK + k] = divide(op.shares[token * op.topK + k], chosen);
  }
}
