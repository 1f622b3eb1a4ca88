package org.ep4j.backend.ibrc;

import java.util.List;
import org.ep4j.config.ConfigKey;

/**
 * The settings of the backend. Variables of NVSHMEM, NCCL and UCCL that mean the same and have the same values are read
 * too. Not so: {@code NCCL_IB_USE_INLINE} and {@code NCCL_IB_PCI_RELAXED_ORDERING} (switches, the latter with three places). Which
 * NICs, GID index, service level and traffic class: {@code ep.nic.*}; the number of queue pairs over all ports: {@code ep.lanes}.
 */
final class IbrcKeys {
    static final ConfigKey<Integer> PORTS = ConfigKey.integer(
                    "ep.ibrc.ports", 0, 0, 64, "ports that a rank uses at most; 0 uses all that the plan gives it")
            .agreedByAllRanks();

    static final ConfigKey<Integer> QUEUE_PAIRS = ConfigKey.integer(
                    "ep.ibrc.queue-pairs",
                    0,
                    0,
                    256,
                    "queue pairs to each peer on each port; 0 takes the plan's lanes (ep.lanes) divided by the ports")
            .orVariable("NVSHMEM_IB_MAX_TRANSPORT_EP_COUNT")
            .orVariable("NVSHMEM_IB_NUM_RC_PER_DEVICE")
            .orVariable("NCCL_IB_QPS_PER_CONNECTION")
            .agreedByAllRanks();

    /** Both ends of a queue pair must have the same. */
    static final ConfigKey<String> MTU = ConfigKey.choice(
                    "ep.ibrc.mtu",
                    "0",
                    List.of("0", "256", "512", "1024", "2048", "4096"),
                    "bytes of a packet at most; 0 takes what both ports have")
            .agreedByAllRanks();

    static final ConfigKey<Integer> TIMEOUT = ConfigKey.integer(
                    "ep.ibrc.timeout",
                    17,
                    1,
                    31,
                    "exponent of the wait for an acknowledgement before a packet is sent again, 4.096 us * 2^value")
            .orVariable("NCCL_IB_TIMEOUT");

    static final ConfigKey<Integer> RETRIES = ConfigKey.integer(
                    "ep.ibrc.retries",
                    7,
                    0,
                    7,
                    "times that a packet is sent again before its port counts as failed; on soft RoCE at most 6")
            .orVariable("NCCL_IB_RETRY_CNT");

    static final ConfigKey<Integer> RNR_RETRIES = ConfigKey.integer(
            "ep.ibrc.rnr-retries",
            7,
            0,
            7,
            "times that a peer without a posted receive is asked again; 7 is without end");

    static final ConfigKey<Integer> READS = ConfigKey.integer(
            "ep.ibrc.rd-atomic",
            16,
            1,
            128,
            "reads and atomic operations of a queue pair that are under way at once, at most; counters are such where"
                    + " ep.ibrc.counters is atomic");

    static final ConfigKey<Integer> DEPTH =
            ConfigKey.integer("ep.ibrc.depth", 256, 16, 16384, "work requests that a queue pair holds");

    static final ConfigKey<Integer> INLINE = ConfigKey.integer(
            "ep.ibrc.inline", 128, 0, 1024, "writes of up to so many bytes travel inside their work request");

    static final ConfigKey<Integer> SIGNAL = ConfigKey.integer(
            "ep.ibrc.signal-interval",
            32,
            1,
            4096,
            "every so many work requests of a queue pair one reports completion; a quarter of the depth at most");

    /** Pieces below it cost more than they bring; the unit of NCCL's split is 128 bytes. */
    private static final long SMALLEST_STRIPE = 128;

    /** The largest message of verbs is 2^31 bytes. */
    private static final long LARGEST_STRIPE = 1L << 30;

    static final ConfigKey<Long> STRIPE = within(
            ConfigKey.bytes(
                    "ep.ibrc.stripe",
                    "64KiB",
                    "what is written to a peer before a counter is spread over all queue pairs in pieces of this size, and"
                            + " stays on one where it is less"),
            "a number of bytes from 128 to 1GiB",
            SMALLEST_STRIPE,
            LARGEST_STRIPE);

    static final ConfigKey<Integer> INFLIGHT_WRITES = ConfigKey.integer(
                    "ep.ibrc.max-inflight-writes",
                    0,
                    0,
                    16384,
                    "writes of 64 KiB and more, as high throughput makes, that a rank has under way on a NIC at once, to all peers; 0"
                            + " takes what the kind of NIC is known for, or sets no limit")
            .orVariable("UCCL_IB_MAX_INFLIGHT_NORMAL");

    static final ConfigKey<Integer> INFLIGHT_MESSAGES = ConfigKey.integer(
                    "ep.ibrc.max-inflight-messages",
                    0,
                    0,
                    16384,
                    "smaller writes, as low latency makes, that a rank has under way on a NIC at once, to all peers; 0 takes what the"
                            + " kind of NIC is known for, or sets no limit")
            .orVariable("UCCL_IB_MAX_INFLIGHT_LOW_LATENCY");

    static final ConfigKey<Long> INFLIGHT_BYTES = ConfigKey.bytes(
                    "ep.ibrc.max-inflight-bytes",
                    "0",
                    "bytes that a rank has under way on a NIC at once, to all peers; 0 takes what the kind of NIC is known for, or sets"
                            + " no limit")
            .orVariable("UCCL_IB_MAX_INFLIGHT_BYTES");

    /** A value of {@link #COUNTERS}. */
    static final String ATOMIC = "atomic";

    /** One request for a counted write is sooner there than two, and who waits for a counter polls, so he can count, too. */
    static final ConfigKey<String> COUNTERS = ConfigKey.choice(
                    "ep.ibrc.counters",
                    "immediate",
                    List.of("immediate", ATOMIC),
                    "how counters advance: immediate sends 32 bits with the last bytes, which the receiver counts; atomic"
                            + " adds to them after the bytes, by the NIC, where all ranks' NICs can")
            .agreedByAllRanks();

    static final ConfigKey<Boolean> RELAXED_ORDERING = ConfigKey.flag(
                    "ep.ibrc.relaxed-ordering",
                    true,
                    "register data (never counters, nor memory of AMD GPUs) for PCIe relaxed ordering")
            .orVariable("NVSHMEM_IB_ENABLE_RELAXED_ORDERING");

    static final ConfigKey<Integer> PKEY = ConfigKey.integer(
                    "ep.ibrc.pkey-index", 0, 0, 1023, "index of the partition key of an InfiniBand port")
            .orVariable("NCCL_IB_PKEY");

    private IbrcKeys() {}

    /** The same key, with limits, which are told as {@code format}. */
    private static ConfigKey<Long> within(ConfigKey<Long> key, String format, long least, long most) {
        return new ConfigKey<>(
                key.name(),
                key.defaultText(),
                format,
                key.help(),
                text -> {
                    long value = key.parser().apply(text);
                    if (value < least || value > most) {
                        throw new IllegalArgumentException(text + " is outside");
                    }
                    return value;
                },
                key.agreed());
    }

    static List<ConfigKey<?>> all() {
        return List.of(
                PORTS,
                QUEUE_PAIRS,
                MTU,
                TIMEOUT,
                RETRIES,
                RNR_RETRIES,
                READS,
                DEPTH,
                INLINE,
                SIGNAL,
                STRIPE,
                INFLIGHT_WRITES,
                INFLIGHT_MESSAGES,
                INFLIGHT_BYTES,
                COUNTERS,
                RELAXED_ORDERING,
                PKEY);
    }
}
