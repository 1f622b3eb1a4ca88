package org.ep4j.cli.report;

import java.awt.Color;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.rank.Operations;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.IChart;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.lines.SeriesLines;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Charts of benches as PNG files. Needs no display.
 *
 * <p>Every method throws {@link EpUnavailableException} when the file cannot be written, or when the machine has no fonts.
 */
public final class BenchPlots {
    private static final int BARS_WIDTH = 900;
    private static final int BARS_HEIGHT = 520;
    private static final int WIDTH = 1000;
    private static final int HEIGHT = 620;
    private static final String CEILING = ", ceiling";
    private static final String ELSEWHERE = ", or draw on another machine: write the results with --json here, and read"
            + " that file with --from there";

    /** Names of operations that are left out end in these: they differ little from the operation without, or are its halves. */
    private static final List<String> VARIANTS =
            List.of(".cached", "-pow2", "-ue8m0", ".send", ".receive", ".by-expert", ".by-expert.partial");

    /** Colours that the colour-blind can distinguish, too, by the end of an operation's name. */
    private static final Map<String, Color> COLOURS = Map.of(
            "dispatch.bf16", new Color(0x0072B2),
            "dispatch.fp8", new Color(0x009E73),
            "combine.bf16", new Color(0xD55E00),
            "combine.exact", new Color(0xD55E00),
            "combine.partial", new Color(0xE69F00),
            "combine.logfmt", new Color(0x7F7F7F),
            "fp8+combine.exact", new Color(0x000000),
            "fp8+combine.partial", new Color(0xCC79A7));

    private BenchPlots() {}

    /** Bars of each operation's times on the host beside its ceiling; one chart a mode. */
    public static void times(BenchReport report, Path file) {
        System.setProperty("java.awt.headless", "true");
        List<CategoryChart> charts = new ArrayList<>();
        bars(charts, report, "ht", "High throughput, " + report.tokens() + " tokens a rank");
        bars(charts, report, "ll", "Low latency, " + report.lowLatencyTokens() + " tokens a rank");
        save(charts, file, "");
    }

