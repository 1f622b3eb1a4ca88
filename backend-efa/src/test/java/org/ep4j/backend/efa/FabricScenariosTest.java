package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.writes.TwoRanks;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** The scenarios over TCP and shared memory, where libfabric is: {@link FabricScenarios}. */
@Tag("verify")
final class FabricScenariosTest {
    private static final String REQUIRE = "EP_TCK_REQUIRE";

    @TestFactory
    Stream<DynamicTest> overTcp() {
        return over("tcp");
    }

    @TestFactory
    Stream<DynamicTest> overSharedMemory() {
        return over("shm");
    }

    private static Stream<DynamicTest> over(String provider) {
        assumeUsable(provider);
        return FabricScenarios.all(provider).entrySet().stream()
                .map(scenario -> dynamicTest(
                        provider + " " + scenario.getKey(),
                        () -> scenario.getValue().run()));
    }

    /** Skips where a provider is not here; fails where libfabric is required. */
    static void assumeUsable(String provider) {
        EpConfig config = TwoRanks.config(new EfaProvider(), Map.of("ep.efa.provider", provider));
        ProbeReport report = new EfaProvider().probe(ProbeRequest.of(Device.HOST, config, FabricScenarios.PATIENCE));
        if (!report.usable()) {
            String required = System.getenv().getOrDefault(REQUIRE, "");
            if (List.of(required.split(",", -1)).contains(EfaProvider.ID)) {
                fail(REQUIRE + " is \"" + required + "\", but " + provider + " is not here: " + report.failures());
            }
            abort(provider + " is not here: " + report.failures());
        }
    }
}
