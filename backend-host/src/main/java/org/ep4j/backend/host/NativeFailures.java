package org.ep4j.backend.host;

import java.io.IOException;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;

/** Says what a failed call of the C library means for somebody who wanted a buffer. */
final class NativeFailures {
    private NativeFailures() {}

    static EpException translate(NativeCallException e, String buffer, long bytes, ShmFolder folder) {
        String wanted = "cannot make " + Bytes.text(bytes) + " of shared memory available for buffer \"" + buffer
                + "\" in " + folder + ": " + e.getMessage();
        return switch (e.error().number()) {
            case Errno.ENOSPC, Errno.EDQUOT ->
                new EpResourceException(wanted + "; the folder " + shortage(e.call(), folder), e);
            case Errno.ENOMEM ->
                new EpResourceException(
                        wanted + "; the folder has " + free(folder)
                                + " free; ask for a smaller buffer, or raise the limit that was reached: memory of the machine or"
                                + " container, address space (ulimit -v), number of mappings (vm.max_map_count)",
                        e);
            case Errno.EMFILE -> new EpResourceException(wanted + "; raise the limit of open files (ulimit -n)", e);
            case Errno.ENFILE ->
                new EpResourceException(wanted + "; raise the limit of open files of the machine (fs.file-max)", e);
            case Errno.EOPNOTSUPP ->
                new EpException(
                        wanted + "; the folder's file system cannot reserve space; set " + ShmFolder.KEY.name()
                                + " to a folder in a tmpfs, such as /dev/shm",
                        e);
            case Errno.EACCES ->
                new EpException(
                        wanted + "; run all ranks of a machine as the same user, in the same user namespace", e);
            default ->
                new EpException(
                        wanted + "; set " + ShmFolder.KEY.name()
                                + " to a folder in a tmpfs that all ranks of the machine can"
                                + " write, such as /dev/shm",
                        e);
        };
    }

    /** A new file takes an inode and no bytes, so a folder that refuses to make one lacks inodes, whatever number of bytes is free. */
    private static String shortage(String call, ShmFolder folder) {
        return call.equals("open")
                ? "can hold no further file (all its inodes are in use); " + ShmProbe.moreFiles(folder)
                : "has " + free(folder) + " free; " + ShmProbe.MORE_ROOM;
    }

    private static String free(ShmFolder folder) {
        try {
            long free = folder.fileSystem().freeBytes();
            return free == Long.MAX_VALUE ? "an unlimited or unknown number of bytes" : Bytes.text(free);
        } catch (IOException unknown) {
            return "an unknown number of bytes";
        }
    }
}
