// High-throughput combine. One row a (token, rank) is read by the token's rank where it lies in the other rank's memory, or where that rank has a channel in
// the channel, and added up in the same pass. In the exact by-expert form every selection's row is first sent to its slot on the token's rank.
//
// Launched in this order: ht_stage where rows or weights must first be stored where the others read them; ht_selections in the exact by-expert form, else
// ht_give where there are channels; ht_combine. The first of the last three begins the operation. With bulk copies rows arrive in pieces to be added up; the
// low half of "op.extra" is the bytes of a piece, a multiple of 16, the high half the pieces that a warp's part of the shared memory holds, at least as many
// as one output has rows.

#define EP_COMBINE_WARPS 16  // at most
#define EP_COMBINE_AHEAD 8   // pieces of outputs that a warp has asked for, at most

// As sum_rows, with bulk copies of pieces of rows.
template <class RowOf>
EP_DEVICE void sum_pieces(const Op& op, char* shared, i64 items, const char* bias0, const char* bias1, char* out, RowOf row_of) {
  EP_SHARED u64 arrived[EP_COMBINE_WARPS][EP_COMBINE_AHEAD];
  const u32 piece = (u32)op.extra, slots = (u32)(op.extra >> 32);
  const i64 stride = (i64)gridDim.x * (blockDim.x / EP_LANES);
  const int biases = (bias0 != 0) + (bias1 != 0);
  char* mine = shared + (u64)warp() * slots * piece;
  if (lane() < EP_COMBINE_AHEAD) {
    barrier_init(&arrived[warp()][lane()], 1);
    bulk_fence();
  }
  sync_block();
  // What peers wrote before they announced it, and bulk copies read.
  bulk_fence_global();

  // A warp's slots are a ring: pieces are asked for as long as there is room for the rows of one more.
  i64 load_item = (i64)blockIdx.x * (blockDim.x / EP_LANES) + warp(), sum_item = load_item;
  u32 load_from = 0, sum_from = 0, load_slot = 0, sum_slot = 0, free = slots;
  u32 loaded = 0, summed = 0;  // pieces
  const char* row = 0;
  u32 place = 0, rows = 0;     // of the item that is loaded
  u32 rows_of_piece = 0;       // lane i: of the pieces i modulo EP_COMBINE_AHEAD
  bool known = false;
  auto wrap = [=](u32 slot) { return slot < slots ? slot : slot - slots; };
  while (sum_item < items) {
    while (load_item < items && loaded - summed < EP_COMBINE_AHEAD) {
      if (!known) {
        row = row_of(load_item);
        Lanes have = ballot(row != 0);
        place = biases + count(have & lanes_below());
        rows = biases + count(have);
        known = true;
      }
      if (rows > free) break;
      u32 at = loaded % EP_COMBINE_AHEAD;
      u32 bytes = EP_BF16_ROW - load_from < piece ? EP_BF16_ROW - load_from : piece;
      u64* barrier = &arrived[warp()][at];
      if (lane() == (int)at) rows_of_piece = rows;
      if (lane() == 0) barrier_expect(barrier, rows * bytes);
      sync_lanes();
      if (row != 0) bulk_load(mine + wrap(load_slot + place) * piece, row + load_from, bytes, barrier);
      if (lane() < biases) {
        const char* bias = lane() == 0 ? bias0 : bias1;
        bulk_load(mine + wrap(load_slot + lane()) * piece, bias + (u64)load_item * EP_BF16_ROW + load_from, bytes, barrier);
      }
      loaded++;
      free -= rows;
      load_slot = wrap(load_slot + rows);
      load_from += piece;
      if (load_from >= EP_BF16_ROW) {
        load_from = 0;
        load_item += stride;
        known = false;
      }
    }
    u32 at = summed % EP_COMBINE_AHEAD;
    u32 n = (u32)shuffle((int)rows_of_piece, (int)at);
    u32 bytes = EP_BF16_ROW - sum_from < piece ? EP_BF16_ROW - sum_from : piece;
    Vec* to = (Vec*)(out + (u64)sum_item * EP_BF16_ROW + sum_from);
    barrier_wait(&arrived[warp()][at], summed / EP_COMBINE_AHEAD & 1);
    for (u32 i = lane(); i < bytes / 16; i += EP_LANES) {
      float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
      u32 slot = sum_slot;
      for (u32 r = 0; r < n; r += 4) {
        Vec v[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
          if (r + j >= n) continue;
          v[j] = ((const Vec*)(mine + slot * piece))[i];
          slot = wrap(slot + 1);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) if (r + j < n) add_pairs(sums, v[j]);
      }
      store_once(to + i, round_sums(sums));
    }
    // The slots have been read when they are loaded again.
    bulk_fence();
    sync_lanes();
    summed++;
    free += n;
    sum_slot = wrap(sum_slot + n);
    sum_from += piece;
    if (sum_from >= EP_BF16_ROW) {
      sum_from = 0;
      sum_item += stride;
    }
  }
}

