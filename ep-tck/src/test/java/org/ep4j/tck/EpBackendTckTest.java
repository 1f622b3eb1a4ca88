package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;
import org.junit.platform.testkit.engine.Events;

/** Rules as JUnit tests. */
@Tag("verify")
class EpBackendTckTest {
    abstract static class Sample extends EpBackendTck {
        @Override
        protected List<Rule> selected() {
            return List.of(RuleBook.rule("1.1"), RuleBook.rule("3.1"), RuleBook.rule("5.216"), RuleBook.rule("8.33"));
        }
    }

    static final class Present extends Sample {
        @Override
        protected TckSubject subject() {
            return TckSubject.of("host-shm", "host")
                    .without(Capability.PROCESSES, Capability.ASYNC)
                    .upTo(2);
        }
    }

    static final class Absent extends Sample {
        @Override
        protected TckSubject subject() {
            return TckSubject.of("not-there", "host");
        }
    }

    private static Events run(Class<?> sample) {
        return EngineTestKit.engine("junit-jupiter")
                .selectors(selectClass(sample))
                .execute()
                .testEvents();
    }

    private static String reason(Event event) {
        return String.valueOf(event.getPayload().orElseThrow());
    }

    @Test
    void rulesPassFailOrAreAbortedWithTheirReason() {
        Events events = run(Present.class);
        assertThat(events.succeeded().map(e -> e.getTestDescriptor().getDisplayName()))
                .containsExactly(
                        RuleBook.rule("1.1").id() + " " + RuleBook.rule("1.1").text(),
                        "3.1 " + RuleBook.rule("3.1").text());
        assertThat(events.failed().map(EpBackendTckTest::reason))
                .singleElement()
                .asString()
                .contains("5.216 THREADS")
                .contains("ASYNC, which is not declared");
        assertThat(events.aborted().map(EpBackendTckTest::reason))
                .hasSize(5)
                .anySatisfy(text ->
                        assertThat(text).contains("UNTESTED: the rule needs 3 ranks, but only 2 are possible here"))
                .anySatisfy(text -> assertThat(text).contains("UNSUPPORTED: not declared: [PROCESSES]"));
    }

    @Test
    void aMissingBackendAbortsEveryRule() {
        Events events = run(Absent.class);
        assertThat(events.succeeded().count()).isZero();
        assertThat(events.failed().count()).isZero();
        assertThat(events.aborted().map(EpBackendTckTest::reason))
                .anySatisfy(text -> assertThat(text).contains("UNAVAILABLE: no backend not-there on the class path"));
    }
}
