package org.ep4j.tck.ranks;

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

/** Runs jobs on one rank, and keeps one group for each number of ranks and settings so that jobs need not join again. */
final class RankRunner {
    private final Bootstrap base;
    private final Consumer<Map<String, String>> killer;
    private final Map<String, EpGroup> shared = new TreeMap<>();

    /**
     * Creates a runner over a bootstrap of all ranks.
     *
     * @param killer ends this rank, given the facts that the job has reported until then
     */
    RankRunner(Bootstrap base, Consumer<Map<String, String>> killer) {
        this.base = base;
        this.killer = killer;
    }

    RankReport run(Job job) {
        Map<String, String> facts = Map.of();
        try {
            GroupFactory factory = create(GroupFactory.class, job.factory());
            try (RankContext context = new RankContext(job, base, factory, () -> sharedGroup(job, factory), killer)) {
                facts = context.facts();
                Optional<RankReport> failed = run(job, context);
                if (failed.isPresent()) {
                    return failed.get();
                }
            }
            return report(RankReport.End.DONE, "", facts);
        } catch (RuntimeException | Error e) {
            return report(RankReport.End.FAILED, describe(e), facts);
        }
    }

    /** Returns a report only where the scenario fails; its time is before anything is closed. */
    private Optional<RankReport> run(Job job, RankContext context) {
        try {
            create(Scenario.class, job.scenario()).run(context);
            return Optional.empty();
        } catch (Killed e) {
            return Optional.of(report(RankReport.End.KILLED, "", context.facts()));
        } catch (RuntimeException | Error e) {
            return Optional.of(report(RankReport.End.FAILED, describe(e), context.facts()));
        }
    }

    RankReport report(RankReport.End end, String detail, Map<String, String> facts) {
        return new RankReport(base.rank(), end, detail, facts, System.nanoTime());
    }

    /** Ends the thread of a rank that is killed at its request. An Error, so that no scenario catches it. */
    static final class Killed extends Error {
        private static final long serialVersionUID = 1L;

        Killed() {
            super("rank killed", null, false, false);
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

    static String stacks() {
        Map<String, StackTraceElement[]> byName = new TreeMap<>();
        Thread.getAllStackTraces()
                .forEach((thread, frames) ->
                        byName.put(thread.getName() + " (" + thread.getId() + ", " + thread.getState() + ")", frames));
        StringBuilder text = new StringBuilder();
        byName.forEach((name, frames) -> {
            text.append(name).append('\n');
            for (StackTraceElement frame : frames) {
                text.append("    at ").append(frame).append('\n');
            }
        });
        return text.toString();
    }

    private static String describe(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text, true));
        return text.toString();
    }

    /**
     * Closes the rank.
     *
     * @param hung whether a job hangs, which may hold the locks of its groups: only the bootstrap, whose close cannot block, is closed
     *     then
     */
    void close(boolean hung) {
        if (!hung) {
            shared.values().forEach(EpGroup::close);
            shared.clear();
        }
        base.close();
    }
}
