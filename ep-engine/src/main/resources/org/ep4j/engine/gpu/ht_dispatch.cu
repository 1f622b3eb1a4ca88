// High-throughput dispatch, the sending half.
//
//   ht_send     counts which ranks a token goes to and its place among those of this rank that go there; the counts are announced; then every
//               row goes once, with its record, to its final place in the memory of each rank that needs it

// ---- Count. A warp takes a slice of EP_LANES tokens at a time, one a lane.

// The ids of a token, -1 beyond the last one. Those that do not fit 32 bits become one that no expert has.
EP_DEVICE void read_ids(const Op& op, i64 t, int* id) {
  if (t >= op.tokens) {
    for (int k = 0; k < EP_TOPK; k++) id[k] = -1;
  } else if (op.wide_ids) {
    const i64* from = (const i64*)op.ids + t * EP_TOPK;
    if (EP_TOPK % 2 == 0 && ((u64)op.ids & 15) == 0) {
      for (int k = 0; k < EP_TOPK / 2; k++) {
        Vec v = load_once((const Vec*)from + k);
        id[2 * k] = v.y == (u32)((int)v.x >> 31) ? (int)v.x : -2;
        id[2 * k + 1] = v.w == (u32)((int)v.z >> 31) ? (int)v.z : -2;
      }
    } else {
      for (int k = 0; k < EP_TOPK; k++) id[k] = from[k] == (int)from[k] ? (int)from[k] : -2;
    }
  } else {
    const int* from = (const int*)op.ids + t * EP_TOPK;
    if (EP_TOPK % 4 == 0 && ((u64)op.ids & 15) == 0) {
      for (int k = 0; k < EP_TOPK / 4; k++) {
        Vec v = load_once((const Vec*)from + k);
        id[4 * k] = (int)v.x;
        id[4 * k + 1] = (int)v.y;
        id[4 * k + 2] = (int)v.z;
        id[4 * k + 3] = (int)v.w;
      }
    } else {
      for (int k = 0; k < EP_TOPK; k++) id[k] = from[k];
    }
  }
}

EP_DEVICE void write_list(int* to, const int* value) {
  if (EP_TOPK % 4 == 0) {
    for (int k = 0; k < EP_TOPK / 4; k++) ((Vec*)to)[k] = Vec{(u32)value[4 * k], (u32)value[4 * k + 1], (u32)value[4 * k + 2], (u32)value[4 * k + 3]};
  } else {
    for (int k = 0; k < EP_TOPK; k++) to[k] = value[k];
  }
}

EP_DEVICE void refuse_bad_id(const Op& op) {
  u64 bad = EP_NO_TOKEN;
  for (u32 b = 0; b < gridDim.x; b++) {
    u64 of_block = load_remote(first_bad_id(op) + b);
    if (of_block < bad) bad = of_block;
  }
  i64 value = op.wide_ids ? ((const i64*)op.ids)[bad] : ((const int*)op.ids)[bad];
  refuse(op, &op.state->refused, FAILURE_BAD_ID, 0, bad / EP_TOPK, bad % EP_TOPK, (u64)value);
}

