// Both halves of the experts: middle = silu(gate(x)) * up(x), out = down(middle). Rows lie expert by expert, where the counts or
// the offsets of the exchange say; the host does not know them. A warp a row of weights, eight rows at a time.
#define ROWS 8

struct Op {
  const u64* gate;       // [L]: addresses of [I, H] BF16; "down" reads [H, I] here
  const u64* up;         // [L]
  const Vec* x;          // [., columns] BF16
  u32* out;              // [., rows of weights] BF16 in pairs
  const i64* offsets;    // [L + 1] first row of each expert; 0: by counts
  const int* counts;     // [L]
  const float* shares;   // a factor for each row of out; 0: none
  i64 stride;            // rows between experts, with counts
  i64 experts;           // L
  i64 rows;              // of weights: I, or H for "down"; even
  i64 columns;           // H, or I for "down"; a multiple of 8
};

EP_DEVICE float times(Vec w, Vec x, float sum) {
  sum = fma(low(w.x), low(x.x), sum);
  sum = fma(high(w.x), high(x.x), sum);
  sum = fma(low(w.y), low(x.y), sum);
  sum = fma(high(w.y), high(x.y), sum);
  sum = fma(low(w.z), low(x.z), sum);
  sum = fma(high(w.z), high(x.z), sum);
  sum = fma(low(w.w), low(x.w), sum);
  return fma(high(w.w), high(x.w), sum);
}

// The sum of all lanes, on all of them.
EP_DEVICE float together(float sum) {
  for (int half = EP_LANES / 2; half > 0; half /= 2) sum = plus(sum, shuffle_xor(sum, half));
  return sum;
}

EP_DEVICE float silu(float v) { return divide(v, plus(1, exp2_near(multiply(v, -1.44269504f)))); }

// Two rows of weights a warp, so that it writes pairs.
EP_DEVICE void expert(const Op& op, bool gated, i64 index, i64 pair) {
  i64 first = op.offsets ? op.offsets[index] : index * op.stride;
  i64 end = op.offsets ? op.offsets[index + 1] : first + op.counts[index];
  i64 vecs = op.columns / 8;
  const Vec* gate = (const Vec*)op.gate[index] + 2 * pair * vecs;
  const Vec* up = gated ? (const Vec*)op.up[index] + 2 * pair * vecs : gate;
  for (i64 row = first; row < end; row += ROWS) {
    float a0[ROWS], a1[ROWS], b0[ROWS], b1[ROWS];
    for (int r = 0; r < ROWS; r++) a0[r] = a1[r] = b0[r] = b1[r] = 0;
    for (i64 i = lane(); i < vecs; i += EP_LANES) {
      Vec g0 = gate[i], g1 = gate[vecs + i], u0 = g0, u1 = g1;
      if (gated) {
        u0 = up[i];
        u1 = up[vecs + i];
      }
      for (int r = 0; r < ROWS; r++) {
        if (row + r < end) {
          Vec x = op.x[(row + r) * vecs + i];
          a0[r] = times(g0, x, a0[r]);
          a1[r] = times(g1, x, a1[r]);
          if (gated) {
            b0[r] = times(u0, x, b0[r]);
            b1[r] = times(u1, x, b1[r]);
          }
        }
      }
    }
    for (int r = 0; r < ROWS; r++) {
      float first_sum = together(a0[r]);
      float second_sum = together(a1[r]);
      if (gated) {
        first_sum = multiply(silu(first_sum), together(b0[r]));
        second_sum = multiply(silu(second_sum), together(b1[r]));
      }
      if (lane() == 0 && row + r < end) {
        float share = op.shares ? op.shares[row + r] : 1;
        op.out[(row + r) * (op.rows / 2) + pair] = rounded(multiply(share, first_sum), multiply(share, second_sum));
      }
    }
  }
}

EP_DEVICE void all_experts(const Op& op, bool gated) {
  i64 pairs = op.rows / 2;
  i64 warps = (i64)gridDim.x * (blockDim.x / EP_LANES);
  for (i64 i = (i64)blockIdx.x * (blockDim.x / EP_LANES) + warp(); i < op.experts * pairs; i += warps) {
    expert(op, gated, i / pairs, i % pairs);
  }
}

EP_KERNEL(gate_up, 256) { all_experts(op, true); }
EP_KERNEL(down, 256) { all_experts(op, false); }
