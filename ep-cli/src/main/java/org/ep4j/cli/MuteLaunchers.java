package org.ep4j.cli;

import java.util.List;
import java.util.Map;
import org.ep4j.EpUnavailableException;

/**
 * Launchers that started several processes with one command line and left them nothing to meet by: {@code srun} without
 * {@code --mpi=pmix}, and those that speak PMI-1 or PMI-2 alone. Without a word each process would start ranks of its own, and
 * so many measurements would run at once, none of what was meant.
 */
final class MuteLaunchers {
    /**
     * Tasks of the step, which {@code srun} alone sets, unlike {@code SLURM_NTASKS}: a batch script has that, too, and is one
     * process. Processes of the job as {@code mpiexec} of MPICH and Intel MPI and {@code srun --mpi=pmi2} tell it.
     */
    private static final List<String> SIZES = List.of("SLURM_STEP_NUM_TASKS", "PMI_SIZE");

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
                    throw new EpUnavailableException(
                            "this process is one of several that a launcher started (" + name + "="
                                    + environment.get(name)
                                    + "), but neither PMIx nor torchrun's variables tell it how to meet the"
                                    + " others; start them with srun --mpi=pmix (srun --mpi=list tells whether Slurm has it), with"
                                    + " mpirun of Open MPI or with torchrun's variables, or unset " + name
                                    + " for ranks of every process's own");
                });
    }
}
