// Low-latency combine. A sending kernel writes the row of every selection, or one sum for each (token, rank), to its slot on the token's rank;
// ll_combine_receive adds up the slots of each token in top-k order. Every slot has a flag of its own. The counter LL_COMBINE only says that the
// source's announcement is there, by which ranks see that they do the same; from ranks that the host posts for it says that all slots are there too.

#define EP_LL_VECTORS (EP_HIDDEN / 8)                 // 16-byte words of a row
#define EP_LL_COLUMNS 4                               // of those a lane of a sending wave works on
#define EP_LL_PIECE (EP_LL_COLUMNS * EP_LANES)        // and the wave
#define EP_LL_PIECES ((EP_LL_VECTORS + EP_LL_PIECE - 1) / EP_LL_PIECE)
#define EP_LL_SPAN (EP_LL_PIECES < 256 / EP_LANES ? EP_LL_PIECES : 256 / EP_LANES)  // waves that work on one message
#define EP_LL_SPANS ((EP_LL_PIECES + EP_LL_SPAN - 1) / EP_LL_SPAN)
#define EP_LL_SPAN_VECTORS (EP_LL_SPAN * EP_LL_PIECE)
#define EP_LL_ABREAST 4                               // messages that a block works on
#define EP_LL_RECEIVED ((EP_LL_VECTORS + EP_LANES - 1) / EP_LANES)  // waves that work on a token
#define EP_LL_ROWS 8                                  // rows that a receiving lane has under way
#define EP_LOG_BATCHES ((EP_SCALES + EP_LOG_BLOCKS - 1) / EP_LOG_BLOCKS)
#define EP_LOG_STAGE (EP_LOG_BLOCKS * 256)            // bytes of a batch of blocks as they are
#define EP_LOG_THREADS 512                            // of a kernel that codes or decodes
#define EP_LOG_HELD 2                                 // batches that a coding wave holds at a time
#define EP_LOG_SLOTS 4                                // slots that a decoding wave holds at a time

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

// ---- Send.
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

// Stores "vectors" 16-byte words of a row from a team's stage. Called by one lane: when it returns the stage has been read, and where they end the row all of
// the row is stored.
EP_DEVICE void store_span(Vec* to, const Vec* stage, int vectors, bool ends) {
  bulk_store(to, stage, vectors * 16);
  bulk_commit();
  if (ends) bulk_wait();
  else bulk_wait_read();
}

// Sums: TEAMS teams of waves each work on a message, whose first wave publishes it.
template <int TEAMS>
EP_DEVICE void send_sums(const Op& op, const Sending& all, char* shared) {
  constexpr int waves = EP_LL_SPAN * EP_LL_ABREAST / TEAMS, span = EP_LL_SPAN_VECTORS * EP_LL_ABREAST / TEAMS;
  const int team = warp() / waves, member = warp() % waves;
  Vec* const stage = (Vec*)shared + team * span;
  for (i64 from = blockIdx.x; from < all.messages; from += gridDim.x * TEAMS) {
    const i64 index = from + (i64)team * gridDim.x;
    Outgoing out;
    out.here = 0;
    if (index < all.messages) out = outgoing(op, all, index);
    const int k = out.here ? lowest(out.here) : 0;
    for (int first = 0; first < EP_LL_VECTORS; first += span) {
      const int here = EP_LL_VECTORS - first < span ? EP_LL_VECTORS - first : span;
      const bool ends = first + span >= EP_LL_VECTORS;
      Vec* const row = out.here ? (Vec*)row_in_slot(op, all, out, k) + first : 0;
      for (int i = member * EP_LANES + lane(); out.here && i - lane() < here; i += waves * EP_LANES) {
        const Vec sum = sum_at(op, out, first + i);
        if (i >= here) continue;
        if (EP_BULK) stage[i] = sum;
        else store_remote(row + i, sum);
      }
      bulk_fence();
      if (EP_BULK || ends) sync_block();
      if (out.here && member == 0) {
        if (EP_BULK && lane() == 0) store_span(row, stage, here, ends);
        if (ends) {
          sync_lanes();
          publish_row(op, all, out, k);
        }
      }
      // Before the stage is written again it has been read.
      if (EP_BULK && (!ends || from + gridDim.x * TEAMS < all.messages)) sync_block();
    }
  }
}

