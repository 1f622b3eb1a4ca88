package org.ep4j.spi;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Code that a backend contributes to the kernels of a GPU ({@link DevicePosted}): source that is compiled in front of
 * the source of the kernels, and libraries of device code that the compiled kernels are linked with.
 *
 * @param version what else decides about the compiled code, such as name and version of the libraries; part of the key under
 *     which it is cached
 * @param source text in the language of the compiler, outside of any namespace
 * @param headers texts of headers by the names by which {@code source}, or what it includes, includes them; they go before
 *     files of these names
 * @param options of the compiler, such as folders of headers
 * @param libraries archives of device code
 */
public record DeviceCode(
        String version, String source, Map<String, String> headers, List<String> options, List<Path> libraries) {
    /** Copies the collections. */
    public DeviceCode {
        headers = Map.copyOf(headers);
        options = List.copyOf(options);
        libraries = List.copyOf(libraries);
    }
}
