package org.ep4j.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.ep4j.EpShape;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

@Tag("verify")
class WindowLayoutTest {
    private static final int LINE = 256;
    private static final int PAGE = 4096;

    private record Piece(String what, long from, long bytes) {}

    @Property(tries = 300)
    void nothingOverlapsAndNothingIsOutside(
            @ForAll @IntRange(min = 2, max = 9) int ranks,
            @ForAll @IntRange(min = 0, max = 8) int channels,
            @ForAll @IntRange(min = 1, max = 40) int sixteenths,
            @ForAll @IntRange(min = 1, max = 9) int topK,
            @ForAll @IntRange(min = 0, max = 5) int tokens,
            @ForAll @IntRange(min = 0, max = 5) int lowLatencyTokens,
            @ForAll boolean relays) {
        assumeTrue(tokens + lowLatencyTokens > 0);
        EpShape shape = EpShape.builder(16 * sixteenths, 11, topK)
                .maxTokens(tokens)
                .maxLowLatencyTokens(lowLatencyTokens)
                .build();
        BufferLayout buffer = new BufferLayout(shape, ranks);
        WindowLayout window = WindowLayout.of(shape, ranks, channels, relays);
        List<Piece> pieces = new ArrayList<>();
        addAnnouncements(buffer, ranks, pieces);
        assertThat(pieces).allSatisfy(p -> assertThat(p.from() + p.bytes()).isLessThanOrEqualTo(window.staging()));
        assertThat(window.staging() % PAGE).isZero();
        assertThat(window.stagingBytes() % PAGE).isZero();
        assertThat(window.stagingBytes()).isGreaterThanOrEqualTo(buffer.announcementBytes());
        for (int r = 0; r < ranks; r++) {
            pieces.add(new Piece("staging", window.staging() + r * window.stagingBytes(), window.stagingBytes()));
        }
        List<Piece> regions = regions(shape, buffer, window);
        for (int i = 0; i < channels; i++) {
            for (long channel : new long[] {window.outgoing(i), window.incoming(i)}) {
                assertThat(channel % PAGE).isZero();
                regions.forEach(p -> pieces.add(new Piece(p.what(), channel + p.from(), p.bytes())));
            }
        }
        assertApart(pieces, window.bytes());
        for (Piece piece : pieces) {
            boolean lowLatency =
                    Stream.of("announcement LL_", "message", "counts", "slot").anyMatch(piece.what()::startsWith);
            if (piece.bytes() > 0) {
                assertThat(window.isLowLatency(piece.from())).as(piece.what()).isEqualTo(lowLatency);
                assertThat(window.isLowLatency(piece.from() + piece.bytes() - 1))
                        .as(piece.what())
                        .isEqualTo(lowLatency);
            }
        }
    }

    /** Announcements that the host writes lie where a peer that maps the memory would write them. */
    private static void addAnnouncements(BufferLayout buffer, int ranks, List<Piece> pieces) {
        for (int r = 0; r < ranks; r++) {
            for (Announcement kind : Announcement.values()) {
                for (int bank = 0; bank < 2; bank++) {
                    pieces.add(new Piece(
                            "announcement " + kind + " " + r,
                            buffer.announcement(kind, bank, r),
                            buffer.announcementBytes()));
                }
            }
        }
    }

    /** What kernels put into a channel and post, by offsets from its start; lengths as they are posted, multiples of 16. */
    private static List<Piece> regions(EpShape shape, BufferLayout buffer, WindowLayout window) {
        long tokens = shape.maxTokens();
        long low = shape.maxLowLatencyTokens();
        List<Piece> regions = new ArrayList<>();
        assertThat(window.channelRows()).isGreaterThanOrEqualTo(tokens);
        regions.add(new Piece("rows", window.rows(), window.channelRows() * buffer.rowBytes()));
        regions.add(new Piece("records", window.records(), tokens * buffer.recordBytes()));
        regions.add(new Piece("weights", window.weights(), sixteens(4 * tokens * shape.topK())));
        regions.add(new Piece("messages", window.messages(), 2 * low * buffer.messageBytes()));
        regions.add(new Piece("message flags", window.messageFlags(), 2 * sixteens(8 * low)));
        regions.add(new Piece("counts", window.counts(), low == 0 ? 0 : 2L * buffer.countBytes()));
        regions.add(new Piece("slots", window.slots(), 2 * low * shape.topK() * buffer.combineSlotBytes()));
        regions.add(new Piece("slot flags", window.slotFlags(), 2 * sixteens(8 * low * shape.topK())));
        assertThat(regions).allSatisfy(p -> {
            assertThat(p.from() % LINE).isZero();
            assertThat(p.bytes() % 16).isZero();
        });
        assertThat(List.of(
                        buffer.rowBytes(),
                        (long) buffer.recordBytes(),
                        (long) buffer.messageBytes(),
                        (long) buffer.countBytes(),
                        (long) buffer.combineSlotBytes(),
                        (long) buffer.announcementBytes()))
                .allMatch(bytes -> bytes % 16 == 0);
        return regions;
    }

