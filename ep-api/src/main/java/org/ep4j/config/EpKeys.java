package org.ep4j.config;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The settings that ep4j itself reads; backends declare their own. */
public final class EpKeys {
    /** Device of this rank. */
    public static final ConfigKey<String> DEVICE = ConfigKey.text(
            "ep.device",
            "host",
            "device of this rank: host, cuda or hip, with :ORDINAL for a certain one; without it the local rank counts");

    /** Longest wait of one operation. */
    public static final ConfigKey<Duration> TIMEOUT =
            ConfigKey.duration("ep.timeout", "30s", "longest wait of one dispatch, combine or receive");

    /** Longest wait for the other ranks while a group, buffer or backend is set up. */
    public static final ConfigKey<Duration> SETUP_TIMEOUT = ConfigKey.duration(
            "ep.setup-timeout", "60s", "longest wait for the other ranks while a group or a buffer is set up");

    /** Backends that alone may be used. */
    public static final ConfigKey<String> REQUIRE = ConfigKey.text(
                    "ep.backend.require", "", "comma-separated backends that alone may be used; nothing else is tried")
            .agreedByAllRanks();

    /** Backends to take before others. */
    public static final ConfigKey<String> PREFER = ConfigKey.text(
                    "ep.backend.prefer", "", "comma-separated backends to take, in this order, where they have a path")
            .agreedByAllRanks();

    /** Backends never to use. */
    public static final ConfigKey<String> EXCLUDE = ConfigKey.text(
                    "ep.backend.exclude", "", "comma-separated backends never to use")
            .agreedByAllRanks();

    /** What paths are chosen for. */
    public static final ConfigKey<String> OBJECTIVE = ConfigKey.choice(
                    "ep.plan.objective",
                    "balanced",
                    List.of("balanced", "low-latency", "high-throughput"),
                    "what paths are to be good at: small messages, large ones, or rows in between")
            .agreedByAllRanks();

    /** Whether ranks that can map each other's memory do. */
    public static final ConfigKey<Boolean> HYBRID = ConfigKey.flag(
                    "ep.plan.hybrid",
                    true,
                    "whether ranks that map each other's memory, as inside of an NVLink domain, load and store there, beside posted"
                            + " paths to the others; false takes a posted path for every pair that is offered one, in both modes")
            .orVariable("EP_HYBRID_LL")
            // MSCCL++ takes everything but "0" as on.
            .orVariable("MSCCLPP_EP_HYBRID_LL", text -> text.equals("0") ? "false" : "true")
            .agreedByAllRanks();

    /** Who posts to NICs. */
    public static final ConfigKey<String> POSTING = ConfigKey.choice(
                    "ep.plan.posting",
                    "auto",
                    List.of("auto", "device", "host"),
                    "who posts to NICs where both can: device takes paths on which GPUs post before those on which host threads do,"
                            + " host the other way round, auto takes the faster; MSCCLPP_EP_USE_IBGDA is 1 for device, 0 for host")
            .orVariable(
                    "MSCCLPP_EP_USE_IBGDA",
                    text -> Map.of("1", "device", "0", "host").getOrDefault(text.trim(), text))
            .agreedByAllRanks();

    /** Whether rows go to a host once. */
    public static final ConfigKey<Boolean> RAILS = ConfigKey.flag(
                    "ep.plan.rails",
                    true,
                    "whether high throughput posts a token for several ranks that map each other's memory, as those of another host,"
                            + " to one of them, the one with the sender's place, which passes it on; false posts it to each")
            .agreedByAllRanks();

    /** Lanes of a pair over NICs. */
    public static final ConfigKey<Integer> LANES = ConfigKey.integer(
                    "ep.lanes",
                    0,
                    0,
                    256,
                    "lanes (queue pairs) between two ranks over NICs, rounded up to a multiple of the ports; 0 computes it")
            .agreedByAllRanks();

    /** Hosts that are made up on one machine. */
    public static final ConfigKey<Integer> HOST_RANKS = ConfigKey.integer(
                    "ep.host.ranks",
                    0,
                    0,
                    1 << 20,
                    "ranks that count as one host, so many after each other, to try on one machine what a plan across hosts"
                            + " does; 0 takes hosts as they are")
            .agreedByAllRanks();

