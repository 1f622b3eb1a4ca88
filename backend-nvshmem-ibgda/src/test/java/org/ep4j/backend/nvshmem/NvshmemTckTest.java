package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The whole kit on real GPUs with NVSHMEM, and rules of both modes on emulated ones with an NVSHMEM of their own. Without
 * them every rule is skipped with the reason, and fails where {@code EP_TCK_REQUIRE} names the backend.
 */
@Tag("verify")
final class NvshmemTckTest extends EpBackendTck {
    private static final boolean EMULATED = System.getenv("EP_TEST_EMULATED") != null;
    private static final String REQUIRED = String.valueOf(System.getenv("EP_TCK_REQUIRE"));

    /** Exchanges of each mode; each compiles kernels for some seconds. */
    private static final List<String> SOME = Tier.all()
            ? List.of("1.1", "3.1", "4.1", "4.7", "4.30", "4.33", "6.40", "6.45")
            : List.of("1.1", "3.1", "4.33", "6.40", "6.45");

    @Override
    protected TckSubject subject() {
        // A process is one PE, and its heap is allocated by all processes together.
        return TckSubject.of(NvshmemProvider.ID, "cuda").without(Capability.THREADS, Capability.RECOVER);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> !EMULATED || SOME.contains(rule.id()))
                .toList();
    }

    /** Otherwise every rule would be skipped, and nobody would see it. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if (EMULATED && "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(subject().unavailable()).isEmpty();
        }
    }

    /** With EP_TCK_REQUIRE=nvshmem-ibgda-nic; the kit then goes between hosts under a launcher, see docs/backends/nvshmem-ibgda.md. */
    @Test
    void aNicIsThereWhereItIsRequired() {
        if (List.of(REQUIRED.split(",", -1)).contains("nvshmem-ibgda-nic")) {
            ProbeRequest request =
                    ProbeRequest.of(Device.cuda(0), EpConfig.builder().build(), Duration.ofSeconds(10));
            assertThat(new NvshmemProvider().probe(request).checks())
                    .filteredOn(check -> check.code().equals(NvshmemProbe.NIC)
                            || check.code().equals(NvshmemProbe.DIRECT))
                    .hasSize(2)
                    .allMatch(check -> check.status() == Check.Status.PASS);
        }
    }
}
