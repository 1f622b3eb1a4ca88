package org.ep4j.gpu.driver;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.EngineDevice;

/**
 * Another process with a GPU. {@code probe} prints the checks of the device; {@code add HANDLE} maps memory and adds 1 to its
 * first byte.
 */
public final class GpuProcess {
    private GpuProcess() {}

    /**
     * Lets another process do it, and gives what it printed.
     *
     * @param device {@code cuda:0}, {@code hip:0}
     * @param environment on top of this process's
     */
    public static String run(Device device, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        GpuProcess.class.getName(),
                        device.toString())
                .redirectErrorStream(true);
        builder.command().addAll(List.of(arguments));
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }

    /** The process. */
    public static void main(String[] arguments) {
        Device id = Device.parse(arguments[0]);
        DeviceProvider provider = ServiceLoader.load(DeviceProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(one -> one.type().equals(id.type()))
                .findFirst()
                .orElseThrow();
        if (arguments[1].equals("probe")) {
            provider.probe(ProbeRequest.of(id, EpConfig.load(), Guard.minute()))
                    .checks()
                    .forEach(check -> System.out.println(check));
            System.out.println("count " + provider.count());
            return;
        }
        MemoryHandle handle = MemoryHandle.decode(HexFormat.of().parseHex(arguments[2]));
        try (EngineDevice device = EngineDevice.of(provider.open(id));
                SharedMemory memory = GpuSharing.of(device, id.type()).map(handle)) {
            ByteBuffer first = ByteBuffer.allocate(1);
            device.download(memory.memory().slice(0, 1), first);
            device.upload(ByteBuffer.wrap(new byte[] {(byte) (first.get(0) + 1)}), memory.memory());
            System.out.println("was " + first.get(0));
        }
    }
}
