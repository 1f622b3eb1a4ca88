package org.ep4j.spi;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apiguardian.api.API;

/**
 * Code that a backend contributes to the kernels of a GPU ({@link DevicePosted}): source that is compiled in front of
 * the source of the kernels, and libraries of device code that the compiled kernels are linked with. Immutable.
 */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public final class DeviceCode {
    private final String version;
    private final String source;
    private final Map<String, String> headers;
    private final List<String> options;
    private final List<Path> libraries;

    private DeviceCode(Builder builder) {
        this.version = builder.version;
        this.source = builder.source;
        this.headers = Map.copyOf(builder.headers);
        this.options = List.copyOf(builder.options);
        this.libraries = List.copyOf(builder.libraries);
    }

    /**
     * Starts code that consists of this source, without headers, options or libraries.
     *
     * @param version whatever besides the texts changes the compiled code, such as name and version of the libraries;
     *     part of the key under which it is cached
     * @param source text in the language of the compiler, outside of any namespace
     */
    public static Builder builder(String version, String source) {
        return new Builder(version, source);
    }

    /**
     * Whatever besides the texts changes the compiled code, such as name and version of the libraries; part of the
     * key under which it is cached.
     */
    public String version() {
        return version;
    }

    /** Text in the language of the compiler, outside of any namespace. */
    public String source() {
        return source;
    }

    /**
     * Texts of headers by the names by which {@link #source()}, or what it includes, includes them; they go before files of
     * these names.
     */
    public Map<String, String> headers() {
        return headers;
    }

    /** Options of the compiler, such as folders of headers. */
    public List<String> options() {
        return options;
    }

    /** Archives of device code. */
    public List<Path> libraries() {
        return libraries;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof DeviceCode that
                && version.equals(that.version)
                && source.equals(that.source)
                && headers.equals(that.headers)
                && options.equals(that.options)
                && libraries.equals(that.libraries);
    }

    @Override
    public int hashCode() {
        return Objects.hash(version, source, headers, options, libraries);
    }

    /** The version, and how much there is of each part, for messages. */
    @Override
    public String toString() {
        return "device code " + version + ": source of " + source.length() + " characters, " + headers.size()
                + " headers, " + options.size() + " options, " + libraries.size() + " libraries";
    }

    /** Collects the parts. Not safe for use from several threads. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final class Builder {
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

        /** The finished code. */
        public DeviceCode build() {
            return new DeviceCode(this);
        }
    }
}
