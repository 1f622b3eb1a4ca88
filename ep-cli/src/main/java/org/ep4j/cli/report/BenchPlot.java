package org.ep4j.cli.report;

import java.awt.Color;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.rank.Operations;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.style.Styler;

/** Bars of each operation's times beside its ceiling; one chart a mode. */
public final class BenchPlot {
    private static final int WIDTH = 900;
    private static final int HEIGHT = 520;

    private BenchPlot() {}

    /**
     * Draws a report; needs no display.
     *
     * @throws EpUnavailableException when the file cannot be written
     */
    public static void write(BenchReport report, Path file) {
        System.setProperty("java.awt.headless", "true");
        List<CategoryChart> charts = new ArrayList<>();
        chart(charts, report, "ht", "High throughput, " + report.tokens() + " tokens a rank");
        chart(charts, report, "ll", "Low latency, " + report.lowLatencyTokens() + " tokens a rank");
        try (OutputStream out = Files.newOutputStream(file)) {
            BitmapEncoder.saveBitmap(charts, charts.size(), 1, out, BitmapEncoder.BitmapFormat.PNG);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": " + e.getMessage() + "; name a file that can be written", e);
        }
    }

    private static void chart(List<CategoryChart> charts, BenchReport report, String mode, String title) {
        List<Figures> figures = report.operations().stream()
                .filter(f -> f.operation().startsWith(mode + "."))
                .toList();
        if (figures.isEmpty()) {
            return;
        }
        CategoryChart chart = new CategoryChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
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
}
