package org.ep4j.plan;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.primitives.Primitives;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.Bootstrap;
import org.ep4j.EpMismatchException;

/**
 * Records of one type as the bytes that ranks exchange: a format number, then the components in their order. Safe for
 * several threads.
 *
 * <p>A component is a {@code boolean}, {@code byte}, {@code int}, {@code long}, {@code double} or its wrapper class, a
 * {@link String}, an enum, a record, or an {@link Optional}, {@link List}, {@link Map} or array of components. Enum
 * constants travel by name, so that their order may change; maps in the order of their keys, so that equal records have
 * equal bytes. Halves of surrogate pairs in texts are replaced by question marks. No record may contain itself, or have no
 * components: so the depth of what is read, and its size, are bounded by the message.
 *
 * @param <T> type of the records
 */
public final class RecordCodec<T extends Record> {
    /** The most that {@link Bootstrap#allGather} carries. */
    private static final int MAX_BYTES = 16 << 20;

    /** Characters of a peer's text that a message shows. */
    private static final int SHOWN = 100;

    private static final String REMEDY = "; run the same ep4j version on all ranks";
    private static final MethodType OBJECT_TO_OBJECT = MethodType.genericMethodType(1);

    private static final Map<Class<?>, Reader> SIMPLE = Map.of(
            boolean.class, RecordCodec::readBoolean,
            byte.class, DataInputStream::readByte,
            int.class, DataInputStream::readInt,
            long.class, DataInputStream::readLong,
            double.class, DataInputStream::readDouble,
            String.class, RecordCodec::readText);

    private static final Set<Class<?>> GENERIC = Set.of(Optional.class, List.class, Map.class);

    private final MethodHandles.Lookup lookup;
    private final Class<T> type;
    private final String what;
    private final int format;
    private final Map<Class<?>, Handles> handles = new ConcurrentHashMap<>();

    private interface Reader {
        Object read(DataInputStream in) throws IOException;
    }

    private record Handles(List<Type> types, List<MethodHandle> accessors, MethodHandle constructor) {}

    /**
     * Creates a codec.
     *
     * @param lookup {@link MethodHandles#lookup} of a class that has access to the record and to the records in it
     * @param type class of the records
     * @param what is encoded, for messages: {@code its profile}
     * @param format to raise with each change of the record
     */
    public RecordCodec(MethodHandles.Lookup lookup, Class<T> type, String what, int format) {
        this.lookup = lookup;
        this.type = type;
        this.what = what;
        this.format = format;
        check(type, List.of());
    }

    /** Refuses what {@link #decode} could not bound. */
    private void check(Type of, List<Type> around) {
        if (around.contains(of)) {
            throw new IllegalArgumentException(of.getTypeName() + " contains itself");
        }
        List<Type> path = Stream.concat(around.stream(), Stream.of(of)).toList();
        if (of instanceof ParameterizedType generic) {
            if (!GENERIC.contains(generic.getRawType())) {
                throw unsupported(of);
            }
            Arrays.stream(generic.getActualTypeArguments()).forEach(part -> check(part, path));
        } else if (of instanceof Class<?> plain && plain.isArray()) {
            check(plain.getComponentType(), path);
        } else if (!(of instanceof Class<?> plain)) {
            throw unsupported(of);
        } else if (!SIMPLE.containsKey(Primitives.unwrap(plain)) && !plain.isEnum()) {
            List<Type> parts = handles(plain).types();
            if (parts.isEmpty()) {
                throw new IllegalArgumentException(of.getTypeName() + " has no components");
            }
            parts.forEach(part -> check(part, path));
        }
    }

