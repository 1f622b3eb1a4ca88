package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** The scenarios, where there are ports to run them on: {@link VerbsScenarios}. */
@Tag("guest")
final class VerbsScenariosTest {
    private static final String REQUIRE = "EP_TCK_REQUIRE";
    private static final String REQUIRE_VERBS = "EP_REQUIRE_VERBS";

    @TestFactory
    Stream<DynamicTest> onRealVerbs() {
        if (!VerbsScenarios.present()) {
            String required = System.getenv().getOrDefault(REQUIRE, "");
            String verbs = System.getenv().getOrDefault(REQUIRE_VERBS, "");
            if (verbs.equals("1") || List.of(required.split(",", -1)).contains(IbrcProvider.ID)) {
                fail(REQUIRE + " is \"" + required + "\" and " + REQUIRE_VERBS + " is \"" + verbs
                        + "\", but the ports rxe0 to rxe3 (two wires) are not here");
            }
            System.out.println("skipped: scenarios on real verbs need the ports rxe0 to rxe3");
            return Stream.empty();
        }
        return VerbsScenarios.all().entrySet().stream()
                .map(scenario ->
                        dynamicTest(scenario.getKey(), () -> scenario.getValue().run()));
    }
}
