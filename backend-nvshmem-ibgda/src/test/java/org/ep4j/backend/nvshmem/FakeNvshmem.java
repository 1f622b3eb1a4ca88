package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.testing.Guard;

/** Installations of NVSHMEM whose host library does nothing but answer; built by gcc. */
final class FakeNvshmem {
    private static final String SOURCE = """
        #include <unistd.h>
        static int status = 0, arguments_set = 0;
        static const int *id_given = 0;
        int nvshmemx_get_uniqueid(int *id) { if (id[0] != 65664) return 7; id[1] = 42; return ID_RESULT; }
        int nvshmemx_set_attr_uniqueid_args(int pe, int size, const int *id, int *attributes) {
          if (attributes[0] != (LAYOUT << 16) + 144 || attributes[4] != (LAYOUT << 16) + 128) return 8;
          if (attributes[6] != 65560 || id[0] != 65664 || id[1] != 42 || pe >= size) return 9;
          if (LAYOUT == 2 && attributes[12] != -1) return 10;
          id_given = id;
          arguments_set = 1;
          return 0;
        }
        int nvshmemx_hostlib_init_attr(unsigned flags, const int *attributes) {
          while (HANG) sleep(60);
          if (flags != 8 || !arguments_set || id_given[1] != 42) return 11;
          status = STATUS;
          return RESULT;
        }
        int nvshmemx_init_status(void) { return status; }
        void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch) { *major = MAJOR; *minor = MINOR; *patch = PATCH; }
        void *nvshmem_malloc(unsigned long bytes) { return bytes > 1000 ? 0 : (void *)4096; }
        void *nvshmem_ptr(const void *address, int pe) { return pe == 0 ? (void *)address : 0; }
        int nvshmemx_cumodule_init(void *module) { return module == (void *)1 ? 3 : 0; }
        int nvshmemx_cumodule_finalize(void *module) { return 0; }
        void nvshmemx_putmem_on_stream(void *to, const void *from, unsigned long bytes, int pe, void *stream) {}
        static int signals = 0; /* not exported: the first of several such libraries would have those of all */
        static unsigned long values[16];
        void nvshmemx_signal_op_on_stream(void *word, unsigned long value, int operation, int pe, void *stream) {
          values[signals++ % 16] = value;
        }
        int fake_signals(unsigned long *into) {
          for (int i = 0; i < signals && i < 16; i++) into[i] = values[i];
          return signals;
        }
        void nvshmemx_quiet_on_stream(void *stream) {}
        """;

    private FakeNvshmem() {}

    /**
     * Builds one.
     *
     * @param home where it goes
     * @param headers version of the headers
     * @param library version of the library
     * @param answers what differs from one that works: ID_RESULT, RESULT, STATUS, HANG
     */
    static NvshmemInstallation build(Path home, String headers, String library, Map<String, Integer> answers)
            throws IOException, InterruptedException {
        String[] version = library.split("\\.", -1);
        List<String> command = new ArrayList<>(List.of("gcc", "-shared", "-fPIC", "-w"));
        command.add("-DMAJOR=" + version[0]);
        command.add("-DMINOR=" + version[1]);
        command.add("-DPATCH=" + version[2]);
        command.add("-DLAYOUT=" + (Integer.parseInt(version[1]) >= 5 ? 2 : 1));
        Map<String, Integer> defaults = Map.of("ID_RESULT", 0, "RESULT", 0, "STATUS", 2, "HANG", 0);
        defaults.forEach((name, value) -> command.add("-D" + name + "=" + answers.getOrDefault(name, value)));
        return build(home, headers, SOURCE, command);
    }

    /** Returns the values of all signals so far, of which there are 16 at most. */
    static List<Long> signals(NvshmemInstallation installation) {
        long[] values = new long[16];
        int count = NativeLibrary.getInstance(installation.host().toString())
                .getFunction("fake_signals")
                .invokeInt(new Object[] {values});
        return Arrays.stream(values, 0, count).boxed().toList();
    }

    /** One whose library has no functions. */
    static NvshmemInstallation empty(Path home) throws IOException, InterruptedException {
        return build(home, "3.4.5", "int nothing;\n", new ArrayList<>(List.of("gcc", "-shared", "-fPIC")));
    }

    private static NvshmemInstallation build(Path home, String headers, String source, List<String> command)
            throws IOException, InterruptedException {
        headers(home, headers);
        Path c = Files.writeString(home.resolve("fake.c"), source);
        command.addAll(List.of("-o", home.resolve("lib/libnvshmem_host.so.3").toString(), c.toString()));
        Process gcc = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(gcc.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS) && gcc.exitValue() == 0)
                .as(said)
                .isTrue();
        return NvshmemInstallation.find(home.toString(), Map.of(), home);
    }

    /** An installation with an archive that is empty, and no library yet. */
    static void headers(Path home, String version) throws IOException {
        String[] numbers = version.split("\\.", -1);
        Files.createDirectories(home.resolve("lib"));
        Files.createDirectories(home.resolve("include/non_abi"));
        Files.writeString(home.resolve("lib/libnvshmem_device.a"), "");
        Files.writeString(
                home.resolve("include/non_abi/nvshmem_version.h"),
                "#define NVSHMEM_VENDOR_MAJOR_VERSION " + numbers[0] + "\n#define NVSHMEM_VENDOR_MINOR_VERSION "
                        + numbers[1] + "\n#define NVSHMEM_VENDOR_PATCH_VERSION " + numbers[2] + "\n");
    }
}
