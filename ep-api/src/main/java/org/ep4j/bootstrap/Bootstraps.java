package org.ep4j.bootstrap;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.ep4j.EpConfigException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpConfig;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.BootstrapProvider;
import org.ep4j.spi.NanoClock;
import org.ep4j.spi.WireUp;

/** Factory methods for bootstraps. */
public final class Bootstraps {
    private Bootstraps() {}

    /**
     * Creates {@code size} bootstraps for ranks that are threads of this process; index {@code i} belongs to rank
     * {@code i}. Each is an {@link InProcessBootstrap}.
     */
    public static List<Bootstrap> inProcess(int size) {
        return InProcessBootstrap.create(size, NanoClock.SYSTEM);
    }

    /**
     * Joins over TCP with an explicit rank, size and address, without a launcher's variables. Rank 0 listens on
     * {@code port} and serves the others, also for a while after its own {@code close}
     * ({@link org.ep4j.config.EpKeys#BOOTSTRAP_LINGER}); all threads are daemons. Collective over all ranks.
     *
     * <p>When rank 0 dies, or has left and its linger time is over, the others cannot gather any more: calls end with
     * {@link org.ep4j.EpPeerLostException} for rank 0, and no more news comes about anybody.
     *
     * @param rank this rank, from 0
     * @param size number of ranks
     * @param host name or address of the machine of rank 0. An address, or {@code localhost}, is the one that rank 0 listens
     *     on; with another name it listens on all
     * @param port port there, 1 to 65535
     * @param config gives the secret, the longest wait and the heartbeat
     * @throws org.ep4j.EpConfigException for a number out of range
     * @throws org.ep4j.EpTimeoutException naming the ranks that did not come, or why rank 0 was not reached
     * @throws EpUnavailableException when the port is taken, or rank 0 refused this rank: another secret, number of ranks or
     *     protocol version, or a rank that somebody else has
     */
    public static Bootstrap tcp(int rank, int size, String host, int port, EpConfig config) {
        if (port == 0) {
            throw new EpConfigException(
                    "the port of the rendezvous is 0, must be in [1, 65535]; all ranks must know it before they start");
        }
        return TcpBootstrap.join(TcpSettings.of(rank, size, host, port, config, NanoClock.SYSTEM));
    }

    /**
     * Joins over TCP if the ranks know their rank numbers but not the address of rank 0, and {@code wireUp} can carry a
     * few bytes from rank 0 to the others. Rank 0 listens on a port that the system chooses ({@link
     * org.ep4j.config.EpKeys#BOOTSTRAP_PORT} where it is set), on all addresses of its machine, and sends these
     * addresses, the port and a random secret to the other ranks through {@code wireUp}. That secret counts, and
     * {@link org.ep4j.config.EpKeys#BOOTSTRAP_SECRET} does not. Everything else is as with {@link #tcp}. Collective
     * over all ranks.
     *
     * @param rank this rank, from 0
     * @param size number of ranks
     * @param wireUp must not let others than the ranks see what is told
     * @param config gives the longest wait and the heartbeat
     * @throws org.ep4j.EpConfigException for a number out of range
     * @throws org.ep4j.EpTimeoutException naming the ranks that did not come, or why rank 0 was not reached
     * @throws EpUnavailableException when rank 0 refused this rank, or runs another version
     */
    public static Bootstrap wiredUp(int rank, int size, WireUp wireUp, EpConfig config) {
        return TcpBootstrap.wiredUp(rank, size, wireUp, config, NanoClock.SYSTEM);
    }

    /**
     * Joins the group that a launcher describes in the environment: by torchrun's variables if all four are set, or by
     * the variables of PMIx ({@code mpirun}, {@code srun}) if ep-engine is on the class path and neither {@code RANK}
     * nor {@code WORLD_SIZE} is set. {@code MASTER_ADDR} and {@code MASTER_PORT} alone name no launcher.
     *
     * @throws EpUnavailableException when no launcher is recognised; says which variables would be
     */
    public static Bootstrap fromEnvironment(Map<String, String> environment, EpConfig config) {
        List<String> tried = new ArrayList<>();
        for (BootstrapProvider provider :
                ServiceLoader.load(BootstrapProvider.class, Bootstraps.class.getClassLoader())) {
            if (provider.detects(environment)) {
                return provider.join(environment, config);
            }
            tried.add(provider.id());
        }
        throw new EpUnavailableException("no launcher found in the environment (tried " + String.join(", ", tried)
                + missing(environment) + "); start with ./ep run or torchrun, or set "
                + String.join(", ", TcpSettings.VARIABLES)
                + "; or unset " + TcpSettings.RANK + " and " + TcpSettings.WORLD_SIZE
                + " and start with mpirun or srun --mpi=pmix, which set PMIX_RANK and PMIX_NAMESPACE");
    }

    /** A launcher that is half there is the likeliest mistake. */
    private static String missing(Map<String, String> environment) {
        List<String> unset = TcpSettings.VARIABLES.stream()
                .filter(name -> !environment.containsKey(name))
                .toList();
        return unset.size() == TcpSettings.VARIABLES.size()
                ? ""
                : "; of torchrun's variables, " + String.join(", ", unset) + (unset.size() == 1 ? " is" : " are")
                        + " not set";
    }
}
