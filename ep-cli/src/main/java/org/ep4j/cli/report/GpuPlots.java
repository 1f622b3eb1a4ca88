package org.ep4j.cli.report;

import java.awt.Color;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.ep4j.EpUnavailableException;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler;

/** Lines over the number of tokens and over the number of multiprocessors. Needs no display. */
public final class GpuPlots {
    private static final int WIDTH = 1000;
    private static final int HEIGHT = 620;

    private GpuPlots() {}

    /** Times on the GPU over tokens, both axes logarithmic. */
    public static void sweep(GpuReport report, Path file) {
        XYChart chart =
                chart(report, "Time on the GPU over tokens a rank", "tokens a rank", "microseconds, slowest rank");
        chart.getStyler().setXAxisLogarithmic(true);
        chart.getStyler().setYAxisLogarithmic(true);
        List<GpuFigures> first = report.runs().get(0).operations();
        add(chart, first, GpuFigures::tokens, GpuFigures::gpuSlowestMicros, "");
        save(chart, file);
    }

    /** Bandwidth of high throughput over multiprocessors, with its ceilings. */
    public static void sms(GpuReport report, Path file) {
        List<GpuFigures> every = report.runs().stream()
                .flatMap(r -> r.operations().stream())
                .filter(f -> f.operation().startsWith("ht."))
                .toList();
        int most = every.stream().mapToInt(GpuFigures::tokens).max().orElse(0);
        List<GpuFigures> all = every.stream().filter(f -> f.tokens() == most).toList();
        XYChart chart = chart(
                report,
                "Bandwidth over multiprocessors, " + most + " tokens a rank",
                "multiprocessors that move rows",
                "GB/s a rank, own rows included");
        add(chart, all, GpuFigures::sms, GpuFigures::logicalGigabytesPerSecond, "");
        add(
                chart,
                all.stream().filter(f -> !f.operation().endsWith("cached")).toList(),
                GpuFigures::sms,
                f -> f.logicalBytes() / (f.ceilingMicros() * 1e3),
                ", ceiling");
        chart.getStyler().setYAxisMin(0.0);
        save(chart, file);
    }

    private static XYChart chart(GpuReport report, String title, String x, String y) {
        System.setProperty("java.awt.headless", "true");
        String machine =
                report.ranks() + " ranks, " + report.runs().get(0).gpu().gpu() + ", hidden " + report.hidden()
                        + ", top-" + report.topK() + " of " + report.experts();
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
            Function<GpuFigures, Integer> x,
            Function<GpuFigures, Double> y,
            String suffix) {
        Map<String, TreeMap<Integer, Double>> lines = new LinkedHashMap<>();
        for (GpuFigures f : figures) {
            lines.computeIfAbsent(f.operation() + suffix, name -> new TreeMap<>())
                    .put(x.apply(f), y.apply(f));
        }
        lines.forEach((name, points) ->
                chart.addSeries(name, new ArrayList<>(points.keySet()), new ArrayList<>(points.values())));
    }

    private static void save(XYChart chart, Path file) {
        try (OutputStream out = Files.newOutputStream(file)) {
            BitmapEncoder.saveBitmap(List.of(chart), 1, 1, out, BitmapEncoder.BitmapFormat.PNG);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": " + e.getMessage() + "; name a file that can be written", e);
        } catch (RuntimeException | LinkageError | InternalError e) {
            // So do Java's fonts say that the machine has none.
            throw new EpUnavailableException(
                    "cannot draw " + file + ": " + e + "; Java needs fonts to draw (Debian: apt-get install fontconfig"
                            + " fonts-dejavu-core), or draw elsewhere: write --json here, and pass it to --from there",
                    e);
        }
    }
}
