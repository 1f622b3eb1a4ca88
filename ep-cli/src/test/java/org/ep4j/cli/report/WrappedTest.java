package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class WrappedTest {
    private static final String WORD = "x".repeat(9);

    @Test
    void aShortTextIsOneLine() {
        assertThat(Wrapped.of("-> ", "set it")).isEqualTo(String.format("-> set it%n"));
        assertThat(Wrapped.of("title", "")).isEqualTo(String.format("title%n"));
    }

    @Test
    void furtherLinesAreIndentedAsFarAsTheFirstAndNoneIsTooLong() {
        String ten = String.join(" ", java.util.Collections.nCopies(20, WORD));
        String wrapped = Wrapped.of("-> ", ten);
        assertThat(wrapped.lines()).hasSize(3).allMatch(line -> line.length() <= Wrapped.COLUMNS);
        assertThat(wrapped.lines().skip(1)).allMatch(line -> line.startsWith("   x"));
        assertThat(wrapped.replaceAll("\\s+", " ").strip()).isEqualTo("-> " + ten);
    }

    @Test
    void lineBreaksAndSeveralBlanksInsideATextAreOneBlank() {
        assertThat(Wrapped.of("- ", " a\n  b  c ")).isEqualTo(String.format("- a b c%n"));
    }

    @Test
    void aLineThatFitsKeepsItsBlanksAndALongerOneItsIndent() {
        assertThat(Wrapped.line("  0->1:  host-shm      MAPPED"))
                .isEqualTo(String.format("  0->1:  host-shm      MAPPED%n"));
        assertThat(Wrapped.line("  " + (WORD + "  ").repeat(12)).lines())
                .containsExactly(
                        "  " + (WORD + " ").repeat(9).strip(),
                        "    " + (WORD + " ").repeat(3).strip());
    }

    @Test
    void aLineMayBeFullAndALongerWordStaysWhole() {
        assertThat(Wrapped.of("", "y".repeat(Wrapped.COLUMNS)).lines()).hasSize(1);
        assertThat(Wrapped.of("", WORD + " " + "y".repeat(2 * Wrapped.COLUMNS) + " " + WORD)
                        .lines())
                .containsExactly(WORD, "y".repeat(2 * Wrapped.COLUMNS), WORD);
    }
}
