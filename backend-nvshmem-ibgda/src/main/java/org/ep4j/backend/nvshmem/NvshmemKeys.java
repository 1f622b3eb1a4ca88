package org.ep4j.backend.nvshmem;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;

/**
 * The settings of the backend. Variables of NVSHMEM that mean the same are read too. {@link #variables} are set in the process
 * from the settings; other variables that NVSHMEM reads keep their values. Which NICs, GID index, service level, traffic class and
 * limits of what is in flight: {@code ep.nic.*}.
 */
final class NvshmemKeys {
    static final ConfigKey<String> HOME = ConfigKey.text(
                    "ep.nvshmem.home",
                    "",
                    "folder of NVSHMEM, which contains lib and include; if empty, ep4j searches Python packages and"
                            + " the usual folders")
            .orVariable("EP_NVSHMEM")
            .orVariable("NVSHMEM_HOME");

    static final ConfigKey<String> TRANSPORT = ConfigKey.choice(
                    "ep.nvshmem.transport",
                    "auto",
                    List.of("auto", "none", "ibgda", "ibrc", "ucx", "libfabric", "ibdevx"),
                    "transport that NVSHMEM uses to reach GPUs that this GPU cannot write to directly; auto is the"
                            + " same as none if all ranks are on one machine, otherwise ibgda; with ibrc, ucx, libfabric"
                            + " or ibdevx, a host thread of NVSHMEM posts the writes")
            .orVariable("MSCCLPP_EP_USE_IBGDA", Map.of("1", "ibgda", "0", "ibrc"))
            .agreedByAllRanks();

    static final ConfigKey<Boolean> MAPS = ConfigKey.flag(
                    "ep.nvshmem.maps",
                    false,
                    "whether ranks of one host map each other's memory through NVSHMEM if nvshmem-ibgda connects them"
                            + " (by default ipc-nvlink connects them); if false, these ranks are reached like ranks of other"
                            + " hosts, through a window of NVSHMEM, and high throughput copies each row once more")
            .agreedByAllRanks();

    static final ConfigKey<Boolean> PUTS = ConfigKey.flag(
                    "ep.nvshmem.puts",
                    false,
                    "whether kernels call NVSHMEM's puts also for ranks whose memory NVSHMEM maps over NVLink; if false,"
                            + " they store there directly, which is faster; for measurements and tests")
            .agreedByAllRanks();

    static final ConfigKey<Long> CHUNK = ConfigKey.bytes(
            "ep.nvshmem.chunk",
            "256MiB",
            "step by which the symmetric heap grows; for a larger buffer, the heap grows by the size of the buffer");

    static final ConfigKey<Long> HEAP = ConfigKey.bytes(
                    "ep.nvshmem.heap",
                    "2GiB",
                    "size of the symmetric heap if it cannot grow (ep.nvshmem.cuda-vmm=false)")
            .orVariable("NVSHMEM_SYMMETRIC_SIZE");

    static final ConfigKey<Boolean> CUDA_VMM = ConfigKey.flag(
                    "ep.nvshmem.cuda-vmm",
                    true,
                    "whether the symmetric heap uses CUDA's virtual memory management, which lets it grow")
            .orVariable(
                    "NVSHMEM_DISABLE_CUDA_VMM",
                    Map.of(
                            "1", "false", "true", "false", "yes", "false", "on", "false", "0", "true", "false", "true",
                            "no", "true", "off", "true"));

    static final ConfigKey<Integer> QUEUE_PAIRS = ConfigKey.integer(
                    "ep.nvshmem.queue-pairs",
                    0,
                    0,
                    256,
                    "number of RC queue pairs to each peer with ibgda; 0 uses the plan's lanes")
            .orVariable("NVSHMEM_IBGDA_NUM_RC_PER_PE")
            .agreedByAllRanks();

