package org.ep4j.config;

import java.time.Duration;
import java.util.List;

/** The settings that ep4j itself reads; backends declare their own. */
public final class EpKeys {
    /** Device of this rank. */
    public static final ConfigKey<String> DEVICE = ConfigKey.text(
            "ep.device", "host", "device of this rank: host, cuda, hip, with :ORDINAL where there are several");

    /** Longest wait of one operation. */
    public static final ConfigKey<Duration> TIMEOUT =
            ConfigKey.duration("ep.timeout", "30s", "longest wait of one dispatch, combine or receive");

    /** Longest wait for the other ranks while a group, buffer or backend is set up. */
    public static final ConfigKey<Duration> SETUP_TIMEOUT = ConfigKey.duration(
            "ep.setup-timeout", "60s", "longest wait for the other ranks while a group or a buffer is set up");

    /** Backends that alone may be used. */
    public static final ConfigKey<String> REQUIRE = ConfigKey.text(
                    "ep.backend.require", "", "comma-separated backends that alone may be used; nothing else is tried")
            .agreedByAllRanks();

    /** Backends to take before others. */
    public static final ConfigKey<String> PREFER = ConfigKey.text(
                    "ep.backend.prefer", "", "comma-separated backends to take, in this order, where they have a path")
            .agreedByAllRanks();

    /** Backends never to use. */
    public static final ConfigKey<String> EXCLUDE = ConfigKey.text(
                    "ep.backend.exclude", "", "comma-separated backends never to use")
            .agreedByAllRanks();

    /** Secret that authenticates the TCP rendezvous. */
    public static final ConfigKey<String> BOOTSTRAP_SECRET = ConfigKey.text(
            "ep.bootstrap.secret",
            "",
            "shared secret of the TCP rendezvous, the same on all ranks; set it in the environment, not on a command line");

    /** Port of the TCP rendezvous. */
    public static final ConfigKey<Integer> BOOTSTRAP_PORT = ConfigKey.integer(
            "ep.bootstrap.port",
            0,
            0,
            65535,
            "port of the TCP rendezvous on rank 0; 0 means MASTER_PORT, or MASTER_PORT + 1 where torchrun's agent holds it");

    /** Sign of life on the connections of the TCP rendezvous. */
    public static final ConfigKey<Duration> BOOTSTRAP_HEARTBEAT = ConfigKey.duration(
            "ep.bootstrap.heartbeat",
            "1s",
            "pause after which an idle rendezvous connection carries a sign of life; rank 0's value counts for all ranks");

    /** Silence after which a member of the TCP rendezvous is lost. */
    public static final ConfigKey<Duration> BOOTSTRAP_HEARTBEAT_TIMEOUT = ConfigKey.duration(
            "ep.bootstrap.heartbeat-timeout",
            "10s",
            "silence on a rendezvous connection after which the other side counts as lost, at least twice"
                    + " ep.bootstrap.heartbeat; rank 0's value counts for all ranks");

    /** How long the TCP rendezvous outlives rank 0's bootstrap. */
    public static final ConfigKey<Duration> BOOTSTRAP_LINGER = ConfigKey.duration(
            "ep.bootstrap.linger",
            "5s",
            "longest time that rank 0, its own bootstrap closed, keeps serving the ranks that have not closed theirs");

    private EpKeys() {}

    /** All of them. */
    public static List<ConfigKey<?>> all() {
        return List.of(
                DEVICE,
                TIMEOUT,
                SETUP_TIMEOUT,
                REQUIRE,
                PREFER,
                EXCLUDE,
                BOOTSTRAP_SECRET,
                BOOTSTRAP_PORT,
                BOOTSTRAP_HEARTBEAT,
                BOOTSTRAP_HEARTBEAT_TIMEOUT,
                BOOTSTRAP_LINGER);
    }
}
