package org.ep4j.examples.llm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The tensors of a folder's {@code *.safetensors}: one file, or several with {@code model.safetensors.index.json}. A file is 8
 * bytes of length, a JSON header of that length (name, type, shape, first and last byte of each tensor), then the bytes
 * (https://github.com/huggingface/safetensors). Tensors are mapped when they are asked for, so a rank reads only its own.
 */
final class Safetensors implements TensorBytes, AutoCloseable {
    private static final String SINGLE = "model.safetensors";
    private static final String INDEX = SINGLE + ".index.json";

    /** Larger than any real header; a length beyond it means that the file is something else. */
    private static final long LONGEST_HEADER = 100 << 20;

    private record Place(Path file, FileChannel channel, String type, List<Integer> shape, long start, long bytes) {}

    private final Map<String, Place> places = new TreeMap<>();
    private final List<FileChannel> channels = new ArrayList<>();

    private Safetensors() {}

    /**
     * Opens all files of a folder and reads their headers.
     *
     * @throws ModelException when one is missing, cut off or of another format
     */
    static Safetensors open(Path folder) {
        Safetensors all = new Safetensors();
        try {
            for (Path file : files(folder)) {
                all.add(file);
            }
            return all;
        } catch (IOException e) {
            all.close();
            throw new ModelException("the weights in " + folder + " cannot be read: " + e, e);
        } catch (ModelException e) {
            all.close();
            throw e;
        }
    }

    private static Iterable<Path> files(Path folder) throws IOException {
        Path index = folder.resolve(INDEX);
        if (!Files.exists(index)) {
            Path single = folder.resolve(SINGLE);
            if (!Files.exists(single)) {
                throw new ModelException(
                        folder + " has neither " + SINGLE + " nor " + INDEX + "; download the model's weights into it");
            }
            return List.of(single);
        }
        TreeSet<Path> files = new TreeSet<>();
        try {
            JsonMapper.shared()
                    .readTree(Files.readAllBytes(index))
                    .path("weight_map")
                    .forEach(name -> files.add(folder.resolve(name.asString())));
        } catch (JacksonException e) {
            throw new ModelException(index + " is not JSON: " + e.getOriginalMessage(), e);
        }
        for (Path file : files) {
            if (!Files.exists(file)) {
                throw new ModelException(file + " is missing, and " + INDEX + " names it");
            }
        }
        return files;
    }

    private void add(Path file) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
        channels.add(channel);
        ByteBuffer length = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        read(channel, file, length, 0);
        long header = length.getLong(0);
        if (header < 2 || header > LONGEST_HEADER || header > channel.size() - Long.BYTES) {
            throw new ModelException(
                    file + " is not a safetensors file: its header would have " + header + " bytes, must have 2 to "
                            + Math.min(LONGEST_HEADER, channel.size() - Long.BYTES)
                            + "; a file of about 130 bytes is a pointer of git-lfs: run \"git lfs pull\"");
        }
        ByteBuffer text = ByteBuffer.allocate(Math.toIntExact(header));
        read(channel, file, text, Long.BYTES);
        JsonNode json;
        try {
            json = JsonMapper.shared().readTree(text.array());
        } catch (JacksonException e) {
            throw new ModelException(file + " is not a safetensors file: its header is not JSON", e);
        }
        long data = Long.BYTES + header;
        for (var entry : json.properties()) {
            if (!entry.getKey().equals("__metadata__")) {
                JsonNode tensor = entry.getValue();
                long start = tensor.path("data_offsets").path(0).asLong();
                long end = tensor.path("data_offsets").path(1).asLong();
                if (start < 0 || end < start || data + end > channel.size()) {
                    throw new ModelException(file + " is cut off: " + entry.getKey() + " ends at byte " + (data + end)
                            + " of " + channel.size() + "; download the file again");
                }
                List<Integer> shape =
                        tensor.path("shape").valueStream().map(JsonNode::asInt).toList();
                places.put(
                        entry.getKey(),
                        new Place(file, channel, tensor.path("dtype").asString(), shape, data + start, end - start));
            }
        }
    }

    private static void read(FileChannel channel, Path file, ByteBuffer target, long position) throws IOException {
        while (target.hasRemaining()) {
            if (channel.read(target, position + target.position()) < 0) {
                throw new ModelException(file + " is cut off: it ends inside its header");
            }
        }
        target.flip();
    }

    /**
     * Checks one tensor's presence, type and shape, and reads nothing.
     *
     * @throws ModelException when it is missing, not BF16, or of another shape
     */
    void require(String name, int rows, int columns) {
        place(name, rows, columns);
    }

    private Place place(String name, int rows, int columns) {
        Place place = places.get(name);
        if (place == null) {
            throw new ModelException("the weights lack " + name
                    + "; either config.json belongs to other weights, or the tensors are not named as in "
                    + ModelConfig.ARCHITECTURE + ", with one tensor for each expert");
        }
        List<Integer> wanted = rows == 1 ? List.of(columns) : List.of(rows, columns);
        if (!place.type().equals("BF16") || !place.shape().equals(wanted)) {
            throw new ModelException(
                    place.file() + ": " + name + " is " + place.type() + place.shape() + ", expected BF16" + wanted);
        }
        return place;
    }

    @Override
    public ByteBuffer bytes(String name, int rows, int columns) {
        Place place = place(name, rows, columns);
        try {
            return place.channel()
                    .map(FileChannel.MapMode.READ_ONLY, place.start(), place.bytes())
                    .order(ByteOrder.LITTLE_ENDIAN);
        } catch (IOException e) {
            throw new ModelException(place.file() + ": " + name + " cannot be mapped: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        for (FileChannel channel : channels) {
            try {
                channel.close();
            } catch (IOException e) {
                throw new ModelException("a file of weights cannot be closed: " + e.getMessage(), e);
            }
        }
    }
}