// Where the tokens of a slice go, into the handle: the first selection of a rank has the token's place among those of the slice that go there, until
// ht_send makes it a row. "bad" becomes the first selection with an id that is none, when there is one.
EP_DEVICE void count_slice(const Op& op, const Announcement& a, i64 slice, int* id, u64* bad) {
  const i64 t = slice * EP_LANES + lane();
  int rank[EP_TOPK], row[EP_TOPK];
  int wrong = -1;
#pragma unroll
  for (int k = EP_TOPK - 1; k >= 0; k--) {
    rank[k] = row[k] = -1;
    if (id[k] >= 0 && id[k] < EP_EXPERTS) {
      rank[k] = op.owner[id[k]];
    } else if (id[k] != -1) {
      wrong = k;
    }
  }
#pragma unroll
  for (int k = 0; k < EP_TOPK; k++) {
    if (rank[k] >= 0 && !a.peers[rank[k]]) id[k] = rank[k] = -1;
  }
  int* counts = temporary_counts(op) + slice * EP_RANKS;
  for (int first = 0; first < EP_RANKS; first += 32) {
    u32 hits = 0;
#pragma unroll
    for (int k = 0; k < EP_TOPK; k++) {
      const u32 bit = (u32)(rank[k] - first);
      if (rank[k] >= 0 && bit < 32) hits |= 1u << bit;
    }
    // Lane i: the tokens that go to rank "first" + i.
    Lanes tokens = 0;
    for (int i = 0; i < 32 && first + i < EP_RANKS; i++) {
      const Lanes some = ballot((hits >> i & 1) != 0);
      if (lane() == i) tokens = some;
    }
    if (lane() < 32 && first + lane() < EP_RANKS) counts[first + lane()] = count(tokens);
#pragma unroll
    for (int k = 0; k < EP_TOPK; k++) {
      const u32 bit = (u32)(rank[k] - first);
      const bool here = rank[k] >= 0 && bit < 32;
      const Lanes alike = (Lanes)shuffle((u64)tokens, here ? (int)bit : 0);
      if (here) row[k] = count(alike & lanes_below());
    }
  }
  // A token goes to a rank once, for the first of its selections there.
#pragma unroll
  for (int k = EP_TOPK - 1; k > 0; k--) {
    bool again = false;
    for (int j = 0; j < k; j++) again |= rank[j] == rank[k];
    if (again) rank[k] = row[k] = -1;
  }
  if (t < op.tokens) {
    write_list(handle_ints(op, EP_HANDLE_IDS) + t * EP_TOPK, id);
    write_list(handle_ints(op, EP_HANDLE_TARGET_RANK) + t * EP_TOPK, rank);
    write_list(handle_ints(op, EP_HANDLE_TARGET_ROW) + t * EP_TOPK, row);
  }
  const Lanes wrongs = ballot(wrong >= 0);
  if (wrongs == 0) return;
  const u64 at = shuffle((u64)(t * EP_TOPK + wrong), lowest(wrongs));
  if (at < *bad) *bad = at;
}

EP_DEVICE i64 slices_of(const Op& op) { return (op.tokens + EP_LANES - 1) / EP_LANES; }

// Makes counts of slices places of slices, and gives the sums. Called by one block.
EP_DEVICE void add_up_slices(const Op& op, int* rows_to) {
  constexpr int AT_ONCE = 4;
  int* counts = temporary_counts(op);
  const i64 slices = slices_of(op);
  for (i64 r = warp(); r < EP_RANKS; r += blockDim.x / EP_LANES) {
    int sum = 0;
    for (i64 first = 0; first < slices; first += AT_ONCE * EP_LANES) {
      int rows[AT_ONCE];
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const i64 slice = first + u * EP_LANES + lane();
        rows[u] = slice < slices ? load_remote(counts + slice * EP_RANKS + r) : 0;
      }
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const i64 slice = first + u * EP_LANES + lane();
        int upto = rows[u];
        for (int d = 1; d < EP_LANES; d *= 2) {
          const int other = shuffle_up(upto, d);
          if (lane() >= d) upto += other;
        }
        if (slice < slices) counts[slice * EP_RANKS + r] = sum + upto - rows[u];
        sum += shuffle(upto, EP_LANES - 1);
      }
    }
    if (lane() == 0) rows_to[r] = sum;
  }
}

// Counts, and lets the operation begin. "id" holds the ids of the warp's first slice, "first" has room for R. False when it does not begin.
EP_DEVICE bool count_tokens(const Op& op, const Announcement& a, int* id, int* first) {
  EP_SHARED u64 bad_of[1024 / EP_LANES];
  const int warps = blockDim.x / EP_LANES;
  u64 bad = EP_NO_TOKEN;
  i64 slice = (i64)warp() * gridDim.x + blockIdx.x;
  while (slice < slices_of(op)) {
    count_slice(op, a, slice, id, &bad);
    slice += (i64)gridDim.x * warps;
    read_ids(op, slice * EP_LANES + lane(), id);
  }
  if (lane() == 0) bad_of[warp()] = bad;
  sync_block();
  if (threadIdx.x == 0) {
    for (int w = 1; w < warps; w++) bad = bad_of[w] < bad ? bad_of[w] : bad;
    first_bad_id(op)[blockIdx.x] = bad;
  }
  return ht_enter(op, a, [&](u64*, const int** rows) {
    bool good = true;
    for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x) good &= load_remote(first_bad_id(op) + b) == EP_NO_TOKEN;
    add_up_slices(op, first);
    *rows = first;
    if (all_threads(good)) return true;
    if (threadIdx.x == 0) refuse_bad_id(op);
    return false;
  });
}

// ---- Send.
#define EP_STAGES_RECORDS (EP_BULK && EP_STAGED_RECORDS)

