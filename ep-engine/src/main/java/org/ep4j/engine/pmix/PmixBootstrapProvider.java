package org.ep4j.engine.pmix;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.BootstrapProvider;

/**
 * Starts under launchers that speak PMIx, such as {@code mpirun} of Open MPI and {@code srun --mpi=pmix}, detected by {@code
 * PMIX_RANK} and {@code PMIX_NAMESPACE}. PMIx gives rank and size, and carries the address of rank 0; {@link Bootstrap#over} forms
 * the group. The process stays a member of its PMIx job until it ends; a PMIx library counts its users, so MPI may use it as well.
 *
 * <p>It does not apply if one of torchrun's {@code RANK} and {@code WORLD_SIZE} is set. {@code MASTER_ADDR} and {@code MASTER_PORT} are
 * ignored here: they are the same for all processes, so jobs set them under any launcher.
 */
public final class PmixBootstrapProvider implements BootstrapProvider {
    private static final List<String> OWN = List.of("PMIX_RANK", "PMIX_NAMESPACE");
    private static final List<String> OTHERS = List.of("RANK", "WORLD_SIZE");

    /** For {@link java.util.ServiceLoader}. */
    public PmixBootstrapProvider() {}

    @Override
    public String id() {
        return "pmix";
    }

    @Override
    public boolean detects(Map<String, String> environment) {
        return environment.keySet().containsAll(OWN) && OTHERS.stream().noneMatch(environment::containsKey);
    }

    /**
     * Joins the group. All processes of the job do so, equally often.
     *
     * @throws org.ep4j.EpUnavailableException when there is no PMIx library, or one of another version, or the launcher does
     *     not answer
     * @throws org.ep4j.EpTimeoutException when not all processes of the job join
     */
    @Override
    public Bootstrap join(Map<String, String> environment, EpConfig config) {
        Duration deadline = EpKeys.SETUP_TIMEOUT.get(config);
        PmixSession session = PmixSession.open(PmixLibrary.load(), deadline);
        return Bootstrap.over(session.rank(), session.size(), session, config);
    }
}
