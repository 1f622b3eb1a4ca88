package org.ep4j.backend.host;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.SymmetricAllocation;
import org.jspecify.annotations.Nullable;

/** Allocates one symmetric buffer on one rank: agrees on the size, makes the own file, maps the peers' files. For one thread. */
final class ShmAllocation implements SymmetricAllocation {
    private final OpenContext context;
    private final Collective collective;
    private final Libc libc;
    private final ShmFolder folder;
    private final String name;
    private final Map<Integer, Mapping> mappings = new TreeMap<>();
    private List<SharedFile.Announcement> announced = List.of();
    private @Nullable SharedFile own;

    ShmAllocation(OpenContext context, Collective collective, Libc libc, ShmFolder folder, String name) {
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
        // All peers have mapped the own file, so its name is not needed any more.
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
        List<byte[]> encoded = collective.step(step("size"), deadline, () -> {
            check.run();
            return SpaceRequest.CODEC.encode(SpaceRequest.measure(bytes, folder));
        });
        List<SpaceRequest> requests =
                encoded.stream().map(SpaceRequest.CODEC::decode).toList();
        collective.requireEqualSizes(
                name, requests.stream().map(SpaceRequest::bytes).toList());
        checkSpace(requests);
    }

    /** Every rank sees the same figures here, so all decide alike. */
    private void checkSpace(List<SpaceRequest> requests) {
        List<String> folders = collective.ranks().stream()
                .map(rank -> ShmFacts.sharedFolder(context.profiles().get(rank)))
                .toList();
        for (int i = 0; i < requests.size(); i++) {
            SpaceRequest request = requests.get(i);
            int sharing = 0;
            int grouped = 0;
            for (int j = 0; j < requests.size(); j++) {
                if (folders.get(j).equals(folders.get(i))) {
                    sharing++;
                    grouped += request.sharesGroup(requests.get(j)) ? 1 : 0;
                }
            }
            int rank = collective.ranks().get(i);
            request.refusal(name, sharing, Math.max(1, grouped)).ifPresent(text -> {
                throw new EpResourceException(collective.label(rank) + ": " + text);
            });
        }
    }

    /** Second step: every rank creates and maps its own file. */
    private void create(long bytes, Deadline deadline) {
        List<byte[]> encoded = collective.step(step("create"), deadline, () -> {
            try {
                SharedFile file = SharedFile.create(libc, folder, bytes, deadline);
                own = file;
                mappings.put(context.rank(), file.mapping());
                return SharedFile.Announcement.CODEC.encode(file.announcement());
            } catch (Libc.CallException e) {
                throw translate(e, name, bytes, folder);
            }
        });
        announced = encoded.stream().map(SharedFile.Announcement.CODEC::decode).toList();
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
                                + " free; ask for a smaller buffer, or raise the limit that was reached: memory of the"
                                + " machine or container, address space (ulimit -v), number of mappings"
                                + " (vm.max_map_count)",
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
