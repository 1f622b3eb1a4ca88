package org.ep4j.cli.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpShape;
import org.ep4j.config.ConfigKey;
import org.ep4j.doctor.Doctor;
import org.ep4j.doctor.DoctorInput;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.doctor.FoundLibrary;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.model.Printable;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Topologies;

/**
 * Results of the probes and checks of a machine.
 *
 * @param source where the machine was read from
 * @param live false for a recording, where nothing can be probed
 * @param hardware of the machine
 * @param probes results of devices and backends
 * @param checks results of the doctor's checks
 * @param notes things that could not be done, and why
 */
public record Examination(
        String source, boolean live, Hardware hardware, List<Probe> probes, List<Check> checks, List<String> notes) {
    /** Ranks, and tokens of prefill and decode, of ./ep demo. */
    private static final int DEMO_RANKS = 4;

    private static final int PREFILL = 1024;
    private static final int DECODE = 128;

    /** Bytes. Linux gives a process 6 MiB for arguments and environment with its usual limits. */
    private static final int MOST_ENVIRONMENT = 8 << 20;

    private static final String EXPECTED = "a file with NAME=VALUE lines, or a copy of /proc/PID/environ";

    /** A setting of nvshmem-ibgda, which may be absent. */
    private static final String NVSHMEM_HOME = "ep.nvshmem.home";

    public static Examination here() {
        EpConfig config = EpConfig.load();
        Topology machine = Topologies.live();
        FileTree files = FileTree.of(Path.of("/"));
        return of(machine, files, System.getenv(), config, Probes.of(machine, config), true);
    }

    /**
     * Reads the variables of a process from a file: {@code NAME=VALUE} on lines, as {@code env} prints them, or ended by NUL, as {@code
     * /proc/PID/environ} has them. Of a name that is there twice the last counts. A line that begins no variable continues the value
     * before it, because {@code env} prints values of several lines so.
     *
     * @throws EpArgumentException when it cannot be read or begins otherwise
     */
    public static Map<String, String> variables(Path file) {
        String text;
        if (file.toString().isEmpty() || (Files.exists(file) && !Files.isRegularFile(file))) {
            throw badEnvironment(
                    file.toString().isEmpty() ? "empty" : file + " (not a regular file)", "name a regular file");
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MOST_ENVIRONMENT + 1);
            if (bytes.length > MOST_ENVIRONMENT) {
                throw badEnvironment(file + " (larger than " + MOST_ENVIRONMENT + " bytes)", "name the right file");
            }
            text = new String(bytes, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new EpArgumentException(
                    "--env",
                    file + " (cannot be read: " + e + ")",
                    EXPECTED,
                    "name an existing file that can be read",
                    e);
        }
        boolean nul = text.indexOf('\0') >= 0;
        Map<String, String> variables = new HashMap<>();
        String last = "";
        for (String entry : text.split(nul ? "\0" : "\r?\n", -1)) {
            if (entry.matches("(?s)[A-Za-z_][^=\\s]*=.*")) {
                int equals = entry.indexOf('=');
                last = entry.substring(0, equals);
                variables.put(last, entry.substring(equals + 1));
            } else if (!last.isEmpty() && !entry.isEmpty() && !nul) {
                variables.merge(last, entry, (before, more) -> before + "\n" + more);
            } else if (!entry.isBlank() && !nul) {
                throw badEnvironment(
                        file + " (begins with " + Printable.quote(entry) + ")",
                        "write the output of the command env to this file");
            }
        }
        return variables;
    }

    private static EpArgumentException badEnvironment(String value, String fix) {
        return new EpArgumentException("--env", value, EXPECTED, fix);
    }

    /**
     * Examines a recording of {@code /sys}, {@code /proc} and whatever else it holds.
     *
     * @param environment variables of a process there, which give settings too
     * @throws EpArgumentException when there is no such folder
     * @throws org.ep4j.topology.model.TopologyException when it holds no recording that can be understood
     */
    public static Examination recorded(Path root, Map<String, String> environment) {
        String source = root.toString();
        if (source.isEmpty() || !Files.isDirectory(root)) {
            throw new EpArgumentException(
                    "--root",
                    source.isEmpty() ? "empty" : source + " (not a folder)",
                    "a folder with a recording of /sys and /proc",
                    "name such a folder; docs/reference/doctor.md shows how to make one");
        }
        EpConfig config = EpConfig.builder(Map.of(), environment).build();
        FileTree files = Topologies.recording(source, FileTree.of(root));
        return of(Topologies.read(source, files, environment), files, environment, config, List.of(), false);
    }

    private static Examination of(
            Topology machine,
            FileTree files,
            Map<String, String> environment,
            EpConfig config,
            List<Probe> probes,
            boolean live) {
        List<String> notes = new ArrayList<>();
        Map<Integer, List<String>> nics = Map.of();
        try {
            nics = DoctorPlan.nics(machine, config);
        } catch (EpException e) {
            notes.add("no plan could be made, so NICs are not assigned: " + e.getMessage());
        }
        if (live) {
            notes.addAll(Probes.unserved(probes, config));
        }
        List<ConfigKey<?>> keys = Probes.keys(machine, config);
        DoctorInput input = new DoctorInput(
                machine,
                files,
                environment,
                config,
                nics,
                FoundLibrary.search(files, environment),
                need(machine),
                // Where ranks put the files that they share; a recording has no room.
                probes.stream()
                        .flatMap(probe -> probe.folder().stream())
                        .findFirst()
                        .map(folder -> SharedMemory.room(Path.of(folder))),
                keys,
                nvshmemHome(keys, config));
        return new Examination(
                machine.source(), live, Hardware.of(machine, files, live), probes, Doctor.examine(input), notes);
    }

    /** Returns the NVSHMEM that the settings name; empty where they name none, or something that is no path, which the probe reports. */
    private static Optional<Path> nvshmemHome(List<ConfigKey<?>> keys, EpConfig config) {
        try {
            return keys.stream()
                    .filter(key -> key.name().equals(NVSHMEM_HOME))
                    .map(key -> key.setting(config).text())
                    .filter(text -> !text.isBlank())
                    .map(text -> Path.of(text).toAbsolutePath())
                    .findFirst();
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    private static Need need(Topology machine) {
        int gpus = (int) machine.gpus().stream().filter(gpu -> gpu.host() == 0).count();
        EpShape shape = EpShape.builder(7168, 256, 8)
                .maxTokens(PREFILL)
                .maxLowLatencyTokens(DECODE)
                .build();
        return SharedMemory.need(shape, gpus == 0 ? DEMO_RANKS : gpus);
    }

    /** Returns the result; problems come before the absence of GPUs. */
    public Verdict verdict() {
        if (live && usable().isEmpty()) {
            return Verdict.NOTHING;
        }
        List<Probe> troubled = probes.stream().filter(this::trouble).toList();
        if (troubled.stream().anyMatch(probe -> !probe.usable())
                || checks.stream().anyMatch(check -> check.status() == Status.FAIL)) {
            return Verdict.PROBLEMS;
        }
        if (!notes.isEmpty() || !troubled.isEmpty() || checks.stream().anyMatch(Examination::trouble)) {
            return Verdict.WARNINGS;
        }
        if (live && usable().stream().allMatch(device -> device.startsWith(Device.HOST.type() + ":"))) {
            return Verdict.HOST_ONLY;
        }
        return live ? Verdict.USABLE : Verdict.CLEAN;
    }

    /** Returns the verdict as text; for a recording, which may be usable or not, the number of checks that were made. */
    String outcome() {
        if (live) {
            return verdict().toString();
        }
        long made = checks.stream()
                .filter(check -> check.status() != Status.NOT_RUN && check.status() != Status.NOT_APPLICABLE)
                .count();
        return "recording examined by " + made + " of " + checks.size() + " checks, no device or backend was probed; "
                + (verdict() == Verdict.WARNINGS ? "warnings" : verdict());
    }

    static boolean trouble(Check check) {
        return check.status() == Status.WARN || check.status() == Status.FAIL;
    }

    /**
     * Returns whether a probe is a problem for a user: what the settings name cannot be used or warns, a device warns, or nothing else
     * stands in. A backend that is not for a device is no trouble as long as another one is.
     */
    boolean trouble(Probe probe) {
        if (probe.notApplicable().isPresent() || (probe.usable() && !probe.warns())) {
            return false;
        }
        if (probe.asked() || probe.devices().isEmpty() || (probe.kind().equals("device") && probe.usable())) {
            return true;
        }
        return probe.usable()
                ? !served(one -> one.kind().equals("backend") && one.usable() && !one.warns())
                        .containsAll(probe.devices())
                : !usable().containsAll(probe.devices());
    }

    List<String> usable() {
        return served(probe -> probe.kind().equals("backend") && probe.usable());
    }

    private List<String> served(Predicate<Probe> by) {
        return probes.stream()
                .filter(by)
                .flatMap(probe -> probe.devices().stream())
                .distinct()
                .toList();
    }

    /** Result of an examination. */
    public enum Verdict {
        /** A GPU can be used, and nothing is amiss. */
        USABLE("usable"),
        /** A recording, of which nothing could be probed, in which nothing is amiss. */
        CLEAN("no problems found"),
        /** It can be used, or is a recording, but a check warns. */
        WARNINGS("usable with warnings"),
        /** A check failed. */
        PROBLEMS("problems found"),
        /** The host device alone can be used, and nothing is amiss. */
        HOST_ONLY("only the host device is usable"),
        /** Not even the host device can be used. */
        NOTHING("nothing can be used");

        private final String text;

        Verdict(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }
}
