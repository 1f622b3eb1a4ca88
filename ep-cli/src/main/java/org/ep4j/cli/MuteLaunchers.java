package org.ep4j.cli;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.ep4j.EpUnavailableException;

/**
 * Launchers that started several processes with one command line and left them nothing to meet by: {@code srun} without
 * {@code --mpi=pmix}, those that speak PMI-1 or PMI-2 alone, and any where a part of torchrun's variables hides PMIx. Without
 * a word each process would start ranks of its own, and so many measurements would run at once, none of what was meant.
 */
final class MuteLaunchers {
    /**
     * Tasks of the step, which {@code srun} alone sets, unlike {@code SLURM_NTASKS}: a batch script has that, too, and is one
     * process. Processes of the job as {@code mpiexec} of MPICH and Intel MPI and {@code srun --mpi=pmi2} tell it, and as {@code
     * mpirun} of Open MPI does.
     */
    private static final List<String> SIZES = List.of("SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE");

    private static final List<String> PMIX = List.of("PMIX_RANK", "PMIX_NAMESPACE");

    /** Torchrun's variables: only all of them together say how to meet. */
    private static final List<String> TORCHRUN = List.of("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT");

    /** Where one of these is set, PMIx is not meant. */
    private static final List<String> HIDE_PMIX = List.of("RANK", "WORLD_SIZE");

    private MuteLaunchers() {}

    /**
     * Refuses to be one of several; for processes that no launcher known to ep4j has started.
     *
     * @throws EpUnavailableException naming the variable that tells so
     */
    static void refuse(Map<String, String> environment) {
        SIZES.stream()
                .filter(name -> environment.getOrDefault(name, "").strip().matches("0*([2-9]|[1-9]\\d+)"))
                .findFirst()
                .ifPresent(name -> {
                    throw new EpUnavailableException("this process is one of several that a launcher started (" + name
                            + "=" + environment.get(name) + "), but " + reason(environment, name));
                });
    }

    private static String reason(Map<String, String> environment, String size) {
        String own = ", or unset " + size + " to let every process start ranks of its own";
        List<String> strays =
                HIDE_PMIX.stream().filter(environment::containsKey).toList();
        if (strays.isEmpty() || !environment.keySet().containsAll(PMIX)) {
            return "it cannot find the other processes: it has neither PMIx nor all of torchrun's variables; start all"
                    + " processes with srun --mpi=pmix (srun --mpi=list shows whether Slurm has it), with mpirun of Open"
                    + " MPI or with torchrun's variables" + own;
        }
        String missing =
                TORCHRUN.stream().filter(name -> !environment.containsKey(name)).collect(Collectors.joining(", "));
        return "it cannot find the other processes: its environment has " + String.join(", ", strays)
                + ", so PMIx is not used, but some of torchrun's variables are missing: " + missing + "; unset "
                + String.join(", ", strays) + ", or set " + String.join(", ", TORCHRUN) + own;
    }
}
