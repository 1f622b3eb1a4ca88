package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A table as text: columns as wide as they need to be, numbers to the right. */
public final class TextTable {
    private final List<String> header;
    private final List<List<String>> rows = new ArrayList<>();

    /** A column of a table with a row for each value: its name, and what gives the text of a value. */
    public record Column<T>(String name, Function<T, String> cell) {}

    public static <T> Column<T> column(String name, Function<T, String> cell) {
        return new Column<>(name, cell);
    }

    /** Returns the table that has a row for each value. */
    public static <T> TextTable of(List<T> values, List<Column<T>> columns) {
        TextTable table = new TextTable(columns.stream().map(Column::name).toList());
        values.forEach(value -> table.row(
                columns.stream().map(column -> column.cell().apply(value)).toList()));
        return table;
    }

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

    /** Returns a number as a cell; a dash for NaN. */
    static String number(String format, double value) {
        return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, format, value);
    }

    @Override
    public String toString() {
        int[] width = IntStream.range(0, header.size())
                .map(column -> Stream.concat(Stream.of(header), rows.stream())
                        .mapToInt(cells -> cells.get(column).length())
                        .max()
                        .orElse(0))
                .toArray();
        List<Boolean> numeric =
                IntStream.range(0, width.length).mapToObj(this::numeric).toList();
        StringBuilder text = new StringBuilder();
        line(text, header, width, numeric);
        line(text, IntStream.of(width).mapToObj("-"::repeat).toList(), width, numeric);
        rows.forEach(cells -> line(text, cells, width, numeric));
        return text.toString();
    }

    private static void line(StringBuilder text, List<String> cells, int[] width, List<Boolean> numeric) {
        StringBuilder one = new StringBuilder();
        for (int c = 0; c < width.length; c++) {
            String blank = " ".repeat(width[c] - cells.get(c).length());
            one.append(c == 0 ? "" : "  ");
            one.append(numeric.get(c) ? blank + cells.get(c) : cells.get(c) + blank);
        }
        text.append(one.toString().stripTrailing()).append(System.lineSeparator());
    }

    private boolean numeric(int column) {
        return rows.stream()
                .map(cells -> cells.get(column))
                .allMatch(cell -> cell.isEmpty() || cell.equals("-") || cell.matches("[+-]?\\d.*"));
    }
}
