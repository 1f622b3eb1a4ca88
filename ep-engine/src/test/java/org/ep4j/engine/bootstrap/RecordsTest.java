package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What somebody between two ranks can do to records. */
@Tag("verify")
final class RecordsTest {
    private static final int RECORDS = 6;

    private final byte[] key = Handshake.nonce();

    private static List<byte[]> payloads(Random random) {
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            byte[] payload = new byte[1 + random.nextInt(40)];
            random.nextBytes(payload);
            all.add(payload);
        }
        return all;
    }

    private static List<byte[]> sealed(byte[] key, List<byte[]> payloads) {
        Records records = new Records(key);
        List<byte[]> all = new ArrayList<>();
        for (byte[] payload : payloads) {
            ByteBuffer out = ByteBuffer.allocate(Records.MAX_BYTES);
            records.seal(payload, payload.length, out);
            all.add(Arrays.copyOf(out.array(), out.position()));
        }
        return all;
    }

    /** What the receiver takes for authentic before it finds something that is not. */
    private static List<String> opened(byte[] key, List<byte[]> records) {
        Records receiver = new Records(key);
        ByteBuffer in = ByteBuffer.allocate(1 << 16);
        records.forEach(in::put);
        in.flip();
        List<String> got = new ArrayList<>();
        try {
            for (Optional<byte[]> one = receiver.open(in); one.isPresent(); one = receiver.open(in)) {
                got.add(Arrays.toString(one.get()));
            }
        } catch (IOException e) {
            assertThat(e.getMessage()).containsAnyOf("not authentic", "changed in transit");
            return got;
        }
        got.add(in.hasRemaining() ? "waits for more" : "end");
        return got;
    }

    /** Changes, drops, repeats, swaps and cuts: the receiver gets what was sent before that, and no more. */
    @Property(tries = 500)
    void nothingIsTakenThatWasNotSentInThisPlace(@ForAll long seed) {
        Random random = new Random(seed);
        List<byte[]> payloads = payloads(random);
        List<byte[]> records = sealed(key, payloads);
        int at = random.nextInt(RECORDS - 1);
        switch (random.nextInt(6)) {
            case 0 -> records.get(at)[random.nextInt(records.get(at).length)] ^= (byte) (1 << random.nextInt(8));
            case 1 -> records.remove(at);
            case 2 -> records.add(at, records.get(random.nextInt(at + 1)));
            case 3 -> records.add(at, records.remove(at + 1));
            case 4 -> records.set(at, Arrays.copyOf(records.get(at), records.get(at).length - 1));
            default -> records.set(at, sealed(Handshake.nonce(), payloads).get(at));
        }
        List<String> got = opened(key, records);
        List<String> sent = payloads.stream().map(Arrays::toString).toList();
        assertThat(got).doesNotContain("end");
        got.remove("waits for more");
        assertThat(got.size()).isLessThanOrEqualTo(at + 1);
        assertThat(got).isEqualTo(sent.subList(0, got.size()));
    }

    @Test
    void whatWasSentArrivesInAnyPieces() throws IOException {
        List<byte[]> payloads = new ArrayList<>(payloads(new Random(7)));
        payloads.add(new byte[Records.MAX_PAYLOAD]);
        List<byte[]> records = sealed(key, payloads);
        Records receiver = new Records(key);
        ByteBuffer in = ByteBuffer.allocate(Records.MAX_BYTES);
        List<String> got = new ArrayList<>();
        for (byte[] record : records) {
            for (byte one : record) {
                in.put(one);
                in.flip();
                receiver.open(in).ifPresent(payload -> got.add(Arrays.toString(payload)));
                in.compact();
            }
        }
        assertThat(got).isEqualTo(payloads.stream().map(Arrays::toString).toList());
    }
}
