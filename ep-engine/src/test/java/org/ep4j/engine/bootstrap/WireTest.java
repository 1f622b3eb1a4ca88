package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.engine.bootstrap.Handshake.Hello;
import org.ep4j.engine.bootstrap.Handshake.Proof;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Frames and handshake messages: what goes in comes out, and hostile bytes end in an exception and nothing else. */
@Tag("verify")
class WireTest {
    private static final int SIZE = 4;

    private static byte[] bytes(Frame frame) {
        var out = new ByteArrayOutputStream();
        frame.pieces().forEach(out::writeBytes);
        return out.toByteArray();
    }

    private static Frame read(byte[] bytes) throws IOException {
        return single(new Frame.Decoder().add(bytes));
    }

    private static Frame single(List<Frame> frames) {
        assertThat(frames).hasSize(1);
        return frames.get(0);
    }

    private static HubClient member() {
        return new HubClient(
                1,
                SIZE,
                new Hub.Link() {
                    @Override
                    public void declare(String scope, List<Integer> ranks) {}

                    @Override
                    public void contribute(String scope, String tag, byte[] mine) {}

                    @Override
                    public void giveUp(String scope, String tag) {}

                    @Override
                    public void leave(String scope) {}

                    @Override
                    public void close() {}
                },
                new TestClock());
    }

    @Property(tries = 500)
    void noBytesOfAMemberBreakTheHub(@ForAll @IntRange(max = 8) int type, @ForAll @Size(max = 200) byte[] body)
            throws IOException {
        byte[] all = new byte[5 + body.length];
        ByteBuffer.wrap(all).putInt(body.length).put((byte) type);
        System.arraycopy(body, 0, all, 5, body.length);
        Hub hub = new Hub(SIZE, true, () -> {});
        try {
            Wire.toHub(read(all), 1, SIZE, hub);
        } catch (IOException | IllegalArgumentException e) {
            assertThat(e).isNotNull();
        }
        // The hub still works.
        for (int rank : new int[] {0, 2, 3}) {
            hub.contribute(rank, Hub.ROOT, "after", new byte[0]);
        }
    }

    @Property(tries = 500)
    void noBytesOfTheHubBreakAMember(@ForAll @IntRange(max = 8) int type, @ForAll @Size(max = 200) byte[] body)
            throws IOException {
        byte[] all = new byte[5 + body.length];
        ByteBuffer.wrap(all).putInt(body.length).put((byte) type);
        System.arraycopy(body, 0, all, 5, body.length);
        HubClient member = member();
        try {
            Wire.toMember(read(all), member);
        } catch (IOException | IllegalArgumentException e) {
            assertThat(e).isNotNull();
        }
        assertThat(member.root().state(1)).isEqualTo(MemberState.ALIVE);
    }

    /** However the bytes of a stream are cut into pieces, the same frames come out. */
    @Property(tries = 200)
    void framesDoNotDependOnHowTheirBytesArrive(@ForAll @IntRange(min = 1, max = 40) int piece) throws IOException {
        List<Frame> sent = List.of(
                Wire.declare("4:abcd", List.of(0, 1, 2)),
                Frame.HEARTBEAT,
                Wire.contribute("", "t", new byte[100]),
                Frame.HEARTBEAT);
        var stream = new ByteArrayOutputStream();
        sent.forEach(frame -> stream.writeBytes(bytes(frame)));
        byte[] all = stream.toByteArray();
        Frame.Decoder decoder = new Frame.Decoder();
        List<Frame> got = new ArrayList<>();
        for (int from = 0; from < all.length; from += piece) {
            got.addAll(decoder.add(Arrays.copyOfRange(all, from, Math.min(all.length, from + piece))));
        }
        assertThat(decoder.isBetweenFrames()).isTrue();
        assertThat(got.stream().map(frame -> Arrays.toString(bytes(frame))))
                .containsExactlyElementsOf(sent.stream()
                        .map(frame -> Arrays.toString(bytes(frame)))
                        .toList());
    }

