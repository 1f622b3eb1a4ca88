package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.MemoryHandle.Kind;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.LongRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Handles by which ranks describe their memory to each other. */
@Tag("verify")
final class MemoryHandleTest {
    private static final String OPAQUE = "0123456789abcdef".repeat(8);

    private static MemoryHandle handle(Kind kind, long offset, long bytes) {
        return new MemoryHandle(
                kind,
                "pid:[4026531836]/17/1700000000000",
                "0000:18:00.0",
                0x7f0000000000L + offset,
                offset,
                bytes,
                offset + bytes,
                kind == Kind.PROCESS ? "" : OPAQUE);
    }

    @Property
    void survivesEncoding(
            @ForAll Kind kind,
            @ForAll @LongRange(min = 0, max = 1L << 41) long offset,
            @ForAll @LongRange(min = 1, max = 1L << 41) long bytes) {
        MemoryHandle handle = handle(kind, offset, bytes);
        assertThat(MemoryHandle.decode(handle.encode())).isEqualTo(handle);
    }

    @Property
    void noOtherBytesCrashTheReader(@ForAll @Size(max = 300) byte[] bytes) {
        assertThatThrownBy(() -> MemoryHandle.decode(bytes))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("same ep4j version");
    }

    @Property
    void aDamagedHandleIsReadOrRefusedAndNothingElse(
            @ForAll Kind kind, @ForAll @IntRange(max = 400) int at, @ForAll byte value) {
        byte[] bytes = handle(kind, 64, 4096).encode();
        bytes[at % bytes.length] = value;
        try {
            MemoryHandle read = MemoryHandle.decode(bytes);
            assertThat(read.bytes()).isPositive();
            assertThat(read.offset() + read.bytes()).isLessThanOrEqualTo(read.allocation());
        } catch (EpException e) {
            assertThat(e).hasMessageContaining("same ep4j version");
        }
    }

    @Test
    void everyTruncationIsRefused() {
        byte[] whole = handle(Kind.IPC, 0, 4096).encode();
        for (int length = 0; length < whole.length; length++) {
            byte[] part = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> MemoryHandle.decode(part)).isInstanceOf(EpException.class);
        }
        assertThatThrownBy(() -> MemoryHandle.decode(Arrays.copyOf(whole, whole.length + 1)))
                .isInstanceOf(EpException.class);
    }

    @Test
    void partsBelongTogether() {
        assertThatThrownBy(() -> new MemoryHandle(Kind.IPC, "p", "g", 1, 0, 1, 1, ""))
                .hasMessageContaining("0 digits, expected 128");
        assertThatThrownBy(() -> new MemoryHandle(Kind.PROCESS, "p", "g", 1, 0, 1, 1, OPAQUE))
                .hasMessageContaining("128 digits, expected 0");
        assertThatThrownBy(() -> new MemoryHandle(Kind.IPC, "p", "g", 1, 0, 1, 1, "g" + OPAQUE.substring(1)))
                .hasMessageContaining("characters that are no hexadecimal digits");
        assertThatThrownBy(() -> new MemoryHandle(Kind.PROCESS, "p", "g".repeat(257), 1, 0, 1, 1, ""))
                .hasMessageContaining("its GPU in 257");
        for (long[] wrong : new long[][] {
            {0, 0, 1, 1}, {1, -1, 1, 1}, {1, 0, 0, 1}, {1, 0, 2, 1}, {1, 1, 1, 1}, {1, Long.MAX_VALUE, 1, 4}
        }) {
            assertThatThrownBy(
                            () -> new MemoryHandle(Kind.PROCESS, "p", "g", wrong[0], wrong[1], wrong[2], wrong[3], ""))
                    .as(Arrays.toString(wrong))
                    .hasMessageContaining("inside its allocation");
        }
    }
}