// From all ranks' counts: this rank's first row on every rank. False when a rank would receive too many; nothing is sent then, on any rank.
EP_DEVICE bool first_rows(const Op& op, u64 number, int* first) {
  bool fits = true;
  for (i64 target = threadIdx.x; target < EP_RANKS; target += blockDim.x) {
    i64 total = 0;
    for (i64 source = 0; source < EP_RANKS; source++) {
      if (source == op.rank) first[target] = (int)total;
      if (!is_masked(op, source)) total += load_remote(announcement_ints(ht_announcement(op, number, source)) + target);
    }
    fits &= total <= EP_CAPACITY;
  }
  if (all_threads(fits)) return true;
  for (i64 target = 0; blockIdx.x == 0 && threadIdx.x == 0 && target < EP_RANKS; target++) {
    i64 total = 0;
    for (i64 source = 0; source < EP_RANKS; source++) {
      if (!is_masked(op, source)) total += load_remote(announcement_ints(ht_announcement(op, number, source)) + target);
    }
    if (total > EP_CAPACITY) {
      refuse(op, &op.state->refused, FAILURE_OVERFLOW, target, EP_CAPACITY, total, 0);
      break;
    }
  }
  return false;
}

// What a lane knows of its selection of a token.
struct Selection {
  int id;
  int row;
  u32 weight;
};

EP_DEVICE Selection selection_of(const Op& op, i64 t) {
  Selection s = {-1, -1, 0};
  if (t < op.tokens && lane() < EP_TOPK) {
    i64 i = t * EP_TOPK + lane();
    s.id = handle_ints(op, EP_HANDLE_IDS)[i];
    s.row = handle_ints(op, EP_HANDLE_TARGET_ROW)[i];
    if (op.weights) s.weight = ((const u32*)op.weights)[i];
  }
  return s;
}

// Words of the record of token t for rank "to", each by one lane.
template <typename Store>
EP_DEVICE void write_record(const Op& op, i64 t, int to, int rank, int local, u32 weight, Store store) {
  if (lane() == 0) store(0, (u32)t);
  if (lane() < EP_TOPK) {
    store(1 + lane(), rank == to ? (u32)local : 0xffffffffu);
    store(1 + EP_TOPK + lane(), weight);
  }
  if (is_fp8(op)) {
    const u32* scales = (const u32*)op.scales + t * EP_SCALES;
    for (int i = lane(); i < EP_SCALES; i += EP_LANES) store(1 + 2 * EP_TOPK + i, scales[i]);
  }
}

// Where a row of this rank goes, and its record; "first" is this rank's first row there.
EP_DEVICE char* row_to(const Op& op, int rank, i64 row, const int* first, u32 bytes) {
  if (has_channel_to(op, rank)) return channel_to(op, rank) + EP_CHANNEL_ROWS + (u64)(row - first[rank]) * bytes;
  return op.peers[rank] + EP_ROWS + (u64)row * bytes;
}
EP_DEVICE char* record_to(const Op& op, int rank, i64 row, const int* first) {
  if (has_channel_to(op, rank)) return channel_to(op, rank) + EP_CHANNEL_RECORDS + (u64)(row - first[rank]) * EP_RECORD_BYTES;
  return record_at(op.peers[rank], row);
}

// In the channel to a relay, or from a rank that it forwards rows of. Records begin behind their number.
EP_DEVICE char* relayed_row(const char* channel, i64 index, u32 bytes) { return (char*)channel + EP_CHANNEL_ROWS + (u64)index * bytes; }
EP_DEVICE u64* relayed_count(const char* channel) { return (u64*)(channel + EP_CHANNEL_RECORDS); }
EP_DEVICE u32* relayed_record(const char* channel, i64 index) { return (u32*)(channel + EP_CHANNEL_RECORDS + 16 + (u64)index * EP_RELAYED_RECORD_BYTES); }

// How the row of a lane's selection leaves this rank.
struct RowRoute {
  bool direct;   // the lane sends it to its rank
  bool relayed;  // the lane sends it to a relay, once for all of the token's ranks that this relay forwards it to
  int via;       // relay of the selection's rank, whether the row is sent or not; -1: none
  int place;     // in the channel to the relay, where "relayed"
  Lanes sent;    // lanes that send a row directly
};

// Called by all lanes of a wave. "targets" are the lanes where "sends" is true.
EP_DEVICE RowRoute row_route(const Op& op, int rank, bool sends, Lanes targets) {
  RowRoute route = {sends, false, -1, 0, targets};
  if (!EP_RELAYS) return route;
  if (rank >= 0 && !is_masked(op, rank)) route.via = via_to(op, rank);
  const Lanes alike = same(sends ? route.via : -1);
  route.direct = sends && route.via < 0;
  route.relayed = sends && route.via >= 0 && lowest(alike) == lane();
  // Any place will do, since the record says where the row goes.
  if (route.relayed) route.place = add(relayed_rows(op) + route.via, 1);
  route.sent = ballot(route.direct);
  return route;
}

