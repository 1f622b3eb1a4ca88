// Ranks that are not mapped, and those that are, by the same calls. Follows op.cu, and with EP_POSTED proxy.cu, or with EP_DEVICE_POSTED the source of a
// backend, which org.ep4j.spi.DevicePosted describes.
//
// Given by the compiler as macros, from org.ep4j.engine.layout.WindowLayout: EP_OUTGOING and EP_INCOMING (where channels begin), EP_CHANNELS (of each kind),
// EP_CHANNEL_BYTES, EP_CHANNEL_ROOM (rows), EP_CHANNEL_ROWS, EP_CHANNEL_RECORDS, EP_CHANNEL_WEIGHTS, EP_CHANNEL_MESSAGES, EP_CHANNEL_MESSAGE_FLAGS,
// EP_CHANNEL_COUNTS, EP_CHANNEL_SLOTS, EP_CHANNEL_SLOT_FLAGS, EP_RELAYED_RECORD_BYTES, EP_RELAYS (some ranks relay rows of others).
//
// A channel is written again only when its receiver has begun the next operation or has given credit, so when all that was posted from it has
// arrived.
#define EP_ALIGNED_16(bytes) (((bytes) + 15) / 16 * 16)
#define EP_FLAG_BANK EP_ALIGNED_16(8ull * EP_MAX_LL_TOKENS)
#define EP_SLOT_FLAG_BANK EP_ALIGNED_16(8ull * EP_MAX_LL_TOKENS * EP_TOPK)

#if EP_DEVICE_POSTED
// Calls that only NICs need or that a kernel makes seldom. Inlined at every call they double the code of a kernel, which is fetched from memory when it
// begins.
EP_NOINLINE void signal_noinline(unsigned long long* counter, u64 value, int peer) { ::ep_posted_signal(counter, value, peer); }
EP_NOINLINE void quiet_noinline() { ::ep_posted_quiet(); }
EP_NOINLINE void put_by_wave_noinline(char* there, const char* from, u64 bytes, int peer) { ::ep_posted_put_message_wave(there, from, bytes, peer); }
EP_NOINLINE void put_signal_noinline(char* there, const char* from, u64 bytes, unsigned long long* word, u64 value, int peer) {
  ::ep_posted_put_signal(there, from, bytes, word, value, peer);
}
EP_NOINLINE void put_signal_by_wave_noinline(char* there, const char* from, u64 bytes, unsigned long long* word, u64 value, int peer) {
  ::ep_posted_put_signal_wave(there, from, bytes, word, value, peer);
}
EP_NOINLINE void put_signal_by_block_noinline(char* there, const char* from, u64 bytes, unsigned long long* word, u64 value, int peer) {
  ::ep_posted_put_signal_block(there, from, bytes, word, value, peer);
}

// Copy of op.remotes in shared memory: every acquire and every fence makes a thread fetch global memory anew.
struct CachedRemotes {
#if EP_RANKS <= 64
  Remote all[EP_RANKS];
#endif
};

// Called by all threads of a block, which synchronise after it.
EP_DEVICE void cache_remotes(const Op& op, CachedRemotes* cached) {
#if EP_RANKS <= 64
  for (int i = threadIdx.x; i < (int)sizeof(CachedRemotes) / 8; i += blockDim.x) ((u64*)cached)[i] = ((const u64*)op.remotes)[i];
#endif
}

// The same operation with the copy.
EP_DEVICE Op with_remotes(const Op& op, const CachedRemotes* cached) {
  Op other = op;
#if EP_RANKS <= 64
  other.remotes = cached->all;
#endif
  return other;
}

// Posts what has been put at "from" in the channel to a rank. Always true: a backend that has no room waits.
EP_DEVICE bool post(const Op& op, i64 rank, const char* from, u64 bytes, int) {
  const Remote& to = op.remotes[rank];
  if (bytes != 0) ::ep_posted_put(to.there + (from - to.out), from, EP_ALIGNED_16(bytes), (int)to.number);
  return true;
}

