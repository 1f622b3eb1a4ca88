package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** libfabric over verbs, in a guest of {@code ci/rdma-guest} with two wires: {@link FabricScenarios#overVerbs}. */
@Tag("guest")
final class FabricVerbsTest {
    private static final String REQUIRE = "EP_REQUIRE_VERBS";

    @TestFactory
    Stream<DynamicTest> overVerbs() {
        if (!Files.exists(Path.of("/sys/class/infiniband/rxe3"))) {
            if ("1".equals(System.getenv(REQUIRE))) {
                fail(REQUIRE + " is 1, but the ports rxe0 to rxe3 (two wires) are not here");
            }
            System.out.println("skipped: libfabric over verbs needs the ports rxe0 to rxe3 of ci/rdma-guest -r 2");
            return Stream.empty();
        }
        return FabricScenarios.overVerbs().entrySet().stream()
                .map(scenario ->
                        dynamicTest(scenario.getKey(), () -> scenario.getValue().run()));
    }
}