// As sum_rows, without bulk copies.
template <class RowOf>
EP_DEVICE void sum_whole_rows(char* shared, i64 items, int most, const char* bias0, const char* bias1, char* out, RowOf row_of) {
  const int warps = blockDim.x / EP_LANES;
  const char** rows = (const char**)shared + warp() * most;
  for (i64 item = (i64)blockIdx.x * warps + warp(); item < items; item += (i64)gridDim.x * warps) {
    const char* row = row_of(item);
    Lanes have = ballot(row != 0);
    int n = 0;
    if (bias0 != 0) rows[n++] = bias0 + (u64)item * EP_BF16_ROW;
    if (bias1 != 0) rows[n++] = bias1 + (u64)item * EP_BF16_ROW;
    if (row != 0) rows[n + count(have & lanes_below())] = row;
    n += count(have);
    sync_lanes();
    Vec* to = (Vec*)(out + (u64)item * EP_BF16_ROW);
    // Two places of four rows are on their way at a time.
    for (u32 i = lane(); i < EP_BF16_ROW / 16; i += 2 * EP_LANES) {
      bool second = i + EP_LANES < EP_BF16_ROW / 16;
      float sums[2][8] = {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}};
      for (int r = 0; r < n; r += 4) {
        Vec v[4][2];
#pragma unroll
        for (int j = 0; j < 4; j++) {
          if (r + j >= n) continue;
          v[j][0] = load_remote((const Vec*)rows[r + j] + i);
          if (second) v[j][1] = load_remote((const Vec*)rows[r + j] + i + EP_LANES);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
          if (r + j >= n) continue;
          add_pairs(sums[0], v[j][0]);
          if (second) add_pairs(sums[1], v[j][1]);
        }
      }
      store_once(to + i, round_sums(sums[0]));
      if (second) store_once(to + i + EP_LANES, round_sums(sums[1]));
    }
    sync_lanes();
  }
}

// Adds up rows for "items" outputs, which lie one after another from "out". A warp works on one output at a time; "row_of" is called by all its lanes
// for each of its outputs in turn and gives each lane the row that it contributes, or 0; rows are added in the order of the lanes, after the biases.
// "most" is the number of rows of one output, biases among them.
template <class RowOf>
EP_DEVICE void sum_rows(const Op& op, char* shared, i64 items, int most, const char* bias0, const char* bias1, char* out, RowOf row_of) {
  if (EP_BULK) sum_pieces(op, shared, items, bias0, bias1, out, row_of);
  else sum_whole_rows(shared, items, most, bias0, bias1, out, row_of);
}

