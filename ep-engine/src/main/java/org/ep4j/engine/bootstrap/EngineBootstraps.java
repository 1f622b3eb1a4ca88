package org.ep4j.engine.bootstrap;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.ep4j.Bootstrap;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.EpEngine;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.BootstrapProvider;
import org.ep4j.transport.NanoClock;

/** The part of the engine behind the static methods of {@link Bootstrap}. */
public abstract class EngineBootstraps implements EpEngine {
    @Override
    public List<Bootstrap> inProcess(int size) {
        return InProcessBootstrap.create(size, NanoClock.SYSTEM);
    }

    @Override
    public void declareDead(Bootstrap member, String reason) {
        if (!(member instanceof InProcessBootstrap thread)) {
            throw new EpArgumentException(
                    "member", member, "one of Bootstrap.inProcess", "end the process of the member instead");
        }
        thread.fail(reason);
    }

    /** {@inheritDoc} The host is passed on as it is written, not resolved. */
    @Override
    public Bootstrap tcp(int rank, int size, InetSocketAddress rankZero, EpConfig config) {
        if (rankZero.getPort() == 0) {
            throw new EpConfigException(
                    "the port of the rendezvous is 0, must be in [1, 65535]; all ranks must know it before they start");
        }
        return TcpBootstrap.join(
                TcpSettings.of(rank, size, rankZero.getHostString(), rankZero.getPort(), config, NanoClock.SYSTEM));
    }

    @Override
    public Bootstrap over(int rank, int size, Bootstrap.Broadcast launcher, EpConfig config) {
        return TcpBootstrap.over(rank, size, launcher, config, NanoClock.SYSTEM);
    }

    @Override
    public Bootstrap fromEnvironment(Map<String, String> environment, EpConfig config) {
        List<String> tried = new ArrayList<>();
        for (BootstrapProvider provider :
                ServiceLoader.load(BootstrapProvider.class, BootstrapProvider.class.getClassLoader())) {
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

    /** Describes a launcher's environment that is incomplete, the likeliest mistake. */
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
