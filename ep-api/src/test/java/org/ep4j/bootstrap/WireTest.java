package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.Test;

/** Frames and handshake messages: what goes in comes out, and hostile bytes end in an exception and nothing else. */
class WireTest {
    private static final int SIZE = 4;

    private static final byte[] KEY = new byte[Keys.BYTES];

    private static byte[] bytes(Frame frame) {
        var out = new ByteArrayOutputStream();
        frame.encode(new Seal(KEY)).forEach(buffer -> {
            byte[] piece = new byte[buffer.remaining()];
            buffer.get(piece);
            out.writeBytes(piece);
        });
        return out.toByteArray();
    }

    private static Optional<Frame> read(byte[] bytes) throws IOException {
        return new FrameReader(new Seal(KEY)).next(ByteBuffer.wrap(bytes));
    }

    private static Frame frame(int type, byte[] body) {
        return new Frame(Frame.Type.of(type).orElse(Frame.Type.HEARTBEAT), List.of(body));
    }

    @Property(tries = 500)
    void noBytesOfAMemberBreakTheHub(@ForAll @IntRange(max = 11) int type, @ForAll @Size(max = 200) byte[] body)
            throws IOException {
        Hub hub = new Hub(Collections.nCopies(SIZE, MemberState.ALIVE));
        try {
            Wire.toHub(frame(type, body), 1, SIZE, hub);
        } catch (IOException | IllegalArgumentException e) {
            assertThat(e).isNotNull();
        }
        // The hub still works.
        for (int rank : new int[] {0, 2, 3}) {
            hub.contribute(rank, Hub.ROOT, "after", new byte[0]);
        }
    }

    @Property(tries = 500)
    void noBytesOfTheHubBreakAMember(@ForAll @IntRange(max = 11) int type, @ForAll @Size(max = 200) byte[] body)
            throws IOException {
        Membership member = new Membership(1, SIZE);
        try {
            Wire.toMember(frame(type, body), member);
        } catch (IOException | IllegalArgumentException e) {
            assertThat(e).isNotNull();
        }
        assertThat(member.root().state(1)).isEqualTo(MemberState.ALIVE);
    }

    @Property(tries = 200)
    void aCutFrameIsNeverTakenForAWholeOne(@ForAll @IntRange(min = 1, max = 40) int cut) throws IOException {
        byte[] all = bytes(Wire.declare("4:abcd", List.of(0, 1, 2)));
        Assume.that(cut < all.length);
        assertThat(read(Arrays.copyOf(all, all.length - cut))).isEmpty();
    }

    @Test
    void aLengthOverTheBoundIsRefusedBeforeAnythingIsAllocated() {
        for (int length : new int[] {Frame.MAX_BODY + 1, Integer.MAX_VALUE, -1, Integer.MIN_VALUE}) {
            byte[] digest = new byte[Frame.DIGEST_BYTES];
            byte[] header = ByteBuffer.allocate(Frame.HEADER_BYTES)
                    .putInt(length)
                    .put((byte) 2)
                    .put(digest)
                    .put(new Seal(KEY).next(length, 2, digest))
                    .array();
            assertThatThrownBy(() -> read(header))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("length " + length);
        }
    }

    @Test
    void framesComeBackInPiecesOfAnySize() throws IOException {
        byte[] all = bytes(Wire.contribute("scope", "tag", new byte[1000]));
        for (int piece = 1; piece <= all.length; piece += 13) {
            FrameReader reader = new FrameReader(new Seal(KEY));
            Optional<Frame> frame = Optional.empty();
            for (int at = 0; at < all.length; at += piece) {
                assertThat(frame).isEmpty();
                frame = reader.next(ByteBuffer.wrap(all, at, Math.min(piece, all.length - at)));
            }
            assertThat(frame).isPresent();
            assertThat(reader.between()).isTrue();
        }
    }

    @Test
    void smallPartsOfManyMembersTravelInOneFrame() {
        List<byte[]> parts =
                IntStream.range(0, 1024).mapToObj(i -> new byte[64]).toList();
        assertThat(Wire.result("", "t", parts)).hasSize(1);
    }

    @Test
    void largePartsAreSplitSoThatNoFramePassesTheBound() {
        List<byte[]> parts =
                List.of(new byte[16 << 20], new byte[1], new byte[16 << 20], new byte[8 << 20], new byte[8 << 20]);
        List<Frame> frames = Wire.result("s".repeat(8192), "t".repeat(8192), parts);
        assertThat(frames).hasSizeGreaterThan(3).allMatch(frame -> frame.length() <= Frame.MAX_BODY);
    }

    @Test
    void theProofsOfBothRolesAndOfEveryInputDiffer() {
        byte[] nonce = Keys.random(Keys.BYTES);
        byte[] process = Keys.random(Keys.BYTES);
        byte[] own = Keys.random(Keys.BYTES);
        byte[] salt = Keys.random(Keys.SALT_BYTES);
        byte[] key = Keys.stretch("s", salt);
        byte[] terms = new byte[Terms.BYTES];
        Hello hello = new Hello(2, 1, 4, true, process, own);
        Session session = new Session(key, hello, nonce);
        List<byte[]> proofs = List.of(
                session.memberProof(),
                session.serverProof(terms),
                new Session(Keys.stretch("", salt), hello, nonce).memberProof(),
                new Session(Keys.stretch("s", new byte[Keys.SALT_BYTES]), hello, nonce).memberProof(),
                new Session(key, new Hello(2, 2, 4, true, process, own), nonce).memberProof(),
                new Session(key, new Hello(2, 1, 5, true, process, own), nonce).memberProof(),
                new Session(key, new Hello(3, 1, 4, true, process, own), nonce).memberProof(),
                new Session(key, new Hello(2, 1, 4, true, process, nonce), nonce).memberProof(),
                new Session(key, new Hello(2, 1, 4, true, nonce, own), nonce).memberProof(),
                new Session(key, hello, Keys.random(Keys.BYTES)).memberProof(),
                session.serverProof(new Terms(Duration.ofMillis(1), Duration.ofMillis(2), true, own).encode()),
                Keys.derive(key, "failover", own));
        assertThat(proofs.stream().map(Arrays::toString).distinct()).hasSize(proofs.size());
        assertThat(proofs).allMatch(proof -> proof.length == Keys.BYTES);
        assertThat(session.memberProof()).isEqualTo(proofs.get(0));
        assertThat(session.up().next(0, 0, own)).isNotEqualTo(session.down().next(0, 0, own));
    }

    @Test
    void aHelloComesBackAsItWas() throws IOException {
        Hello hello = new Hello(Hello.VERSION, 7, 9, true, Keys.random(Keys.BYTES), Keys.random(Keys.BYTES));
        byte[] bytes = hello.bytes();
        assertThat(Hello.version(Arrays.copyOf(bytes, Hello.PREFIX_BYTES))).isEqualTo(Hello.VERSION);
        Hello back = Hello.parse(Hello.VERSION, Arrays.copyOfRange(bytes, Hello.PREFIX_BYTES, bytes.length));
        assertThat(back.bytes()).isEqualTo(bytes);
        assertThat(back.rank()).isEqualTo(7);
        assertThat(back.size()).isEqualTo(9);
    }
}
