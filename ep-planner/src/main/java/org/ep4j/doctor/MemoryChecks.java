package org.ep4j.doctor;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.spi.Check;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.read.FileTree;

/** Checks of the limits of memory. */
final class MemoryChecks implements Examination {
    private static final Pattern LOCKED = Pattern.compile("(?m)^Max locked memory\\s+(\\S+)");
    private static final Pattern EFFECTIVE = Pattern.compile("(?m)^CapEff:\\s+([0-9a-fA-F]{1,16})");
    private static final Pattern AVAILABLE = Pattern.compile("(?m)^MemTotal:\\s+([0-9]{1,15}) kB");
    private static final Pattern MOUNT = Pattern.compile("(?m)^\\S* /dev/shm \\S* (\\S*)");
    private static final Pattern SIZE = Pattern.compile("(?:^|,)size=([0-9]{1,15})([kmg%]?)(?:,|$)");
    private static final long CAP_IPC_LOCK = 1L << 14;

    @Override
    public List<Check> examine(DoctorInput input) {
        return List.of(locked(input), shared(input), huge(input));
    }

    private static Check locked(DoctorInput input) {
        DoctorCode code = DoctorCode.LOCKED_MEMORY;
        if (input.rdmaNics().isEmpty()) {
            return code.notApplicable("no NIC with RDMA, so no memory is registered");
        }
        Matcher limit = LOCKED.matcher(input.files().text("/proc/self/limits").orElse(""));
        if (!limit.find()) {
            return code.notRun("/proc/self/limits cannot be read", "check ulimit -l");
        }
        String value = limit.group(1);
        Matcher effective =
                EFFECTIVE.matcher(input.files().text("/proc/self/status").orElse(""));
        boolean exempt = effective.find()
                && (Long.parseUnsignedLong(effective.group(1), 16) & CAP_IPC_LOCK) != 0
                && !input.has(NicFamily.SIW);
        if (exempt || !value.matches("[0-9]{1,18}")) {
            return code.pass(exempt ? "this process has the capability IPC_LOCK" : value);
        }
        long bytes = Long.parseLong(value);
        return bytes >= input.need().bytesPerRank()
                ? code.pass(
                        bytes(bytes) + ", a rank wants " + bytes(input.need().bytesPerRank()))
                : code.fail(bytes(bytes) + ", but a rank wants "
                        + bytes(input.need().bytesPerRank()));
    }

    private static Check shared(DoctorInput input) {
        DoctorCode code = DoctorCode.SHARED_MEMORY;
        if (input.room().isPresent()) {
            return free(code, input.room().get(), input.need());
        }
        FileTree files = input.files();
        Optional<String> mounts = files.text("/proc/mounts");
        Optional<String> options = MOUNT.matcher(mounts.orElse(""))
                .results()
                .reduce((first, last) -> last)
                .map(mount -> mount.group(1));
        if (options.isEmpty()) {
            return mounts.isEmpty()
                    ? code.notRun("/proc/mounts cannot be read", "check df /dev/shm")
                    : code.warn("nothing is mounted at /dev/shm");
        }
        Optional<Long> size = size(options.get(), files);
        if (size.isEmpty()) {
            return code.notRun("the size of /dev/shm is not known", "check df /dev/shm");
        }
        String detail = "/dev/shm has " + bytes(size.get()) + ", "
                + input.need().ranks() + " ranks want " + bytes(input.need().bytes()) + " for the shape of ./ep demo";
        return size.get() >= input.need().bytes() ? code.pass(detail) : code.warn(detail);
    }

    /** On the machine itself, files of earlier jobs count. */
    private static Check free(DoctorCode code, DoctorInput.Room room, DoctorInput.Need need) {
        String wanted = need.ranks() + " ranks want " + bytes(need.bytes()) + " for the shape of ./ep demo";
        if (!room.holdsFilesOf(need)) {
            return code.warn(room.folder() + " can hold " + room.freeFiles() + " further files (inodes), "
                    + need.ranks() + " ranks want " + need.files());
        }
        if (room.bytes() == 0) {
            return code.pass(room.folder() + " has no limit, " + wanted);
        }
        String detail =
                room.folder() + " has " + bytes(room.free()) + " free of " + bytes(room.bytes()) + ", " + wanted;
        return room.holdsBytesOf(need) ? code.pass(detail) : code.warn(detail);
    }

    /** A tmpfs without a size has half of the memory (tmpfs(5)). */
    private static Optional<Long> size(String options, FileTree files) {
        Matcher memory = AVAILABLE.matcher(files.text("/proc/meminfo").orElse(""));
        Optional<Long> total = memory.find() ? Optional.of(Long.parseLong(memory.group(1)) << 10) : Optional.empty();
        Matcher size = SIZE.matcher(options);
        if (!size.find()) {
            return total.map(bytes -> bytes / 2);
        }
        long number = Long.parseLong(size.group(1));
        return switch (size.group(2)) {
            case "k" -> Optional.of(number << 10);
            case "m" -> Optional.of(number << 20);
            case "g" -> Optional.of(number << 30);
            case "%" -> total.map(bytes -> bytes / 100 * number);
            default -> Optional.of(number);
        };
    }

    private static Check huge(DoctorInput input) {
        DoctorCode code = DoctorCode.HUGE_PAGES;
        if (input.rdmaNics().isEmpty()) {
            return code.notApplicable("no NIC with RDMA, so no memory is registered");
        }
        String folder = "/sys/kernel/mm/hugepages/hugepages-2048kB";
        Optional<String> free =
                input.files().text(folder + "/free_hugepages").filter(text -> text.matches("[0-9]{1,12}"));
        Optional<String> transparent = input.files().text("/sys/kernel/mm/transparent_hugepage/enabled");
        if (free.isEmpty() && transparent.isEmpty()) {
            return code.notRun("/sys/kernel/mm cannot be read", "run doctor on the machine");
        }
        boolean reserved = free.filter(text -> Long.parseLong(text) > 0).isPresent();
        boolean onDemand = transparent.filter(text -> !text.contains("[never]")).isPresent();
        String detail = free.orElse("0") + " free pages of 2 MiB, transparent: " + transparent.orElse("unknown");
        if (input.has(NicFamily.EFA) && !reserved) {
            return code.warn(detail + "; EFA wants reserved pages");
        }
        return reserved || onDemand ? code.pass(detail) : code.warn(detail);
    }

    private static String bytes(long bytes) {
        return bytes < 10L << 20
                ? bytes + " bytes"
                : String.format(Locale.ROOT, "%.1f GiB", bytes / (double) (1 << 30));
    }
}
