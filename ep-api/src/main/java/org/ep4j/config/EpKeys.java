package org.ep4j.config;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apiguardian.api.API;

/**
 * Settings that ep4j itself reads, each with its default; {@code docs/reference/settings.md} has the same list. Each
 * backend declares its own.
 */
public final class EpKeys {
    /** {@code ep.device}, host: device of this rank. */
    public static final ConfigKey<String> DEVICE = ConfigKey.text(
            "ep.device",
            "host",
            "device of this rank: host, cuda or hip; cuda:N or hip:N selects GPU N; without :N the local rank selects"
                    + " the GPU");

    /** {@code ep.timeout}, 30s: longest wait of one dispatch, combine or receive. */
    public static final ConfigKey<Duration> TIMEOUT =
            ConfigKey.duration("ep.timeout", "30s", "longest wait of one dispatch, combine or receive");

    /** {@code ep.setup-timeout}, 60s: longest wait for the other ranks while a group, buffer or backend is set up. */
    public static final ConfigKey<Duration> SETUP_TIMEOUT = ConfigKey.duration(
            "ep.setup-timeout", "60s", "longest wait for the other ranks while a group or a buffer is set up");

    /** {@code ep.backend.require}, empty: the only backends that may be used. */
    public static final ConfigKey<String> BACKEND_REQUIRE = ConfigKey.text(
                    "ep.backend.require", "", "comma-separated list of the only backends that may be used")
            .agreedByAllRanks();

    /** {@code ep.backend.prefer}, empty: backends to prefer. */
    public static final ConfigKey<String> BACKEND_PREFER = ConfigKey.text(
                    "ep.backend.prefer",
                    "",
                    "comma-separated list of backends to prefer, in this order, if they offer a path")
            .agreedByAllRanks();

    /** {@code ep.backend.exclude}, empty: backends never to use. */
    public static final ConfigKey<String> BACKEND_EXCLUDE = ConfigKey.text(
                    "ep.backend.exclude", "", "comma-separated list of backends never to use")
            .agreedByAllRanks();

    /** {@code ep.plan.objective}, balanced: message size that paths are chosen for. */
    public static final ConfigKey<String> OBJECTIVE = ConfigKey.choice(
                    "ep.plan.objective",
                    "balanced",
                    List.of("balanced", "low-latency", "high-throughput"),
                    "message size that paths are chosen for: one BF16 row (balanced), one FP8 row (low-latency) or a"
                            + " batch of 512 FP8 rows (high-throughput)")
            .agreedByAllRanks();

    /** {@code ep.plan.hybrid}, true: whether ranks that can map each other's memory may use mapped paths. */
    public static final ConfigKey<Boolean> HYBRID = ConfigKey.flag(
                    "ep.plan.hybrid",
                    true,
                    "true: ranks that can map each other's memory, for example in an NVLink domain, may use mapped"
                            + " paths (loads and stores), with posted paths to the other ranks; false: every pair of ranks"
                            + " for which a backend offers a posted path uses that path, in high throughput and in low"
                            + " latency")
            .orVariable("EP_HYBRID_LL")
            .orVariable("MSCCLPP_EP_HYBRID_LL")
            .agreedByAllRanks();

    /**
     * {@code ep.plan.rails}, true: whether high throughput posts a token only once to each domain of ranks that map
     * each other's memory.
     */
    public static final ConfigKey<Boolean> RAILS = ConfigKey.flag(
                    "ep.plan.rails",
                    true,
                    "true: high throughput posts a token only once to each domain (ranks that map each other's memory,"
                            + " such as the ranks of another host). One rank of that domain receives the token and"
                            + " forwards it there: the rank whose position in that domain is the sender's position in"
                            + " the sender's own domain, modulo the size of that domain."
                            + " false: high throughput posts the token to every rank that the token is for")
            .agreedByAllRanks();