    static final ConfigKey<Integer> DCIS = ConfigKey.integer(
                    "ep.nvshmem.dcis",
                    0,
                    0,
                    256,
                    "number of DC initiators of a GPU with ibgda; 0 leaves the number to NVSHMEM")
            .orVariable("NVSHMEM_IBGDA_NUM_DCI")
            .agreedByAllRanks();

    static final ConfigKey<Integer> DEPTH = ConfigKey.powerOfTwo(
                    "ep.nvshmem.depth",
                    1024,
                    128,
                    32768,
                    "number of work requests that a queue pair holds; if it is full, kernels wait")
            .orVariable("NVSHMEM_QP_DEPTH");

    static final ConfigKey<String> NIC_HANDLER = ConfigKey.choice(
                    "ep.nvshmem.nic-handler",
                    "auto",
                    List.of("auto", "gpu", "cpu"),
                    "what rings a NIC's doorbell with ibgda: the GPU or the CPU; gpu needs the driver's option"
                            + " PeerMappingOverride=1")
            .orVariable("NVSHMEM_IBGDA_NIC_HANDLER");

    private NvshmemKeys() {}

    static List<ConfigKey<?>> all() {
        return List.of(HOME, TRANSPORT, MAPS, PUTS, CHUNK, HEAP, CUDA_VMM, QUEUE_PAIRS, DCIS, DEPTH, NIC_HANDLER);
    }

    /**
     * NVSHMEM's variables for one process, which replace those of its environment.
     *
     * @param transport other than auto
     * @param lanes queue pairs to a peer
     * @param nics of this rank, {@code name:port}, best first
     */
    static Map<String, String> variables(EpConfig config, String transport, int lanes, List<String> nics) {
        Map<String, String> all = new LinkedHashMap<>();
        // A process that uses multicast of NVLink switches and dies can leave them unusable.
        all.put("NVSHMEM_DISABLE_NVLS", "1");
        all.put("NVSHMEM_DISABLE_NCCL", "1");
        all.put("NVSHMEM_DISABLE_CUDA_VMM", CUDA_VMM.get(config) ? "0" : "1");
        if (!CUDA_VMM.get(config)) {
            all.put("NVSHMEM_SYMMETRIC_SIZE", Long.toString(HEAP.get(config)));
        }
        if (transport.equals("none")) {
            all.put("NVSHMEM_REMOTE_TRANSPORT", "none");
            all.put("NVSHMEM_DISABLE_LOCAL_ONLY_PROXY", "1");
            return all;
        }
        // Its host calls go by this one; "ibgda" is no value of it.
        all.put("NVSHMEM_REMOTE_TRANSPORT", transport.equals("ibgda") ? "ibrc" : transport);
        all.put("NVSHMEM_IB_ENABLE_IBGDA", transport.equals("ibgda") ? "1" : "0");
        all.put("NVSHMEM_IBGDA_NUM_RC_PER_PE", Integer.toString(lanes));
        if (DCIS.get(config) > 0) {
            all.put("NVSHMEM_IBGDA_NUM_DCI", Integer.toString(DCIS.get(config)));
        }
        all.put("NVSHMEM_QP_DEPTH", Integer.toString(DEPTH.get(config)));
        all.put("NVSHMEM_IBGDA_NIC_HANDLER", NIC_HANDLER.get(config));
        if (!nics.isEmpty()) {
            all.put("NVSHMEM_HCA_LIST", String.join(",", nics));
        }
        number(all, "NVSHMEM_IB_GID_INDEX", EpKeys.NIC_GID_INDEX.get(config));
        number(all, "NVSHMEM_IB_SL", EpKeys.NIC_SERVICE_LEVEL.get(config));
        number(all, "NVSHMEM_IB_TRAFFIC_CLASS", EpKeys.NIC_TRAFFIC_CLASS.get(config));
        return all;
    }

    private static void number(Map<String, String> all, String name, int value) {
        if (value >= 0) {
            all.put(name, Integer.toString(value));
        }
    }
}
