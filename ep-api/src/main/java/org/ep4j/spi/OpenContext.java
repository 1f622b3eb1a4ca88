package org.ep4j.spi;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apiguardian.api.API;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpPlan;
import org.ep4j.config.EpKeys;

/** Context in which a backend is opened on one rank. Immutable. */
public sealed interface OpenContext {
    /**
     * Starts the context of a backend that all ranks of the plan use, without settings.
     *
     * @param plan the agreed plan
     * @param profiles of the ranks of the plan, in rank order
     * @param bootstrap connects exactly the ranks that use the backend, in their order
     * @param device device of this rank
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    static Builder builder(EpPlan plan, List<RankProfile> profiles, Bootstrap bootstrap, EpDevice device) {
        return new Builder(plan, profiles, bootstrap, device);
    }

    /** The agreed plan: the group's own, which {@code GroupPlan.of} of ep-planner accepts. */
    EpPlan plan();

    /** Profiles of the ranks of the plan, in rank order. */
    List<RankProfile> profiles();

    /** This rank's number in the plan. */
    int rank();

    /** Ranks whose plan uses this backend, ascending, this one among them. */
    List<Integer> ranks();

    /** Connects exactly {@link #ranks}: member {@code i} of it is {@code ranks().get(i)}. The group closes it. */
    Bootstrap bootstrap();

    /**
     * Device of this rank. A GPU alone reaches the memory of its arenas: allocate what peers or NICs reach with the driver.
     */
    EpDevice device();

    /** Settings of this rank; read them by their keys. */
    EpConfig config();

    /** Longest time that opening may take. */
    Duration timeout();

    /** Collects the properties of a context. For one thread. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    final class Builder {
        private final EpPlan plan;
        private final List<RankProfile> profiles;
        private final Bootstrap bootstrap;
        private final EpDevice device;
        private Optional<List<Integer>> ranks = Optional.empty();
        private EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        private Optional<Duration> timeout = Optional.empty();

        private Builder(EpPlan plan, List<RankProfile> profiles, Bootstrap bootstrap, EpDevice device) {
            this.plan = plan;
            this.profiles = List.copyOf(profiles);
            this.bootstrap = bootstrap;
            this.device = device;
        }

        /** Sets the ranks whose plan uses the backend, ascending; without this call, all of the plan. */
        public Builder ranks(List<Integer> users) {
            this.ranks = Optional.of(List.copyOf(users));
            return this;
        }

        /** Sets the settings of this rank; without this call, all have their defaults. */
        public Builder config(EpConfig settings) {
            this.config = settings;
            return this;
        }

        /** Sets the longest time that opening may take; without this call, {@code ep.setup-timeout} of the settings. */
        public Builder timeout(Duration longest) {
            this.timeout = Optional.of(longest);
            return this;
        }

        /**
         * Builds the context.
         *
         * @throws IllegalArgumentException when there are not as many profiles as ranks of the plan, or not as many
         *     members of the bootstrap as ranks that use the backend
         */
        public OpenContext build() {
            if (profiles.size() != plan.ranks()) {
                throw new IllegalArgumentException("a plan of " + plan.ranks() + " ranks needs as many profiles, got "
                        + profiles.size() + "; give one for each rank");
            }
            List<Integer> users = ranks.orElseGet(
                    () -> IntStream.range(0, plan.ranks()).boxed().toList());
            if (bootstrap.size() != users.size()) {
                throw new IllegalArgumentException("a backend of ranks " + users
                        + " needs a bootstrap of as many members, got " + bootstrap.size()
                        + "; give the subgroup of these ranks");
            }
            return new OpenContextValue(
                    plan,
                    profiles,
                    users.get(bootstrap.rank()),
                    users,
                    bootstrap,
                    device,
                    config,
                    timeout.orElseGet(() -> EpKeys.SETUP_TIMEOUT.get(config)));
        }
    }
}

record OpenContextValue(
        EpPlan plan,
        List<RankProfile> profiles,
        int rank,
        List<Integer> ranks,
        Bootstrap bootstrap,
        EpDevice device,
        EpConfig config,
        Duration timeout)
        implements OpenContext {
    @Override
    public String toString() {
        return "rank " + rank + " of " + ranks + " on " + device.id() + " within " + timeout;
    }
}