// As post; called by all threads of a wave or a block, all of which see what is there.
EP_DEVICE void post_by_wave(const Op& op, i64 rank, const char* from, u64 bytes) {
  const Remote& to = op.remotes[rank];
  if (bytes != 0) ::ep_posted_put_wave(to.there + (from - to.out), from, EP_ALIGNED_16(bytes), (int)to.number);
}
EP_DEVICE void post_by_wave_noinline(const Op& op, i64 rank, const char* from, u64 bytes) {
  const Remote& to = op.remotes[rank];
  if (bytes != 0) put_by_wave_noinline(to.there + (from - to.out), from, EP_ALIGNED_16(bytes), (int)to.number);
}
EP_DEVICE void post_by_block(const Op& op, i64 rank, const char* from, u64 bytes) {
  const Remote& to = op.remotes[rank];
  if (bytes != 0) ::ep_posted_put_block(to.there + (from - to.out), from, EP_ALIGNED_16(bytes), (int)to.number);
}

// Puts to a rank that this GPU maps are stores of the threads that call for them: they go straight to their place in the channel from where bytes lie, in
// shared memory or elsewhere. To others they go by way of this rank's end of the channel. "place" is there.
EP_DEVICE bool is_straight(const Op& op, i64 rank) { return is_remote(op, rank) && op.remotes[rank].mapped != 0; }
// Prefetches what puts need, by a wave that others do not wait for.
EP_DEVICE void prepare_puts(const Op& op) { ::ep_posted_prepare(op.window); }
EP_DEVICE void put_straight_by_wave(const Op& op, i64 rank, const char* place, const void* from, u64 bytes) {
  const Remote& to = op.remotes[rank];
  ::ep_posted_put_wave(to.there + (place - to.out), (const char*)from, EP_ALIGNED_16(bytes), (int)to.number);
}
EP_DEVICE void put_straight_by_wave_noinline(const Op& op, i64 rank, const char* place, const void* from, u64 bytes) {
  const Remote& to = op.remotes[rank];
  put_by_wave_noinline(to.there + (place - to.out), (const char*)from, EP_ALIGNED_16(bytes), (int)to.number);
}
EP_DEVICE void put_straight_by_block(const Op& op, i64 rank, const char* place, const void* from, u64 bytes) {
  const Remote& to = op.remotes[rank];
  ::ep_posted_put_block(to.there + (place - to.out), (const char*)from, EP_ALIGNED_16(bytes), (int)to.number);
}
// Address of a flag in the memory of such a rank.
EP_DEVICE char* flag_straight(const Op& op, i64 rank, const u64* flag) {
  const Remote& to = op.remotes[rank];
  return to.there + ((const char*)flag - to.out) + to.mapped;
}
// Publishes what has been put straight, which the calling thread has seen.
EP_DEVICE void signal_straight(const Op& op, i64 rank, const u64* flag, u64 number) { store_release(flag_straight(op, rank, flag), number); }

// Address that stands for this rank's counter at a peer.
EP_DEVICE unsigned long long* counter_there(const Op& op, int counter) { return (unsigned long long*)counter_at(op.words, counter, op.rank); }

// Puts, and sets a word when all of it is there. Where the peer is mapped, libraries may fence more than what has been put; a release does not.
EP_DEVICE void put_signal_by_wave(const Remote& to, char* there, const char* from, u64 bytes, unsigned long long* word, u64 value) {
  if (to.mapped) {
    put_by_wave_noinline(there, from, bytes, (int)to.number);
    sync_lanes();
    if (lane() == 0) store_release((char*)word + to.mapped, value);
  } else {
    put_signal_by_wave_noinline(there, from, bytes, word, value, (int)to.number);
  }
}
EP_DEVICE void put_signal_by_block(const Remote& to, char* there, const char* from, u64 bytes, unsigned long long* word, u64 value) {
  if (to.mapped) {
    ::ep_posted_put_block(there, from, bytes, (int)to.number);
    sync_block();
    if (threadIdx.x == 0) store_release((char*)word + to.mapped, value);
  } else {
    put_signal_by_block_noinline(there, from, bytes, word, value, (int)to.number);
  }
}

