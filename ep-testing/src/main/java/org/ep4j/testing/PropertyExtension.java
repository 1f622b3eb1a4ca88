package org.ep4j.testing;

import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.SplittableRandom;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/** Runs a {@link Property}, with many calls instead of JUnit's one. */
final class PropertyExtension implements ParameterResolver, InvocationInterceptor {
    static final String SEED = "ep4j.test.seed";
    static final String TRIES = "ep4j.test.tries";

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.isAnnotated(ForAll.class);
    }

    /** Returns zero, false or null, which each try replaces. */
    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return Array.get(Array.newInstance(parameter.getParameter().getType(), 1), 0);
    }

    @Override
    public void interceptTestMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context) {
        invocation.skip();
        Property property = context.getRequiredTestMethod().getAnnotation(Property.class);
        if (property == null) {
            throw new IllegalStateException("@Property is not on the method itself");
        }
        boolean some = property.verify() >= 0
                && context.getConfigurationParameter(Tier.PROPERTY)
                        .filter("all"::equals)
                        .isEmpty();
        int usual = some ? property.verify() : property.tries();
        int tries = context.getConfigurationParameter(TRIES)
                .map(given -> Integer.parseInt(given.strip()))
                .orElse(usual);
        new Tries(context.getRequiredTestInstance(), method, tries, seed(context)).run();
    }

    private static long seed(ExtensionContext context) {
        String given = context.getConfigurationParameter(SEED).orElse("");
        if (given.equals("random")) {
            return new SplittableRandom().nextLong();
        }
        if (!given.isEmpty()) {
            return Long.parseLong(given.strip());
        }
        // The hash of a string is the same in every JVM.
        String name = context.getRequiredTestClass().getName() + "."
                + context.getRequiredTestMethod().getName();
        return name.hashCode();
    }
}
