// Low-latency combine. A sending kernel writes the row of every selection, or one sum for each (token, rank), to its slot on the token's rank;
// ll_combine_receive adds up the slots of each token in top-k order. Every slot has a flag of its own. The counter LL_COMBINE only says that the
// source's announcement is there, by which ranks see that they do the same; from ranks that the host posts for it says that all slots are there too.

#define EP_LL_VECTORS (EP_HIDDEN / 8)                 // 16-byte words of a row
#define EP_LL_ROWS 8                                  // rows that a receiving lane has under way
#define EP_LOG_BATCHES ((EP_SCALES + EP_LOG_BLOCKS - 1) / EP_LOG_BLOCKS)
#define EP_LOG_STAGE (EP_LOG_BLOCKS * 256)            // bytes of a batch of blocks as they are
#define EP_LOG_THREADS 512                            // of a kernel that codes or decodes

EP_DEVICE void add_weighted(float* sums, float weight, Vec v) {
  sums[0] = fma(weight, low_half(v.x), sums[0]);
  sums[1] = fma(weight, high_half(v.x), sums[1]);
  sums[2] = fma(weight, low_half(v.y), sums[2]);
  sums[3] = fma(weight, high_half(v.y), sums[3]);
  sums[4] = fma(weight, low_half(v.z), sums[4]);
  sums[5] = fma(weight, high_half(v.z), sums[5]);
  sums[6] = fma(weight, low_half(v.w), sums[6]);
  sums[7] = fma(weight, high_half(v.w), sums[7]);
}

EP_DEVICE const Vec* row_of(const Op& op, int row) { return (const Vec*)(op.x + (u64)row * EP_BF16_ROW); }

// ---- Send. Three kernels, since they need different numbers of registers.
// What a block must know to send.
struct Sending {
  u64 number;
  i64 messages;       // that came with the dispatch
  const i64* before;  // [R + 1]: messages of the ranks before, counted from the rank after this one
  char* const* peer;  // op.peers
};

// One message that came with the dispatch: where its selections' rows lie here, and the rank that its token belongs to.
struct Outgoing {
  int row;       // of the selection of this lane, -1 where it is not on this rank
  float weight;  // of this lane's selection
  Lanes here;    // selections that are
  int token;
  int rank;      // of the token
  char* peer;    // op.peers of that rank
};

// Called by whole waves.
EP_DEVICE Outgoing outgoing(const Op& op, const Sending& all, i64 index) {
  int place = 0;
  for (int from = 0; from < EP_RANKS; from += EP_LANES) {
    const int r = from + lane();
    place += count(ballot(r < EP_RANKS && all.before[r + 1] <= index));
  }
  const int source = (int)((op.rank + 1 + place) % EP_RANKS);
  const u64 message = (u64)source * EP_MAX_LL_TOKENS + (u64)(index - all.before[place]);
  Outgoing out;
  out.row = -1;
  out.weight = 0;
  if (lane() < EP_TOPK) {
    out.row = handle_ints(op, EP_LL_HANDLE_ROWS)[message * EP_TOPK + lane()];
    if (op.partial) out.weight = ((const float*)handle_ints(op, EP_LL_HANDLE_ROW_WEIGHTS))[message * EP_TOPK + lane()];
  }
  out.token = handle_ints(op, EP_LL_HANDLE_TOKENS)[message];
  out.rank = source;
  out.peer = all.peer[source];
  out.here = ballot(out.row >= 0);
  return out;
}

EP_DEVICE char* slot_of(const Op& op, const Sending& all, const Outgoing& out, int k) { return combine_slot_to(op, out.peer, out.rank, all.number, out.token, k); }
// Where a row lies in its slot when it is not coded.
EP_DEVICE char* row_in_slot(const Op& op, const Sending& all, const Outgoing& out, int k) { return slot_of(op, all, out, k) + EP_COMBINE_SLOT_HEAD; }

