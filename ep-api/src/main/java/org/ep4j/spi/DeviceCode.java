package org.ep4j.spi;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apiguardian.api.API;

/**
 * Code that a backend contributes to the kernels of a GPU ({@link DevicePosted}): source that is compiled in front of
 * the source of the kernels, and libraries of device code that the compiled kernels are linked with. Immutable.
 */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public sealed interface DeviceCode {
    /**
     * Starts code that consists of this source, without headers, options or libraries.
     *
     * @param version everything besides the texts that changes the compiled code, such as name and version of the libraries;
     *     part of the key under which it is cached
     * @param source text in the language of the compiler, outside of any namespace
     */
    static Builder builder(String version, String source) {
        return new Builder(version, source);
    }

    /**
     * Everything besides the texts that changes the compiled code, such as name and version of the libraries; part of the
     * key under which it is cached.
     */
    String version();

    /** Text in the language of the compiler, outside of any namespace. */
    String source();

    /**
     * Texts of headers by the names by which {@link #source()}, or what it includes, includes them; they go before files of
     * these names.
     */
    Map<String, String> headers();

    /** Options of the compiler, such as folders of headers. */
    List<String> options();

    /** Archives of device code. */
    List<Path> libraries();

    /** Collects the parts. Not safe for use from several threads. */
    final class Builder {
        private final String version;
        private final String source;
        private final Map<String, String> headers = new TreeMap<>();
        private final List<String> options = new ArrayList<>();
        private final List<Path> libraries = new ArrayList<>();

        private Builder(String version, String source) {
            this.version = version;
            this.source = source;
        }

        /** Adds a header, see {@link DeviceCode#headers()}. */
        public Builder header(String name, String text) {
            headers.put(name, text);
            return this;
        }

        /** Adds an option of the compiler. */
        public Builder option(String option) {
            options.add(option);
            return this;
        }

        /** Adds an archive of device code. */
        public Builder library(Path library) {
            libraries.add(library);
            return this;
        }

        /** Builds the code. */
        public DeviceCode build() {
            return new DeviceCodeValue(
                    version, source, Map.copyOf(headers), List.copyOf(options), List.copyOf(libraries));
        }
    }
}

record DeviceCodeValue(
        String version, String source, Map<String, String> headers, List<String> options, List<Path> libraries)
        implements DeviceCode {
    @Override
    public String toString() {
        return "device code " + version + ": source of " + source.length() + " characters, " + headers.size()
                + " headers, " + options.size() + " options, " + libraries.size() + " libraries";
    }
}
