// High throughput with remote ranks: kernels between those that do the same for all.
//
//   ht_take  after ht_send: copies the rows of channels to their final places, with EP_RELAYS also those of mapped ranks. The counters of these then
//            say that all rows are there, of this rank and those that it relays. No ht_send waits for rows, and no ht_take for mapped ranks.
//   ht_give  in place of the beginning of ht_combine: sends rows of remote ranks' tokens back, which cannot read them where they are

#if EP_RELAYS
// Copies a remote rank's rows to all ranks of this one's domain that they are for. Called by all threads of a grid.
EP_DEVICE void relay_rows(const Op& op, Carrier& carry, i64 source, u32 bytes) {
  const char* channel = channel_from(op, source);
  const i64 waves = blockDim.x / EP_LANES, rows = (i64)load_remote((const u64*)(channel + EP_CHANNEL_RECORDS));
  for (i64 i = (i64)warp() * gridDim.x + blockIdx.x; i < rows; i += (i64)gridDim.x * waves) {
    const char* from = relayed_row(channel, i, bytes);
    begin_row(carry, from, bytes);
    const u32* record = relayed_record(channel, i);
    const u32 token = load_remote(record);
    int id = -1, row = -1;
    u32 weight = 0;
    if (lane() < EP_TOPK) {
      id = (int)load_remote(record + 1 + lane());
      weight = load_remote(record + 1 + EP_TOPK + lane());
      row = (int)load_remote(record + EP_RECORD_BYTES / 4 + lane());
    }
    const int rank = id < 0 ? -1 : op.owner[id], local = id < 0 ? -1 : op.local_of[id];
    const Lanes all = ballot(row >= 0);
    end_row(carry, from, bytes, row < 0 ? 0 : op.peers[rank] + EP_ROWS + (u64)row * bytes, 0, 0, 0);
    for (Lanes left = all; left; left &= left - 1) {
      const int k = lowest(left), target = shuffle(rank, k);
      u32* there = (u32*)record_at(op.peers[target], shuffle(row, k));
      if (lane() == 0) store_remote(there, token);
      if (lane() < EP_TOPK) {
        store_remote(there + 1 + lane(), rank == target ? (u32)local : 0xffffffffu);
        store_remote(there + 1 + EP_TOPK + lane(), weight);
      }
      for (int s = lane(); is_fp8(op) && s < EP_SCALES; s += EP_LANES) store_remote(there + 1 + 2 * EP_TOPK + s, load_remote(record + 1 + 2 * EP_TOPK + s));
    }
  }
}
#endif

EP_KERNEL(ht_take, 1024) {
  EP_DYNAMIC_SHARED(stages);
  EP_SHARED int start[EP_RANKS + 1];
  wait_for_previous();
  if (!ht_goes_on(op)) return;
  first_rows_from(op, start);
  if (!await_remotes(op, HT_DATA, op.state->ht_number, PHASE_DISPATCH_ROWS)) return;
  const u32 bytes = row_bytes_of(op);
  const i64 waves = blockDim.x / EP_LANES;
  Carrier carry = carrier(stages, EP_STAGE_PIECE(bytes));
#if EP_BULK
  // What came before it was announced, and bulk copies read.
  bulk_fence_global();
#endif
  // Each rank begins with another one.
  for (i64 i = 1; i < EP_RANKS; i++) {
    const i64 r = (op.rank + i) % EP_RANKS;
    if (!is_remote(op, r) || is_masked(op, r)) continue;
#if EP_RELAYS
    const int via = via_from(op, r);
    if (via == op.rank) relay_rows(op, carry, r, bytes);
    if (via >= 0) continue;
#endif
    const i64 rows = start[r + 1] - start[r];
    for (i64 i = (i64)warp() * gridDim.x + blockIdx.x; i < rows; i += (i64)gridDim.x * waves) {
      copy_row(carry, op.local + EP_ROWS + (u64)(start[r] + i) * bytes, channel_from(op, r) + EP_CHANNEL_ROWS + (u64)i * bytes, bytes);
    }
    copy_all(record_at(op.local, start[r]), channel_from(op, r) + EP_CHANNEL_RECORDS, (u64)rows * EP_RECORD_BYTES);
  }
  rows_written();
#if EP_RELAYS
  if (!last_block(op, 3)) return;
  advance_some(op, false, HT_DATA, op.state->ht_number, PHASE_DISPATCH_ROWS);
#endif
}

// Brings rows of a remote rank's tokens into the channel to it; with EP_DEVICE_POSTED each is posted. Called by all threads of a grid.
EP_DEVICE void give_rows(const Op& op, Carrier& carry, i64 rank, const char* x, i64 rows) {
  const i64 waves = blockDim.x / EP_LANES;
#if EP_DEVICE_POSTED
  const bool straight = is_straight(op, rank);
#endif
  for (i64 row = (i64)warp() * gridDim.x + blockIdx.x; row < rows; row += (i64)gridDim.x * waves) {
    const char* from = x + (u64)row * EP_BF16_ROW;
    char* to = channel_to(op, rank) + EP_CHANNEL_ROWS + (u64)row * EP_BF16_ROW;
#if EP_DEVICE_POSTED
    if (straight) {
      begin_row(carry, from, EP_BF16_ROW);
      end_row(carry, from, EP_BF16_ROW, 0, 0, 0, 0, [&](const char* what, u32 at, u32 bytes) { put_pieces(op, 1, (int)rank, to + at, what, bytes); });
      continue;
    }
#endif
    copy_row(carry, to, from, EP_BF16_ROW);
#if EP_DEVICE_POSTED
    rows_written();
    sync_lanes();
    post_by_wave(op, rank, to, EP_BF16_ROW);
#endif
  }
}

EP_KERNEL(ht_give, EP_COMBINE_WARPS * EP_LANES) {
  EP_DYNAMIC_SHARED(shared);
  EP_SHARED Announcement announcement;
  EP_SHARED int start[EP_RANKS + 1];
  wait_for_previous();
  if (!begin_combine(op, &announcement)) return;
  first_rows_from(op, start);
  const char* x = op.by_expert ? op.local + op.input : op.x;
  Carrier carry = carrier(shared, EP_STAGE_PIECE(EP_BF16_ROW));
#if EP_BULK
  // Sums of the kernel before.
  bulk_fence_global();
#endif
  for (i64 i = 1; i < EP_RANKS; i++) {
    const i64 r = (op.rank + i) % EP_RANKS;
    if (!is_remote(op, r) || is_masked(op, r)) continue;
    give_rows(op, carry, r, x + (u64)start[r] * EP_BF16_ROW, start[r + 1] - start[r]);
  }
  rows_written();
  give_weights(op, start);
  if (!last_block(op, 12)) return;
  post_weights(op, start);
#if EP_DEVICE_POSTED
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (is_remote(op, r) && !is_masked(op, r)) advance(op, 0, r, HT_DATA, announcement.number, PHASE_COMBINE_ROWS);
  }
#else
  // By the threads that have posted the weights: the counter comes last.
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (!is_remote(op, r) || is_masked(op, r)) continue;
    const u64 rows = (u64)(start[r + 1] - start[r]);
    post(op, r, channel_to(op, r) + EP_CHANNEL_ROWS, rows * EP_BF16_ROW, PHASE_COMBINE_ROWS);
    advance(op, 0, r, HT_DATA, announcement.number, PHASE_COMBINE_ROWS);
  }
#endif
}
