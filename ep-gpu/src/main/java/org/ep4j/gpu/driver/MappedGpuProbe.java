package org.ep4j.gpu.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.topology.model.Topology;

/**
 * Finds the GPUs that this rank's GPU can share memory with, and allocates nothing. It runs once. Every code has one check, in
 * the order of the codes; those after a check that ends the probe are not run.
 *
 * @param <P> the GPUs in the machine
 */
public abstract class MappedGpuProbe<P extends MappedGpuProbe.Places> {
    /** The GPUs that the driver shows, found again in the machine. */
    public interface Places {
        /** Names by ordinal, the same for all ranks of a host; GPUs that cannot be identified have none. */
        Map<Integer, String> names();

        /** Index in the topology by name, for every GPU that the process may use; -1 if only the driver knows it. */
        Map<String, Integer> indexes();

        /** Describes links and peer access of every pair of GPUs; empty for one GPU. */
        String pairs();
    }

    /**
     * Texts of checks that depend on the driver.
     *
     * @param summary how memory is shared
     * @param remedy if the driver does not work
     * @param broken why checks are not run if the driver does not work
     * @param variables environment variables that hide GPUs
     * @param update remedy if the driver does not report the GPU's address
     * @param unplaced why checks are not run if the GPU cannot be identified
     * @param peerAccess remedy if the driver denies peer access
     */
    public record Texts(
            String summary,
            String remedy,
            String broken,
            String variables,
            String update,
            String unplaced,
            String peerAccess) {}

    private final MappedGpuProvider provider;
    private final List<String> codes;
    private final Texts texts;
    private final Supplier<VisibleGpu.VisibleGpus> shown;
    private final Supplier<Topology> topology;
    private final Supplier<ProcessFacts> process;
    private final List<Check> checks = new ArrayList<>();
    private final ProbeReport.Builder report = ProbeReport.builder();

    /**
     * Creates a probe.
     *
     * @param provider of the backend
     * @param codes of all checks
     * @param shown GPUs that the driver shows to this process
     * @param topology the machine
     * @param process this process
     */
    protected MappedGpuProbe(
            MappedGpuProvider provider,
            List<String> codes,
            Texts texts,
            Supplier<VisibleGpu.VisibleGpus> shown,
            Supplier<Topology> topology,
            Supplier<ProcessFacts> process) {
        this.provider = provider;
        this.codes = codes;
        this.texts = texts;
        this.shown = shown;
        this.topology = topology;
        this.process = process;
    }

    /** Makes the checks before the driver is called. */
    protected List<Check> beforeDriver() {
        return List.of();
    }

    /** Finds the GPUs that the driver shows in the machine. */
    protected abstract P places(List<VisibleGpu> gpus, Topology machine);

    /** The failed check of a GPU that other ranks could not identify. */
    protected Check unplaced(Device device, VisibleGpu mine) {
        return Check.fail(
                nextCode(),
                "cannot read the PCI address of " + device + ", by which other ranks identify the GPU",
                texts.update());
    }

    /** Makes the checks that follow the check of processes, and reports the facts that only this backend has. */
    protected abstract List<Check> further(VisibleGpu mine, P places, int gpus);

    /** Reports a fact for the other ranks. */
    protected final void fact(String name, String value) {
        report.fact(name, value);
    }

    /** Reports the names of the wanted peers of a GPU. */
    protected final void fact(
            String fact, VisibleGpu mine, Predicate<VisibleGpu.Peer> wanted, Map<Integer, String> names) {
        report.fact(
                fact,
                mine.peers().entrySet().stream()
                        .filter(peer -> wanted.test(peer.getValue()))
                        .flatMap(peer -> Optional.ofNullable(names.get(peer.getKey())).stream())
                        .sorted()
                        .collect(Collectors.joining(",")));
    }

    /** Describes the wanted peers of a GPU. */
    protected final String devices(VisibleGpu mine, Predicate<VisibleGpu.Peer> wanted) {
        return mine.peers().entrySet().stream()
                .filter(peer -> wanted.test(peer.getValue()))
                .map(peer -> provider.vendor().deviceType() + ":" + peer.getKey())
                .collect(Collectors.joining(", "));
    }

