package org.ep4j.cli.doctor;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpEngine;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.EpShape;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.config.EpKeys;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.doctor.DoctorInput.Room;
import org.ep4j.plan.BackendChoice;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.TckSubject;
import org.ep4j.transport.memory.FileSystemStatus;

/** Shared memory for the buffers of ranks on the host device: what they need and what is free, in bytes and in files. */
public final class SharedMemory {
    private static final String BACKEND = "host-shm";
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final double MIB = 1 << 20;
    private static final double GIB = 1 << 30;

    private SharedMemory() {}

    /** Returns the need of ranks that all map each other's buffers of a shape. */
    static Need need(EpShape shape, int ranks) {
        return new Need(ranks, EpEngine.installed().bufferSize(shape, ranks, 0).symmetricBytes());
    }

    /** Returns the free room in a folder of the running machine. */
    static Room room(Path folder) {
        File file = folder.toFile();
        long freeFiles = Long.MAX_VALUE;
        try {
            freeFiles = FileSystemStatus.of(folder).freeFiles();
        } catch (IOException | EpException | LinkageError e) {
            // Where files are short, making one fails later, with an EpResourceException that names the fix.
        }
        return new Room(folder.toString(), file.getTotalSpace(), file.getUsableSpace(), freeFiles);
    }

    /**
     * Refuses ranks whose buffers do not fit, before they are started; does nothing where they would not share memory by files. The
     * backend refuses too, but not before all of them have joined, which hundreds of processes on a few processors hardly do.
     *
     * @throws EpResourceException naming the need of all ranks, what is free, and what to do
     */
    public static void check(ExchangeSpec spec) {
        EpConfig.Builder settings = EpConfig.builder();
        if (!spec.backend().isEmpty()) {
            settings.set(EpKeys.BACKEND_REQUIRE.name(), spec.backend());
        }
        EpConfig config = settings.build();
        if (spec.ranks() == 1 || BackendChoice.from(config).refuses(BACKEND).isPresent()) {
            return;
        }
        // Empty where the backend is not installed or cannot be used here, about which joining says more.
        Optional<String> folder = TckSubject.backendProvider(BACKEND)
                .flatMap(backend -> Optional.ofNullable(backend.probe(ProbeRequest.of(Device.HOST, config, DEADLINE))
                        .facts()
                        .get(ProbeReport.FOLDER)));
        folder.flatMap(name -> refusal(need(spec.shape(), spec.ranks()), room(Path.of(name))))
                .ifPresent(why -> {
                    throw new EpResourceException(why);
                });
    }

    /** Returns why ranks do not fit into a folder; empty when they do. */
    public static Optional<String> refusal(Need need, Room room) {
        if (!room.holdsFilesOf(need)) {
            return Optional.of(need.ranks() + " ranks need " + need.files() + " files of shared memory, but "
                    + room.folder()
                    + " has room for only " + room.freeFiles()
                    + " more files (inodes); start fewer ranks (--ranks), remove the files"
                    + " that earlier jobs left in the folder, allow more inodes (as root: mount -o remount,nr_inodes=1m "
                    + room.folder()
                    + "), or set ep.shm.dir to a folder with more room");
        }
        if (room.holdsBytesOf(need)) {
            return Optional.empty();
        }
        double bytes = (double) need.bytesPerRank() * need.ranks();
        String size = (long) Math.ceil(bytes / GIB + 1) + "g";
        return Optional.of(need.ranks() + " ranks need " + text(bytes) + " of shared memory for their buffers, but "
                + room.folder() + " has " + text((double) room.free())
                + " free; start fewer ranks (--ranks), choose a smaller --hidden or fewer"
                + " tokens, make the folder bigger (docker run --shm-size=" + size
                + "; as root: mount -o remount,size=" + size + " " + room.folder()
                + "), or set ep.shm.dir to a folder with more room");
    }

    private static String text(double bytes) {
        return bytes < GIB
                ? String.format(Locale.ROOT, "%.1f MiB", bytes / MIB)
                : String.format(Locale.ROOT, "%.1f GiB", bytes / GIB);
    }
}
