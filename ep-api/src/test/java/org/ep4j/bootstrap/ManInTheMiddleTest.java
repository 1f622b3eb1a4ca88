package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Somebody between a member and its hub who knows the protocol, but not the secret, and interferes after the handshake. */
@Timeout(300)
class ManInTheMiddleTest {
    private static final int ROUNDS = 25;

    private final Ranks ranks = new Ranks();

    enum Attack {
        CHANGE,
        DROP,
        REPEAT,
        REORDER
    }

    @AfterEach
    void end() {
        ranks.close();
    }

    /** Passes frames on and interferes with one frame of one direction. */
    private final class Proxy implements AutoCloseable {
        private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        private final int target;
        private final Attack attack;
        private final boolean up;
        private final int at;
        private final Random random;
        private final CompletableFuture<Void> serving;
        private final AtomicReference<String> done = new AtomicReference<>("");

        Proxy(int target, Attack attack, Random random) throws IOException {
            this.target = target;
            this.attack = attack;
            this.random = random;
            this.up = random.nextBoolean();
            // The first frame of each side belongs to the start of the group.
            this.at = 1 + random.nextInt(8);
            this.serving = ranks.run(this::serve);
        }

        private void serve() {
            try (Socket member = listener.accept();
                    Socket hub = TcpGroup.connect(target)) {
                var fromMember = new DataInputStream(member.getInputStream());
                var fromHub = new DataInputStream(hub.getInputStream());
                copy(fromMember, hub.getOutputStream(), Hello.PREFIX_BYTES + Hello.REST_BYTES);
                copyReply(fromHub, member.getOutputStream());
                copy(fromMember, hub.getOutputStream(), Keys.BYTES);
                copyReply(fromHub, member.getOutputStream());
                CompletableFuture<Void> back = ranks.run(() -> pump(fromHub, member, !up));
                pump(fromMember, hub, up);
                back.join();
            } catch (IOException e) {
                done.compareAndSet("", "broken " + e);
            }
        }

        private void copy(DataInputStream in, OutputStream out, int bytes) throws IOException {
            byte[] some = new byte[bytes];
            in.readFully(some);
            out.write(some);
        }

        private void copyReply(DataInputStream in, OutputStream out) throws IOException {
            byte[] head = new byte[9];
            in.readFully(head);
            out.write(head);
            copy(in, out, Short.toUnsignedInt(ByteBuffer.wrap(head).getShort(7)));
        }

        private byte[] frame(DataInputStream in) throws IOException {
            int length = in.readInt();
            byte[] frame = new byte[Frame.HEADER_BYTES + length];
            ByteBuffer.wrap(frame).putInt(length);
            in.readFully(frame, 4, frame.length - 4);
            return frame;
        }

        private void pump(DataInputStream in, Socket to, boolean attacked) {
            try {
                for (int i = 0; ; i++) {
                    byte[] frame = frame(in);
                    if (attacked && i == at) {
                        attack(frame, in, to.getOutputStream());
                    } else {
                        to.getOutputStream().write(frame);
                    }
                }
            } catch (IOException e) {
                // One side has ended the connection, as it should.
                try {
                    to.shutdownOutput();
                } catch (IOException again) {
                    done.compareAndSet("", "broken " + again);
                }
            }
        }

        private void attack(byte[] frame, DataInputStream in, OutputStream out) throws IOException {
            int place = attack == Attack.CHANGE ? random.nextInt(frame.length) : 0;
            done.set(
                    attack + " of frame " + at + " of type " + frame[4] + (up ? " up" : " down") + " at byte " + place);
            switch (attack) {
                case CHANGE -> {
                    byte[] other = frame.clone();
                    other[place] ^= (byte) (1 << random.nextInt(8));
                    out.write(other);
                }
                case DROP -> out.flush();
                case REPEAT -> {
                    out.write(frame);
                    out.write(frame);
                }
                case REORDER -> {
                    out.write(frame(in));
                    out.write(frame);
                }
            }
        }

        @Override
        public void close() throws IOException {
            listener.close();
            Ranks.get(serving);
        }
    }

    @ParameterizedTest
    @EnumSource(Attack.class)
    void everyInterferenceIsDetectedAndNamed(Attack attack) throws IOException {
        for (int round = 0; round < ROUNDS; round++) {
            long seed = System.nanoTime();
            String what = attack + ", round " + round + ", seed " + seed;
            System.out.println(what);
            TcpSettings zero = quick(TcpGroup.settings(0, 2, 0));
            RendezvousServer server = RendezvousServer.start(zero);
            try (Proxy proxy = new Proxy(server.port(), attack, new Random(seed))) {
                List<Bootstrap> group = ranks.all(
                        2,
                        r -> TcpGroup.join(
                                TcpGroup.rank(zero, r, r == 0 ? server.port() : proxy.listener.getLocalPort()),
                                r == 0 ? server : null));
                List<EpException> errors = ranks.all(2, r -> gatherUntilItFails(group.get(r)));
                assertThat(proxy.done.get()).as(what).startsWith(attack.name());
                assertThat(errors).as(what).allMatch(e -> e instanceof EpPeerLostException);
                assertThat(errors.stream().map(Throwable::getMessage).toList())
                        .as(what + ": " + proxy.done.get())
                        .anyMatch(message -> names(attack, message));
                // Of two ranks the lower one goes on, and the other one learns it.
                Ranks.until(what, () -> group.get(0).state(1) == MemberState.LOST);
                Ranks.until(what, () -> group.get(1).state(1) == MemberState.LOST);
                assertThat(group.get(0).state(0)).as(what).isEqualTo(MemberState.ALIVE);
                ranks.all(2, r -> {
                    group.get(r).close();
                    return r;
                });
            }
        }
    }

    private static boolean names(Attack attack, String message) {
        return switch (attack) {
            case CHANGE -> message.contains("was changed on the way");
            case REPEAT -> message.contains("was repeated");
            case DROP, REORDER -> message.contains("was dropped or reordered");
        };
    }

    private static EpException gatherUntilItFails(Bootstrap member) {
        byte[] mine = new byte[50];
        Arrays.fill(mine, (byte) member.rank());
        try {
            for (int i = 0; i < 10_000; i++) {
                List<byte[]> parts = member.allGather("t" + i, mine, Ranks.LONG);
                for (int r = 0; r < 2; r++) {
                    assertThat(parts.get(r)).hasSize(50).containsOnly(r);
                }
                BootstrapContract.pause(1);
            }
        } catch (EpException e) {
            return e;
        }
        throw new AssertionError("nothing was noticed");
    }

    private static TcpSettings quick(TcpSettings s) {
        return new TcpSettings(
                s.rank(),
                s.size(),
                s.host(),
                s.port(),
                s.secret(),
                s.setupTimeout(),
                Duration.ofMillis(50),
                s.silence());
    }
}