    /** {@code ep.tune}, on: whether buffers use the settings that {@code ./ep tune} has measured for their shape. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<String> TUNE = ConfigKey.choice(
            "ep.tune",
            "on",
            List.of("on", "off"),
            "on: a buffer uses the settings that ./ep tune has measured on this machine for its shape, except those that"
                    + " are set explicitly; off: what ./ep tune has measured is ignored");

    /** {@code ep.lanes}, 0: number of lanes (queue pairs) between two ranks over NICs. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Integer> LANES = ConfigKey.integer(
                    "ep.lanes",
                    0,
                    0,
                    256,
                    "number of lanes (queue pairs) between two ranks over NICs, rounded up to a multiple of the number"
                            + " of ports; 0 lets the planner compute it")
            .agreedByAllRanks();

    /** {@code ep.host.ranks}, 0: number of consecutive ranks that are treated as one host. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Integer> HOST_RANKS = ConfigKey.integer(
                    "ep.host.ranks",
                    0,
                    0,
                    1 << 20,
                    "number of consecutive ranks that are treated as one host, to try a plan for several hosts on one"
                            + " machine; 0 uses the real hosts")
            .agreedByAllRanks();

    /** {@code ep.host.rows}, auto: instructions with which ranks on the host copy, sum and cast rows. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<String> HOST_ROWS = ConfigKey.choice(
            "ep.host.rows",
            "auto",
            List.of("auto", "java", "baseline", "avx2", "avx512", "avx512-bf16"),
            "instructions with which a rank on the host copies, sums and casts rows; all give the same results. auto:"
                    + " the widest that the processor has, or java if ep4j was built without g++; java: no native code;"
                    + " baseline: what every processor has (SSE2, NEON); a value other than auto and java is refused if"
                    + " the processor or the build lacks it. With all values but java, plain copies use the C library");

    /**
     * {@code ep.host.non-temporal-bytes}, 2MiB: number of bytes above which a step of an operation on the host writes
     * rows with non-temporal stores.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Long> HOST_NON_TEMPORAL_BYTES = ConfigKey.bytes(
            "ep.host.non-temporal-bytes",
            "2MiB",
            "threshold for non-temporal stores (stores that go to memory instead of into the caches): on the host,"
                    + " native code uses them in a step of an operation (sending, forwarding, expanding or summing rows)"
                    + " that writes more bytes than this threshold");

    /** Kernels keep a step of 16 bits below an operation's number, and counters are signed: this leaves room for a million operations. */
    private static final long LARGEST_FIRST_NUMBER = (1L << 47) - (1L << 20);

    /** {@code ep.test.first-number}, 1: number of a buffer's first operation of each kind, for tests. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public static final ConfigKey<Long> FIRST_NUMBER = ConfigKey.text(
                    "ep.test.first-number",
                    "1",
                    "for tests: number of a buffer's first operation of each kind, as if operations with all smaller"
                            + " numbers had run before")
            .map("an integer from 1 to " + LARGEST_FIRST_NUMBER, EpKeys::parseFirstNumber)
            .agreedByAllRanks();

    /** {@code ep.proxy.threads}, 0: number of proxy threads of a GPU (host threads that post to NICs for it). */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Integer> PROXY_THREADS = ConfigKey.integer(
                    "ep.proxy.threads",
                    0,
                    0,
                    64,
                    "number of proxy threads of a GPU (host threads that post for it on HOST_POSTED paths); 0 uses 8"
                            + " on Hopper, 1 on Blackwell and 4 elsewhere, but at most as many as the rank has hardware"
                            + " threads")
            .orVariable("MSCCLPP_EP_NUM_PROXIES")
            .agreedByAllRanks();

    /** {@code ep.nic.map}, empty: which NICs each GPU uses. */
    public static final ConfigKey<String> NIC_MAP = ConfigKey.text(
                    "ep.nic.map",
                    "",
                    "NICs of each GPU, for example 0:mlx5_0:1,1:mlx5_1 (GPU:NIC[:PORT], where GPU is the index of the"
                            + " GPU on its host); a GPU that is listed twice uses both NICs; * as GPU means all GPUs that"
                            + " are not listed")
            .checked("a map of GPUs to NICs", NicMap::parse)
            .orVariable("DEEP_EP_DEVICE_TO_HCA_MAPPING");

    /** {@code ep.nic.include}, empty: the only NICs that may be used. */
    public static final ConfigKey<String> NIC_INCLUDE = ConfigKey.text(
                    "ep.nic.include",
                    "",
                    "the only NICs that may be used, for example mlx5_0,mlx5_1:1 (NAME[:PORT]); a name also matches"
                            + " longer names, but never inside a number: mlx5 matches every mlx5_N, mlx5_1 does not"
                            + " match mlx5_10; a leading = requires exact names, a leading ^ excludes the listed NICs")
            .checked("a list of NICs", NicPattern::parse)
            .orVariable("NCCL_IB_HCA")
            .orVariable("NVSHMEM_HCA_LIST")
            .orVariable("UCCL_IB_HCA");

