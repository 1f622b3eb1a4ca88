// High throughput: how operations begin, and how rows are moved.
//
// The first kernel of an operation counts what it sends, if it is new. The last of its blocks to have done so announces it and lets the others go
// on: they are few enough to be on the GPU at once, see Multiprocessors. Its blocks then find all tickets of State.scratch (0: tokens of ht_send, 1: rows of
// ht_expand, 2 to 5: rows of ht_selections for posted ranks) zero.
enum Kind { KIND_DISPATCH = 1, KIND_CACHED_DISPATCH, KIND_COMBINE_ROWS, KIND_COMBINE_SELECTIONS };
// FNUZ beside FP8 says which codes the rows have; it is compared and nothing else.
enum Flag { FLAG_FP8 = 1, FLAG_WEIGHTS = 2, FLAG_FNUZ = 4 };
enum Ticket { TICKET_SEND, TICKET_EXPAND, TICKET_RETURN, TICKET_RETURNED, TICKET_ROUNDS };

#define EP_NO_TOKEN 0xffffffffffffffffull
#define EP_MAX_BLOCKS 2048
#define EP_RECORD_HEAD (4 + 8 * EP_TOPK)

// ---- Temporary memory: for each block of ht_send the first bad id; with EP_RELAYS how many rows each rank forwards for this one; then counts [slices, R]
// of ht_send, or counts [chunks, L] from ht_receive to ht_expand.
EP_DEVICE u64* first_bad_id(const Op& op) { return (u64*)op.temporary; }
EP_DEVICE int* relayed_rows(const Op& op) { return (int*)(op.temporary + 8 * EP_MAX_BLOCKS); }
EP_DEVICE int* temporary_counts(const Op& op) { return (int*)(op.temporary + 8 * EP_MAX_BLOCKS + (EP_RELAYS ? EP_ALIGNED(4 * EP_RANKS) : 0)); }

EP_DEVICE HandleHead* handle_head(const Op& op) { return (HandleHead*)op.handle; }
EP_DEVICE bool is_fp8(const Op& op) { return (op.flags & FLAG_FP8) != 0; }
EP_DEVICE u32 row_bytes_of(const Op& op) { return is_fp8(op) ? EP_FP8_ROW : EP_BF16_ROW; }
EP_DEVICE Lanes lanes_below() { return ((Lanes)1 << lane()) - 1; }

// Whether the operation goes on after the kernels before this one; the same for all threads of a block.
EP_DEVICE bool ht_goes_on(const Op& op) {
  return all_threads(threadIdx.x != 0 || (!failed(op) && *(volatile u32*)&op.state->refused == 0));
}

// ---- How every operation begins.

// What the announcement needs, read ahead of it.
struct Announcement {
  char* peers[EP_RANKS];  // 0: masked
  u64 number;
  u64 mask_digest;
};

// Called by some threads of a block, each for its ranks; the block synchronizes before it announces.
EP_DEVICE void prepare_announcement(const Op& op, Announcement* to) {
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    char* peer = op.peers[r];
    to->peers[r] = is_masked(op, r) ? 0 : peer;
  }
  if (threadIdx.x == 0) {
    to->number = op.state->ht_number + 1;
    to->mask_digest = op.state->mask_digest;
  }
}

// Rows of selections that this rank returns to posted ranks in an exact by-expert combine. Called by all lanes of a wave.
EP_DEVICE u64 rows_to_return(const Op& op) {
  if (!EP_HAS_CHANNELS || op.kind != KIND_COMBINE_SELECTIONS) return 0;
  int sum = 0;
  for (i64 r = lane(); r < EP_RANKS; r += EP_LANES) {
    if (is_posted(op, r) && !is_masked(op, r)) sum += handle_ints(op, EP_HANDLE_SELECTIONS_FROM)[r];
  }
  for (int d = EP_LANES / 2; d > 0; d /= 2) sum += (int)shuffle_xor((u32)sum, d);
  return (u32)sum;
}

