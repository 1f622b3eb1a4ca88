package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.ep4j.EpGroup;
import org.ep4j.EpUnavailableException;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a rank looks at before it joins. */
@Tag("verify")
final class JoiningTest {
    private static final String BACKEND = "threads";

    private static BackendProfile joined(EpConfig.Builder config) {
        try (EpGroup group = EpGroup.join(Bootstraps.inProcess(1).get(0), config.build())) {
            return group.plan().profiles().get(0).backend(BACKEND).orElseThrow();
        }
    }

    /** The probe of the backend fails where it runs. */
    private static EpConfig.Builder config() {
        return EpConfig.builder(Map.of(), Map.of()).set("ep.threads.probed", "false");
    }

    @Test
    void aBackendThatMayBeUsedIsProbed() {
        assertThat(joined(config()).why()).contains("its probe failed", "probed");
        assertThat(joined(config().set(EpKeys.REQUIRE, BACKEND)).why()).contains("its probe failed");
        assertThat(joined(EpConfig.builder(Map.of(), Map.of()))).matches(BackendProfile::usable);
    }

    @Test
    void aBackendThatMayNotBeUsedIsNotProbedAndThePlanSaysWhy() {
        BackendProfile excluded = joined(config().set(EpKeys.EXCLUDE, BACKEND));
        assertThat(excluded.usable()).isFalse();
        assertThat(excluded.why()).isEqualTo("not probed: excluded by ep.backend.exclude");
        assertThat(excluded.facts()).isEmpty();
    }

    @Test
    void aRequiredBackendThatIsNotThereIsToldThoughNothingWasProbed() {
        assertThatThrownBy(() -> joined(config().set(EpKeys.REQUIRE, "nothing-here")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("backend nothing-here is not on the class path, which has: threads");
    }
}
