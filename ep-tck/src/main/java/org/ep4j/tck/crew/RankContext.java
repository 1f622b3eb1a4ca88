package org.ep4j.tck.crew;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.plan.GroupPlan;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Patience;

/** One rank's view of a job. Used by the rank's own thread, unless a method says otherwise. */
public final class RankContext implements AutoCloseable {
    /** Longest wait for the other ranks in {@link #exchange}. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Job job;
    private final Bootstrap base;
    private final Bootstrap channel;
    private final GroupFactory factory;
    private final Supplier<EpGroup> shared;
    private final Consumer<Map<String, String>> killer;
    /** Also read by a thread that ends the process. */
    private final Map<String, String> facts = new ConcurrentSkipListMap<>();

    private final Deque<AutoCloseable> owned = new ArrayDeque<>();
    private final List<Integer> members;
    private int exchanges;
    private int groups;
    private Optional<Arena> arena = Optional.empty();

    RankContext(
            Job job,
            Bootstrap base,
            GroupFactory factory,
            Supplier<EpGroup> shared,
            Consumer<Map<String, String>> killer) {
        this.job = job;
        this.base = base;
        this.factory = factory;
        this.shared = shared;
        this.killer = killer;
        this.members = IntStream.range(0, job.ranks()).boxed().toList();
        this.channel = base.subgroup("tck/" + job.name(), members);
    }

    /** This rank. */
    public int rank() {
        return channel.rank();
    }

    /** Ranks of the job. */
    public int size() {
        return job.ranks();
    }

    /** True on every rank for the same one: turns with {@code seed}. */
    public boolean isRank(int rank) {
        return rank() == rank;
    }

    /** The job's parameters. */
    public Params params() {
        return new Params(job.parameters());
    }

    /** The group that jobs of this size share. Collective at its first use. */
    public EpGroup group() {
        return shared.get();
    }

    /** The plan of {@link #group}, with all that the planner knows. */
    public GroupPlan plan() {
        return GroupPlan.of(group().plan());
    }

    /** A group of this job alone, with more settings; closed after the job. Collective. */
    public EpGroup newGroup(Map<String, String> more) {
        EpGroup group = factory.join(newBootstrap(), config(more));
        owned.push(group);
        return group;
    }

    /** A bootstrap over the ranks of the job, for joining groups. All ranks call this equally often. */
    public Bootstrap newBootstrap() {
        Bootstrap bootstrap = base.subgroup("tck/" + job.name() + "/group" + groups++, members);
        owned.push(bootstrap);
        return bootstrap;
    }

    /** Joins as {@link #newGroup} does, without remembering to close. */
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        return factory.join(bootstrap, config);
    }

    /** The job's settings, with more on top. */
    public EpConfig config(Map<String, String> more) {
        EpConfig.Builder builder = EpConfig.builder();
        job.settings(rank()).forEach(builder::set);
        more.forEach(builder::set);
        return builder.build();
    }

    /** A buffer of the shared group, closed after the job. Collective. */
    public EpBuffer buffer(EpShape shape) {
        return owned(group().createBuffer(shape));
    }

    /** Closes {@code resource} after the job, the last one first. */
    public <T extends AutoCloseable> T owned(T resource) {
        owned.push(resource);
        return resource;
    }

    /** Device memory of the shared group's device, freed after the job. */
    public Arena arena() {
        if (arena.isEmpty()) {
            arena = Optional.of(owned(new Arena(group().device())));
        }
        return arena.get();
    }

    /** Gives every rank the bytes of all, through the bootstrap and not the backend. All ranks call it equally often. */
    public List<byte[]> exchange(byte[] mine) {
        return channel.allGather("x" + exchanges++, mine, Patience.here(PATIENCE));
    }

    /** Gives the number of ranks on which something holds, when all have come here. */
    public int count(boolean here) {
        byte[] mine = {(byte) (here ? 1 : 0)};
        return (int) exchange(mine).stream().filter(theirs -> theirs[0] == 1).count();
    }

    /** Returns when all ranks have come here. */
    public void meet() {
        exchange(new byte[0]);
    }

    /** Reports something about this rank; runs of the rule in other modes must report the same under {@code bits}. */
    public void fact(String name, String value) {
        facts.put(name, value);
    }

    /** Dies as a crashed process does. May be called from any thread; only the job's own thread ends by it. */
    public void die() {
        killer.accept(facts);
    }

    /** Dies after {@code delay}, whatever the rank does then. Only where ranks are processes. */
    public void dieAfter(Duration delay) {
        later(delay, this::die);
    }

    /** Runs {@code action} after {@code delay} in a thread of its own, for which nobody waits. */
    public void later(Duration delay, Runnable action) {
        Thread thread = new Thread(
                () -> {
                    try {
                        Thread.sleep(delay.toMillis());
                        action.run();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "tck-later");
        thread.setDaemon(true);
        thread.start();
    }

    /** Waits. */
    public void sleep(Duration time) {
        try {
            Thread.sleep(time.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(
                    "interrupted, because the ranks exceeded the time limit of this rule or soak round", e);
        }
    }

    Map<String, String> facts() {
        return facts;
    }

    /** Closes everything that the job owned, the last one first. */
    @Override
    public void close() {
        List<Throwable> failures = new ArrayList<>();
        while (!owned.isEmpty()) {
            try {
                owned.pop().close();
            } catch (Exception e) {
                failures.add(e);
            }
        }
        channel.close();
        if (!failures.isEmpty()) {
            AssertionError error = new AssertionError("closing failed: " + failures.get(0), failures.get(0));
            failures.subList(1, failures.size()).forEach(error::addSuppressed);
            throw error;
        }
    }
}
