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

/** What a backend is opened with. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class OpenContext {
    private final EpPlan plan;
    private final List<RankProfile> profiles;
    private final int rank;
    private final List<Integer> ranks;
    private final Bootstrap bootstrap;
    private final EpDevice device;
    private final EpConfig config;
    private final Duration timeout;

    private OpenContext(Builder builder, List<Integer> ranks) {
        this.plan = builder.plan;
        this.profiles = builder.profiles;
        this.ranks = ranks;
        this.bootstrap = builder.bootstrap;
        this.rank = ranks.get(bootstrap.rank());
        this.device = builder.device;
        this.config = builder.config;
        this.timeout = builder.timeout.orElseGet(() -> EpKeys.SETUP_TIMEOUT.get(config));
    }

    /**
     * Starts the context of a backend that all ranks of the plan use, without settings.
     *
     * @param plan the agreed plan
     * @param profiles what the ranks of the plan reported, in rank order
     * @param bootstrap connects exactly the ranks that use the backend, in their order
     * @param device device of this rank
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static Builder builder(EpPlan plan, List<RankProfile> profiles, Bootstrap bootstrap, EpDevice device) {
        return new Builder(plan, profiles, bootstrap, device);
    }

    /** The agreed plan: the group's own, which {@code GroupPlan.of} of ep-planner accepts. */
    public EpPlan plan() {
        return plan;
    }

    /** What the ranks of the plan reported, in rank order. */
    public List<RankProfile> profiles() {
        return profiles;
    }

    /** This rank's number in the plan. */
    public int rank() {
        return rank;
    }

    /** Ranks whose plan uses this backend, ascending, this one among them. */
    public List<Integer> ranks() {
        return ranks;
    }

    /** Connects exactly {@link #ranks}: member {@code i} of it is {@code ranks().get(i)}. The group closes it. */
    public Bootstrap bootstrap() {
        return bootstrap;
    }

    /**
     * Device of this rank. A GPU alone reaches the memory of its arenas: allocate what peers or NICs reach with the driver.
     */
    public EpDevice device() {
        return device;
    }

    /** Settings of this rank; read them by their keys. */
    public EpConfig config() {
        return config;
    }

    /** Longest time that opening may take. */
    public Duration timeout() {
        return timeout;
    }

    /** The rank and the ranks, for messages. */
    @Override
    public String toString() {
        return "rank " + rank + " of " + ranks + " on " + device.id() + " within " + timeout;
    }

    /** Collects what a backend is opened with. For one thread. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final class Builder {
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
         * The context.
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
            return new OpenContext(this, users);
        }
    }
}
