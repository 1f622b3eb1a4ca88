package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.ep4j.tck.Rule;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The rules of {@link DeviceWindowTckTest} on the hip device, with memory that HIP exports as dma-buf. The build runs this test apart,
 * with HIP that is forwarded to emulated GPUs. These see writes of NICs in order, since an emulator cannot detect HIP's flush, which is a
 * store.
 */
@Tag("verify")
class HipWindowTckTest extends DeviceWindowTckTest {
    /** Rules of the tier "verify". */
    private static final Set<String> SOME = Set.of("3.20", "4.40");

    @Override
    String device() {
        return "hip";
    }

    @Override
    protected List<Rule> selected() {
        return super.selected().stream()
                .filter(rule -> Tier.all() || SOME.contains(rule.id()))
                .toList();
    }

    /** Ensures that the rules are not all skipped. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR")) && System.getenv("EP_HIP_RUNTIME") != null) {
            assertThat(subject().unavailable()).isEmpty();
        }
    }
}
