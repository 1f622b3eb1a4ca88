package org.ep4j.bootstrap;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * One message on an accepted connection: 4 bytes length of the body, 1 byte type, body.
 *
 * @param type what it says
 * @param body its bytes, in pieces so that large ones are shared, not copied, among receivers
 */
record Frame(Type type, List<byte[]> body) {
    /** Room for what a frame carries beside 16 MiB of payload: names, lengths. */
    static final int MAX_BODY = Membership.MAX_BYTES + (1 << 17);

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
        NEWS(7);

        private final int number;

        Type(int number) {
            this.number = number;
        }

        static Optional<Type> of(int number) {
            return Arrays.stream(values()).filter(t -> t.number == number).findFirst();
        }
    }

    static final Frame HEARTBEAT = new Frame(Type.HEARTBEAT, List.of());

    int length() {
        return body.stream().mapToInt(piece -> piece.length).sum();
    }

    void write(DataOutputStream out) throws IOException {
        out.writeInt(length());
        out.writeByte(type.number);
        for (byte[] piece : body) {
            out.write(piece);
        }
    }

    /** Reads one; empty where the stream ends between frames. Refuses a length over the bound before it allocates. */
    static Optional<Frame> read(DataInputStream in) throws IOException {
        int first = in.read();
        if (first < 0) {
            return Optional.empty();
        }
        int length = first << 24 | in.readUnsignedByte() << 16 | in.readUnsignedShort();
        int number = in.readUnsignedByte();
        Optional<Type> type = Type.of(number);
        if (length < 0 || length > MAX_BODY || type.isEmpty()) {
            throw new IOException("received a frame of type " + number + " and length " + length
                    + ", which the protocol does not have");
        }
        byte[] body = new byte[length];
        in.readFully(body);
        return Optional.of(new Frame(type.get(), List.of(body)));
    }

    /** The body of a frame that was read. */
    DataInputStream open() {
        return new DataInputStream(new ByteArrayInputStream(body.isEmpty() ? new byte[0] : body.get(0)));
    }
}
