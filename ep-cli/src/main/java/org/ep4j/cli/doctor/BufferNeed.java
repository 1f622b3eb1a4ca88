package org.ep4j.cli.doctor;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import org.ep4j.EpEngine;
import org.ep4j.EpException;
import org.ep4j.EpShape;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.doctor.DoctorInput.Room;
import org.ep4j.transport.memory.FileSystemStatus;

/** Memory that ranks of one host share with each other, and the room for it. */
public final class BufferNeed {
    private BufferNeed() {}

    /** The need of ranks that all map each other's buffers of a shape. */
    public static Need of(EpShape shape, int ranks) {
        return new Need(ranks, EpEngine.installed().bufferSize(shape, ranks, 0).symmetricBytes());
    }

    /** The room in a folder of the running machine. */
    public static Room room(Path folder) {
        File file = folder.toFile();
        return new Room(folder.toString(), file.getTotalSpace(), file.getUsableSpace(), freeFiles(folder));
    }

    private static long freeFiles(Path folder) {
        try {
            return FileSystemStatus.of(folder).freeFiles();
        } catch (IOException | EpException | LinkageError e) {
            // Where files are short, making one fails later, with an EpResourceException that names the fix.
            return Long.MAX_VALUE;
        }
    }
}
