package org.ep4j.engine.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.ep4j.EpArgumentException;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.LongRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class CommandTest {
    private static final long PHASE = Long.MIN_VALUE;

    @Property
    void aWriteIsReadAsItWasMade(
            @ForAll @IntRange(max = Command.MAX_PEER) int peer,
            @ForAll @LongRange(max = (1L << 36) - 1) long target,
            @ForAll @LongRange(max = (1L << 36) - 1) long source,
            @ForAll @LongRange(max = (1L << 28) - 1) long length,
            @ForAll boolean phase) {
        long word0 = Command.writeWord0(16 * target, 16 * length);
        long word1 = Command.writeWord1(peer, 16 * source);
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
    void anAdvanceIsReadAsItWasMade(
            @ForAll @IntRange(max = Command.MAX_PEER) int peer,
            @ForAll @IntRange(max = Integer.MAX_VALUE) int counter,
            @ForAll boolean phase) {
        long word1 = Command.advanceWord1(peer, counter);
        assertThat(word1).isNotNegative();
        word1 |= phase ? PHASE : 0;
        assertThat(Command.kind(word1)).isEqualTo(Command.ADVANCE);
        assertThat(Command.peer(word1)).isEqualTo(peer);
        assertThat(Command.counter(word1)).isEqualTo(counter);
        assertThat(Command.form(word1)).isEqualTo(Command.ADVANCE_FORM);
    }

    /** The layout is fixed: fifo.cu writes it too. */
    @Test
    void fieldsLieWhereTheyAreSaidTo() {
        assertThat(Command.writeWord0(16, 32)).isEqualTo(0x0000_0000_1000_0002L);
        assertThat(Command.writeWord0(Command.MAX_OFFSET, 0)).isEqualTo(0xffff_ffff_f000_0000L);
        assertThat(Command.writeWord0(0, Command.MAX_LENGTH)).isEqualTo(0x0fff_ffffL);
        assertThat(Command.writeWord1(1, 16)).isEqualTo(0x1000_1000_0000_0001L);
        assertThat(Command.writeWord1(Command.MAX_PEER, Command.MAX_OFFSET)).isEqualTo(0x1fff_f00f_ffff_ffffL);
        assertThat(Command.advanceWord1(2, 63)).isEqualTo(0x2000_2000_0000_003fL);
        assertThat(Command.form(Command.writeWord1(1, 16) | 1L << 36)).isNotEqualTo(Command.WRITE_FORM);
        assertThat(Command.form(Command.advanceWord1(1, 16) | 1L << 43)).isNotEqualTo(Command.ADVANCE_FORM);
        assertThat(Command.counter(Command.advanceWord1(0, 0) | 1L << 35)).isEqualTo(Integer.MAX_VALUE);
    }

    @ParameterizedTest
    @ValueSource(longs = {-16, 8, Command.MAX_OFFSET + 16, Long.MAX_VALUE, Long.MIN_VALUE})
    void anOffsetThatDoesNotFitIsRefused(long offset) {
        assertThatThrownBy(() -> Command.writeWord0(offset, 16))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining(
                        "target is " + offset + ", must be a multiple of 16 from 0 to 1099511627760; use");
        assertThatThrownBy(() -> Command.writeWord1(0, offset))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining(
                        "source is " + offset + ", must be a multiple of 16 from 0 to 1099511627760; use");
    }

    @ParameterizedTest
    @ValueSource(longs = {-16, 1, Command.MAX_LENGTH + 16, Long.MAX_VALUE - 15})
    void aLengthThatDoesNotFitIsRefused(long bytes) {
        assertThatThrownBy(() -> Command.writeWord0(0, bytes))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining(
                        "bytes is " + bytes + ", must be a multiple of 16 from 0 to 4294967280; split the write");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Command.MAX_PEER + 1})
    void aPeerThatDoesNotFitIsRefused(int peer) {
        assertThatThrownBy(() -> Command.writeWord1(peer, 0))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("peer is " + peer + ", must be from 0 to 65535");
        assertThatThrownBy(() -> Command.advanceWord1(peer, 0)).isInstanceOf(EpArgumentException.class);
    }

    @Test
    void aCounterThatDoesNotFitIsRefused() {
        assertThatThrownBy(() -> Command.advanceWord1(0, -1))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("counter is -1, must be from 0 to 2147483647");
    }
}
