package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.doctor.Doctor;
import org.ep4j.doctor.DoctorCode;
import org.ep4j.doctor.DoctorInput;
import org.ep4j.doctor.FoundLibrary;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.spi.Check;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class OfferTest {
    private static final Device CUDA = Device.cuda(0);

    @TempDir
    Path root;

    private static RankProfile rank(int number, String host, String machine, Map<String, String> other) {
        Map<String, String> facts = new HashMap<>(
                Map.of(NvshmemFacts.VERSION, "3.4.5", NvshmemFacts.TRANSPORT, "auto", NvshmemFacts.MAPS, "false"));
        facts.putAll(other);
        Map<String, String> identity = Map.of(
                NvshmemFacts.PROCESS,
                facts.getOrDefault("process", "process-" + number),
                NvshmemFacts.MACHINE,
                machine);
        return RankProfile.builder(number, host, CUDA)
                .pid(number)
                .backends(Map.of(NvshmemProvider.ID, RankProfile.BackendProfile.of(facts, identity)))
                .build();
    }

    private static Offer offer(RankProfile from, RankProfile to) {
        return new NvshmemProvider().offer(from, to);
    }

    @Test
    void gpusOfAMachinePutIntoEachOther() {
        assertThat(offer(rank(0, "a", "m", Map.of()), rank(1, "a", "m", Map.of())))
                .matches(Offer::isPath)
                .satisfies(path -> {
                    assertThat(path.kind()).isEqualTo(EpPath.Kind.DEVICE_POSTED);
                    assertThat(path.nics()).isEmpty();
                });
    }

    @Test
    void memoryIsMappedWhereThatIsWantedAndNotBetweenSimulatedHosts() {
        Map<String, String> maps = Map.of(NvshmemFacts.MAPS, "true");
        assertThat(offer(rank(0, "a", "m", maps), rank(1, "a", "m", maps)))
                .matches(Offer::isPath)
                .satisfies(path -> assertThat(path.kind()).isEqualTo(EpPath.Kind.MAPPED));
        assertThat(offer(rank(0, "a", "m", maps), rank(1, "b", "m", maps)))
                .matches(Offer::isPath)
                .satisfies(path -> assertThat(path.kind()).isEqualTo(EpPath.Kind.DEVICE_POSTED));
    }

    @Test
    void threadsOfAProcessAreRefusedWithTheRemedy() {
        Map<String, String> process = Map.of("process", "one");
        assertThat(offer(rank(0, "a", "m", process), rank(1, "a", "m", process)))
                .matches(answer -> !answer.isPath())
                .satisfies(no -> {
                    assertThat(no.reason()).contains("one PE per process");
                    assertThat(no.remedy()).contains("one process for each GPU");
                });
    }

    @Test
    void versionsMustBeEqual() {
        assertThat(offer(rank(0, "a", "m", Map.of()), rank(1, "b", "n", Map.of(NvshmemFacts.VERSION, "3.5.0"))))
                .matches(answer -> !answer.isPath())
                .satisfies(no -> assertThat(no.reason()).contains("3.4.5", "3.5.0"));
    }

    private static RankProfile near(RankProfile rank, PathType distance, String network) {
        NicReach nic = NicReach.builder("mlx5_0", NicFamily.MLX5, new Distance(distance, 48, 2))
                .ports(List.of(new NicReach.Port(1, LinkLayer.ETHERNET, 400, network)))
                .build();
        return rank.toBuilder()
                .locality(Locality.builder()
                        .gpu(0)
                        .vendor(GpuVendor.NVIDIA)
                        .architecture("sm_90")
                        .numa(0)
                        .gpus(8)
                        .nics(List.of(nic))
                        .build())
                .build();
    }

    @Test
    void nicsMustReachTheMemoryAndEachOther() {
        RankProfile here = near(rank(0, "a", "m", Map.of()), PathType.PIX, "10.0.0.0/24");
        RankProfile there = rank(1, "b", "n", Map.of());
        assertThat(offer(here, near(there, PathType.PIX, "10.0.0.0/24"))).matches(Offer::isPath);
        assertThat(offer(here, near(there, PathType.PIX, ""))).matches(Offer::isPath);
        assertThat(offer(here, near(there, PathType.PIX, "10.0.1.0/24")))
                .matches(answer -> !answer.isPath())
                .satisfies(no -> assertThat(no.reason()).contains("10.0.1.0/24"));
        assertThat(offer(here, near(there, PathType.NODE, "10.0.0.0/24")))
                .matches(answer -> !answer.isPath())
                .satisfies(no -> assertThat(no.reason()).contains("reaches GPU memory"));
    }

    @Test
    void otherMachinesNeedNicsAndATransport() {
        assertThat(offer(rank(0, "a", "m", Map.of()), rank(1, "b", "n", Map.of())))
                .matches(answer -> !answer.isPath())
                .satisfies(no -> assertThat(no.reason()).contains("no NIC"));
        Map<String, String> none = Map.of(NvshmemFacts.TRANSPORT, "none");
        assertThat(offer(rank(0, "a", "m", none), rank(1, "b", "n", none)))
                .matches(answer -> !answer.isPath())
                .satisfies(no -> assertThat(no.reason()).contains("ep.nvshmem.transport is none"));
    }

    private ProbeReport probe(Device device, Map<String, String> environment) {
        EpConfig config = EpConfig.builder().set(NvshmemKeys.HOME.name(), "").build();
        return NvshmemProbe.probe(ProbeRequest.of(device, config, Duration.ofSeconds(5)), environment, root);
    }

    private static Check check(ProbeReport report, String code) {
        return report.checks().stream()
                .filter(one -> one.code().equals(code))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void withoutNvshmemTheProbeNamesTheFoldersItSearched() {
        ProbeReport report = probe(CUDA, Map.of("HOME", root.toString()));
        assertThat(report.usable()).isFalse();
        assertThat(report.facts()).isEmpty();
        assertThat(check(report, NvshmemProbe.LIBRARY).detail()).contains("not found", "nvidia-nvshmem-cu12");
        assertThat(check(report, NvshmemProbe.NIC).status()).isEqualTo(Check.Status.NOT_RUN);
    }

    @Test
    void onOtherDevicesNothingElseIsChecked() {
        ProbeReport report = probe(Device.HOST, Map.of());
        assertThat(report.failures()).extracting(Check::code).containsExactly(NvshmemProbe.DEVICE);
    }

    @Test
    void aPythonPackageIsFoundByThePythonOnThePath() throws Exception {
        Path environment = root.resolve("venv");
        Path packages = environment.resolve("lib/python3.12/site-packages/nvidia");
        FakeNvshmem.headers(packages.resolve("nvshmem"), "3.4.5");
        Files.writeString(packages.resolve("nvshmem/lib/libnvshmem_host.so.3"), "");
        Files.createDirectories(environment.resolve("bin"));
        Files.writeString(environment.resolve("bin/python3"), "");
        Map<String, String> variables = Map.of("PATH", "/nowhere:/" + root.relativize(environment.resolve("bin")));
        ProbeReport without = probe(CUDA, variables);
        assertThat(check(without, NvshmemProbe.LIBRARY).detail()).contains("NVSHMEM 3.4.5");
        assertThat(check(without, NvshmemProbe.HEADERS).status()).isEqualTo(Check.Status.FAIL);
        Path cuda = packages.resolve("cu13/include");
        Files.createDirectories(cuda.resolve("cccl/cuda/std"));
        Files.writeString(cuda.resolve("cuda_runtime.h"), "");
        Files.writeString(cuda.resolve("cccl/cuda/std/type_traits"), "");
        ProbeReport report = probe(CUDA, variables);
        assertThat(report.usable()).isTrue();
        assertThat(check(report, NvshmemProbe.HEADERS).detail()).contains("cu13");
        assertThat(report.facts()).containsEntry(NvshmemFacts.VERSION, "3.4.5");
        NvshmemInstallation found = NvshmemInstallation.find("", variables, root);
        List<Path> headers = found.cudaHeaders(variables, root);
        assertThat(NvshmemOpener.code(found, headers, new FlowLimits(1 << 20, 0, 64, ""))
                        .source())
                .contains("EP_INFLIGHT_BYTES 1048576ull", "EP_INFLIGHT_WRITES 0ull", "EP_INFLIGHT_MESSAGES 64ull");
        assertThat(NvshmemOpener.code(found, headers, FlowLimits.NONE)).satisfies(code -> {
            assertThat(code.options())
                    .isEqualTo(List.of("-I" + found.include(), "-I" + cuda, "-I" + cuda.resolve("cccl")));
            assertThat(code.source())
                    .contains("nvshmem.h", "ep_posted_put_signal_wave")
                    .doesNotContain("#define EP_INFLIGHT");
            assertThat(code.headers()).containsOnlyKeys("cuda/std/cstdint");
            assertThat(code.version()).isEqualTo("NVSHMEM 3.4.5");
        });
    }

    private void install(String home, String version) throws IOException {
        FakeNvshmem.headers(root.resolve(home), version);
        library(home + "/lib", version);
    }

    private void library(String folder, String version) throws IOException {
        Path lib = Files.createDirectories(root.resolve(folder));
        Files.writeString(lib.resolve("libnvshmem_host.so." + version), "");
        Files.createSymbolicLink(lib.resolve("libnvshmem_host.so.3"), Path.of("libnvshmem_host.so." + version));
    }

    /** Findings of the doctor for NVSHMEM, on a machine with an NVIDIA GPU. */
    private Check examined(Map<String, String> environment) {
        return examined(environment, EpConfig.builder(Map.of(), environment).build());
    }

    private Check examined(Map<String, String> environment, EpConfig config) {
        Gpu gpu = Gpu.builder(0, 0, GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .build();
        Topology.Builder machine = Topology.builder("made up");
        machine.host("made up");
        FileTree files = FileTree.of(root);
        DoctorInput input = new DoctorInput(
                machine.add(gpu).build(),
                files,
                environment,
                config,
                Map.of(),
                FoundLibrary.search(files, environment),
                new DoctorInput.Need(1, 1),
                Optional.empty(),
                NvshmemKeys.all(),
                Optional.of(NvshmemKeys.HOME.get(config))
                        .filter(home -> !home.isEmpty())
                        .map(Path::of));
        return Doctor.examine(input).stream()
                .filter(check -> check.code().equals(DoctorCode.NVSHMEM_VERSION.code()))
                .findFirst()
                .orElseThrow();
    }

    /** The machine has an older one, too, and newer ones that lack what kernels are linked with or compiled with. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "usr/local/nvshmem",
                "opt/nvidia/nvshmem",
                "venv/lib/python3.12/site-packages/nvidia/nvshmem",
                "conda/lib/python3.11/site-packages/nvidia/nvshmem",
                "home/user/.local/lib/python3.13/site-packages/nvidia/nvshmem",
                "usr/lib/python3.12/dist-packages/nvidia/nvshmem",
                "data/by-the-loader"
            })
    void probeAndDoctorNameOneFile(String home) throws Exception {
        install("opt/nvshmem", "3.3.20");
        library("usr/lib64", "3.4.9");
        library("usr/local/lib64", "3.4.8");
        Files.writeString(root.resolve("usr/local/lib64/libnvshmem_device.a"), "");
        install(home, "3.4.5");
        Files.createDirectories(root.resolve("venv/bin"));
        Files.writeString(root.resolve("venv/bin/python3"), "");
        Map<String, String> environment = Map.of(
                "PATH", "/usr/bin:/venv/bin",
                "CONDA_PREFIX", "/conda",
                "HOME", "/home/user",
                "LD_LIBRARY_PATH", "/data/by-the-loader/lib");

        NvshmemInstallation found = NvshmemInstallation.find("", environment, root);
        assertThat(check(probe(CUDA, environment), NvshmemProbe.LIBRARY).detail())
                .contains(found.host().toString());
        String file = "/" + root.toRealPath().relativize(found.host().toRealPath());
        assertThat(file).isEqualTo("/" + home + "/lib/libnvshmem_host.so.3.4.5");
        assertThat(examined(environment).status()).isEqualTo(Check.Status.PASS);
        assertThat(examined(environment).detail()).isEqualTo("NVSHMEM 3.4.5 (" + file + ")");
    }

    /** Newer ones elsewhere are not taken, not even from folders inside the named one or with the same beginning. */
    @ParameterizedTest
    @ValueSource(strings = {"", "/lib", "/lib/libnvshmem_host.so.3"})
    void probeAndDoctorNameTheFileThatASettingNames(String below) throws Exception {
        install("usr/local/nvshmem", "3.4.9");
        install("data/nvshmem64", "3.4.8");
        install("data/nvshmem/inside", "3.4.7");
        install("data/nvshmem", "3.4.5");
        String searched = "/data/nvshmem64/lib:/data/nvshmem/inside/lib";
        NvshmemInstallation found = NvshmemInstallation.find(root + "/data/nvshmem" + below, Map.of(), root);
        assertThat(found.host()).isEqualTo(root.resolve("data/nvshmem/lib/libnvshmem_host.so.3"));
        String detail = "NVSHMEM 3.4.5 (/data/nvshmem/lib/libnvshmem_host.so.3.4.5)";
        for (String variable : List.of("EP_NVSHMEM", "EP_NVSHMEM_HOME", "NVSHMEM_HOME")) {
            assertThat(examined(Map.of(variable, "/data/nvshmem" + below, "LD_LIBRARY_PATH", searched))
                            .detail())
                    .as(variable)
                    .isEqualTo(detail);
        }
        assertThat(examined(Map.of("LD_LIBRARY_PATH", searched), named("/data/nvshmem" + below))
                        .detail())
                .as("property")
                .isEqualTo(detail);
    }

    private static EpConfig named(String home) {
        return EpConfig.builder(Map.of(), Map.of())
                .set(NvshmemKeys.HOME.name(), home)
                .build();
    }

    @Test
    void aLibraryThatIsLinkedOutOfTheNamedFolderIsFoundThere() throws Exception {
        FakeNvshmem.headers(root.resolve("data/nvshmem"), "3.4.5");
        library("store", "3.4.5");
        Files.createSymbolicLink(
                root.resolve("data/nvshmem/lib/libnvshmem_host.so.3"), Path.of("../../../store/libnvshmem_host.so.3"));
        assertThat(NvshmemInstallation.find(root + "/data/nvshmem", Map.of(), root)
                        .version())
                .hasToString("3.4.5");
        assertThat(examined(Map.of(), named("/data/nvshmem")).detail())
                .isEqualTo("NVSHMEM 3.4.5 (/store/libnvshmem_host.so.3.4.5)");
    }

    @Test
    void whereTheNamedFolderHasNoNvshmemTheDoctorNamesIt() throws Exception {
        install("usr/local/nvshmem", "3.4.9");
        Check check = examined(Map.of(), named("/data/nvshmem"));
        assertThat(check.status()).isEqualTo(Check.Status.NOT_RUN);
        assertThat(check.detail()).isEqualTo("no NVSHMEM was found in /data/nvshmem");
    }
}