// Copies a row by way of "stage", "piece" bytes at a time. Called by one lane, which has the stage, the barrier "arrived" and its parity to itself.
EP_DEVICE void copy_row_by_bulk(char* to, const char* from, i64 piece, char* stage, u64* arrived, u32* parity) {
  for (i64 at = 0; at < EP_BF16_ROW; at += piece) {
    const u32 bytes = (u32)(EP_BF16_ROW - at < piece ? EP_BF16_ROW - at : piece);
    barrier_expect(arrived, bytes);
    bulk_load(stage, from + at, bytes, arrived);
    barrier_wait(arrived, *parity);
    *parity ^= 1;
    bulk_store(to + at, stage, bytes);
    bulk_commit();
    bulk_wait_read();
  }
  bulk_wait();
}

// Copies a row. Called by a wave.
EP_DEVICE void copy_row_by_wave(Vec* to, const Vec* from) {
  for (int i = lane(); i < EP_LL_VECTORS; i += 8 * EP_LANES) {
    Vec v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) if (i + j * EP_LANES < EP_LL_VECTORS) v[j] = load_once(from + i + j * EP_LANES);
#pragma unroll
    for (int j = 0; j < 8; j++) if (i + j * EP_LANES < EP_LL_VECTORS) store_remote(to + i + j * EP_LANES, v[j]);
  }
}

// Rows as they are: a wave copies one to its slot and publishes it. "op.extra" bytes are moved at a time.
EP_DEVICE void send_rows(const Op& op, const Sending& all, char* shared) {
  // Waves share a message, since most have a few rows here: as many as it can have rows where there are enough waves, or a put keeps a wave longer.
  const i64 waves = (i64)(blockDim.x / EP_LANES) * gridDim.x;
  const int members = EP_DEVICE_POSTED || all.messages * EP_TOPK <= waves ? EP_TOPK : EP_LL_ABREAST;
  EP_SHARED u64 arrived[32];
  char* const stage = shared + (u64)warp() * op.extra;
  u32 parity = 0;  // of the first lane
  if (EP_BULK) {
    if (lane() == 0) {
      barrier_init(&arrived[warp()], 1);
      bulk_fence();
    }
    sync_block();
    bulk_fence_global();
  }
  // One after another they are in different blocks.
  for (i64 share = (i64)warp() * gridDim.x + blockIdx.x; share < all.messages * members; share += waves) {
    const Outgoing out = outgoing(op, all, share / members);
    const int member = (int)(share % members);
    int turn = 0;
    for (Lanes left = out.here; left; left &= left - 1) {
      const int k = lowest(left);
      const Vec* from = row_of(op, shuffle(out.row, k));
      if (turn++ % members != member) continue;
      char* to = row_in_slot(op, all, out, k);
      if (!EP_BULK) copy_row_by_wave((Vec*)to, from);
      else if (lane() == 0) copy_row_by_bulk(to, (const char*)from, op.extra, stage, &arrived[warp()], &parity);
      sync_lanes();
      publish_row(op, all, out, k);
    }
  }
}

// Loads what goes into a slot from the 16-byte word "first" of the row on, as much as a wave holds: of the selections in "rows" the sum, or the only one.
EP_DEVICE void load_sent(const Op& op, const Outgoing& out, Lanes rows, int first, Vec* stage) {
  constexpr int each = EP_LOG_HELD * EP_LOG_STAGE / 16 / EP_LANES;
  if (op.partial) {
#pragma unroll 1
    for (int i = lane(); i < each * EP_LANES; i += EP_LANES) stage[i] = sum_at(op, out, first + i);
    return;
  }
  const Vec* from = row_of(op, shuffle(out.row, lowest(rows))) + first;
  Vec v[each];
#pragma unroll
  for (int j = 0; j < each; j++) v[j] = first + j * EP_LANES + lane() < EP_LL_VECTORS ? load_once(from + j * EP_LANES + lane()) : Vec{0, 0, 0, 0};
#pragma unroll
  for (int j = 0; j < each; j++) stage[j * EP_LANES + lane()] = v[j];
}

// Waves of a block that code a row together.
struct Team {
  int size;
  int member;  // this wave
  int* bytes;  // one for each wave: of what it has coded

  EP_MEMBER void sync() const {
    if (size > 1) sync_block();
    else sync_lanes();
  }
};

