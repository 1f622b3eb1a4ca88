package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Comparator;
import java.util.List;
import java.util.Set;
import org.ep4j.tck.ranks.Params;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class RuleBookTest {
    private final List<Rule> rules = RuleBook.all();

    @Test
    void idsAndTextsAreUnique() {
        assertThat(rules).extracting(Rule::id).doesNotHaveDuplicates();
        assertThat(rules).extracting(rule -> rule.chapter() + rule.text()).doesNotHaveDuplicates();
    }

    @Test
    void rulesAreOrderedByIdInsideTheirChapters() {
        assertThat(rules)
                .isSortedAccordingTo(Comparator.comparingInt(Rule::chapter)
                        .thenComparingInt(rule ->
                                Integer.parseInt(rule.id().substring(rule.id().indexOf('.') + 1))));
    }

    @Test
    void everyChapterHasATitleThatBeginsWithItsNumber() {
        assertThat(rules)
                .allSatisfy(rule -> assertThat(RuleBook.chapter(rule.chapter())).startsWith(rule.chapter() + " "));
        assertThat(rules).extracting(Rule::chapter).contains(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    }

    @Test
    void everyCapabilityHasARuleThatNeedsItAndOneForItsAbsence() {
        for (Capability capability : Capability.values()) {
            assertThat(rules)
                    .as("mirror of " + capability)
                    .anyMatch(rule -> rule.absent().filter(c -> c == capability).isPresent());
            if (capability != Capability.THREADS && capability != Capability.PROCESSES) {
                assertThat(rules)
                        .as("use of " + capability)
                        .anyMatch(rule -> rule.needs().contains(capability));
            }
        }
    }

    @Test
    void capabilitiesAddThoseThatTheyImply() {
        assertThat(Capability.closure(Set.of(Capability.RECOVER))).contains(Capability.MASK);
        assertThat(TckSubject.of("b", "host").without(Capability.MASK).declared())
                .doesNotContain(Capability.MASK, Capability.RECOVER)
                .contains(Capability.HOOK);
    }

    @Test
    void parametersAreReadFromText() {
        Params params = Params.parse("tokens=3,4 fp8 drop=0.5");
        assertThat(params.text("tokens", "")).isEqualTo("3,4");
        assertThat(params.has("fp8")).isTrue();
        assertThat(params.has("cached")).isFalse();
        assertThat(params.fraction("drop", 0)).isEqualTo(0.5);
        assertThat(params.number("topk", 4)).isEqualTo(4);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "1.1 | | ProbeScenario; 3 cells",
                "1.1 | leest=4 | ProbeScenario case=plan | text; leest",
                "1.1 | HIGH | ProbeScenario case=plan | text; HIGH",
                "1.1 | | NoScenario | text; no scenario NoScenario",
                "1.1 | | org.ep4j.NoScenario | text; no scenario org.ep4j.NoScenario",
                "1.1 | ranks=two | ProbeScenario case=plan | text; two"
            })
    void aMalformedLineIsRefusedWithTheLineAndTheReason(String line, String reason) {
        assertThatThrownBy(() -> Rule.parse(line))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(line)
                .hasMessageContaining(reason);
    }
}
