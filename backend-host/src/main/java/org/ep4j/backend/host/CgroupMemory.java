package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Memory that the control groups of this process allow it to take. Files of a memory file system count, and beyond the limit the kernel
 * kills processes of the group instead of refusing memory. Version 1 and 2 of the kernel's interface (cgroups(7), admin-guide/cgroup-v2.rst,
 * admin-guide/cgroup-v1/memory.rst).
 *
 * @param free bytes of memory and swap that the group which has least left may still take
 * @param group number of this group, the same for all its processes on a machine
 * @param folder path of this group, for messages
 */
record CgroupMemory(long free, long group, String folder) {
    /** Checks the number of bytes. */
    CgroupMemory {
        if (free < 0) {
            throw new IllegalArgumentException("a control group with " + free + " free bytes, must be at least 0");
        }
    }

    /** Limits of this size or more stand for none. */
    private static final long NONE = 1L << 60;

    private static final Version ONE = new Version(
            "cgroup",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "memory.memsw.limit_in_bytes",
            "memory.memsw.usage_in_bytes",
            "total_inactive_file",
            "total_active_file");

    private static final Version TWO = new Version(
            "cgroup2",
            "memory.max",
            "memory.current",
            "memory.swap.max",
            "memory.swap.current",
            "inactive_file",
            "active_file");

    /** One version of the interface: the names of its file system, files and statistics. */
    private record Version(
            String fileSystem,
            String limit,
            String usage,
            String swapLimit,
            String swapUsage,
            String inactive,
            String active) {}

    /**
     * Reads the limits of this process.
     *
     * @param process folder of the process in /proc
     * @param swapFree bytes of the machine's swap that are free
     * @return empty if no group has a limit, or nothing can be read of it
     */
    static Optional<CgroupMemory> read(Path process, long swapFree) {
        return read(process, swapFree, ONE).or(() -> read(process, swapFree, TWO));
    }

    private static Optional<CgroupMemory> read(Path process, long swapFree, Version version) {
        try {
            Optional<Path> mount = Optional.empty();
            String root = "/";
            for (String line : Files.readAllLines(process.resolve("mountinfo"))) {
                // Number, parent, device, root, mount point, options, ..., "-", type, source, options of the file
                // system: proc(5).
                List<String> fields = List.of(line.split(" ", -1));
                int dash = fields.indexOf("-");
                if (dash >= 5
                        && fields.size() > dash + 3
                        && fields.get(dash + 1).equals(version.fileSystem)
                        && (version.equals(TWO)
                                || List.of(fields.get(dash + 3).split(",", -1)).contains("memory"))) {
                    mount = Optional.of(Path.of(fields.get(4)));
                    root = fields.get(3);
                }
            }
            Optional<String> group = ownGroup(process, version);
            if (mount.isEmpty() || group.isEmpty()) {
                return Optional.empty();
            }
            return tightest(mount.get(), below(root, group.get()), swapFree, version);
        } catch (IOException | RuntimeException e) {
            // Files that are not as described: without them the limits of the machine count.
            return Optional.empty();
        }
    }

    /** Path of this process's group in the hierarchy that limits memory. */
    private static Optional<String> ownGroup(Path process, Version version) throws IOException {
        for (String line : Files.readAllLines(process.resolve("cgroup"))) {
            List<String> fields = List.of(line.split(":", 3));
            if (fields.size() == 3
                    && (version.equals(TWO)
                            ? fields.get(0).equals("0") && fields.get(1).isEmpty()
                            : List.of(fields.get(1).split(",", -1)).contains("memory"))) {
                return Optional.of(fields.get(2));
            }
        }
        return Optional.empty();
    }

    /** Path of a group below what is mounted; the mounted group itself where the path leads out of it, as in some containers. */
    private static String below(String root, String group) {
        String rest = root.equals("/") ? group : group.startsWith(root) ? group.substring(root.length()) : "";
        return rest.contains("..") ? "" : rest;
    }

    /** Finds the group with least left among a group and those above it, which limit it too. */
    private static Optional<CgroupMemory> tightest(Path mount, String below, long swapFree, Version version)
            throws IOException {
        Optional<CgroupMemory> least = Optional.empty();
        Path folder = mount.resolve(below.replaceFirst("^/+", "")).normalize();
        if (!Files.isDirectory(folder)) {
            folder = mount;
        }
        for (Path one = folder; one != null && one.startsWith(mount); one = one.getParent()) {
            long free = free(one, swapFree, version);
            if (free < NONE && (least.isEmpty() || free < least.get().free())) {
                Object number = Files.getAttribute(one, "unix:ino");
                least = Optional.of(new CgroupMemory(free, (Long) number, one.toString()));
            }
        }
        return least;
    }

    private static long free(Path folder, long swapFree, Version version) throws IOException {
        long limit = number(folder.resolve(version.limit));
        if (limit >= NONE) {
            return NONE;
        }
        long usage = number(folder.resolve(version.usage));
        if (usage >= NONE) {
            return NONE;
        }
        // Given up when memory is short: pages of files on disks, not those of memory file systems, and caches of the
        // kernel.
        long reclaimable = 0;
        Path statistics = folder.resolve("memory.stat");
        if (Files.isReadable(statistics)) {
            for (String line : Files.readAllLines(statistics)) {
                List<String> fields = List.of(line.split(" ", -1));
                String name = fields.get(0);
                if (name.equals(version.inactive) || name.equals(version.active) || name.equals("slab_reclaimable")) {
                    reclaimable += Long.parseLong(fields.get(1));
                }
            }
        }
        long memory = limit - usage + reclaimable;
        long swapLimit = number(folder.resolve(version.swapLimit));
        long swapUsed = swapLimit >= NONE ? 0 : number(folder.resolve(version.swapUsage));
        if (swapUsed >= NONE) {
            swapUsed = 0;
        }
        long free;
        if (swapLimit >= NONE) {
            free = memory + swapFree;
        } else if (version.equals(TWO)) {
            free = memory + Math.min(swapFree, swapLimit - swapUsed);
        } else {
            // There it is a limit of both together.
            free = Math.min(memory + swapFree, swapLimit - swapUsed + reclaimable);
        }
        return Math.max(0, free);
    }

    /** Reads a file with one number; gives a large one where the file is not there, as in the group of all, or says that there is no limit. */
    private static long number(Path file) throws IOException {
        if (!Files.isReadable(file)) {
            return NONE;
        }
        String text = Files.readString(file).strip();
        return text.matches("\\d{1,18}") ? Math.min(NONE, Long.parseLong(text)) : NONE;
    }
}
