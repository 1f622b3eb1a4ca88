package org.ep4j.engine.bootstrap;

import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.BootstrapProvider;

/**
 * Joins the group that torchrun describes in the variables {@code RANK}, {@code WORLD_SIZE}, {@code MASTER_ADDR} and
 * {@code MASTER_PORT}: rank 0 listens at this address and port, and the others connect to it. If {@code
 * TORCHELASTIC_USE_AGENT_STORE} is {@code True}, torchrun's agent listens on the port itself, and the one after it is used;
 * {@link EpKeys#BOOTSTRAP_PORT} overrides both.
 *
 * <p>The secret {@link EpKeys#BOOTSTRAP_SECRET} authenticates ranks that join and all that they send afterwards. Nothing is encrypted.
 */
public final class TcpBootstrapProvider implements BootstrapProvider {
    /** For {@link java.util.ServiceLoader}. */
    public TcpBootstrapProvider() {}

    @Override
    public String id() {
        return "tcp";
    }

    @Override
    public boolean detects(Map<String, String> environment) {
        return environment.keySet().containsAll(TcpSettings.VARIABLES);
    }

    @Override
    public Bootstrap join(Map<String, String> environment, EpConfig config) {
        return TcpBootstrap.join(TcpSettings.fromEnvironment(environment, config));
    }
}
