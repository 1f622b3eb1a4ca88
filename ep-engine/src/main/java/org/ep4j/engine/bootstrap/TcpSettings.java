package org.ep4j.engine.bootstrap;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpKeys;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NanoClock;

/**
 * Parameters of a join over TCP.
 *
 * @param size number of ranks
 * @param host on which rank 0 listens
 * @param storePort port of the store of torchrun's agents on the host, which need not be the host of rank 0; 0 where there is none
 * @param port of rank 0
 * @param setupTimeout longest wait for the other ranks
 * @param heartbeat pause after which an idle connection sends a heartbeat
 * @param silence time without a message, or without progress of output, after which the other side counts as lost
 * @param linger time for which rank 0 serves others after its own close
 * @param clock of all these times
 */
record TcpSettings(
        int rank,
        int size,
        String host,
        int storePort,
        int port,
        ChosenInterfaces interfaces,
        Secret secret,
        Duration setupTimeout,
        Duration heartbeat,
        Duration silence,
        Duration linger,
        NanoClock clock) {
    /** A handshake takes seconds if many ranks start on few cores. */
    private static final Duration SHORTEST_HANDSHAKE = Duration.ofSeconds(15);

    /** Most ranks; bounds what the server allocates. */
    static final int MAX_SIZE = 1 << 16;

    static final String RANK = "RANK";
    static final String WORLD_SIZE = "WORLD_SIZE";
    static final String MASTER_ADDR = "MASTER_ADDR";
    static final String MASTER_PORT = "MASTER_PORT";
    static final String AGENT_STORE = "TORCHELASTIC_USE_AGENT_STORE";
    static final List<String> VARIABLES = List.of(RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT);

    TcpSettings {
        if (size < 1 || size > MAX_SIZE) {
            throw new EpConfigException("the number of ranks is " + size + ", must be in [1, " + MAX_SIZE
                    + "]; correct " + WORLD_SIZE + " or the argument");
        }
        if (rank < 0 || rank >= size) {
            throw new EpConfigException("the rank is " + rank + ", must be in [0, " + size + ") for " + size
                    + " ranks; correct " + RANK + ", " + WORLD_SIZE + " or the argument");
        }
        if (host.isBlank()) {
            throw new EpConfigException("the host of rank 0 is empty, must be a host name or address; set "
                    + MASTER_ADDR + " or " + EpKeys.BOOTSTRAP_ADDRESS.environmentName() + " to where rank 0 runs");
        }
        if (port < 0 || port > 65535) {
            throw new EpConfigException("the port of the rendezvous is " + port + ", must be in [1, 65535]; correct "
                    + MASTER_PORT + " or " + EpKeys.BOOTSTRAP_PORT.name());
        }
        if (silence.compareTo(heartbeat.multipliedBy(2)) < 0) {
            throw new EpConfigException(EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.name() + " is " + silence.toMillis()
                    + "ms, must be at least twice " + EpKeys.BOOTSTRAP_HEARTBEAT.name() + " = " + heartbeat.toMillis()
                    + "ms; raise the timeout or shorten the heartbeat interval");
        }
    }

    static TcpSettings of(int rank, int size, String host, int port, EpConfig config, NanoClock clock) {
        return new TcpSettings(
                rank,
                size,
                host.trim(),
                0,
                port,
                ChosenInterfaces.of(config, LocalInterface::ofThisMachine),
                Secret.of(EpKeys.BOOTSTRAP_SECRET.get(config)),
                EpKeys.SETUP_TIMEOUT.get(config),
                EpKeys.BOOTSTRAP_HEARTBEAT.get(config),
                EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.get(config),
                EpKeys.BOOTSTRAP_LINGER.get(config),
                clock);
    }

    TcpSettings with(String itsHost, int itsStore, Secret itsSecret) {
        return new TcpSettings(
                rank,
                size,
                itsHost,
                itsStore,
                port,
                interfaces,
                itsSecret,
                setupTimeout,
                heartbeat,
                silence,
                linger,
                clock);
    }

    /** Returns whether the host is an address, or {@code localhost}, and not a name that may have several addresses. */
    boolean hostIsExact() {
        return host.equalsIgnoreCase("localhost") || host.indexOf(':') >= 0 || host.matches("\\d{1,3}(\\.\\d{1,3}){3}");
    }

    /** Longest time for one handshake: longer with a longer setup timeout. */
    Duration handshake() {
        Duration quarter = setupTimeout.dividedBy(4);
        return quarter.compareTo(SHORTEST_HANDSHAKE) > 0 ? quarter : SHORTEST_HANDSHAKE;
    }

    Deadline deadline(Duration wait) {
        return Deadline.in(wait, clock);
    }

    /** Reads torchrun's variables. */
    static TcpSettings fromEnvironment(Map<String, String> environment, EpConfig config) {
        int size = number(environment, WORLD_SIZE, 1, MAX_SIZE, "set it to the number of ranks");
        int rank = number(environment, RANK, 0, size - 1, "number the ranks from 0 to " + WORLD_SIZE + " - 1");
        String address = EpKeys.BOOTSTRAP_ADDRESS.get(config).strip();
        String host = address.isEmpty() ? environment.getOrDefault(MASTER_ADDR, "") : address;
        TcpSettings settings = of(rank, size, host, port(environment, config), config, NanoClock.SYSTEM);
        return address.isEmpty() && agentStore(environment) && EpKeys.BOOTSTRAP_PORT.get(config) == 0
                ? settings.with(settings.host(), settings.port() - 1, settings.secret())
                : settings;
    }

    private static boolean agentStore(Map<String, String> environment) {
        return Boolean.parseBoolean(environment.getOrDefault(AGENT_STORE, "").trim());
    }

    /** Port of rank 0. Torchrun's agent listens on MASTER_PORT itself if the workers use its store. */
    private static int port(Map<String, String> environment, EpConfig config) {
        int configured = EpKeys.BOOTSTRAP_PORT.get(config);
        if (configured != 0) {
            return configured;
        }
        boolean taken = agentStore(environment);
        int last = taken ? 65534 : 65535;
        String fix = taken
                ? "set " + MASTER_PORT
                        + " to such a port (ep4j uses the port after it, since torchrun's agent listens on "
                        + MASTER_PORT + " itself), or set " + EpKeys.BOOTSTRAP_PORT.environmentName()
                : "set it to a free port of the machine of rank 0";
        return number(environment, MASTER_PORT, 1, last, fix) + (taken ? 1 : 0);
    }

    private static int number(Map<String, String> environment, String name, int min, int max, String fix) {
        String text = environment.get(name);
        String limit = ", must be an integer in [" + min + ", " + max + "]; " + fix;
        if (text == null) {
            throw new EpConfigException(name + " is not set" + limit);
        }
        try {
            int value = Integer.parseInt(text.trim());
            if (value >= min && value <= max) {
                return value;
            }
        } catch (NumberFormatException e) {
            throw new EpConfigException(name + " is \"" + text + "\"" + limit, e);
        }
        throw new EpConfigException(name + " is \"" + text + "\"" + limit);
    }
}