// ---- ht_stage: stores where the others read it what is not there already. Rows of this rank's own tokens are read where they are.
EP_KERNEL(ht_stage, EP_COMBINE_WARPS * EP_LANES) {
  EP_DYNAMIC_SHARED(shared);
  wait_for_previous();
  if (!all_threads(threadIdx.x != 0 || !failed(op)) || handle_head(op)->number == 0) return;
  const i64 received = handle_head(op)->received;
  const int* expanded = handle_ints(op, EP_HANDLE_EXPANDED);
  if (op.weights != 0) {
    u32* to = (u32*)(op.local + EP_COMBINE_WEIGHTS);
    const u32* from = (const u32*)op.weights;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < received * EP_TOPK; i += (i64)gridDim.x * blockDim.x) {
      i64 row = op.by_expert ? expanded[i] : i;
      to[i] = row < 0 ? 0 : from[row];
    }
  }
  if (op.partial) {
    const i64 stride = (i64)gridDim.x * (blockDim.x / EP_LANES);
    // Read one row ahead.
    auto read_next = [&](i64 row) { return row < received && lane() < EP_TOPK ? expanded[row * EP_TOPK + lane()] : -1; };
    int next = read_next((i64)blockIdx.x * (blockDim.x / EP_LANES) + warp());
    sum_rows(op, shared, received, EP_TOPK, 0, 0, op.local + op.input, [&](i64 row) -> const char* {
      int from = next;
      next = read_next(row + stride);
      return from < 0 ? 0 : op.x + (u64)from * EP_BF16_ROW;
    });
  } else if (!op.by_expert && op.x != op.local + op.input) {
    const int* source = handle_ints(op, EP_HANDLE_SOURCE_RANK);
    const int warps = blockDim.x / EP_LANES;
    Carrier carry = carrier(shared, EP_STAGE_PIECE(EP_BF16_ROW));
    for (i64 row = (i64)blockIdx.x * warps + warp(); row < received; row += (i64)gridDim.x * warps) {
      if (source[row] == op.rank || has_channel_to(op, source[row])) continue;  // see ht_give
      copy_row(carry, op.local + op.input + (u64)row * EP_BF16_ROW, op.x + (u64)row * EP_BF16_ROW, EP_BF16_ROW);
    }
    rows_written();
  }
}

// Writes the weights of rows that go through channels into these. Called by all threads of a grid.
EP_DEVICE void write_weights(const Op& op, const int* start) {
  for (i64 r = 0; op.weights && r < EP_RANKS; r++) {
    if (!has_channel_to(op, r) || is_masked(op, r)) continue;
    u32* to = (u32*)(channel_to(op, r) + EP_CHANNEL_WEIGHTS);
    const u32* from = (const u32*)(op.local + EP_COMBINE_WEIGHTS) + (u64)start[r] * EP_TOPK;
    const i64 words = (i64)(start[r + 1] - start[r]) * EP_TOPK;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (i64)gridDim.x * blockDim.x) to[i] = load_remote(from + i);
  }
}

// Called by all threads of the last block, which all see what has been written.
EP_DEVICE void put_weights(const Op& op, const int* start) {
  for (i64 r = warp(); op.weights && r < EP_RANKS; r += blockDim.x / EP_LANES) {
    if (!has_channel_to(op, r) || is_masked(op, r)) continue;
    put_from_channel(op, r, channel_to(op, r) + EP_CHANNEL_WEIGHTS, (u64)(start[r + 1] - start[r]) * EP_TOPK * 4, PHASE_COMBINE_ROWS);
  }
  // Other threads advance the counters.
  sync_block();
}

// Called by all threads of a block, which then knows the announcement; false when the operation does not begin.
EP_DEVICE bool begin_combine(const Op& op, Announcement* announcement) {
  const bool works = threadIdx.x != 0 || !failed(op);
  prepare_announcement(op, announcement);
  if (!all_threads(works) || !ht_enter_again(op, *announcement)) return false;
  return ht_begun(op, announcement->number, handle_head(op)->number);
}

// ---- Rows of selections are posted from places that this rank's channels have together. A rank that has more rows than these begins again with the first
// place when all ranks have received what it held: a round.
constexpr u64 ROWS_OF_ROUND = EP_HAS_CHANNELS ? EP_RETURN_ROOM : 1;

// Rounds that have been closed, in two words of State.scratch.
static_assert(TICKET_ROUNDS % 2 == 0, "a word of 64 bits");
EP_DEVICE u64* rounds_closed(const Op& op) { return (u64*)&op.state->scratch[TICKET_ROUNDS]; }

// Whether the host posts from this rank to another one, or from that to this one.
EP_DEVICE bool is_host_posted(const Op& op, i64 rank) {
  return EP_HOST_POSTED && (op.paths[rank].kind == PATH_HOST_POSTED || op.paths[rank].comes == PATH_HOST_POSTED);
}

