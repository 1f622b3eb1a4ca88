// Receiving kernels of low-latency combine: add up the slots of each token.

#define EP_LL_RECEIVED ((EP_LL_VECTORS + EP_LANES - 1) / EP_LANES)  // waves that work on a token
#define EP_LOG_SLOTS 4                                // slots that a decoding wave holds at a time

// What a wave knows of a token: its lanes have the selections.
struct Wanted {
  int owner;     // of this lane's selection, -1 where nothing comes for it
  float weight;
  Lanes slots;   // that hold something
  const char* slot;  // of this lane's selection; with EP_CHANNELS
};

EP_DEVICE Wanted wanted(const Op& op, u64 number, i64 token) {
  Wanted all;
  all.owner = -1;
  all.weight = 0;
  if (lane() < EP_TOPK) {
    const i64 i = token * EP_TOPK + lane();
    all.owner = handle_ints(op, EP_LL_HANDLE_OWNERS)[i];
    if (!op.partial) all.weight = (op.weights ? op.weights : (const float*)handle_ints(op, EP_LL_HANDLE_WEIGHTS))[i];
  }
  if (EP_RANKS <= EP_LANES) {
    // All at once, not each after the owner is known.
    const Lanes masked = ballot(lane() < EP_RANKS && is_masked(op, lane()));
    if (all.owner >= 0 && (masked >> all.owner & 1)) all.owner = -1;
  } else if (all.owner >= 0 && is_masked(op, all.owner)) {
    all.owner = -1;
  }
  const Lanes alike = same(all.owner);
  if (op.partial && lowest(alike) != lane()) all.owner = -1;
  all.slots = ballot(all.owner >= 0);
  // All at once, and before they are waited for: where they lie depends on whose they are.
  all.slot = EP_HAS_CHANNELS && all.owner >= 0 ? combine_slot_from(op, number, all.owner, token, lane()) : 0;
  return all;
}

// The slot of a selection. Called by whole waves.
EP_DEVICE const char* slot_of(const Op& op, const Wanted& all, u64 number, i64 token, int k) {
  if (EP_HAS_CHANNELS) return (const char*)shuffle((u64)all.slot, k);
  return combine_slot_at(op.local, number, token, k);
}

// Waits for the slots of a token. Called by whole waves.
EP_DEVICE bool slots_there(const Op& op, const Wanted& all, u64 number, i64 token) {
  u64 seen;
  const bool good = all.owner < 0
      || await_word(op, combine_flag_from(op, number, all.owner, token, lane()), false, &seen, LL_COMBINE, all.owner, number, PHASE_LL_COMBINE_RECEIVE);
  sync_lanes();
  return ballot(good) == ballot(true);
}

EP_DEVICE void receive_rows(const Op& op, const Wanted& all, u64 number, i64 token, int column) {
  const int vector = column * EP_LANES + lane();
  float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (Lanes left = all.slots; left;) {
    Vec v[EP_LL_ROWS];
    Lanes batch = left;
#pragma unroll
    for (int j = 0; j < EP_LL_ROWS; j++) {
      if (!left) break;
      const char* slot = slot_of(op, all, number, token, lowest(left)) + EP_COMBINE_SLOT_HEAD + (u64)vector * 16;
      if (vector < EP_LL_VECTORS) v[j] = load_remote((const Vec*)slot);
      left &= left - 1;
    }
#pragma unroll
    for (int j = 0; j < EP_LL_ROWS; j++) {
      if (!batch) break;
      if (op.partial) add_pairs(sums, v[j]);
      else add_weighted(sums, shuffle(all.weight, lowest(batch)), v[j]);
      batch &= batch - 1;
    }
  }
  if (vector < EP_LL_VECTORS) store_once((Vec*)op.out + token * EP_LL_VECTORS + vector, round_sums(sums));
}

// What a wave has loaded of some slots: a batch of coded blocks, and the range of each lane's block.
struct Coded {
  u32 range[EP_LOG_SLOTS];
  Vec part[EP_LOG_SLOTS][2];
};

// Loads the blocks from "block" on of some slots, of all of them at once. Called by whole waves.
EP_DEVICE void load_coded(const char* const* slot, int slots, int block, Coded& coded) {
  int at[EP_LOG_SLOTS];
#pragma unroll
  for (int j = 0; j < EP_LOG_SLOTS; j++) at[j] = 256 * block;
  // Where the blocks begin depends on how those before them are coded.
  for (int from = 0; from <= block; from += EP_LANES) {
    const int b = from + lane();
    u32 ranges[EP_LOG_SLOTS];
#pragma unroll
    for (int j = 0; j < EP_LOG_SLOTS; j++) ranges[j] = j < slots && b < EP_SCALES && b < block + EP_LOG_BLOCKS ? load_remote((const u32*)slot[j] + b) : 0;
#pragma unroll
    for (int j = 0; j < EP_LOG_SLOTS; j++) {
      at[j] -= 96 * count(ballot(b < block && log_fmt_coded(ranges[j])));
      coded.range[j] = (u32)shuffle((int)ranges[j], block % EP_LANES + lane() / 8);
    }
  }
#pragma unroll
  for (int j = 0; j < EP_LOG_SLOTS; j++) {
    int bytes;
    log_fmt_place(8 * block + lane() < EP_HIDDEN / 16, log_fmt_coded(coded.range[j]), &bytes);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int vector = i * EP_LANES + lane();
      if (j < slots && 16 * vector < bytes) coded.part[j][i] = load_remote((const Vec*)(slot[j] + EP_COMBINE_SLOT_HEAD + at[j]) + vector);
    }
  }
}

