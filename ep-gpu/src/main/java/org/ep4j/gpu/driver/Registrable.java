package org.ep4j.gpu.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Check;
import org.ep4j.spi.ExposedMemory.Kind;

/**
 * How NICs may register the memory of a GPU, as far as is known before it is tried.
 *
 * @param kinds the best first
 * @param reasons what is against the others, with what to do
 */
public record Registrable(List<Kind> kinds, List<String> reasons) {
    public Registrable {
        kinds = List.copyOf(kinds);
        reasons = List.copyOf(reasons);
    }

    /**
     * By what both sides say.
     *
     * @param facts what the GPU allows; empty where ep4j does not ask GPUs of its kind
     * @param refusal what is against a kind on the side of the NICs
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

    /** What a probe tells of it. */
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
