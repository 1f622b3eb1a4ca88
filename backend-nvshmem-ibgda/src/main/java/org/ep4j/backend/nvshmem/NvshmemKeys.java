package org.ep4j.backend.nvshmem;

import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;

/**
 * The settings of the backend. Variables of NVSHMEM that mean the same are read too; all others that the user has set keep their
 * values, see {@link #variables}. Which NICs, GID index, service level and traffic class: {@code ep.nic.*}.
 */
final class NvshmemKeys {
    static final ConfigKey<String> HOME = ConfigKey.text(
                    "ep.nvshmem.home",
                    "",
                    "folder of NVSHMEM, with lib and include; empty looks in Python packages and usual places")
            .orVariable("EP_NVSHMEM")
            .orVariable("NVSHMEM_HOME");

    static final ConfigKey<String> TRANSPORT = ConfigKey.choice(
                    "ep.nvshmem.transport",
                    "auto",
                    List.of("auto", "none", "ibgda", "ibrc", "ucx", "libfabric", "ibdevx"),
                    "by what NVSHMEM reaches GPUs that this one cannot store to; auto takes none where all ranks are on one"
                            + " machine and ibgda elsewhere; with others than ibgda, NVSHMEM's own host thread posts")
            // "ibrc" is what NVSHMEM takes by itself, with and without IBGDA, which has a switch of its own.
            .orVariable("NVSHMEM_REMOTE_TRANSPORT", text -> text.strip().equals("ibrc") ? "auto" : text)
            .agreedByAllRanks();

    static final ConfigKey<Boolean> MAPS = ConfigKey.flag(
                    "ep.nvshmem.maps",
                    false,
                    "whether memory of GPUs of the same host is mapped through NVSHMEM; otherwise kernels put into it by"
                            + " calls of NVSHMEM, as to other hosts, which takes longer")
            .agreedByAllRanks();

    static final ConfigKey<Long> CHUNK = ConfigKey.bytes(
            "ep.nvshmem.chunk",
            "256MiB",
            "the symmetric heap grows by so much, or by the size of a window that is larger");

    static final ConfigKey<Long> HEAP = ConfigKey.bytes(
                    "ep.nvshmem.heap",
                    "2GiB",
                    "size of the symmetric heap where NVSHMEM cannot let it grow (ep.nvshmem.cuda-vmm false)")
            .orVariable("NVSHMEM_SYMMETRIC_SIZE", NvshmemKeys::bytes);

    static final ConfigKey<Boolean> CUDA_VMM = ConfigKey.flag(
                    "ep.nvshmem.cuda-vmm",
                    true,
                    "whether the symmetric heap is of CUDA's virtual memory, which can grow; NVSHMEM_DISABLE_CUDA_VMM=1 is false")
            .orVariable("NVSHMEM_DISABLE_CUDA_VMM", NvshmemKeys::opposite);

    static final ConfigKey<Integer> QUEUE_PAIRS = ConfigKey.integer(
                    "ep.nvshmem.queue-pairs",
                    0,
                    0,
                    256,
                    "RC queue pairs to each peer with ibgda; 0 takes the plan's lanes")
            .orVariable("NVSHMEM_IBGDA_NUM_RC_PER_PE")
            .agreedByAllRanks();

    static final ConfigKey<Integer> DCIS = ConfigKey.integer(
                    "ep.nvshmem.dcis", 0, 0, 256, "DC initiators of a GPU with ibgda; 0 leaves it to NVSHMEM")
            .orVariable("NVSHMEM_IBGDA_NUM_DCI")
            .agreedByAllRanks();

    static final ConfigKey<Integer> DEPTH = ConfigKey.powerOfTwo(
                    "ep.nvshmem.depth",
                    1024,
                    128,
                    32768,
                    "work requests that a queue pair holds; where it is full, kernels wait")
            .orVariable("NVSHMEM_QP_DEPTH");

    static final ConfigKey<String> NIC_HANDLER = ConfigKey.choice(
                    "ep.nvshmem.nic-handler",
                    "auto",
                    List.of("auto", "gpu", "cpu"),
                    "who rings a NIC's doorbell with ibgda; gpu needs the driver's option PeerMappingOverride=1")
            .orVariable("NVSHMEM_IBGDA_NIC_HANDLER");

    private static final List<ConfigKey<?>> ALL =
            List.of(HOME, TRANSPORT, MAPS, CHUNK, HEAP, CUDA_VMM, QUEUE_PAIRS, DCIS, DEPTH, NIC_HANDLER);

