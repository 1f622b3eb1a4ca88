package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.ep4j.tck.Rule;
import org.ep4j.tck.Subjects;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The rules of {@link DeviceWindowTckTest} on the hip device, with memory that HIP gives out as dma-buf. Run by itself by the
 * build, with HIP that is forwarded to emulated GPUs. These see in order what NICs write: HIP's flush is a store, which an
 * emulator cannot take notice of.
 */
@Tag("verify")
class HipWindowTckTest extends DeviceWindowTckTest {
    /** In the tier "verify". */
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

    /** Otherwise every rule would be skipped, and nobody would see it. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR")) && System.getenv("EP_HIP_RUNTIME") != null) {
            assertThat(Subjects.unavailable(subject())).isEmpty();
        }
    }
}
