package org.ep4j.cli.report;

import java.util.List;
import java.util.Locale;

/** Figures of GPUs as a table for people. */
public final class GpuTable {
    private GpuTable() {}

    public static String of(GpuReport report) {
        TextTable table = new TextTable(List.of(
                "operation",
                "tokens",
                "SMs",
                "MB",
                "GPU",
                "slowest",
                "call",
                "host",
                "queued",
                "GB/s",
                "wire GB/s",
                "ceiling",
                "ratio"));
        for (GpuReport.Run run : report.runs()) {
            for (GpuFigures f : run.operations()) {
                table.row(List.of(
                        f.operation(),
                        Integer.toString(f.tokens()),
                        Integer.toString(f.sms()),
                        number("%.1f", f.logicalBytes() / 1e6),
                        number("%.1f", f.gpuMicros()),
                        number("%.1f", f.gpuSlowestMicros()),
                        number("%.1f", f.callMicros()),
                        number("%.1f", f.hostMicros()),
                        number("%.1f", f.queuedMicros()),
                        number("%.0f", f.logicalGigabytesPerSecond()),
                        number("%.0f", f.wireGigabytesPerSecond()),
                        number("%.1f", f.ceilingMicros()),
                        number("%.2f", f.ratioToCeiling())));
            }
        }
        return table.toString();
    }

    private static String number(String format, double value) {
        return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, format, value);
    }
}
