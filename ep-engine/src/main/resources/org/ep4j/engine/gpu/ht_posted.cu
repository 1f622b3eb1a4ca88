// High throughput with remote ranks: kernels between those that do the same for all.
//
//   ht_take  after ht_send: brings the rows that came through channels to their final places
//   ht_give  in place of the beginning of ht_combine: sends rows of remote ranks' tokens back, which cannot read them where they are

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
    const u64 rows = (u64)(start[r + 1] - start[r]);
    copy_all(op.local + EP_ROWS + (u64)start[r] * bytes, channel_from(op, r) + EP_CHANNEL_ROWS, rows * bytes);
    copy_all(record_at(op.local, start[r]), channel_from(op, r) + EP_CHANNEL_RECORDS, rows * EP_RECORD_BYTES);
  }
}

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
    copy_all(channel_to(op, r) + EP_CHANNEL_ROWS, x + (u64)start[r] * EP_BF16_ROW, (u64)(start[r + 1] - start[r]) * EP_BF16_ROW);
  }
  give_weights(op, start);
  if (!last_block(op, 12)) return;
  post_weights(op, start);
#if EP_DEVICE_POSTED
  for (i64 r = 0; r < EP_RANKS; r++) {
    if (!is_remote(op, r) || is_masked(op, r)) continue;
    post_by_block(op, r, channel_to(op, r) + EP_CHANNEL_ROWS, (u64)(start[r + 1] - start[r]) * EP_BF16_ROW);
  }
  sync_block();
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
