package org.ep4j.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The number of {@code char}s of a string; without it, 0 to 255. */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface StringLength {
    /** Returns the least number. */
    int min() default 0;

    /** Returns the greatest number. */
    int max() default Size.MOST;
}