// Waits until all that this rank posted has arrived. Where the host posts, by a barrier of two steps: the first shows that what others posted before is here,
// the second that they received what was posted before this. All ranks close the same number of rounds. Called by all lanes of a wave.
EP_DEVICE bool all_have_received(const Op& op, u64 number, u64 round) {
  if (EP_DEVICE_POSTED && lane() == 0) library_quiet();
  if (!EP_HOST_POSTED) return true;
  bool good = true;
  for (u64 step = 2 * round - 1; good && step <= 2 * round; step++) {
    const u64 value = number << 16 | step;
    for (i64 r = lane(); r < EP_RANKS; r += EP_LANES) {
      if (is_host_posted(op, r) && !is_masked(op, r)) advance(op, op.peers[r], r, HT_ROUND, value, PHASE_COMBINE_ROWS);
    }
    for (i64 r = lane(); good && r < EP_RANKS; r += EP_LANES) {
      if (is_host_posted(op, r) && !is_masked(op, r)) good = await(op, HT_ROUND, r, value, PHASE_COMBINE_ROWS);
    }
    good = ballot(!good) == 0;
  }
  return good;
}

// Called by all lanes of a wave, one in the grid, of which one has seen that all of the round is posted.
EP_DEVICE bool close_round(const Op& op, u64 number, u64 round) {
  sync_lanes();
  const bool good = all_have_received(op, number, round);
  sync_lanes();
  if (good && lane() == 0) store_release(rounds_closed(op), round);
  return good;
}

// Called by one thread. The wave that closes rounds waits for the ranks by the deadline, and records which one is missing.
EP_DEVICE bool await_round(const Op& op, u64 round, u64 number) {
  const u64 start = nanoseconds();
  while (load_acquire(rounds_closed(op)) < round) {
    pause();
    if (failed(op)) return false;
    if (!is_late(nanoseconds(), start, 4 * op.deadline)) continue;
    if (first_failure(op)) record(op, FAILURE_NO_ROOM, PHASE_COMBINE_ROWS, HT_ROUND, op.rank, gridDim.x, gridDim.x - 1, number);
    return false;
  }
  return true;
}

// Returns the rows of a token's selections to a posted rank. "from" is the index in x of the row of the lane's selection, -1 where it has none; "total" rows
// are posted in the operation. False when the operation has failed. Called by all lanes of a wave.
EP_DEVICE bool post_selections(const Op& op, Carrier& carry, i64 to, i64 t, int from, u64 total, u64 number) {
  const Lanes all = ballot(from >= 0);
  int first = 0;
  if (lane() == 0) first = add((int*)&op.state->scratch[TICKET_RETURN], count(all));
  u64 place = (u32)shuffle(first, 0);
  for (Lanes left = all; left; left &= left - 1, place++) {
    const int k = lowest(left);
    const u64 round = place / ROWS_OF_ROUND;
    if (round > 0 && ballot(lane() == 0 && !await_round(op, round, number)) != 0) return false;
    char* staged = op.window + returning_row(place % ROWS_OF_ROUND);
    copy_row(carry, staged, op.x + (u64)shuffle(from, k) * EP_BF16_ROW, EP_BF16_ROW);
    rows_written();
    sync_lanes();
    with_transport(op, 0, to, [&](auto peer) { peer.put(returned_row(t, k), staged, EP_BF16_ROW, PHASE_COMBINE_ROWS); });
    if (total <= ROWS_OF_ROUND) continue;
    // Places of a round are taken before those of the next: the wave that posts its last row closes it.
    sync_lanes();
    int done = 0;
    if (lane() == 0) done = (int)add_acq_rel(&op.state->scratch[TICKET_RETURNED], 1) + 1;
    const u64 posted = (u32)shuffle(done, 0);
    if (posted % ROWS_OF_ROUND == 0 && posted < total && !close_round(op, number, posted / ROWS_OF_ROUND)) return false;
  }
  return true;
}

// Closes the rounds that others need, where the host posts: all close as many. False when the operation has failed. Called by all threads of the last block.
EP_DEVICE bool close_rounds(const Op& op, u64 number) {
  bool good = true;
  if (EP_HOST_POSTED && warp() == 0) {
    u64 rows = 0;
    for (i64 r = lane(); r < EP_RANKS; r += EP_LANES) {
      const u64 its = is_masked(op, r) ? 0 : load_remote((const u64*)ht_announcement(op, number, r) + 6);
      rows = its > rows ? its : rows;
    }
    u64 most = 0;
    for (int i = 0; i < EP_LANES; i++) {
      const u64 its = shuffle(rows, i);
      most = its > most ? its : most;
    }
    const u64 rounds = most == 0 ? 0 : (most - 1) / ROWS_OF_ROUND;
    for (u64 round = load_acquire(rounds_closed(op)) + 1; good && round <= rounds; round++) good = close_round(op, number, round);
  }
  // Rows that one wave could not return must not be announced.
  return all_threads(good && !failed(op));
}

