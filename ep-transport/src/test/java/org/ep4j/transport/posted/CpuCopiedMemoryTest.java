package org.ep4j.transport.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.util.Arrays;
import java.util.List;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.WordMemory;
import org.ep4j.transport.posted.PostedMemory.Registrations;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Memory to which the CPU copies what arrives. */
@Tag("verify")
final class CpuCopiedMemoryTest {
    private static final int RANKS = 3;
    private static final int BYTES = 4096;

    private final WordMemory words = WordMemory.allocate(BYTES);
    private final WordMemory much = WordMemory.allocate(CpuCopiedMemory.MOST_DATA);
    private final CpuCopiedMemory.Buffers buffers = new CpuCopiedMemory.Buffers();
    private final Registrations registrations = new Registrations();
    private final CpuCopiedMemory memory = add(registrations);

    private final CpuCopiedMemory.Messages messages = new CpuCopiedMemory.Messages(buffers, 1);

    private CpuCopiedMemory add(Registrations with) {
        return buffers.add(ExposedMemory.of(DeviceMemory.of(words.address(), BYTES, Device.HOST)), RANKS, with);
    }

    /** Carries out bytes as those that rank 1 sends. */
    private int receive(byte[] sent) throws IOException {
        return messages.receive(Channels.newChannel(new ByteArrayInputStream(sent)));
    }

    private static byte[] message(int length, int number, int counter, long value, byte... data) {
        return ByteBuffer.allocate(20 + data.length)
                .putInt(length)
                .putInt(number)
                .putInt(counter)
                .putLong(value)
                .put(data)
                .array();
    }

    /** What this rank has added, as the peer gets it. */
    private byte[] sent() throws IOException {
        ByteArrayOutputStream to = new ByteArrayOutputStream();
        messages.send(Channels.newChannel(to));
        assertThat(messages.waiting()).isZero();
        return to.toByteArray();
    }

    @Test
    void arrivedBytesAreCopiedUntilTheBufferIsClosed() throws IOException {
        memory.keys(List.of(memory.key(), memory.key(), memory.key()));
        words.words().putLong(0, 5);
        messages.addWrite(memory, BYTES - 8, 0, 8);
        byte[] write = sent();
        receive(write);
        assertThat(words.words().getLong(BYTES - 8)).isEqualTo(5);
        words.words().putLong(BYTES - 8, 6);
        registrations.data().close();
        receive(write);
        assertThat(words.words().getLong(BYTES - 8)).isEqualTo(6);
    }

    @Test
    void nothingIsSentFromABufferThatIsClosed() {
        memory.keys(List.of(memory.key(), memory.key(), memory.key()));
        registrations.data().close();
        assertThatThrownBy(() -> messages.addWrite(memory, 0, 0, 8))
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("closed during a write");
        assertThat(messages.waiting()).isZero();
    }

    @Test
    void aMessageIsCarriedOutOnceItIsWhole() throws IOException {
        memory.keys(List.of(memory.key(), memory.key(), memory.key()));
        messages.addSignal(memory, 63, 4);
        messages.addSignal(memory, 0, 5);
        byte[] both = sent();
        receive(Arrays.copyOf(both, both.length - 1));
        assertThat(memory.arrived(1, 63)).isEqualTo(4);
        assertThat(memory.arrived(1, 0)).isZero();
        receive(Arrays.copyOfRange(both, both.length - 1, both.length));
        assertThat(memory.arrived(1, 0)).isEqualTo(5);
    }

    @Test
    void thereIsRoomForOneMessageOfTheGreatestLengthAtLeast() throws IOException {
        CpuCopiedMemory large = buffers.add(
                ExposedMemory.of(DeviceMemory.of(much.address(), CpuCopiedMemory.MOST_DATA, Device.HOST)),
                RANKS,
                new Registrations());
        large.keys(List.of(large.key(), large.key(), large.key()));
        assertThat(messages.hasRoom()).isTrue();
        messages.addSignal(large, 0, 1);
        assertThat(messages.hasRoom()).isTrue();
        messages.addWrite(large, 0, 0, CpuCopiedMemory.MOST_DATA);
        assertThat(messages.hasRoom()).isFalse();
        assertThat(sent()).hasSize(40 + CpuCopiedMemory.MOST_DATA);
        assertThat(messages.hasRoom()).isTrue();
    }

