package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.spi.MemberState;
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

    private static byte[] bytes(Frame frame) throws IOException {
        var out = new ByteArrayOutputStream();
        frame.write(new DataOutputStream(out));
        return out.toByteArray();
    }

    private static Frame read(byte[] bytes) throws IOException {
        return Frame.read(new DataInputStream(new ByteArrayInputStream(bytes))).orElseThrow();
    }

    private static Membership member() {
        return new Membership(
                1,
                SIZE,
                new HubLink() {
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
        Hub hub = new Hub(SIZE, true);
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
        Membership member = member();
        try {
            Wire.toMember(read(all), member);
        } catch (IOException | IllegalArgumentException e) {
            assertThat(e).isNotNull();
        }
        assertThat(member.root().state(1)).isEqualTo(MemberState.ALIVE);
    }

    @Property(tries = 200)
    void aCutFrameIsNeverTakenForAWholeOne(@ForAll @IntRange(min = 1, max = 40) int cut) throws IOException {
        byte[] all = bytes(Wire.declare("4:abcd", List.of(0, 1, 2)));
        assumeTrue(cut < all.length);
        assertThatThrownBy(() -> read(Arrays.copyOf(all, all.length - cut))).isInstanceOf(IOException.class);
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
    void aStreamThatEndsBetweenFramesIsAnOrderlyEnd() throws IOException {
        assertThat(Frame.read(new DataInputStream(new ByteArrayInputStream(new byte[0]))))
                .isEmpty();
        assertThat(read(bytes(Frame.HEARTBEAT)).type()).isEqualTo(Frame.Type.HEARTBEAT);
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
        byte[] nonce = Proof.nonce();
        Hello hello = new Hello(1, 1, 4, true, Proof.nonce(), Proof.nonce());
        List<byte[]> proofs = List.of(
                Proof.of("s", Proof.Role.MEMBER, hello, nonce, new byte[0]),
                Proof.of("s", Proof.Role.SERVER, hello, nonce, new byte[0]),
                Proof.of("", Proof.Role.MEMBER, hello, nonce, new byte[0]),
                Proof.of(
                        "s",
                        Proof.Role.MEMBER,
                        new Hello(1, 2, 4, true, hello.nonce(), hello.process()),
                        nonce,
                        new byte[0]),
                Proof.of(
                        "s",
                        Proof.Role.MEMBER,
                        new Hello(1, 1, 5, true, hello.nonce(), hello.process()),
                        nonce,
                        new byte[0]),
                Proof.of(
                        "s",
                        Proof.Role.MEMBER,
                        new Hello(2, 1, 4, true, hello.nonce(), hello.process()),
                        nonce,
                        new byte[0]),
                Proof.of(
                        "s",
                        Proof.Role.MEMBER,
                        new Hello(1, 1, 4, true, Proof.nonce(), hello.process()),
                        nonce,
                        new byte[0]),
                Proof.of(
                        "s",
                        Proof.Role.MEMBER,
                        new Hello(1, 1, 4, true, hello.nonce(), Proof.nonce()),
                        nonce,
                        new byte[0]),
                Proof.of("s", Proof.Role.MEMBER, hello, Proof.nonce(), new byte[0]),
                Proof.of("s", Proof.Role.SERVER, hello, nonce, new byte[8]));
        assertThat(proofs.stream().map(Arrays::toString).distinct()).hasSize(proofs.size());
        assertThat(proofs).allMatch(proof -> proof.length == Proof.BYTES);
        assertThat(Proof.of("s", Proof.Role.MEMBER, hello, nonce, new byte[0])).isEqualTo(proofs.get(0));
    }

    @Test
    void aHelloComesBackAsItWas() throws IOException {
        Hello hello = new Hello(Hello.VERSION, 7, 9, true, Proof.nonce(), Proof.nonce());
        byte[] bytes = hello.bytes();
        assertThat(Hello.version(Arrays.copyOf(bytes, Hello.PREFIX_BYTES))).isEqualTo(Hello.VERSION);
        Hello back = Hello.parse(Hello.VERSION, Arrays.copyOfRange(bytes, Hello.PREFIX_BYTES, bytes.length));
        assertThat(back.bytes()).isEqualTo(bytes);
        assertThat(back.rank()).isEqualTo(7);
        assertThat(back.size()).isEqualTo(9);
    }
}
