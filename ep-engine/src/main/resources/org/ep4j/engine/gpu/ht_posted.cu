// High throughput with remote ranks: kernels between those that do the same for all.
//
//   ht_take  after ht_send: brings the rows that came through channels to their final places, with EP_RAILS also those of mapped ranks. These are told
//            then that all rows are there, of this rank and by it. No ht_send waits for rows, and no ht_take for mapped ranks.
//   ht_give  in place of the beginning of ht_combine: sends rows of remote ranks' tokens back, which cannot read them where they are

#if EP_RAILS
// Brings a remote rank's rows to all ranks of this one's island that they are for. Called by all threads of a grid.
EP_DEVICE void pass_on(const Op& op, i64 source, u32 bytes) {
  const char* channel = channel_from(op, source);
  const i64 waves = blockDim.x / EP_LANES, rows = (i64)load_remote((const u64*)(channel + EP_CHANNEL_RECORDS));
  for (i64 i = (i64)warp() * gridDim.x + blockIdx.x; i < rows; i += (i64)gridDim.x * waves) {
    const u32* record = passed_record(channel, i);
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
    const Vec* from = (const Vec*)passed_row(channel, i, bytes);
    Vec* to = row < 0 ? 0 : (Vec*)(op.peers[rank] + EP_ROWS + (u64)row * bytes);
    const u32 vecs = bytes / 16;
    for (u32 first = lane(); first < vecs + lane(); first += 4 * EP_LANES) {
      Vec v[4];
#pragma unroll
      for (u32 u = 0; u < 4; u++) if (first + u * EP_LANES < vecs) v[u] = load_remote(from + first + u * EP_LANES);
      for (Lanes left = all; left; left &= left - 1) {
        Vec* there = (Vec*)shuffle((u64)to, lowest(left));
#pragma unroll
        for (u32 u = 0; u < 4; u++) if (first + u * EP_LANES < vecs) store_remote(there + first + u * EP_LANES, v[u]);
      }
    }
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
  EP_SHARED int start[EP_RANKS + 1];
  wait_for_previous();
  if (!ht_goes_on(op)) return;
  first_rows_from(op, start);
  if (!await_remotes(op, HT_DATA, op.state->ht_number, PHASE_DISPATCH_ROWS)) return;
  const u64 bytes = row_bytes_of(op);
  // Each rank begins with another one.
  for (i64 i = 1; i < EP_RANKS; i++) {
    const i64 r = (op.rank + i) % EP_RANKS;
    if (!is_remote(op, r) || is_masked(op, r)) continue;
#if EP_RAILS
    const int via = via_from(op, r);
    if (via == op.rank) pass_on(op, r, (u32)bytes);
    if (via >= 0) continue;
#endif
    const u64 rows = (u64)(start[r + 1] - start[r]);
    copy_all(op.local + EP_ROWS + (u64)start[r] * bytes, channel_from(op, r) + EP_CHANNEL_ROWS, rows * bytes);
    copy_all(record_at(op.local, start[r]), channel_from(op, r) + EP_CHANNEL_RECORDS, rows * EP_RECORD_BYTES);
  }
#if EP_RAILS
  if (!last_block(op, 3)) return;
  advance_some(op, false, HT_DATA, op.state->ht_number, PHASE_DISPATCH_ROWS);
#endif
}

#if EP_DEVICE_POSTED
// Brings rows of a remote rank's tokens into the channel to it and posts each. Called by all threads of a grid.
EP_DEVICE void give_rows(const Op& op, i64 rank, const char* x, i64 rows) {
  const i64 waves = blockDim.x / EP_LANES;
  for (i64 row = (i64)blockIdx.x * waves + warp(); row < rows; row += (i64)gridDim.x * waves) {
    const Vec* from = (const Vec*)(x + (u64)row * EP_BF16_ROW);
    Vec* to = (Vec*)(channel_to(op, rank) + EP_CHANNEL_ROWS + (u64)row * EP_BF16_ROW);
    for (int i = lane(); i < EP_BF16_ROW / 16; i += 4 * EP_LANES) {
      Vec v[4];
#pragma unroll
      for (int u = 0; u < 4; u++) if (i + u * EP_LANES < EP_BF16_ROW / 16) v[u] = load_remote(from + i + u * EP_LANES);
#pragma unroll
      for (int u = 0; u < 4; u++) if (i + u * EP_LANES < EP_BF16_ROW / 16) to[i + u * EP_LANES] = v[u];
    }
    sync_lanes();
    post_by_wave(op, rank, (const char*)to, EP_BF16_ROW);
  }
}
#endif

EP_KERNEL(ht_give, 1024) {
  EP_SHARED Announcement announcement;
  EP_SHARED int start[EP_RANKS + 1];
  wait_for_previous();
  if (!begin_combine(op, &announcement)) return;
  first_rows_from(op, start);
  const char* x = op.by_expert ? op.local + op.input : op.x;
  for (i64 i = 1; i < EP_RANKS; i++) {
    const i64 r = (op.rank + i) % EP_RANKS;
    if (!is_remote(op, r) || is_masked(op, r)) continue;
#if EP_DEVICE_POSTED
    give_rows(op, r, x + (u64)start[r] * EP_BF16_ROW, start[r + 1] - start[r]);
#else
    copy_all(channel_to(op, r) + EP_CHANNEL_ROWS, x + (u64)start[r] * EP_BF16_ROW, (u64)(start[r + 1] - start[r]) * EP_BF16_ROW);
#endif
  }
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
