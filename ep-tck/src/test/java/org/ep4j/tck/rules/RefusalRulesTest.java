package org.ep4j.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.tck.RuleBook;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class RefusalRulesTest {
    @Test
    void everyRefusalHasOneRuleInTheSameOrder() {
        List<String> cases = RuleBook.all().stream()
                .filter(rule -> rule.scenario() == RefusalScenario.class)
                .map(rule -> rule.params().text("case", ""))
                .toList();
        assertThat(cases)
                .doesNotHaveDuplicates()
                .isEqualTo(Refusal.all().stream().map(Refusal::name).toList());
    }
}
