package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class TextTableTest {
    @Test
    void textGoesLeftAndNumbersRight() {
        TextTable table = new TextTable(List.of("name", "us"))
                .row(List.of("a", "1.5"))
                .row(List.of("long name", "120"))
                .row(List.of("b", "-"));
        assertThat(table.toString().lines())
                .containsExactly(
                        "name        us", "---------  ---", "a          1.5", "long name  120", "b            -");
    }

    @Test
    void aRowOfAnotherWidthIsRefused() {
        assertThatThrownBy(() -> new TextTable(List.of("a", "b")).row(List.of("1")))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
