package org.ep4j.gpu.topology;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.transport.memory.NativeLibraries;
import org.jspecify.annotations.Nullable;

/**
 * Reads GPUs and NVLinks from NVIDIA's management library. Constants and layouts are those of {@code nvml.h}; functions are
 * looked up one by one, since older drivers lack some.
 */
final class Nvml {
    private static final int SUCCESS = 0;
    private static final int NO_PERMISSION = 4;
    private static final int FUNCTION_NOT_FOUND = 13;
    private static final int GPU_IS_LOST = 15;

    /** {@code nvmlPciInfo_t} has 68 bytes: the long bus id of 32 characters is at its end. */
    private static final int PCI_INFO_BYTES = 128;

    private static final int LONG_BUS_ID = 36;
    private static final int NAME_BYTES = 96;

    /** {@code nvmlFieldValue_t}: field and scope at 0 and 4, result at 28, value at 32. */
    private static final int FIELD_BYTES = 40;

    private static final int FIELD_LINK_COUNT = 91;
    private static final int FIELD_LINK_STATE = 165;
    private static final int FIELD_CHIP_LINK_COUNT = 170;
    private static final int FIELD_CHIP_LINK_STATUS = 171;
    private static final int FIELD_CHIP_LINK_BANDWIDTH = 172;
    private static final int CAPABILITY_P2P = 0;
    private static final int HOPPER = 90;
    private static final int LINKS_OF_HOPPER = 18;
    private static final int MOST_LINKS = 64;

    /** {@code nvmlGpuFabricInfo_v2_t}: version, 16 bytes of cluster, status at 20, clique at 24, state (a byte) at 28. */
    private static final int FABRIC_BYTES = 36;

    private static final int FABRIC_VERSION = FABRIC_BYTES | 2 << 24;
    private static final int FABRIC_COMPLETED = 3;

    private static final String INITIALISE = "nvmlInit_v2";

    /** Guarded by the class. */
    private static @Nullable Functions ofProcess;

    private final Functions functions;
    private final List<String> warnings = new ArrayList<>();

    /**
     * A GPU of NVML.
     *
     * @param index number among the GPUs of NVML that this process may use, which are in the order of PCI addresses
     * @param address its PCI function
     * @param name of the model; empty if it cannot be read
     * @param capability CUDA compute capability, major times ten plus minor; -1 when it cannot be read
     * @param clique NVLink domain beyond the host, {@code cluster-uuid/clique-id}; empty when there is none
     * @param links active NVLinks for peer-to-peer traffic
     * @param chipLinks active NVLink-C2C links to the processor
     * @param chipMegabytes bandwidth of one of these, in megabytes per second
     */
    record NvmlGpu(
            int index,
            PciAddress address,
            String name,
            int capability,
            String clique,
            List<Remote> links,
            int chipLinks,
            int chipMegabytes) {
        NvmlGpu {
            links = List.copyOf(links);
        }

        /** The other end of an NVLink; its address is empty if it is hidden, as NVSwitches are from virtual machines. */
        record Remote(Optional<PciAddress> address, Kind kind) {}

        /** {@code nvmlIntNvLinkDeviceType_t}. */
        enum Kind {
            GPU,
            PROCESSOR,
            SWITCH,
            UNKNOWN
        }
    }

    Nvml(Functions functions) {
        this.functions = functions;
    }

    /** Functions of the library by name. */
    interface Functions {
        /** Calls a function and returns its result; throws {@link UnsatisfiedLinkError} if the library lacks it. */
        int call(String name, Object... arguments);
    }

    /**
     * Initialises a library once and never shuts it down. Each initialisation opens descriptors, of which shutting down
     * leaves one open, an eventfd (seen with the driver of CUDA 13 on H100).
     */
    static Functions initialisedOnce(Functions library) {
        AtomicBoolean initialised = new AtomicBoolean();
        return (name, arguments) -> {
            synchronized (initialised) {
                boolean initialises = name.equals(INITIALISE);
                int result = initialises && initialised.get() ? SUCCESS : library.call(name, arguments);
                initialised.compareAndSet(false, initialises && result == SUCCESS);
                return result;
            }
        };
    }

