package org.ep4j.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class PrintableTest {
    @Test
    void whatShowsItselfStays() {
        assertThat(Printable.of("mlx5_0 \"é漢\" ├─ \ud83d\ude80")).isEqualTo("mlx5_0 \"é漢\" ├─ \ud83d\ude80");
    }

    @Test
    void controlsFormatsAndEndsOfLinesAreEscaped() {
        assertThat(Printable.of("a\u001b[31m\u009b\u202e\r\n\t\u2028\u007f\ufeff"))
                .isEqualTo("a\\u001b[31m\\u009b\\u202e\\u000d\\u000a\\u0009\\u2028\\u007f\\ufeff");
        assertThat(Printable.of("\ud800x")).isEqualTo("\\ud800x");
        assertThat(Printable.of("\udbff\udfff")).isEqualTo("\\U0010ffff");
    }

    @Test
    void linesAndTabsStayInTextOfSeveralLines() {
        assertThat(Printable.lines("a\tb\r\nc\nd\re\u009b")).isEqualTo("a\tb\r\nc\nd\\u000de\\u009b");
    }
}
