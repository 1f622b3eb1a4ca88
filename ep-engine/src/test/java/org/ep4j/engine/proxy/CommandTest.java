package org.ep4j.engine.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.LongRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class CommandTest {
    private static final long PHASE = Long.MIN_VALUE;

    /** Almost 1 TiB. */
    private static final long MAX_OFFSET = ((1L << 36) - 1) * 16;

    /** Almost 4 GiB. */
    private static final long MAX_LENGTH = ((1L << 28) - 1) * 16;

    @Property
    void aWriteSurvivesEncoding(
            @ForAll @IntRange(max = Command.MAX_PEER) int peer,
            @ForAll @LongRange(max = (1L << 36) - 1) long target,
            @ForAll @LongRange(max = (1L << 36) - 1) long source,
            @ForAll @LongRange(max = (1L << 28) - 1) long length,
            @ForAll boolean phase) {
        long word0 = Commands.writeWord0(16 * target, 16 * length);
        long word1 = Commands.writeWord1(peer, 16 * source);
        assertThat(word1).isNotNegative();
        word1 |= phase ? PHASE : 0;
        assertThat(Command.kind(word1)).isEqualTo(Command.WRITE);
        assertThat(Command.peer(word1)).isEqualTo(peer);
        assertThat(Command.target(word0)).isEqualTo(16 * target);
        assertThat(Command.source(word1)).isEqualTo(16 * source);
        assertThat(Command.bytes(word0)).isEqualTo(16 * length);
        assertThat(Command.form(word1)).isEqualTo(Command.WRITE_FORM);
    }

    @Property
    void anAdvanceSurvivesEncoding(
            @ForAll @IntRange(max = Command.MAX_PEER) int peer,
            @ForAll @IntRange(max = Integer.MAX_VALUE) int counter,
            @ForAll boolean phase) {
        long word1 = Commands.advanceWord1(peer, counter);
        assertThat(word1).isNotNegative();
        word1 |= phase ? PHASE : 0;
        assertThat(Command.kind(word1)).isEqualTo(Command.ADVANCE);
        assertThat(Command.peer(word1)).isEqualTo(peer);
        assertThat(Command.counter(word1)).isEqualTo(counter);
        assertThat(Command.form(word1)).isEqualTo(Command.ADVANCE_FORM);
    }

    /** The layout is fixed: fifo.cu writes it too. */
    @Test
    void fieldsLieAtTheDocumentedBits() {
        assertThat(Commands.writeWord0(16, 32)).isEqualTo(0x0000_0000_1000_0002L);
        assertThat(Commands.writeWord0(MAX_OFFSET, 0)).isEqualTo(0xffff_ffff_f000_0000L);
        assertThat(Commands.writeWord0(0, MAX_LENGTH)).isEqualTo(0x0fff_ffffL);
        assertThat(Commands.writeWord1(1, 16)).isEqualTo(0x1000_1000_0000_0001L);
        assertThat(Commands.writeWord1(Command.MAX_PEER, MAX_OFFSET)).isEqualTo(0x1fff_f00f_ffff_ffffL);
        assertThat(Commands.advanceWord1(2, 63)).isEqualTo(0x2000_2000_0000_003fL);
        assertThat(Command.form(Commands.writeWord1(1, 16) | 1L << 36)).isNotEqualTo(Command.WRITE_FORM);
        assertThat(Command.form(Commands.advanceWord1(1, 16) | 1L << 43)).isNotEqualTo(Command.ADVANCE_FORM);
        assertThat(Command.counter(Commands.advanceWord1(0, 0) | 1L << 35)).isEqualTo(Integer.MAX_VALUE);
    }
}
