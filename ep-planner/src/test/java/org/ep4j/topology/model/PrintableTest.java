package org.ep4j.topology.model;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PrintableTest {
    @Test
    void controlCharactersAreEscaped() {
        assertThat(Printable.text("a\u001b[31m\u009b1m\r\nb\tc\u202e\u2066\u2028\u007f"))
                .isEqualTo("a\\u001b[31m\\u009b1m\\u000d\nb\tc\\u202e\\u2066\\u2028\\u007f");
        assertThat(Printable.line("a\u200b\u200f\ufeff\u061c")).isEqualTo("a\\u200b\\u200f\\ufeff\\u061c");
        assertThat(Printable.line("a\nb\tc")).isEqualTo("a\\u000ab\\u0009c");
    }

    @Test
    void lettersAndPairsOfSurrogatesStay() {
        assertThat(Printable.line("é漢\ud83d\ude00└─")).isEqualTo("é漢\ud83d\ude00└─");
        assertThat(Printable.line("\ud83d\ude00\ud83d")).isEqualTo("\ud83d\ude00\\ud83d");
    }

    @Test
    void piecesForMessagesAreCut() {
        assertThat(Printable.quote("x".repeat(81))).isEqualTo("\"" + "x".repeat(80) + "...\"");
        assertThat(Printable.line("abc\n", 3)).isEqualTo("abc...");
    }

    @Property(tries = 500)
    void escapedTextHasNothingMoreToEscape(@ForAll String text) {
        String once = Printable.line(text);
        assertThat(Printable.line(once)).isEqualTo(once);
        assertThat(once.chars()).noneMatch(Character::isISOControl);
    }
}
