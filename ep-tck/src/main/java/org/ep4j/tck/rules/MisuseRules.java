package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 11. */
public final class MisuseRules {
    private MisuseRules() {}

    /** The rules. */
    public static List<Rule> all() {
        return List.of(
                rule("11.1", "a third send before the first was received is refused", "third-send", Capability.HOOK),
                rule(
                        "11.2",
                        "a combine of rows that were not received is refused",
                        "combine-unreceived",
                        Capability.HOOK),
                rule(
                        "11.3",
                        "receive() of what was sent before a recovery is refused",
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
                        "a thread that is interrupted while it waits gets an exception, or the right rows",
                        "interrupt",
                        Capability.HIGH_THROUGHPUT,
                        Capability.RECOVER),
                rule("11.6", "closing a buffer ends the waits in it", "close-waiting", Capability.HIGH_THROUGHPUT),
                rule(
                        "11.7",
                        "closing a group ends the waits in its buffers",
                        "close-group-waiting",
                        Capability.HIGH_THROUGHPUT),
                rule(
                        "11.8",
                        "two threads that use a buffer at once take turns",
                        "two-threads",
                        Capability.HIGH_THROUGHPUT),
                rule(
                                "11.9",
                                "ranks that leave out different ranks get an exception",
                                "mask-differs",
                                Capability.HIGH_THROUGHPUT,
                                Capability.MASK)
                        .atLeast(3),
                rule(
                        "11.10",
                        "an event that is awaited after the buffer was closed ends",
                        "event-after-close",
                        Capability.HIGH_THROUGHPUT,
                        Capability.ASYNC,
                        Capability.WORST_CASE),
                rule(
                                "11.11",
                                "rows whose memory is closed before their operation begins are refused",
                                "closed-queued",
                                Capability.HIGH_THROUGHPUT,
                                Capability.ASYNC)
                        .onlyWithout(Capability.STREAMS),
                rule(
                                "11.12",
                                "rows whose memory is closed while their operation runs arrive",
                                "closed-running",
                                Capability.HIGH_THROUGHPUT,
                                Capability.ASYNC)
                        .onlyWithout(Capability.STREAMS),
                rule(
                        "11.13",
                        "rows whose memory is closed between a send and its receive() arrive",
                        "closed-between",
                        Capability.HOOK));
    }

    private static Rule rule(String id, String text, String name, Capability... needs) {
        return Rule.of(id, text, MisuseScenario.class, "case=" + name, needs);
    }
}
