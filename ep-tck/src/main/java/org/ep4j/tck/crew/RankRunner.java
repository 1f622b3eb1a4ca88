package org.ep4j.tck.crew;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Constructor;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;

/** One rank: runs jobs, and keeps one group for each number of ranks and settings so that jobs need not join again. */
final class RankRunner implements AutoCloseable {
    private final Bootstrap base;
    private final Consumer<Map<String, String>> killer;
    private final Map<String, EpGroup> shared = new TreeMap<>();

    /**
     * Runs jobs over a bootstrap of all ranks.
     *
     * @param killer ends this rank; gets what the job has reported so far
     */
    RankRunner(Bootstrap base, Consumer<Map<String, String>> killer) {
        this.base = base;
        this.killer = killer;
    }

    /**
     * What came of a job.
     *
     * @param nanos when the scenario ended, before anything was closed
     */
    record Outcome(RankReport.End end, String detail, Map<String, String> facts, long nanos) {}

    Outcome run(Job job) {
        Map<String, String> facts = Map.of();
        try {
            GroupFactory factory = create(GroupFactory.class, job.factory());
            try (RankContext context = new RankContext(job, base, factory, () -> sharedGroup(job, factory), killer)) {
                facts = context.facts();
                Optional<Outcome> failed = run(job, context);
                if (failed.isPresent()) {
                    return failed.get();
                }
            }
            return new Outcome(RankReport.End.DONE, "", facts, System.nanoTime());
        } catch (RuntimeException | Error e) {
            return new Outcome(RankReport.End.FAILED, describe(e), facts, System.nanoTime());
        }
    }

    /** Runs the scenario; an outcome only when it does not end well. */
    private static Optional<Outcome> run(Job job, RankContext context) {
        try {
            create(Scenario.class, job.scenario()).run(context);
            return Optional.empty();
        } catch (RankKilled e) {
            return Optional.of(new Outcome(RankReport.End.KILLED, "", context.facts(), System.nanoTime()));
        } catch (RuntimeException | Error e) {
            return Optional.of(new Outcome(RankReport.End.FAILED, describe(e), context.facts(), System.nanoTime()));
        }
    }

    private EpGroup sharedGroup(Job job, GroupFactory factory) {
        String key = job.ranks() + " " + job.factory() + " " + new TreeMap<>(job.settings());
        EpGroup group = shared.get(key);
        if (group == null) {
            EpConfig.Builder config = EpConfig.builder();
            job.settings(base.rank()).forEach(config::set);
            Bootstrap members = base.subgroup(
                    "tck/shared " + key, IntStream.range(0, job.ranks()).boxed().toList());
            group = factory.join(members, config.build());
            shared.put(key, group);
        }
        return group;
    }

    private static <T> T create(Class<T> type, String name) {
        try {
            Constructor<?> constructor = Class.forName(name).getDeclaredConstructor();
            constructor.setAccessible(true);
            return type.cast(constructor.newInstance());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(
                    name + " is not a " + type.getSimpleName() + " with a no-argument constructor", e);
        }
    }

    private static String describe(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }

    @Override
    public void close() {
        shared.values().forEach(EpGroup::close);
        shared.clear();
        base.close();
    }
}
