package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
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

    /** Heads of columns that say where a device is, or words of them where columns are apart by blanks. */
    private static final Pattern AFFINITY = Pattern.compile("(?:CPU|NUMA)(?: Affinity)?|Affinity|GPU(?: NUMA ID)?|ID");

    /** Columns. The largest server has 16 GPUs and some more NICs; the square of it is read. */
    private static final int MOST = 256;

    /**
     * What a row says of a column.
     *
     * @param line where, from 1
     * @param row its name
     * @param column name of the column
     * @param value such as {@code PIX}
     */
    record Cell(int line, String row, String column, String value) {}

    /** Columns by name with their place, whether others come before them, and which value says the NUMA node. */
    private record Header(Map<String, Integer> columns, boolean ahead, int numaColumn) {}

    /** Of what a line consists, and where it is. */
    private record Line(int number, List<String> fields) {}

    private final String source;
    private final Map<String, Integer> columns;

    /** Whether columns of affinities come before those of devices. */
    private final boolean ahead;

    /** Which value of a row says the NUMA node, from 1; 0 for none. */
    private final int numaColumn;

    private final Map<String, Map<String, Cell>> rows = new HashMap<>();
    private final Map<String, Integer> numa = new HashMap<>();
    private final List<Cell> cells = new ArrayList<>();

    private Matrix(String source, Header header) {
        this.source = source;
        columns = header.columns();
        ahead = header.ahead();
        numaColumn = header.numaColumn();
    }

    /** Columns in their order. */
    List<String> columns() {
        return List.copyOf(columns.keySet());
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
        return columns.getOrDefault(one, -1) < columns.getOrDefault(other, -1);
    }

    static boolean gpu(String column) {
        return GPU.matcher(column).matches();
    }

    /** Number of the line with the names of the columns, from 1. */
    static Optional<Integer> find(String text) {
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            if (header(fields(lines.get(i)))) {
                return Optional.of(i + 1);
            }
        }
        return Optional.empty();
    }

    private static boolean header(List<String> fields) {
        int first = ahead(fields);
        return first < fields.size()
                && gpu(fields.get(first))
                && (fields.size() == first + 1
                        || COLUMN.matcher(fields.get(first + 1)).matches())
                // The row of a single GPU looks much like its header: the diagonal tells them apart.
                && fields.stream().noneMatch("X"::equals);
    }

    /** How many columns of affinities come first. */
    private static int ahead(List<String> fields) {
        int ahead = 0;
        while (ahead < fields.size() && AFFINITY.matcher(fields.get(ahead)).matches()) {
            ahead++;
        }
        return ahead;
    }

    private static Header header(String source, int line, List<String> names) {
        int ahead = ahead(names);
        Map<String, Integer> columns = new LinkedHashMap<>();
        for (String name : names.subList(ahead, names.size())) {
            if (AFFINITY.matcher(name).matches()) {
                break;
            }
            if (!COLUMN.matcher(name).matches() || columns.containsKey(name) || columns.size() == MOST) {
                throw Faults.at(
                        source,
                        line,
                        "the name of column " + (columns.size() + 1) + " is " + Faults.quote(name) + "; expected up to "
                                + MOST + " different names such as GPU0, NIC0 or mlx5_0");
            }
            columns.put(name, columns.size());
        }
        int numa = String.join(" ", names).indexOf("NUMA Affinity");
        int place = ahead == 0 ? columns.size() + 2 : numa == 0 ? 1 : 2;
        return new Header(columns, ahead > 0, numa < 0 ? 0 : place);
    }

    static Matrix read(String source, String text) {
        int header = find(text).orElseThrow(() -> Faults.in(source, "there is no line with GPU0 GPU1 ..."));
        List<String> lines = text.lines().toList();
        Matrix matrix = new Matrix(source, header(source, header, fields(lines.get(header - 1))));
        for (int i = header; i < lines.size(); i++) {
            List<String> fields = fields(lines.get(i));
            boolean ruled = lines.get(i).strip().startsWith("|--")
                    || lines.get(i).strip().startsWith("|:-");
            if (!ruled && (fields.isEmpty() || !matrix.columns.containsKey(fields.get(0)))) {
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
        // Where affinities come first, rows of NICs have none: the diagonal tells how many a row has.
        int before = ahead ? line.fields().indexOf("X") - 1 - columns.getOrDefault(name, 0) : 0;
        int found = line.fields().size() - 1 - Math.max(0, before);
        if (found < columns.size() || before < 0) {
            throw Faults.at(
                    source,
                    line.number(),
                    "row " + name + " has " + found + " values for " + columns.size() + " columns");
        }
        Map<String, Cell> row = new HashMap<>();
        if (rows.put(name, row) != null) {
            throw Faults.at(source, line.number(), "row " + name + " is there twice");
        }
        for (Map.Entry<String, Integer> column : columns.entrySet()) {
            Cell cell =
                    new Cell(line.number(), name, column.getKey(), line.fields().get(1 + before + column.getValue()));
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
        boolean told = numaColumn > 0
                && (!ahead || before >= numaColumn)
                && line.fields().size() > numaColumn
                && line.fields().get(numaColumn).matches("\\d{1,4}");
        if (told) {
            numa.put(name, Integer.parseInt(line.fields().get(numaColumn)));
        }
    }

    private void complete(int header) {
        List<String> missing = columns.keySet().stream()
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