    /** Host threads that post for a GPU. */
    public static final ConfigKey<Integer> PROXY_THREADS = ConfigKey.integer(
                    "ep.proxy.threads",
                    0,
                    0,
                    64,
                    "host threads that post for a GPU, on paths that the host posts to; 0 takes 8 on Hopper, 1 on Blackwell and 4"
                            + " elsewhere, and no more than the processors of the rank")
            .orVariable("MSCCLPP_EP_NUM_PROXIES")
            .agreedByAllRanks();

    /** NICs of each GPU. */
    public static final ConfigKey<String> NIC_MAP = ConfigKey.text(
                    "ep.nic.map",
                    "",
                    "NICs of each GPU by its index on the host, as 0:mlx5_0:1,1:mlx5_1 (GPU:NIC[:PORT]); a GPU named twice gets"
                            + " both; * stands for all others")
            .orVariable("DEEP_EP_DEVICE_TO_HCA_MAPPING");

    /** NICs that alone may be used. */
    public static final ConfigKey<String> NIC_INCLUDE = ConfigKey.text(
                    "ep.nic.include",
                    "",
                    "NICs that alone may be used, as mlx5_0,mlx5_1:1 (NAME[:PORT]); mlx5 means every mlx5_N, mlx5_1 not mlx5_10;"
                            + " = before the list demands equal names, ^ turns it into a list of NICs not to use")
            .orVariable("NCCL_IB_HCA")
            .orVariable("NVSHMEM_HCA_LIST")
            .orVariable("UCCL_IB_HCA");

    /** NICs never to use. */
    public static final ConfigKey<String> NIC_EXCLUDE =
            ConfigKey.text("ep.nic.exclude", "", "NICs never to use, written as in ep.nic.include");

    /** Index into the table of global ids. */
    public static final ConfigKey<Integer> NIC_GID_INDEX = ConfigKey.integer(
                    "ep.nic.gid-index",
                    -1,
                    -1,
                    1023,
                    "entry of a port's GID table to send from; -1 chooses by link layer and type")
            .orVariable("NCCL_IB_GID_INDEX")
            .orVariable("NVSHMEM_IB_GID_INDEX")
            .orVariable("UCCL_IB_GID_INDEX");

    /** InfiniBand service level. */
    public static final ConfigKey<Integer> NIC_SERVICE_LEVEL = ConfigKey.integer(
                    "ep.nic.service-level", -1, -1, 15, "service level of what is sent; -1 leaves it to the backend")
            .orVariable("NCCL_IB_SL")
            .orVariable("NVSHMEM_IB_SL")
            .orVariable("UCCL_IB_SL")
            .agreedByAllRanks();

    /** Traffic class of RoCE. */
    public static final ConfigKey<Integer> NIC_TRAFFIC_CLASS = ConfigKey.integer(
                    "ep.nic.traffic-class",
                    -1,
                    -1,
                    255,
                    "traffic class of what is sent over RoCE; -1 leaves it to the backend")
            .orVariable("NCCL_IB_TC")
            .orVariable("NVSHMEM_IB_TRAFFIC_CLASS")
            .orVariable("UCCL_IB_TC")
            .agreedByAllRanks();

    /** Secret that authenticates the TCP rendezvous. */
    public static final ConfigKey<String> BOOTSTRAP_SECRET = ConfigKey.text(
            "ep.bootstrap.secret",
            "",
            "shared secret of the TCP rendezvous, the same on all ranks; set it in the environment, not on a command line");

    /** Port of the TCP rendezvous. */
    public static final ConfigKey<Integer> BOOTSTRAP_PORT = ConfigKey.integer(
            "ep.bootstrap.port",
            0,
            0,
            65535,
            "port of the TCP rendezvous on rank 0; 0 means MASTER_PORT, or MASTER_PORT + 1 where torchrun's agent holds it");

    /** Network interface of the TCP rendezvous. */
    public static final ConfigKey<String> BOOTSTRAP_INTERFACE = ConfigKey.text(
                    "ep.bootstrap.interface",
                    "",
                    "network interface at whose address the others reach this rank during and after the rendezvous, the first that"
                            + " matches; written as in ep.efa.interface; empty takes the one by which rank 0 is reached; a rendezvous"
                            + " on the loopback stays there")
            .orVariable("UCCL_SOCKET_IFNAME")
            .orVariable("NCCL_SOCKET_IFNAME");

