package org.ep4j.backend.ibrc;

import java.io.IOException;
import java.util.Optional;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.spi.ExposedMemory.Kind;
import org.ep4j.transport.memory.LockedMemory;
import org.ep4j.transport.memory.NativeRecord;

/** Error numbers of Linux, and what they mean for calls of libibverbs. */
final class Errno {
    static final int EPERM = 1;
    static final int ENOENT = 2;
    static final int EBADF = 9;
    static final int EAGAIN = 11;
    static final int ENOMEM = 12;
    static final int EACCES = 13;
    static final int EINVAL = 22;
    static final int ENOSPC = 28;
    static final int ENOSYS = 38;
    static final int ENODATA = 61;
    static final int ENETUNREACH = 101;
    static final int ETIMEDOUT = 110;
    static final int EHOSTUNREACH = 113;

    /** What a call was about, which decides what its failure can mean. */
    enum About {
        /** Devices, ports, queues. */
        DEVICE,
        /** Registering memory of the host. */
        HOST_MEMORY,
        /** Registering memory of a GPU. */
        GPU_MEMORY;

        /** For memory that is to be registered. */
        static About of(Kind kind) {
            return kind == Kind.HOST ? HOST_MEMORY : GPU_MEMORY;
        }
    }

    private Errno() {}

    /**
     * Refuses a negated error number.
     *
     * @param result what a function of {@link Verbs} gave
     * @param call what was tried, with its values; it registers no memory
     * @return the result
     */
    static long check(long result, String call) {
        return check(result, About.DEVICE, call);
    }

    /** The same, of calls that may register memory. */
    static long check(long result, About about, String call) {
        if (result >= 0) {
            return result;
        }
        int error = (int) -result;
        String message = call + " failed: " + text(error) + remedy(error, about, locked());
        throw error == ENOMEM || error == ENOSPC || error == EAGAIN
                ? new EpResourceException(message)
                : new EpException(message);
    }

    /** {@code error 22 (Invalid argument)}. */
    static String text(int error) {
        String name = NativeRecord.read(128, (out, capacity) -> Verbs.errorText(error, out, capacity));
        return "error " + error + " (" + name + ")";
    }

    private static Optional<LockedMemory> locked() {
        try {
            return Optional.of(LockedMemory.ofThisProcess());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** What to do about an error of a call, in a process that may lock so much memory. */
    static String remedy(int error, About about, Optional<LockedMemory> locked) {
        if (about == About.GPU_MEMORY) {
            return "; see the kernel's log; possible causes: incompatible drivers of GPU and NIC, too little BAR1 memory"
                    + " on the GPU, or an IOMMU between GPU and NIC";
        }
        return switch (error) {
            case ENOMEM, EAGAIN, ENOSPC -> noRoom(about == About.HOST_MEMORY, locked);
            // libibverbs has ENOENT for a device file that it may not open, after it has looked for another one.
            case EPERM, EACCES, ENOENT ->
                "; the process is not allowed to use the device, or the device file is missing: give the user or group of the"
                        + " process read and write access to /dev/infiniband/uverbs* (containers: docker run --device=/dev/infiniband)";
            case ETIMEDOUT, ENODATA, ENETUNREACH, EHOSTUNREACH ->
                "; the peer's port is not reachable from this one: check which"
                        + " ports the plan connects (ep.nic.include, ep.nic.map), and the GID (ep.nic.gid-index)";
            default -> "";
        };
    }

    private static String noRoom(boolean registering, Optional<LockedMemory> locked) {
        String may = locked.map(LockedMemory::toString)
                .orElse("/proc/self/limits does not state how much memory the process may lock");
        String less = registering
                ? "make buffers smaller (fewer tokens or hidden values in the EpShape)"
                : "lower " + IbrcKeys.DEPTH.name() + " or ep.lanes";
        return locked.map(limit -> limit.below(LockedMemory.ANY)).orElse(true)
                ? "; " + may + ": raise the limit (ulimit -l unlimited; docker run --ulimit memlock=-1), or " + less
                : "; " + may
                        + ", so the machine or the NIC itself is out of resources: end other processes that use this NIC, or "
                        + less;
    }
}
