// What kernels call to write to any rank, and to wait for any. Follows the transports: mapped.cu, host_posted.cu, device_posted.cu.
//
// Given by the compiler as macros, from org.ep4j.engine.layout.WindowLayout: EP_OUTGOING and EP_INCOMING (where channels begin), EP_CHANNELS (of each kind),
// EP_CHANNEL_BYTES, EP_CHANNEL_ROOM (rows), EP_CHANNEL_ROWS, EP_CHANNEL_RECORDS, EP_CHANNEL_WEIGHTS, EP_CHANNEL_MESSAGES, EP_CHANNEL_MESSAGE_FLAGS,
// EP_CHANNEL_COUNTS, EP_CHANNEL_SLOTS, EP_CHANNEL_SLOT_FLAGS, EP_RELAYED_RECORD_BYTES, EP_RELAYS (some ranks relay rows of others).

// A channel is written again only when its receiver has begun the next operation or has given credit, so when all that was posted from it has
// arrived.
#define EP_FLAG_BANK EP_ALIGNED_16(8ull * EP_MAX_LL_TOKENS)
#define EP_SLOT_FLAG_BANK EP_ALIGNED_16(8ull * EP_MAX_LL_TOKENS * EP_TOPK)

// Calls "use" with the transport of a rank: Mapped, HostPosted or DevicePosted. "peer" is its memory by op.peers; 0 where no counter is advanced.
template <class Use>
EP_DEVICE void with_transport(const Op& op, char* peer, i64 rank, Use use) {
  if (EP_DEVICE_POSTED && op.paths[rank].kind == PATH_DEVICE_POSTED) use(DevicePosted{op, rank});
  else if (EP_HOST_POSTED && op.paths[rank].kind == PATH_HOST_POSTED) use(HostPosted{op, rank});
  else use(Mapped{op, rank, peer});
}

// Copy of op.paths in shared memory: every acquire and every fence makes a thread fetch global memory anew.
struct CachedPaths {
  static constexpr bool FITS = EP_RANKS <= 64;
  Path all[FITS ? EP_RANKS : 1];
};

// Called by all threads of a block, which synchronise after it.
EP_DEVICE void cache_paths(const Op& op, CachedPaths* cached) {
  if (EP_HAS_CHANNELS && CachedPaths::FITS) {
    for (int i = threadIdx.x; i < (int)sizeof(CachedPaths) / 8; i += blockDim.x) ((u64*)cached)[i] = ((const u64*)op.paths)[i];
  }
}

// The same operation with the copy.
EP_DEVICE Op with_paths(const Op& op, const CachedPaths* cached) {
  Op other = op;
  if (CachedPaths::FITS) other.paths = cached->all;
  return other;
}

EP_DEVICE char* channel_to(const Op& op, i64 rank) { return op.paths[rank].out; }
EP_DEVICE const char* channel_from(const Op& op, i64 rank) { return op.paths[rank].in; }

// Puts a part of the channel to a rank. Called by all lanes of a wave, all of which see what has been stored there.
EP_DEVICE void put_from_channel(const Op& op, i64 rank, const char* from, u64 bytes, int phase) {
  with_transport(op, 0, rank, [&](auto to) { to.put(place_there(op, rank, from), from, bytes, phase); });
}

// Puts this rank's announcement, which has been stored where announcement_at with "peer" says, and advances a counter. Called by a wave.
EP_DEVICE void put_announcement(const Op& op, char* peer, i64 rank, AnnouncementKind kind, u64 number, Counter counter, int phase) {
  const char* mine = announcement_at(peer, kind, number, op.rank);
  // At the same offset in all windows.
  with_transport(op, peer, rank, [&](auto to) { to.put_with_signal((u64)(mine - peer), mine, EP_ANNOUNCEMENT_BYTES, counter, number, phase); });
}

// High throughput: the relay of rows that this rank sends to another one, by org.ep4j.engine.sync.Relays; -1 where it goes directly.
EP_DEVICE int via_to(const Op& op, i64 rank) {
  if (!EP_RELAYS || !has_channel_to(op, rank)) return -1;
  const i64 via = op.paths[rank].via;
  return via < 0 || is_masked(op, via) ? -1 : (int)via;
}
// The relay of rows that another rank sends to this one.
EP_DEVICE int via_from(const Op& op, i64 source) {
  if (!EP_RELAYS || !has_channel_from(op, source)) return -1;
  const i64 via = op.paths[source].comes_via;
  return via < 0 || is_masked(op, via) ? -1 : (int)via;
}

