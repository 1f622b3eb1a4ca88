package org.ep4j.doctor;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.spi.Check;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LibraryFolders;
import org.ep4j.topology.read.NvshmemFolders;

/** Checks of the versions of transport libraries. */
final class LibraryChecks implements Examination {
    /** Names of the user-space drivers; libmlx5 and libefa are ordinary libraries, too. */
    private static final Map<NicFamily, String> DRIVERS = Map.of(
            NicFamily.MLX5, "mlx5",
            NicFamily.EFA, "efa",
            NicFamily.BNXT, "bnxt_re",
            NicFamily.IONIC, "ionic",
            NicFamily.IRDMA, "irdma",
            NicFamily.RXE, "rxe",
            NicFamily.SIW, "siw");

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(nvshmem(input), mlx5(input), twoVersions(input), drivers(input));
    }

    private static Check nvshmem(DoctorInput input) {
        DoctorCode code = DoctorCode.NVSHMEM_VERSION;
        if (input.gpus(GpuVendor.NVIDIA).isEmpty()) {
            return code.notApplicable("no NVIDIA GPU");
        }
        List<FoundLibrary> found = foundNvshmem(input);
        if (found.isEmpty()) {
            return input.nvshmemHome()
                    .map(home -> code.notRun(
                            "no NVSHMEM was found in " + home, "see check EP-NVS-002 of the backend nvshmem-ibgda"))
                    .orElseGet(
                            () -> code.notApplicable("no NVSHMEM was found; only the backend nvshmem-ibgda needs it"));
        }
        List<FoundLibrary> known =
                found.stream().filter(one -> one.number().known()).toList();
        if (known.isEmpty()) {
            return code.notRun("version of " + found.get(0).path() + " is not known", "check nvshmem-info -n");
        }
        // The newest is taken where a group is joined.
        FoundLibrary newest = Collections.max(known, Comparator.comparing(FoundLibrary::number));
        if (!newest.number().atLeast(3, 3, 9)) {
            return code.fail("NVSHMEM " + newest + " is older than 3.3.9");
        }
        return newest.number().atLeast(3, 5)
                ? code.warn("NVSHMEM " + newest + " has the queue pair layout of 3.5")
                : code.pass("NVSHMEM " + newest);
    }

    /** Searches the folders that a group searches when it is joined: where an installation is named, its folders alone. */
    private static List<FoundLibrary> foundNvshmem(DoctorInput input) {
        List<String> folders = input.nvshmemHome()
                .map(home ->
                        NvshmemFolders.named(home).stream().map(Path::toString).toList())
                .orElseGet(() -> LibraryFolders.existing(input.files(), input.environment()));
        // Joining passes over installations that lack a part; where each lacks one, the version is reported all the
        // same.
        List<String> whole = folders.stream()
                .filter(folder -> isWhole(input.files(), folder))
                .toList();
        return FoundLibrary.search(input.files(), whole.isEmpty() ? folders : whole).stream()
                .filter(one -> one.library() == KnownLibrary.NVSHMEM)
                .toList();
    }

    private static boolean isWhole(FileTree files, String folder) {
        return files.exists(folder + "/" + NvshmemFolders.HOST)
                && files.exists(folder + "/" + NvshmemFolders.DEVICE)
                && NvshmemFolders.headers(Path.of(folder)).stream()
                        .anyMatch(include -> files.exists(include + "/" + NvshmemFolders.VERSION));
    }

    private static Check mlx5(DoctorInput input) {
        DoctorCode code = DoctorCode.MLX5_VERSION;
        if (!input.has(NicFamily.MLX5)) {
            return code.notApplicable("no NVIDIA NIC");
        }
        List<FoundLibrary> found = input.found(KnownLibrary.MLX5);
        List<FoundLibrary> known =
                found.stream().filter(one -> one.number().known()).toList();
        if (known.isEmpty()) {
            return found.isEmpty()
                    ? code.notApplicable("no libmlx5 was found (see EP-LIB-006)")
                    : code.notRun(
                            "version of " + found.get(0).path() + " is not known", "check the version of its package");
        }
        for (FoundLibrary one : known) {
            if (!one.number().atLeast(1, 25)) {
                return code.warn("libmlx5 " + one + " is older than 1.25");
            }
        }
        return code.pass("libmlx5 " + known.get(0));
    }

    private static Check twoVersions(DoctorInput input) {
        if (input.libraries().isEmpty()) {
            return DoctorCode.TWO_VERSIONS.notApplicable("none of the libraries that doctor looks for was found");
        }
        List<String> findings = new ArrayList<>();
        for (KnownLibrary library : KnownLibrary.values()) {
            // Those of Python packages are loaded by Python; another version of the system beside them is usual, and
            // harmless.
            for (boolean python : new boolean[] {false, true}) {
                Map<String, List<String>> byVersion = new TreeMap<>();
                for (FoundLibrary one : input.found(library)) {
                    if (one.number().known() && one.path().contains("-packages/") == python) {
                        byVersion
                                .computeIfAbsent(one.version(), v -> new ArrayList<>())
                                .add(one.path());
                    }
                }
                if (byVersion.size() > 1) {
                    findings.add(library.file() + ": "
                            + byVersion.entrySet().stream()
                                    .map(e -> e.getKey() + " (" + String.join(", ", e.getValue()) + ")")
                                    .collect(Collectors.joining(", ")));
                }
            }
        }
        return findings.isEmpty()
                ? DoctorCode.TWO_VERSIONS.pass(input.libraries().stream()
                        .map(one -> one.library().file() + " " + (one.version().isEmpty() ? "?" : one.version()))
                        .distinct()
                        .collect(Collectors.joining(", ")))
                : DoctorCode.TWO_VERSIONS.warn(String.join("; ", findings));
    }

    private static Check drivers(DoctorInput input) {
        DoctorCode code = DoctorCode.VERBS_DRIVERS;
        Map<String, List<String>> wanted = new LinkedHashMap<>();
        for (Nic nic : input.rdmaNics()) {
            String driver = DRIVERS.getOrDefault(nic.family(), "");
            if (!driver.isEmpty()) {
                wanted.computeIfAbsent(driver, d -> new ArrayList<>()).add(nic.name());
            }
        }
        if (wanted.isEmpty()) {
            return code.notApplicable("no NIC with RDMA whose family has a verbs driver");
        }
        if (input.withoutLibraries()) {
            return code.notRun("no folder of libraries can be read", "run doctor on the machine");
        }
        if (input.found(KnownLibrary.VERBS).isEmpty()) {
            return code.warn("libibverbs was not found");
        }
        Set<String> files = new TreeSet<>();
        for (String folder : LibraryFolders.existing(input.files(), input.environment())) {
            files.addAll(input.files().list(folder));
            files.addAll(input.files().list(folder + "/libibverbs"));
        }
        String missing = wanted.entrySet().stream()
                .filter(entry -> files.stream()
                        .noneMatch(file -> file.matches("lib" + entry.getKey() + "(-rdmav[0-9]+)?\\.so.*")))
                .map(entry -> "lib" + entry.getKey() + " for " + String.join(", ", entry.getValue()))
                .collect(Collectors.joining("; "));
        return missing.isEmpty()
                ? code.pass("drivers of " + String.join(", ", wanted.keySet()) + " are there")
                : code.warn("not found: " + missing);
    }
}
