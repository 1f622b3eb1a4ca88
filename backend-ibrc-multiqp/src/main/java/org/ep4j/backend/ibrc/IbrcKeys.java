package org.ep4j.backend.ibrc;

import java.util.List;
import org.ep4j.config.ConfigKey;

/**
 * The settings of the backend. Variables of NVSHMEM and NCCL that mean the same and have the same values are read too, but not
 * {@code NCCL_IB_USE_INLINE} and {@code NCCL_IB_PCI_RELAXED_ORDERING} (switches, the latter with three places). Which NICs, GID
 * index, service level, traffic class and limits of what is in flight: {@code ep.nic.*}; the number of queue pairs over all
 * ports: {@code ep.lanes}.
 */
final class IbrcKeys {
    static final ConfigKey<Integer> PORTS = ConfigKey.integer(
                    "ep.ibrc.ports",
                    0,
                    0,
                    64,
                    "largest number of ports that a rank uses; 0 uses all ports that the plan assigns to it")
            .agreedByAllRanks();

    static final ConfigKey<Integer> QUEUE_PAIRS = ConfigKey.integer(
                    "ep.ibrc.queue-pairs",
                    0,
                    0,
                    256,
                    "number of queue pairs to each peer on each port; 0 uses the plan's lanes (ep.lanes) divided by"
                            + " the number of ports")
            .orVariable("NVSHMEM_IB_MAX_TRANSPORT_EP_COUNT")
            .orVariable("NVSHMEM_IB_NUM_RC_PER_DEVICE")
            .orVariable("NCCL_IB_QPS_PER_CONNECTION")
            .agreedByAllRanks();

    /** Both ends of a queue pair must have the same. */
    static final ConfigKey<String> MTU = ConfigKey.choice(
                    "ep.ibrc.mtu",
                    "0",
                    List.of("0", "256", "512", "1024", "2048", "4096"),
                    "largest packet payload in bytes; 0 uses the smaller MTU of the two ports")
            .agreedByAllRanks();

    static final ConfigKey<Integer> TIMEOUT = ConfigKey.integer(
                    "ep.ibrc.timeout",
                    17,
                    1,
                    31,
                    "exponent of the retransmission timeout: a packet is sent again after 4.096 us * 2^value without"
                            + " acknowledgement")
            .orVariable("NCCL_IB_TIMEOUT");

    static final ConfigKey<Integer> RETRIES = ConfigKey.integer(
                    "ep.ibrc.retries",
                    7,
                    0,
                    7,
                    "how often a packet is sent again before its port counts as failed; on soft RoCE at most 6")
            .orVariable("NCCL_IB_RETRY_CNT");

    static final ConfigKey<Integer> RNR_RETRIES = ConfigKey.integer(
            "ep.ibrc.rnr-retries",
            7,
            0,
            7,
            "how often a message is sent again to a peer that has no receive posted (RNR retries); 7 means without"
                    + " limit");

    static final ConfigKey<Integer> READS = ConfigKey.integer(
            "ep.ibrc.rd-atomic",
            16,
            1,
            128,
            "largest number of reads and atomic operations that a queue pair has in flight; with ep.ibrc.counters=atomic,"
                    + " counter updates are atomic operations");

    static final ConfigKey<Integer> DEPTH =
            ConfigKey.integer("ep.ibrc.depth", 256, 16, 16384, "number of work requests that a queue pair holds");

    static final ConfigKey<Integer> INLINE = ConfigKey.integer(
            "ep.ibrc.inline", 128, 0, 1024, "writes of up to this many bytes travel inside their work request");

    static final ConfigKey<Integer> SIGNAL = ConfigKey.integer(
            "ep.ibrc.signal-interval",
            32,
            1,
            4096,
            "interval of signalled work requests: at least every Nth work request of a queue pair reports its"
                    + " completion; N is at most a quarter of ep.ibrc.depth");

    /** Pieces below it cost more than they bring; the unit of NCCL's split is 128 bytes. */
    private static final long SMALLEST_STRIPE = 128;

    /** The largest message of verbs is 2^31 bytes. */
    private static final long LARGEST_STRIPE = 1L << 30;

    static final ConfigKey<Long> STRIPE = ConfigKey.bytes(
                    "ep.ibrc.stripe",
                    "64KiB",
                    "writes to a peer use one queue pair as long as they total at most this size since the last"
                            + " counter update; a write that would exceed this total is spread over all queue pairs in"
                            + " pieces of at most this size")
            .checked("a number of bytes from 128 to 1GiB", IbrcKeys::checkStripe);

    /** A value of {@link #COUNTERS}. */
    static final String ATOMIC = "atomic";

    /** One request for a counted write is sooner there than two, and who waits for a counter polls, so he can count, too. */
    static final ConfigKey<String> COUNTERS = ConfigKey.choice(
                    "ep.ibrc.counters",
                    "immediate",
                    List.of("immediate", ATOMIC),
                    "how counters advance: with immediate, the last write carries 32 bits of immediate data, and the"
                            + " receiver's CPU advances the counter; with atomic, the receiver's NIC adds to the"
                            + " counter after the writes, if the NICs of all ranks support this")
            .agreedByAllRanks();

    static final ConfigKey<Boolean> RELAXED_ORDERING = ConfigKey.flag(
                    "ep.ibrc.relaxed-ordering",
                    true,
                    "whether NICs may use PCIe relaxed ordering for data; counters, and memory of AMD GPUs, are always"
                            + " registered without relaxed ordering")
            .orVariable("NVSHMEM_IB_ENABLE_RELAXED_ORDERING");

    static final ConfigKey<Integer> PKEY = ConfigKey.integer(
                    "ep.ibrc.pkey-index", 0, 0, 1023, "index of the partition key of an InfiniBand port")
            .orVariable("NCCL_IB_PKEY");

    private IbrcKeys() {}

    private static void checkStripe(long bytes) {
        if (bytes < SMALLEST_STRIPE || bytes > LARGEST_STRIPE) {
            throw new IllegalArgumentException(bytes + " is outside");
        }
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
                COUNTERS,
                RELAXED_ORDERING,
                PKEY);
    }
}
