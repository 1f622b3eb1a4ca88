package org.ep4j.engine.topology;

import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.ptr.IntByReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.topology.PciAddress;

/** Reads GPUs and the links between them from AMD's HIP runtime, by the functions of {@code hip_runtime_api.h}. */
final class Hip {
    private static final int SUCCESS = 0;

    /** {@code hipErrorNoDevice}. */
    private static final int NO_DEVICE = 100;

    /** {@code HSA_AMD_LINK_INFO_TYPE_XGMI} of {@code hsa_ext_amd.h}. */
    private static final int XGMI = 4;

    private static final int TEXT_BYTES = 256;
    private static final int MOST = 1024;

    private final NativeLibrary library;

    Hip(NativeLibrary library) {
        this.library = library;
    }

    static Optional<Hip> find() {
        return NativeLibraries.load(
                        List.of("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"))
                .map(Hip::new);
    }

    /**
     * All GPUs that this process may use.
     *
     * @throws IllegalStateException when HIP does not work; the message has the number of its error
     */
    List<HipGpu> gpus() {
        IntByReference counted = new IntByReference();
        int result = call("hipGetDeviceCount", counted);
        if (result == NO_DEVICE) {
            return List.of();
        }
        if (result != SUCCESS) {
            throw new IllegalStateException("hipGetDeviceCount gives " + result);
        }
        int count = Math.min(MOST, counted.getValue());
        List<HipGpu> gpus = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Memory address = zeroed();
            boolean located = call("hipDeviceGetPCIBusId", address, TEXT_BYTES, i) == SUCCESS;
            Memory name = zeroed();
            boolean named = call("hipDeviceGetName", name, TEXT_BYTES, i) == SUCCESS;
            List<HipGpu.Way> ways = new ArrayList<>();
            for (int j = i + 1; j < count; j++) {
                way(i, j).ifPresent(ways::add);
            }
            gpus.add(new HipGpu(
                    i, located ? PciAddress.parse(text(address)) : Optional.empty(), named ? text(name) : "", ways));
        }
        return gpus;
    }

    private Optional<HipGpu.Way> way(int from, int to) {
        IntByReference type = new IntByReference();
        IntByReference hops = new IntByReference();
        return call("hipExtGetLinkTypeAndHopCount", from, to, type, hops) == SUCCESS
                ? Optional.of(new HipGpu.Way(to, type.getValue() == XGMI, Math.max(1, hops.getValue())))
                : Optional.empty();
    }

    private static String text(Memory memory) {
        byte[] raw = memory.getByteArray(0, TEXT_BYTES);
        int end = 0;
        while (end < raw.length && raw[end] != 0) {
            end++;
        }
        return new String(raw, 0, end, StandardCharsets.UTF_8).strip();
    }

    private static Memory zeroed() {
        Memory memory = new Memory(TEXT_BYTES);
        memory.clear();
        return memory;
    }

    private int call(String function, Object... arguments) {
        return library.getFunction(function).invokeInt(arguments);
    }
}