    @Property(tries = 200)
    void aCutFrameIsNeverTakenForAWholeOne(@ForAll @IntRange(min = 1, max = 40) int cut) throws IOException {
        byte[] all = bytes(Wire.declare("4:abcd", List.of(0, 1, 2)));
        assumeTrue(cut < all.length);
        Frame.Decoder decoder = new Frame.Decoder();
        assertThat(decoder.add(Arrays.copyOf(all, all.length - cut))).isEmpty();
        assertThat(decoder.isBetweenFrames()).isFalse();
    }

    /** Else one member could end every gather of the group. */
    @Test
    void aMemberCannotDeclareTheScopesOfTheWholeGroup() {
        Hub hub = new Hub(3, true, () -> {});
        for (String scope : List.of(Hub.ROOT, Hub.SETUP, "x")) {
            assertThatThrownBy(() -> Wire.toHub(Wire.declare(scope, List.of(1)), 1, 3, hub))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("received a subgroup with the key \"" + scope + "\"");
        }
    }

    @Test
    void aLengthOverTheBoundIsRefusedBeforeAnythingIsAllocated() {
        for (int length : new int[] {Frame.MAX_BODY + 1, Integer.MAX_VALUE, -1, Integer.MIN_VALUE}) {
            byte[] header = new byte[5];
            ByteBuffer.wrap(header).putInt(length).put((byte) 2);
            assertThatThrownBy(() -> read(header))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("length " + length);
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
    void proofsOfEveryPurposeAndEveryInputDiffer() {
        byte[] key = Handshake.nonce();
        byte[] nonce = Handshake.nonce();
        Hello hello = new Hello(1, 1, 4, true, Handshake.nonce(), Handshake.nonce(), 1);
        List<Hello> others = List.of(
                new Hello(1, 2, 4, true, hello.salt(), hello.process(), 1),
                new Hello(1, 1, 5, true, hello.salt(), hello.process(), 1),
                new Hello(2, 1, 4, true, hello.salt(), hello.process(), 1),
                new Hello(1, 1, 4, false, hello.salt(), hello.process(), 1),
                new Hello(1, 1, 4, true, Handshake.nonce(), hello.process(), 1),
                new Hello(1, 1, 4, true, hello.salt(), Handshake.nonce(), 1),
                new Hello(1, 1, 4, true, hello.salt(), hello.process(), 2));
        List<byte[]> proofs = new ArrayList<>();
        for (Proof purpose : Proof.values()) {
            proofs.add(purpose.of(key, hello.bytes(), nonce));
        }
        others.forEach(other -> proofs.add(Proof.MEMBER.of(key, other.bytes(), nonce)));
        proofs.add(Proof.MEMBER.of(Handshake.nonce(), hello.bytes(), nonce));
        proofs.add(Proof.MEMBER.of(key, hello.bytes(), Handshake.nonce()));
        proofs.add(Proof.MEMBER.of(key, hello.bytes(), nonce, new byte[0]));
        // The same bytes, divided in another way.
        proofs.add(Proof.MEMBER.of(key, new byte[0], nonce));
        proofs.add(Proof.MEMBER.of(key, nonce, new byte[0]));
        assertThat(proofs.stream().map(Arrays::toString).distinct()).hasSize(proofs.size());
        assertThat(proofs).allMatch(proof -> proof.length == Proof.BYTES);
        assertThat(proofs).contains(Proof.SERVER.of(key, hello.bytes(), nonce));
    }

    @Test
    void aHelloIsDecodedAsItWasEncoded() throws IOException {
        Hello hello = new Hello(Hello.VERSION, 7, 9, true, Handshake.nonce(), Handshake.nonce(), 1);
        byte[] bytes = hello.bytes();
        assertThat(Hello.version(Arrays.copyOf(bytes, Hello.PREFIX_BYTES))).isEqualTo(Hello.VERSION);
        Hello back = Hello.parse(Hello.VERSION, Arrays.copyOfRange(bytes, Hello.PREFIX_BYTES, bytes.length));
        assertThat(back.bytes()).isEqualTo(bytes);
        assertThat(back.rank()).isEqualTo(7);
        assertThat(back.size()).isEqualTo(9);
    }
}