    private static void bars(List<CategoryChart> charts, BenchReport report, String mode, String title) {
        List<Figures> figures = report.operations().stream()
                .filter(f -> f.operation().startsWith(mode + "."))
                .toList();
        if (figures.isEmpty()) {
            return;
        }
        CategoryChart chart = new CategoryChartBuilder()
                .width(BARS_WIDTH)
                .height(BARS_HEIGHT)
                .title(title)
                .yAxisTitle("microseconds, slowest rank")
                .build();
        chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideS);
        chart.getStyler().setPlotGridVerticalLinesVisible(false);
        chart.getStyler().setLegendLayout(Styler.LegendLayout.Horizontal);
        chart.getStyler().setChartBackgroundColor(Color.WHITE);
        chart.getStyler().setYAxisDecimalPattern("#,###");
        chart.getStyler().setXAxisLabelRotation(figures.size() > 3 ? 20 : 0);
        chart.getStyler().setAvailableSpaceFill(0.7);
        chart.getStyler().setYAxisMin(0.0);
        List<String> names = figures.stream().map(f -> shortName(f.operation())).toList();
        chart.addSeries(
                "median", names, figures.stream().map(Figures::medianMicros).toList());
        chart.addSeries("p99", names, figures.stream().map(Figures::p99Micros).toList());
        if (figures.stream().anyMatch(f -> f.ceilingMicros().isPresent())) {
            CategorySeries ceiling = chart.addSeries(
                    "ceiling",
                    names,
                    figures.stream().map(f -> f.ceilingMicros().orElse(0.0)).toList());
            ceiling.setFillColor(Color.GRAY);
        }
        charts.add(chart);
    }

    private static String shortName(String operation) {
        return operation.equals(Operations.LL_BY_HT)
                ? "dispatch, other mode"
                : operation.substring(operation.indexOf('.') + 1).replace('.', ' ');
    }

    /** Times on the GPU over tokens, both axes logarithmic. Variants of another line are left out. */
    public static void sweep(GpuReport report, Path file) {
        XYChart chart =
                chart(report, "Time over tokens per rank", "tokens per rank", "microseconds on the GPU, slowest rank");
        List<GpuFigures> figures = report.runs().get(0).operations().stream()
                .filter(f -> VARIANTS.stream().noneMatch(f.operation()::endsWith))
                .toList();
        // XChart labels decades only, of which there are two: the axes are linear over powers of two instead.
        add(chart, figures, f -> log2(f.tokens()), f -> log2(f.gpuSlowestMicros()), "");
        double least =
                figures.stream().mapToDouble(GpuFigures::gpuSlowestMicros).min().orElse(1);
        double most =
                figures.stream().mapToDouble(GpuFigures::gpuSlowestMicros).max().orElse(1);
        chart.getStyler().setYAxisMin(Math.floor(log2(least)));
        chart.getStyler().setYAxisMax(Math.ceil(log2(most)));
        chart.getStyler().setXAxisTickMarkSpacingHint(45);
        chart.getStyler().setYAxisTickMarkSpacingHint(80);
        chart.setCustomXAxisTickLabelsFormatter(BenchPlots::powerOfTwo);
        chart.setCustomYAxisTickLabelsFormatter(BenchPlots::powerOfTwo);
        save(List.of(chart), file, ELSEWHERE);
    }

    private static double log2(double value) {
        return Math.log(value) / Math.log(2);
    }

    private static String powerOfTwo(double exponent) {
        return exponent == Math.rint(exponent) ? String.valueOf(Math.round(Math.pow(2, exponent))) : "";
    }

    /** Bandwidth of high throughput over SMs, with its ceilings. */
    public static void sms(GpuReport report, Path file) {
        List<GpuFigures> every = report.runs().stream()
                .flatMap(r -> r.operations().stream())
                .filter(f -> f.operation().startsWith("ht."))
                .filter(f -> VARIANTS.stream().noneMatch(f.operation()::endsWith))
                .toList();
        int most = every.stream().mapToInt(GpuFigures::tokens).max().orElse(0);
        List<GpuFigures> all = every.stream().filter(f -> f.tokens() == most).toList();
        XYChart chart = chart(
                report,
                "Bandwidth over SMs, " + most + " tokens per rank",
                "SMs that move rows",
                "GB/s per rank, own rows included");
        add(chart, all, f -> (double) f.sms(), GpuFigures::logicalGigabytesPerSecond, "");
        add(chart, all, f -> (double) f.sms(), f -> f.logicalBytes() / (f.ceilingMicros() * 1e3), CEILING);
        chart.getStyler().setYAxisMin(0.0);
        chart.getStyler().setXAxisMin(0.0);
        chart.getStyler().setXAxisTickMarkSpacingHint(40);
        chart.getStyler().setYAxisTickMarkSpacingHint(40);
        save(List.of(chart), file, ELSEWHERE);
    }

    private static XYChart chart(GpuReport report, String title, String x, String y) {
        System.setProperty("java.awt.headless", "true");
        // Without the number and the PCI address of the GPU.
        String gpu = report.runs()
                .get(0)
                .gpu()
                .gpu()
                .replaceFirst("^\\w+:\\d+ is ", "")
                .replaceFirst(", at .*", "");
        String machine = report.ranks() + " ranks, " + gpu + ", hidden " + report.hidden() + ", top-" + report.topK()
                + " of " + report.experts();
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle(x + " (" + machine + ")")
                .yAxisTitle(y)
                .build();
        chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideE);
        chart.getStyler().setChartBackgroundColor(Color.WHITE);
        chart.getStyler().setMarkerSize(5);
        return chart;
    }

    private static void add(
            XYChart chart,
            List<GpuFigures> figures,
            Function<GpuFigures, Double> x,
            Function<GpuFigures, Double> y,
            String suffix) {
        Map<String, TreeMap<Double, Double>> lines = new LinkedHashMap<>();
        for (GpuFigures f : figures) {
            lines.computeIfAbsent(f.operation(), name -> new TreeMap<>()).put(x.apply(f), y.apply(f));
        }
        lines.forEach((name, points) -> {
            XYSeries line =
                    chart.addSeries(name + suffix, new ArrayList<>(points.keySet()), new ArrayList<>(points.values()));
            COLOURS.keySet().stream()
                    .filter(name::endsWith)
                    .max(Comparator.comparing(String::length))
                    .map(COLOURS::get)
                    .ifPresent(colour -> {
                        line.setLineColor(colour);
                        line.setMarkerColor(colour);
                    });
            line.setLineStyle(
                    suffix.equals(CEILING)
                            ? SeriesLines.DOT_DOT
                            : name.startsWith("ll.") ? SeriesLines.DASH_DASH : SeriesLines.SOLID);
            line.setMarker(name.startsWith("ll.") ? SeriesMarkers.DIAMOND : SeriesMarkers.CIRCLE);
        });
    }

    /**
     * Writes charts one below the other as PNG.
     *
     * @param elsewhere how to draw on another machine, for where this one has no fonts; may be empty
     */
    private static void save(List<? extends IChart> charts, Path file, String elsewhere) {
        try (OutputStream out = Files.newOutputStream(file)) {
            BitmapEncoder.saveBitmap(charts, charts.size(), 1, out, BitmapEncoder.BitmapFormat.PNG);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": " + e.getMessage() + "; name a file that can be written", e);
        } catch (RuntimeException | LinkageError | InternalError e) {
            // So do Java's fonts say that the machine has none.
            throw new EpUnavailableException(
                    "cannot draw " + file + ": " + e + "; Java needs fonts to draw (Debian: apt-get install fontconfig"
                            + " fonts-dejavu-core)" + elsewhere,
                    e);
        }
    }
}