    /** {@code ep.nic.exclude}, empty: NICs never to use. */
    public static final ConfigKey<String> NIC_EXCLUDE = ConfigKey.text(
                    "ep.nic.exclude", "", "NICs never to use, written as in ep.nic.include")
            .checked("a list of NICs", NicPattern::parseExcluded);

    /** {@code ep.nic.gid-index}, -1: index of the entry in a port's GID table to send from. */
    public static final ConfigKey<Integer> NIC_GID_INDEX = ConfigKey.integer(
                    "ep.nic.gid-index",
                    -1,
                    -1,
                    1023,
                    "index of the entry in a port's GID table to send from; -1 chooses an entry by link layer, address"
                            + " and type")
            .orVariable("NCCL_IB_GID_INDEX")
            .orVariable("NVSHMEM_IB_GID_INDEX")
            .orVariable("UCCL_IB_GID_INDEX");

    /** {@code ep.nic.service-level}, -1: InfiniBand service level. */
    public static final ConfigKey<Integer> NIC_SERVICE_LEVEL = ConfigKey.integer(
                    "ep.nic.service-level",
                    -1,
                    -1,
                    15,
                    "service level of the traffic; -1 leaves the choice to the backend")
            .orVariable("NCCL_IB_SL")
            .orVariable("NVSHMEM_IB_SL")
            .orVariable("UCCL_IB_SL")
            .agreedByAllRanks();

    /** {@code ep.nic.traffic-class}, -1: traffic class of RoCE. */
    public static final ConfigKey<Integer> NIC_TRAFFIC_CLASS = ConfigKey.integer(
                    "ep.nic.traffic-class",
                    -1,
                    -1,
                    255,
                    "traffic class of RoCE traffic; -1 leaves the choice to the backend")
            .orVariable("NCCL_IB_TC")
            .orVariable("NVSHMEM_IB_TRAFFIC_CLASS")
            .orVariable("UCCL_IB_TC")
            .agreedByAllRanks();

    /** Fifos of a GPU in UCCL ({@code ep/include/common.hpp}: kNumProxyThs x kChannelPerProxy), each of which it limits. */
    private static final int UCCL_FIFOS = 32;

    /** {@code ep.nic.max-inflight-bytes}, 0: limit on the bytes that a rank has in flight on a NIC. */
    public static final ConfigKey<Long> NIC_INFLIGHT_BYTES = ConfigKey.bytes(
                    "ep.nic.max-inflight-bytes",
                    "0",
                    "largest number of bytes that a rank has in flight on a NIC, to all peers together; 0 uses the"
                            + " limit known for the kind of NIC, or sets no limit if none is known")
            .orVariable("UCCL_IB_MAX_INFLIGHT_BYTES");

    /**
     * {@code ep.nic.max-inflight-writes}, 0: limit on the high-throughput writes that a rank has in flight on a NIC.
     */
    public static final ConfigKey<Integer> NIC_INFLIGHT_WRITES = ConfigKey.integer(
                    "ep.nic.max-inflight-writes",
                    0,
                    0,
                    1 << 20,
                    "largest number of writes of high-throughput operations that a rank has in flight on a NIC, to all"
                            + " peers together; 0 uses the limit known for the kind of NIC, or sets no limit if none is"
                            + " known")
            .orVariableTimes("UCCL_IB_MAX_INFLIGHT_NORMAL", UCCL_FIFOS);

    /**
     * {@code ep.nic.max-inflight-messages}, 0: limit on the low-latency writes that a rank has in flight on a NIC.
     */
    public static final ConfigKey<Integer> NIC_INFLIGHT_MESSAGES = ConfigKey.integer(
                    "ep.nic.max-inflight-messages",
                    0,
                    0,
                    1 << 20,
                    "largest number of writes of low-latency operations that a rank has in flight on a NIC, to all"
                            + " peers together; 0 uses the limit known for the kind of NIC, or sets no limit if none is"
                            + " known")
            .orVariableTimes("UCCL_IB_MAX_INFLIGHT_LOW_LATENCY", UCCL_FIFOS);

    /** {@code ep.bootstrap.secret}, empty: secret that authenticates the TCP rendezvous. */
    public static final ConfigKey<String> BOOTSTRAP_SECRET = ConfigKey.text(
            "ep.bootstrap.secret",
            "",
            "shared secret of the TCP rendezvous, the same on all ranks; set it in the environment, not on a command"
                    + " line; 64 random hexadecimal digits (openssl rand -hex 32) are best; from any other text, each rank"
                    + " derives a key in 0.1 s or more, so that guessing the text is slow");