// Rows of selections on their way back: the places in all channels to other ranks together, from which they are posted to any of these, and the slot of a
// selection in all channels from them together, which its rank writes. Offsets in the window, of this rank and of all others.
#define EP_RETURN_ROOM ((u64)EP_CHANNELS * EP_CHANNEL_ROOM)
EP_DEVICE u64 row_in_channels(u64 place) {
  constexpr u64 ROOM = EP_CHANNEL_ROOM > 0 ? EP_CHANNEL_ROOM : 1;  // there is none without high throughput
  return place / ROOM * EP_CHANNEL_BYTES + EP_CHANNEL_ROWS + place % ROOM * EP_BF16_ROW;
}
EP_DEVICE u64 returning_row(u64 place) { return EP_OUTGOING + row_in_channels(place); }
EP_DEVICE u64 returned_row(i64 token, i64 k) { return EP_INCOMING + row_in_channels((u64)token * EP_TOPK + k); }

// Copies multiples of 16 bytes. Called by all threads of a grid.
EP_DEVICE void copy_all(char* to, const char* from, u64 bytes) {
  const u64 stride = (u64)gridDim.x * blockDim.x;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < bytes / 16; i += stride) ((Vec*)to)[i] = load_remote((const Vec*)from + i);
}

// Waits for a counter of all ranks that "waits_for" says, with the same result in all threads of a block. The last block of a grid adds up how long, where
// that is asked for.
template <class WaitsFor>
EP_DEVICE bool await_ranks(const Op& op, Counter counter, u64 number, int phase, WaitsFor waits_for) {
  const bool counts = op.wait_statistics != 0 && blockIdx.x == gridDim.x - 1;
  bool good = true;
  for (i64 r = threadIdx.x; good && r < EP_RANKS; r += blockDim.x) {
    if (!waits_for(r) || is_masked(op, r)) continue;
    const u64 start = counts ? nanoseconds() : 0;
    good = await(op, counter, r, number, phase);
    if (counts) op.wait_statistics[r] += nanoseconds() - start;
  }
  return all_threads(good);
}

// Waits for a counter of all ranks that write to channels.
EP_DEVICE bool await_channels(const Op& op, Counter counter, u64 number, int phase) {
  return !EP_HAS_CHANNELS || await_ranks(op, counter, number, phase, [&](i64 r) { return has_channel_from(op, r); });
}

// Waits for a counter of all ranks that the host posts for: nothing of theirs may be read before.
EP_DEVICE bool await_hosts(const Op& op, Counter counter, u64 number, int phase) {
  return !EP_HOST_POSTED || await_ranks(op, counter, number, phase, [&](i64 r) { return op.paths[r].comes == PATH_HOST_POSTED; });
}

// Advances this rank's counter at another one. Called by one thread.
EP_DEVICE void advance(const Op& op, char* peer, i64 rank, Counter counter, u64 value, int phase) {
  with_transport(op, peer, rank, [&](auto to) {
    // Rows alone are put without a signal of their own, by the whole grid: see last_block.
    to.flush(counter == HT_DATA);
    to.signal(counter, value, phase);
  });
}

// Advances this rank's counter at all ranks that "concerns" says. Called by all threads of the last block, see last_block.
template <class Concerns>
EP_DEVICE void advance_some(const Op& op, Counter counter, u64 number, int phase, Concerns concerns) {
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (concerns(r) && !is_masked(op, r)) advance(op, op.peers[r], r, counter, number, phase);
  }
}
EP_DEVICE void advance_all(const Op& op, Counter counter, u64 number, int phase) {
  advance_some(op, counter, number, phase, [](i64) { return true; });
}