// Announces the operation to all ranks: the block's words, and rows for each rank where they are counted. That this rank has begun also means that
// its memory may be written to. Called by all threads of one block.
EP_DEVICE void ht_announce(const Op& op, const Announcement& a, u64 handle, const int* rows) {
  // By the rows that ranks return, all close as many rounds: see close_rounds.
  const u64 words[8] = {a.number, (u64)op.kind, (u64)op.flags, handle, a.mask_digest, (u64)op.input, EP_HOST_POSTED ? rows_to_return(op) : 0, 0};
  for (i64 r = warp(); r < EP_RANKS; r += blockDim.x / EP_LANES) {
    if (!a.peers[r]) continue;
    char* announcement = announcement_at(a.peers[r], ANNOUNCE_HT, a.number, op.rank);
    for (int w = 0; w < 8; w++) {
      if (lane() == w) store_remote((u64*)announcement + w, words[w]);
    }
    if (rows) {
      for (i64 i = lane(); i < EP_RANKS; i += EP_LANES) store_remote(announcement_ints(announcement) + i, rows[i]);
    }
    // What the warp wrote comes before what its first lane releases.
    sync_lanes();
    put_announcement(op, a.peers[r], r, ANNOUNCE_HT, a.number, HT_ENTER, PHASE_BEGIN);
  }
}

// Waits for the rows of all ranks; the same answer for all threads of a block. See await_ranks for the statistics.
EP_DEVICE bool ht_await_data(const Op& op, u64 number, int phase) {
  return await_ranks(op, HT_DATA, number, phase, [](i64) { return true; });
}

// Waits for a counter of all ranks, which does not count as waiting in the statistics; the same answer for all threads of a block.
EP_DEVICE bool ht_await_all(const Op& op, Counter counter, u64 number, int phase) {
  bool good = true;
  for (i64 r = threadIdx.x; good && r < EP_RANKS; r += blockDim.x) good = is_masked(op, r) || await(op, counter, r, number, phase);
  return all_threads(good);
}

// Waits until all ranks have begun the operation, those that write to channels only if wanted, and compares what it is; the same answer for all threads of
// a block. Where it waits for all, the first block adds up how long, if that is asked for.
EP_DEVICE bool ht_have_begun(const Op& op, u64 number, u64 handle, bool with_channels) {
  u64 mine[8] = {number, (u64)op.kind, (u64)op.flags, handle, op.state->mask_digest, (u64)op.input, 0, 0};
  const bool counts = op.wait_statistics != 0 && with_channels && blockIdx.x == 0;
  bool good = true;
  for (i64 r = threadIdx.x; good && r < EP_RANKS; r += blockDim.x) {
    if (is_masked(op, r) || (!with_channels && has_channel_from(op, r))) continue;
    const u64 start = counts ? nanoseconds() : 0;
    good = await(op, HT_ENTER, r, number, PHASE_BEGIN);
    if (counts) op.wait_statistics[r] += nanoseconds() - start;
    good = good && same_announcement(op, ANNOUNCE_HT, number, r, 5, mine, PHASE_BEGIN);
  }
  return all_threads(good);
}

// What a rank has announced, when all have begun.
EP_DEVICE char* ht_announcement(const Op& op, u64 number, i64 source) { return announcement_at(op.local, ANNOUNCE_HT, number, source); }

// Copies announcements from the window to where ranks without channels store theirs. Called by all threads of a block, some of which have acquired the
// counters before it synchronized.
EP_DEVICE void gather_announcements(const Op& op, u64 number) {
  const i64 vecs = EP_ANNOUNCEMENT_BYTES / 16;
  for (i64 i = threadIdx.x; i < EP_RANKS * vecs; i += blockDim.x) {
    const i64 r = i / vecs;
    if (!has_channel_from(op, r) || is_masked(op, r)) continue;
    ((Vec*)ht_announcement(op, number, r))[i % vecs] = load_remote((const Vec*)announcement_at(op.window, ANNOUNCE_HT, number, r) + i % vecs);
  }
  sync_block();
  if (threadIdx.x == 0) store_release(&op.state->ht_gathered, number);
}

// Waits for the block that gathers announcements. Called by one thread.
EP_DEVICE bool await_gathered(const Op& op, u64 number) {
  const u64 start = nanoseconds();
  while (load_acquire(&op.state->ht_gathered) != number) {
    pause();
    if (failed(op)) return false;
    // That block waits for the ranks by the deadline, and records which one is missing.
    if (!is_late(nanoseconds(), start, 2 * op.deadline)) continue;
    if (first_failure(op)) record(op, FAILURE_NO_ROOM, PHASE_BEGIN, HT_ENTER, op.rank, gridDim.x, gridDim.x - 1, number);
    return false;
  }
  return true;
}

