// High throughput with channels: kernels between those that do the same for all ranks.
//
//   ht_take  after ht_send: copies the rows of channels to their final places, with EP_RELAYS also on ranks that this one forwards rows to. Its counters at
//            these then say that all rows are there, of this rank and those that it forwards. No ht_send waits for rows, and no ht_take for ranks without
//            channels.
//   ht_give  in place of the beginning of ht_combine: sends rows back to ranks that have channels, which do not read them where they are

// Forwards the rows of a channel to all ranks that they are for: this one, and others that it writes to without a channel. Called by all threads of a grid.
EP_DEVICE void forward_rows(const Op& op, Carrier& carry, i64 source, u32 bytes) {
  const char* channel = channel_from(op, source);
  const i64 waves = blockDim.x / EP_LANES, rows = (i64)load_remote(relayed_count(channel));
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

EP_KERNEL(ht_take, 1024) {
  EP_DYNAMIC_SHARED(stages);
  EP_SHARED int start[EP_RANKS + 1];
  wait_for_previous();
  if (!ht_goes_on(op)) return;
  first_rows_from(op, start);
  if (!await_channels(op, HT_DATA, op.state->ht_number, PHASE_DISPATCH_ROWS)) return;
  const u32 bytes = row_bytes_of(op);
  const i64 waves = blockDim.x / EP_LANES;
  Carrier carry = carrier(stages, EP_STAGE_PIECE(bytes));
  // What was written before it was announced, and bulk copies read.
  bulk_fence_global();
  // Each rank begins with another one.
  for (i64 i = 1; i < EP_RANKS; i++) {
    const i64 r = (op.rank + i) % EP_RANKS;
    if (!has_channel_from(op, r) || is_masked(op, r)) continue;
    const int via = via_from(op, r);
    if (EP_RELAYS && via == op.rank) forward_rows(op, carry, r, bytes);
    if (via >= 0) continue;
    const i64 rows = start[r + 1] - start[r];
    for (i64 i = (i64)warp() * gridDim.x + blockIdx.x; i < rows; i += (i64)gridDim.x * waves) {
      copy_row(carry, op.local + EP_ROWS + (u64)(start[r] + i) * bytes, channel_from(op, r) + EP_CHANNEL_ROWS + (u64)i * bytes, bytes);
    }
    copy_all(record_at(op.local, start[r]), channel_from(op, r) + EP_CHANNEL_RECORDS, (u64)rows * EP_RECORD_BYTES);
  }
  rows_written();
  if (!EP_RELAYS || !last_block(op, 3)) return;
  advance_some(op, HT_DATA, op.state->ht_number, PHASE_DISPATCH_ROWS, [&](i64 r) { return !has_channel_to(op, r); });
}

// Brings rows of a rank's tokens into the channel to it. Called by all threads of a grid.
EP_DEVICE void return_rows(const Op& op, Carrier& carry, i64 rank, const char* x, i64 rows) {
  const i64 waves = blockDim.x / EP_LANES;
  for (i64 row = (i64)warp() * gridDim.x + blockIdx.x; row < rows; row += (i64)gridDim.x * waves) {
    char* to = channel_to(op, rank) + EP_CHANNEL_ROWS + (u64)row * EP_BF16_ROW;
    copy_row(carry, to, x + (u64)row * EP_BF16_ROW, EP_BF16_ROW);
    put_row_of_lanes(op, lane() == 0, (int)rank, to, EP_BF16_ROW, PHASE_COMBINE_ROWS);
  }
}

// Puts the rows that lie in the channels and have not been put yet. Called by all threads of the last block, which all see them.
EP_DEVICE void put_returned_rows(const Op& op, const int* start) {
  for (i64 r = warp(); r < EP_RANKS; r += blockDim.x / EP_LANES) {
    if (!has_channel_to(op, r) || is_masked(op, r) || puts_rows(op, r)) continue;
    put_from_channel(op, r, channel_to(op, r) + EP_CHANNEL_ROWS, (u64)(start[r + 1] - start[r]) * EP_BF16_ROW, PHASE_COMBINE_ROWS);
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
  // Sums of the kernel before, which bulk copies read.
  bulk_fence_global();
  for (i64 i = 1; i < EP_RANKS; i++) {
    const i64 r = (op.rank + i) % EP_RANKS;
    if (!has_channel_to(op, r) || is_masked(op, r)) continue;
    return_rows(op, carry, r, x + (u64)start[r] * EP_BF16_ROW, start[r + 1] - start[r]);
  }
  rows_written();
  write_weights(op, start);
  if (!last_block(op, 12)) return;
  put_returned_rows(op, start);
  put_weights(op, start);
  // The others need no counter: their rows were where they read them when the operation began.
  advance_some(op, HT_DATA, announcement.number, PHASE_COMBINE_ROWS, [&](i64 r) { return has_channel_to(op, r); });
}
