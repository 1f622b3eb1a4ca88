package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A limit that a control group sets to the memory of its processes. Pages of a memory file system are charged to the group of
 * the process that takes them, and to all groups above it; beyond the limit the kernel kills.
 *
 * @param group identity of the group on the running kernel: processes of other containers may be in it too
 * @param file that has the limit, as this process sees it
 * @param bytes the limit
 * @param room bytes that the group can still take, with what the kernel can drop or swap for it
 */
record MemoryLimit(String group, String file, long bytes, long room) {
    private static final int MOST_LEVELS = 64;
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,20}");
    private static final Pattern DROPPABLE = Pattern.compile("(?m)^(?:active_file|inactive_file) ([0-9]{1,18})$");
    private static final Pattern ALL_DROPPABLE =
            Pattern.compile("(?m)^total_(?:active_file|inactive_file) ([0-9]{1,18})$");
    private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");

    /**
     * A version of control groups.
     *
     * @param limits files with limits, in bytes
     * @param usage what counts towards them
     * @param swapLimit file with the limit of swap
     * @param swapUsage what counts towards that
     * @param swapWithMemory true when {@code swapLimit} and {@code swapUsage} are of memory and swap together
     * @param droppable lines of {@code memory.stat} with files in memory, which are on disks as well
     */
    private record Version(
            List<String> limits,
            String usage,
            String swapLimit,
            String swapUsage,
            boolean swapWithMemory,
            Pattern droppable) {
        /** Beyond memory.high a group is not killed, but stands still: pages of a memory file system cannot be dropped. */
        static final Version TWO = new Version(
                List.of("memory.max", "memory.high"),
                "memory.current",
                "memory.swap.max",
                "memory.swap.current",
                false,
                DROPPABLE);

        static final Version ONE = new Version(
                List.of("memory.limit_in_bytes"),
                "memory.usage_in_bytes",
                "memory.memsw.limit_in_bytes",
                "memory.memsw.usage_in_bytes",
                true,
                ALL_DROPPABLE);
    }

    /**
     * Where control groups are mounted.
     *
     * @param root group that is seen at the mount point
     * @param point folder of it
     */
    private record Mount(Version version, String root, Path point) {}

    /**
     * Limits of all groups that this process is in, as far as it sees them. Files that are missing, or hold anything but a
     * number, limit nothing.
     *
     * @param system root of the file system: {@code /}, or a copy
     * @param swap bytes of swap that the machine has free
     */
    static List<MemoryLimit> all(Path system, long swap) {
        List<MemoryLimit> limits = new ArrayList<>();
        List<String> groups = lines(system.resolve("proc/self/cgroup"));
        for (Mount mount : mounts(system)) {
            groups.stream()
                    .map(line -> path(line, mount.version()))
                    .flatMap(Optional::stream)
                    .findFirst()
                    .ifPresent(path -> limits.addAll(upwards(mount, path, swap)));
        }
        return List.copyOf(limits);
    }

    /** The path of a line of /proc/self/cgroup, {@code 4:memory:/a/b} or {@code 0::/a/b}, where it is of the version. */
    private static Optional<String> path(String line, Version version) {
        String[] parts = line.split(":", 3);
        boolean matches = parts.length == 3
                && (version.equals(Version.TWO)
                        ? parts[0].equals("0") && parts[1].isEmpty()
                        : List.of(parts[1].split(",", -1)).contains("memory"));
        return matches ? Optional.of(parts[2]) : Optional.empty();
    }

    /** Reads lines such as {@code 35 31 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory}. */
    private static List<Mount> mounts(Path system) {
        List<Mount> mounts = new ArrayList<>();
        for (String line : lines(system.resolve("proc/self/mountinfo"))) {
            String[] halves = line.split(" - ", 2);
            String[] where = halves[0].split(" ", -1);
            String[] what = halves.length == 2 ? halves[1].split(" ", -1) : new String[0];
            if (where.length < 5 || what.length < 3) {
                continue;
            }
            boolean two = what[0].equals("cgroup2");
            boolean one =
                    what[0].equals("cgroup") && List.of(what[2].split(",", -1)).contains("memory");
            if (two || one) {
                Path point = system.resolve(unescaped(where[4]).replaceFirst("^/+", ""));
                mounts.add(new Mount(two ? Version.TWO : Version.ONE, unescaped(where[3]), point));
            }
        }
        return mounts;
    }

    /** The groups from a path's own up to the mount point's. */
    private static List<MemoryLimit> upwards(Mount mount, String path, long swap) {
        List<MemoryLimit> limits = new ArrayList<>();
        Path group = folder(mount, path);
        for (int level = 0; level < MOST_LEVELS && group.startsWith(mount.point()); level++) {
            limits.addAll(of(group, mount.version(), swap));
            Path parent = group.getParent();
            if (parent == null) {
                break;
            }
            group = parent;
        }
        return limits;
    }

    /** The group's folder below the mount point, which is that of the group itself where a container sees no other. */
    private static Path folder(Mount mount, String path) {
        String root = mount.root().equals("/") ? "" : mount.root();
        boolean below = path.equals(root) || path.startsWith(root + "/");
        String rest = below ? path.substring(root.length()).replaceFirst("^/+", "") : "";
        Path folder = mount.point().resolve(rest).normalize();
        boolean seen = folder.startsWith(mount.point()) && Files.isDirectory(folder);
        return seen ? folder : mount.point();
    }

    private static List<MemoryLimit> of(Path group, Version version, long swap) {
        long used = number(group.resolve(version.usage())).orElse(0L);
        long droppable = droppable(group.resolve("memory.stat"), version.droppable());
        long swapLimit = number(group.resolve(version.swapLimit())).orElse(Long.MAX_VALUE);
        long swapUsed = number(group.resolve(version.swapUsage())).orElse(0L);
        long swapLeft = Math.max(0, swapLimit - swapUsed);
        List<MemoryLimit> limits = new ArrayList<>();
        for (String name : version.limits()) {
            Path file = group.resolve(name);
            number(file).filter(limit -> limit < Long.MAX_VALUE).ifPresent(limit -> {
                long memory = sum(Math.max(0, limit - used), droppable);
                long room = version.swapWithMemory()
                        ? Math.min(sum(memory, swap), sum(swapLeft, droppable))
                        : sum(memory, Math.min(swapLeft, swap));
                limits.add(new MemoryLimit(identity(group), file.toString(), limit, room));
            });
        }
        return limits;
    }

    private static String identity(Path group) {
        try {
            return FileId.status(group).id().toString();
        } catch (IOException | UnsupportedOperationException e) {
            return group.toString();
        }
    }

    private static long sum(long a, long b) {
        return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }

    /** A number of bytes; {@link Long#MAX_VALUE} where it is larger or {@code max}, empty where there is none. */
    private static Optional<Long> number(Path file) {
        return lines(file).stream().findFirst().map(String::strip).flatMap(text -> {
            if (text.equals("max")) {
                return Optional.of(Long.MAX_VALUE);
            }
            if (!NUMBER.matcher(text).matches()) {
                return Optional.empty();
            }
            return Optional.of(text.length() > 18 ? Long.MAX_VALUE : Long.parseLong(text));
        });
    }

    private static long droppable(Path stat, Pattern pattern) {
        Matcher matcher = pattern.matcher(String.join("\n", lines(stat)));
        long sum = 0;
        while (matcher.find()) {
            sum = sum(sum, Long.parseLong(matcher.group(1)));
        }
        return sum;
    }

    /** A space in a path is {@code \040}. */
    private static String unescaped(String path) {
        return ESCAPE.matcher(path)
                .replaceAll(
                        found -> Matcher.quoteReplacement(String.valueOf((char) Integer.parseInt(found.group(1), 8))));
    }

    /** Lines of a small text; none where it cannot be read. */
    private static List<String> lines(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.toList();
        } catch (IOException | RuntimeException e) {
            return List.of();
        }
    }
}
