package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.ServiceLoader;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.Engine;
import org.ep4j.spi.BootstrapProvider;
import org.ep4j.transport.NanoClock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The environment of torchrun, and what is wrong with it. */
@Tag("verify")
class TcpSettingsTest {
    private static final EpConfig DEFAULTS =
            EpConfig.builder(Map.of(), Map.of()).build();

    private static Map<String, String> torchrun(String... changes) {
        Map<String, String> environment = new HashMap<>(Map.of(
                "RANK", "2", "WORLD_SIZE", "8", "LOCAL_RANK", "0", "MASTER_ADDR", "node-a", "MASTER_PORT", "29500"));
        for (int i = 0; i < changes.length; i += 2) {
            environment.put(changes[i], changes[i + 1]);
        }
        return environment;
    }

    private static EpConfig config(String... pairs) {
        EpConfig.Builder builder = EpConfig.builder(Map.of(), Map.of());
        for (int i = 0; i < pairs.length; i += 2) {
            builder.set(pairs[i], pairs[i + 1]);
        }
        return builder.build();
    }

    @Test
    void torchrunsVariablesGiveRankSizeHostAndPort() {
        TcpSettings settings = TcpSettings.fromEnvironment(torchrun(), DEFAULTS);
        assertThat(settings.rank()).isEqualTo(2);
        assertThat(settings.size()).isEqualTo(8);
        assertThat(settings.host()).isEqualTo("node-a");
        assertThat(settings.port()).isEqualTo(29500);
        assertThat(settings.secret().isEmpty()).isTrue();
        assertThat(settings.setupTimeout()).isEqualTo(Duration.ofSeconds(60));
        assertThat(settings.heartbeat()).isEqualTo(Duration.ofSeconds(1));
        assertThat(settings.silence()).isEqualTo(Duration.ofSeconds(10));
        assertThat(settings.linger()).isEqualTo(Duration.ofSeconds(5));
    }

    @ParameterizedTest
    @CsvSource({"True,29501", "true,29501", "False,29500", "'',29500", "1,29500"})
    void thePortAfterIsUsedWhereTorchrunsAgentHoldsIt(String agentStore, int port) {
        Map<String, String> environment = torchrun("TORCHELASTIC_USE_AGENT_STORE", agentStore);
        assertThat(TcpSettings.fromEnvironment(environment, DEFAULTS).port()).isEqualTo(port);
    }

    @ParameterizedTest
    @ValueSource(strings = {"True", "False"})
    void spacesAroundTheAddressAreIgnored(String agentStore) {
        Map<String, String> environment =
                torchrun("TORCHELASTIC_USE_AGENT_STORE", agentStore, "MASTER_ADDR", " 10.0.0.1 ");
        assertThat(TcpSettings.fromEnvironment(environment, DEFAULTS).host()).isEqualTo("10.0.0.1");
    }

    @Test
    void aConfiguredPortWinsOverTheVariables() {
        EpConfig config = config("ep.bootstrap.port", "4242");
        Map<String, String> environment =
                torchrun("TORCHELASTIC_USE_AGENT_STORE", "True", "MASTER_PORT", "not looked at");
        assertThat(TcpSettings.fromEnvironment(environment, config).port()).isEqualTo(4242);
    }

    @Test
    void theHostOfRankZeroMayBeSet() {
        EpConfig config = config("ep.bootstrap.address", "node-b");
        TcpSettings settings = TcpSettings.fromEnvironment(torchrun("TORCHELASTIC_USE_AGENT_STORE", "True"), config);
        assertThat(settings.host()).isEqualTo("node-b");
        assertThat(settings.storePort()).isZero();
    }