// Codes a row in LogFMT. Where a wave's blocks lie depends on how those before them are coded, so that all ranges are found first. Called by all waves of a
// block; a team without rows only synchronises.
EP_DEVICE void send_coded_row(const Op& op, const Sending& all, const Outgoing& out, Lanes rows, Vec* stage, const Team& team) {
  const int first = rows ? lowest(rows) : 0;
  char* const slot = rows ? slot_of(op, all, out, first) : 0;
  int at = EP_COMBINE_SLOT_HEAD;
  for (int begin = 0; begin < EP_LOG_BATCHES; begin += team.size * EP_LOG_HELD) {
    const int group = (begin + team.member * EP_LOG_HELD) * EP_LANES + lane();
    u32 range[EP_LOG_HELD];
    int mine = 0;
    if (rows) load_sent(op, out, rows, 2 * (group - lane()), stage);
    sync_lanes();
#pragma unroll
    for (int j = 0; j < EP_LOG_HELD && rows; j++) {
      const bool inside = group + j * EP_LANES < EP_HIDDEN / 16;
      range[j] = log_fmt_range((const u32*)(stage + 2 * (j * EP_LANES + lane())), inside);
      int batch;
      log_fmt_place(inside, log_fmt_coded(range[j]), &batch);
      mine += batch;
      if (inside && lane() % 8 == 0) store_remote((u32*)slot + (group + j * EP_LANES) / 8, range[j]);
    }
    if (lane() == 0) team.bytes[warp()] = mine;
    team.sync();
    int to = at;
    for (int m = 0; m < team.size; m++) {
      const int of = team.bytes[warp() - team.member + m];
      at += of;
      if (m < team.member) to += of;
    }
    // One copy of this code, which is large.
#pragma unroll 1
    for (int j = 0; j < EP_LOG_HELD && rows; j++) {
      Vec* const batch = stage + 2 * j * EP_LANES;
      const Vec pairs[2] = {batch[2 * lane()], batch[2 * lane() + 1]};
      sync_lanes();
      const int bytes = log_fmt_encode(j == 0 ? range[0] : range[1], (const u32*)pairs, group + j * EP_LANES < EP_HIDDEN / 16, (char*)batch);
      sync_lanes();
      for (int i = lane(); i < (bytes + 15) / 16; i += EP_LANES) store_remote((Vec*)(slot + to) + i, batch[i]);
      to += bytes;
    }
    team.sync();
  }
  if (rows && team.member == 0) publish_slot(op, all, out, first, slot, at);
}

// Sums or rows in LogFMT. As many waves work on each as there are for all of them at once.
EP_DEVICE void send_coded(const Op& op, const Sending& all, char* shared) {
  constexpr int waves = EP_LOG_THREADS / EP_LANES;
  EP_SHARED int bytes[waves];
  Vec* const stage = (Vec*)(shared + (u64)warp() * EP_LOG_HELD * EP_LOG_STAGE);
  const int each = op.partial ? 1 : EP_TOPK;
  int size = 8;
  while (size > 1 && all.messages * each * size > waves * gridDim.x) size /= 2;
  const i64 teams = (i64)(waves / size) * gridDim.x;
  for (i64 from = blockIdx.x; from < all.messages * each; from += teams) {
    const i64 item = from + (i64)(warp() / size) * gridDim.x;
    Outgoing out;
    out.here = 0;
    if (item < all.messages * each) out = outgoing(op, all, item / each);
    const Lanes rows = op.partial ? out.here : out.here & (Lanes)1 << item % each;
    send_coded_row(op, all, out, rows, stage, Team{size, warp() % size, bytes});
  }
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

// Three kernels, since they need different numbers of registers. EP_LL_ABREAST teams of waves.
EP_KERNEL(ll_combine_send_sums, EP_LL_ABREAST * EP_LL_SPAN * EP_LANES) {
  EP_DYNAMIC_SHARED(shared);
  combine_send(op, [&](const Op& cached, const Sending& all) {
    // Where there are few messages a block has fewer teams, and they have more waves.
    if (all.messages <= gridDim.x) send_sums<1>(cached, all, shared);
    else if (all.messages <= 2 * gridDim.x) send_sums<2>(cached, all, shared);
    else send_sums<EP_LL_ABREAST>(cached, all, shared);
  });
}

EP_KERNEL(ll_combine_send_rows, 1024) {
  EP_DYNAMIC_SHARED(shared);
  combine_send(op, [&](const Op& cached, const Sending& all) { send_rows(cached, all, shared); });
}

EP_KERNEL(ll_combine_send_coded, EP_LOG_THREADS) {
  EP_DYNAMIC_SHARED(shared);
  combine_send(op, [&](const Op& cached, const Sending& all) { send_coded(cached, all, shared); });
}

// ---- Receive.
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