    /** {@code ep.bootstrap.address}, empty: host name or IP address of rank 0, where its TCP rendezvous listens. */
    public static final ConfigKey<String> BOOTSTRAP_ADDRESS = ConfigKey.text(
            "ep.bootstrap.address",
            "",
            "host name or IP address of rank 0, where its TCP rendezvous listens; the same on all ranks; empty means"
                    + " MASTER_ADDR; not used under PMIx");

    /** {@code ep.bootstrap.interface}, empty: network interfaces of the TCP rendezvous. */
    public static final ConfigKey<String> BOOTSTRAP_INTERFACE = InterfacePattern.key(
            ConfigKey.text(
                    "ep.bootstrap.interface",
                    "",
                    "network interfaces of the TCP rendezvous: name prefixes, separated by commas; a leading ="
                            + " requires exact names, a leading ^ means all interfaces except these and loopback; empty"
                            + " lets the system choose. Rank 0 listens on an address of these interfaces, and the other"
                            + " ranks connect from such an address; joining fails on a rank whose interfaces cannot reach"
                            + " the address of rank 0. A value that comes from a variable of other software is only a"
                            + " preference: it does not change where rank 0 listens, and joining does not fail because of"
                            + " it"),
            "NCCL_SOCKET_IFNAME",
            "UCCL_SOCKET_IFNAME");

    /** {@code ep.bootstrap.port}, 0: port of the TCP rendezvous. */
    public static final ConfigKey<Integer> BOOTSTRAP_PORT = ConfigKey.integer(
            "ep.bootstrap.port",
            0,
            0,
            65535,
            "port of the TCP rendezvous on rank 0; 0 means MASTER_PORT, or MASTER_PORT + 1 if torchrun's agent listens"
                    + " on MASTER_PORT; under PMIx, 0 means any free port");

    /** {@code ep.bootstrap.heartbeat}, 1s: interval of heartbeats on the connections of the TCP rendezvous. */
    public static final ConfigKey<Duration> BOOTSTRAP_HEARTBEAT = ConfigKey.duration(
            "ep.bootstrap.heartbeat",
            "1s",
            "idle time after which a heartbeat is sent on a rendezvous connection; rank 0's value applies to all"
                    + " ranks");

    /**
     * {@code ep.bootstrap.heartbeat-timeout}, 10s: time of silence after which the other side of a TCP rendezvous
     * connection counts as lost.
     */
    public static final ConfigKey<Duration> BOOTSTRAP_HEARTBEAT_TIMEOUT = ConfigKey.duration(
            "ep.bootstrap.heartbeat-timeout",
            "10s",
            "time after which the other side of a rendezvous connection is considered lost if it sends nothing, or"
                    + " accepts nothing of what is sent; at least twice ep.bootstrap.heartbeat; rank 0's value applies to"
                    + " all ranks");

    /**
     * {@code ep.recover.alone}, false: whether {@code EpBuffer.recover} counts lost ranks as dead although nothing
     * proves it.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Boolean> RECOVER_ALONE = ConfigKey.flag(
                    "ep.recover.alone",
                    false,
                    "true lets EpBuffer.recover count lost ranks as dead without a proof, for example after the loss"
                            + " of a whole host; lost ranks that in fact still run may then continue as a second group")
            .agreedByAllRanks();

    /**
     * {@code ep.bootstrap.linger}, 5s: longest time that rank 0 keeps the TCP rendezvous open for other ranks after
     * it has closed its own bootstrap.
     */
    public static final ConfigKey<Duration> BOOTSTRAP_LINGER = ConfigKey.duration(
            "ep.bootstrap.linger",
            "5s",
            "longest time that rank 0, after it has closed its own bootstrap, keeps serving the ranks that have not"
                    + " closed theirs");

