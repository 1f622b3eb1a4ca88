package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.tck.Subjects;
import org.junit.jupiter.api.Test;

/**
 * The rules of {@link DeviceWindowTckTest} on the hip device, with memory that HIP gives out as dma-buf. Run by itself by the
 * build, with HIP that is forwarded to emulated GPUs. These see in order what NICs write: HIP's flush is a store, which an
 * emulator cannot take notice of.
 */
class HipWindowTckTest extends DeviceWindowTckTest {
    @Override
    String device() {
        return "hip";
    }

    /** Otherwise every rule would be skipped, and nobody would see it. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR")) && System.getenv("EP_HIP_RUNTIME") != null) {
            assertThat(Subjects.unavailable(subject())).isEmpty();
        }
    }
}
