package org.ep4j.transport.memory;

import com.sun.jna.Native;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Kind and free space of a mounted file system, as the kernel reports them.
 *
 * @param kind its name where {@link #NAMES} has it, for example {@code tmpfs}; else its number in hexadecimal
 * @param freeBytes bytes that files of this user may still take; {@link Long#MAX_VALUE} where it sets no limit
 * @param freeFiles files that may still be made; {@link Long#MAX_VALUE} where it sets no limit
 */
public record FileSystemStatus(String kind, long freeBytes, long freeFiles) {
    /** Numbers of {@code linux/magic.h}: what folders for shared memory are usually on. */
    private static final Map<Long, String> NAMES = Map.of(
            0x01021994L, "tmpfs",
            0x858458f6L, "ramfs",
            0x958458f6L, "hugetlbfs",
            0xef53L, "ext4",
            0x58465342L, "xfs",
            0x9123683eL, "btrfs",
            0x794c7630L, "overlay",
            0x2fc12fc1L, "zfs",
            0x6969L, "nfs",
            0x0bd00bd0L, "lustre");

    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs");

    /** More than the 15 words of {@code struct statfs}. */
    private static final int WORDS = 32;

    /**
     * Queries the file system that holds a path. {@link java.nio.file.Files#getFileStore} searches for a mount point instead, which fails
     * where a change of the root has hidden it, and does not count files.
     *
     * @throws IOException when the kernel does not answer
     * @throws org.ep4j.EpUnavailableException when JNA cannot start here
     * @throws LinkageError when the C library lacks the call
     */
    public static FileSystemStatus of(Path path) throws IOException {
        long[] words = new long[WORDS];
        Calls calls = new Calls();
        if (calls.statfs(NativeMethods.pathBytes(path), words) != 0) {
            int error = Native.getLastError();
            throw new IOException(
                    "statfs of " + path + " failed with error " + error + " (" + calls.strerror(error) + ")");
        }
        return of(words);
    }

    /** Reads a {@code struct statfs} of 64-bit Linux ({@code asm-generic/statfs.h}), as 64-bit words. */
    static FileSystemStatus of(long[] words) {
        long type = words[0];
        long blockSize = words[1];
        long blocks = words[2];
        long usable = words[4];
        long files = words[5];
        long freeFiles = words[6];
        return new FileSystemStatus(
                NAMES.getOrDefault(type, "file system 0x" + Long.toHexString(type)),
                // A memory file system without a limit has no blocks and no files at all.
                blocks == 0 ? Long.MAX_VALUE : blockSize * usable,
                files == 0 ? Long.MAX_VALUE : freeFiles);
    }

    /** Returns true if files take memory and nothing else. */
    public boolean inMemory() {
        return IN_MEMORY.contains(kind);
    }

    private static final class Calls {
        Calls() {
            NativeMethods.bindToC(Calls.class);
        }

        native int statfs(byte[] path, long[] status);

        native @Nullable String strerror(int error);
    }
}
