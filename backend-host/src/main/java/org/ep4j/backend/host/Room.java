package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.EpException;

/**
 * What one rank wants and what it sees free, told to all before anybody takes anything: filling a memory file system to
 * its end can make the kernel kill processes, and the answer should name the need of all ranks.
 *
 * @param bytes this rank's size of the buffer
 * @param folderFree bytes that files in the folder may still take
 * @param memoryFree bytes of memory and swap that the machine can still give; {@link Long#MAX_VALUE} where files do not
 *     live in memory, or it is unknown
 * @param folder path of the folder on this rank
 */
record Room(long bytes, long folderFree, long memoryFree, String folder) {
    private static final Path MEMORY = Path.of("/proc/meminfo");
    private static final Pattern AVAILABLE = Pattern.compile("(?m)^(?:MemAvailable|SwapFree): +(\\d{1,15}) kB$");

    static Room look(long bytes, ShmFolder folder) {
        long folderFree = Long.MAX_VALUE;
        boolean inMemory = true;
        try {
            folderFree = folder.free();
            inMemory = ShmFolder.inMemory(folder.kind());
        } catch (IOException e) {
            // Unknown in some containers. Taking the space tells the truth later.
            inMemory = false;
        }
        return new Room(bytes, folderFree, inMemory ? availableMemory() : Long.MAX_VALUE, folder.toString());
    }

    private static long availableMemory() {
        try {
            Matcher matcher = AVAILABLE.matcher(Files.readString(MEMORY));
            long sum = 0;
            while (matcher.find()) {
                sum += Long.parseLong(matcher.group(1)) << 10;
            }
            return sum == 0 ? Long.MAX_VALUE : sum;
        } catch (IOException e) {
            return Long.MAX_VALUE;
        }
    }

    /** Why {@code ranks} ranks that share this rank's folder cannot have their buffers; empty when they can. */
    Optional<String> refusal(String buffer, int ranks) {
        long limit = Math.min(folderFree, memoryFree);
        if (bytes <= limit / ranks) {
            return Optional.empty();
        }
        String need = (ranks == 1 ? "1 rank needs " : ranks + " ranks need " + Bytes.text(bytes) + " each, ")
                + Bytes.text(saturatedProduct(bytes, ranks)) + " of shared memory for buffer \"" + buffer + "\" in "
                + folder;
        return Optional.of(
                folderFree <= memoryFree
                        ? need + ", which has " + Bytes.text(folderFree) + " free; " + ShmProbe.MORE_ROOM
                        : need + ", which keeps files in memory, and the machine has " + Bytes.text(memoryFree)
                                + " of it left; ask for a smaller buffer, or run fewer ranks on this machine");
    }

    private static long saturatedProduct(long a, int b) {
        return a > Long.MAX_VALUE / b ? Long.MAX_VALUE : a * b;
    }

    byte[] encode() {
        byte[] text = folder.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(24 + text.length)
                .putLong(bytes)
                .putLong(folderFree)
                .putLong(memoryFree)
                .put(text)
                .array();
    }

    static Room decode(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        if (buffer.remaining() < 24) {
            throw new EpException("a rank told its free space in " + bytes.length
                    + " bytes, expected at least 24; run the same ep4j version on all ranks");
        }
        return new Room(
                buffer.getLong(),
                buffer.getLong(),
                buffer.getLong(),
                StandardCharsets.UTF_8.decode(buffer).toString());
    }
}
