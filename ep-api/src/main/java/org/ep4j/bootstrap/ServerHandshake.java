package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.ep4j.config.EpKeys;

/** The server's side of one handshake. Reads a few fixed-size messages, all before one deadline. */
final class ServerHandshake {
    /** The member must not come in; the message is what it is told. */
    static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1L;

        RefusedException(String message) {
            super(message);
        }
    }

    private final Socket socket;
    private final TcpSettings settings;
    private final Deadline deadline;
    private final byte[] nonce = Proof.nonce();
    private final Hello hello;

    /** Reads the first message and answers with the challenge. */
    ServerHandshake(Socket socket, TcpSettings settings, Deadline deadline) throws IOException, RefusedException {
        this.socket = socket;
        this.settings = settings;
        this.deadline = deadline;
        int version = Hello.version(Sockets.read(socket, Hello.PREFIX_BYTES, deadline));
        if (version != Hello.VERSION) {
            throw new RefusedException(
                    "this rank speaks version " + version + " of the rendezvous protocol, rank 0 version "
                            + Hello.VERSION + "; run the same ep4j version on all ranks");
        }
        hello = Hello.parse(version, Sockets.read(socket, Hello.REST_BYTES, deadline));
        byte[] challenge = ByteBuffer.allocate(1 + nonce.length)
                .put((byte) (settings.secret().isEmpty() ? 0 : 1))
                .put(nonce)
                .array();
        new Reply(Reply.Type.CHALLENGE, challenge).write(socket);
    }

    /** Checks the member's proof, then what it claims; gives its rank. */
    int identify() throws IOException, RefusedException {
        byte[] expected = Proof.of(settings.secret(), Proof.Role.MEMBER, hello, nonce, new byte[0]);
        boolean proved = Proof.same(expected, Sockets.read(socket, Proof.BYTES, deadline));
        if (!proved) {
            boolean mine = !settings.secret().isEmpty();
            String what = hello.secret() == mine
                    ? "this rank and rank 0 have different secrets"
                    : hello.secret()
                            ? "this rank has a secret, rank 0 has none"
                            : "rank 0 has a secret, this rank has none";
            throw new RefusedException(
                    what + "; set " + EpKeys.BOOTSTRAP_SECRET.environmentName() + " to the same text on all ranks");
        }
        if (hello.size() != settings.size()) {
            throw new RefusedException("this rank was started for " + hello.size() + " ranks, rank 0 for "
                    + settings.size() + "; set the same " + TcpSettings.WORLD_SIZE + " on all ranks");
        }
        if (hello.rank() < 0 || hello.rank() >= settings.size()) {
            throw new RefusedException("rank " + hello.rank() + " does not exist, must be in [0, " + settings.size()
                    + "); correct " + TcpSettings.RANK);
        }
        return hello.rank();
    }

    /** True if the other handshake is another attempt of the same join. */
    boolean isOfSameProcess(ServerHandshake other) {
        return Proof.same(hello.process(), other.hello.process());
    }

    /** The connection that the handshake is on. */
    Socket socket() {
        return socket;
    }

    /** What is left of the time for the handshake. */
    Deadline deadline() {
        return deadline;
    }

    /** Lets the member in. */
    void accept() throws IOException {
        byte[] timing = ByteBuffer.allocate(8)
                .putInt(millis(settings.heartbeat()))
                .putInt(millis(settings.silence()))
                .array();
        byte[] proof = Proof.of(settings.secret(), Proof.Role.SERVER, hello, nonce, timing);
        byte[] body = ByteBuffer.allocate(proof.length + timing.length)
                .put(proof)
                .put(timing)
                .array();
        new Reply(Reply.Type.ACCEPTED, body).write(socket);
    }

    private static int millis(Duration duration) {
        return (int) Math.min(Integer.MAX_VALUE, duration.toMillis());
    }
}
