package org.ep4j.testing;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.xml.sax.SAXException;

/**
 * Prints the verdict of a build in at most 40 lines: skipped tests with the reasons, tests that passed only the second time, failures with
 * message, seed and log, and the numbers.
 *
 * <pre>java Verdict.java NAME SECONDS MAVEN-LOG STEPS</pre>
 *
 * Reads the reports of Surefire below the current folder, the log of Maven (errors beside tests: compilers, checks, test processes that
 * ended), and the table of steps, a line each: status, seconds, log, name, separated by tabs. A status is {@code ok}, {@code flaky} or
 * {@code failed}. A log or table that does not exist counts as empty. The exit status is 1 where anything failed.
 */
final class Verdict {
    private static final int MOST_LINES = 40;
    private static final int WIDTH = 180;
    private static final Pattern SEED = Pattern.compile("(?i)\\bseed[ =:]+(-?\\d+)");

    /** Lines of Maven about tests, whose reports are more detailed, and its advice after a failure. */
    private static final Pattern ABOUT_TESTS = Pattern.compile(
            "^\\[ERROR\\] (Tests run:|org\\.ep4j\\.|.*<<< (FAILURE|ERROR)!|Failures: *$|Errors: *$|  +\\S|There are test failures"
                    + "|Please refer to|See .* for the individual test results|See dump files|-> |To see the full|Re-run Maven"
                    + "|For more information|After correcting|\\[Help|  mvn |\\s*$|.*Test\\S*:\\d+|Run \\d+:).*");

    /** Compiler messages about a line of source. */
    private static final Pattern AT_A_PLACE = Pattern.compile("^\\[(ERROR|WARNING)\\] \\S+\\.java:\\[\\d+");

    private static final Pattern ERROR = Pattern.compile("^\\[ERROR\\] .*");

    /** A failure, or a test or step that passed only the second time. */
    private record Finding(String name, String message, String log) {
        /** Returns a line with the name, one with the message, and one with log and seed. */
        List<String> lines() {
            Matcher seed = SEED.matcher(message);
            String first = message.strip()
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .limit(3)
                    .reduce((a, b) -> a + " " + b)
                    .orElse("");
            return List.of(
                    "  " + cut(name),
                    "      " + cut(first),
                    "      log " + log + (seed.find() ? ", seed " + seed.group(1) : ""));
        }
    }

    private final List<Finding> failed = new ArrayList<>();
    private final List<Finding> flaky = new ArrayList<>();
    private final Map<String, Integer> skipped = new TreeMap<>();
    private int tests;
    private int steps;