// Posts this rank's announcement, which has been written into the window and is the same for all ranks, and advances its counter. Called by a wave.
EP_DEVICE void post_announcement(const Op& op, i64 rank, int kind, u64 number, int counter) {
  char* mine = announcement_at(op.window, kind, number, op.rank);
  put_signal_by_wave(op.remotes[rank], mine, mine, EP_ANNOUNCEMENT_BYTES, counter_there(op, counter), number);
}
#elif EP_POSTED
// Posts what has been put at "from" in the channel to a rank. Where it returns false the failure is recorded, and whatever the kernel waits for next fails.
EP_DEVICE bool post(const Op& op, i64 rank, const char* from, u64 bytes, int phase) {
  const Remote& to = op.remotes[rank];
  const u64 at = (u64)(from - to.out);
  return bytes == 0 || fifo_write(op, to.fifo, rank, to.in_there + at, to.out_at + at, EP_ALIGNED_16(bytes), phase);
}

// Posts this rank's announcement, which has been written into the window and is the same for all ranks. Called by one thread.
EP_DEVICE bool post_announcement(const Op& op, i64 rank, int kind, u64 number, int phase) {
  const char* mine = announcement_at(op.window, kind, number, op.rank);
  const u64 at = (u64)(mine - op.window);
  return fifo_write(op, op.remotes[rank].fifo, rank, at, at, EP_ANNOUNCEMENT_BYTES, phase);
}
#endif

#if EP_POSTED
EP_DEVICE char* channel_to(const Op& op, i64 rank) { return op.remotes[rank].out; }
EP_DEVICE const char* channel_from(const Op& op, i64 rank) { return op.remotes[rank].in; }

#if EP_RELAYS
// High throughput: the relay of rows that this rank sends to a remote one, by org.ep4j.engine.sync.Relays; -1 where it goes straight.
EP_DEVICE int via_to(const Op& op, i64 rank) {
  const i64 via = op.remotes[rank].via;
  return via < 0 || is_masked(op, via) ? -1 : (int)via;
}
// The relay of rows that a remote rank sends to this one.
EP_DEVICE int via_from(const Op& op, i64 source) {
  const i64 via = op.remotes[source].comes_via;
  return via < 0 || is_masked(op, via) ? -1 : (int)via;
}
#endif

#if EP_MAX_TOKENS > 0
// Rows of selections on their way back: the places in all channels to remote ranks together, from which they are posted to any of these, and the slot of a
// selection in all channels from them together, which its rank writes. Offsets in the window, of this rank and of all others.
#define EP_RETURN_ROOM ((u64)EP_CHANNELS * EP_CHANNEL_ROOM)
EP_DEVICE u64 row_in_channels(u64 place) { return place / EP_CHANNEL_ROOM * EP_CHANNEL_BYTES + EP_CHANNEL_ROWS + place % EP_CHANNEL_ROOM * EP_BF16_ROW; }
EP_DEVICE u64 returning_row(u64 place) { return EP_OUTGOING + row_in_channels(place); }
EP_DEVICE u64 returned_row(i64 token, i64 k) { return EP_INCOMING + row_in_channels((u64)token * EP_TOPK + k); }

// Posts a row from one of these places to a slot of a remote rank. Called by all lanes of a wave, all of which have written it.
EP_DEVICE void post_returning(const Op& op, i64 rank, u64 from, u64 to) {
#if EP_DEVICE_POSTED
  ::ep_posted_put_wave(op.window + to, op.window + from, EP_BF16_ROW, (int)op.remotes[rank].number);
#else
  if (lane() == 0) fifo_write(op, op.remotes[rank].fifo, rank, to, from, EP_BF16_ROW, PHASE_COMBINE_ROWS);
#endif
}
#endif

// Copies multiples of 16 bytes. Called by all threads of a grid.
EP_DEVICE void copy_all(char* to, const char* from, u64 bytes) {
  const u64 stride = (u64)gridDim.x * blockDim.x;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < bytes / 16; i += stride) ((Vec*)to)[i] = load_remote((const Vec*)from + i);
}

// Waits for a counter of all remote ranks, with the same result in all threads of a block. The last block of a grid adds up how long, where that is asked
// for.
EP_DEVICE bool await_remotes(const Op& op, int counter, u64 number, int phase) {
  const bool counts = op.wait_statistics != 0 && blockIdx.x == gridDim.x - 1;
  bool good = true;
  for (i64 r = threadIdx.x; good && r < EP_RANKS; r += blockDim.x) {
    if (!is_remote(op, r) || is_masked(op, r)) continue;
    const u64 start = counts ? nanoseconds() : 0;
    good = await(op, counter, r, number, phase);
    if (counts) op.wait_statistics[r] += nanoseconds() - start;
  }
  return all_threads(good);
}
#endif

