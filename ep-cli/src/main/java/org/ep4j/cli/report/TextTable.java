package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A plain table: columns as wide as they need to be, numbers to the right. */
public final class TextTable {
    private final List<String> header;
    private final List<List<String>> rows = new ArrayList<>();

    public TextTable(List<String> header) {
        this.header = List.copyOf(header);
    }

    public TextTable row(List<String> cells) {
        if (cells.size() != header.size()) {
            throw new IllegalArgumentException(cells.size() + " cells for " + header.size() + " columns");
        }
        rows.add(List.copyOf(cells));
        return this;
    }

    /** A number as a cell; a dash for NaN. */
    static String number(String format, double value) {
        return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, format, value);
    }

    @Override
    public String toString() {
        List<List<String>> all = new ArrayList<>();
        all.add(header);
        all.addAll(rows);
        int[] width = new int[header.size()];
        for (List<String> cells : all) {
            for (int c = 0; c < width.length; c++) {
                width[c] = Math.max(width[c], cells.get(c).length());
            }
        }
        boolean[] numeric = new boolean[width.length];
        for (int c = 0; c < width.length; c++) {
            numeric[c] = numeric(c);
        }
        StringBuilder text = new StringBuilder();
        line(text, header, width, numeric);
        List<String> rule = new ArrayList<>();
        for (int w : width) {
            rule.add("-".repeat(w));
        }
        line(text, rule, width, numeric);
        rows.forEach(cells -> line(text, cells, width, numeric));
        return text.toString();
    }

    private static void line(StringBuilder text, List<String> cells, int[] width, boolean[] numeric) {
        StringBuilder one = new StringBuilder();
        for (int c = 0; c < width.length; c++) {
            String blank = " ".repeat(width[c] - cells.get(c).length());
            one.append(c == 0 ? "" : "  ");
            one.append(numeric[c] ? blank + cells.get(c) : cells.get(c) + blank);
        }
        text.append(one.toString().stripTrailing()).append(System.lineSeparator());
    }

    private boolean numeric(int column) {
        return rows.stream()
                .map(cells -> cells.get(column))
                .allMatch(cell -> cell.isEmpty() || cell.equals("-") || Character.isDigit(cell.charAt(0)));
    }
}
