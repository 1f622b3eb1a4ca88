package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;

/**
 * Identity of a file on one running kernel, whatever path leads to it.
 *
 * @param device number of the file system; every mount of a memory file system has its own
 * @param inode number of the file in it
 */
record FileId(long device, long inode) {
    /**
     * Identity, owner and length of a file, read at once.
     *
     * @param id which file
     * @param owner user id
     * @param size length in bytes
     */
    record Status(FileId id, int owner, long size) {}

    static Status status(Path path, LinkOption... options) throws IOException {
        Map<String, Object> values = Files.readAttributes(path, "unix:dev,ino,uid,size", options);
        return new Status(
                new FileId(
                        number(values, "dev").longValue(), number(values, "ino").longValue()),
                number(values, "uid").intValue(),
                number(values, "size").longValue());
    }

    /** Returns the status of the file behind an open descriptor of this process, also when it has no name any more. */
    static Status status(int descriptor) throws IOException {
        return status(Path.of("/proc/self/fd/" + descriptor));
    }

    private static Number number(Map<String, Object> values, String name) throws IOException {
        if (values.get(name) instanceof Number number) {
            return number;
        }
        throw new IOException("the file system reports no " + name);
    }

    @Override
    public String toString() {
        return device + ":" + inode;
    }
}
