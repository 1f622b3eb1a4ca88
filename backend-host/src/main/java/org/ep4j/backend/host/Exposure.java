package org.ep4j.backend.host;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.collective.SymmetricAllocation;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.OpenContext;
import org.jspecify.annotations.Nullable;

/**
 * The making of one symmetric buffer on one rank: agree on the size, make the own file, map the peers' files. For one
 * thread.
 */
final class Exposure implements SymmetricAllocation {
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

    @Override
    public Map<Integer, DeviceMemory> make(Runnable check, long bytes, Deadline deadline) {
        agreeOnSize(check, bytes, deadline);
        create(bytes, deadline);
        mapPeers(bytes, deadline);
        // They have all mapped the own file, so nobody needs its name any more.
        removeName();
        Map<Integer, DeviceMemory> memory = new TreeMap<>();
        mappings.forEach((rank, mapping) -> memory.put(
                rank,
                new DeviceMemory(
                        mapping.address(), mapping.bytes(), context.device().id())));
        return memory;
    }

    /** First step: all ranks want the same size, and it fits. */
    private void agreeOnSize(Runnable check, long bytes, Deadline deadline) {
        List<byte[]> told = collective.step(step("size"), deadline, () -> {
            check.run();
            return Room.look(bytes, folder).encode();
        });
        List<Room> rooms = told.stream().map(Room::decode).toList();
        collective.requireEqualSizes(name, rooms.stream().map(Room::bytes).toList());
        checkRoom(rooms);
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
            Room room = rooms.get(i);
            int grouped = 0;
            for (int j = 0; j < rooms.size(); j++) {
                boolean near = folderOf(collective.ranks().get(j)).equals(folderOf(rank));
                grouped += near && room.sharesGroup(rooms.get(j)) ? 1 : 0;
            }
            Optional<String> refusal =
                    room.refusal(name, sharing.getOrDefault(folderOf(rank), 1), Math.max(1, grouped));
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
    private void create(long bytes, Deadline deadline) {
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
    private void mapPeers(long bytes, Deadline deadline) {
        collective.step(step("map"), deadline, () -> {
            for (int i = 0; i < announced.size(); i++) {
                int rank = collective.ranks().get(i);
                if (collective.connects(context.rank(), rank)) {
                    mappings.put(rank, map(rank, announced.get(i), bytes));
                }
            }
            return new byte[0];
        });
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

    private void removeName() {
        if (own != null) {
            own.removeName();
        }
    }

    @Override
    public void undo() {
        removeName();
        mappings.values().forEach(Mapping::unmap);
        mappings.clear();
    }
}
