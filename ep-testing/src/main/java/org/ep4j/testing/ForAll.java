package org.ep4j.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A parameter of a {@link Property} that has another value in each try. */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface ForAll {
    /**
     * Returns the name of a method of the test class that takes a {@link java.util.Random} and returns a value, for example with {@link
     * Draw}. Without a name, the type determines the values: numbers, booleans, enums, strings, and lists and arrays of them.
     */
    String value() default "";
}
