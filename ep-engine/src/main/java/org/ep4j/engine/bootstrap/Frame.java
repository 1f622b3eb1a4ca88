package org.ep4j.engine.bootstrap;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * One message on an accepted connection: 4 bytes length of the body, 1 byte type, body.
 *
 * @param body its bytes, in pieces so that large ones are shared, not copied, among receivers
 */
record Frame(Type type, List<byte[]> body) {
    /** Room for what a frame carries beside 16 MiB of payload: names, lengths. */
    static final int MAX_BODY = HubClient.MAX_BYTES + (1 << 17);

    private static final int HEAD_BYTES = 5;

    /** Types, with their numbers on the wire. */
    enum Type {
        /** Empty. */
        HEARTBEAT(0),
        /** Member: {@link Hub.Link#declare}. */
        DECLARE(1),
        /** Member: {@link Hub.Link#contribute}. */
        CONTRIBUTE(2),
        /** Member: {@link Hub.Link#giveUp}. */
        GIVE_UP(3),
        /** Member: {@link Hub.Link#leave}. */
        LEAVE(4),
        /** Hub: some parts of {@link Hub.Inbox#result}. */
        RESULT(5),
        /** Hub: {@link Hub.Inbox#failed}. */
        FAILED(6),
        /** Hub: {@link Hub.Inbox#memberGone}. */
        MEMBER_GONE(7);

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

    /** Returns the bytes of the frame in order, those of the body without a copy. */
    List<byte[]> pieces() {
        List<byte[]> pieces = new ArrayList<>();
        pieces.add(ByteBuffer.allocate(HEAD_BYTES)
                .putInt(length())
                .put((byte) type.number)
                .array());
        body.stream().filter(piece -> piece.length > 0).forEach(pieces::add);
        return pieces;
    }

    /** Splits a stream of bytes into frames. */
    static final class Decoder {
        private final ByteBuffer head = ByteBuffer.allocate(HEAD_BYTES);
        private Type type = Type.HEARTBEAT;
        private byte[] body = new byte[0];
        private int have;

        /**
         * Takes the next bytes.
         *
         * @return the frames that are complete with them
         * @throws IOException if a type or a length is not one of the protocol; then nothing was allocated for it
         */
        List<Frame> add(byte[] bytes) throws IOException {
            List<Frame> frames = new ArrayList<>();
            ByteBuffer more = ByteBuffer.wrap(bytes);
            while (more.hasRemaining()) {
                if (head.hasRemaining()) {
                    head.put(more.get());
                    if (head.hasRemaining()) {
                        continue;
                    }
                    begin(head.getInt(0), head.get(4));
                }
                int take = Math.min(more.remaining(), body.length - have);
                more.get(body, have, take);
                have += take;
                if (have == body.length) {
                    frames.add(new Frame(type, List.of(body)));
                    head.clear();
                }
            }
            return frames;
        }

        private void begin(int length, int number) throws IOException {
            Optional<Type> known = Type.of(number);
            if (length < 0 || length > MAX_BODY || known.isEmpty()) {
                throw new IOException("received a frame of type " + number + " and length " + length
                        + ", which the protocol does not allow");
            }
            type = known.get();
            body = new byte[length];
            have = 0;
        }

        /** Returns whether the next byte begins a frame. */
        boolean isBetweenFrames() {
            return head.position() == 0;
        }
    }

    DataInputStream open() {
        return new DataInputStream(new ByteArrayInputStream(body.isEmpty() ? new byte[0] : body.get(0)));
    }
}
