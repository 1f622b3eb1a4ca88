package org.ep4j.topology.read;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class KfdLinkTest {
    private static final int XGMI = 11;

    @ParameterizedTest
    @CsvSource({"13, 1", "15, 1", "30, 2", "45, 3", "28, 1", "41, 1", "43, 2", "56, 2", "71, 3", "0, 1", "5000, 99"})
    void waysInsidePackagesAreNoHops(int weight, int hops) {
        assertThat(new KfdNode.Link(1, true, XGMI, weight, 0, 0, 1).hops()).isEqualTo(hops);
    }
}
