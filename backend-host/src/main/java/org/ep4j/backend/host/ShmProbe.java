package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfigException;
import org.ep4j.EpException;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.transport.memory.FileSystemStatus;
import org.ep4j.transport.memory.JniLibraryProblem;
import org.ep4j.transport.memory.NativeMethods;

/**
 * Checks whether this rank can share memory. It reads, and creates no file. The codes:
 *
 * <ul>
 *   <li>{@code EP-SHM-001} the device is the host
 *   <li>{@code EP-SHM-002} the system is 64-bit Linux
 *   <li>{@code EP-SHM-003} the C library can be called
 *   <li>{@code EP-SHM-004} the boot id of the machine can be read
 *   <li>{@code EP-SHM-005} the folder for shared memory files exists and is writable
 *   <li>{@code EP-SHM-006} the file system of this folder keeps files in memory
 *   <li>{@code EP-SHM-007} this folder has room for more bytes and files
 * </ul>
 */
final class ShmProbe {
    static final String DEVICE = "EP-SHM-001";
    static final String SYSTEM = "EP-SHM-002";
    static final String LIBC = "EP-SHM-003";
    static final String BOOT = "EP-SHM-004";
    static final String FOLDER = "EP-SHM-005";
    static final String KIND = "EP-SHM-006";
    static final String ROOM = "EP-SHM-007";

    /** Below this a group of a few ranks with small shapes does not fit; container runtimes give 64 MiB. */
    static final long LITTLE = 256L << 20;

    /** Below this the files of a few ranks may not fit: a lock for each rank, and two files for each buffer of it. */
    static final long FEW_FILES = 64;

    /** Remedy for a folder that has too little room. */
    static final String MORE_ROOM =
            "make the folder bigger (docker run --shm-size=8g; Kubernetes: an emptyDir of medium Memory at"
                    + " /dev/shm; as root: mount -o remount,size=8g /dev/shm) or set " + ShmFolder.KEY.name()
                    + " to a folder with more room";

    /** Remedy for a C library that lacks a call. */
    static final String LIBC_REMEDY = "run on a Linux whose C library is glibc or musl";

    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final ProbeRequest request;
    private final ProbeReport.Builder report = ProbeReport.builder();

    private ShmProbe(ProbeRequest request) {
        this.request = request;
    }

    static ProbeReport probe(ProbeRequest request) {
        return probe(
                request, System.getProperty("os.name", "unknown"), System.getProperty("sun.arch.data.model", "64"));
    }

    /** Probes as if on the given operating system and width of addresses. */
    static ProbeReport probe(ProbeRequest request, String system, String bits) {
        ShmProbe probe = new ShmProbe(request);
        probe.run(system, bits);
        return probe.report.build();
    }

    /** Returns the remedy for a folder that can hold too few files. */
    static String moreFiles(ShmFolder folder) {
        return "remove the files that earlier jobs left in the folder, or allow more inodes (as root: mount -o"
                + " remount,nr_inodes=1m "
                + folder + ")";
    }

    private void run(String system, String bits) {
        report.check(device(request.device()));
        checkSystem(system, bits).ifPresentOrElse(this::skipRest, () -> {
            checkLibc();
            checkBootId();
            checkFolder();
        });
    }

    /** Checks the type of the device, for probes and descriptions. */
    static Check device(Device device) {
        return device.type().equals(Device.HOST.type())
                ? Check.pass(DEVICE, "device " + device)
                : Check.notApplicable(
                        DEVICE,
                        "device " + device + " is not the host; this backend shares only host memory",
                        "use device host, or a backend for " + device.type());
    }

    private Optional<String> checkSystem(String system, String bits) {
        String found = system + ", " + bits + " bits";
        if (system.equals("Linux") && bits.equals("64")) {
            report.check(Check.pass(SYSTEM, found));
            return Optional.empty();
        }
        report.check(Check.fail(SYSTEM, found, "run on 64-bit Linux"));
        return Optional.of("not checked on " + found);
    }

    private void skipRest(String why) {
        for (String code : List.of(LIBC, BOOT, FOLDER, KIND, ROOM)) {
            report.check(Check.notRun(code, why));
        }
    }