// Slot of a selection in the memory of its token's rank, which is mapped.
EP_DEVICE char* selection_slot_to(const Op& op, int rank, i64 token, i64 k) {
  return has_channel_to(op, rank) ? op.peers[rank] + returned_row(token, k) : selection_slot_at(op.peers[rank], token, k);
}
// Slot of a selection of one of this rank's tokens, which "source" has stored.
EP_DEVICE const char* selection_slot_from(const Op& op, int source, i64 token, i64 k) {
  return has_channel_from(op, source) ? op.window + returned_row(token, k) : selection_slot_at(op.local, token, k);
}

// ---- ht_selections: sends the row of every selection to its slot on the token's rank. Own ones are read where they are.
EP_KERNEL(ht_selections, EP_COMBINE_WARPS * EP_LANES) {
  EP_DYNAMIC_SHARED(shared);
  EP_SHARED Announcement announcement;
  wait_for_previous();
  if (!begin_combine(op, &announcement)) return;
  const i64 received = handle_head(op)->received;
  const int* source = handle_ints(op, EP_HANDLE_SOURCE_RANK);
  const int* token = handle_ints(op, EP_HANDLE_SOURCE_TOKEN);
  const int* expanded = handle_ints(op, EP_HANDLE_EXPANDED);
  const int warps = blockDim.x / EP_LANES;
  Carrier carry = carrier(shared, EP_STAGE_PIECE(EP_BF16_ROW));
  EP_SHARED int start[EP_HAS_CHANNELS ? EP_RANKS + 1 : 1];
  if (EP_HAS_CHANNELS) first_rows_from(op, start);
  const u64 returns = rows_to_return(op);
  // Rows are in the order of their sources: all of them are served at a time, and each rank begins with another one.
  const i64 part = (received + EP_RANKS - 1) / EP_RANKS;
  for (i64 i = (i64)blockIdx.x * warps + warp(); i < part * EP_RANKS; i += (i64)gridDim.x * warps) {
    i64 row = (i + op.rank) % EP_RANKS * part + i / EP_RANKS;
    if (row >= received) continue;
    int to = source[row];
    if (to == op.rank || is_masked(op, to)) continue;
    int t = token[row];
    int from = lane() < EP_TOPK ? expanded[row * EP_TOPK + lane()] : -1;
    if (is_posted(op, to)) {
      if (!post_selections(op, carry, to, t, from, returns, announcement.number)) break;
      continue;
    }
    for (Lanes left = ballot(from >= 0); left; left &= left - 1) {
      int k = lowest(left);
      const char* row_of_k = op.x + (u64)shuffle(from, k) * EP_BF16_ROW;
      copy_row(carry, selection_slot_to(op, to, t, k), row_of_k, EP_BF16_ROW);
    }
  }
  rows_written();
  if (EP_HAS_CHANNELS) write_weights(op, start);
  if (!last_block(op, 6)) return;
  if (EP_HAS_CHANNELS) {
    if (!close_rounds(op, announcement.number)) return;
    put_weights(op, start);
  }
  advance_all(op, HT_DATA, announcement.number, PHASE_COMBINE_ROWS);
}

// ---- ht_combine: reads all rows of a token and adds them up; ends when all ranks have read.

// Where the rows and weights of each rank for this rank's tokens begin, 0 where it is left out. Called by all threads of a block, which have it then; both
// arrays are shared memory.
EP_DEVICE void find_rows(const Op& op, u64 number, const char** base, const char** weights) {
  for (int r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    bool out = is_masked(op, r);
    u64 input = load_remote((const u64*)ht_announcement(op, number, r) + 5);
    base[r] = out ? 0 : r == op.rank && !op.by_expert ? op.x : op.peers[r] + input;
    weights[r] = out ? 0 : op.peers[r] + EP_COMBINE_WEIGHTS;
    if (out || !has_channel_from(op, r)) continue;
    const i64 first = handle_ints(op, EP_HANDLE_FIRST)[r];
    base[r] = channel_from(op, r) + EP_CHANNEL_ROWS - first * EP_BF16_ROW;
    weights[r] = channel_from(op, r) + EP_CHANNEL_WEIGHTS - first * EP_TOPK * 4;
  }
  sync_block();
}