// Writes a token's records for the relays that forward it: the ids of experts for which each does so, and where the row goes. "row" is -1 where the lane's
// selection is not its rank's first. Called by all lanes of a wave.
EP_DEVICE void write_relayed_records(const Op& op, i64 t, const RowRoute& route, const Selection& s, i64 row) {
  for (Lanes left = ballot(route.relayed); left; left &= left - 1) {
    const int k = lowest(left), via = shuffle(route.via, k);
    u32* record = relayed_record(channel_to(op, via), shuffle(route.place, k));
    write_record(op, t, via, route.via, s.id, s.weight, [=](int word, u32 value) { store_remote(record + word, value); });
    if (lane() < EP_TOPK) store_remote(record + EP_RECORD_BYTES / 4 + lane(), route.via == via ? (u32)row : 0xffffffffu);
  }
}

// Writes a token's records for the ranks that get it directly: one after another to "staged", from where they go with the rows, or to their places. "row" is
// the row of the lane's selection. Called by all lanes of a wave.
EP_DEVICE void write_records(const Op& op, i64 t, Lanes sent, int rank, int local, u32 weight, i64 row, const int* first, char* staged, u32 record_bytes) {
  int n = 0;
  for (Lanes left = sent; left; left &= left - 1, n++) {
    const int k = lowest(left);
    const int to = shuffle(rank, k);
    if (EP_STAGES_RECORDS) {
      u32* record = (u32*)(staged + n * record_bytes);
      write_record(op, t, to, rank, local, weight, [=](int word, u32 value) { record[word] = value; });
    } else {
      u32* record = (u32*)record_to(op, to, (i64)shuffle((u64)row, k), first);
      write_record(op, t, to, rank, local, weight, [=](int word, u32 value) { store_remote(record + word, value); });
    }
  }
  if (!EP_STAGES_RECORDS) return;
  bulk_fence();
  sync_lanes();
}

// What a combine needs to know of ranks with channels, and cached dispatches. Called by all threads of a block.
EP_DEVICE void keep_rows(const Op& op, u64 number, int* first, bool fresh) {
  int* first_of = handle_ints(op, EP_HANDLE_FIRST);
  int* sent = handle_ints(op, EP_HANDLE_SENT);
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (!fresh) {
      first[r] = first_of[r];
    } else if (blockIdx.x == 0) {
      first_of[r] = first[r];
      sent[r] = load_remote(announcement_ints(ht_announcement(op, number, op.rank)) + r);
    }
  }
}

// Puts what lies in the channels and has not been put yet. Called by all threads of the last block, which all see it.
EP_DEVICE void put_rows(const Op& op, u32 bytes) {
  for (i64 r = warp(); r < EP_RANKS; r += blockDim.x / EP_LANES) {
    if (!has_channel_to(op, r) || is_masked(op, r)) continue;
    const int via = via_to(op, r);
    // In the channel to a relay all rows are to be forwarded, and the channels of ranks behind one are empty.
    const bool relayed = EP_RELAYS && via == r;
    if (via >= 0 && !relayed) continue;
    const char* channel = channel_to(op, r);
    const u64 rows = (u64)load_remote(relayed ? relayed_rows(op) + r : handle_ints(op, EP_HANDLE_SENT) + r);
    if (relayed && lane() == 0) {
      store_remote(relayed_count(channel), rows);
      fence_system();
    }
    sync_lanes();
    with_transport(op, 0, r, [&](auto to) {
      const char* records = channel + EP_CHANNEL_RECORDS;
      if (!to.PUTS_ROWS) to.put(place_there(op, r, channel + EP_CHANNEL_ROWS), channel + EP_CHANNEL_ROWS, rows * bytes, PHASE_DISPATCH_ROWS);
      to.put(place_there(op, r, records), records, relayed ? 16 + rows * EP_RELAYED_RECORD_BYTES : rows * EP_RECORD_BYTES, PHASE_DISPATCH_ROWS);
    });
  }
  // Other threads advance the counters.
  sync_block();
}

