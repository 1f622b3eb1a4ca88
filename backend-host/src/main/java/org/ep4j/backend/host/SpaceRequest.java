package org.ep4j.backend.host;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.plan.RecordCodec;
import org.ep4j.transport.memory.FileSystemStatus;

/**
 * Size of a buffer on one rank, and the space that the rank finds free; exchanged before any rank takes space: filling a memory
 * file system completely can make the kernel kill processes, and the refusal should name the need of all ranks.
 *
 * @param bytes this rank's size of the buffer
 * @param folderFree bytes that files in the folder may still take
 * @param memoryFree bytes of memory and swap that the machine can still give; {@link Long#MAX_VALUE} where files do not
 *     live in memory, or it is unknown
 * @param group what this rank's control group allows it to take of memory, where that is limited and files live in memory
 * @param folder path of the folder on this rank
 */
record SpaceRequest(long bytes, long folderFree, long memoryFree, Optional<CgroupMemory> group, String folder) {
    static final RecordCodec<SpaceRequest> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), SpaceRequest.class, "its free space", 1);

    private static final Path MEMORY = Path.of("/proc/meminfo");
    private static final Path PROCESS = Path.of("/proc/self");
    private static final Pattern AVAILABLE = Pattern.compile("(?m)^(MemAvailable|SwapFree): +(\\d{1,15}) kB$");

    static SpaceRequest measure(long bytes, ShmFolder folder) {
        long folderFree = Long.MAX_VALUE;
        boolean inMemory = true;
        try {
            FileSystemStatus status = folder.fileSystem();
            folderFree = status.freeBytes();
            inMemory = status.inMemory();
        } catch (IOException e) {
            // The kernel does not answer: reserving the space shows later whether it is there.
            inMemory = false;
        }
        if (!inMemory) {
            return new SpaceRequest(bytes, folderFree, Long.MAX_VALUE, Optional.empty(), folder.toString());
        }
        long available = 0;
        long swapFree = 0;
        try {
            Matcher matcher = AVAILABLE.matcher(Files.readString(MEMORY));
            while (matcher.find()) {
                long value = Long.parseLong(matcher.group(2)) << 10;
                available += value;
                swapFree += matcher.group(1).equals("SwapFree") ? value : 0;
            }
        } catch (IOException e) {
            available = 0;
        }
        return new SpaceRequest(
                bytes,
                folderFree,
                available == 0 ? Long.MAX_VALUE : available,
                CgroupMemory.read(PROCESS, swapFree),
                folder.toString());
    }

    /** Returns true if two ranks of one machine take memory of the same control group. */
    boolean sharesGroup(SpaceRequest other) {
        return group.isPresent()
                && other.group().isPresent()
                && group.get().group() == other.group().get().group();
    }

    /**
     * Returns why this rank, and those that share its folder, cannot have their buffers; empty when they can.
     *
     * @param ranks how many share the folder
     * @param grouped how many of these are in the same control group
     */
    Optional<String> refusal(String buffer, int ranks, int grouped) {
        if (bytes > Math.min(folderFree, memoryFree) / ranks) {
            String need = need(buffer, ranks);
            return Optional.of(
                    folderFree <= memoryFree
                            ? need + ", which has " + Bytes.text(folderFree) + " free; " + ShmProbe.MORE_ROOM
                            : need + "; this folder keeps files in memory, but the machine has only "
                                    + Bytes.text(memoryFree)
                                    + " of memory free; ask for a smaller buffer, or run fewer ranks on this machine");
        }
        // The kernel would kill a process of the group.
        return group.filter(limit -> bytes > limit.free() / grouped)
                .map(limit -> need(buffer, grouped) + "; this folder keeps files in memory, but the control group "
                        + limit.folder() + " allows only " + Bytes.text(limit.free())
                        + " more memory; give the container more memory (docker run --memory; Kubernetes:"
                        + " resources.limits.memory), ask for a smaller buffer, or run fewer ranks in this"
                        + " control group");
    }

    private String need(String buffer, int ranks) {
        return (ranks == 1 ? "1 rank needs " : ranks + " ranks need " + Bytes.text(bytes) + " each, in total ")
                + Bytes.text(saturatedProduct(bytes, ranks)) + " of shared memory for buffer \"" + buffer + "\" in "
                + folder;
    }

    private static long saturatedProduct(long a, int b) {
        return a > Long.MAX_VALUE / b ? Long.MAX_VALUE : a * b;
    }
}