    /** Finds the library of this machine. It stays loaded. */
    static synchronized Optional<Nvml> find() {
        if (ofProcess == null) {
            ofProcess = NativeLibraries.load(List.of("libnvidia-ml.so.1", "libnvidia-ml.so"))
                    .map(library -> initialisedOnce(
                            (name, arguments) -> library.getFunction(name).invokeInt(arguments)))
                    .orElse(null);
        }
        return Optional.ofNullable(ofProcess).map(Nvml::new);
    }

    /** Describes the GPUs that {@link #gpus} left out last. */
    List<String> warnings() {
        return List.copyOf(warnings);
    }

    /**
     * Lists the GPUs that this process may use, numbered one after the other as CUDA does. One that is lost or that this process
     * may not use is left out with a warning.
     *
     * @throws IllegalStateException when NVML does not work; the message has the number of its error
     */
    List<NvmlGpu> gpus() {
        warnings.clear();
        int started = call(INITIALISE);
        if (started != SUCCESS) {
            throw new IllegalStateException(INITIALISE + " gives " + error(started));
        }
        IntByReference count = new IntByReference();
        int counted = call("nvmlDeviceGetCount_v2", count);
        if (counted != SUCCESS) {
            throw new IllegalStateException("nvmlDeviceGetCount_v2 gives " + error(counted));
        }
        List<NvmlGpu> gpus = new ArrayList<>();
        for (int i = 0; i < count.getValue(); i++) {
            gpu(i, gpus.size()).ifPresent(gpus::add);
        }
        return gpus;
    }

    /** Reads the GPU with the number {@code position} in NVML, and {@code index} among those that can be used; empty if it cannot be. */
    private Optional<NvmlGpu> gpu(int position, int index) {
        PointerByReference handle = new PointerByReference();
        int result = call("nvmlDeviceGetHandleByIndex_v2", position, handle);
        Memory info = zeroed(PCI_INFO_BYTES);
        if (result == SUCCESS) {
            result = call("nvmlDeviceGetPciInfo_v3", handle.getValue(), info);
        }
        if (result == NO_PERMISSION || result == GPU_IS_LOST) {
            warnings.add("GPU " + position + " of NVML is left out (" + error(result)
                    + "), so the GPUs after it are numbered one lower");
            return Optional.empty();
        }
        Optional<PciAddress> address = result == SUCCESS ? PciAddress.parse(busId(info)) : Optional.empty();
        if (address.isEmpty()) {
            throw new IllegalStateException("the PCI address of GPU " + position + " cannot be read: " + error(result));
        }
        Pointer device = handle.getValue();
        int capability = capability(device);
        int chipLinks = 0;
        int chipMegabytes = 0;
        int most = capability < HOPPER ? 0 : bounded(field(device, FIELD_CHIP_LINK_COUNT, 0));
        for (int link = 0; link < most; link++) {
            int bandwidth = field(device, FIELD_CHIP_LINK_BANDWIDTH, link);
            if (field(device, FIELD_CHIP_LINK_STATUS, link) == 1 && bandwidth > 0) {
                chipLinks++;
                chipMegabytes = bandwidth;
            }
        }
        return Optional.of(new NvmlGpu(
                index,
                address.get(),
                name(device),
                capability,
                clique(device),
                links(device, capability),
                chipLinks,
                chipMegabytes));
    }

    private String name(Pointer device) {
        Memory name = zeroed(NAME_BYTES);
        return call("nvmlDeviceGetName", device, name, NAME_BYTES) == SUCCESS ? text(name, 0, NAME_BYTES) : "";
    }

    private int capability(Pointer device) {
        IntByReference major = new IntByReference();
        IntByReference minor = new IntByReference();
        return call("nvmlDeviceGetCudaComputeCapability", device, major, minor) == SUCCESS
                ? major.getValue() * 10 + minor.getValue()
                : -1;
    }

