// High throughput: how operations begin, and how rows are moved.
//
// The first kernel of an operation counts what it sends, if it is new. The last of its blocks to have done so announces it and lets the others go
// on: they are few enough to be on the GPU at once, see Multiprocessors. Its blocks then find all tickets of State.scratch (0: tokens of ht_send, 1: rows of
// ht_expand, 2 to 5: rows of ht_selections for remote ranks) zero.
enum Kind { KIND_DISPATCH = 1, KIND_CACHED_DISPATCH, KIND_COMBINE_ROWS, KIND_COMBINE_SELECTIONS };
// FNUZ beside FP8 says which codes the rows have; it is compared and nothing else.
enum Flag { FLAG_FP8 = 1, FLAG_WEIGHTS = 2, FLAG_FNUZ = 4 };
enum Ticket { TICKET_SEND, TICKET_EXPAND, TICKET_RETURN, TICKET_RETURNED, TICKET_ROUNDS };

#define EP_NO_TOKEN 0xffffffffffffffffull
#define EP_MAX_BLOCKS 2048
#define EP_RECORD_HEAD (4 + 8 * EP_TOPK)

// ---- Temporary memory: for each block of ht_send the first bad id; with EP_RELAYS how many rows each rank relays for this one; then counts [slices, R]
// of ht_send, or counts [chunks, L] from ht_receive to ht_expand.
EP_DEVICE u64* first_bad_id(const Op& op) { return (u64*)op.temporary; }
#if EP_RELAYS
EP_DEVICE int* relayed_rows(const Op& op) { return (int*)(op.temporary + 8 * EP_MAX_BLOCKS); }
EP_DEVICE int* temporary_counts(const Op& op) { return (int*)(op.temporary + 8 * EP_MAX_BLOCKS + EP_ALIGNED(4 * EP_RANKS)); }
#else
EP_DEVICE int* temporary_counts(const Op& op) { return (int*)(op.temporary + 8 * EP_MAX_BLOCKS); }
#endif

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

#if EP_POSTED
// Rows of selections that this rank returns to remote ranks in an exact by-expert combine. Called by all lanes of a wave.
EP_DEVICE u64 rows_to_return(const Op& op) {
  if (op.kind != KIND_COMBINE_SELECTIONS) return 0;
  int sum = 0;
  for (i64 r = lane(); r < EP_RANKS; r += EP_LANES) {
    if (is_remote(op, r) && !is_masked(op, r)) sum += handle_ints(op, EP_HANDLE_SELECTIONS_FROM)[r];
  }
  for (int d = EP_LANES / 2; d > 0; d /= 2) sum += (int)shuffle_xor((u32)sum, d);
  return (u32)sum;
}
#endif

// Announces the operation to all ranks: the block's words, and rows for each rank where they are counted. That this rank has begun also means that
// its memory may be written to. Called by all threads of one block.
EP_DEVICE void ht_announce(const Op& op, const Announcement& a, u64 handle, const int* rows) {
  u64 words[8] = {a.number, (u64)op.kind, (u64)op.flags, handle, a.mask_digest, (u64)op.input, 0, 0};
#if EP_POSTED && !EP_DEVICE_POSTED
  // All ranks close as many rounds: see close_rounds.
  words[6] = rows_to_return(op);
#endif
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
#if EP_DEVICE_POSTED
    if (is_remote(op, r)) {
      post_announcement(op, r, ANNOUNCE_HT, a.number, HT_ENTER);
      continue;
    }
#elif EP_POSTED
    if (lane() == 0 && is_remote(op, r)) post_announcement(op, r, ANNOUNCE_HT, a.number, PHASE_BEGIN);
#endif
    if (lane() == 0) advance(op, a.peers[r], r, HT_ENTER, a.number, PHASE_BEGIN);
  }
}

// Waits for a counter of all ranks; the same answer for all threads of a block.
EP_DEVICE bool ht_await_all(const Op& op, int counter, u64 number, int phase) {
  bool good = true;
  for (i64 r = threadIdx.x; good && r < EP_RANKS; r += blockDim.x) good = is_masked(op, r) || await(op, counter, r, number, phase);
  return all_threads(good);
}

// Waits until all ranks have begun the operation, those that are remote only if wanted, and compares what it is; the same answer for all threads of a
// block.
EP_DEVICE bool ht_have_begun(const Op& op, u64 number, u64 handle, bool remotes) {
  u64 mine[8] = {number, (u64)op.kind, (u64)op.flags, handle, op.state->mask_digest, (u64)op.input, 0, 0};
  bool good = true;
  for (i64 r = threadIdx.x; good && r < EP_RANKS; r += blockDim.x) {
    if (is_masked(op, r) || (is_remote(op, r) && !remotes)) continue;
    good = await(op, HT_ENTER, r, number, PHASE_BEGIN) && same_announcement(op, ANNOUNCE_HT, number, r, 5, mine, PHASE_BEGIN);
  }
  return all_threads(good);
}