    private static final Pattern SIZE = Pattern.compile("(\\d{1,12}(?:\\.\\d{1,12})?)([kKmMgGtT]?)");

    private NvshmemKeys() {}

    static List<ConfigKey<?>> all() {
        return ALL;
    }

    /** NVSHMEM's sizes are numbers with a scale of k, m, g or t. */
    private static String bytes(String text) {
        Matcher size = SIZE.matcher(text.strip());
        if (!size.matches()) {
            return text;
        }
        int thousands =
                " kmgt".indexOf((size.group(2) + " ").toLowerCase(Locale.ROOT).charAt(0));
        return new BigDecimal(size.group(1))
                .multiply(BigDecimal.valueOf(1L << (10 * thousands)))
                .toBigInteger()
                .toString();
    }

    /** What NVSHMEM takes as true and as false, the other way round. */
    private static String opposite(String text) {
        return switch (text.strip().toLowerCase(Locale.ROOT)) {
            case "1", "y", "yes", "t", "true", "on" -> "false";
            case "0", "n", "no", "f", "false", "off" -> "true";
            default -> text;
        };
    }

    /**
     * NVSHMEM's variables for one process. Those that have a setting follow it, and the setting follows them where the user has
     * set nothing else; {@code NVSHMEM_HCA_LIST} follows the plan. The others are set only where the user has not set them.
     *
     * @param environment of the process
     * @param transport other than auto
     * @param lanes queue pairs to a peer
     * @param nics of this rank, {@code name:port}, best first
     */
    static Map<String, String> variables(
            EpConfig config, Map<String, String> environment, String transport, int lanes, List<String> nics) {
        Map<String, String> all = new LinkedHashMap<>();
        // A process that uses multicast of NVLink switches and dies can leave them unusable.
        usual(all, environment, "NVSHMEM_DISABLE_NVLS", "1");
        usual(all, environment, "NVSHMEM_DISABLE_NCCL", "1");
        all.put("NVSHMEM_DISABLE_CUDA_VMM", config.get(CUDA_VMM) ? "0" : "1");
        if (!config.get(CUDA_VMM)) {
            all.put("NVSHMEM_SYMMETRIC_SIZE", Long.toString(config.get(HEAP)));
        }
        Map<String, String> given = config.get(TRANSPORT).equals("auto") ? environment : Map.of();
        if (transport.equals("none")) {
            usual(all, given, "NVSHMEM_REMOTE_TRANSPORT", "none");
            usual(all, environment, "NVSHMEM_DISABLE_LOCAL_ONLY_PROXY", "1");
            return all;
        }
        // Its host calls go by this one; "ibgda" is no value of it.
        usual(all, given, "NVSHMEM_REMOTE_TRANSPORT", transport.equals("ibgda") ? "ibrc" : transport);
        usual(all, given, "NVSHMEM_IB_ENABLE_IBGDA", transport.equals("ibgda") ? "1" : "0");
        all.put("NVSHMEM_IBGDA_NUM_RC_PER_PE", Integer.toString(lanes));
        if (config.get(DCIS) > 0) {
            all.put("NVSHMEM_IBGDA_NUM_DCI", Integer.toString(config.get(DCIS)));
        }
        all.put("NVSHMEM_QP_DEPTH", Integer.toString(config.get(DEPTH)));
        all.put("NVSHMEM_IBGDA_NIC_HANDLER", config.get(NIC_HANDLER));
        if (!nics.isEmpty()) {
            all.put("NVSHMEM_HCA_LIST", String.join(",", nics));
        }
        number(all, "NVSHMEM_IB_GID_INDEX", config.get(EpKeys.NIC_GID_INDEX));
        number(all, "NVSHMEM_IB_SL", config.get(EpKeys.NIC_SERVICE_LEVEL));
        number(all, "NVSHMEM_IB_TRAFFIC_CLASS", config.get(EpKeys.NIC_TRAFFIC_CLASS));
        return all;
    }

    private static void usual(Map<String, String> all, Map<String, String> environment, String name, String value) {
        if (environment.getOrDefault(name, "").isBlank()) {
            all.put(name, value);
        }
    }

    private static void number(Map<String, String> all, String name, int value) {
        if (value >= 0) {
            all.put(name, Integer.toString(value));
        }
    }
}
