package org.ep4j.cli;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpResourceException;
import org.ep4j.cli.doctor.BufferNeed;
import org.ep4j.cli.rank.WorkSpec;
import org.ep4j.config.EpKeys;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.doctor.DoctorInput.Room;
import org.ep4j.plan.BackendChoice;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.Subjects;

/**
 * Room in shared memory, in bytes and in files, for the buffers of all ranks that a command is about to start on the host device.
 * The backend refuses too, but not before all of them have joined, which hundreds of processes on a few processors hardly do.
 */
final class RoomForRanks {
    private static final String BACKEND = "host-shm";

    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final double MIB = 1 << 20;
    private static final double GIB = 1 << 30;

    private RoomForRanks() {}

    /**
     * Looks before the ranks are started; does nothing where they would not share memory by files.
     *
     * @throws EpResourceException naming the need of all ranks, what is free, and what to do
     */
    static void check(WorkSpec spec) {
        EpConfig.Builder settings = EpConfig.builder();
        if (!spec.backend().isEmpty()) {
            settings.set(EpKeys.BACKEND_REQUIRE.name(), spec.backend());
        }
        EpConfig config = settings.build();
        if (spec.ranks() == 1 || BackendChoice.from(config).refuses(BACKEND).isPresent()) {
            return;
        }
        folder(config)
                .flatMap(folder -> refusal(BufferNeed.of(spec.shape(), spec.ranks()), BufferNeed.room(folder)))
                .ifPresent(why -> {
                    throw new EpResourceException(why);
                });
    }

    /** Why ranks do not fit into a folder; empty when they do. */
    static Optional<String> refusal(Need need, Room room) {
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

    /** Empty where the backend is not installed or cannot be used here, about which joining says more. */
    private static Optional<Path> folder(EpConfig config) {
        ProbeRequest request = ProbeRequest.of(Device.HOST, config, DEADLINE);
        return Subjects.backend(BACKEND)
                .flatMap(backend ->
                        Optional.ofNullable(backend.probe(request).facts().get(ProbeReport.FOLDER)))
                .map(Path::of);
    }

    private static String text(double bytes) {
        return bytes < GIB
                ? String.format(Locale.ROOT, "%.1f MiB", bytes / MIB)
                : String.format(Locale.ROOT, "%.1f GiB", bytes / GIB);
    }
}