    /** {@code ep.gpu.sms}, 0: number of multiprocessors of a GPU that move rows in high throughput. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Integer> GPU_SMS = ConfigKey.integer(
            "ep.gpu.sms",
            0,
            0,
            4096,
            "number of multiprocessors (SMs) of a GPU that move rows in high throughput; 0 uses as many as"
                    + " nearly saturate the GPU's links, and leaves the other SMs to computation");

    /** {@code ep.gpu.low-latency.sms}, 0: number of multiprocessors of a GPU that move rows in low latency. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Integer> LOW_LATENCY_SMS = ConfigKey.integer(
            "ep.gpu.low-latency.sms",
            0,
            0,
            4096,
            "number of multiprocessors (SMs) of a GPU that move rows in low latency; 0 uses all, or this buffer's"
                    + " share if the process has other buffers on the GPU, or if ranks of the group in other processes use"
                    + " the GPU");

    /** {@code ep.gpu.window}, auto: kind of memory that NICs read and write for a GPU (its window). */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<String> GPU_WINDOW = ConfigKey.choice(
            "ep.gpu.window",
            "auto",
            List.of("auto", "device", "host"),
            "memory that NICs read and write for a GPU on HOST_POSTED paths (its window): auto uses the memory of an"
                    + " NVIDIA GPU if the NIC is near and can register it (as dma-buf, else through peer memory),"
                    + " otherwise pinned host memory; device uses the memory of any GPU, and fails if the NIC cannot"
                    + " register it; host uses pinned host memory");

    /** {@code ep.gpu.publish}, release: how an AMD GPU publishes data to GPUs that it reaches over xGMI. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<String> GPU_PUBLISH = ConfigKey.choice(
                    "ep.gpu.publish",
                    "release",
                    List.of("release", "relaxed"),
                    "how an AMD GPU publishes data to GPUs that it reaches over xGMI: release first writes back the"
                            + " GPU's caches; relaxed does not, and is refused unless the memory that these GPUs share is"
                            + " uncached")
            .orVariable("UCCL_EP_ENABLE_AGGRESSIVE_ATOMIC", Map.of("1", "relaxed", "0", "release"));

    /** {@code ep.proxy.rings}, 4: number of rings through which a GPU hands commands to each proxy thread. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Integer> PROXY_RINGS = ConfigKey.integer(
            "ep.proxy.rings",
            4,
            1,
            64,
            "number of rings through which a GPU hands commands to each proxy thread; all commands for one peer use"
                    + " the same ring");

    /**
     * {@code ep.proxy.ring-commands}, 2048: number of commands that a ring between a GPU and a proxy thread holds.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Integer> PROXY_RING_COMMANDS = ConfigKey.powerOfTwo(
            "ep.proxy.ring-commands",
            2048,
            64,
            65536,
            "number of commands (16 bytes each) that a ring holds; if the ring is full, the GPU waits for the proxy"
                    + " thread");

    /**
     * {@code ep.proxy.idle-spin}, 50us: how long a proxy thread without work spins before it yields its CPU or
     * sleeps.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final ConfigKey<Duration> PROXY_IDLE_SPIN = ConfigKey.duration(
            "ep.proxy.idle-spin",
            "50us",
            "how long a proxy thread without work spins; after that it yields its CPU while an operation is in flight,"
                    + " and sleeps otherwise");

    private EpKeys() {}

    private static long parseFirstNumber(String text) {
        long number = Long.parseLong(text.trim());
        if (number < 1 || number > LARGEST_FIRST_NUMBER) {
            throw new IllegalArgumentException(text + " is outside");
        }
        return number;
    }

    /** All settings of this class, which apply to all backends. Each backend adds its own. */
    public static List<ConfigKey<?>> all() {
        return List.of(
                DEVICE,
                TIMEOUT,
                SETUP_TIMEOUT,
                BACKEND_REQUIRE,
                BACKEND_PREFER,
                BACKEND_EXCLUDE,
                OBJECTIVE,
                HYBRID,
                RAILS,
                TUNE,
                LANES,
                HOST_RANKS,
                HOST_ROWS,
                HOST_NON_TEMPORAL_BYTES,
                FIRST_NUMBER,
                PROXY_THREADS,
                NIC_MAP,
                NIC_INCLUDE,
                NIC_EXCLUDE,
                NIC_GID_INDEX,
                NIC_SERVICE_LEVEL,
                NIC_TRAFFIC_CLASS,
                NIC_INFLIGHT_BYTES,
                NIC_INFLIGHT_WRITES,
                NIC_INFLIGHT_MESSAGES,
                BOOTSTRAP_SECRET,
                BOOTSTRAP_ADDRESS,
                BOOTSTRAP_INTERFACE,
                BOOTSTRAP_PORT,
                BOOTSTRAP_HEARTBEAT,
                BOOTSTRAP_HEARTBEAT_TIMEOUT,
                RECOVER_ALONE,
                BOOTSTRAP_LINGER,
                GPU_SMS,
                LOW_LATENCY_SMS,
                GPU_WINDOW,
                GPU_PUBLISH,
                PROXY_RINGS,
                PROXY_RING_COMMANDS,
                PROXY_IDLE_SPIN);
    }
}
