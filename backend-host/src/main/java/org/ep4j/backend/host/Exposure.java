package org.ep4j.backend.host;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpResourceException;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.OpenContext;
import org.jspecify.annotations.Nullable;

/**
 * The making of one symmetric buffer on one rank: agree on the size, make the own file, map the peers' files. For one
 * thread.
 */
final class Exposure {
    private final OpenContext context;
    private final Collective collective;
    private final Libc libc;
    private final ShmFolder folder;
    private final String name;
    private final Map<Integer, Mapping> mappings = new TreeMap<>();
    private List<Announcement> announced = List.of();
    private @Nullable SharedFile own;

    Exposure(OpenContext context, Collective collective, Libc libc, ShmFolder folder, String name) {
        this.context = context;
        this.collective = collective;
        this.libc = libc;
        this.folder = folder;
        this.name = name;
    }

    /**
     * First step: all ranks want the same size, and it fits.
     *
     * @param check refuses wrong arguments on this rank
     */
    void agreeOnSize(Runnable check, long bytes, Deadline deadline) {
        List<byte[]> told = collective.step(step("size"), deadline, () -> {
            check.run();
            return Room.look(bytes, folder).encode();
        });
        List<Room> rooms = told.stream().map(Room::decode).toList();
        checkEqualSizes(rooms);
        checkRoom(rooms);
    }

    private void checkEqualSizes(List<Room> rooms) {
        long first = rooms.get(0).bytes();
        for (int i = 1; i < rooms.size(); i++) {
            if (rooms.get(i).bytes() != first) {
                throw new EpMismatchException("buffer \"" + name + "\" is " + first + " bytes on "
                        + collective.label(collective.ranks().get(0)) + " and "
                        + rooms.get(i).bytes() + " bytes on "
                        + collective.label(collective.ranks().get(i)) + "; create it with the same size on all ranks");
            }
        }
    }

    /** Every rank sees the same figures here, so all come to the same verdict. */
    private void checkRoom(List<Room> rooms) {
        Map<String, Integer> sharing = new TreeMap<>();
        for (int rank : collective.ranks()) {
            sharing.merge(folderOf(rank), 1, Integer::sum);
        }
        List<String> refusals = new ArrayList<>();
        for (int i = 0; i < rooms.size(); i++) {
            int rank = collective.ranks().get(i);
            Optional<String> refusal = rooms.get(i).refusal(name, sharing.getOrDefault(folderOf(rank), 1));
            refusal.ifPresent(text -> refusals.add(collective.label(rank) + ": " + text));
        }
        if (!refusals.isEmpty()) {
            throw new EpResourceException(refusals.get(0));
        }
    }

    private String folderOf(int rank) {
        RankProfile profile = context.plan().profiles().get(rank);
        return ShmFacts.sharedFolder(profile);
    }

    /** Second step: every rank makes and maps its own file. */
    void make(long bytes, Deadline deadline) {
        List<byte[]> told = collective.step(step("create"), deadline, () -> {
            try {
                SharedFile file = SharedFile.create(libc, folder, bytes, deadline);
                own = file;
                mappings.put(context.rank(), file.mapping());
                return file.announcement().encode();
            } catch (NativeCallException e) {
                throw NativeFailures.translate(e, name, bytes, folder);
            }
        });
        announced = told.stream().map(Announcement::decode).toList();
    }

    /** Third step: every rank maps the files of the peers that its plan reaches over this backend. */
    void mapPeers(long bytes, Deadline deadline) {
        collective.step(step("map"), deadline, () -> {
            for (int i = 0; i < announced.size(); i++) {
                int rank = collective.ranks().get(i);
                if (connects(rank)) {
                    mappings.put(rank, map(rank, announced.get(i), bytes));
                }
            }
            return new byte[0];
        });
    }

    private boolean connects(int rank) {
        return rank != context.rank()
                && context.plan().path(context.rank(), rank).backend().equals(HostShmProvider.ID);
    }

    private Mapping map(int rank, Announcement file, long bytes) {
        try {
            return SharedFile.open(libc, folder, file, bytes);
        } catch (NativeCallException e) {
            EpException translated = NativeFailures.translate(e, name, bytes, folder);
            String message = "the memory of " + collective.label(rank) + ": " + translated.getMessage();
            throw translated instanceof EpResourceException
                    ? new EpResourceException(message, e)
                    : new EpException(message, e);
        }
    }

    private String step(String what) {
        return "expose/" + name + "/" + what;
    }

    /** This rank's mappings, its own among them, by rank. */
    Map<Integer, Mapping> mappings() {
        return mappings;
    }

    /** Last step, without the others: they have all mapped the own file, so nobody needs its name any more. */
    void removeName() {
        if (own != null) {
            own.removeName();
        }
    }

    /** Gives back everything. */
    void undo() {
        removeName();
        mappings.values().forEach(Mapping::unmap);
        mappings.clear();
    }
}
