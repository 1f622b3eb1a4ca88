// RMSNorm of each head of q and k, then the rotary embedding; k and v go into the caches of their sequences. A block a token.
struct Op {
  float* q;              // [T, heads, D], in place
  const float* k;        // [T, kvHeads, D]
  const float* v;        // [T, kvHeads, D]
  const u16* qNorm;      // [D] BF16
  const u16* kNorm;      // [D] BF16
  const float* turns;    // [position, D / 2, 2]: cosine, sine
  const int* positions;  // [T]
  u16* const* keys;      // [T]: cache of the token's sequence, [position, kvHeads, D] BF16
  u16* const* values;    // [T]
  i64 heads;
  i64 kvHeads;
  i64 size;  // D, even
  float epsilon;
};

// A warp a head: element i and element i + D / 2 are turned together.
EP_DEVICE void turn(const float* x, const u16* weights, const float* turns, i64 size, float epsilon, float* out, u16* cache) {
  float sum = 0;
  for (i64 i = lane(); i < size; i += EP_LANES) sum = fma(x[i], x[i], sum);
  for (int half = EP_LANES / 2; half > 0; half /= 2) sum = plus(sum, shuffle_xor(sum, half));
  float factor = exp2_near(multiply(-0.5f, log2_near(plus(divide(sum, (float)size), epsilon))));
  i64 half = size / 2;
  for (i64 i = lane(); i < half; i += EP_LANES) {
    float first = multiply(multiply(x[i], factor), bf16(weights[i]));
    float second = multiply(multiply(x[i + half], factor), bf16(weights[i + half]));
    float cosine = turns[2 * i];
    float sine = turns[2 * i + 1];
    float a = plus(multiply(first, cosine), -multiply(second, sine));
    float b = plus(multiply(second, cosine), multiply(first, sine));
    if (out) {
      out[i] = a;
      out[i + half] = b;
    } else {
      u32 pair = rounded(a, b);
      cache[i] = (u16)pair;
      cache[i + half] = (u16)(pair >> 16);
    }
  }
}

EP_KERNEL(rope, 256) {
  i64 token = blockIdx.x;
  i64 position = op.positions[token];
  const float* turns = op.turns + position * op.size;
  u16* keys = op.keys[token] + position * op.kvHeads * op.size;
  u16* values = op.values[token] + position * op.kvHeads * op.size;
  for (i64 head = warp(); head < op.heads + op.kvHeads; head += blockDim.x / EP_LANES) {
    if (head < op.heads) {
      float* q = op.q + (token * op.heads + head) * op.size;
      turn(q, op.qNorm, turns, op.size, op.epsilon, q, 0);
    } else {
      i64 kv = head - op.heads;
      turn(op.k + (token * op.kvHeads + kv) * op.size, op.kNorm, turns, op.size, op.epsilon, 0, keys + kv * op.size);
    }
  }
  for (i64 i = threadIdx.x; i < op.kvHeads * op.size; i += blockDim.x) {
    values[i] = (u16)rounded(op.v[token * op.kvHeads * op.size + i], 0);
  }
}
