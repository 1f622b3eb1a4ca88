package org.ep4j.cli.report;

import java.io.Console;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.ep4j.cli.rank.RankMessage;

/** Shows how far a job is: a bar on a terminal, a line now and then elsewhere. */
public interface ProgressView extends AutoCloseable {
    /** Step {@code done} of {@code total} is done. */
    void step(int done, int total, String what);

    /** Shows the step that a rank reports; other messages are not for people. */
    default void step(RankMessage message) {
        if (message instanceof RankMessage.Progress p) {
            step(p.done(), p.total(), p.what());
        }
    }

    /** Something that should be known before the end. A bar leaves it to the report. */
    void note(String what);

    @Override
    void close();

    /** The view that fits where output goes. */
    static ProgressView of(String task, PrintWriter lines) {
        return onTerminal() ? new Bar(task) : new Lines(task, lines);
    }

    /** True when input and output are a terminal. */
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

    /** A bar on the terminal. */
    final class Bar implements ProgressView {
        private final ProgressBar bar;

        Bar(String task) {
            bar = new ProgressBarBuilder()
                    .setTaskName(task)
                    .setInitialMax(1)
                    .setStyle(ProgressBarStyle.ASCII)
                    .setUpdateIntervalMillis(100)
                    .clearDisplayOnFinish()
                    .build();
        }

        @Override
        public void step(int done, int total, String what) {
            bar.maxHint(total);
            bar.stepTo(done);
            bar.setExtraMessage(what);
        }

        @Override
        public void note(String what) {}

        @Override
        public void close() {
            bar.close();
        }
    }

    /** A line for every fifth of the way. */
    final class Lines implements ProgressView {
        private static final int LINES = 5;

        private final String task;
        private final PrintWriter out;
        private int shown;

        Lines(String task, PrintWriter out) {
            this.task = task;
            this.out = out;
        }

        @Override
        public void step(int done, int total, String what) {
            int part = done * LINES / Math.max(1, total);
            if (part > shown) {
                shown = part;
                out.println(task + ": " + done + " of " + total + " (" + what + ")");
                out.flush();
            }
        }

        @Override
        public void note(String what) {
            out.println(task + ": " + what);
            out.flush();
        }

        @Override
        public void close() {
            out.flush();
        }
    }
}
