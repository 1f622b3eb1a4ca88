package org.ep4j.bootstrap;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;

/** Puts frames together from what arrives, and checks each. Used by one thread. */
final class FrameReader {
    private final Seal seal;
    private final ByteBuffer header = ByteBuffer.allocate(Frame.HEADER_BYTES);
    private final byte[] digest = new byte[Frame.DIGEST_BYTES];
    private Frame.Type type = Frame.Type.HEARTBEAT;
    private byte[] body = new byte[0];
    /** Bytes of the body that are there; -1 while the header is not complete. */
    private int have = -1;

    FrameReader(Seal seal) {
        this.seal = seal;
    }

    /** Takes bytes up to the end of a frame; empty when all are taken and none is complete. */
    Optional<Frame> next(ByteBuffer in) throws IOException {
        if (have < 0) {
            move(in);
            if (header.hasRemaining()) {
                return Optional.empty();
            }
            open();
        }
        int count = Math.min(in.remaining(), body.length - have);
        in.get(body, have, count);
        have += count;
        if (have < body.length) {
            return Optional.empty();
        }
        byte[] whole = body;
        have = -1;
        header.clear();
        body = new byte[0];
        if (!Keys.same(Frame.digest(List.of(whole)), digest)) {
            throw new IOException("the body of a message was changed on the way; somebody between the two sides"
                    + " interferes, or one of them is broken");
        }
        return Optional.of(new Frame(type, List.of(whole), digest.clone()));
    }

    /** True when nothing of a frame has arrived that is not complete. */
    boolean between() {
        return have < 0 && header.position() == 0;
    }

    private void move(ByteBuffer in) {
        while (header.hasRemaining() && in.hasRemaining()) {
            header.put(in.get());
        }
    }

    private void open() throws IOException {
        header.flip();
        int length = header.getInt();
        int number = header.get();
        header.get(digest);
        byte[] tag = new byte[Seal.BYTES];
        header.get(tag);
        seal.check(length, number, digest, tag);
        type = Frame.checked(number, length);
        body = new byte[length];
        have = 0;
    }
}
