package org.ep4j.topology.read;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The matrix in the output of {@code nvidia-smi topo -m}: columns apart by tabs, by spaces, or as a table of Markdown. Columns
 * of affinities may follow the columns of devices, or precede them. Rows of NICs may be missing, as excerpts leave
 * them out, but no row of a GPU.
 */
final class Matrix {
    private static final Pattern GPU = Pattern.compile("GPU\\d{1,4}");
    private static final Pattern COLUMN = Pattern.compile("[A-Za-z][\\w.-]*");
    /** Devices that a message names. */
    private static final int SHOWN = 16;

    private static final String NUMA = "NUMA_Affinity";

    /** Names of columns that are no devices, as one word where words are apart by spaces. */
    private static final Pattern AFFINITIES = Pattern.compile("(CPU|NUMA) +(Affinity)|(GPU) +(NUMA) +(ID)");

    record Cell(int line, String row, String column, String value) {}

    private record Row(int line, List<String> values) {}

    /** The line with the names of the columns: those before the first device, and all from there on. */
    private record Header(int line, List<String> before, List<String> names, int devices) {
        List<String> columns() {
            return names.subList(0, devices);
        }

        int after() {
            return names.size() - devices;
        }
    }

    private final String source;
    private final Header header;
    private final List<String> columns;
    private final Map<String, Integer> places = new HashMap<>();
    private final Map<String, Row> rows = new LinkedHashMap<>();
    private final Map<String, Integer> numa = new HashMap<>();

    /** Each value once: a matrix has a million cells and few values. */
    private final Map<String, String> values = new HashMap<>();

    private Matrix(String source, Header header) {
        this.source = source;
        this.header = header;
        columns = List.copyOf(header.columns());
        columns.forEach(column -> places.put(column, places.size()));
    }

    List<String> columns() {
        return columns;
    }

    /** All cells but those on the diagonal, row by row. */
    Stream<Cell> cells() {
        return rows.entrySet().stream()
                .flatMap(row -> IntStream.range(0, columns.size())
                        .filter(column -> !columns.get(column).equals(row.getKey()))
                        .mapToObj(column -> cell(row.getKey(), row.getValue(), column)));
    }

    private Cell cell(String name, Row row, int column) {
        return new Cell(row.line(), name, columns.get(column), row.values().get(column));
    }

    /** The cell of the opposite direction. */
    Optional<Cell> mirror(Cell cell) {
        return Optional.ofNullable(rows.get(cell.column()))
                .map(row -> cell(cell.column(), row, places.getOrDefault(cell.row(), 0)));
    }

    /** NUMA node of a row, -1 when unknown. */
    int numa(String row) {
        return numa.getOrDefault(row, -1);
    }

    /** Returns true if one column comes before another. */
    boolean before(String one, String other) {
        return places.getOrDefault(one, -1) < places.getOrDefault(other, -1);
    }

    static boolean gpu(String column) {
        return GPU.matcher(column).matches();
    }

    static boolean isIn(String text) {
        return header(text).isPresent();
    }

    private static Optional<Header> header(String text) {
        int[] line = {0};
        return text.lines()
                .flatMap(words -> header(++line[0], fields(words)).stream())
                .findFirst();
    }

    private static Optional<Header> header(int line, List<String> fields) {
        int first = 0;
        while (first < fields.size() && affinity(fields.get(first))) {
            first++;
        }
        List<String> names = fields.subList(first, fields.size());
        // The row of a single GPU looks much like its header: the diagonal distinguishes them.
        boolean header = !names.isEmpty()
                && gpu(names.get(0))
                && (names.size() == 1 || COLUMN.matcher(names.get(1)).matches())
                && !names.contains("X");
        int devices = 0;
        while (devices < names.size() && !affinity(names.get(devices))) {
            devices++;
        }
        return header ? Optional.of(new Header(line, fields.subList(0, first), names, devices)) : Optional.empty();
    }

    private static boolean affinity(String name) {
        return name.startsWith("CPU") || name.startsWith("NUMA") || name.startsWith("GPU_NUMA");
    }

    static Matrix read(String source, String text) {
        Header header = header(text).orElseThrow(() -> Faults.in(source, "there is no line with GPU0 GPU1 ..."));
        Matrix matrix = new Matrix(source, header);
        for (int i = 0; i < header.devices(); i++) {
            String name = header.names().get(i);
            if (i == Limits.GPUS
                    || !COLUMN.matcher(name).matches()
                    || matrix.places.getOrDefault(name, -1) != i
                    || name.length() > Limits.NAME) {
                throw Faults.at(
                        source,
                        header.line(),
                        "the name of column " + (i + 1) + " is " + Faults.quote(name) + "; expected up to "
                                + Limits.GPUS + " different names such as GPU0, NIC0 or mlx5_0");
            }
        }
        List<String> lines = text.lines().skip(header.line()).toList();
        for (int i = 0; i < lines.size(); i++) {
            if (TableText.ruler(lines.get(i))) {
                continue;
            }
            List<String> fields = fields(lines.get(i));
            if (fields.isEmpty() || !matrix.places.containsKey(fields.get(0))) {
                break;
            }
            matrix.row(header.line() + 1 + i, fields);
        }
        matrix.complete();
        return matrix;
    }

    private void row(int line, List<String> fields) {
        String name = fields.get(0);
        int found = fields.size() - 1;
        int before = header.before().size();
        boolean whole = found == before + header.names().size();
        // NICs have no affinities, so these are missing in their rows.
        boolean placed = before == 0 || header.after() == 0 || found == columns.size();
        if (found < columns.size() || !(whole || placed)) {
            throw Faults.at(
                    source, line, "row " + name + " has " + found + " values for " + columns.size() + " columns");
        }
        int start = whole ? 1 + before : before == 0 ? 1 : fields.size() - columns.size();
        List<String> cells = fields.subList(start, start + columns.size()).stream()
                .map(value -> values.computeIfAbsent(value, same -> same))
                .toList();
        if (rows.put(name, new Row(line, cells)) != null) {
            throw Faults.at(source, line, "row " + name + " is there twice");
        }
        for (int i = 0; i < columns.size(); i++) {
            if (columns.get(i).equals(name) != cells.get(i).equals("X")) {
                throw Faults.at(
                        source,
                        line,
                        name + " to " + columns.get(i) + " is " + Faults.quote(cells.get(i))
                                + "; a device has X in its own column, and in no other");
            }
        }
        int place = (before > 0 ? header.before() : header.names()).indexOf(NUMA) + 1;
        if ((whole || before == 0)
                && place > 0
                && place < fields.size()
                && fields.get(place).matches("\\d{1,4}")) {
            numa.put(name, Integer.parseInt(fields.get(place)));
        }
    }

    private void complete() {
        List<String> missing = columns.stream()
                .filter(name -> gpu(name) && !rows.containsKey(name))
                .limit(SHOWN)
                .toList();
        if (!missing.isEmpty()) {
            throw Faults.at(
                    source,
                    header.line(),
                    "the matrix has columns but no rows for " + String.join(", ", missing)
                            + "; the matrix ends too early or a line is missing");
        }
    }

    private static List<String> fields(String text) {
        String line = AFFINITIES.matcher(text).replaceAll("$1$3_$2$4");
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
