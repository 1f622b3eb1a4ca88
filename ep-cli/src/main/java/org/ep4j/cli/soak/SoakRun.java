package org.ep4j.cli.soak;

import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.ep4j.cli.soak.Problem.Kind;
import org.ep4j.tck.crew.KeptPort;

/** Runs rounds until enough of them are made, or the time is over. */
public final class SoakRun {
    /** Exchanges before the fault, by which a group shows that it works. */
    private static final int WARM_UP = 2;

    private final SoakSpec spec;
    private final Optional<ShmFolder> folder;
    private final RdmaPorts ports = new RdmaPorts();
    private final Findings findings;
    private final Statistics statistics = new Statistics();
    private Set<String> leftBefore = Set.of();

    /**
     * A run.
     *
     * @param folder for shared memory, where the backend has files there
     * @param listener hears of every problem at once
     */
    public SoakRun(SoakSpec spec, Optional<ShmFolder> folder, Consumer<Problem> listener) {
        this.spec = spec;
        this.folder = folder;
        this.findings = new Findings(spec.logs(), listener);
    }

    /** What has happened so far. */
    public Statistics statistics() {
        return statistics;
    }

    /** Runs all rounds; {@code after} is called after each. */
    public void run(Runnable after) {
        Schedule schedule = new Schedule(spec);
        long start = System.nanoTime();
        Crew crew = new Crew(spec);
        // Ranks that are stopped would not learn that their parent is gone, and the folder would stay.
        Thread hook = new Thread(
                () -> {
                    ports.allUp();
                    crew.close();
                    folder.ifPresent(ShmFolder::close);
                },
                "ep-soak-end");
        Runtime.getRuntime().addShutdownHook(hook);
        try (crew) {
            for (int number = 0; spec.rounds() == 0 || number < spec.rounds(); number++) {
                if (System.nanoTime() - start >= spec.duration().toNanos()) {
                    break;
                }
                Schedule.Round round = schedule.round(number);
                run(crew, round);
                statistics.roundEnded(round.fault());
                after.run();
            }
        } finally {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException e) {
                // The JVM is going down; the hook does what it is there for.
                System.getLogger(SoakRun.class.getName()).log(System.Logger.Level.DEBUG, "ended during shutdown", e);
            }
        }
    }

    private void run(Crew crew, Schedule.Round round) {
        RankGroup group = new RankGroup(spec, round, crew, statistics, findings);
        try {
            exchange(group);
            group.close();
            checkFiles(group);
        } finally {
            group.release();
        }
    }

    private void exchange(RankGroup group) {
        try (KeptPort port = KeptPort.take();
                CuttingProxy proxy = new CuttingProxy(port.number())) {
            boolean reset = group.round().fault() == Fault.RESET;
            if (group.join(port.number(), reset ? proxy.port() : port.number())
                    && group.runWell(group.members(), WARM_UP, 0)) {
                flow(group.round().fault(), proxy).run(group);
            }
        }
    }

    private FaultFlow flow(Fault fault, CuttingProxy proxy) {
        return switch (fault) {
            case NONE, PAUSE, SLOW -> new CalmFlow();
            case KILL, DOUBLE_KILL, STOP, PARTITION -> new LossFlow();
            case RESET -> new ResetFlow(proxy);
            case SKEWED_CLOSE -> new SkewedCloseFlow();
            case PORT_DOWN -> new PortDownFlow(ports);
            case SHM_FULL -> new ShmFullFlow(folder.orElseThrow());
        };
    }

    /** Files of a killed process stay until somebody makes others; no file stays longer. */
    private void checkFiles(RankGroup group) {
        if (folder.isEmpty()) {
            return;
        }
        Set<String> left = folder.get().files();
        boolean killed = group.isTroubled() || group.members().stream().anyMatch(m -> m.is(Member.State.DEAD));
        Set<String> wrong = new TreeSet<>(left);
        if (killed) {
            wrong.retainAll(leftBefore);
        }
        if (!wrong.isEmpty()) {
            group.problem(Kind.LEAK, "files left in " + folder.get().path() + ": " + wrong);
        }
        leftBefore = left;
    }
}
