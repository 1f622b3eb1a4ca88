package org.ep4j.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test that holds for all values of its {@link ForAll} parameters. It is one test, whose tries run on the same instance. The first
 * two tries have the least and the greatest values of all parameters. Where the parameters have no more combinations than there are
 * tries, each combination is tried once instead.
 *
 * <p>A try whose assumption fails is not counted; a property fails when there are ten times as many of these as tries are wanted, or
 * when there are no others.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Test
@ExtendWith(PropertyExtension.class)
public @interface Property {
    /** Returns the number of tries. */
    int tries() default 1000;

    /** Returns the number of tries where {@code ep4j.test.tier} is not {@code all}; -1 stands for {@link #tries}. */
    int verify() default -1;
}
