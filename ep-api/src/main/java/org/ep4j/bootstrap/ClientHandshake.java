package org.ep4j.bootstrap;

import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;

/** A member's side of one handshake. */
final class ClientHandshake {
    private ClientHandshake() {}

    /**
     * What the server decided.
     *
     * @param heartbeat pause before a sign of life
     * @param silence quiet time after which the other side is lost
     */
    record Accepted(Duration heartbeat, Duration silence) {}

    /**
     * Asks to be let in.
     *
     * @param process the same bytes in all attempts of one join
     * @throws IOException when the other side breaks off, is too slow or speaks another protocol; trying again may help
     * @throws EpUnavailableException when the server refused, or could not prove that it knows the secret
     */
    static Accepted ask(Socket socket, TcpSettings settings, byte[] process, Deadline deadline) throws IOException {
        Hello hello = new Hello(
                Hello.VERSION,
                settings.rank(),
                settings.size(),
                !settings.secret().isEmpty(),
                Proof.nonce(),
                process);
        socket.getOutputStream().write(hello.bytes());
        byte[] challenge = expect(Reply.Type.CHALLENGE, 1 + Proof.BYTES, socket, settings, deadline);
        byte[] serverNonce = Arrays.copyOfRange(challenge, 1, challenge.length);
        socket.getOutputStream().write(Proof.of(settings.secret(), Proof.Role.MEMBER, hello, serverNonce, new byte[0]));
        byte[] accepted = expect(Reply.Type.ACCEPTED, Proof.BYTES + 8, socket, settings, deadline);
        byte[] timing = Arrays.copyOfRange(accepted, Proof.BYTES, accepted.length);
        byte[] expected = Proof.of(settings.secret(), Proof.Role.SERVER, hello, serverNonce, timing);
        if (!Proof.same(expected, Arrays.copyOf(accepted, Proof.BYTES))) {
            throw new EpUnavailableException("the rendezvous at " + settings.host() + ":" + settings.port()
                    + " does not know the secret of rank " + settings.rank()
                    + ", so it is not that of this job; check the address, and "
                    + EpKeys.BOOTSTRAP_SECRET.environmentName());
        }
        ByteBuffer millis = ByteBuffer.wrap(timing);
        int heartbeat = millis.getInt();
        int silence = millis.getInt();
        if (heartbeat < 1 || silence < heartbeat) {
            throw new IOException("it wants a sign of life every " + heartbeat + " of " + silence + " ms");
        }
        return new Accepted(Duration.ofMillis(heartbeat), Duration.ofMillis(silence));
    }

    private static byte[] expect(Reply.Type type, int length, Socket socket, TcpSettings settings, Deadline deadline)
            throws IOException {
        Reply reply = Reply.read(socket, deadline);
        if (reply.type() == Reply.Type.REFUSED) {
            throw new EpUnavailableException("rank 0 at " + settings.host() + ":" + settings.port() + " refused rank "
                    + settings.rank() + ": " + reply.text());
        }
        if (reply.type() != type || reply.body().length != length) {
            throw new IOException(
                    "it sent " + reply.type() + " with " + reply.body().length + " bytes where " + type + " was due");
        }
        return reply.body();
    }
}
