package org.ep4j.engine.numeric;

import java.lang.reflect.InvocationTargetException;
import java.util.Optional;

/** Finds the loops that need the module {@code jdk.incubator.vector}, which a JVM has only when it is asked for. */
final class VectorModule {
    static final String NAME = "jdk.incubator.vector";

    private VectorModule() {}

    static Optional<RowKernels> kernels() {
        Optional<Module> vector = ModuleLayer.boot().findModule(NAME);
        if (vector.isEmpty()) {
            return Optional.empty();
        }
        VectorModule.class.getModule().addReads(vector.get());
        try {
            Class<?> type = Class.forName(VectorModule.class.getPackageName() + ".VectorRowKernels");
            return Optional.of((RowKernels) type.getDeclaredConstructor().newInstance());
        } catch (ReflectiveOperationException | LinkageError e) {
            Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
            System.getLogger("org.ep4j")
                    .log(
                            System.Logger.Level.INFO,
                            "scalar loops are used, because the vector loops cannot be loaded: {0}",
                            cause);
            return Optional.empty();
        }
    }
}