// Begins the operation, and counts what it sends where its routing is new; "first" becomes this rank's first row on every rank, where that is needed. False
// when nothing is sent. Called by all threads of a block.
EP_DEVICE bool begin_send(const Op& op, bool fresh, Announcement* announcement, int* first) {
  // All that is needed first is asked for at once.
  int id[EP_TOPK];
  if (fresh) read_ids(op, ((i64)warp() * gridDim.x + blockIdx.x) * EP_LANES + lane(), id);
  const bool works = threadIdx.x != 0 || !failed(op);
  prepare_announcement(op, announcement);
  // Void until the rows are there; also when nothing is done, since the memory may have been another handle's.
  if (fresh && blockIdx.x == 0 && threadIdx.x == 0) handle_head(op)->number = 0;
  if (!all_threads(works)) return false;
  if (fresh && blockIdx.x == 0) {
    for (i64 e = threadIdx.x; e < op.local_experts; e += blockDim.x) handle_ints(op, EP_HANDLE_EXPERT_ROWS)[e] = 0;
    for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) handle_ints(op, EP_HANDLE_SELECTIONS_FROM)[r] = 0;
  }
  if (fresh ? !count_tokens(op, *announcement, id, first) : !ht_enter_again(op, *announcement)) return false;
  const u64 number = announcement->number;
  if (!ht_begun(op, number, fresh ? 0 : handle_head(op)->number)) return false;
  if (fresh && !first_rows(op, number, first)) return false;
  sync_block();
  if (!EP_HAS_CHANNELS) return true;
  keep_rows(op, number, first, fresh);
  sync_block();
  return true;
}

// Sends tokens, with tickets, until there are none left. Called by all lanes of a wave; its records are staged "piece" bytes behind the start of its stage.
EP_DEVICE void dispatch_rows(const Op& op, Carrier& carry, bool fresh, const int* first, u32 bytes, u32 piece, u32 record_bytes) {
  i64 t = take_ticket(op, TICKET_SEND);
  Selection next = selection_of(op, t);
  while (t < op.tokens) {
    Selection s = next;
    int rank = s.id < 0 ? -1 : op.owner[s.id];
    bool sends = s.row >= 0 && !is_masked(op, rank);
    Lanes targets = ballot(sends);
    const char* from = op.x + (u64)t * bytes;
    if (targets) begin_row(carry, from, bytes);
    i64 later = take_ticket(op, TICKET_SEND);
    next = selection_of(op, later);
    i64 row = s.row;
    if (fresh && s.row >= 0) {
      row += first[rank] + temporary_counts(op)[t / EP_LANES * EP_RANKS + rank];
      handle_ints(op, EP_HANDLE_TARGET_ROW)[t * EP_TOPK + lane()] = (int)row;
    }
    int local = s.id < 0 ? -1 : op.local_of[s.id];
    const RowRoute route = row_route(op, rank, sends, targets);
    if (EP_RELAYS) write_relayed_records(op, t, route, s, sends ? row : -1);
    write_records(op, t, route.sent, rank, local, s.weight, row, first, carry.stage + piece, record_bytes);
    if (targets) {
      char* to = route.direct ? row_to(op, rank, row, first, bytes) : 0;
      if (route.relayed) to = relayed_row(channel_to(op, route.via), route.place, bytes);
      char* its_record = route.direct && EP_STAGES_RECORDS ? record_to(op, rank, row, first) : 0;
      const char* record = carry.stage + piece + count(route.sent & lanes_below()) * record_bytes;
      end_row(carry, from, bytes, to, its_record, record, record_bytes);
      put_row_of_lanes(op, to != 0, route.relayed ? route.via : rank, to, bytes, PHASE_DISPATCH_ROWS);
    }
    t = later;
  }
}

EP_KERNEL(ht_send, 1024) {
  EP_DYNAMIC_SHARED(stages);
  EP_SHARED Announcement announcement;
  EP_SHARED int first[EP_RANKS];  // rows of this rank for each rank, then the first of them there
  u32 bytes = row_bytes_of(op);
  u32 record_bytes = is_fp8(op) ? EP_RECORD_BYTES : (EP_RECORD_HEAD + 15) / 16 * 16;
  u32 piece = EP_STAGE_PIECE(bytes);
  Carrier carry = carrier(stages, piece + (EP_STAGES_RECORDS ? record_bytes * EP_MAX_TARGETS : 0));
  wait_for_previous();
  const bool fresh = op.kind == KIND_DISPATCH;
  if (!begin_send(op, fresh, &announcement, first)) return;
  const u64 number = announcement.number;
  dispatch_rows(op, carry, fresh, first, bytes, piece, record_bytes);
  launch_dependents();
  rows_written();
  if (!last_block(op, 1)) return;
  if (EP_HAS_CHANNELS) put_rows(op, bytes);
  // With relays those without channels later, when rows have been forwarded to them, too: see ht_take.
  advance_some(op, HT_DATA, number, PHASE_DISPATCH_ROWS, [&](i64 r) { return !EP_RELAYS || has_channel_to(op, r); });
}
