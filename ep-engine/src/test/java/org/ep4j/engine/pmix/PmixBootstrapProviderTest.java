package org.ep4j.engine.pmix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.Engine;
import org.ep4j.spi.BootstrapProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class PmixBootstrapProviderTest {
    /** Of Open MPI 4.1's mpirun. */
    private static final Map<String, String> MPIRUN = Map.of(
            "PMIX_RANK", "1",
            "PMIX_NAMESPACE", "601554945",
            "PMIX_SERVER_URI41", "601554944.0;tcp4://127.0.0.1:51871",
            "OMPI_COMM_WORLD_RANK", "1",
            "OMPI_COMM_WORLD_SIZE", "2",
            "OMPI_COMM_WORLD_LOCAL_RANK", "1");

    /** Of srun --mpi=pmix. */
    private static final Map<String, String> SRUN = Map.of(
            "PMIX_RANK", "3",
            "PMIX_NAMESPACE", "slurm.pmix.17.0",
            "SLURM_PROCID", "3",
            "SLURM_NTASKS", "4",
            "SLURM_STEP_NUM_TASKS", "4",
            "SLURM_LOCALID", "1");

    private final PmixBootstrapProvider provider = new PmixBootstrapProvider();

    @Test
    void mpirunAndSrunAreSeen() {
        assertThat(provider.detects(MPIRUN)).isTrue();
        assertThat(provider.detects(SRUN)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"RANK", "WORLD_SIZE"})
    void torchrunsVariablesComeFirst(String variable) {
        Map<String, String> environment = new TreeMap<>(MPIRUN);
        environment.put(variable, "1");
        assertThat(provider.detects(environment)).isFalse();

        assertThatThrownBy(() -> new Engine()
                        .fromEnvironment(environment, EpConfig.builder().build()))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("of torchrun's variables, ")
                .hasMessageContaining("PMIX_RANK")
                .hasMessageContaining("MASTER_PORT")
                .hasMessageContaining("unset RANK and WORLD_SIZE and start with mpirun");
    }

    /** {@code mpirun -x MASTER_ADDR} passes the variable on, for software that asks MPI for rank and size. */
    @Test
    void whereRankZeroIsDoesNotNameALauncher() {
        Map<String, String> environment = new TreeMap<>(MPIRUN);
        environment.put("MASTER_ADDR", "host0");
        assertThat(provider.detects(environment)).isTrue();
        environment.put("MASTER_PORT", "29500");
        assertThat(provider.detects(environment)).isTrue();
        environment.putAll(Map.of("RANK", "1", "WORLD_SIZE", "2"));
        assertThat(provider.detects(environment)).as("all of torchrun's").isFalse();
    }

    /** Without --mpi=pmix there is nothing to meet at. */
    @Test
    void srunWithoutPmixIsNotSeen() {
        assertThat(provider.detects(Map.of("SLURM_PROCID", "3", "SLURM_NTASKS", "4")))
                .isFalse();
    }

    @Test
    void theProviderIsFoundAsAService() {
        assertThat(ServiceLoader.load(BootstrapProvider.class))
                .extracting(BootstrapProvider::id)
                .contains("pmix", "tcp");
    }

    @Test
    void aMissingLibraryIsAReasonWithItsRemedy() {
        assertThatThrownBy(() -> PmixLibrary.load(List.of("libpmix-none.so.2")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("libpmix-none.so.2 cannot be loaded")
                .hasMessageContaining("libpmix2")
                .hasMessageContaining("torchrun");
    }

    @Test
    void aLibraryOfSomethingElseIsAReason() {
        assertThatThrownBy(() -> PmixLibrary.load(List.of("libm.so.6")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("libm.so.6")
                .hasMessageContaining("PMIx_Get_version");
    }

    @ParameterizedTest
    @ValueSource(strings = {"OpenPMIx 4.2.2rc2 (PMIx Standard: 4.2)", "OpenPMIx 3.2.3, repo rev: g", "PMIx 5.0.1"})
    void versionsWithTheseStructuresAreTaken(String version) {
        PmixLibrary.check(version);
    }

    @ParameterizedTest
    @ValueSource(strings = {"PMIx 2.2.3", "OpenPMIx 6.0.0", "something", ""})
    void othersAreRefused(String version) {
        assertThatThrownBy(() -> PmixLibrary.check(version))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("\"" + version + "\", but must be of version 3 to 5");
    }

    /** Outside a job the library says so; nothing hangs, and nothing is left open. */
    @Test
    void variablesWithoutALauncherAreReported() {
        Mpirun.require();
        assertThatThrownBy(() -> provider.join(MPIRUN, EpConfig.builder().build()))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("PMIx_Init gives")
                .hasMessageContaining("LD_LIBRARY_PATH")
                .hasMessageMatching("(?s).*\\(/\\S*libpmix\\.so\\S*, .*[345]\\.\\d.*");
    }
}
