package org.ep4j.backend.efa;

import java.util.List;
import org.ep4j.config.ConfigKey;

/**
 * The settings of the backend. Variables of UCCL that mean the same are read too. Which NICs and the traffic class: {@code
 * ep.nic.*}.
 */
final class EfaKeys {
    /** What {@link #PROVIDER} is by default. */
    static final String AUTO = "auto";

    static final ConfigKey<String> PROVIDER = ConfigKey.text(
                    "ep.efa.provider",
                    AUTO,
                    "libfabric provider, as fi_info names it: efa, efa-direct, cxi, verbs, tcp, shm or another one;"
                            + " auto uses the first of efa, efa-direct, cxi and tcp that both ranks have")
            .agreedByAllRanks();

    static final ConfigKey<String> INTERFACE = ConfigKey.text(
                    "ep.efa.interface",
                    "",
                    "network interfaces of the tcp provider: name prefixes, separated by commas; a leading = requires"
                            + " exact names, a leading ^ means all interfaces except these; empty chooses one that is"
                            + " neither loopback nor made for containers")
            .orVariable("UCCL_SOCKET_IFNAME");

    static final ConfigKey<Integer> INFLIGHT_WRITES = ConfigKey.integer(
                    "ep.efa.max-inflight-writes",
                    0,
                    0,
                    4096,
                    "largest number of writes of 64 KiB or more in flight to one peer on a NIC; 0 uses the limit known"
                            + " for the kind of NIC, or 8 if none is known (over tcp and shm 32)")
            .orVariable("UCCL_IB_MAX_INFLIGHT_NORMAL");

    static final ConfigKey<Integer> INFLIGHT_MESSAGES = ConfigKey.integer(
                    "ep.efa.max-inflight-messages",
                    0,
                    0,
                    4096,
                    "largest number of writes below 64 KiB in flight to one peer on a NIC; 0 uses the limit known for"
                            + " the kind of NIC, or 32 if none is known (over tcp and shm 128)")
            .orVariable("UCCL_IB_MAX_INFLIGHT_LOW_LATENCY");

    static final ConfigKey<Long> INFLIGHT_BYTES = ConfigKey.bytes(
                    "ep.efa.max-inflight-bytes",
                    "0",
                    "largest number of bytes that a rank has in flight on a NIC, to all peers together; 0 uses the"
                            + " limit known for the kind of NIC, or sets no limit if none is known")
            .orVariable("UCCL_IB_MAX_INFLIGHT_BYTES");

    private EfaKeys() {}

    static List<ConfigKey<?>> all() {
        return List.of(PROVIDER, INTERFACE, INFLIGHT_WRITES, INFLIGHT_MESSAGES, INFLIGHT_BYTES);
    }
}
