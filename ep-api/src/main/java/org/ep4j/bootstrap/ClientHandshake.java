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

    /** Derives the key of a rendezvous from the secret. See {@link Secret#key}. */
    interface Keys {
        byte[] key(byte[] salt, int iterations);
    }

    /**
     * Asks to be let in.
     *
     * @param process the same bytes in all attempts of one join
     * @param attempt number of this attempt, greater than those before
     * @param keys derives the key from the secret
     * @throws IOException when the other side breaks off, is too slow or speaks another protocol; trying again may help
     * @throws EpUnavailableException when the server refused, or could not prove that it knows the secret
     */
    static Connection.Session ask(
            Socket socket, TcpSettings settings, byte[] process, int attempt, Keys keys, Deadline deadline)
            throws IOException {
        Hello hello = new Hello(
                Hello.VERSION,
                settings.rank(),
                settings.size(),
                !settings.secret().isEmpty(),
                Proof.nonce(),
                process,
                attempt);
        byte[] said = hello.bytes();
        socket.getOutputStream().write(said);
        byte[] answer = expect(Reply.Type.CHALLENGE, Reply.CHALLENGE_BYTES + Proof.BYTES, socket, settings, deadline);
        byte[] challenge = Arrays.copyOf(answer, Reply.CHALLENGE_BYTES);
        ByteBuffer derivation = ByteBuffer.wrap(challenge).position(1 + Proof.BYTES);
        byte[] salt = new byte[Secret.SALT_BYTES];
        int iterations = derivation.get(salt).getInt();
        if (iterations < 1 || iterations > Secret.MAX_ITERATIONS) {
            throw new IOException("the server asks for " + iterations
                    + " iterations of PBKDF2, but the number must be in [1, " + Secret.MAX_ITERATIONS + "]");
        }
        byte[] key = Secret.connectionKey(keys.key(salt, iterations), hello.salt());
        byte[] proof = Arrays.copyOfRange(answer, Reply.CHALLENGE_BYTES, answer.length);
        if (!Proof.same(Proof.of(key, Proof.Purpose.SERVER, said, challenge), proof)) {
            // Nothing that depends on the secret has been sent: a server that does not know it learns nothing.
            throw new EpUnavailableException("the rendezvous at " + settings.host() + ":" + settings.port()
                    + " does not know the secret of rank " + settings.rank() + ": this rank and rank 0 have"
                    + " different secrets, or it is the rendezvous of another job; set "
                    + EpKeys.BOOTSTRAP_SECRET.environmentName()
                    + " to the same text on all ranks, and check the address");
        }
        socket.getOutputStream().write(Proof.of(key, Proof.Purpose.MEMBER, said, challenge));
        byte[] accepted = expect(Reply.Type.ACCEPTED, Proof.BYTES + 8, socket, settings, deadline);
        byte[] timing = Arrays.copyOfRange(accepted, Proof.BYTES, accepted.length);
        byte[] expected = Proof.of(key, Proof.Purpose.ACCEPTED, said, challenge, timing);
        if (!Proof.same(expected, Arrays.copyOf(accepted, Proof.BYTES))) {
            throw new IOException("the server's last message was changed in transit");
        }
        ByteBuffer millis = ByteBuffer.wrap(timing);
        int heartbeat = millis.getInt();
        int silence = millis.getInt();
        if (heartbeat < 1 || silence < heartbeat) {
            throw new IOException(
                    "the server asks for a heartbeat every " + heartbeat + " ms and a heartbeat timeout of " + silence
                            + " ms; the heartbeat must be at least 1 ms, and the timeout at least as long");
        }
        return new Connection.Session(
                Proof.of(key, Proof.Purpose.FROM_MEMBER, said, challenge),
                Proof.of(key, Proof.Purpose.FROM_SERVER, said, challenge),
                Duration.ofMillis(heartbeat),
                Duration.ofMillis(silence));
    }

    private static byte[] expect(Reply.Type type, int length, Socket socket, TcpSettings settings, Deadline deadline)
            throws IOException {
        Reply reply = Reply.read(socket, deadline);
        if (reply.type() == Reply.Type.REFUSED) {
            throw new EpUnavailableException("rank 0 at " + settings.host() + ":" + settings.port() + " refused rank "
                    + settings.rank() + ": " + reply.text());
        }
        if (reply.type() != type || reply.body().length != length) {
            throw new IOException("the server sent " + reply.type() + " with " + reply.body().length + " bytes where "
                    + type + " was due");
        }
        return reply.body();
    }
}
