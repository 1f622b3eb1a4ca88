// Low-latency dispatch, receiving kernel: takes the messages that ll_dispatch_send describes, and writes each row to the packed rows of its experts.

#define EP_LL_GROUP 128  // threads that unpack one message; a receiving block has four such groups
#define EP_LL_COUNTERS 64  // and more threads, which read counts
#define EP_LL_BATCH 4    // 16-byte words that a thread has under way
#define EP_LL_EXPERT_ROWS ((u64)EP_RANKS * EP_MAX_LL_TOKENS)

// A message: what the first EP_TOPK lanes of a wave know of its selections, and what its threads have of the row.
struct Incoming {
  int token;
  int rank;
  int expert;
  int ordinal;
  float weight;
  u32 scale;  // of this thread
  Vec row[EP_LL_BATCH];
};

EP_DEVICE void load_batch(Incoming& in, const char* message, int from, int vectors) {
#pragma unroll
  for (int j = 0; j < EP_LL_BATCH; j++) {
    int i = from + j * EP_LL_GROUP;
    if (i < vectors) in.row[j] = load_remote((const Vec*)(message + EP_MESSAGE_HEAD) + i);
  }
}

EP_DEVICE void load_message(Incoming& in, const char* message, int thread, int vectors, bool scales) {
  const int* head = (const int*)message;
  in.token = load_remote(head);
  in.rank = -1;
  if (lane() < EP_TOPK) {
    in.rank = load_remote(head + EP_HEAD_RANKS + lane());
    in.expert = load_remote(head + EP_HEAD_EXPERTS + lane());
    in.ordinal = load_remote(head + EP_HEAD_ORDINALS + lane());
    in.weight = as_float(load_remote((const u32*)head + EP_HEAD_WEIGHTS + lane()));
  }
  load_batch(in, message, thread, vectors);
  in.scale = scales && thread < EP_SCALES ? load_remote((const u32*)head + EP_HEAD_SCALES + thread) : 0;
}

// Waits for a message. Called by whole waves.
EP_DEVICE bool message_there(const Op& op, u64 number, int source, i64 index) {
  u64 seen;
  const bool good = lane() != 0
      || await_word(op, message_flag_from(op, number, source, index), false, &seen, LL_DISPATCH, source, number, PHASE_LL_DISPATCH_RECEIVE);
  sync_lanes();
  return ballot(good) == ballot(true);
}

// Waits for a message or the source's count of messages. Called by whole waves; "there" says whether it was the message.
EP_DEVICE bool message_or_count(const Op& op, u64 number, int source, i64 index, const u64* count, bool* there) {
  bool good = true, came = true;
  if (lane() == 0) {
    u64 seen;
    const u64* flag = message_flag_from(op, number, source, index);
    good = await_word(op, flag, false, &seen, LL_DISPATCH, source, number, PHASE_LL_DISPATCH_RECEIVE, count);
    came = reached(seen, number, false);
  }
  sync_lanes();
  *there = ballot(came) == ballot(true);
  return ballot(good) == ballot(true);
}

// Writes a message's scales to a row; "mine" is the first of this thread's.
EP_DEVICE void put_scales(const Op& op, const u32* scales, u32 mine, u64 row, int thread) {
  if (op.format == WIRE_FP8_UE8M0) {
    const int bytes = (EP_SCALES + 3) / 4 * 4;
    for (int i = thread; i < bytes; i += EP_LL_GROUP) {
      const u32 scale = i == thread ? mine : i < EP_SCALES ? load_remote(scales + i) : 0;
      ((u8*)op.out_scales)[row * bytes + i] = (u8)(scale >> 23);
    }
  } else {
    for (int i = thread; i < EP_SCALES; i += EP_LL_GROUP) ((u32*)op.out_scales)[row * EP_SCALES + i] = i == thread ? mine : load_remote(scales + i);
  }
}

// Writes a message's row to its places. Called by a group of threads; "base" is 0 where counts are to be looked up.
EP_DEVICE void unpack(const Op& op, Incoming& in, const char* message, int source, i64 index, u64 number, const int* base, int thread) {
  const int wire_row = op.format == WIRE_BF16 ? EP_BF16_ROW : EP_FP8_ROW, vectors = wire_row / 16;
  u64 row = ~0ull;
  if (in.rank == op.rank && in.expert >= 0 && in.expert < op.local_experts) {
    i64 place = in.ordinal;
    if (base) place += base[in.expert];
    for (int s = 0; s < source && !base; s++) {
      if (!is_masked(op, s)) place += (u32)load_remote(ll_counts_from(op, number, s) + 1 + in.expert);
    }
    // Outside only when the source did something else, which its announcement shows.
    if (place >= 0 && place < (i64)EP_LL_EXPERT_ROWS) row = in.expert * EP_LL_EXPERT_ROWS + place;
  }
  const Lanes mine = ballot(row != ~0ull);
  for (int from = thread; from - thread < vectors;) {
    for (Lanes left = mine; left; left &= left - 1) {
      Vec* to = (Vec*)(op.out + shuffle(row, lowest(left)) * wire_row);
#pragma unroll
      for (int j = 0; j < EP_LL_BATCH; j++) {
        int i = from + j * EP_LL_GROUP;
        if (i < vectors) store_once(to + i, in.row[j]);
      }
    }
    from += EP_LL_BATCH * EP_LL_GROUP;
    if (from - thread < vectors) load_batch(in, message, from, vectors);
  }
  for (Lanes left = op.format == WIRE_BF16 ? 0 : mine; left; left &= left - 1) {
    put_scales(op, (const u32*)message + EP_HEAD_SCALES, in.scale, shuffle(row, lowest(left)), thread);
  }
  if (thread < EP_LANES) {
    const u64 place = (u64)source * EP_MAX_LL_TOKENS + index;
    if (lane() == 0) handle_ints(op, EP_LL_HANDLE_TOKENS)[place] = in.token;
    if (lane() < EP_TOPK) {
      handle_ints(op, EP_LL_HANDLE_ROWS)[place * EP_TOPK + lane()] = (int)row;
      ((float*)handle_ints(op, EP_LL_HANDLE_ROW_WEIGHTS))[place * EP_TOPK + lane()] = in.weight;
    }
    if (row != ~0ull) op.source_tokens[row] = in.token;
  }
}