    private static long sixteens(long bytes) {
        return (bytes + 15) / 16 * 16;
    }

    private static void assertApart(List<Piece> all, long end) {
        List<Piece> pieces = all.stream()
                .filter(p -> p.bytes() > 0)
                .sorted(Comparator.comparingLong(Piece::from))
                .toList();
        for (int i = 1; i < pieces.size(); i++) {
            Piece before = pieces.get(i - 1);
            assertThat(before.from() + before.bytes())
                    .as("%s before %s", before, pieces.get(i))
                    .isLessThanOrEqualTo(pieces.get(i).from());
        }
        Piece last = pieces.get(pieces.size() - 1);
        assertThat(last.from() + last.bytes()).isLessThanOrEqualTo(end);
    }

    /** Whoever posts finds its channel on the receiver by the receiver's index of it, whatever its own is. */
    @Property(tries = 50)
    void channelsFollowEachOther(@ForAll @IntRange(min = 1, max = 8) int channels) {
        EpShape shape =
                EpShape.builder(64, 9, 2).maxTokens(3).maxLowLatencyTokens(2).build();
        WindowLayout window = WindowLayout.of(shape, 9, channels, false);
        long bytes = window.incoming(0) - window.outgoing(channels - 1);
        assertThat(window.outgoing(0)).isEqualTo(window.staging() + 9 * window.stagingBytes());
        assertThat(window.incoming(channels - 1) + bytes).isEqualTo(window.bytes());
    }

    /** The rows of all selections come back by all channels together, and no channel is larger than this or a dispatch needs. */
    @Property(tries = 300)
    void channelsTogetherHaveRoomForAllSelections(
            @ForAll @IntRange(min = 1, max = 70) int channels,
            @ForAll @IntRange(min = 1, max = 9) int topK,
            @ForAll @IntRange(min = 1, max = 500) int tokens) {
        EpShape shape = EpShape.builder(64, 71, topK).maxTokens(tokens).build();
        WindowLayout window = WindowLayout.of(shape, channels + 1, channels, false);
        int selections = tokens * topK;
        assertThat(channels * window.channelRows()).isGreaterThanOrEqualTo(selections);
        if (window.channelRows() > tokens) {
            assertThat(channels * (window.channelRows() - 1)).isLessThan(selections);
        }
        assertThat(window.incoming(channels - 1) - window.incoming(0))
                .isEqualTo((channels - 1) * window.channelBytes());
    }

    /** Two channels to a peer and from it take less than 0.2 GB where there are as many peers as a token has selections. */
    @Property(tries = 1)
    void aRemotePeerTakesLittle() {
        EpShape shape = EpShape.builder(7168, 256, 8)
                .maxTokens(4096)
                .maxLowLatencyTokens(128)
                .build();
        for (int remote : List.of(8, 16, 56, 63)) {
            assertThat(WindowLayout.of(shape, remote + 1, remote, false).bytes() / remote)
                    .isBetween(180_000_000L, 200_000_000L);
        }
        assertThat(WindowLayout.of(shape, 2, 1, false).bytes()).isLessThan(1_020_000_000L);
    }

    /** Those that only posted peers have, too. */
    @Property(tries = 50)
    void countersHaveAPlaceApart(@ForAll @IntRange(min = 2, max = 70) int ranks) {
        EpShape shape = EpShape.builder(64, 71, 2).maxTokens(3).build();
        BufferLayout buffer = new BufferLayout(shape, ranks);
        List<Piece> pieces = new ArrayList<>();
        for (int r = 0; r < ranks; r++) {
            for (Counter counter : Counter.values()) {
                pieces.add(new Piece(counter + " " + r, buffer.counter(counter, r), 8));
            }
        }
        assertApart(pieces, WindowLayout.of(shape, ranks, 1, false).counterBytes());
    }

    @Property(tries = 20)
    void aModeThatIsLeftOutTakesNoRoom(@ForAll @IntRange(min = 1, max = 500) int tokens) {
        EpShape.Builder builder = EpShape.builder(64, 9, 2);
        WindowLayout rows = WindowLayout.of(builder.maxTokens(tokens).build(), 4, 1, false);
        assertThat(List.of(rows.messageFlags(), rows.counts(), rows.slots(), rows.slotFlags()))
                .containsOnly(rows.messages());
        WindowLayout messages = WindowLayout.of(
                EpShape.builder(64, 9, 2).maxLowLatencyTokens(tokens).build(), 4, 1, false);
        assertThat(List.of(messages.records(), messages.weights(), messages.messages()))
                .containsOnly(messages.rows());
    }

    /** Counters are advanced by their numbers, which a backend has a limited number of. */
    @Property(tries = 1)
    void everyCounterHasANumberThatBackendsKnow() {
        assertThat(Counter.values()).allMatch(c -> BufferLayout.number(c) < HostPosted.COUNTERS);
    }
}