// Advances this rank's counter at another one. Called by one thread.
EP_DEVICE void advance(const Op& op, char* peer, i64 rank, int counter, u64 value, int phase) {
#if EP_DEVICE_POSTED
  if (is_remote(op, rank)) {
    // Rows alone are posted without a signal of their own, by the whole grid: see last_block.
    if (counter == HT_DATA) quiet_noinline();
    fence_system();
    signal_noinline(counter_there(op, counter), value, (int)op.remotes[rank].number);
    return;
  }
#elif EP_POSTED
  if (is_remote(op, rank)) {
    fifo_advance(op, op.remotes[rank].fifo, rank, counter, value, phase);
    return;
  }
#endif
  store_published(counter_at(peer, counter, op.rank), value);
}

// Advances this rank's counter at all ranks. Called by all threads of the last block, see last_block.
EP_DEVICE void advance_all(const Op& op, int counter, u64 number, int phase) {
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (!is_masked(op, r)) advance(op, op.peers[r], r, counter, number, phase);
  }
}

#if EP_RELAYS
// As above, but advances the counter at remote ranks only, or at the others only.
EP_DEVICE void advance_some(const Op& op, bool remotes, int counter, u64 number, int phase) {
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (!is_masked(op, r) && is_remote(op, r) == remotes) advance(op, op.peers[r], r, counter, number, phase);
  }
}
#endif

// ---- Low latency: what goes to a rank, whose memory is "peer" where it is mapped, and what comes from one.
EP_DEVICE char* message_to(const Op& op, char* peer, i64 rank, u64 number, i64 index) {
#if EP_POSTED
  if (is_remote(op, rank)) return channel_to(op, rank) + EP_CHANNEL_MESSAGES + ((number & 1) * EP_MAX_LL_TOKENS + index) * EP_MESSAGE_BYTES;
#endif
  return message_at(peer, number, op.rank, index);
}
EP_DEVICE u64* message_flag_to(const Op& op, char* peer, i64 rank, u64 number, i64 index) {
#if EP_POSTED
  if (is_remote(op, rank)) return (u64*)(channel_to(op, rank) + EP_CHANNEL_MESSAGE_FLAGS + (number & 1) * EP_FLAG_BANK) + index;
#endif
  return message_flag_at(peer, number, op.rank, index);
}
EP_DEVICE u64* ll_counts_to(const Op& op, char* peer, i64 rank, u64 number) {
#if EP_POSTED
  if (is_remote(op, rank)) return (u64*)(channel_to(op, rank) + EP_CHANNEL_COUNTS + (number & 1) * EP_LL_COUNT_BYTES);
#endif
  return ll_counts_at(peer, number, op.rank);
}
EP_DEVICE char* combine_slot_to(const Op& op, char* peer, i64 rank, u64 number, i64 token, i64 k) {
#if EP_POSTED
  if (is_remote(op, rank)) return channel_to(op, rank) + EP_CHANNEL_SLOTS + (((number & 1) * EP_MAX_LL_TOKENS + token) * (u64)EP_TOPK + k) * EP_COMBINE_SLOT_BYTES;
#endif
  return combine_slot_at(peer, number, token, k);
}
EP_DEVICE u64* combine_flag_to(const Op& op, char* peer, i64 rank, u64 number, i64 token, i64 k) {
#if EP_POSTED
  if (is_remote(op, rank)) return (u64*)(channel_to(op, rank) + EP_CHANNEL_SLOT_FLAGS + (number & 1) * EP_SLOT_FLAG_BANK) + token * (u64)EP_TOPK + k;
#endif
  return combine_flag_at(peer, number, token, k);
}

