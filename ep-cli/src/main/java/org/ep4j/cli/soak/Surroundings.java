package org.ep4j.cli.soak;

import java.util.List;
import java.util.Optional;

/**
 * What decides which faults can be injected.
 *
 * @param backend id of the backend
 * @param processes true where ranks are processes, false for threads
 * @param ranks of a round at most
 * @param rdmaInterfaces network interfaces of RDMA ports that are up
 * @param mayChangeLinks true where this process may take interfaces down
 * @param shmProblem why the folder for shared memory cannot be filled up; empty where it can
 */
public record Surroundings(
        String backend,
        boolean processes,
        int ranks,
        List<String> rdmaInterfaces,
        boolean mayChangeLinks,
        Optional<String> shmProblem) {
    private static final String VERBS = "ibrc-multiqp";

    /** Copies the list. */
    public Surroundings {
        rdmaInterfaces = List.copyOf(rdmaInterfaces);
    }

    /** What this machine allows. */
    public static Surroundings here(String backend, boolean processes, int ranks, Optional<String> shmProblem) {
        return new Surroundings(
                backend,
                processes,
                ranks,
                new RdmaPorts().interfaces(),
                "root".equals(System.getProperty("user.name")),
                shmProblem);
    }

    /** Why a fault cannot be injected; empty when it can. */
    Optional<String> problem(Fault fault) {
        if (fault.needsProcesses() && !processes) {
            return Optional.of("ranks are threads, which get no signals");
        }
        if (ranks < fault.leastRanks()) {
            return Optional.of("it needs " + fault.leastRanks() + " ranks, not " + ranks);
        }
        return switch (fault) {
            case PORT_DOWN -> portProblem();
            case SHM_FULL -> shmProblem;
            default -> Optional.empty();
        };
    }

    private Optional<String> portProblem() {
        if (!backend.equals(VERBS)) {
            return Optional.of("only " + VERBS + " fails over between ports; add --backend " + VERBS);
        }
        if (rdmaInterfaces.size() < 2) {
            return Optional.of(
                    rdmaInterfaces.isEmpty()
                            ? "this machine has no RDMA port with a network interface that is up"
                            : "this machine has one RDMA port, " + rdmaInterfaces.get(0) + ", so none can take over");
        }
        return mayChangeLinks ? Optional.empty() : Optional.of("taking an interface down needs root");
    }
}
