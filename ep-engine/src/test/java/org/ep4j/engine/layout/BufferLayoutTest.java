package org.ep4j.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.ep4j.EpShape;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

@Tag("verify")
class BufferLayoutTest {
    private record Piece(String what, long from, long bytes) {}

    @Property(tries = 200)
    void nothingOverlapsAndNothingIsOutside(
            @ForAll @IntRange(min = 1, max = 9) int ranks,
            @ForAll @IntRange(min = 1, max = 40) int sixteenths,
            @ForAll @IntRange(min = 1, max = 9) int topK,
            @ForAll @IntRange(min = 0, max = 5) int tokens,
            @ForAll @IntRange(min = 0, max = 5) int lowLatencyTokens,
            @ForAll boolean posted,
            @ForAll @IntRange(min = 0, max = 3) int relayed) {
        if (tokens + lowLatencyTokens == 0) {
            return;
        }
        EpShape shape = EpShape.builder(16 * sixteenths, 11, topK)
                .maxTokens(tokens)
                .maxLowLatencyTokens(lowLatencyTokens)
                .build();
        BufferLayout layout = new BufferLayout(shape, ranks, posted, posted ? relayed : 0);
        List<Piece> pieces = new ArrayList<>();
        for (int r = 0; r < ranks; r++) {
            for (Counter counter : Counter.values()) {
                if (counter == Counter.HT_ROUND) {
                    continue;
                }
                pieces.add(new Piece(counter + " " + r, layout.counter(counter, r), 8));
            }
            for (Announcement kind : Announcement.values()) {
                for (int bank = 0; bank < 2; bank++) {
                    long bytes = BufferLayout.announcementInts() + 4L * ranks;
                    pieces.add(new Piece(
                            "announcement " + kind + " " + r + " " + bank, layout.announcement(kind, bank, r), bytes));
                }
            }
        }
        long capacity = ShapeSizes.receivedRows(shape, ranks);
        pieces.add(new Piece("rows", layout.rows(), layout.rowsBytes()));
        for (long row = 0; row < capacity; row++) {
            pieces.add(new Piece("record " + row, layout.record(row), layout.recordBytes()));
            pieces.add(new Piece("weights " + row, layout.combineWeights(row), 4L * topK));
        }
        for (int scales = 0; scales <= shape.scales(); scales++) {
            assertThat(layout.recordBytes(scales)).isBetween(4 * (1 + 2 * topK + scales), layout.recordBytes());
            assertThat(layout.record(capacity, scales)).isLessThanOrEqualTo(layout.record(capacity));
        }
        long area = layout.combineInputBytes();
        for (int t = 0; t < tokens; t++) {
            area = Math.max(area, layout.selectionSlot(t, topK - 1) + layout.rowBytes() - layout.combineArea());
        }
        pieces.add(new Piece("combine area", layout.combineArea(), area));
        addLowLatency(layout, ranks, topK, lowLatencyTokens, pieces);
        if (posted) {
            addPosted(layout, ranks, topK, tokens, relayed, pieces);
        }
        pieces.removeIf(p -> p.bytes() == 0);
        pieces.sort(java.util.Comparator.comparingLong(Piece::from));
        for (int i = 1; i < pieces.size(); i++) {
            Piece before = pieces.get(i - 1);
            assertThat(before.from() + before.bytes())
                    .as("%s before %s", before, pieces.get(i))
                    .isLessThanOrEqualTo(pieces.get(i).from());
        }
        Piece last = pieces.get(pieces.size() - 1);
        assertThat(last.from() + last.bytes()).isLessThanOrEqualTo(layout.bytes());
        for (Piece piece : pieces) {
            boolean lowLatency =
                    Stream.of("announcement LL_", "message", "counts", "slot").anyMatch(piece.what()::startsWith);
            assertThat(layout.isLowLatency(piece.from())).as(piece.what()).isEqualTo(lowLatency);
            assertThat(layout.isLowLatency(piece.from() + piece.bytes() - 1))
                    .as(piece.what())
                    .isEqualTo(lowLatency);
        }
    }

    private static void addPosted(
            BufferLayout layout, int ranks, int topK, int tokens, int relayed, List<Piece> pieces) {
        for (int i = 0; i < tokens * Math.min(topK, ranks - 1); i++) {
            pieces.add(new Piece("returned row", layout.returnedRow(i), layout.rowBytes()));
            pieces.add(new Piece("returned weights", layout.returnedWeights(i), 4L * topK));
        }
        for (int i = 0; i < tokens * relayed; i++) {
            pieces.add(new Piece("relayed row", layout.relayedRow(i, layout.rowBytes()), layout.rowBytes()));
            pieces.add(new Piece("relayed record", layout.relayedRecord(i), layout.recordBytes()));
        }
        for (int r = 0; r < ranks; r++) {
            pieces.add(new Piece("staging", layout.staging(r), layout.stagingBytes()));
        }
        long single = Math.max(layout.announcementBytes(), layout.recordBytes());
        assertThat(layout.stagingBytes())
                .isGreaterThanOrEqualTo(single)
                .isGreaterThanOrEqualTo(Math.max(layout.messageBytes(), layout.combineSlotBytes()));
    }

    /** Those who only map each other pay nothing. */
    @Property(tries = 50)
    void postedRegionsComeLast(@ForAll @IntRange(min = 2, max = 9) int ranks) {
        EpShape shape =
                EpShape.builder(64, 9, 2).maxTokens(3).maxLowLatencyTokens(2).build();
        BufferLayout mapped = new BufferLayout(shape, ranks);
        BufferLayout posted = new BufferLayout(shape, ranks, true, 2);
        assertThat(posted.combineFlag(1, 1, 1)).isEqualTo(mapped.combineFlag(1, 1, 1));
        assertThat(posted.returnedRow(0)).isEqualTo(mapped.bytes());
        assertThat(mapped.stagingBytes()).isZero();
    }

    private static void addLowLatency(BufferLayout layout, int ranks, int topK, int tokens, List<Piece> pieces) {
        for (int bank = 0; bank < 2; bank++) {
            for (int t = 0; t < tokens; t++) {
                for (int r = 0; r < ranks; r++) {
                    long bytes = layout.messageHead() + layout.rowBytes();
                    pieces.add(new Piece("message", layout.message(bank, r, t), bytes));
                    pieces.add(new Piece("message flag", layout.messageFlag(bank, r, t), 8));
                    if (t == 0) {
                        pieces.add(new Piece("counts", layout.counts(bank, r), layout.countBytes()));
                    }
                }
                for (int k = 0; k < topK; k++) {
                    long bytes = layout.combineSlotHead() + layout.rowBytes();
                    pieces.add(new Piece("slot", layout.combineSlot(bank, t, k), bytes));
                    pieces.add(new Piece("slot flag", layout.combineFlag(bank, t, k), 8));
                }
            }
        }
    }

    @Property
    void countersOfDifferentWritersAreOnDifferentCacheLines(@ForAll @IntRange(min = 2, max = 20) int ranks) {
        BufferLayout layout =
                new BufferLayout(EpShape.builder(64, 8, 2).maxTokens(1).build(), ranks);
        for (int r = 1; r < ranks; r++) {
            assertThat(layout.counter(Counter.HT_DATA, r) / 64)
                    .isNotEqualTo(layout.counter(Counter.HT_DATA, r - 1) / 64);
        }
    }
}