EP_DEVICE const char* message_from(const Op& op, u64 number, i64 source, i64 index) {
#if EP_POSTED
  if (is_remote(op, source)) return channel_from(op, source) + EP_CHANNEL_MESSAGES + ((number & 1) * EP_MAX_LL_TOKENS + index) * EP_MESSAGE_BYTES;
#endif
  return message_at(op.local, number, source, index);
}
EP_DEVICE const u64* message_flag_from(const Op& op, u64 number, i64 source, i64 index) {
#if EP_POSTED
  if (is_remote(op, source)) return (const u64*)(channel_from(op, source) + EP_CHANNEL_MESSAGE_FLAGS + (number & 1) * EP_FLAG_BANK) + index;
#endif
  return message_flag_at(op.local, number, source, index);
}
EP_DEVICE const u64* ll_counts_from(const Op& op, u64 number, i64 source) {
#if EP_POSTED
  if (is_remote(op, source)) return (const u64*)(channel_from(op, source) + EP_CHANNEL_COUNTS + (number & 1) * EP_LL_COUNT_BYTES);
#endif
  return ll_counts_at(op.local, number, source);
}
EP_DEVICE const char* combine_slot_from(const Op& op, u64 number, i64 source, i64 token, i64 k) {
#if EP_POSTED
  if (is_remote(op, source)) {
    return channel_from(op, source) + EP_CHANNEL_SLOTS + (((number & 1) * EP_MAX_LL_TOKENS + token) * (u64)EP_TOPK + k) * EP_COMBINE_SLOT_BYTES;
  }
#endif
  return combine_slot_at(op.local, number, token, k);
}
EP_DEVICE const u64* combine_flag_from(const Op& op, u64 number, i64 source, i64 token, i64 k) {
#if EP_POSTED
  if (is_remote(op, source)) return (const u64*)(channel_from(op, source) + EP_CHANNEL_SLOT_FLAGS + (number & 1) * EP_SLOT_FLAG_BANK) + token * (u64)EP_TOPK + k;
#endif
  return combine_flag_at(op.local, number, token, k);
}

#if EP_DEVICE_POSTED
// Publishes messages or slots, of which "bytes" bytes count: each lane of a wave has one, or none, and has seen all of it. Called by a wave.
EP_DEVICE void publish_by_wave(const Op& op, bool mine, i64 rank, const char* what, u64 bytes, u64* flag, u64 number) {
  const bool posted = mine && is_remote(op, rank);
  if (mine && !posted) store_published(flag, number);
  for (Lanes left = ballot(posted); left; left &= left - 1) {
    const int k = lowest(left);
    const Remote& to = op.remotes[shuffle((u64)rank, k)];
    const char* from = (const char*)shuffle((u64)what, k);
    const char* from_flag = (const char*)shuffle((u64)flag, k);
    put_signal_by_wave(to, to.there + (from - to.out), from, EP_ALIGNED_16(bytes), (unsigned long long*)(to.there + (from_flag - to.out)), number);
  }
}

// As above, for things that all threads of a block have seen, all of which call it: one alone is posted by the whole block, several by a wave each. With
// "signalled", ranks that are put to straight have their flags already.
EP_DEVICE void publish_by_block(const Op& op, bool signalled, int things, const int* ranks, char* const* what, u64 bytes, u64* const* flags, u64 number) {
  for (int i = things == 1 ? 0 : warp(); i < things; i += blockDim.x / EP_LANES) {
    if (signalled && is_straight(op, ranks[i])) {
      if (things == 1) break;
      continue;
    }
    const Remote& to = op.remotes[ranks[i]];
    char* there = to.there + (what[i] - to.out);
    unsigned long long* flag = (unsigned long long*)(to.there + ((const char*)flags[i] - to.out));
    if (things != 1) {
      put_signal_by_wave(to, there, what[i], EP_ALIGNED_16(bytes), flag, number);
    } else {
      put_signal_by_block(to, there, what[i], EP_ALIGNED_16(bytes), flag, number);
      break;
    }
  }
}

// As above, for a thread alone.
EP_DEVICE void publish(const Op& op, i64 rank, const char* what, u64 bytes, u64* flag, u64 number, int) {
  if (is_remote(op, rank)) {
    const Remote& to = op.remotes[rank];
    put_signal_noinline(
        to.there + (what - to.out), what, EP_ALIGNED_16(bytes), (unsigned long long*)(to.there + ((const char*)flag - to.out)), number, (int)to.number);
  } else {
    store_published(flag, number);
  }
}
#else
// Publishes a message or slot, of which "bytes" bytes count. Remote ranks read it only after this rank's counter has reached the number.
EP_DEVICE void publish(const Op& op, i64 rank, const char* what, u64 bytes, u64* flag, u64 number, int phase) {
  store_published(flag, number);
#if EP_POSTED
  if (is_remote(op, rank)) post(op, rank, what, bytes, phase);
#endif
}
#endif
