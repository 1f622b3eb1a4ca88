package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The matrix in the output of {@code nvidia-smi topo -m}: columns apart by tabs, by spaces, or as a table of Markdown. Rows
 * of NICs may be missing, as excerpts leave them out; those of GPUs may not.
 */
final class Matrix {
    private static final Pattern ESCAPES = Pattern.compile("\u001b\\[[0-9;]*m");
    private static final Pattern GPU = Pattern.compile("GPU\\d{1,4}");
    private static final Pattern COLUMN = Pattern.compile("[A-Za-z][\\w.-]*");
    private static final int MOST = 1024;

    /**
     * What a row says of a column.
     *
     * @param line where, from 1
     * @param row its name
     * @param column name of the column
     * @param value such as {@code PIX}
     */
    record Cell(int line, String row, String column, String value) {}

    /** Of what a line consists, and where it is. */
    private record Line(int number, List<String> fields) {}

    private final String source;
    private final List<String> columns;
    private final boolean affinity;
    private final Map<String, Map<String, Cell>> rows = new HashMap<>();
    private final Map<String, Integer> numa = new HashMap<>();
    private final List<Cell> cells = new ArrayList<>();

    private Matrix(String source, List<String> columns, boolean affinity) {
        this.source = source;
        this.columns = columns;
        this.affinity = affinity;
    }

    /** Columns in their order. */
    List<String> columns() {
        return columns;
    }

    /** All but those on the diagonal, row by row. */
    List<Cell> cells() {
        return cells;
    }

    /** The same two the other way round. */
    Optional<Cell> mirror(Cell cell) {
        return Optional.ofNullable(rows.getOrDefault(cell.column(), Map.of()).get(cell.row()));
    }

    /** NUMA node of a row, -1 when unknown. */
    int numa(String row) {
        return numa.getOrDefault(row, -1);
    }

    /** True when one column comes before another. */
    boolean before(String one, String other) {
        return columns.indexOf(one) < columns.indexOf(other);
    }

    static boolean gpu(String column) {
        return GPU.matcher(column).matches();
    }

    /** Number of the line with the names of the columns, from 1. */
    static Optional<Integer> find(String text) {
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            List<String> fields = fields(lines.get(i));
            if (!fields.isEmpty()
                    && gpu(fields.get(0))
                    && (fields.size() == 1 || COLUMN.matcher(fields.get(1)).matches())) {
                // The row of a single GPU looks much like its header: the diagonal tells them apart.
                if (fields.stream().noneMatch("X"::equals)) {
                    return Optional.of(i + 1);
                }
            }
        }
        return Optional.empty();
    }

    static Matrix read(String source, String text) {
        int header = find(text).orElseThrow(() -> Faults.in(source, "there is no line with GPU0 GPU1 ..."));
        List<String> lines = text.lines().toList();
        List<String> names = fields(lines.get(header - 1));
        List<String> columns = new ArrayList<>();
        for (String name : names) {
            if (name.startsWith("CPU") || name.startsWith("NUMA") || name.startsWith("GPU NUMA")) {
                break;
            }
            if (!COLUMN.matcher(name).matches() || columns.contains(name) || columns.size() == MOST) {
                throw Faults.at(
                        source,
                        header,
                        "the name of column " + (columns.size() + 1) + " is " + Faults.quote(name) + "; expected up to "
                                + MOST + " different names such as GPU0, NIC0 or mlx5_0");
            }
            columns.add(name);
        }
        Matrix matrix =
                new Matrix(source, List.copyOf(columns), String.join(" ", names).contains("NUMA Affinity"));
        for (int i = header; i < lines.size(); i++) {
            List<String> fields = fields(lines.get(i));
            boolean ruled = lines.get(i).strip().startsWith("|--")
                    || lines.get(i).strip().startsWith("|:-");
            if (!ruled && (fields.isEmpty() || !columns.contains(fields.get(0)))) {
                break;
            }
            if (!ruled) {
                matrix.row(new Line(i + 1, fields));
            }
        }
        matrix.complete(header);
        return matrix;
    }

    private void row(Line line) {
        String name = line.fields().get(0);
        int found = line.fields().size() - 1;
        if (found < columns.size()) {
            throw Faults.at(
                    source,
                    line.number(),
                    "row " + name + " has " + found + " values for " + columns.size() + " columns");
        }
        Map<String, Cell> row = new HashMap<>();
        if (rows.put(name, row) != null) {
            throw Faults.at(source, line.number(), "row " + name + " is there twice");
        }
        for (int i = 0; i < columns.size(); i++) {
            Cell cell =
                    new Cell(line.number(), name, columns.get(i), line.fields().get(i + 1));
            boolean self = cell.column().equals(name);
            if (self != cell.value().equals("X")) {
                throw Faults.at(
                        source,
                        line.number(),
                        name + " to " + cell.column() + " is " + Faults.quote(cell.value())
                                + "; X is for a device and itself, and for nothing else");
            }
            if (!self) {
                row.put(cell.column(), cell);
                cells.add(cell);
            }
        }
        int place = columns.size() + 2;
        if (affinity && line.fields().size() > place && line.fields().get(place).matches("\\d{1,4}")) {
            numa.put(name, Integer.parseInt(line.fields().get(place)));
        }
    }

    private void complete(int header) {
        List<String> missing = columns.stream()
                .filter(name -> gpu(name) && !rows.containsKey(name))
                .toList();
        if (!missing.isEmpty()) {
            throw Faults.at(
                    source,
                    header,
                    "the matrix has columns but no rows of " + String.join(", ", missing)
                            + "; it ends too early or a line is missing");
        }
    }

    private static List<String> fields(String text) {
        String line = ESCAPES.matcher(text).replaceAll("");
        String plain = line.strip();
        String[] parts;
        if (plain.startsWith("|")) {
            parts = plain.split("\\|", -1);
        } else if (line.contains("\t")) {
            parts = line.split("\t", -1);
        } else {
            parts = plain.split("\\s+", -1);
        }
        return Arrays.stream(parts)
                .map(String::strip)
                .filter(part -> !part.isEmpty())
                .toList();
    }
}