    public final ProbeReport probe(Device device) {
        String ended = examine(device);
        codes.subList(checks.size(), codes.size()).forEach(code -> checks.add(Check.notRun(code, ended)));
        checks.forEach(report::check);
        return report.build();
    }

    /** Returns why it ended early; empty if it did not. */
    private String examine(Device device) {
        Check kind = provider.device(device);
        checks.add(kind);
        if (kind.status() != Check.Status.PASS) {
            return "the device is not an " + provider.vendor() + " GPU";
        }
        checks.addAll(beforeDriver());
        VisibleGpu.VisibleGpus gpus;
        try {
            gpus = shown.get();
        } catch (EpException e) {
            checks.add(Check.fail(nextCode(), String.valueOf(e.getMessage()), texts.remedy()));
            return texts.broken();
        }
        int count = gpus.all().size();
        checks.add(Check.pass(nextCode(), gpus.driver() + ", " + count + " GPUs visible"));
        Optional<VisibleGpu> mine = gpus.all().stream()
                .filter(gpu -> gpu.ordinal() == device.ordinal())
                .findFirst();
        if (mine.isEmpty()) {
            checks.add(Check.fail(
                    nextCode(),
                    device + " does not exist: this process sees " + count + " GPUs",
                    "set ep.device to a lower ordinal, or check " + texts.variables()));
            return "the GPU does not exist";
        }
        P places = places(gpus.all(), machine());
        Optional<String> name = Optional.ofNullable(places.names().get(device.ordinal()));
        if (name.isEmpty()) {
            checks.add(unplaced(device, mine.get()));
            return texts.unplaced();
        }
        examine(device, mine.get(), name.get(), places);
        checks.addAll(further(mine.get(), places, count));
        return "";
    }

    /** Reads the machine; if that fails, returns one without parts, so that only the driver's facts are known. */
    private Topology machine() {
        try {
            return topology.get();
        } catch (RuntimeException e) {
            return Topology.builder("unknown: " + e).build();
        }
    }

    private void examine(Device device, VisibleGpu mine, String name, P places) {
        fact(PeerFacts.GPU, name);
        fact(ProbeReport.SUMMARY, texts.summary());
        fact(PeerFacts.ARCHITECTURE, mine.architecture());
        fact(PeerFacts.GPUS, PeerFacts.gpus(places.indexes()));
        fact(PeerFacts.DENIED, mine, peer -> !peer.possible(), places.names());
        checks.add(Check.pass(nextCode(), device + " is " + mine.name() + ", " + mine.architecture() + ", at " + name));
        checks.add(pairs(device, mine, places.pairs()));
        checks.add(processes(mine));
    }

    private String nextCode() {
        return codes.get(checks.size());
    }

    private Check pairs(Device device, VisibleGpu mine, String all) {
        if (all.isEmpty()) {
            return Check.pass(nextCode(), "this process sees one GPU");
        }
        String denied = devices(mine, peer -> !peer.possible());
        return denied.isEmpty()
                ? Check.pass(nextCode(), all)
                : Check.warn(nextCode(), device + " has no peer access to " + denied + ": " + all, texts.peerAccess());
    }

    private Check processes(VisibleGpu mine) {
        ProcessFacts own = process.get();
        report.identity(PeerFacts.PROCESS, own.process());
        report.identity(PeerFacts.USER, own.user());
        report.identity(PeerFacts.PIDS, own.pids());
        fact(PeerFacts.INTERPROCESS, mine.interprocess() ? PeerFacts.YES : PeerFacts.NO);
        String detail = "this process has user " + unknown(own.user()) + " and namespaces " + unknown(own.pids())
                + " and " + unknown(own.ipc());
        return mine.interprocess()
                ? Check.pass(
                        nextCode(), "memory can be shared with processes of the same user and PID namespace; " + detail)
                : Check.warn(
                        nextCode(),
                        "the driver cannot share memory of this GPU between processes; " + detail,
                        "run the ranks of a host as threads of one process");
    }

    private static String unknown(String text) {
        return text.isEmpty() ? "unknown" : text;
    }
}
