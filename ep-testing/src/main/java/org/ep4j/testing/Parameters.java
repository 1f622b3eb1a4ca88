package org.ep4j.testing;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedArrayType;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.platform.commons.support.ReflectionSupport;

/** Derives the values of a property's parameters from their types and annotations. */
final class Parameters {
    private Parameters() {}

    /** Returns the values of a {@link ForAll} parameter of a method of {@code test}. */
    static Values values(Parameter parameter, Object test) {
        String name =
                Objects.requireNonNull(parameter.getAnnotation(ForAll.class)).value();
        if (name.isEmpty()) {
            return byType(parameter, parameter.getAnnotatedType());
        }
        only(parameter, "drawn by a method", ForAll.class);
        Method provider = ReflectionSupport.findMethod(test.getClass(), name, Random.class)
                .orElseThrow(() -> new IllegalArgumentException(
                        test.getClass().getName() + " has no method " + name + "(java.util.Random)"));
        return (random, pick) -> ReflectionSupport.invokeMethod(provider, test, random);
    }

    private static Values byType(AnnotatedElement element, AnnotatedType annotated) {
        Type type = annotated.getType();
        if (type == int.class || type == Integer.class) {
            only(element, type, IntRange.class);
            IntRange range = element.getAnnotation(IntRange.class);
            return range == null
                    ? new Values.Numbers(Integer.MIN_VALUE, Integer.MAX_VALUE, i -> (int) i)
                    : new Values.Numbers(range.min(), range.max(), i -> (int) i);
        }
        if (type == long.class || type == Long.class) {
            only(element, type, LongRange.class);
            LongRange range = element.getAnnotation(LongRange.class);
            return range == null
                    ? new Values.Numbers(Long.MIN_VALUE, Long.MAX_VALUE, i -> i)
                    : new Values.Numbers(range.min(), range.max(), i -> i);
        }
        if (type == String.class) {
            only(element, type, StringLength.class, AlphaChars.class);
            StringLength length = element.getAnnotation(StringLength.class);
            boolean letters = element.isAnnotationPresent(AlphaChars.class);
            return length == null
                    ? new Values.Strings(0, Size.MOST, letters)
                    : new Values.Strings(length.min(), length.max(), letters);
        }
        if (annotated instanceof AnnotatedArrayType array && type instanceof Class<?> whole) {
            return new Values.Arrays(
                    whole.getComponentType(), lists(element, type, array.getAnnotatedGenericComponentType()));
        }
        if (annotated instanceof AnnotatedParameterizedType list
                && ((ParameterizedType) type).getRawType() == List.class) {
            return lists(element, type, list.getAnnotatedActualTypeArguments()[0]);
        }
        only(element, type);
        if (type == byte.class || type == Byte.class) {
            return new Values.Numbers(Byte.MIN_VALUE, Byte.MAX_VALUE, i -> (byte) i);
        }
        if (type == boolean.class || type == Boolean.class) {
            return new Values.Listed(List.of(false, true));
        }
        if (type instanceof Class<?> kind && kind.isEnum()) {
            return new Values.Listed(List.of(kind.getEnumConstants()));
        }
        throw new IllegalArgumentException("which values a " + type.getTypeName()
                + " has is not known; @ForAll can name a method that draws them");
    }

    private static Values.Lists lists(AnnotatedElement element, Type type, AnnotatedType elements) {
        only(element, type, Size.class);
        Size size = element.getAnnotation(Size.class);
        int min = size == null ? 0 : size.value() >= 0 ? size.value() : size.min();
        int max = size == null ? Size.MOST : size.value() >= 0 ? size.value() : size.max();
        return new Values.Lists(byType(elements, elements), min, max);
    }

    /** Refuses annotations without effect, such as a range of an int on a long. */
    private static void only(AnnotatedElement element, Object what, Class<?>... meant) {
        for (Annotation annotation : element.getAnnotations()) {
            Class<?> type = annotation.annotationType();
            if (type != ForAll.class
                    && type.getPackage().equals(ForAll.class.getPackage())
                    && !List.of(meant).contains(type)) {
                throw new IllegalArgumentException("@" + type.getSimpleName() + " says nothing of a value " + what);
            }
        }
    }
}
