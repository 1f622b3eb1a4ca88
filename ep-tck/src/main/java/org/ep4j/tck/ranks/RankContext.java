package org.ep4j.tck.ranks;

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

/** The job that a scenario runs, on one rank. For the rank's own thread, except where a method allows others. */
public final class RankContext implements AutoCloseable {
    private static final Duration ALL_GATHER = Duration.ofSeconds(60);

    private final Job job;
    private final Bootstrap base;
    private final Bootstrap channel;
    private final GroupFactory factory;
    private final Supplier<EpGroup> shared;
    private final Consumer<Map<String, String>> killer;
    /** Read by threads that kill the rank, too. */
    private final Map<String, String> facts = new ConcurrentSkipListMap<>();

    private final Deque<AutoCloseable> owned = new ArrayDeque<>();
    private final List<Integer> members;
    private int gathers;
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

    /** Returns the index of this rank. */
    public int rank() {
        return channel.rank();
    }

    /** Returns the number of ranks of the job. */
    public int size() {
        return job.ranks();
    }

    /** Returns whether this is the rank with the given index. */
    public boolean isRank(int rank) {
        return rank() == rank;
    }

    /** Returns the parameters of the scenario. */
    public Params params() {
        return new Params(job.parameters());
    }

    /** Returns the group that jobs with as many ranks share. Collective at its first use. */
    public EpGroup group() {
        return shared.get();
    }

    /** Returns the plan of {@link #group}. */
    public GroupPlan plan() {
        return GroupPlan.of(group().plan());
    }

    /** Joins a group of this job alone, with more settings; closed after the job. Collective. */
    public EpGroup newGroup(Map<String, String> more) {
        return owned(factory.join(newBootstrap(), config(more)));
    }

    /** Creates a bootstrap over the ranks of the job, for joining groups. All ranks call this equally often. */
    public Bootstrap newBootstrap() {
        return owned(base.subgroup("tck/" + job.name() + "/group" + groups++, members));
    }

    /** Returns the job's settings, with more on top. */
    public EpConfig config(Map<String, String> more) {
        EpConfig.Builder builder = EpConfig.builder();
        job.settings(rank()).forEach(builder::set);
        more.forEach(builder::set);
        return builder.build();
    }

    /** Creates a buffer of the shared group, closed after the job. Collective. */
    public EpBuffer buffer(EpShape shape) {
        return owned(group().createBuffer(shape));
    }

    /** Registers a resource to be closed after the job, in reverse order. */
    public <T extends AutoCloseable> T owned(T resource) {
        owned.push(resource);
        return resource;
    }

    /** Returns memory of the shared group's device, freed after the job. */
    public Arena arena() {
        if (arena.isEmpty()) {
            arena = Optional.of(owned(new Arena(group().device())));
        }
        return arena.get();
    }

    /** Returns the bytes of all ranks, through the bootstrap and not the backend. All ranks call this equally often. */
    public List<byte[]> allGather(byte[] mine) {
        return channel.allGather("x" + gathers++, mine, Patience.scaled(ALL_GATHER));
    }

    /** Returns the number of ranks that pass true. All ranks call this equally often. */
    public int count(boolean here) {
        byte[] mine = {(byte) (here ? 1 : 0)};
        return (int) allGather(mine).stream().filter(theirs -> theirs[0] == 1).count();
    }

    /** Returns when all ranks have entered the barrier, which is one of the bootstrap and not of the backend. */
    public void barrier() {
        allGather(new byte[0]);
    }

    /** Reports a fact about this rank. Under {@code bits}, runs of a rule in other modes must report the same value. */
    public void fact(String name, String value) {
        facts.put(name, value);
    }

    /** Kills this rank, from any thread. Where ranks are threads, only the job's own thread ends by it. */
    public void die() {
        killer.accept(facts);
    }

    /** Runs {@code action} after {@code delay} in a daemon thread of its own. */
    public void schedule(Duration delay, Runnable action) {
        Thread thread = new Thread(
                () -> {
                    try {
                        Thread.sleep(delay.toMillis());
                        action.run();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "tck-schedule");
        thread.setDaemon(true);
        thread.start();
    }

    /** Sleeps; an interrupt fails the scenario. */
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

    /** Closes all that the job owns, in reverse order. */
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
