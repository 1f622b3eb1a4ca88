package org.ep4j.bootstrap;

import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * A message of the server during the handshake: magic, version, type, length, body. This envelope and a refusal are the same
 * in every version of the protocol, so that a member of another version can say why it was refused.
 *
 * @param type what it says
 * @param body its bytes
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
record Reply(Type type, byte[] body) {
    /** Longest body. */
    static final int MAX_BODY = 4096;

    private static final int HEAD_BYTES = Hello.PREFIX_BYTES + 1 + 2;

    /** Types, with their numbers on the wire. */
    enum Type {
        /** The text of the refusal. */
        REFUSED(0),
        /** 1 byte: whether the server has a secret; its nonce, its salt, 4 bytes iterations of PBKDF2, its proof. */
        CHALLENGE(1),
        /** A proof of the times that follow: 4 bytes heartbeat and 4 bytes silence in milliseconds. */
        ACCEPTED(2);

        private final int number;

        Type(int number) {
            this.number = number;
        }

        static Optional<Type> of(int number) {
            return Arrays.stream(values()).filter(t -> t.number == number).findFirst();
        }
    }

    /** Bytes of a challenge without the proof. */
    static final int CHALLENGE_BYTES = 1 + Proof.BYTES + Secret.SALT_BYTES + Integer.BYTES;

    /** A challenge without the proof. */
    static byte[] challenge(Secret secret, byte[] nonce, byte[] salt) {
        return ByteBuffer.allocate(CHALLENGE_BYTES)
                .put((byte) (secret.isEmpty() ? 0 : 1))
                .put(nonce)
                .put(salt)
                .putInt(secret.iterations())
                .array();
    }

    static Reply refused(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return new Reply(Type.REFUSED, bytes.length <= MAX_BODY ? bytes : Arrays.copyOf(bytes, MAX_BODY));
    }

    String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    byte[] bytes() {
        return ByteBuffer.allocate(HEAD_BYTES + body.length)
                .putInt(Hello.MAGIC)
                .putShort((short) Hello.VERSION)
                .put((byte) type.number)
                .putShort((short) body.length)
                .put(body)
                .array();
    }

    static Reply read(Socket socket, Deadline deadline) throws IOException {
        byte[] head;
        try {
            head = Sockets.read(socket, HEAD_BYTES, deadline);
        } catch (EOFException e) {
            throw new EOFException(
                    "the server closed the connection without a reply; check that it is the rendezvous of this job");
        }
        int version = Hello.version(Arrays.copyOf(head, Hello.PREFIX_BYTES));
        ByteBuffer buffer = ByteBuffer.wrap(head, Hello.PREFIX_BYTES, 3);
        int number = buffer.get();
        int length = Short.toUnsignedInt(buffer.getShort());
        Optional<Type> type = Type.of(number).filter(t -> t == Type.REFUSED || version == Hello.VERSION);
        if (type.isEmpty() || length > MAX_BODY) {
            throw new IOException(
                    "the server sent a reply of protocol version " + version + ", type " + number + ", length "
                            + length + "; this ep4j speaks version " + Hello.VERSION
                            + "; run the same ep4j version on all ranks");
        }
        return new Reply(type.get(), Sockets.read(socket, length, deadline));
    }
}