// Waits until all ranks have begun the operation; the same answer for all threads of a block. Called by all blocks of its first kernel, which are on the
// GPU at once. The memory of the host is far away, and all of them want the same words: the first one reads there, for all.
EP_DEVICE bool ht_begun(const Op& op, u64 number, u64 handle) {
  if (!EP_HAS_CHANNELS) return ht_have_begun(op, number, handle, true);
  if (!ht_have_begun(op, number, handle, blockIdx.x == 0)) return false;
  if (blockIdx.x != 0) return all_threads(threadIdx.x != 0 || await_gathered(op, number));
  gather_announcements(op, number);
  return true;
}

// First row of every source in this rank's memory, and their number: of the dispatch under way, where its routing is new, or of the handle. Called by all
// threads of a block, which have it then; "start" is shared memory.
EP_DEVICE void first_rows_from(const Op& op, int* start) {
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (op.kind != KIND_DISPATCH) {
      start[r + 1] = handle_ints(op, EP_HANDLE_ROWS_FROM)[r];
    } else {
      start[r + 1] = is_masked(op, r) ? 0 : load_remote(announcement_ints(ht_announcement(op, op.state->ht_number, r)) + op.rank);
    }
  }
  sync_block();
  if (threadIdx.x == 0) {
    start[0] = 0;
    for (int r = 0; r < EP_RANKS; r++) start[r + 1] += start[r];
  }
  sync_block();
}

// Waits for the last block of the kernel, which lets all go on. Called by one thread.
EP_DEVICE bool await_opening(const Op& op, u64 opened, u64 number) {
  if (load_acquire(&op.state->ht_opened) > opened) return true;
  const u64 start = nanoseconds();
  u64 asked = start;
  while (load_acquire(&op.state->ht_opened) <= opened) {
    pause();
    if (failed(op)) return false;
    const u64 now = nanoseconds();
    const bool aborted = is_aborted(op, op.rank, now, &asked);
    if (!aborted && !is_late(now, start, op.deadline)) continue;
    const u32 begun = *(volatile u32*)&op.state->done[0];
    if (first_failure(op)) record(op, aborted ? FAILURE_ABORTED : FAILURE_NO_ROOM, PHASE_BEGIN, HT_ENTER, op.rank, aborted ? number : gridDim.x, begun, number);
    return false;
  }
  return true;
}

// Begins an operation; the same answer for all threads of a block. Called by all blocks of its first kernel when they have done what comes before.
// In the last block "prepare" gives what is announced, or false when the operation is refused.
template <class Prepare>
EP_DEVICE bool ht_enter(const Op& op, const Announcement& a, Prepare prepare) {
  // No block lets others go on before all have read this.
  const u64 opened = threadIdx.x == 0 ? load_remote(&op.state->ht_opened) : 0;
  if (last_block(op, 0)) {
    u64 handle = 0;
    const int* rows = 0;
    const bool good = prepare(&handle, &rows);
    if (good) ht_announce(op, a, handle, rows);
    if (threadIdx.x < 16) op.state->scratch[threadIdx.x] = 0;
    for (i64 r = threadIdx.x; EP_RELAYS && r < EP_RANKS; r += blockDim.x) relayed_rows(op)[r] = 0;
    sync_block();
    if (threadIdx.x == 0) {
      if (good) {
        op.state->refused = 0;
        op.state->ht_number = a.number;
      }
      store_release(&op.state->ht_opened, opened + 1);
    }
  }
  return all_threads(threadIdx.x != 0 || (await_opening(op, opened, a.number) && *(volatile u32*)&op.state->refused == 0));
}

// The same for an operation that follows a handle: a cached dispatch or a combine.
EP_DEVICE bool ht_enter_again(const Op& op, const Announcement& a) {
  return ht_enter(op, a, [&](u64* handle, const int**) {
    *handle = handle_head(op)->number;
    if (*handle == 0 && threadIdx.x == 0) refuse(op, &op.state->refused, FAILURE_VOID_HANDLE, 0, 0, 0, 0);
    return *handle != 0;
  });
}

// ---- Rows on their way: a warp reads a row once and writes it to several places. With bulk copies it goes through shared memory, in pieces
// of at most EP_PIECE bytes.
#define EP_STAGE_PIECE(bytes) ((bytes) < EP_PIECE ? (bytes) : EP_PIECE)

