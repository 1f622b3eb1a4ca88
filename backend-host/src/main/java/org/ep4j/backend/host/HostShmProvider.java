package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.ConfigKey;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.SpiVersion;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.MappedBackend;
import org.ep4j.transport.memory.NativeMethods;

/**
 * Shared memory between the ranks of one machine, as backend {@value #ID}. It needs 64-bit Linux, a folder that all these
 * ranks see, and one user id. Every rank has its own mapping of every peer's memory, also if ranks are threads of one process,
 * so ranks may close, and die, in any order.
 */
public final class HostShmProvider implements EpBackendProvider {
    /** Name of the backend. */
    public static final String ID = "host-shm";

    /** Folder for the files of shared memory; ranks that share memory must see the same folder, at whatever path. */
    public static final ConfigKey<Optional<Path>> FOLDER = ShmFolder.KEY;

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public HostShmProvider() {}

    @Override
    public String id() {
        return ID;
    }

    @Override
    public SpiVersion spiVersion() {
        return new SpiVersion(1, 0);
    }

    @Override
    public List<ConfigKey<?>> configKeys() {
        return List.of(FOLDER);
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return ShmProbe.probe(request);
    }

    @Override
    public ProbeReport describe(RankProfile described, EpConfig config) {
        return ShmFacts.describe(described);
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        return ShmFacts.offer(from, to);
    }

    /**
     * {@inheritDoc}
     *
     * <p>Removes the files that dead processes of this user left in the folder.
     */
    @Override
    public EpBackend open(OpenContext context) {
        Collective collective = new Collective(ID, context);
        return collective.apart("open", Deadline.in(context.timeout()), () -> openHere(context, collective));
    }

    private static EpBackend openHere(OpenContext context, Collective collective) {
        Libc libc = bind();
        ShmFolder folder = ShmFolder.from(context.config());
        Optional<String> problem = folder.problem();
        if (problem.isPresent()) {
            throw new EpUnavailableException(problem.get() + "; set " + FOLDER.name()
                    + " to a writable folder, preferably in memory, such as /dev/shm");
        }
        try {
            StaleFiles.sweep(libc, folder);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "the folder " + folder + " cannot be listed: " + e + "; set " + FOLDER.name()
                            + " to a folder that this user can read and write",
                    e);
        }
        return new MappedBackend(
                context,
                collective,
                "in " + folder,
                Optional.of("its symmetric memory is memory of the host"),
                (ranks, name) -> new ShmAllocation(context, ranks, libc, folder, name));
    }

    private static Libc bind() {
        try {
            return Libc.load();
        } catch (LinkageError e) {
            throw new EpUnavailableException(
                    "the C library lacks a call: " + NativeMethods.reason(e) + "; " + ShmProbe.LIBC_REMEDY, e);
        }
    }
}
