package org.ep4j.plan;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.ep4j.config.ConfigKey;

/** Environment variables whose names begin with {@code EP_}. */
final class EpVariables {
    private static final String PREFIX = "EP_";

    /** Read by ep4j, its scripts or its tests, and no settings: {@code -Dep.NAME} does not replace them. */
    private static final Set<String> READ = Set.of(
            "EP_CACHE_DIR",
            "EP_CUDA_DRIVER",
            "EP_HIP_HEADERS",
            "EP_HIP_RUNTIME",
            "EP_JAVA",
            "EP_JAVA_OPTS",
            "EP_MAVEN_OPTS",
            "EP_NVJITLINK",
            "EP_NVRTC",
            "EP_REQUIRE_COMPILERS",
            "EP_REQUIRE_EMULATOR",
            "EP_REQUIRE_HIP_HEADERS",
            "EP_REQUIRE_MPI",
            "EP_REQUIRE_VERBS",
            "EP_STEPS",
            "EP_TCK_PATIENCE",
            "EP_TCK_REQUIRE",
            "EP_TCK_RESET_PORT",
            "EP_TEST_EMULATED");

    /** Of DeepEP, beside which ep4j may be used. */
    private static final Set<String> OF_DEEPEP = Set.of(
            "EP_BUFFER_DEBUG", "EP_DISABLE_GIN", "EP_NUM_TOPK_IDX_BITS", "EP_NVSHMEM_ROOT_DIR", "EP_OVERRIDE_RDMA_SL");

    /** Of DeepEP too; there are many. */
    private static final String OF_DEEPEPS_COMPILER = "EP_JIT_";

    private EpVariables() {}

    /** A sentence for each of the variables {@code set} that nobody is known to read, in the order of their names. */
    static List<String> unknown(Collection<String> set, Collection<ConfigKey<?>> keys) {
        Set<String> known = new TreeSet<>(READ);
        for (ConfigKey<?> key : keys) {
            known.add(key.environmentName());
            key.variables().stream().filter(name -> name.startsWith(PREFIX)).forEach(known::add);
        }
        return set.stream()
                .filter(name -> name.startsWith(PREFIX)
                        && !known.contains(name)
                        && !OF_DEEPEP.contains(name)
                        && !name.startsWith(OF_DEEPEPS_COMPILER))
                .sorted()
                .map(name -> name + " is no setting of ep4j; the nearest known one is " + NearestName.of(name, known))
                .toList();
    }
}