struct Carrier {
  char* stage;
  u64* barrier;
  u32 parity;
};

// Called by all threads of a block.
EP_DEVICE Carrier carrier(char* stages, u64 stage_bytes) {
  if (!EP_BULK) return Carrier{0, 0, 0};
  EP_SHARED u64 barriers[1024 / EP_LANES];
  const Carrier carry = {stages + warp() * stage_bytes, barriers + warp(), 0};
  if (lane() == 0) {
    barrier_init(carry.barrier, 1);
    bulk_fence();
  }
  sync_block();
  return carry;
}

EP_DEVICE void load_piece(const Carrier& carry, const char* from, u32 bytes) {
  bulk_wait_read();
  sync_lanes();
  if (lane() == 0) {
    barrier_expect(carry.barrier, bytes);
    bulk_load(carry.stage, from, bytes, carry.barrier);
  }
}

// Begins to read a row. What the warp stored before has then left the stage.
EP_DEVICE void begin_row(const Carrier& carry, const char* from, u32 bytes) {
  if (EP_BULK) load_piece(carry, from, EP_STAGE_PIECE(bytes));
}

// Without bulk copies: copies a row to the places of all lanes that have one.
EP_DEVICE void copy_row_to_lanes(const char* from, u32 bytes, char* to) {
  Lanes all = ballot(to != 0);
  u32 vecs = bytes / 16;
  for (u32 first = lane(); first < vecs + lane(); first += 4 * EP_LANES) {
    Vec v[4];
    for (u32 u = 0; u < 4; u++) {
      if (first + u * EP_LANES < vecs) v[u] = load_remote((const Vec*)from + first + u * EP_LANES);
    }
    for (Lanes left = all; left; left &= left - 1) {
      Vec* there = (Vec*)shuffle((u64)to, lowest(left));
      for (u32 u = 0; u < 4; u++) {
        if (first + u * EP_LANES < vecs) store_remote(there + first + u * EP_LANES, v[u]);
      }
    }
  }
}

// Writes the row that was begun to the places of all lanes that have one. Lanes that also have a record in the stage send it along.
EP_DEVICE void end_row(Carrier& carry, const char* from, u32 bytes, char* to, char* record_to, const char* record, u32 record_bytes) {
  if (!EP_BULK) copy_row_to_lanes(from, bytes, to);
  for (u32 at = 0; EP_BULK && at < bytes; at += EP_PIECE) {
    u32 piece = EP_STAGE_PIECE(bytes - at);
    if (at > 0) load_piece(carry, from + at, piece);
    barrier_wait(carry.barrier, carry.parity);
    carry.parity ^= 1;
    if (to) bulk_store(to + at, carry.stage, piece);
    if (at == 0 && record_to) bulk_store(record_to, record, record_bytes);
    bulk_commit();
  }
}

EP_DEVICE void copy_row(Carrier& carry, char* to, const char* from, u32 bytes) {
  begin_row(carry, from, bytes);
  end_row(carry, from, bytes, lane() == 0 ? to : 0, 0, 0, 0);
}

// What a wave's lanes stored has been written. Called by all lanes before counters are advanced.
EP_DEVICE void rows_written() { bulk_wait(); }

// Whether rows in the channel to a rank are put one by one.
EP_DEVICE bool puts_rows(const Op& op, i64 rank) {
  bool puts = false;
  with_transport(op, 0, rank, [&](auto to) { puts = to.PUTS_ROWS; });
  return puts;
}

// Puts rows that have been stored in channels to ranks where rows are put one by one: each lane of a wave has one, or none. Called by all lanes of a wave.
EP_DEVICE void put_row_of_lanes(const Op& op, bool mine, int rank, const char* row, u32 bytes, int phase) {
  if (!EP_DEVICE_POSTED) return;
  const Lanes all = ballot(mine && puts_rows(op, rank));
  if (all == 0) return;
  rows_written();
  sync_lanes();
  for (Lanes left = all; left; left &= left - 1) {
    const int k = lowest(left);
    put_from_channel(op, shuffle(rank, k), (const char*)shuffle((u64)row, k), bytes, phase);
  }
}

EP_DEVICE int take_ticket(const Op& op, int which) {
  int ticket = 0;
  if (lane() == 0) ticket = add((int*)&op.state->scratch[which], 1);
  return shuffle(ticket, 0);
}