// Waits for a packed count.
EP_DEVICE bool await_count(const Op& op, const u64* p, int source, u64 number, int* value) {
  u64 seen;
  const bool good = await_word(op, p, true, &seen, LL_DISPATCH, source, number, PHASE_LL_DISPATCH_RECEIVE);
  *value = (int)(u32)seen;
  return good;
}

// Rows of an expert from the sources before one. False after a failed wait.
EP_DEVICE bool rows_before(const Op& op, i64 expert, int source, u64 number, int* rows) {
  bool all = true;
  int sum = 0;
#pragma unroll 4
  for (int s = 0; s < source; s++) {
    const u64 word = load_remote(ll_counts_from(op, number, s) + 1 + expert);
    const bool counts = !is_masked(op, s);
    all &= !counts || reached(word, number, true);
    sum += counts ? (int)(u32)word : 0;
  }
  for (int s = 0; s < source && !all; s++) {
    if (s == 0) sum = 0;
    int more = 0;
    if (!is_masked(op, s) && !await_count(op, ll_counts_from(op, number, s) + 1 + expert, s, number, &more)) return false;
    sum += more;
  }
  *rows = sum;
  return true;
}

// Compares what all sources did with what this rank does. Called by a wave.
EP_DEVICE bool compare_dispatches(const Op& op, u64 number) {
  const u64 mine[8] = {number, (u64)op.flags, op.state->mask_digest, 0, 0, 0, 0, 0};
  bool good = true;
  for (int s = lane(); s < EP_RANKS; s += EP_LANES) {
    int messages = 0;
    if (!is_masked(op, s)) {
      const u64 start = op.wait_statistics ? nanoseconds() : 0;
      good &= await(op, LL_DISPATCH, s, number, PHASE_LL_DISPATCH_RECEIVE);
      if (good && op.wait_statistics) op.wait_statistics[s] += nanoseconds() - start;
      good = good && same_announcement(op, ANNOUNCE_LL_DISPATCH, number, s, 5, mine, PHASE_LL_DISPATCH_RECEIVE)
          && await_count(op, ll_counts_from(op, number, s), s, number, &messages);
    }
    handle_ints(op, EP_LL_HANDLE_COUNTS)[s] = messages;
  }
  return good;
}

// Writes what depends on all counts. By one block; false when something failed.
EP_DEVICE bool receive_counts(const Op& op, u64 number) {
  bool good = true;
  // The first wave compares meanwhile.
  if (warp() == 0) good = compare_dispatches(op, number);
  for (i64 e = (i64)threadIdx.x - EP_LANES; good && e >= 0 && e < op.local_experts; e += (i64)blockDim.x - EP_LANES) {
    u64 rows = 0;
    for (int from = 0; from < EP_RANKS; from += 4) {
      u64 words[4];
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if (from + j < EP_RANKS) words[j] = load_remote(ll_counts_from(op, number, from + j) + 1 + e);
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int s = from + j;
        if (s >= EP_RANKS) break;
        int more = (int)(u32)words[j];
        if (is_masked(op, s)) more = 0;
        else if (!reached(words[j], number, true)) good = good && await_count(op, ll_counts_from(op, number, s) + 1 + e, s, number, &more);
        op.ranges[e * EP_RANKS + s] = (i64)(rows << 32 | (u64)more);
        rows += (u64)more;
      }
    }
    op.ll_counts[e] = (u32)rows;
    if (good && op.statistics) op.statistics[e] += (int)rows;
  }
  return all_threads(good);
}

// Results of the counting waves of a block for the others: in shared memory, with the rows before each expert.
struct Counted {
  int messages;
  int failed;
  int waves;  // that have counted; without named barriers
};

// Called by counting waves that have written.
EP_DEVICE void has_counted(Counted* counted, bool good, int groups) {
  if (lane() == 0 && !good) counted->failed = 1;
  sync_lanes();
  if (EP_NAMED_BARRIERS) {
    for (int g = 0; g < groups; g++) arrive(1 + g, EP_LL_GROUP + EP_LL_COUNTERS);
  } else {
    fence_block();
    if (lane() == 0) add(&counted->waves, 1);
  }
}