    private void checkLibc() {
        Optional<JniLibraryProblem> problem = NativeMethods.problem();
        if (problem.isPresent()) {
            report.check(Check.fail(LIBC, problem.get().message(), problem.get().remedy()));
            return;
        }
        try {
            int user = Libc.load().userId();
            report.identity(ShmFacts.USER, Integer.toString(user));
            report.check(Check.pass(LIBC, "C library bound, user id " + user));
        } catch (LinkageError e) {
            report.check(Check.fail(LIBC, "the C library lacks a call: " + NativeMethods.reason(e), LIBC_REMEDY));
        }
    }

    private void checkBootId() {
        try {
            String id = Files.readString(BOOT_ID).strip().toLowerCase(Locale.ROOT);
            if (id.isEmpty()) {
                throw new IOException("it is empty");
            }
            report.identity(ShmFacts.BOOT, id);
            report.check(Check.pass(BOOT, "boot id " + id));
        } catch (IOException | RuntimeException e) {
            report.check(Check.fail(
                    BOOT,
                    BOOT_ID
                            + " cannot be read, so ranks on this machine cannot be distinguished from ranks on other"
                            + " machines: "
                            + e,
                    "mount /proc so that it contains the folder sys"));
        }
    }

    private void checkFolder() {
        ShmFolder folder;
        try {
            folder = ShmFolder.from(request.config());
        } catch (EpConfigException e) {
            skipFolder(String.valueOf(e.getMessage()));
            return;
        }
        Optional<String> problem = folder.problem();
        if (problem.isPresent()) {
            skipFolder(problem.get());
            return;
        }
        try {
            FileId id = folder.id();
            report.fact(ShmFacts.FOLDER, folder.toString());
            report.fact(ProbeReport.SUMMARY, "ranks of this machine exchange data through shared memory");
            report.identity(ShmFacts.FOLDER_ID, id.toString());
            report.check(Check.pass(FOLDER, "folder " + folder + ", file " + id));
        } catch (IOException | RuntimeException e) {
            skipFolder("the folder " + folder + " cannot be examined: " + e);
            return;
        }
        FileSystemStatus status;
        try {
            status = folder.fileSystem();
        } catch (IOException | EpException | LinkageError e) {
            String why = "the file system of " + folder + " cannot be queried: " + e.getMessage();
            report.check(Check.notRun(KIND, why));
            report.check(Check.notRun(ROOM, why));
            return;
        }
        report.check(kind(folder, status));
        report.check(room(folder, status));
    }

    private void skipFolder(String problem) {
        report.check(Check.fail(
                FOLDER,
                problem,
                "set " + ShmFolder.KEY.name() + " to a writable folder, preferably in memory, such as /dev/shm"));
        report.check(Check.notRun(KIND, "there is no usable folder"));
        report.check(Check.notRun(ROOM, "there is no usable folder"));
    }

    private static Check kind(ShmFolder folder, FileSystemStatus status) {
        if (status.kind().equals("hugetlbfs")) {
            return Check.fail(
                    KIND,
                    folder + " is a hugetlbfs, where every file consists of whole huge pages",
                    "set " + ShmFolder.KEY.name() + " to a tmpfs; to use huge pages there, mount it with huge=advise");
        }
        return status.inMemory()
                ? Check.pass(KIND, folder + " is a " + status.kind())
                : Check.warn(
                        KIND,
                        folder + " is on " + status.kind() + ", which also writes the exchanged data to disk",
                        "set " + ShmFolder.KEY.name() + " to a folder in a tmpfs, such as /dev/shm");
    }

    /** Checks free space and free files of a folder. */
    static Check room(ShmFolder folder, FileSystemStatus status) {
        if (status.freeFiles() == 0) {
            return Check.fail(
                    ROOM, folder + " can hold no further file (all its inodes are in use)", moreFiles(folder));
        }
        if (status.freeBytes() < LITTLE) {
            return Check.warn(
                    ROOM,
                    folder + " has " + Bytes.text(status.freeBytes()) + " free, less than " + Bytes.text(LITTLE),
                    MORE_ROOM);
        }
        if (status.freeFiles() < FEW_FILES) {
            return Check.warn(
                    ROOM,
                    folder + " can hold " + status.freeFiles() + " further files, less than " + FEW_FILES,
                    moreFiles(folder));
        }
        return Check.pass(
                ROOM,
                status.freeBytes() == Long.MAX_VALUE
                        ? folder + " has no limit"
                        : folder + " has " + Bytes.text(status.freeBytes()) + " free");
    }
}
