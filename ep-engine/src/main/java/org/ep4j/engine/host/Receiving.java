package org.ep4j.engine.host;

import java.time.Duration;
import org.ep4j.EpEvent;
import org.ep4j.OpOptions;
import org.ep4j.engine.sync.Receipt;

/**
 * How the receiving half of a low-latency operation is begun and waited for.
 *
 * @param options of the request
 * @param longest wait of an accessor
 * @param receipt of the operation
 * @param half runs or queues the receiving half in turn with the buffer's other operations
 */
record Receiving(OpOptions options, Duration longest, Receipt receipt, Half half) {
    /** Runs or queues the receiving half. */
    interface Half {
        /** Gives the end of it. */
        EpEvent begin(OpOptions how);
    }

    /** Options of a {@code receive()} without its own. */
    OpOptions usual() {
        return Receipt.options(options);
    }

    /** What {@code receive()} does. */
    EpEvent receive(OpOptions how) {
        receipt.take();
        return receipt.begin(() -> half.begin(how));
    }

    /** Waits for the end of the receiving half, which must have begun. */
    void await(String kind) {
        receipt.requireBegun(kind);
        receipt.event().await(longest);
    }
}
