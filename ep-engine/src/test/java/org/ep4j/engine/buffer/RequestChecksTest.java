package org.ep4j.engine.buffer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class RequestChecksTest {
    @Test
    void theMessageNamesPlaceValueLimitAndFix() {
        assertThat(RequestChecks.idOutOfRange(3, 1, 8, 8))
                .hasMessage("topkIds[3][1] is 8, must be -1 or in [0, 8);"
                        + " pass global expert ids (not local ids), or -1 for no selection");
    }

    @ParameterizedTest
    @CsvSource({"67108864, 4", "0x40000000, 64", "-2147483648, 128", "0x0300000000000000, 3"})
    void anIdWhoseBytesAreInTheOtherOrderIsRecognised(String value, long turned) {
        assertThat(RequestChecks.idOutOfRange(0, 1, Long.decode(value), 256))
                .hasMessageEndingWith(
                        "; is the buffer in ByteOrder.nativeOrder()? In the other byte order the value is " + turned);
    }

    @ParameterizedTest
    @ValueSource(longs = {8, -2, 1L << 32, 1 << 20, Long.MIN_VALUE + 1})
    void otherIdsAreNot(long value) {
        assertThat(RequestChecks.idOutOfRange(0, 0, value, 8)).hasMessageEndingWith("-1 for no selection");
    }
}
