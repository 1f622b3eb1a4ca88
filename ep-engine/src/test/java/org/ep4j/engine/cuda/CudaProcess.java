package org.ep4j.engine.cuda;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.driver.GpuSharing;
import org.ep4j.engine.driver.MemoryHandle;
import org.ep4j.engine.driver.SharedMemory;
import org.ep4j.spi.ProbeRequest;

/** Another process. {@code probe} prints the checks of the device; {@code add HANDLE} maps memory and adds 1 to its first byte. */
final class CudaProcess {
    private CudaProcess() {}

    static String run(Map<String, String> environment, String... arguments) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        CudaProcess.class.getName())
                .redirectErrorStream(true);
        builder.command().addAll(List.of(arguments));
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }

    public static void main(String[] arguments) {
        CudaDeviceProvider provider = new CudaDeviceProvider();
        Device id = new Device("cuda", 0);
        if (arguments[0].equals("probe")) {
            provider.probe(new ProbeRequest(id, EpConfig.load(), Duration.ofSeconds(10)))
                    .checks()
                    .forEach(check -> System.out.println(check));
            System.out.println("count " + provider.count());
            return;
        }
        MemoryHandle handle = MemoryHandle.decode(HexFormat.of().parseHex(arguments[1]));
        try (CudaDevice device = (CudaDevice) provider.open(id);
                SharedMemory memory = GpuSharing.of(device, "cuda").map(handle)) {
            ByteBuffer first = ByteBuffer.allocate(1);
            device.download(memory.memory(), first);
            device.upload(ByteBuffer.wrap(new byte[] {(byte) (first.get(0) + 1)}), memory.memory());
            System.out.println("was " + first.get(0));
        }
    }
}
