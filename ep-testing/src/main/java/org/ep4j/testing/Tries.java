package org.ep4j.testing;

import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import org.ep4j.testing.Values.Pick;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.platform.commons.support.ReflectionSupport;
import org.opentest4j.TestAbortedException;

/** The tries of a property. */
final class Tries {
    private static final int MOST_DISCARDED = 10;
    private static final int MOST_CHARACTERS = 300;

    private final Object test;
    private final Method method;
    private final Object[] given;
    private final List<Integer> places = new ArrayList<>();
    private final List<Values> values = new ArrayList<>();
    private final long seed;
    private final boolean all;
    private final long wanted;

    Tries(Object test, ReflectiveInvocationContext<Method> invocation, int tries, long seed) {
        this.test = test;
        this.method = invocation.getExecutable();
        this.given = invocation.getArguments().toArray();
        this.seed = seed;
        if (tries < 1) {
            throw new IllegalArgumentException("a property has at least one try, not " + tries);
        }
        Parameter[] parameters = method.getParameters();
        long combinations = 1;
        for (int i = 0; i < parameters.length; i++) {
            if (parameters[i].isAnnotationPresent(ForAll.class)) {
                Values some = Parameters.values(parameters[i], test);
                places.add(i);
                values.add(some);
                combinations = Math.min(tries + 1L, combinations) * Math.min(tries + 1L, some.count());
            }
        }
        all = combinations <= tries;
        wanted = all ? combinations : tries;
    }

    void run() {
        long discarded = 0;
        for (long number = 0; number - (all ? 0 : discarded) < wanted; number++) {
            Object[] arguments = all ? combination(number) : drawn(number);
            try {
                ReflectionSupport.invokeMethod(method, test, arguments);
            } catch (TestAbortedException e) {
                discarded++;
                if (discarded >= (all ? wanted : MOST_DISCARDED * wanted)) {
                    throw new AssertionError(
                            discarded + " of " + (number + 1) + " tries were discarded: " + e.getMessage(), e);
                }
            } catch (Throwable e) {
                throw new AssertionError(report(number - discarded, arguments, e), e);
            }
        }
    }

    /** Returns the arguments of a try where there is one for each combination. */
    private Object[] combination(long number) {
        Object[] arguments = given.clone();
        long rest = number;
        for (int i = 0; i < values.size(); i++) {
            arguments[places.get(i)] = values.get(i).at(rest % values.get(i).count());
            rest /= values.get(i).count();
        }
        return arguments;
    }

    private Object[] drawn(long number) {
        Object[] arguments = given.clone();
        // Random starts with similar numbers for similar seeds.
        Random random = new Random(new SplittableRandom(seed + number).nextLong());
        Pick pick = number == 0 ? Pick.LEAST : number == 1 ? Pick.GREATEST : Pick.ANY;
        for (int i = 0; i < values.size(); i++) {
            arguments[places.get(i)] = values.get(i).pick(random, pick);
        }
        return arguments;
    }

    private String report(long before, Object[] arguments, Throwable failure) {
        StringBuilder text = new StringBuilder("try " + (before + 1) + " of " + wanted + " failed");
        text.append(all ? ", which are all combinations" : "")
                .append(": ")
                .append(failure)
                .append('\n');
        for (int i = 0; i < arguments.length; i++) {
            text.append("  ")
                    .append(method.getParameters()[i].getType().getSimpleName())
                    .append(' ')
                    .append(shown(arguments[i]))
                    .append('\n');
        }
        return text + "repeat it with -D" + PropertyExtension.SEED + "=" + seed;
    }

    /** Returns an argument as text: arrays by their elements, long texts cut, and characters that would disturb a report by their codes. */
    private static String shown(Object argument) {
        String whole = Arrays.deepToString(new Object[] {argument});
        String text = whole.substring(1, whole.length() - 1);
        StringBuilder shown = new StringBuilder();
        text.chars().limit(MOST_CHARACTERS).forEach(c -> {
            if (Character.isISOControl(c) || c >= Character.MIN_SURROGATE) {
                shown.append("\\u%04x".formatted(c));
            } else {
                shown.append((char) c);
            }
        });
        return text.length() > MOST_CHARACTERS ? shown + "... (" + text.length() + " characters)" : shown.toString();
    }
}