    private Verdict() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 4) {
            System.err.println("usage: java Verdict.java NAME SECONDS MAVEN-LOG STEPS");
            System.exit(2);
        }
        Verdict verdict = new Verdict();
        verdict.readReports();
        verdict.readLog(Path.of(args[2]));
        verdict.readSteps(Path.of(args[3]));
        System.exit(verdict.print(args[0], Long.parseLong(args[1])) ? 0 : 1);
    }

    private static String cut(String line) {
        return line.length() <= WIDTH ? line : line.substring(0, WIDTH - 3) + "...";
    }

    private void readReports() throws Exception {
        DocumentBuilder parser = DocumentBuilderFactory.newInstance().newDocumentBuilder();
        List<Path> reports;
        try (Stream<Path> files = Files.find(
                Path.of("."),
                5,
                (path, is) -> path.toString().matches(".*/target/surefire-reports/TEST-[^/]*\\.xml"))) {
            reports = files.sorted().toList();
        }
        for (Path report : reports) {
            Document document;
            try {
                document = parser.parse(report.toFile());
            } catch (SAXException e) {
                failed.add(new Finding(
                        report.getFileName().toString(),
                        "the report is cut off: " + e.getMessage(),
                        report.normalize().toString()));
                continue;
            }
            var cases = document.getElementsByTagName("testcase");
            for (int i = 0; i < cases.getLength(); i++) {
                read((Element) cases.item(i), report.normalize().toString());
            }
        }
    }

    private void read(Element test, String report) {
        tests++;
        String name = test.getAttribute("classname") + "." + test.getAttribute("name");
        for (Node node = test.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (!(node instanceof Element element)) {
                continue;
            }
            String message =
                    element.hasAttribute("message") ? element.getAttribute("message") : element.getTextContent();
            switch (element.getTagName()) {
                case "failure", "error" -> failed.add(new Finding(name, message, report));
                case "flakyFailure", "flakyError" -> flaky.add(new Finding(name, message, report));
                case "skipped" -> skipped.merge(reason(message), 1, Integer::sum);
                default -> {}
            }
        }
    }

    /** Returns the reason without its numbers, so that reasons which differ only in these count as one. */
    private static String reason(String message) {
        String line =
                message.strip().lines().findFirst().orElse("no reason given").replaceFirst("^[\\w.]*Exception: ", "");
        return line.replaceAll("\\d+", "N");
    }

    private void readLog(Path log) throws IOException {
        if (!Files.exists(log)) {
            return;
        }
        List<String> lines = Files.readAllLines(log, StandardCharsets.ISO_8859_1);
        List<String> errors = lines.stream()
                .filter(line -> ERROR.matcher(line).matches()
                        && !ABOUT_TESTS.matcher(line).matches())
                .map(line -> line.substring("[ERROR] ".length()))
                .toList();
        // Compiler warnings, which stop the build, are more specific than the error that follows.
        List<String> places = errors.isEmpty()
                ? List.of()
                : lines.stream()
                        .filter(line -> AT_A_PLACE.matcher(line).find())
                        .map(line -> line.replaceFirst("^\\[[A-Z]+\\] ", ""))
                        .distinct()
                        .limit(5)
                        .toList();
        (places.isEmpty() ? errors.stream().distinct().limit(5).toList() : places)
                .forEach(error -> failed.add(new Finding("build", error, log.toString())));
    }

    private void readSteps(Path table) throws IOException {
        if (!Files.exists(table)) {
            return;
        }
        for (String line : Files.readAllLines(table)) {
            String[] fields = line.split("\t", 4);
            steps++;
            Path log = Path.of(fields[2]);
            switch (fields[0]) {
                case "failed" -> failed.add(new Finding("step " + fields[3], lastLines(log), fields[2]));
                case "flaky" ->
                    flaky.add(new Finding(
                            "step " + fields[3], lastLines(Path.of(fields[2] + ".first")), fields[2] + ".first"));
                default -> {}
            }
        }
    }

    /** Returns the last line of a step's log that mentions a failure, or else its last line. */
    private static String lastLines(Path log) throws IOException {
        if (!Files.exists(log)) {
            return "no log";
        }
        List<String> lines;
        try (Stream<String> all = Files.lines(log, StandardCharsets.ISO_8859_1)) {
            lines = all.map(String::strip).filter(line -> !line.isEmpty()).toList();
        }
        List<String> failures = lines.stream()
                .filter(line -> line.matches("(?i).*\\b(fail(ed|ure)?|error|exception|timed out|refused)\\b.*")
                        && !line.matches("(?i).*\\b0 fail.*"))
                .toList();
        List<String> best = failures.isEmpty() ? lines : failures;
        return best.isEmpty() ? "nothing was printed" : best.get(best.size() - 1);
    }

    private boolean print(String name, long seconds) throws IOException {
        List<String> lines = new ArrayList<>();
        int none = skipped.values().stream().mapToInt(Integer::intValue).sum();
        if (none > 0) {
            Path all = Path.of("target/verify/skipped.txt");
            Files.createDirectories(all.getParent());
            List<String> reasons = skipped.entrySet().stream()
                    .sorted(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder())
                            .thenComparing(Map.Entry.comparingByKey()))
                    .map(entry -> String.format("%6d  %s", entry.getValue(), entry.getKey()))
                    .toList();
            Files.write(all, reasons);
            lines.add("== SKIPPED: " + none + " of " + tests + " tests, for " + reasons.size() + " reasons (" + all
                    + ")");
            reasons.stream().limit(5).map(Verdict::cut).forEach(lines::add);
        }
        boolean passed = failed.isEmpty() && tests > 0;
        String numbers = "== " + (passed ? "PASSED" : "FAILED") + ": " + name + ", " + tests + " tests, "
                + (steps > 0 ? steps + " steps, " : "") + failed.size() + " failed, " + flaky.size() + " flaky, " + none
                + " skipped, "
                + seconds / 60 + " min " + seconds % 60 + " s";
        // Failures come first; those that do not fit are named without their messages.
        int room = MOST_LINES - lines.size() - 4;
        List<String> shown = list("== FAILED", failed, room);
        lines.addAll(shown);
        lines.addAll(list("== FLAKES: passed the second time", flaky, room - shown.size()));
        lines.add(tests == 0 ? numbers + ": no test has run" : numbers);
        new PrintStream(System.out, true, StandardCharsets.UTF_8).println(String.join("\n", lines));
        return passed;
    }

    private static List<String> list(String title, List<Finding> findings, int room) {
        if (findings.isEmpty()) {
            return List.of();
        }
        List<String> lines = new ArrayList<>(List.of(title));
        boolean brief = 3 * findings.size() + 1 > room;
        for (Finding finding : findings) {
            List<String> own = brief
                    ? List.of("  "
                            + cut(finding.name() + ": " + finding.lines().get(1).strip()))
                    : finding.lines();
            if (brief && lines.size() + 1 >= room) {
                lines.add("  and " + (findings.size() - lines.size() + 1)
                        + " more, in the reports below */target/surefire-reports");
                break;
            }
            lines.addAll(own);
        }
        return lines;
    }
}
