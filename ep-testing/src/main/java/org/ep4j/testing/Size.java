package org.ep4j.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The number of elements of a list or an array; without it, 0 to 255. */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface Size {
    /** The greatest number by default. */
    int MOST = 255;

    /** Returns the exact number; -1 where {@link #min} and {@link #max} apply. */
    int value() default -1;

    /** Returns the least number. */
    int min() default 0;

    /** Returns the greatest number. */
    int max() default MOST;
}