// What a rank has announced, when all have begun.
EP_DEVICE char* ht_announcement(const Op& op, u64 number, i64 source) { return announcement_at(op.local, ANNOUNCE_HT, number, source); }

#if EP_POSTED
// Puts what remote ranks have announced where mapped ranks put theirs. Called by all threads of a block, some of which have acquired the counters before
// it synchronized.
EP_DEVICE void gather_remotes(const Op& op, u64 number) {
  const i64 vecs = EP_ANNOUNCEMENT_BYTES / 16;
  for (i64 i = threadIdx.x; i < EP_RANKS * vecs; i += blockDim.x) {
    const i64 r = i / vecs;
    if (!is_remote(op, r) || is_masked(op, r)) continue;
    ((Vec*)ht_announcement(op, number, r))[i % vecs] = load_remote((const Vec*)announcement_at(op.window, ANNOUNCE_HT, number, r) + i % vecs);
  }
  sync_block();
  if (threadIdx.x == 0) store_release(&op.state->ht_gathered, number);
}

// Waits for the block that does so. Called by one thread.
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
#endif

// Waits until all ranks have begun the operation; the same answer for all threads of a block. Called by all blocks of its first kernel, which are on the
// GPU at once. The memory of the host is far away, and all of them want the same words: the first one reads there, for all.
EP_DEVICE bool ht_begun(const Op& op, u64 number, u64 handle) {
#if EP_POSTED
  if (!ht_have_begun(op, number, handle, blockIdx.x == 0)) return false;
  if (blockIdx.x != 0) return all_threads(threadIdx.x != 0 || await_gathered(op, number));
  gather_remotes(op, number);
  return true;
#else
  return ht_have_begun(op, number, handle, true);
#endif
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
#if EP_RELAYS
    for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) relayed_rows(op)[r] = 0;
#endif
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
  Carrier carry = {0, 0, 0};
#if EP_BULK
  EP_SHARED u64 barriers[1024 / EP_LANES];
  carry.stage = stages + warp() * stage_bytes;
  carry.barrier = barriers + warp();
  if (lane() == 0) {
    barrier_init(carry.barrier, 1);
    bulk_fence();
  }
  sync_block();
#endif
  return carry;
}

#if EP_BULK
EP_DEVICE void load_piece(const Carrier& carry, const char* from, u32 bytes) {
  bulk_wait_read();
  sync_lanes();
  if (lane() == 0) {
    barrier_expect(carry.barrier, bytes);
    bulk_load(carry.stage, from, bytes, carry.barrier);
  }
}
#endif

// Begins to read a row. What the warp stored before has then left the stage.
EP_DEVICE void begin_row(const Carrier& carry, const char* from, u32 bytes) {
#if EP_BULK
  load_piece(carry, from, EP_STAGE_PIECE(bytes));
#endif
}

// Writes the row that was begun to the places of all lanes that have one. Lanes that also have a record in the stage send it along. "put" is called by all
// lanes with each piece of the row, where it begins in it and its bytes.
template <class Put>
EP_DEVICE void end_row(Carrier& carry, const char* from, u32 bytes, char* to, char* record_to, const char* record, u32 record_bytes, Put put) {
#if EP_BULK
  for (u32 at = 0; at < bytes; at += EP_PIECE) {
    u32 piece = EP_STAGE_PIECE(bytes - at);
    if (at > 0) load_piece(carry, from + at, piece);
    barrier_wait(carry.barrier, carry.parity);
    carry.parity ^= 1;
    if (to) bulk_store(to + at, carry.stage, piece);
    if (at == 0 && record_to) bulk_store(record_to, record, record_bytes);
    bulk_commit();
    put(carry.stage, at, piece);
  }
#else
  put(from, 0u, bytes);
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
#endif
}

EP_DEVICE void end_row(Carrier& carry, const char* from, u32 bytes, char* to, char* record_to, const char* record, u32 record_bytes) {
  end_row(carry, from, bytes, to, record_to, record, record_bytes, [](const char*, u32, u32) {});
}

EP_DEVICE void copy_row(Carrier& carry, char* to, const char* from, u32 bytes) {
  begin_row(carry, from, bytes);
  end_row(carry, from, bytes, lane() == 0 ? to : 0, 0, 0, 0);
}

// What a thread's lanes stored has been written. Called by all lanes before counters are advanced.
EP_DEVICE void rows_written() {
#if EP_BULK
  bulk_wait();
#endif
}

EP_DEVICE int take_ticket(const Op& op, int which) {
  int ticket = 0;
  if (lane() == 0) ticket = add((int*)&op.state->scratch[which], 1);
  return shuffle(ticket, 0);
}
