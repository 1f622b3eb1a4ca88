package org.ep4j.backend.host;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.SymmetricAllocation;
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
    private List<SharedFile.Announcement> announced = List.of();
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
                DeviceMemory.of(
                        mapping.address(), mapping.bytes(), context.device().id())));
        return memory;
    }

    /** First step: all ranks want the same size, and it fits. */
    private void agreeOnSize(Runnable check, long bytes, Deadline deadline) {
        List<byte[]> told = collective.step(step("size"), deadline, () -> {
            check.run();
            return Room.CODEC.encode(Room.look(bytes, folder));
        });
        List<Room> rooms = told.stream().map(Room.CODEC::decode).toList();
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
        return ShmFacts.sharedFolder(context.profiles().get(rank));
    }

    /** Second step: every rank makes and maps its own file. */
    private void create(long bytes, Deadline deadline) {
        List<byte[]> told = collective.step(step("create"), deadline, () -> {
            try {
                SharedFile file = SharedFile.create(libc, folder, bytes, deadline);
                own = file;
                mappings.put(context.rank(), file.mapping());
                return SharedFile.Announcement.CODEC.encode(file.announcement());
            } catch (Libc.CallException e) {
                throw translate(e, name, bytes, folder);
            }
        });
        announced = told.stream().map(SharedFile.Announcement.CODEC::decode).toList();
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

    private Mapping map(int rank, SharedFile.Announcement file, long bytes) {
        try {
            return SharedFile.open(libc, folder, file, bytes);
        } catch (Libc.CallException e) {
            EpException translated = translate(e, name, bytes, folder);
            String message = "the memory of " + collective.label(rank) + ": " + translated.getMessage();
            throw translated instanceof EpResourceException
                    ? new EpResourceException(message, e)
                    : new EpException(message, e);
        }
    }

    /** Makes an exception that says what a failed call of the C library means for the buffer, and names the fix. */
    static EpException translate(Libc.CallException e, String buffer, long bytes, ShmFolder folder) {
        String wanted = "cannot make " + Bytes.text(bytes) + " of shared memory available for buffer \"" + buffer
                + "\" in " + folder + ": " + e.getMessage();
        return switch (e.error()) {
            case Libc.ENOSPC, Libc.EDQUOT ->
                new EpResourceException(wanted + "; the folder " + shortage(e.call(), folder), e);
            case Libc.ENOMEM ->
                new EpResourceException(
                        wanted + "; the folder has " + free(folder)
                                + " free; ask for a smaller buffer, or raise the limit that was reached: memory of the machine or"
                                + " container, address space (ulimit -v), number of mappings (vm.max_map_count)",
                        e);
            case Libc.EMFILE -> new EpResourceException(wanted + "; raise the limit of open files (ulimit -n)", e);
            case Libc.ENFILE ->
                new EpResourceException(wanted + "; raise the limit of open files of the machine (fs.file-max)", e);
            case Libc.EOPNOTSUPP ->
                new EpException(
                        wanted + "; the folder's file system cannot reserve space; set " + ShmFolder.KEY.name()
                                + " to a folder in a tmpfs, such as /dev/shm",
                        e);
            case Libc.EACCES ->
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

    /**
     * Says what a folder is short of. A new file takes an inode and no bytes, so a folder that refuses to make one lacks
     * inodes, whatever number of bytes is free.
     */
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
