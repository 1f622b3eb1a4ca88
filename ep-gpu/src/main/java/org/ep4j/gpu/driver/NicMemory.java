package org.ep4j.gpu.driver;

import com.sun.jna.NativeLibrary;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Check;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.ExposedMemory.Kind;

/** Access of NICs to memory of a GPU. Safe for use from several threads. */
public interface NicMemory {
    GpuDirect facts();

    /**
     * Exports memory of this GPU as dma-buf.
     *
     * @param memory the start of an allocation of its own whose size was rounded up to {@link #GRANULE}
     * @throws org.ep4j.EpException when the driver refuses, with the call and its result
     */
    File export(DeviceMemory memory);

    /** Makes what has arrived in this GPU's memory, as seen by the host, visible to its kernels and copies. Allocates nothing. */
    void flush();

    /** Size of a GPU's pages; whole pages are exported. */
    long GRANULE = 2 << 20;

    /** A dma-buf whose descriptor this process owns; closing it leaves what was registered. */
    record File(ExposedMemory.DmaBuf dmaBuf) implements AutoCloseable {
        @Override
        public void close() {
            NativeLibrary.getInstance("c").getFunction("close").invokeInt(new Object[] {dmaBuf.descriptor()});
        }
    }

    /**
     * Access of NICs to a GPU's memory, according to its driver.
     *
     * @param refusal why NICs must not read or write the memory; empty if they may
     * @param withoutDmaBuf why the driver does not export memory as dma-buf, with the remedy; empty if it does
     * @param flushed whether the GPU sees what a NIC wrote only after a flush by the host ({@link #flush}): a completion
     *     that the host has seen does not mean that the GPU sees the bytes. False if the GPU sees writes in order
     * @param doubt why it is used only on request; empty if there is no doubt
     */
    record GpuDirect(
            Optional<String> refusal, Optional<String> withoutDmaBuf, boolean flushed, Optional<String> doubt) {
        /** Creates it without doubt. */
        public GpuDirect(Optional<String> refusal, Optional<String> withoutDmaBuf, boolean flushed) {
            this(refusal, withoutDmaBuf, flushed, Optional.empty());
        }
    }

    /**
     * Ways in which NICs may register the memory of a GPU, as far as is known before it is tried.
     *
     * @param kinds the best first
     * @param reasons why other kinds are refused, with remedies
     */
    record Registrable(List<Kind> kinds, List<String> reasons) {
        public Registrable {
            kinds = List.copyOf(kinds);
            reasons = List.copyOf(reasons);
        }

        /**
         * Combines the facts of both sides.
         *
         * @param facts what the GPU allows; empty if ep4j does not support GPUs of its kind
         * @param refusal why the NICs refuse a kind
         */
        public static Registrable of(Optional<GpuDirect> facts, Function<Kind, Optional<String>> refusal) {
            if (facts.isEmpty()) {
                return none("ep4j does not support NIC access to the memory of this kind of GPU");
            }
            GpuDirect gpu = facts.get();
            if (gpu.refusal().isPresent()) {
                return none(gpu.refusal().get());
            }
            List<Kind> kinds = new ArrayList<>();
            List<String> reasons = new ArrayList<>();
            for (Kind kind : List.of(Kind.DMA_BUF, Kind.PEER_MEMORY)) {
                Optional<String> none = kind == Kind.DMA_BUF ? gpu.withoutDmaBuf() : Optional.empty();
                Optional<String> against = none.or(() -> refusal.apply(kind));
                against.ifPresentOrElse(reason -> reasons.add(kind + ": " + reason), () -> kinds.add(kind));
            }
            return new Registrable(kinds, reasons);
        }

        private static Registrable none(String reason) {
            return new Registrable(List.of(), List.of(reason));
        }

        /** Creates the check of a probe. */
        public Check check(String code, EpConfig config) {
            if (EpKeys.GPU_WINDOW.get(config).equals("host")) {
                return Check.pass(
                        code,
                        "bytes go through pinned memory of the host, because " + EpKeys.GPU_WINDOW.name() + " is host");
            }
            return kinds.isEmpty()
                    ? Check.warn(
                            code,
                            "bytes go through pinned memory of the host, since NICs cannot register memory of the GPU",
                            String.join("; ", reasons))
                    : Check.pass(code, "memory of the GPU can be registered as " + kinds.get(0));
        }
    }
}