// ---- Low latency: what goes to a rank, whose memory is "peer" where it has no channel, and what comes from one.
EP_DEVICE char* message_in_channel(const char* channel, u64 number, i64 index) {
  return (char*)channel + EP_CHANNEL_MESSAGES + ((number & 1) * EP_MAX_LL_TOKENS + index) * EP_MESSAGE_BYTES;
}
EP_DEVICE u64* message_flag_in_channel(const char* channel, u64 number, i64 index) {
  return (u64*)(channel + EP_CHANNEL_MESSAGE_FLAGS + (number & 1) * EP_FLAG_BANK) + index;
}
EP_DEVICE u64* ll_counts_in_channel(const char* channel, u64 number) { return (u64*)(channel + EP_CHANNEL_COUNTS + (number & 1) * EP_LL_COUNT_BYTES); }
EP_DEVICE char* combine_slot_in_channel(const char* channel, u64 number, i64 token, i64 k) {
  return (char*)channel + EP_CHANNEL_SLOTS + (((number & 1) * EP_MAX_LL_TOKENS + token) * (u64)EP_TOPK + k) * EP_COMBINE_SLOT_BYTES;
}
EP_DEVICE u64* combine_flag_in_channel(const char* channel, u64 number, i64 token, i64 k) {
  return (u64*)(channel + EP_CHANNEL_SLOT_FLAGS + (number & 1) * EP_SLOT_FLAG_BANK) + token * (u64)EP_TOPK + k;
}

EP_DEVICE char* message_to(const Op& op, char* peer, i64 rank, u64 number, i64 index) {
  return has_channel_to(op, rank) ? message_in_channel(channel_to(op, rank), number, index) : message_at(peer, number, op.rank, index);
}
EP_DEVICE u64* message_flag_to(const Op& op, char* peer, i64 rank, u64 number, i64 index) {
  return has_channel_to(op, rank) ? message_flag_in_channel(channel_to(op, rank), number, index) : message_flag_at(peer, number, op.rank, index);
}
EP_DEVICE u64* ll_counts_to(const Op& op, char* peer, i64 rank, u64 number) {
  return has_channel_to(op, rank) ? ll_counts_in_channel(channel_to(op, rank), number) : ll_counts_at(peer, number, op.rank);
}
EP_DEVICE char* combine_slot_to(const Op& op, char* peer, i64 rank, u64 number, i64 token, i64 k) {
  return has_channel_to(op, rank) ? combine_slot_in_channel(channel_to(op, rank), number, token, k) : combine_slot_at(peer, number, token, k);
}
EP_DEVICE u64* combine_flag_to(const Op& op, char* peer, i64 rank, u64 number, i64 token, i64 k) {
  return has_channel_to(op, rank) ? combine_flag_in_channel(channel_to(op, rank), number, token, k) : combine_flag_at(peer, number, token, k);
}

EP_DEVICE const char* message_from(const Op& op, u64 number, i64 source, i64 index) {
  return has_channel_from(op, source) ? message_in_channel(channel_from(op, source), number, index) : message_at(op.local, number, source, index);
}
EP_DEVICE const u64* message_flag_from(const Op& op, u64 number, i64 source, i64 index) {
  return has_channel_from(op, source) ? message_flag_in_channel(channel_from(op, source), number, index) : message_flag_at(op.local, number, source, index);
}
EP_DEVICE const u64* ll_counts_from(const Op& op, u64 number, i64 source) {
  return has_channel_from(op, source) ? ll_counts_in_channel(channel_from(op, source), number) : ll_counts_at(op.local, number, source);
}
EP_DEVICE const char* combine_slot_from(const Op& op, u64 number, i64 source, i64 token, i64 k) {
  return has_channel_from(op, source) ? combine_slot_in_channel(channel_from(op, source), number, token, k) : combine_slot_at(op.local, number, token, k);
}
EP_DEVICE const u64* combine_flag_from(const Op& op, u64 number, i64 source, i64 token, i64 k) {
  return has_channel_from(op, source) ? combine_flag_in_channel(channel_from(op, source), number, token, k) : combine_flag_at(op.local, number, token, k);
}

// Publishes a message or slot that this thread has seen stored, to a rank that kernels do not post to.
EP_DEVICE void publish_by_thread(const Op& op, i64 rank, const char* what, u64 bytes, u64* flag, u64 number, int phase) {
  store_published(flag, number);
  if (is_posted(op, rank)) HostPosted{op, rank}.write(place_there(op, rank, what), what, bytes, phase);
}

// Publishes a message or slot, which all lanes see. Called by all lanes of a wave.
EP_DEVICE void publish_by_wave(const Op& op, i64 rank, const char* what, u64 bytes, u64* flag, u64 number, int phase) {
  with_transport(op, 0, rank, [&](auto to) { to.put_with_signal(place_there(op, rank, what), what, bytes, flag, number, phase); });
}