    @Test
    void settingsComeFromTheConfiguration() {
        EpConfig config = config(
                "ep.bootstrap.secret",
                "s",
                "ep.setup-timeout",
                "3s",
                "ep.bootstrap.heartbeat",
                "200ms",
                "ep.bootstrap.heartbeat-timeout",
                "1s",
                "ep.bootstrap.linger",
                "7s");
        TcpSettings settings = TcpSettings.fromEnvironment(torchrun(), config);
        assertThat(settings.secret().text()).isEqualTo("s");
        assertThat(settings.toString()).contains("secret=set").doesNotContain("=s,");
        assertThat(settings.setupTimeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(settings.heartbeat()).isEqualTo(Duration.ofMillis(200));
        assertThat(settings.silence()).isEqualTo(Duration.ofSeconds(1));
        assertThat(settings.linger()).isEqualTo(Duration.ofSeconds(7));
    }

    @ParameterizedTest
    @CsvSource({
        "RANK,'x','RANK is \"x\", must be an integer in [0, 7]'",
        "RANK,'-1','RANK is \"-1\", must be an integer in [0, 7]'",
        "RANK,'8','RANK is \"8\", must be an integer in [0, 7]'",
        "RANK,'','RANK is \"\"'",
        "WORLD_SIZE,'0','WORLD_SIZE is \"0\", must be an integer in [1, 65536]'",
        "WORLD_SIZE,'99999999999','WORLD_SIZE is \"99999999999\"'",
        "MASTER_PORT,'0','MASTER_PORT is \"0\", must be an integer in [1, 65535]'",
        "MASTER_PORT,'65536','MASTER_PORT is \"65536\"'",
        "MASTER_PORT,'http','MASTER_PORT is \"http\"'",
        "MASTER_ADDR,' ','the host of rank 0 is empty'",
    })
    void aMalformedVariableIsNamedWithItsValueAndTheLimit(String name, String value, String message) {
        assertThatThrownBy(() -> TcpSettings.fromEnvironment(torchrun(name, value), DEFAULTS))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining(message);
    }

    @Test
    void theLastPortHasNoneAfterIt() {
        Map<String, String> environment = torchrun("TORCHELASTIC_USE_AGENT_STORE", "True", "MASTER_PORT", "65535");
        assertThatThrownBy(() -> TcpSettings.fromEnvironment(environment, DEFAULTS))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("[1, 65534]")
                .hasMessageContaining("EP_BOOTSTRAP_PORT");
    }

    @Test
    void aHeartbeatTimeoutUnderTwoHeartbeatsIsRefused() {
        EpConfig config = config("ep.bootstrap.heartbeat", "1s", "ep.bootstrap.heartbeat-timeout", "1500ms");
        assertThatThrownBy(() -> TcpSettings.fromEnvironment(torchrun(), config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("1500ms")
                .hasMessageContaining("at least twice");
    }

    @ParameterizedTest
    @ValueSource(strings = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    void withoutOneOfTheFourVariablesNoLauncherIsSeen(String missing) {
        TcpBootstrapProvider provider = new TcpBootstrapProvider();
        Map<String, String> environment = torchrun();
        assertThat(provider.detects(environment)).isTrue();
        environment.remove(missing);
        assertThat(provider.detects(environment)).isFalse();
        assertThatThrownBy(() -> new Engine().fromEnvironment(environment, DEFAULTS))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("tried tcp")
                .hasMessageContaining("variables, " + missing + " is not set")
                .hasMessageContaining("MASTER_PORT")
                .hasMessageContaining("mpirun or srun --mpi=pmix");
    }

    @Test
    void theProviderIsFoundAsAService() {
        assertThat(ServiceLoader.load(BootstrapProvider.class))
                .extracting(BootstrapProvider::id)
                .contains("tcp");
    }

    @Test
    void argumentsOfTheProgrammaticWayAreChecked() {
        assertThatThrownBy(() -> Bootstrap.tcp(0, 2, InetSocketAddress.createUnresolved("localhost", 0), DEFAULTS))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("port of the rendezvous is 0");
        assertThatThrownBy(() -> TcpSettings.of(0, 2, "localhost", 65536, DEFAULTS, NanoClock.SYSTEM))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("65536");
        assertThatThrownBy(() -> Bootstrap.tcp(0, 2, InetSocketAddress.createUnresolved(" ", 1234), DEFAULTS))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("the host of rank 0 is empty");
        assertThatThrownBy(() -> Bootstrap.tcp(2, 2, InetSocketAddress.createUnresolved("localhost", 1234), DEFAULTS))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("the rank is 2, must be in [0, 2)");
        assertThatThrownBy(() -> Bootstrap.tcp(0, 0, InetSocketAddress.createUnresolved("localhost", 1234), DEFAULTS))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("number of ranks is 0");
    }
}
