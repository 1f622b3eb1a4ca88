package org.ep4j.cli.topo;

import static org.ep4j.cli.topo.PartText.number;

import java.util.List;
import org.ep4j.cli.topo.Canvas.Box;
import org.ep4j.cli.topo.Canvas.BoxKind;
import org.ep4j.cli.topo.Canvas.LegendEntry;
import org.ep4j.cli.topo.Canvas.Rect;
import org.ep4j.cli.topo.Canvas.Wire;

/**
 * Writes SVG 1.1: one document with title and description, generic fonts only. Text is cut to the width of its box by an
 * estimate of the width of letters, for there are no fonts to measure with. Not safe for use from several threads.
 */
final class Svg {
    private static final double FONT = 11;
    private static final double LETTER = 0.58;

    private final StringBuilder text = new StringBuilder("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");

    Svg(double width, double height, String title, String description) {
        start(
                "svg",
                attributes(
                        "xmlns",
                        "http://www.w3.org/2000/svg",
                        "viewBox",
                        "0 0 " + number(width) + " " + number(height),
                        "width",
                        number(width),
                        "height",
                        number(height),
                        "role",
                        "img",
                        "aria-labelledby",
                        "title desc",
                        "font-family",
                        "sans-serif",
                        "font-size",
                        number(FONT)));
        element("title", title, attributes("id", "title"));
        element("desc", description, attributes("id", "desc"));
        empty("rect", attributes("width", "100%", "height", "100%", "fill", "#ffffff"));
        label(title, MachineDrawing.MARGIN, 24, width - 2 * MachineDrawing.MARGIN, 16, true);
        label(description, MachineDrawing.MARGIN, 42, width - 2 * MachineDrawing.MARGIN, FONT, false);
    }

    void wire(Wire wire) {
        StringBuilder path = new StringBuilder();
        for (Wire.Segment s : wire.segments()) {
            path.append('M').append(number(s.x1())).append(' ').append(number(s.y1()));
            path.append('L').append(number(s.x2())).append(' ').append(number(s.y2()));
        }
        start(
                "path",
                attributes(
                        "d", path.toString(),
                        "stroke", wire.colour(),
                        "stroke-width", number(wire.width()),
                        "stroke-linecap", "round",
                        "fill", "none"));
        if (!wire.tip().isEmpty()) {
            element("title", wire.tip(), "");
        }
        end("path");
    }

    void box(Box box) {
        Rect place = box.place();
        start("g", "");
        element("title", box.tip(), "");
        rect(box.kind(), place);
        List<String> lines =
                box.lines().stream().filter(line -> !line.isEmpty()).toList();
        double step = FONT + 2;
        double y = place.centreY() - step * lines.size() / 2 + FONT - 1;
        for (int i = 0; i < lines.size(); i++) {
            label(lines.get(i), place.x() + 5, y + i * step, place.width() - 10, FONT, i == 0);
        }
        end("g");
    }

    void legend(LegendEntry entry, double x, double y) {
        if (entry instanceof LegendEntry.Line line) {
            wire(new Wire(List.of(new Wire.Segment(x, y + 7, x + 22, y + 7)), line.colour(), 2.5, ""));
            label(line.meaning(), x + 30, y + 11, 150, FONT, false);
        } else if (entry instanceof LegendEntry.Area area) {
            rect(area.kind(), new Rect(x, y, 22, 14));
            label(area.kind().meaning, x + 30, y + 11, 150, FONT, false);
        }
    }

    String finish() {
        end("svg");
        return text.toString();
    }

    private void rect(BoxKind kind, Rect place) {
        empty(
                "rect",
                attributes(
                        "x", number(place.x()),
                        "y", number(place.y()),
                        "width", number(place.width()),
                        "height", number(place.height()),
                        "rx", "4",
                        "fill", kind.fill,
                        "stroke", kind.stroke));
    }

    private void label(String line, double x, double y, double width, double size, boolean bold) {
        int letters = (int) (width / (size * (bold ? LETTER * 1.07 : LETTER)));
        String shown = line.length() <= letters ? line : line.substring(0, Math.max(0, letters - 1)) + "…";
        element(
                "text",
                shown,
                attributes(
                        "x", number(x),
                        "y", number(y),
                        "font-size", number(size),
                        "font-weight", bold ? "bold" : "normal",
                        "fill", "#212121"));
    }

    private void element(String name, String content, String attributes) {
        text.append('<').append(name).append(attributes).append('>').append(escaped(content));
        end(name);
    }

    private void empty(String name, String attributes) {
        text.append('<').append(name).append(attributes).append("/>\n");
    }

    private void start(String name, String attributes) {
        text.append('<').append(name).append(attributes).append('>');
    }

    private void end(String name) {
        text.append("</").append(name).append(">\n");
    }

    private static String attributes(String... namesAndValues) {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            String value = escaped(namesAndValues[i + 1]).replace("\"", "&quot;");
            all.append(' ')
                    .append(namesAndValues[i])
                    .append("=\"")
                    .append(value)
                    .append('"');
        }
        return all.toString();
    }

    private static String escaped(String value) {
        return printable(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    /** Replaces characters that XML cannot hold, since names are from files. */
    private static String printable(String value) {
        return value.codePoints()
                .map(c -> c == '\n'
                                || c == '\t'
                                || (c >= 0x20 && c <= 0xD7FF)
                                || (c >= 0xE000 && c <= 0xFFFD)
                                || c > 0xFFFF
                        ? c
                        : '?')
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }
}