// Publishes a slot of which "bytes" bytes have been stored from "what" on. Called by all lanes of a wave, all of which see them.
EP_DEVICE void publish_slot(const Op& op, const Sending& all, const Outgoing& out, int k, const char* what, u64 bytes) {
  u64* const flag = combine_flag_to(op, out.peer, out.rank, all.number, out.token, k);
  publish_by_wave(op, out.rank, what, bytes, flag, all.number, PHASE_LL_COMBINE_RECEIVE);
}
// Publishes one that holds a row as it is.
EP_DEVICE void publish_row(const Op& op, const Sending& all, const Outgoing& out, int k) {
  publish_slot(op, all, out, k, row_in_slot(op, all, out, k), EP_BF16_ROW);
}

// The sum of a message's rows at one of their 16-byte words, with up to EP_LL_ROWS loads on their way. Called by whole waves.
EP_DEVICE Vec sum_at(const Op& op, const Outgoing& out, int vector) {
  float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (Lanes left = out.here; left;) {
    Vec v[EP_LL_ROWS];
    Lanes batch = left;
#pragma unroll
    for (int j = 0; j < EP_LL_ROWS; j++) {
      if (!left) break;
      const int row = shuffle(out.row, lowest(left));
      if (vector < EP_LL_VECTORS) v[j] = load_once(row_of(op, row) + vector);
      left &= left - 1;
    }
#pragma unroll
    for (int j = 0; j < EP_LL_ROWS; j++) {
      if (!batch) break;
      add_weighted(sums, shuffle(out.weight, lowest(batch)), v[j]);
      batch &= batch - 1;
    }
  }
  return round_sums(sums);
}

// Messages of the ranks before each, counted from the rank after this one. Called by a wave.
EP_DEVICE void count_messages(const Op& op, i64* before) {
  i64 all = 0;
  if (lane() == 0) before[0] = 0;
  for (int from = 0; from < EP_RANKS; from += EP_LANES) {
    const int source = (int)((op.rank + 1 + from + lane()) % EP_RANKS);
    int sum = 0;
    if (from + lane() < EP_RANKS) {
      sum = handle_ints(op, EP_LL_HANDLE_COUNTS)[source];
      if (is_masked(op, source)) sum = 0;
    }
    for (int by = 1; by < EP_LANES; by *= 2) {
      const int other = shuffle_up(sum, by);
      if (lane() >= by) sum += other;
    }
    if (from + lane() < EP_RANKS) before[from + lane() + 1] = all + sum;
    all += shuffle(sum, EP_LANES - 1);
  }
}

// What a sending block learns before it begins, in shared memory.
struct CombineStart {
  char* peer[EP_RANKS];
  i64 before[EP_RANKS + 1];  // see Sending
  u64 number;
  u64 dispatch;  // number of the dispatch that made the handle, 0 where it was refused or not all was received
  u64 credit;    // least that ranks have given
  int stop;      // an operation before has failed
};

// Asks for all that a block must know at once. Called by all threads of it, which synchronise after it.
EP_DEVICE void load_start(const Op& op, CombineStart* start) {
  const int threads = blockDim.x;
  // What never changes may be asked for before the kernel before has ended.
  char* const peer0 = threadIdx.x < EP_RANKS ? op.peers[threadIdx.x] : 0;
  wait_for_previous();
  for (int r = threadIdx.x; r < EP_RANKS; r += threads) start->peer[r] = r == (int)threadIdx.x ? peer0 : op.peers[r];
  if (threadIdx.x == 0) {
    // In this order: see ll_dispatch_send.
    start->number = load_acquire(&op.state->ll_combine_number) + 1;
    start->stop = failed(op);
  }
  if (warp() == 0) count_messages(op, start->before);
  if ((int)threadIdx.x >= threads - EP_LANES) {
    const LowLatencyHandleHead* handle = (const LowLatencyHandleHead*)op.handle;
    const u64 from = handle->incomplete ? 0 : handle->number;
    const u64 least = least_credit(op, LL_COMBINE_CREDIT);
    if ((int)threadIdx.x == threads - 1) {
      start->dispatch = from;
      start->credit = least;
    }
  }
}

