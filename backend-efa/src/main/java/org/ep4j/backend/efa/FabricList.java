package org.ep4j.backend.efa;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.transport.memory.NativeRecord;

/** What libfabric offers here: reliable datagrams with remote writes and immediates. The library must be loaded. */
final class FabricList implements AutoCloseable {
    private final long list;
    private final List<FabricInfo> infos;

    private FabricList(long list, List<FabricInfo> infos) {
        this.list = list;
        this.infos = List.copyOf(infos);
    }

    /**
     * Of all providers.
     *
     * @param deviceMemory whether those come first that take memory of GPUs, which costs the start of CUDA
     */
    static FabricList all(boolean deviceMemory) {
        NativeRecord any = NativeRecord.of("");
        long list;
        try {
            list = Libfabric.list(any.address(), deviceMemory ? 1 : 0);
        } finally {
            Reference.reachabilityFence(any);
        }
        if (list == -FabricError.ENODATA) {
            return new FabricList(0, List.of());
        }
        FabricError.check(list, "fi_getinfo");
        List<FabricInfo> infos = new ArrayList<>();
        NativeRecord out = new NativeRecord(4096);
        while (true) {
            int length = Libfabric.describe(list, infos.size(), out.address(), out.size());
            if (length < 0) {
                return new FabricList(list, infos);
            }
            infos.add(FabricInfo.parse(infos.size(), out.text(Math.min(length, out.size() - 1))));
        }
    }

    List<FabricInfo> infos() {
        return infos;
    }

    /** Address of the list, for {@link Libfabric#open}. */
    long address() {
        return list;
    }

    @Override
    public void close() {
        if (list != 0) {
            Libfabric.free(list);
        }
    }
}
