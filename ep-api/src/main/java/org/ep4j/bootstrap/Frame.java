package org.ep4j.bootstrap;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * One message on an accepted connection: 4 bytes length of the body, 1 byte type, 32 bytes SHA-256 of the body, 16 bytes
 * {@link Seal}, body. The seal covers the body by its digest, so a frame for many receivers is digested once, and a header
 * is checked before room for its body is allocated. The body is in pieces so that large ones are shared among receivers.
 */
final class Frame {
    /** Room for what a frame carries beside 16 MiB of payload: names, lengths. */
    static final int MAX_BODY = Membership.MAX_BYTES + (1 << 17);

    static final int DIGEST_BYTES = 32;
    static final int HEADER_BYTES = 4 + 1 + DIGEST_BYTES + Seal.BYTES;

    /** Types, with their numbers on the wire. */
    enum Type {
        /** Sign of life, empty. */
        HEARTBEAT(0),
        /** Member: {@link HubLink#declare}. */
        DECLARE(1),
        /** Member: {@link HubLink#contribute}. */
        CONTRIBUTE(2),
        /** Member: {@link HubLink#giveUp}. */
        GIVE_UP(3),
        /** Member: {@link HubLink#leave}. */
        LEAVE(4),
        /** Hub: some parts of {@link MemberInbox#result}. */
        RESULT(5),
        /** Hub: {@link MemberInbox#failed}. */
        FAILED(6),
        /** Hub: {@link MemberInbox#news}. */
        NEWS(7),
        /** Member to member: {@link Question}. */
        QUESTION(8),
        /** Answer: the asked one is the hub now, and the asker its member; a hub's frames follow. */
        ADMITTED(9),
        /** Answer: the asker is held lost; a {@link Standing}. */
        OUT(10);

        private final int number;

        Type(int number) {
            this.number = number;
        }

        int number() {
            return number;
        }

        static Optional<Type> of(int number) {
            return Arrays.stream(values()).filter(t -> t.number == number).findFirst();
        }
    }

    static final Frame HEARTBEAT = new Frame(Type.HEARTBEAT, List.of());

    private final Type type;
    private final List<byte[]> body;
    private final byte[] digest;

    Frame(Type type, List<byte[]> body) {
        this(type, body, digest(body));
    }

    /** A frame whose digest is known. */
    Frame(Type type, List<byte[]> body, byte[] digest) {
        this.type = type;
        this.body = List.copyOf(body);
        this.digest = digest;
    }

    static byte[] digest(List<byte[]> body) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            body.forEach(sha::update);
            return sha.digest();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this Java has no SHA-256, which every Java must have", e);
        }
    }

    Type type() {
        return type;
    }

    int length() {
        return body.stream().mapToInt(piece -> piece.length).sum();
    }

    /** Header and body as they go out, the next under {@code seal}. */
    List<ByteBuffer> encode(Seal seal) {
        int length = length();
        List<ByteBuffer> buffers = new ArrayList<>(1 + body.size());
        buffers.add(ByteBuffer.allocate(HEADER_BYTES)
                .putInt(length)
                .put((byte) type.number)
                .put(digest)
                .put(seal.next(length, type.number, digest))
                .flip());
        body.forEach(piece -> buffers.add(ByteBuffer.wrap(piece)));
        return buffers;
    }

    /** The body of a frame that was read. */
    DataInputStream open() {
        return new DataInputStream(new ByteArrayInputStream(body.isEmpty() ? new byte[0] : body.get(0)));
    }

    /** Refuses what the protocol does not have. */
    static Type checked(int number, int length) throws IOException {
        Optional<Type> type = Type.of(number);
        if (length < 0 || length > MAX_BODY || type.isEmpty()) {
            throw new IOException("received a frame of type " + number + " and length " + length
                    + ", which the protocol does not have");
        }
        return type.get();
    }

    @Override
    public String toString() {
        return type + " of " + length() + " bytes";
    }
}
