// Ceiling of dispatch and combine: the same rows over the same paths, with nothing to find out. Where every row goes or lies is known
// before, no counter is waited for, nothing is announced. Measured beside the operations, never part of them.
//
// Given by the compiler as macros, from org.ep4j.cli.gpu.Ceiling: EP_RANKS, EP_ROW_BYTES, EP_TARGETS (targets of a token, at most
// EP_LANES), EP_PUSH_WARPS, EP_PUSH_PIECE, EP_PULL_WARPS, EP_PULL_PIECE (bytes that a warp holds at once, multiples of 16).
struct Op {
  char* const* peers;  // memory of every rank
  i64 rows;            // where rows begin in it
  i64 flags;           // where the words of the gate are: one of each rank
  char* x;             // [T] rows: read by push, written by pull
  const int* rank;     // [T, EP_TARGETS]: rank of each target, -1 for none
  const int* row;      // [T, EP_TARGETS]: row there
  i64 tokens;
  const u64* go;       // host memory
  u64 epoch;
  u64 me;
};

#define EP_PIECES(piece) ((EP_ROW_BYTES + (piece) - 1) / (piece))

EP_DEVICE u32 piece_bytes(int piece, int size) { return piece == EP_PIECES(size) - 1 ? EP_ROW_BYTES - piece * size : size; }

// Ends on all ranks at once, when every rank's host has queued what is measured behind it; after 5 s in any case.
EP_KERNEL(ceiling_gate, EP_LANES) {
  u64 start = nanoseconds();
  while (load_acquire(op.go) < op.epoch && nanoseconds() - start < 5000000000ull) pause();
  sync_lanes();
  for (int r = lane(); r < EP_RANKS; r += EP_LANES) store_release(op.peers[r] + op.flags + op.me * 8, op.epoch);
  for (int r = lane(); r < EP_RANKS; r += EP_LANES) {
    const char* theirs = op.peers[op.me] + op.flags + r * 8;
    while (load_acquire(theirs) < op.epoch && nanoseconds() - start < 5000000000ull) {}
  }
}

EP_DEVICE float low(u32 pair) { return as_float(pair << 16); }
EP_DEVICE float high(u32 pair) { return as_float(pair & 0xffff0000u); }
EP_DEVICE u32 pair_of(float a, float b) {
  u32 x = as_bits(a), y = as_bits(b);
  return ((x + 0x7fffu + ((x >> 16) & 1)) >> 16) | ((y + 0x7fffu + ((y >> 16) & 1)) & 0xffff0000u);
}
EP_DEVICE void sum(float* a, Vec v) {
  a[0] += low(v.x); a[1] += high(v.x); a[2] += low(v.y); a[3] += high(v.y);
  a[4] += low(v.z); a[5] += high(v.z); a[6] += low(v.w); a[7] += high(v.w);
}
EP_DEVICE Vec rounded(const float* a) {
  Vec v;
  v.x = pair_of(a[0], a[1]);
  v.y = pair_of(a[2], a[3]);
  v.z = pair_of(a[4], a[5]);
  v.w = pair_of(a[6], a[7]);
  return v;
}

// Measures the time of starting and ending a kernel.
EP_KERNEL(ceiling_empty, EP_LANES) {}

// Copies every token's row to all of its targets.
EP_KERNEL(ceiling_push, EP_PUSH_WARPS * EP_LANES) {
  i64 first = (i64)blockIdx.x * EP_PUSH_WARPS + threadIdx.x / EP_LANES;
  i64 step = (i64)gridDim.x * EP_PUSH_WARPS;
#if EP_BULK
  EP_DYNAMIC_SHARED(shared);
  EP_SHARED u64 barriers[EP_PUSH_WARPS];
  int w = threadIdx.x / EP_LANES;
  char* stage = shared + (u64)w * EP_PUSH_PIECE;
  if (lane() == 0) barrier_init(&barriers[w], 1);
  sync_block();
  u32 parity = 0;
  for (i64 item = first; item < op.tokens * EP_PIECES(EP_PUSH_PIECE); item += step) {
    i64 token = item / EP_PIECES(EP_PUSH_PIECE);
    int piece = (int)(item % EP_PIECES(EP_PUSH_PIECE));
    u32 bytes = piece_bytes(piece, EP_PUSH_PIECE);
    u64 at = (u64)piece * EP_PUSH_PIECE;
    if (lane() == 0) {
      barrier_expect(&barriers[w], bytes);
      bulk_load(stage, op.x + (u64)token * EP_ROW_BYTES + at, bytes, &barriers[w]);
    }
    sync_lanes();
    barrier_wait(&barriers[w], parity);
    parity ^= 1;
    int rank = lane() < EP_TARGETS ? op.rank[token * EP_TARGETS + lane()] : -1;
    if (rank >= 0) bulk_store(op.peers[rank] + op.rows + (u64)op.row[token * EP_TARGETS + lane()] * EP_ROW_BYTES + at, stage, bytes);
    bulk_commit();
    bulk_wait_read();
    sync_lanes();
  }
  bulk_wait();
#else
  const int vecs = EP_ROW_BYTES / 16;
  for (i64 token = first; token < op.tokens; token += step) {
    const Vec* from = (const Vec*)(op.x + (u64)token * EP_ROW_BYTES);
    for (int i = lane(); i < vecs; i += 4 * EP_LANES) {
      Vec v[4];
      for (int k = 0; k < 4; k++) if (i + k * EP_LANES < vecs) v[k] = load_once(from + i + k * EP_LANES);
      for (int j = 0; j < EP_TARGETS; j++) {
        int rank = op.rank[token * EP_TARGETS + j];
        if (rank < 0) continue;
        Vec* to = (Vec*)(op.peers[rank] + op.rows + (u64)op.row[token * EP_TARGETS + j] * EP_ROW_BYTES);
        for (int k = 0; k < 4; k++) if (i + k * EP_LANES < vecs) store_once(to + i + k * EP_LANES, v[k]);
      }
    }
  }
#endif
}