    @Test
    void messagesThatNoPeerSendsAreRefused() {
        for (byte[] wrong : List.of(
                message(-1, 0, 0, 0),
                message(Integer.MIN_VALUE, 0, 0, 0),
                message(CpuCopiedMemory.MOST_DATA + 1, 0, 0, 0),
                message(0, 0, -1, 1),
                message(0, 0, HostPosted.COUNTERS + 1, 1),
                message(2, 0, 0, -1, (byte) 7, (byte) 7),
                message(2, 0, 0, BYTES - 1, (byte) 7, (byte) 7),
                message(2, 0, 0, 1L << 62, (byte) 7, (byte) 7),
                message(2, 0, 0, Long.MAX_VALUE, (byte) 7, (byte) 7))) {
            CpuCopiedMemory.Messages fresh = new CpuCopiedMemory.Messages(buffers, 1);
            assertThatThrownBy(() -> fresh.receive(Channels.newChannel(new ByteArrayInputStream(wrong))))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("its messages cannot be trusted");
        }
        for (int at = 0; at < BYTES; at += Long.BYTES) {
            assertThat(words.words().getLong(at)).isZero();
        }
    }

    @Test
    void theEndOfTheStreamSaysWhetherAMessageIsCut() throws IOException {
        assertThatThrownBy(() -> receive(new byte[0]))
                .isInstanceOf(EOFException.class)
                .hasMessage("it has closed the connection");
        receive(new byte[3]);
        assertThatThrownBy(() -> receive(new byte[0]))
                .isInstanceOf(EOFException.class)
                .hasMessage("it has closed the connection in a message");
    }

    @Test
    void messagesToABufferThatIsNoMoreArePassedOver() throws IOException {
        receive(message(0, 99, 0, 1));
        receive(message(2, -1, 0, Long.MAX_VALUE, (byte) 7, (byte) 7));
        receive(message(0, 0, 3, 9));
        assertThat(memory.arrived(1, 3)).isEqualTo(9);
    }

    @Test
    void aNewValueOfACounterIsShownOnce() {
        assertThat(memory.showNew(1, 63)).isFalse();
        memory.advance(1, 63, 4);
        assertThat(memory.shown(1, 63)).isZero();
        assertThat(memory.showNew(1, 63)).isTrue();
        assertThat(memory.shown(1, 63)).isEqualTo(4);
        assertThat(memory.showNew(1, 63)).isFalse();
        assertThat(memory.showNew(2, 0)).isFalse();
        assertThat(memory.isClosedBy(1)).isFalse();
    }

    @Test
    void aPeerThatClosesSetsTheCounterAfterThoseOfCallers() {
        memory.advance(1, HostPosted.COUNTERS, 1);
        assertThat(memory.isClosedBy(1)).isTrue();
        assertThat(memory.isClosedBy(0)).isFalse();
        assertThat(memory.isClosedBy(2)).isFalse();
    }

    @Test
    void ranksNameBuffersByTheirOwnNumbers() throws IOException {
        CpuCopiedMemory second = add(new Registrations());
        second.keys(List.of(memory.key(), second.key(), new byte[0]));
        for (int peer = 0; peer < RANKS; peer++) {
            CpuCopiedMemory.Messages to = new CpuCopiedMemory.Messages(buffers, peer);
            to.addSignal(second, peer, 1);
            ByteArrayOutputStream sent = new ByteArrayOutputStream();
            to.send(Channels.newChannel(sent));
            receive(sent.toByteArray());
        }
        assertThat(memory.arrived(1, 0)).isEqualTo(1);
        assertThat(memory.arrived(1, 1)).isZero();
        assertThat(second.arrived(1, 0)).isZero();
        assertThat(second.arrived(1, 1)).isEqualTo(1);
        assertThat(second.arrived(1, 2)).isZero();
    }

    @Test
    void theNumberOfABufferIsNotGivenAgain() {
        int number = ByteBuffer.wrap(memory.key()).getInt();
        registrations.data().close();
        assertThat(buffers.find(number)).containsSame(memory);
        registrations.counters().close();
        assertThat(buffers.find(number)).isEmpty();
        assertThat(ByteBuffer.wrap(add(new Registrations()).key()).getInt()).isNotEqualTo(number);
    }
}