    private String clique(Pointer device) {
        Memory info = zeroed(FABRIC_BYTES);
        info.setInt(0, FABRIC_VERSION);
        if (call("nvmlDeviceGetGpuFabricInfoV", device, info) != SUCCESS
                || info.getByte(28) != FABRIC_COMPLETED
                || info.getInt(20) != SUCCESS) {
            return "";
        }
        long high = Long.reverseBytes(info.getLong(4));
        long low = Long.reverseBytes(info.getLong(12));
        // A cluster of zeros is a machine whose NVLinks end in it.
        return (high | low) == 0 ? "" : new UUID(high, low) + "/" + Integer.toUnsignedString(info.getInt(24));
    }

    private List<NvmlGpu.Remote> links(Pointer device, int capability) {
        int count = field(device, FIELD_LINK_COUNT, 0);
        List<NvmlGpu.Remote> links = new ArrayList<>();
        for (int link = 0; link < (count < 0 ? LINKS_OF_HOPPER : bounded(count)); link++) {
            IntByReference usable = new IntByReference();
            int known = call("nvmlDeviceGetNvLinkCapability", device, link, CAPABILITY_P2P, usable);
            if (known == SUCCESS && usable.getValue() != 0 && active(device, link, capability)) {
                remote(device, link).ifPresent(links::add);
            }
        }
        return links;
    }

    private boolean active(Pointer device, int link, int capability) {
        int state = capability >= HOPPER ? field(device, FIELD_LINK_STATE, link) : -1;
        if (state >= 0) {
            return state == 1;
        }
        IntByReference enabled = new IntByReference();
        return call("nvmlDeviceGetNvLinkState", device, link, enabled) == SUCCESS && enabled.getValue() == 1;
    }

    private Optional<NvmlGpu.Remote> remote(Pointer device, int link) {
        IntByReference type = new IntByReference(-1);
        boolean typed = call("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, type) == SUCCESS;
        NvmlGpu.Kind kind = switch (typed ? type.getValue() : -1) {
            case 0 -> NvmlGpu.Kind.GPU;
            case 1 -> NvmlGpu.Kind.PROCESSOR;
            case 2 -> NvmlGpu.Kind.SWITCH;
            default -> NvmlGpu.Kind.UNKNOWN;
        };
        Memory info = zeroed(PCI_INFO_BYTES);
        boolean located = call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, info) == SUCCESS;
        // A hidden one has a bus id of Fs, which is no address.
        Optional<PciAddress> address = located ? PciAddress.parse(busId(info)) : Optional.empty();
        return located || kind != NvmlGpu.Kind.UNKNOWN
                ? Optional.of(new NvmlGpu.Remote(address, kind))
                : Optional.empty();
    }

    /** Returns a number from 0; -1 if the device or driver does not have it. */
    private int field(Pointer device, int field, int scope) {
        Memory value = zeroed(FIELD_BYTES);
        value.setInt(0, field);
        value.setInt(4, scope);
        int result = call("nvmlDeviceGetFieldValues", device, 1, value);
        return result == SUCCESS && value.getInt(28) == SUCCESS ? value.getInt(32) : -1;
    }

    private static int bounded(int count) {
        return Math.max(0, Math.min(MOST_LINKS, count));
    }

    private static String busId(Memory info) {
        String wide = text(info, LONG_BUS_ID, 32);
        return (wide.isEmpty() ? text(info, 0, 16) : wide).toLowerCase(Locale.ROOT);
    }

    private static String text(Memory memory, int offset, int bytes) {
        byte[] raw = memory.getByteArray(offset, bytes);
        int end = 0;
        while (end < raw.length && raw[end] != 0) {
            end++;
        }
        return new String(raw, 0, end, StandardCharsets.UTF_8).strip();
    }

    private static Memory zeroed(int bytes) {
        Memory memory = new Memory(bytes);
        memory.clear();
        return memory;
    }

    private int call(String function, Object... arguments) {
        try {
            return functions.call(function, arguments);
        } catch (UnsatisfiedLinkError e) {
            return FUNCTION_NOT_FOUND;
        }
    }

    private static String error(int code) {
        return code
                + switch (code) {
                    case 4 -> " (no permission)";
                    case 9 -> " (the driver is not loaded)";
                    case 13 -> " (function not found)";
                    case 15 -> " (a GPU is lost)";
                    case 18 -> " (driver and library are of different versions)";
                    default -> "";
                };
    }
}
