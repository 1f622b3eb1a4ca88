package org.ep4j.backend.nvshmem;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpException;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.cuda.CudaGpus;
import org.ep4j.gpu.driver.GpuSharing;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.Topologies;

/**
 * Checks whether this rank can use NVSHMEM. Reads files only: it loads and initialises nothing. Messages of later
 * failures begin with the last ones of these codes:
 *
 * <ul>
 *   <li>{@code EP-NVS-001} the device is an NVIDIA GPU
 *   <li>{@code EP-NVS-002} NVSHMEM is installed: host library, device library and headers of one version that ep4j knows
 *   <li>{@code EP-NVS-003} the CUDA headers that kernels are compiled with are installed
 *   <li>{@code EP-NVS-004} there is a NIC that GPUs can post to
 *   <li>{@code EP-NVS-005} this NIC can reach the GPU's memory
 *   <li>{@code EP-NVS-006} this process has one PE, with one GPU
 *   <li>{@code EP-NVS-007} NVSHMEM could be initialised
 *   <li>{@code EP-NVS-008} the symmetric heap has room
 * </ul>
 */
final class NvshmemProbe {
    static final String DEVICE = "EP-NVS-001";
    static final String LIBRARY = "EP-NVS-002";
    static final String HEADERS = "EP-NVS-003";
    static final String NIC = "EP-NVS-004";
    static final String DIRECT = "EP-NVS-005";
    static final String PROCESS = "EP-NVS-006";
    static final String INITIALISED = "EP-NVS-007";
    static final String HEAP = "EP-NVS-008";

    private NvshmemProbe() {}

    static ProbeReport probe(ProbeRequest request) {
        return probe(request, System.getenv(), Path.of("/"));
    }

    /** Probes with another environment and root. */
    static ProbeReport probe(ProbeRequest request, Map<String, String> environment, Path root) {
        Check device = NvshmemOffer.device(request.device());
        ProbeReport.Builder report = ProbeReport.builder().check(device);
        if (device.status() != Check.Status.PASS) {
            notRun(report, "the device is not an NVIDIA GPU", LIBRARY, HEADERS, NIC, DIRECT, PROCESS);
            return report.build();
        }
        NvshmemInstallation found;
        try {
            found = NvshmemInstallation.find(NvshmemKeys.HOME.get(request.config()), environment, root);
        } catch (EpException e) {
            report.check(Check.fail(
                    LIBRARY,
                    String.valueOf(e.getMessage()),
                    "install NVSHMEM if GPUs are to post to NICs; other backends do not need it"));
            notRun(report, "NVSHMEM is not available", HEADERS, NIC, DIRECT, PROCESS);
            return report.build();
        }
        report.check(library(found));
        report.check(headers(found, environment, root));
        Optional<PciAddress> place = place(request);
        nics(place, EpKeys.NIC_GID_INDEX.get(request.config()), report);
        report.check(process());
        report.fact(ProbeReport.SUMMARY, "NVSHMEM " + found.version());
        report.fact(NvshmemFacts.VERSION, found.version().toString());
        report.fact(NvshmemFacts.TRANSPORT, NvshmemKeys.TRANSPORT.get(request.config()));
        report.fact(NvshmemFacts.MAPS, Boolean.toString(NvshmemKeys.MAPS.get(request.config())));
        report.identity(NvshmemFacts.PROCESS, GpuSharing.process());
        String machine = NvshmemFacts.machine();
        report.identity(NvshmemFacts.MACHINE, machine);
        // GPUs of machines without a name of their own could not be distinguished.
        place.filter(address -> !machine.isEmpty())
                .ifPresent(address -> report.identity(NvshmemFacts.GPU, machine + " " + address));
        return report.build();
    }

    private static void notRun(ProbeReport.Builder report, String why, String... codes) {
        for (String code : codes) {
            report.check(Check.notRun(code, why));
        }
    }

    private static Check library(NvshmemInstallation found) {
        String detail = "NVSHMEM " + found.version() + ", " + found.host();
        return found.version().known()
                ? Check.pass(LIBRARY, detail)
                : Check.fail(
                        LIBRARY,
                        detail + ", a version that ep4j does not support",
                        "install NVSHMEM " + NvshmemVersion.OLDEST + " or newer, below 4");
    }

    private static Check headers(NvshmemInstallation found, Map<String, String> environment, Path root) {
        List<Path> folders = found.cudaHeaders(environment, root);
        return folders.isEmpty()
                ? Check.fail(
                        HEADERS,
                        "there is no folder with cuda_runtime.h and CCCL (cuda/std/type_traits), looked in "
                                + found.cudaFolders(environment, root),
                        "install the CUDA toolkit, or the Python packages nvidia-cuda-runtime and nvidia-cuda-cccl, or"
                                + " set CUDA_HOME")
                : Check.pass(HEADERS, "headers of CUDA in " + folders.get(0));
    }

    private static void nics(Optional<PciAddress> place, int gidIndex, ProbeReport.Builder report) {
        Optional<NicPaths> nics = locality(place, gidIndex).flatMap(NvshmemOffer::nics);
        if (nics.isEmpty()) {
            report.check(Check.warn(
                    NIC,
                    "there is no mlx5 NIC with a port that is up: only GPUs of this machine can be reached",
                    "use ibrc-multiqp or efa for other NICs; if there is a ConnectX, bring its port up"));
            notRun(report, "there is no mlx5 NIC with a port that is up", DIRECT);
            return;
        }
        report.check(Check.pass(NIC, "mlx5 NIC " + nics.get().nearest().name()));
        Check direct = NvshmemOffer.direct(nics.get());
        // GPUs of this machine are reached all the same.
        report.check(
                direct.status() == Check.Status.FAIL ? Check.warn(DIRECT, direct.detail(), direct.remedy()) : direct);
    }

    /** Returns the PCI address of the GPU, if it can be found out. */
    private static Optional<PciAddress> place(ProbeRequest request) {
        try {
            return CudaGpus.look().all().stream()
                    .filter(gpu -> gpu.ordinal() == request.device().ordinal())
                    .findFirst()
                    .flatMap(VisibleGpu::address);
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }

    /** A machine that cannot be read has no NICs that are known. */
    private static Optional<Locality> locality(Optional<PciAddress> place, int gidIndex) {
        try {
            Topology topology = Topologies.live();
            return topology.gpus().stream()
                    .filter(gpu -> place.isPresent() && gpu.address().equals(place))
                    .findFirst()
                    .map(gpu -> Localities.of(topology, gpu, gidIndex));
        } catch (RuntimeException e) {
            return Optional.empty();
        }
    }

    private static Check process() {
        return NvshmemProcess.get()
                .world()
                .map(world -> Check.pass(
                        PROCESS, "this process is PE " + world.pe() + " of " + world.size() + " until it ends"))
                .orElseGet(() -> Check.pass(PROCESS, "this process has not initialised NVSHMEM yet"));
    }
}
