package org.ep4j.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.cli.doctor.Examination.Verdict;
import org.ep4j.spi.Check;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the settings ask for decides whether a device or backend that cannot be used is a failure. */
@Tag("verify")
final class ProbesTest {
    /** A machine without GPUs and NICs, whatever this one has. */
    private static final Topology BARE = Topology.builder("bare").build();

    private static final Check PASS = Check.pass("EP-X-001", "made up");
    private static final Check FAIL = Check.fail("EP-X-001", "made up", "none");

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
    void hardwareThatTheSettingsDoNotNameIsNotApplicable() {
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

    /** Two GPUs that NVLink joins, each with an InfiniBand NIC beside it. */
    private static Topology nvidia() {
        Topology.Builder machine = Topology.builder("made up");
        machine.host("made up");
        NumaNode numa = new NumaNode(0, 0, Processor.UNKNOWN);
        machine.add(numa);
        List<Gpu> gpus = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            PciSwitch above = new PciSwitch(0, new PciAddress(0, 1 + i, 0, 0), PciId.UNKNOWN);
            Gpu gpu = Gpu.builder(0, i, GpuVendor.NVIDIA)
                    .address(Optional.of(new PciAddress(0, 0x10 + i, 0, 0)))
                    .architecture("sm_90")
                    .numa(0)
                    .build();
            NicPort port =
                    new NicPort(1, NicPort.State.ACTIVE, NicReach.LinkLayer.INFINIBAND, 400, 4096, 7, "", List.of());
            Nic nic = new Nic(
                    0,
                    "mlx5_" + i,
                    Optional.of(new PciAddress(0, 0x20 + i, 0, 0)),
                    PciId.UNKNOWN,
                    NicFamily.MLX5,
                    "mlx5_core",
                    "mlx5_" + i,
                    0,
                    Optional.empty(),
                    true,
                    List.of(port));
            machine.add(above).add(gpu).add(nic);
            machine.link(numa, above, new Link(LinkType.PCI, 48, 1))
                    .link(above, gpu, new Link(LinkType.PCI, 48, 1))
                    .link(above, nic, new Link(LinkType.PCI, 48, 1));
            gpus.add(gpu);
        }
        machine.link(gpus.get(0), gpus.get(1), new Link(LinkType.NVLINK, 370, 18));
        return machine.build();
    }

    /** A driver of GPUs that gives one answer, whatever the machine has that runs the test. */
    private record Driver(DeviceProvider real, Check answer) implements DeviceProvider {
        @Override
        public String type() {
            return real.type();
        }

        @Override
        public SpiVersion spiVersion() {
            return real.spiVersion();
        }

        @Override
        public ProbeReport probe(ProbeRequest request) {
            return ProbeReport.builder().check(answer).build();
        }

        @Override
        public EpDevice open(Device device) {
            return real.open(device);
        }
    }

    /** A backend that finds on GPUs of NVIDIA what it needs, and is otherwise as it is. */
    private record Installed(EpBackendProvider real) implements EpBackendProvider {
        @Override
        public String id() {
            return real.id();
        }

        @Override
        public SpiVersion spiVersion() {
            return real.spiVersion();
        }

        @Override
        public ProbeReport probe(ProbeRequest request) {
            return request.device().type().equals("cuda")
                    ? ProbeReport.builder().check(PASS).build()
                    : real.probe(request);
        }

        @Override
        public ProbeReport describe(RankProfile described, EpConfig config) {
            return real.describe(described, config);
        }

        @Override
        public Offer offer(RankProfile from, RankProfile to) {
            return real.offer(from, to);
        }

        @Override
        public EpBackend open(OpenContext context) {
            return real.open(context);
        }
    }

    private static List<Probe> onNvidia(Path files, EpConfig config) {
        List<DeviceProvider> devices = ServiceLoader.load(DeviceProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .map(one -> switch (one.type()) {
                    case "cuda" -> new Driver(one, PASS);
                    case "hip" -> new Driver(one, FAIL);
                    default -> one;
                })
                .toList();
        List<EpBackendProvider> backends = ServiceLoader.load(EpBackendProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .map(one -> List.of("ipc-nvlink", "nvshmem-ibgda").contains(one.id()) ? new Installed(one) : one)
                .toList();
        return Probes.of(nvidia(), FileTree.of(files), config, devices, backends);
    }

    /**
     * Nothing is wrong with a machine of one vendor because backends of others are installed, too. NICs and sockets are examined for
     * GPUs of any vendor.
     */
    @Test
    void onAMachineOfNvidiaWhatIsForOtherHardwareIsOneLine(@TempDir Path files) {
        List<Probe> probes =
                onNvidia(files, EpConfig.builder(Map.of(), Map.of()).build());
        assertThat(probes)
                .filteredOn(probe -> probe.devices().stream().anyMatch(device -> device.startsWith("cuda")))
                .filteredOn(probe -> probe.notApplicable().isEmpty())
                .extracting(Probe::name)
                // Whether ibrc-multiqp applies depends on the NICs of the machine that runs the tests.
                .filteredOn(name -> !name.equals("ibrc-multiqp"))
                .containsExactlyInAnyOrder("cuda", "ipc-nvlink", "nvshmem-ibgda", "efa");
        assertThat(probes)
                .filteredOn(probe -> List.of("hip", "rocm").contains(probe.name()))
                .hasSizeGreaterThanOrEqualTo(2)
                .allSatisfy(probe ->
                        assertThat(probe.notApplicable()).as(probe.name()).isPresent());
        assertThat(probes)
                .filteredOn(probe -> probe.name().equals("ipc-nvlink") && probe.usable())
                .singleElement()
                .extracting(Probe::devices)
                .isEqualTo(List.of("cuda:0", "cuda:1"));

        Examination examined = new Examination(
                "made up", true, Hardware.of(nvidia(), FileTree.of(files), true), probes, List.of(), List.of());
        assertThat(DoctorSummary.of(examined, "1.0").lines())
                .anyMatch(line -> line.startsWith("[ok]  NVIDIA   2 x "))
                .contains("[ - ] AMD      no AMD GPU here: rocm does not apply")
                .anyMatch(line -> line.startsWith("Nothing to mend. "));
        assertThat(examined.verdict()).isEqualTo(Verdict.USABLE);
        String text = DoctorText.of(examined, false);
        assertThat(text.lines()).noneMatch(line -> line.matches(" {1,3}(hip|rocm)\\b.*"));
        for (String other : List.of("device hip", "backend rocm")) {
            assertThat(text.lines().filter(line -> line.contains(other)))
                    .as(other)
                    .isNotEmpty()
                    .allMatch(line -> line.matches("    [^ ].*: .*"));
        }
    }

    @Test
    void onAMachineOfNvidiaABackendOfOtherHardwareFailsWhereItIsAskedFor(@TempDir Path files) {
        List<Probe> probes = onNvidia(
                files,
                EpConfig.builder(Map.of(), Map.of())
                        .set("ep.backend.prefer", "rocm")
                        .build());
        assertThat(new Examination(
                                "made up",
                                true,
                                new Hardware("", 2, 0, List.of(), List.of()),
                                probes,
                                List.of(),
                                List.of())
                        .verdict())
                .isEqualTo(Verdict.PROBLEMS);
    }
}
