package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.engine.collective.Packing;

/**
 * What one rank wants and what it sees free, told to all before anybody takes anything: filling a memory file system to
 * its end can make the kernel kill processes, and the answer should name the need of all ranks.
 *
 * @param bytes this rank's size of the buffer
 * @param folderFree bytes that files in the folder may still take
 * @param memoryFree bytes of memory and swap that the machine can still give; {@link Long#MAX_VALUE} where files do not
 *     live in memory, or it is unknown
 * @param limits what control groups leave; none where files do not live in memory
 * @param folder path of the folder on this rank
 */
record Room(long bytes, long folderFree, long memoryFree, List<MemoryLimit> limits, String folder) {
    private static final Path SYSTEM = Path.of("/");
    private static final Pattern AVAILABLE = Pattern.compile("(?m)^MemAvailable: +(\\d{1,15}) kB$");
    private static final Pattern SWAP = Pattern.compile("(?m)^SwapFree: +(\\d{1,15}) kB$");

    Room {
        limits = List.copyOf(limits);
    }

    /**
     * A rank's view, for the common verdict.
     *
     * @param label the rank for messages
     * @param machine names its kernel
     * @param sharedFolder names its folder on all machines
     */
    record OfRank(String label, String machine, String sharedFolder, Room room) {}

    static Room look(long bytes, ShmFolder folder) {
        return look(bytes, folder, SYSTEM);
    }

    /** As seen in the files of a system, which may be a copy. */
    static Room look(long bytes, ShmFolder folder, Path system) {
        long folderFree = Long.MAX_VALUE;
        boolean inMemory = true;
        try {
            folderFree = folder.free();
            inMemory = ShmFolder.inMemory(folder.kind());
        } catch (IOException e) {
            // Unknown in some containers. Taking the space tells the truth later.
            inMemory = false;
        }
        return inMemory
                ? inMemory(bytes, folderFree, folder, system)
                : new Room(bytes, folderFree, Long.MAX_VALUE, List.of(), folder.toString());
    }

    private static Room inMemory(long bytes, long folderFree, ShmFolder folder, Path system) {
        String text = "";
        try {
            text = Files.readString(system.resolve("proc/meminfo"));
        } catch (IOException e) {
            // Not everywhere; limits may be known all the same.
        }
        long swap = bytes(SWAP, text).orElse(0L);
        long memory = bytes(AVAILABLE, text).map(free -> free + swap).orElse(Long.MAX_VALUE);
        return new Room(bytes, folderFree, memory, MemoryLimit.all(system, swap), folder.toString());
    }

    private static Optional<Long> bytes(Pattern pattern, String meminfo) {
        Matcher matcher = pattern.matcher(meminfo);
        return matcher.find() ? Optional.of(Long.parseLong(matcher.group(1)) << 10) : Optional.empty();
    }

    /** Bytes that this rank alone could take. */
    long free() {
        return limits.stream().mapToLong(MemoryLimit::room).reduce(Math.min(folderFree, memoryFree), Math::min);
    }

    /** Why ranks cannot have their buffers; empty when they can. All ranks come to the same verdict. */
    static Optional<String> refusal(String buffer, List<OfRank> ranks) {
        Map<String, Integer> inFolder = new TreeMap<>();
        Map<String, Integer> inGroup = new TreeMap<>();
        for (OfRank rank : ranks) {
            inFolder.merge(rank.sharedFolder(), 1, Integer::sum);
            rank.room().limits().stream()
                    .map(limit -> group(rank, limit))
                    .distinct()
                    .forEach(group -> inGroup.merge(group, 1, Integer::sum));
        }
        for (OfRank rank : ranks) {
            Optional<String> refusal = rank.room().ofFolder(buffer, inFolder.getOrDefault(rank.sharedFolder(), 1));
            for (MemoryLimit limit : rank.room().limits()) {
                refusal = refusal.or(() ->
                        rank.room().ofLimit(buffer, limit, inGroup.getOrDefault(group(rank, limit), 1)));
            }
            if (refusal.isPresent()) {
                return refusal.map(text -> rank.label() + ": " + text);
            }
        }
        return Optional.empty();
    }

    private static String group(OfRank rank, MemoryLimit limit) {
        return rank.machine() + "/" + limit.group();
    }

    private Optional<String> ofFolder(String buffer, int ranks) {
        long limit = Math.min(folderFree, memoryFree);
        if (bytes <= limit / ranks) {
            return Optional.empty();
        }
        return Optional.of(
                folderFree <= memoryFree
                        ? need(buffer, ranks) + ", which has " + Bytes.text(folderFree) + " free; " + ShmProbe.MORE_ROOM
                        : need(buffer, ranks) + ", which keeps files in memory, and the machine has "
                                + Bytes.text(memoryFree)
                                + " of it left; ask for a smaller buffer, or run fewer ranks on this machine");
    }

    private Optional<String> ofLimit(String buffer, MemoryLimit limit, int ranks) {
        if (bytes <= limit.room() / ranks) {
            return Optional.empty();
        }
        return Optional.of(need(buffer, ranks) + ", which keeps files in memory, and their control group has "
                + Bytes.text(limit.room()) + " left of its limit of " + Bytes.text(limit.bytes()) + " in "
                + limit.file()
                + "; raise the limit (docker run --memory; Kubernetes: resources.limits.memory; Slurm: --mem), ask for a"
                + " smaller buffer, or run fewer ranks in it");
    }

    private String need(String buffer, int ranks) {
        return (ranks == 1 ? "1 rank needs " : ranks + " ranks need " + Bytes.text(bytes) + " each, ")
                + Bytes.text(saturatedProduct(bytes, ranks)) + " of shared memory for buffer \"" + buffer + "\" in "
                + folder;
    }

    private static long saturatedProduct(long a, int b) {
        return a > Long.MAX_VALUE / b ? Long.MAX_VALUE : a * b;
    }

    byte[] encode() {
        return Packing.pack(out -> {
            out.putLong(bytes).putLong(folderFree).putLong(memoryFree);
            Packing.text(out, folder);
            out.putInt(limits.size());
            for (MemoryLimit limit : limits) {
                Packing.text(out, limit.group());
                Packing.text(out, limit.file());
                out.putLong(limit.bytes()).putLong(limit.room());
            }
        });
    }

    static Room decode(byte[] bytes) {
        return Packing.unpack(bytes, "its free space", Room::read);
    }

    private static Room read(ByteBuffer in) {
        long bytes = in.getLong();
        long folderFree = in.getLong();
        long memoryFree = in.getLong();
        String folder = Packing.text(in);
        int count = in.getInt();
        if (count < 0 || count > in.remaining() / (2 * Long.BYTES)) {
            throw new IllegalArgumentException("count " + count);
        }
        List<MemoryLimit> limits = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            limits.add(new MemoryLimit(Packing.text(in), Packing.text(in), in.getLong(), in.getLong()));
        }
        return new Room(bytes, folderFree, memoryFree, limits, folder);
    }
}
