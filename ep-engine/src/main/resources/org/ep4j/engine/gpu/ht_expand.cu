// High-throughput dispatch, last part: received rows go where the caller wants them: in the by-expert layout to the rows of all their
// selections, in the by-rank layout to the caller's memory.

// Where the selection of this lane goes, or nowhere (-1).
EP_DEVICE i64 row_by_expert(const Op& op, i64 row) {
  i64 i = row * EP_TOPK + lane();
  int* expanded = handle_ints(op, EP_HANDLE_EXPANDED);
  int id = handle_ints(op, EP_HANDLE_LOCAL_IDS)[i];
  if (id < 0) return -1;
  if (op.kind != KIND_DISPATCH) return expanded[i];
  int to = temporary_counts(op)[row / EP_CHUNK * op.local_experts + id] + expanded[i];
  expanded[i] = to;
  return to;
}

// What goes with a row in the by-expert layout.
EP_DEVICE void unpack_expanded(const Op& op, i64 row, i64 to) {
  const u32* record = received_record(op, row);
  if (to >= 0) {
    ((u32*)op.out_weights)[to] = load_remote(record + 1 + EP_TOPK + lane());
    op.source_ranks[to] = handle_ints(op, EP_HANDLE_SOURCE_RANK)[row];
    op.source_tokens[to] = handle_ints(op, EP_HANDLE_SOURCE_TOKEN)[row];
  }
  if (!is_fp8(op)) return;
  const i64 stride = scale_stride(op, handle_head(op)->rows);
  for (Lanes left = ballot(to >= 0); left; left &= left - 1) {
    const i64 at = (i64)shuffle((u64)to, lowest(left));
    for (int i = lane(); i < op.scale_words; i += EP_LANES) *scale_at(op, at, i, stride) = load_remote(record + 1 + 2 * EP_TOPK + i);
  }
}

EP_DEVICE void clear_result(const Op& op, i64 row) {
  op.source_ranks[row] = -1;
  op.source_tokens[row] = -1;
  op.out_weights[row] = 0;
}

// Rows between the experts, and in the worst case behind the last one.
EP_DEVICE void clear_padding(const Op& op) {
  const i64* offsets = (const i64*)(op.handle + EP_HANDLE_OFFSETS);
  u32 bytes = row_bytes_of(op);
  i64 warps = (i64)gridDim.x * (blockDim.x / EP_LANES);
  for (i64 e = (i64)blockIdx.x * (blockDim.x / EP_LANES) + warp(); e < op.local_experts; e += warps) {
    i64 from = offsets[e] + handle_ints(op, EP_HANDLE_EXPERT_ROWS)[e];
    i64 rows = offsets[e + 1] - from;
    for (i64 i = lane(); i < rows; i += EP_LANES) clear_result(op, from + i);
    if (!op.zero_padding) continue;
    Vec* to = (Vec*)(op.out + (u64)from * bytes);
    for (i64 i = lane(); i < rows * (bytes / 16); i += EP_LANES) to[i] = Vec{0, 0, 0, 0};
    const i64 stride = scale_stride(op, offsets[op.local_experts]);
    for (i64 i = lane(); is_fp8(op) && i < rows * op.scale_words; i += EP_LANES) *scale_at(op, from + i / op.scale_words, i % op.scale_words, stride) = 0;
  }
  i64 threads = (i64)gridDim.x * blockDim.x;
  i64 first = offsets[op.local_experts] + (i64)blockIdx.x * blockDim.x + threadIdx.x;
  for (i64 row = first; op.extra && row < op.rows; row += threads) clear_result(op, row);
}

EP_KERNEL(ht_expand, 1024) {
  EP_DYNAMIC_SHARED(stages);
  u32 bytes = row_bytes_of(op);
  Carrier carry = carrier(stages, EP_STAGE_PIECE(bytes));
  wait_for_previous();
  if (!ht_goes_on(op)) return;
  i64 received = handle_head(op)->received;
  i64 row = take_ticket(op, TICKET_EXPAND);
  while (row < received) {
    const char* from = op.local + EP_ROWS + (u64)row * bytes;
    begin_row(carry, from, bytes);
    i64 later = take_ticket(op, TICKET_EXPAND);
    i64 to = -1;
    if (!op.by_expert) {
      to = lane() == 0 ? row : -1;
    } else {
      if (lane() < EP_TOPK) to = row_by_expert(op, row);
      unpack_expanded(op, row, to);
    }
    end_row(carry, from, bytes, to < 0 ? 0 : op.out + (u64)to * bytes, 0, 0, 0);
    row = later;
  }
  if (op.by_expert) clear_padding(op);
  rows_written();
  // Received rows lie where peers write.
  if (last_block(op, 4)) is_member(op, PHASE_DISPATCH_ROWS, op.state->ht_number);
}