// Waits for all counting waves. Called by a group, once for each source.
EP_DEVICE void await_counted(Counted* counted, int group, int waves) {
  if (EP_NAMED_BARRIERS) {
    meet(1 + group, EP_LL_GROUP + EP_LL_COUNTERS);
  } else {
    while (*(volatile int*)&counted->waves < waves) pause();
    fence_block();
  }
}

// Takes a part of a source's messages. Called by all threads of a block.
EP_DEVICE bool receive_messages(const Op& op, u64 number, int source, int part, int parts, char* shared, Counted* counted) {
  const int group = threadIdx.x / EP_LL_GROUP, groups = (blockDim.x - EP_LL_COUNTERS) / EP_LL_GROUP, thread = threadIdx.x % EP_LL_GROUP;
  const int counters = EP_LL_COUNTERS / EP_LANES, vectors = (op.format == WIRE_BF16 ? EP_BF16_ROW : EP_FP8_ROW) / 16;
  const bool scales = op.format != WIRE_BF16;
  const u64* const count = ll_counts_from(op, number, source);
  int* base = op.local_experts <= 8192 ? (int*)shared : 0;
  bool good = true;
  if (threadIdx.x == 0) {
    counted->failed = 0;
    counted->waves = 0;
  }
  sync_block();
  if (group == groups) {
    int rows = 0;
    if (thread == 0) {
      good = await_count(op, count, source, number, &rows);
      counted->messages = rows < EP_MAX_LL_TOKENS ? rows : EP_MAX_LL_TOKENS;
    }
    for (i64 e = thread; good && e < op.local_experts; e += EP_LL_COUNTERS) {
      good &= rows_before(op, e, source, number, &rows);
      if (base) base[e] = rows;
    }
    sync_lanes();
    good = ballot(good) == ballot(true);
    has_counted(counted, good, groups);
  } else {
    Incoming in;
    bool met = false;
    // In this order all blocks have something where there are few.
    for (i64 m = (i64)group * parts + part; m < EP_MAX_LL_TOKENS; m += (i64)parts * groups) {
      // Whether there is such a message is said by the count, which may come later than the message.
      const char* message = message_from(op, number, source, m);
      bool there = false;
      good = message_or_count(op, number, source, m, count, &there);
      if (there) load_message(in, message, thread, vectors, scales);
      if (!met) await_counted(counted, group, counters);
      met = true;
      good = good && *(volatile int*)&counted->failed == 0;
      if (!good || m >= *(volatile int*)&counted->messages) break;
      if (!there) {
        good = message_there(op, number, source, m);
        if (!good) break;
        load_message(in, message, thread, vectors, scales);
      }
      unpack(op, in, message, source, m, number, base, thread);
    }
    if (!met) await_counted(counted, group, counters);
  }
  return all_threads(good);
}

EP_KERNEL_BESIDE(ll_dispatch_receive, 4 * EP_LL_GROUP + EP_LL_COUNTERS) {
  EP_DYNAMIC_SHARED(shared);
  EP_SHARED Counted counted;
  State* const state = op.state;
  // The last block has the counts to itself, so that no other block waits for them.
  const int workers = gridDim.x > 1 ? (int)gridDim.x - 1 : 1, block = blockIdx.x;
  const bool leader = block == (int)gridDim.x - 1;
  // This kernel may begin before the sending one has ended: it takes the rows while that still sends. What it needs of that one was
  // written before all its blocks allowed this one to begin.
  const u64 number = load_remote(&state->ll_dispatch_of[op.bank]);
  const u32 refused = load_remote(&state->ll_refused[op.bank]);
  bool masked = is_masked(op, block % EP_RANKS);
  bool good = true;
  // What follows begins when all blocks allow it, so the last one is enough to keep it behind the sending kernel.
  if (!leader) launch_dependents();
  if (!refused) {
    good = await_hosts(op, LL_DISPATCH, number, PHASE_LL_DISPATCH_RECEIVE);
    if (good && leader) good = receive_counts(op, number);
    if (block < workers) {
      // Blocks of the same source take its messages in turn.
      for (int source = block % EP_RANKS; good && source < EP_RANKS; source += workers) {
        if (source != block % EP_RANKS) masked = is_masked(op, source);
        if (masked) continue;
        const int parts = workers > EP_RANKS ? (workers - 1 - source) / EP_RANKS + 1 : 1;
        good = receive_messages(op, number, source, block / EP_RANKS, parts, shared, &counted);
      }
    }
    // Also after a failure the bank is free: what is left of the operation is not read any more. Other blocks may still read, see give_credit.
    if (block == 0 && threadIdx.x == 0) state->ll_dispatch_taken[number & 1] = number + 1;
    if (!good && threadIdx.x == 0) ((LowLatencyHandleHead*)op.handle)->incomplete = 1;
  }
  if (leader) {
    wait_for_previous();
    launch_dependents();
  }
}