EP_DEVICE void receive_coded(const Op& op, const Wanted& all, u64 number, i64 token, int block, Vec* stage) {
  float sums[16];
#pragma unroll
  for (int i = 0; i < 16; i++) sums[i] = 0;
  for (Lanes left = all.slots; left;) {
    const char* slot[EP_LOG_SLOTS];
    float weight[EP_LOG_SLOTS];
    int slots = 0;
#pragma unroll
    for (int j = 0; j < EP_LOG_SLOTS; j++) {
      if (!left) break;
      slot[j] = slot_of(op, all, number, token, lowest(left));
      weight[j] = shuffle(all.weight, lowest(left));
      left &= left - 1;
      slots++;
    }
    Coded coded;
    load_coded(slot, slots, block, coded);
    // One copy of this code, which is large.
#pragma unroll 1
    for (int j = 0; j < slots; j++) {
      u32 range = coded.range[0];
      Vec low = coded.part[0][0], high = coded.part[0][1];
      float by = weight[0];
#pragma unroll
      for (int q = 1; q < EP_LOG_SLOTS; q++) {
        if (q != j) continue;
        range = coded.range[q];
        low = coded.part[q][0];
        high = coded.part[q][1];
        by = weight[q];
      }
      stage[lane()] = low;
      stage[EP_LANES + lane()] = high;
      sync_lanes();
      log_fmt_add(range, 8 * block + lane() < EP_HIDDEN / 16, (const char*)stage, by, !op.partial, sums);
      sync_lanes();
    }
  }
  const int vector = 16 * block + 2 * lane();
  if (vector < EP_LL_VECTORS) {
    Vec* to = (Vec*)op.out + token * EP_LL_VECTORS + vector;
    store_once(to, round_sums(sums));
    store_once(to + 1, round_sums(sums + 8));
  }
}

// Compares what all sources did with what this rank does. By one wave.
EP_DEVICE void compare_sources(const Op& op, u64 number) {
  const u64 dispatch = ((const LowLatencyHandleHead*)op.handle)->number;
  const u64 mine[8] = {number, (u64)op.flags, op.state->mask_digest, 0, dispatch, 0, 0, 0};
  for (int s = lane(); s < EP_RANKS; s += EP_LANES) {
    if (is_masked(op, s)) continue;
    const u64 start = op.wait_statistics ? nanoseconds() : 0;
    if (!await(op, LL_COMBINE, s, number, PHASE_LL_COMBINE_RECEIVE)) continue;
    if (op.wait_statistics) op.wait_statistics[s] += nanoseconds() - start;
    same_announcement(op, ANNOUNCE_LL_COMBINE, number, s, 5, mine, PHASE_LL_COMBINE_RECEIVE);
  }
}

// "receive" is called by whole waves for a token and a part of it.
template <class Receive>
EP_DEVICE void combine_received(const Op& op, u64 number, int parts, Receive receive) {
  const i64 waves = (i64)(blockDim.x / EP_LANES) * gridDim.x;
  // The wave that has the least to do, and before that: when ranks do different things, nothing else may come.
  if ((i64)warp() * gridDim.x + blockIdx.x == waves - 1) compare_sources(op, number);
  sync_lanes();
  for (i64 item = (i64)warp() * gridDim.x + blockIdx.x; item < op.tokens * parts; item += waves) {
    const i64 token = item / parts;
    const Wanted all = wanted(op, number, token);
    if (!slots_there(op, all, number, token)) break;
    receive(all, number, token, (int)(item % parts));
  }
}

template <class Receive>
EP_DEVICE void combine_receive(const Op& op, int parts, Receive receive) {
  State* const state = op.state;
  // May begin while the sending kernel runs: see ll_dispatch_receive.
  const u64 number = load_remote(&state->ll_combine_of[op.bank]);
  const u32 refused = load_remote(&state->ll_refused[2 + op.bank]);
  const bool leader = blockIdx.x == gridDim.x - 1;
  if (!leader) launch_dependents();
  // Of ranks that the host posts for all slots are there when the counter is.
  if (!refused && await_hosts(op, LL_COMBINE, number, PHASE_LL_COMBINE_RECEIVE)) combine_received(op, number, parts, receive);
  // As in ll_dispatch_receive: after a failure too, and other blocks may still read, see give_credit.
  if (!refused && blockIdx.x == 0 && threadIdx.x == 0) state->ll_combine_taken[number & 1] = number + 1;
  if (leader) {
    wait_for_previous();
    launch_dependents();
  }
}

EP_KERNEL(ll_combine_receive, 1024) {
  combine_receive(op, EP_LL_RECEIVED, [&](const Wanted& all, u64 number, i64 token, int part) { receive_rows(op, all, number, token, part); });
}

EP_KERNEL(ll_combine_receive_coded, EP_LOG_THREADS) {
  EP_DYNAMIC_SHARED(shared);
  Vec* const stage = (Vec*)(shared + (u64)warp() * EP_LOG_STAGE);
  combine_receive(op, EP_LOG_BATCHES, [&](const Wanted& all, u64 number, i64 token, int part) {
    receive_coded(op, all, number, token, part * EP_LOG_BLOCKS, stage);
  });
}