// Whether the operation may begin. Called by all threads of a block, with the same result in all blocks but where a wait fails.
EP_DEVICE bool may_combine(const Op& op, const CombineStart& start) {
  State* const state = op.state;
  const bool leader = threadIdx.x == blockDim.x - 1;
  if (start.stop || start.dispatch == 0) {
    if (leader && start.stop) state->ll_refused[2 + op.bank] = 1;
    if (leader && !start.stop && blockIdx.x == 0) refuse(op, &state->ll_refused[2 + op.bank], FAILURE_VOID_HANDLE, op.rank, 0, 0, 0);
    if (leader) fence_device();
    return false;
  }
  const u64 number = start.number;
  if (leader) {
    count_operation(op, EP_DONE_LL_COMBINE, &state->ll_combine_number, &state->ll_combine_of[op.bank], &state->ll_refused[2 + op.bank], number);
    // See may_dispatch.
    fence_device();
    launch_dependents();
  }
  if (number <= 2 || start.credit >= number - 2 || await_credits(op, LL_COMBINE_CREDIT, number, PHASE_LL_COMBINE_CREDIT)) return true;
  if (leader) {
    state->ll_refused[2 + op.bank] = 1;
    state->ll_combine_taken[number & 1] = number + 1;
    store_release(&state->ll_combine_number, number);
  }
  return false;
}

// Says to all ranks what this one does, but to those that the host posts to: see end_combine. Not after the slots, which have flags of their own. Called
// by a wave.
EP_DEVICE void announce_combine(const Op& op, char* const* peer, u64 number, u64 dispatch) {
  for (int r = lane(); r < EP_RANKS; r += EP_LANES) {
    if (is_masked(op, r)) continue;
    u64* words = (u64*)announcement_at(peer[r], ANNOUNCE_LL_COMBINE, number, op.rank);
    const u64 values[8] = {number, (u64)op.flags, op.state->mask_digest, 0, dispatch, 0, 0, 0};
    for (int w = 0; w < 8; w++) store_remote(words + w, values[w]);
    if (!is_posted(op, r)) store_published(counter_to(op, peer[r], r, LL_COMBINE), number);
  }
  if (!EP_DEVICE_POSTED) return;
  sync_lanes();
  for (int r = 0; r < EP_RANKS; r++) {
    if (op.paths[r].kind != PATH_DEVICE_POSTED || is_masked(op, r)) continue;
    put_announcement(op, peer[r], r, ANNOUNCE_LL_COMBINE, number, LL_COMBINE, PHASE_LL_COMBINE_RECEIVE);
  }
}

// Says to ranks that the host posts to that all is there, with all flags, and what this one does. Called by all threads of the last block: one wave
// for each rank, whose commands are executed in order.
EP_DEVICE void end_combine(const Op& op, char* const* peer, u64 number) {
  for (int r = warp(); r < EP_RANKS; r += blockDim.x / EP_LANES) {
    if (op.paths[r].kind != PATH_HOST_POSTED || is_masked(op, r)) continue;
    put_from_channel(op, r, (const char*)combine_flag_to(op, peer[r], r, number, 0, 0), EP_SLOT_FLAG_BANK, PHASE_LL_COMBINE_RECEIVE);
    put_announcement(op, peer[r], r, ANNOUNCE_LL_COMBINE, number, LL_COMBINE, PHASE_LL_COMBINE_RECEIVE);
  }
}

// "send" is called by all threads of a block.
template <class Send>
EP_DEVICE void combine_send(const Op& op, Send send) {
  EP_SHARED CombineStart start;
  EP_SHARED CachedPaths cache;
  cache_paths(op, &cache);
  load_start(op, &start);
  sync_block();
  if (!may_combine(op, start)) return;
  const Op copy = with_paths(op, &cache);
  const Op& cached = EP_HAS_CHANNELS ? copy : op;
  const u64 number = start.number;
  const bool last_wave = threadIdx.x >= blockDim.x - EP_LANES;
  if (blockIdx.x == gridDim.x - 1 && last_wave) announce_combine(cached, start.peer, number, start.dispatch);
  send(cached, Sending{number, start.before[EP_RANKS], start.before, start.peer});
  if (blockIdx.x == 0 && last_wave) give_credit(cached, LL_COMBINE_CREDIT, number);
  if (EP_HOST_POSTED && last_block(cached, EP_DONE_LL_COMBINE_END)) end_combine(cached, start.peer, number);
}
