package org.ep4j.backend.host;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.ep4j.EpException;

/**
 * What a rank tells its peers about its file.
 *
 * @param name of the file inside the folder, which peers may see at another path
 * @param id which file it must be
 */
record Announcement(String name, FileId id) {
    byte[] encode() {
        byte[] text = name.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(16 + text.length)
                .putLong(id.device())
                .putLong(id.inode())
                .put(text)
                .array();
    }

    static Announcement decode(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        if (buffer.remaining() <= 16) {
            throw new EpException("a rank announced its shared memory in a message of " + bytes.length
                    + " bytes, expected more than 16; run the same ep4j version on all ranks");
        }
        FileId id = new FileId(buffer.getLong(), buffer.getLong());
        String name = StandardCharsets.UTF_8.decode(buffer).toString();
        if (!name.startsWith(SharedFile.PREFIX) || name.indexOf('/') >= 0) {
            throw new EpException(
                    "a rank announced the shared memory file \"" + name + "\", expected a name beginning with "
                            + SharedFile.PREFIX + "; run the same ep4j version on all ranks");
        }
        return new Announcement(name, id);
    }
}
