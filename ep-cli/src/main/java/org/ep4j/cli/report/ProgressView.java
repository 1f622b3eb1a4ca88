package org.ep4j.cli.report;

import java.io.Console;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.util.Optional;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.ep4j.cli.rank.RankMessage;

/** Shows the progress of a job: a bar on a terminal, a line for every fifth of the steps elsewhere. */
public final class ProgressView implements AutoCloseable {
    private static final int LINES = 5;

    private final String task;
    private final PrintWriter out;
    private final Optional<ProgressBar> bar;
    private int shown;

    private ProgressView(String task, PrintWriter out, Optional<ProgressBar> bar) {
        this.task = task;
        this.out = out;
        this.bar = bar;
    }

    /** Returns the view that fits where output goes. */
    public static ProgressView of(String task, PrintWriter out) {
        Optional<ProgressBar> bar = onTerminal()
                ? Optional.of(new ProgressBarBuilder()
                        .setTaskName(task)
                        .setInitialMax(1)
                        .setStyle(ProgressBarStyle.ASCII)
                        .setUpdateIntervalMillis(100)
                        .clearDisplayOnFinish()
                        .build())
                : Optional.empty();
        return new ProgressView(task, out, bar);
    }

    /** Returns whether input and output are a terminal. */
    @SuppressWarnings("SystemConsoleNull") // null before JDK 22, isTerminal() since then: both are asked
    private static boolean onTerminal() {
        Console console = System.console();
        if (console == null) {
            return false;
        }
        try {
            Method isTerminal = Console.class.getMethod("isTerminal");
            return Boolean.TRUE.equals(isTerminal.invoke(console));
        } catch (NoSuchMethodException e) {
            return true;
        } catch (ReflectiveOperationException e) {
            return false;
        }
    }

    /** Shows that step {@code done} of {@code total} is done. */
    public void step(int done, int total, String what) {
        bar.ifPresent(shownBar -> {
            shownBar.maxHint(total);
            shownBar.stepTo(done);
            shownBar.setExtraMessage(what);
        });
        int part = done * LINES / Math.max(1, total);
        if (bar.isEmpty() && part > shown) {
            shown = part;
            note(done + " of " + total + " (" + what + ")");
        }
    }

    /** Shows the step that a rank reports; other messages are not for people. */
    public void step(RankMessage message) {
        if (message instanceof RankMessage.Progress p) {
            step(p.done(), p.total(), p.what());
        }
    }

    /** Prints what should be known before the end. A bar leaves it to the report. */
    public void note(String what) {
        if (bar.isEmpty()) {
            out.println(task + ": " + what);
            out.flush();
        }
    }

    @Override
    public void close() {
        bar.ifPresentOrElse(ProgressBar::close, out::flush);
    }
}