// The sum of all rows of a token, BF16.
EP_KERNEL(ceiling_pull, EP_PULL_WARPS * EP_LANES) {
  i64 first = (i64)blockIdx.x * EP_PULL_WARPS + threadIdx.x / EP_LANES;
  i64 step = (i64)gridDim.x * EP_PULL_WARPS;
#if EP_BULK
  EP_DYNAMIC_SHARED(shared);
  EP_SHARED u64 barriers[EP_PULL_WARPS * 2];
  int w = threadIdx.x / EP_LANES;
  char* stages = shared + (u64)w * 2 * EP_TARGETS * EP_PULL_PIECE;
  u64* bars = barriers + 2 * w;
  if (lane() < 2) barrier_init(&bars[lane()], 1);
  sync_block();
  u32 parity[2] = {0, 0};
  i64 items = op.tokens * EP_PIECES(EP_PULL_PIECE);
  // One piece is on its way while the one before is summed up.
  for (i64 item = first - step, n = 1; item < items; item += step, n++) {
    i64 next = item + step;
    if (next < items) {
      i64 token = next / EP_PIECES(EP_PULL_PIECE);
      int piece = (int)(next % EP_PIECES(EP_PULL_PIECE));
      u32 bytes = piece_bytes(piece, EP_PULL_PIECE);
      int stage = (int)(n & 1);
      int rank = lane() < EP_TARGETS ? op.rank[token * EP_TARGETS + lane()] : -1;
      Lanes there = ballot(rank >= 0);
      if (lane() == 0) barrier_expect(&bars[stage], count(there) * bytes);
      sync_lanes();
      if (rank >= 0) {
        bulk_load(stages + (stage * EP_TARGETS + lane()) * (u64)EP_PULL_PIECE,
                  op.peers[rank] + op.rows + (u64)op.row[token * EP_TARGETS + lane()] * EP_ROW_BYTES + (u64)piece * EP_PULL_PIECE, bytes, &bars[stage]);
      }
    }
    if (item < 0) continue;
    i64 token = item / EP_PIECES(EP_PULL_PIECE);
    int piece = (int)(item % EP_PIECES(EP_PULL_PIECE));
    u32 bytes = piece_bytes(piece, EP_PULL_PIECE);
    int stage = (int)((n - 1) & 1);
    Lanes there = ballot(lane() < EP_TARGETS && op.rank[token * EP_TARGETS + (lane() < EP_TARGETS ? lane() : 0)] >= 0);
    barrier_wait(&bars[stage], parity[stage]);
    parity[stage] ^= 1;
    for (int i = lane(); i < (int)(bytes / 16); i += EP_LANES) {
      float a[8] = {0, 0, 0, 0, 0, 0, 0, 0};
      for (int j = 0; j < EP_TARGETS; j++) {
        if (there >> j & 1) sum(a, *((const Vec*)(stages + (stage * EP_TARGETS + j) * (u64)EP_PULL_PIECE) + i));
      }
      store_once((Vec*)(op.x + (u64)token * EP_ROW_BYTES + (u64)piece * EP_PULL_PIECE) + i, rounded(a));
    }
    sync_lanes();
  }
#else
  const int vecs = EP_ROW_BYTES / 16;
  for (i64 token = first; token < op.tokens; token += step) {
    for (int i = lane(); i < vecs; i += EP_LANES) {
      float a[8] = {0, 0, 0, 0, 0, 0, 0, 0};
      Vec v[EP_TARGETS];
      for (int j = 0; j < EP_TARGETS; j++) {
        int rank = op.rank[token * EP_TARGETS + j];
        if (rank >= 0) v[j] = load_once((const Vec*)(op.peers[rank] + op.rows + (u64)op.row[token * EP_TARGETS + j] * EP_ROW_BYTES) + i);
      }
      for (int j = 0; j < EP_TARGETS; j++) {
        if (op.rank[token * EP_TARGETS + j] >= 0) sum(a, v[j]);
      }
      store_once((Vec*)(op.x + (u64)token * EP_ROW_BYTES) + i, rounded(a));
    }
  }
#endif
}
