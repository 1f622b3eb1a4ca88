package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.ep4j.gpu.driver.GpuModule;

/**
 * The kernels of a buffer, in one module for each source.
 *
 * @param all the modules
 * @param byKernel the modules by the names of their kernels
 */
record KernelModules(List<GpuModule> all, Map<String, GpuModule> byKernel) implements AutoCloseable {
    /**
     * Compiles and loads sources side by side, in as many threads as there are processors at most. Returns when all have ended, also those that
     * run when one fails.
     *
     * @param load compiles and loads a source
     */
    static KernelModules load(List<String> sources, Function<String, GpuModule> load) {
        int threads = Math.min(sources.size(), Runtime.getRuntime().availableProcessors());
        ExecutorService compilers = Executors.newFixedThreadPool(threads, work -> {
            Thread thread = new Thread(work, "ep4j-compiler");
            thread.setDaemon(true);
            return thread;
        });
        List<CompletableFuture<GpuModule>> begun = sources.stream()
                .map(source -> CompletableFuture.supplyAsync(() -> load.apply(source), compilers))
                .toList();
        compilers.shutdown();
        List<GpuModule> modules = new ArrayList<>();
        Map<String, GpuModule> byKernel = new HashMap<>();
        List<Throwable> failures = new ArrayList<>();
        for (int i = 0; i < begun.size(); i++) {
            try {
                GpuModule module = begun.get(i).join();
                modules.add(module);
                KernelSource.kernels(sources.get(i)).forEach(name -> byKernel.put(name, module));
            } catch (CompletionException e) {
                failures.add(e.getCause());
            }
        }
        KernelModules loaded = new KernelModules(List.copyOf(modules), Map.copyOf(byKernel));
        if (failures.isEmpty()) {
            return loaded;
        }
        loaded.close();
        throw thrown(failures.get(0));
    }

    private static RuntimeException thrown(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return (RuntimeException) failure;
    }

    /** Unloads all kernels, none of which may be running. */
    @Override
    public void close() {
        all.forEach(GpuModule::close);
    }
}
