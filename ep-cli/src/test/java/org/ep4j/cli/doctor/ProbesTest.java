package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.config.EpConfig;
import org.ep4j.topology.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the settings ask for decides whether a device or backend that cannot be used is a failure. */
@Tag("verify")
final class ProbesTest {
    /** A machine without GPUs and NICs, whatever this one has. */
    private static final Topology BARE = Topology.builder("bare").build();

    private static List<Probe> probes(String... settings) {
        EpConfig.Builder config = EpConfig.builder(Map.of(), Map.of());
        for (int i = 0; i < settings.length; i += 2) {
            config.set(settings[i], settings[i + 1]);
        }
        return Probes.of(BARE, config.build());
    }

    private static Probe probe(List<Probe> probes, String name) {
        return probes.stream()
                .filter(probe -> probe.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void hardwareThatNobodyAskedForIsNotApplicable() {
        List<Probe> probes = probes();
        assertThat(probe(probes, "host").usable()).isTrue();
        for (String name : List.of("cuda", "hip", "ipc-nvlink", "rocm", "nvshmem-ibgda", "ibrc-multiqp")) {
            Probe probe = probe(probes, name);
            assertThat(probe.usable() || probe.notApplicable().isPresent())
                    .as(name)
                    .isTrue();
            assertThat(probe.asked()).as(name).isFalse();
        }
    }

    @Test
    void aBackendThatIsRequiredAndCannotBeUsedFailsAndOthersAreLeftOut() {
        List<Probe> probes = probes("ep.backend.require", "rocm");
        assertThat(probe(probes, "rocm").asked()).isTrue();
        assertThat(probe(probes, "rocm").outcome())
                .isInstanceOfAny(Probe.Outcome.Unusable.class, Probe.Outcome.Usable.class);
        assertThat(probe(probes, "host-shm").notApplicable()).contains("not among ep.backend.require = rocm");
        assertThat(probe(probes("ep.backend.exclude", "host-shm"), "host-shm").notApplicable())
                .contains("excluded by ep.backend.exclude");
    }

    @Test
    void aDeviceThatIsAskedForAndNotThereFails() {
        Probe asked = probe(probes("ep.device", "hip:0"), "hip");
        assertThat(asked.asked()).isTrue();
        assertThat(asked.notApplicable()).isEmpty();
    }
}