    public byte[] encode(T value) {
        var bytes = new ByteArrayOutputStream();
        try (var out = new DataOutputStream(bytes)) {
            out.writeInt(format);
            write(value, out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /**
     * Decodes what {@link #encode} returned on any rank.
     *
     * @throws EpMismatchException when the bytes are of another format, are not exactly one record, or hold components
     *     that the record's constructor refuses
     */
    public T decode(byte[] bytes) {
        try (var in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (bytes.length > MAX_BYTES) {
                throw new IOException("more than " + MAX_BYTES);
            }
            int found = in.readInt();
            if (found != format) {
                throw new EpMismatchException("a rank sent " + what + " in format " + found
                        + ", but this ep4j reads format " + format + REMEDY);
            }
            T value = type.cast(read(type, in));
            if (in.available() > 0) {
                throw new IOException(in.available() + " bytes too many");
            }
            return value;
        } catch (IOException e) {
            String why = e instanceof EOFException ? "it ends too early" : e.getMessage();
            throw new EpMismatchException(
                    "a rank sent " + what + " in a message of " + bytes.length
                            + " bytes that this version cannot decode (" + why + ")" + REMEDY,
                    e);
        }
    }

    private void write(Object value, DataOutputStream out) throws IOException {
        if (value instanceof Boolean flag) {
            out.writeBoolean(flag);
        } else if (value instanceof Byte number) {
            out.writeByte(number);
        } else if (value instanceof Integer number) {
            out.writeInt(number);
        } else if (value instanceof Long number) {
            out.writeLong(number);
        } else if (value instanceof Double number) {
            out.writeDouble(number);
        } else if (value instanceof String text) {
            byte[] bytes = text.getBytes(UTF_8);
            out.writeInt(bytes.length);
            out.write(bytes);
        } else if (value instanceof Enum<?> constant) {
            write(constant.name(), out);
        } else if (value instanceof Optional<?> optional) {
            out.writeBoolean(optional.isPresent());
            if (optional.isPresent()) {
                write(optional.get(), out);
            }
        } else if (value instanceof List<?> list) {
            out.writeInt(list.size());
            for (Object one : list) {
                write(one, out);
            }
        } else if (value instanceof Map<?, ?> map) {
            out.writeInt(map.size());
            for (Map.Entry<?, ?> entry : new TreeMap<Object, Object>(map).entrySet()) {
                write(entry.getKey(), out);
                write(entry.getValue(), out);
            }
        } else if (value.getClass().isArray()) {
            write(
                    IntStream.range(0, Array.getLength(value))
                            .mapToObj(i -> Array.get(value, i))
                            .toList(),
                    out);
        } else {
            for (MethodHandle accessor : handles(value.getClass()).accessors()) {
                write(invoke(accessor, value), out);
            }
        }
    }

    private Object read(Type of, DataInputStream in) throws IOException {
        if (of instanceof ParameterizedType generic) {
            Type[] parts = generic.getActualTypeArguments();
            if (generic.getRawType().equals(Optional.class)) {
                return readBoolean(in) ? Optional.of(read(parts[0], in)) : Optional.empty();
            } else if (generic.getRawType().equals(List.class)) {
                return readList(parts[0], in);
            } else if (generic.getRawType().equals(Map.class)) {
                return readMap(parts[0], parts[1], in);
            }
        } else if (of instanceof Class<?> plain) {
            Reader simple = SIMPLE.get(Primitives.unwrap(plain));
            if (simple != null) {
                return simple.read(in);
            } else if (plain.isEnum()) {
                return readConstant(plain, in);
            } else if (plain.isArray()) {
                return readArray(plain.getComponentType(), in);
            }
            return readRecord(plain, in);
        }
        throw unsupported(of);
    }

    private static boolean readBoolean(DataInputStream in) throws IOException {
        int value = in.readUnsignedByte();
        if (value > 1) {
            throw new IOException("a boolean is " + value);
        }
        return value == 1;
    }

    private static String readText(DataInputStream in) throws IOException {
        byte[] bytes = in.readNBytes(readCount(in));
        String text = new String(bytes, UTF_8);
        if (!Arrays.equals(text.getBytes(UTF_8), bytes)) {
            throw new IOException("a text is not UTF-8");
        }
        return text;
    }

    /** Reads a number of values, each of which takes one byte at least. */
    private static int readCount(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > in.available()) {
            throw new IOException("it declares " + count + " entries in the " + in.available() + " bytes that follow");
        }
        return count;
    }

    private static Object readConstant(Class<?> of, DataInputStream in) throws IOException {
        String name = readText(in);
        for (Object constant : of.getEnumConstants()) {
            if (((Enum<?>) constant).name().equals(name)) {
                return constant;
            }
        }
        throw new IOException("unknown " + of.getSimpleName() + " \"" + shortened(name) + "\"");
    }

    /** Grows with the values that are really there, whatever number is declared. */
    private List<Object> readList(Type of, DataInputStream in) throws IOException {
        List<Object> list = new ArrayList<>();
        for (int left = readCount(in); left > 0; left--) {
            list.add(read(of, in));
        }
        return Collections.unmodifiableList(list);
    }

    private Map<Object, Object> readMap(Type key, Type of, DataInputStream in) throws IOException {
        Map<Object, Object> map = new TreeMap<>();
        for (int left = readCount(in); left > 0; left--) {
            Object next = read(key, in);
            if (map.put(next, read(of, in)) != null) {
                throw new IOException("two entries for \"" + shortened(next.toString()) + "\"");
            }
        }
        return Collections.unmodifiableMap(map);
    }

    private Object readArray(Class<?> of, DataInputStream in) throws IOException {
        if (of == byte.class) {
            return in.readNBytes(readCount(in));
        }
        List<Object> list = readList(of, in);
        Object array = Array.newInstance(of, list.size());
        for (int i = 0; i < list.size(); i++) {
            Array.set(array, i, list.get(i));
        }
        return array;
    }

    private Object readRecord(Class<?> of, DataInputStream in) throws IOException {
        Handles found = handles(of);
        Object[] values = new Object[found.types().size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = read(found.types().get(i), in);
        }
        try {
            return invoke(found.constructor(), values);
        } catch (RuntimeException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private Handles handles(Class<?> of) {
        return handles.computeIfAbsent(of, this::find);
    }

    private Handles find(Class<?> of) {
        if (!of.isRecord()) {
            throw unsupported(of);
        }
        List<Class<?>> parameters = new ArrayList<>();
        List<Type> types = new ArrayList<>();
        List<MethodHandle> accessors = new ArrayList<>();
        try {
            for (RecordComponent component : of.getRecordComponents()) {
                parameters.add(component.getType());
                types.add(component.getGenericType());
                accessors.add(lookup.unreflect(component.getAccessor()).asType(OBJECT_TO_OBJECT));
            }
            MethodHandle constructor = lookup.findConstructor(of, MethodType.methodType(void.class, parameters))
                    .asSpreader(Object[].class, parameters.size())
                    .asType(OBJECT_TO_OBJECT);
            return new Handles(types, accessors, constructor);
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(lookup + " has no access to " + of, e);
        }
    }

    private static Object invoke(MethodHandle handle, Object argument) {
        try {
            return handle.invokeExact(argument);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("a record's accessors and constructor declare no exceptions", e);
        }
    }

    private static String shortened(String text) {
        return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "...";
    }

    private static IllegalArgumentException unsupported(Type of) {
        return new IllegalArgumentException("records that ranks exchange cannot hold a " + of.getTypeName());
    }
}