EP_KERNEL(ht_combine, EP_COMBINE_WARPS * EP_LANES) {
  EP_DYNAMIC_SHARED(shared);
  EP_SHARED const char* base[EP_RANKS];
  EP_SHARED const char* weights[EP_RANKS];
  EP_SHARED Announcement announcement;
  wait_for_previous();
  const bool selections = op.kind == KIND_COMBINE_SELECTIONS;
  // A kernel before this one has begun it: ht_selections, ht_give.
  const bool goes_on = selections || EP_HAS_CHANNELS;
  if (goes_on ? !ht_goes_on(op) : !begin_combine(op, &announcement)) return;
  const u64 number = goes_on ? op.state->ht_number : announcement.number;
  // What ranks without channels wrote before they began is to be seen by these threads, too.
  if (goes_on && !ht_have_begun(op, number, handle_head(op)->number, false)) return;
  if (selections && !ht_await_data(op, number, PHASE_COMBINE_ROWS)) return;
  if (!selections && !await_channels(op, HT_DATA, number, PHASE_COMBINE_ROWS)) return;
  find_rows(op, number, base, weights);

  const int* ids = handle_ints(op, EP_HANDLE_IDS);
  const int* target_rank = handle_ints(op, EP_HANDLE_TARGET_RANK);
  const int* target_row = handle_ints(op, EP_HANDLE_TARGET_ROW);
  const int* expanded = handle_ints(op, EP_HANDLE_EXPANDED);
  const i64 stride = (i64)gridDim.x * (blockDim.x / EP_LANES);
  const int sources = (selections ? EP_TOPK : EP_MAX_TARGETS) + (op.bias0 != 0) + (op.bias1 != 0);
  // Read one token ahead.
  int next_row = -1, next_rank = -1, next_id = -1;
  auto read_next = [&](i64 t) {
    if (t >= op.tokens || lane() >= EP_TOPK) return;
    i64 i = t * EP_TOPK + lane();
    next_row = target_row[i];
    next_rank = target_rank[i];
    if (selections || op.out_weights != 0) next_id = ids[i];
  };
  // Stored when the next one is read, by when it has arrived.
  u32 weight = 0;
  i64 weight_of = -1;
  auto store_weight = [&]() {
    if (weight_of >= 0 && lane() < EP_TOPK) ((u32*)op.out_weights)[weight_of * EP_TOPK + lane()] = weight;
  };
  read_next((i64)blockIdx.x * (blockDim.x / EP_LANES) + warp());
  sum_rows(op, shared, op.tokens, sources, op.bias0, op.bias1, op.out, [&](i64 t) -> const char* {
    int row = next_row, rank = next_rank, id = next_id;
    read_next(t + stride);
    int owner = id < 0 ? -1 : op.owner[id];
    if (op.out_weights != 0) {
      store_weight();
      // The row is written at the first selection of its rank.
      int at = shuffle(row, lowest(same(owner)));
      weight = owner < 0 || weights[owner] == 0 ? 0 : load_remote((const u32*)(weights[owner] + ((u64)at * EP_TOPK + lane()) * 4));
      weight_of = t;
    }
    if (!selections) return row < 0 || base[rank] == 0 ? 0 : base[rank] + (u64)row * EP_BF16_ROW;
    Lanes own = ballot(row >= 0 && rank == op.rank);
    int received = own == 0 ? -1 : shuffle(row, lowest(own));
    if (owner < 0 || base[owner] == 0) return 0;
    return owner == op.rank ? op.x + (u64)expanded[(i64)received * EP_TOPK + lane()] * EP_BF16_ROW : selection_slot_from(op, owner, t, lane());
  });
  if (op.out_weights != 0) store_weight();

  if (!last_block(op, 7)) return;
  advance_all(op, HT_DONE, number, PHASE_COMBINE_END);
  ht_await_all(op, HT_DONE, number, PHASE_COMBINE_END);
}
