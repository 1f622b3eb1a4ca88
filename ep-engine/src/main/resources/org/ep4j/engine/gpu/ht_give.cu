// High throughput with channels: ht_give, in place of the beginning of ht_combine, sends rows back to ranks that have channels, which do not read them
// where they are.

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
