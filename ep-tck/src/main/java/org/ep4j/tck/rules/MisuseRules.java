package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 11. */
public final class MisuseRules {
    private MisuseRules() {}

    public static List<Rule> all() {
        return List.of(
                rule("11.1", "a third send is refused until the first one was received", "third-send", Capability.HOOK),
                rule(
                        "11.2",
                        "a combine of rows that were not received is refused",
                        "combine-unreceived",
                        Capability.HOOK),
                rule(
                        "11.3",
                        "receive() is refused if the buffer was recovered after the send",
                        "receive-after-recover",
                        Capability.HOOK,
                        Capability.RECOVER),
                rule(
                        "11.4",
                        "receive() after the buffer was closed is refused",
                        "receive-after-close",
                        Capability.HOOK),
                rule(
                        "11.5",
                        "a thread that is interrupted while it waits in an operation gets an exception, or the right rows",
                        "interrupt",
                        Capability.HIGH_THROUGHPUT,
                        Capability.RECOVER),
                rule(
                        "11.6",
                        "closing a buffer ends the waiting calls of this buffer with an exception",
                        "close-waiting",
                        Capability.HIGH_THROUGHPUT),
                rule(
                        "11.7",
                        "closing a group ends the waiting calls of all its buffers with an exception",
                        "close-group-waiting",
                        Capability.HIGH_THROUGHPUT),
                rule(
                        "11.8",
                        "two threads that use a buffer at once take turns",
                        "two-threads",
                        Capability.HIGH_THROUGHPUT),
                rule(
                                "11.9",
                                "a dispatch fails on all ranks if the masked ranks differ between ranks",
                                "mask-differs",
                                Capability.HIGH_THROUGHPUT,
                                Capability.MASK)
                        .atLeast(3),
                rule(
                        "11.10",
                        "waiting for an event of a closed buffer ends with an exception",
                        "event-after-close",
                        Capability.HIGH_THROUGHPUT,
                        Capability.ASYNC,
                        Capability.WORST_CASE),
                rule(
                                "11.11",
                                "an operation is refused if the memory of its rows is closed before the operation begins",
                                "closed-queued",
                                Capability.HIGH_THROUGHPUT,
                                Capability.ASYNC)
                        .onlyWithout(Capability.STREAMS),
                rule(
                                "11.12",
                                "rows arrive even if their memory is closed while the operation runs",
                                "closed-running",
                                Capability.HIGH_THROUGHPUT,
                                Capability.ASYNC)
                        .onlyWithout(Capability.STREAMS),
                rule(
                        "11.13",
                        "rows arrive even if their memory is closed after they are sent and before receive()",
                        "closed-between",
                        Capability.HOOK));
    }

    private static Rule rule(String id, String text, String name, Capability... needs) {
        return Rule.of(id, text, MisuseScenario.class, "case=" + name, needs);
    }
}
