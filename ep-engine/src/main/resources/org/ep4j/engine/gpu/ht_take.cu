// High throughput with channels: ht_take, after ht_send, copies the rows of channels to their final places, with EP_RELAYS also on ranks that this one
// forwards rows to. Its counters at these then say that all rows are there, of this rank and those that it forwards. No ht_send waits for rows, and no
// ht_take for ranks without channels.

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
