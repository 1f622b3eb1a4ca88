// Kernels of low-latency combine that send sums, and rows as they are.

#define EP_LL_COLUMNS 4                               // of those a lane of a sending wave works on
#define EP_LL_PIECE (EP_LL_COLUMNS * EP_LANES)        // and the wave
#define EP_LL_PIECES ((EP_LL_VECTORS + EP_LL_PIECE - 1) / EP_LL_PIECE)
#define EP_LL_SPAN (EP_LL_PIECES < 256 / EP_LANES ? EP_LL_PIECES : 256 / EP_LANES)  // waves that work on one message
#define EP_LL_SPANS ((EP_LL_PIECES + EP_LL_SPAN - 1) / EP_LL_SPAN)
#define EP_LL_SPAN_VECTORS (EP_LL_SPAN * EP_LL_PIECE)
#define EP_LL_ABREAST 4                               // messages that a block works on

// Stores "vectors" 16-byte words of a row from a team's stage. Called by one lane: when it returns the stage has been read, and where they end the row all of
// the row is stored.
EP_DEVICE void store_span(Vec* to, const Vec* stage, int vectors, bool ends) {
  bulk_store(to, stage, vectors * 16);
  bulk_commit();
  if (ends) bulk_wait();
  else bulk_wait_read();
}

// Sums: TEAMS teams of waves each work on a message, whose first wave publishes it.
template <int TEAMS>
EP_DEVICE void send_sums(const Op& op, const Sending& all, char* shared) {
  constexpr int waves = EP_LL_SPAN * EP_LL_ABREAST / TEAMS, span = EP_LL_SPAN_VECTORS * EP_LL_ABREAST / TEAMS;
  const int team = warp() / waves, member = warp() % waves;
  Vec* const stage = (Vec*)shared + team * span;
  for (i64 from = blockIdx.x; from < all.messages; from += gridDim.x * TEAMS) {
    const i64 index = from + (i64)team * gridDim.x;
    Outgoing out;
    out.here = 0;
    if (index < all.messages) out = outgoing(op, all, index);
    const int k = out.here ? lowest(out.here) : 0;
    for (int first = 0; first < EP_LL_VECTORS; first += span) {
      const int here = EP_LL_VECTORS - first < span ? EP_LL_VECTORS - first : span;
      const bool ends = first + span >= EP_LL_VECTORS;
      Vec* const row = out.here ? (Vec*)row_in_slot(op, all, out, k) + first : 0;
      for (int i = member * EP_LANES + lane(); out.here && i - lane() < here; i += waves * EP_LANES) {
        const Vec sum = sum_at(op, out, first + i);
        if (i >= here) continue;
        if (EP_BULK) stage[i] = sum;
        else store_remote(row + i, sum);
      }
      bulk_fence();
      if (EP_BULK || ends) sync_block();
      if (out.here && member == 0) {
        if (EP_BULK && lane() == 0) store_span(row, stage, here, ends);
        if (ends) {
          sync_lanes();
          publish_row(op, all, out, k);
        }
      }
      // Before the stage is written again it has been read.
      if (EP_BULK && (!ends || from + gridDim.x * TEAMS < all.messages)) sync_block();
    }
  }
}

// Copies a row by way of "stage", "piece" bytes at a time. Called by one lane, which has the stage, the barrier "arrived" and its parity to itself.
EP_DEVICE void copy_row_by_bulk(char* to, const char* from, i64 piece, char* stage, u64* arrived, u32* parity) {
  for (i64 at = 0; at < EP_BF16_ROW; at += piece) {
    const u32 bytes = (u32)(EP_BF16_ROW - at < piece ? EP_BF16_ROW - at : piece);
    barrier_expect(arrived, bytes);
    bulk_load(stage, from + at, bytes, arrived);
    barrier_wait(arrived, *parity);
    *parity ^= 1;
    bulk_store(to + at, stage, bytes);
    bulk_commit();
    bulk_wait_read();
  }
  bulk_wait();
}

// Copies a row. Called by a wave.
EP_DEVICE void copy_row_by_wave(Vec* to, const Vec* from) {
  for (int i = lane(); i < EP_LL_VECTORS; i += 8 * EP_LANES) {
    Vec v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) if (i + j * EP_LANES < EP_LL_VECTORS) v[j] = load_once(from + i + j * EP_LANES);
#pragma unroll
    for (int j = 0; j < 8; j++) if (i + j * EP_LANES < EP_LL_VECTORS) store_remote(to + i + j * EP_LANES, v[j]);
  }
}

// Rows as they are: a wave copies one to its slot and publishes it. "op.extra" bytes are moved at a time.
EP_DEVICE void send_rows(const Op& op, const Sending& all, char* shared) {
  // Waves share a message, since most have a few rows here: as many as it can have rows where there are enough waves, or a put keeps a wave longer.
  const i64 waves = (i64)(blockDim.x / EP_LANES) * gridDim.x;
  const int members = EP_DEVICE_POSTED || all.messages * EP_TOPK <= waves ? EP_TOPK : EP_LL_ABREAST;
  EP_SHARED u64 arrived[32];
  char* const stage = shared + (u64)warp() * op.extra;
  u32 parity = 0;  // of the first lane
  if (EP_BULK) {
    if (lane() == 0) {
      barrier_init(&arrived[warp()], 1);
      bulk_fence();
    }
    sync_block();
    bulk_fence_global();
  }
  // One after another they are in different blocks.
  for (i64 share = (i64)warp() * gridDim.x + blockIdx.x; share < all.messages * members; share += waves) {
    const Outgoing out = outgoing(op, all, share / members);
    const int member = (int)(share % members);
    int turn = 0;
    for (Lanes left = out.here; left; left &= left - 1) {
      const int k = lowest(left);
      const Vec* from = row_of(op, shuffle(out.row, k));
      if (turn++ % members != member) continue;
      char* to = row_in_slot(op, all, out, k);
      if (!EP_BULK) copy_row_by_wave((Vec*)to, from);
      else if (lane() == 0) copy_row_by_bulk(to, (const char*)from, op.extra, stage, &arrived[warp()], &parity);
      sync_lanes();
      publish_row(op, all, out, k);
    }
  }
}

// EP_LL_ABREAST teams of waves.
EP_KERNEL(ll_combine_send_sums, EP_LL_ABREAST * EP_LL_SPAN * EP_LANES) {
  EP_DYNAMIC_SHARED(shared);
  combine_send(op, [&](const Op& cached, const Sending& all) {
    // Where there are few messages a block has fewer teams, and they have more waves.
    if (all.messages <= gridDim.x) send_sums<1>(cached, all, shared);
    else if (all.messages <= 2 * gridDim.x) send_sums<2>(cached, all, shared);
    else send_sums<EP_LL_ABREAST>(cached, all, shared);
  });
}

EP_KERNEL(ll_combine_send_rows, 1024) {
  EP_DYNAMIC_SHARED(shared);
  combine_send(op, [&](const Op& cached, const Sending& all) { send_rows(cached, all, shared); });
}