    /** Sign of life on the connections of the TCP rendezvous. */
    public static final ConfigKey<Duration> BOOTSTRAP_HEARTBEAT = ConfigKey.duration(
            "ep.bootstrap.heartbeat",
            "1s",
            "pause after which an idle rendezvous connection carries a sign of life; rank 0's value counts for all ranks");

    /** Silence after which a member of the TCP rendezvous is lost. */
    public static final ConfigKey<Duration> BOOTSTRAP_HEARTBEAT_TIMEOUT = ConfigKey.duration(
            "ep.bootstrap.heartbeat-timeout",
            "10s",
            "silence on a rendezvous connection after which the other side counts as lost, at least twice"
                    + " ep.bootstrap.heartbeat; rank 0's value counts for all ranks");

    /** Multiprocessors for high throughput. */
    public static final ConfigKey<Integer> SMS = ConfigKey.integer(
            "ep.gpu.sms",
            0,
            0,
            4096,
            "multiprocessors of a GPU that move rows in high throughput; 0 takes what fills its links");

    /** Multiprocessors for low latency. */
    public static final ConfigKey<Integer> LOW_LATENCY_SMS = ConfigKey.integer(
            "ep.gpu.low-latency.sms",
            0,
            0,
            4096,
            "multiprocessors of a GPU that move rows in low latency; 0 takes all, or its share beside other buffers");

    /** Where a GPU's window lies. */
    public static final ConfigKey<String> WINDOW = ConfigKey.choice(
            "ep.gpu.window",
            "auto",
            List.of("auto", "device", "host"),
            "memory by which a GPU exchanges on paths that the host posts to: auto takes that of an NVIDIA GPU where the NIC is near"
                    + " and registers it (by dma-buf, else peer memory), else pinned memory of the host; device takes that of the GPU, of any,"
                    + " and nothing else");

    /** How a GPU tells others that data is there. */
    public static final ConfigKey<String> PUBLISH = ConfigKey.choice(
                    "ep.gpu.publish",
                    "release",
                    List.of("release", "relaxed"),
                    "how an AMD GPU tells those that it reaches over xGMI that data is there: release writes its caches back first,"
                            + " relaxed does not, and is refused where shared memory is not uncached;"
                            + " UCCL_EP_ENABLE_AGGRESSIVE_ATOMIC is 1 for relaxed, 0 for release")
            .orVariable(
                    "UCCL_EP_ENABLE_AGGRESSIVE_ATOMIC",
                    text -> Map.of("1", "relaxed", "0", "release").getOrDefault(text.trim(), text));

    /** Rings of each proxy thread. */
    public static final ConfigKey<Integer> PROXY_RINGS = ConfigKey.integer(
            "ep.proxy.rings",
            4,
            1,
            64,
            "rings through which a GPU hands commands to each proxy thread; those for one peer take one ring");

    /** Commands of a ring. */
    public static final ConfigKey<Integer> PROXY_RING_COMMANDS = ConfigKey.powerOfTwo(
            "ep.proxy.ring-commands",
            2048,
            64,
            65536,
            "commands of 16 bytes that a ring holds before the GPU waits for the proxy thread");

    /** When a proxy thread begins to let others run. */
    public static final ConfigKey<Duration> PROXY_IDLE_SPIN = ConfigKey.duration(
            "ep.proxy.idle-spin",
            "50us",
            "how long a proxy thread without work spins before it yields its processor, and sleeps where no operation runs");

    private EpKeys() {}

    /** All of them. */
    public static List<ConfigKey<?>> all() {
        return List.of(
                DEVICE,
                TIMEOUT,
                SETUP_TIMEOUT,
                REQUIRE,
                PREFER,
                EXCLUDE,
                OBJECTIVE,
                HYBRID,
                POSTING,
                RAILS,
                LANES,
                HOST_RANKS,
                PROXY_THREADS,
                NIC_MAP,
                NIC_INCLUDE,
                NIC_EXCLUDE,
                NIC_GID_INDEX,
                NIC_SERVICE_LEVEL,
                NIC_TRAFFIC_CLASS,
                BOOTSTRAP_SECRET,
                BOOTSTRAP_PORT,
                BOOTSTRAP_INTERFACE,
                BOOTSTRAP_HEARTBEAT,
                BOOTSTRAP_HEARTBEAT_TIMEOUT,
                SMS,
                LOW_LATENCY_SMS,
                WINDOW,
                PUBLISH,
                PROXY_RINGS,
                PROXY_RING_COMMANDS,
                PROXY_IDLE_SPIN);
    }
}
