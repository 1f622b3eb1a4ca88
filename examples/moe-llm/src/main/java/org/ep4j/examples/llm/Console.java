package org.ep4j.examples.llm;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Prints what ranks say. Texts go to standard output, one prompt after the other: the text of the first prompt as it comes,
 * the text of the next prompt as soon as the first is done. Progress goes to standard error.
 */
final class Console {
    private final PrintStream out;
    private final PrintStream progress;
    private final List<String> prompts;
    private final int ranks;
    private final long most;
    private final boolean texts;

    /** Set by {@code run} where standard error is a terminal; a line that replaces another would fill a log. */
    private final boolean person = Boolean.getBoolean("ep4j.examples.llm.terminal");

    private final List<StringBuilder> waiting = new ArrayList<>();
    private final boolean[] ended;
    private final Map<Integer, Integer> loaded = new TreeMap<>();
    private final Set<Integer> lost = new TreeSet<>();
    private final Map<Integer, Listener.Continuation> continuations = new TreeMap<>();
    private final List<Listener.Totals> totals = new ArrayList<>();
    private int current;
    private boolean begun;
    private long tokens;
    private boolean statusShown;

    /**
     * Prints nothing yet.
     *
     * @param prompts what is continued
     * @param ranks number of ranks; prompt i is rank {@code i % ranks}'s
     * @param most tokens that come at most for each prompt
     * @param texts false where the model is random, so that there is no text
     */
    Console(PrintStream out, PrintStream progress, List<String> prompts, int ranks, int most, boolean texts) {
        this.out = out;
        this.progress = progress;
        this.prompts = prompts;
        this.ranks = ranks;
        this.most = (long) most * prompts.size();
        this.texts = texts;
        this.ended = new boolean[prompts.size()];
        prompts.forEach(prompt -> waiting.add(new StringBuilder()));
    }

    /** Takes the events of one rank. */
    Listener of(int rank) {
        return new Listener() {
            @Override
            public void loaded(int layers, int all) {
                loaded.put(rank, layers);
                int sum = loaded.values().stream().mapToInt(Integer::intValue).sum();
                status("loading: " + 100L * sum / ((long) ranks * all) + " %");
            }

            @Override
            public void ready(String loops) {
                if (rank == 0) {
                    line("computes with: " + loops);
                }
            }

            @Override
            public void token(int prompt, int id, String text) {
                tokens++;
                waiting.get(prompt).append(text);
                if (texts) {
                    flush();
                } else {
                    status("generating: " + tokens + " of " + most + " tokens");
                }
            }

            @Override
            public void lost(Set<Integer> gone, int step) {
                if (!lost.addAll(gone)) {
                    return;
                }
                List<Integer> cut = new ArrayList<>();
                for (int i = 0; i < ended.length; i++) {
                    if (gone.contains(i % ranks)) {
                        ended[i] = true;
                        cut.add(i);
                    }
                }
                line((begun ? "\n" : "") + "rank " + join(gone) + " is lost: its experts are masked"
                        + (cut.isEmpty() ? "" : ", prompt " + join(cut) + " ends") + ", and the other ranks go on");
                flush();
            }

            @Override
            public void finished(Listener.Continuation continuation) {
                continuations.put(continuation.index(), continuation);
                ended[continuation.index()] = true;
                flush();
            }

            @Override
            public void done(Listener.Totals own) {
                totals.add(own);
            }
        };
    }

    Set<Integer> lost() {
        return lost;
    }

    Map<Integer, Listener.Continuation> continuations() {
        return continuations;
    }

    /** Prints a line of progress. */
    void line(String text) {
        status("");
        progress.println(text);
    }

    /** Prints a line of progress that the next one replaces, where a person looks. */
    private void status(String text) {
        if (person && (statusShown || !text.isEmpty())) {
            progress.print("\r\u001b[K" + text);
            progress.flush();
            statusShown = !text.isEmpty();
        }
    }

    private void flush() {
        while (texts && current < prompts.size()) {
            if (!begun) {
                status("");
                out.print(prompts.size() > 1 ? "[" + current + "] " + prompts.get(current) : prompts.get(current));
                begun = true;
            }
            StringBuilder text = waiting.get(current);
            out.print(text);
            out.flush();
            text.setLength(0);
            if (!ended[current]) {
                return;
            }
            out.println();
            current++;
            begun = false;
        }
    }

    /** Prints how long it took, and on what. */
    void summary() {
        long prefill = totals.stream().mapToLong(Listener.Totals::prefillTokens).sum();
        if (prefill == 0) {
            // More ranks than prompts: this one computed experts only.
            return;
        }
        long decode = totals.stream().mapToLong(Listener.Totals::decodeTokens).sum();
        double first =
                totals.stream().mapToLong(Listener.Totals::prefillNanos).max().orElse(0) / 1e9;
        double rest =
                totals.stream().mapToLong(Listener.Totals::decodeNanos).max().orElse(0) / 1e9;
        long steps = totals.get(0).decodeSteps();
        double products =
                totals.stream().mapToLong(Listener.Totals::productNanos).max().orElse(0) / 1e9;
        line("");
        line(format(
                "prefill  %6d tokens in %6.2f s, %7.1f tokens/s (time to the first token)",
                prefill, first, prefill / first));
        line(shares(totals.stream().map(Listener.Totals::prefillSpent).toList()));
        if (decode > 0) {
            line(format(
                    "decode   %6d tokens in %6.2f s, %7.1f tokens/s, %.2f ms a step",
                    decode, rest, decode / rest, 1e3 * rest / steps));
            line(shares(totals.stream().map(Listener.Totals::decodeSpent).toList()));
            if (products > 0) {
                line(format(
                        "         matrix products of a decode step alone: %.2f ms; a decode step takes %.2f times as"
                                + " long",
                        1e3 * products, rest / steps / products));
            }
        }
    }

    private static String shares(List<Map<Spent.Work, Long>> all) {
        Map<Spent.Work, Long> sums = new EnumMap<>(Spent.Work.class);
        all.forEach(one -> one.forEach((work, nanos) -> sums.merge(work, nanos, Long::sum)));
        double whole =
                Math.max(1, sums.values().stream().mapToLong(Long::longValue).sum());
        StringBuilder text = new StringBuilder("        ");
        sums.forEach((work, nanos) ->
                text.append(format(" %s %.0f %%", work.name().toLowerCase(Locale.ROOT), 100 * nanos / whole)));
        return text.toString();
    }

    private static String format(String text, Object... values) {
        return String.format(Locale.ROOT, text, values);
    }

    private static String join(Iterable<Integer> numbers) {
        List<String> all = new ArrayList<>();
        numbers.forEach(number -> all.add(number.toString()));
        return String.join(", ", all);
    }
}
