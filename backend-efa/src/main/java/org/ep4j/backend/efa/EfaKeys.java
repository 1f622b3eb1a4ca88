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
                    "provider of libfabric, as fi_info names it: efa, efa-direct, cxi, verbs, tcp, shm or another one; auto"
                            + " takes the first of efa, efa-direct, cxi and tcp that both ranks have")
            .agreedByAllRanks();

    static final ConfigKey<String> INTERFACE = ConfigKey.text(
                    "ep.efa.interface",
                    "",
                    "network interfaces of the tcp provider, separated by commas; each is the beginning of names, after = a"
                            + " name, and after ^ at the front all count but those; empty takes one that is neither loopback"
                            + " nor made for containers")
            .orVariable("UCCL_SOCKET_IFNAME")
            .orVariable("NCCL_SOCKET_IFNAME");

    static final ConfigKey<Integer> INFLIGHT_WRITES = ConfigKey.integer(
                    "ep.efa.max-inflight-writes",
                    0,
                    0,
                    4096,
                    "writes of 64 KiB and more, as high throughput makes, that a rank has under way on a NIC at once, to all peers; 0"
                            + " takes what its kind is known for, or 8, and over tcp and shm 32")
            .orVariable("UCCL_IB_MAX_INFLIGHT_NORMAL");

    static final ConfigKey<Integer> INFLIGHT_MESSAGES = ConfigKey.integer(
                    "ep.efa.max-inflight-messages",
                    0,
                    0,
                    4096,
                    "smaller writes, as low latency makes, that a rank has under way on a NIC at once, to all peers; 0 takes what"
                            + " its kind is known for, or 32, and over tcp and shm 128")
            .orVariable("UCCL_IB_MAX_INFLIGHT_LOW_LATENCY");

    static final ConfigKey<Long> INFLIGHT_BYTES = ConfigKey.bytes(
                    "ep.efa.max-inflight-bytes",
                    "0",
                    "bytes of a rank that are under way on a NIC at once, to all peers; 0 takes what its kind is known for")
            .orVariable("UCCL_IB_MAX_INFLIGHT_BYTES");

    private EfaKeys() {}

    static List<ConfigKey<?>> all() {
        return List.of(PROVIDER, INTERFACE, INFLIGHT_WRITES, INFLIGHT_MESSAGES, INFLIGHT_BYTES);
    }
}
