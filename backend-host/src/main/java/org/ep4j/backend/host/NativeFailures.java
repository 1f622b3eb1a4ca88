package org.ep4j.backend.host;

import java.io.IOException;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.engine.memory.FileSystemStatus;

/** Says what a failed call of the C library means for somebody who wanted a buffer. */
final class NativeFailures {
    private NativeFailures() {}

    static EpException translate(NativeCallException e, String buffer, long bytes, ShmFolder folder) {
        String wanted = Bytes.text(bytes) + " of shared memory for buffer \"" + buffer + "\" in " + folder + ": "
                + e.getMessage();
        return switch (e.error().number()) {
            case Errno.ENOSPC, Errno.EDQUOT -> new EpResourceException(wanted + "; the folder " + shortage(folder), e);
            case Errno.ENOMEM ->
                new EpResourceException(
                        wanted + "; the folder has " + free(folder)
                                + " free; ask for a smaller buffer, or raise the limit that was met: memory of the machine or"
                                + " container, address space (ulimit -v), number of mappings (vm.max_map_count)",
                        e);
            case Errno.EMFILE -> new EpResourceException(wanted + "; raise the number of open files (ulimit -n)", e);
            case Errno.ENFILE ->
                new EpResourceException(wanted + "; raise the number of open files of the machine (fs.file-max)", e);
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

    private static String shortage(ShmFolder folder) {
        try {
            return shortage(folder, folder.fileSystem());
        } catch (IOException unknown) {
            return "has an unknown number of bytes free; " + ShmProbe.MORE_ROOM;
        }
    }

    /** Without a free inode no file can be made, whatever number of bytes is free. */
    static String shortage(ShmFolder folder, FileSystemStatus status) {
        return status.freeFiles() == 0
                ? "can hold no further file (all its inodes are in use); " + ShmProbe.moreFiles(folder)
                : "has " + free(status) + " free; " + ShmProbe.MORE_ROOM;
    }

    private static String free(ShmFolder folder) {
        try {
            return free(folder.fileSystem());
        } catch (IOException unknown) {
            return "an unknown number of bytes";
        }
    }

    private static String free(FileSystemStatus status) {
        long free = status.freeBytes();
        return free == Long.MAX_VALUE ? "no limit of its own, or an unknown number of bytes" : Bytes.text(free);
    }
}
