package org.ep4j.cli;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.ref.Reference;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpEngine;
import org.ep4j.EpGroup;
import org.ep4j.engine.gpu.GpuBufferFacts;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.rows.Rows;
import org.ep4j.spi.BootstrapProvider;
import org.ep4j.spi.DeviceProvider;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.topology.read.TopologySource;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.NativeRecord;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The arrows between the modules, and what holds in all of them. */
@Tag("verify")
final class ArchitectureTest {
    private static final String TRANSPORT = "org.ep4j.transport..";
    /** Packages of ep-gpu; {@code org.ep4j.gpu} itself is the API's. */
    private static final String[] GPU = {
        "org.ep4j.gpu.cuda..", "org.ep4j.gpu.driver..", "org.ep4j.gpu.hip..", "org.ep4j.gpu.topology.."
    };

    private static final String ENGINE = "org.ep4j.engine..";

    /** The memory of GPU buffers, and loops over rows of the host, which the command line measures as the ceiling of operations. */
    private static final Class<?>[] CEILINGS = {
        GpuBufferFacts.class, Rows.class, RowCopies.class, RowSum.class, Fp8Rows.class
    };

    private static final String BACKENDS = "org.ep4j.backend..";
    private static final String TCK = "org.ep4j.tck..";
    private static final String CLI = "org.ep4j.cli..";
    private static final int MOST_LINES = 800;
    /** What reads a record after a native call has written it. */
    private static final Set<String> USES = Set.of("buffer", "get", "text");

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            // Support for tests, which is in the main sources of its module.
            .withImportOption(location -> !location.contains("org/ep4j/testing/"))
            .importPackages("org.ep4j..");

    @Test
    void theImporterFindsEveryModule() {
        assertThat(CLASSES).hasSizeGreaterThan(200);
        for (String part : List.of(
                "org.ep4j.spi",
                "org.ep4j.plan",
                "org.ep4j.transport",
                "org.ep4j.gpu.driver",
                "org.ep4j.engine",
                "org.ep4j.backend.host",
                "org.ep4j.backend.nvlink",
                "org.ep4j.backend.rocm",
                "org.ep4j.backend.ibrc",
                "org.ep4j.backend.efa",
                "org.ep4j.tck",
                "org.ep4j.cli")) {
            assertThat(CLASSES.stream().filter(resideInAPackage(part)).count())
                    .as(part)
                    .isPositive();
        }
    }

    @Test
    void apiAndPlannerNameNothingAboveThem() {
        noClasses()
                .that(not(resideInAnyPackage(TRANSPORT, ENGINE, BACKENDS, TCK, CLI)
                        .or(resideInAnyPackage(GPU))))
                .should()
                .dependOnClassesThat(resideInAnyPackage(TRANSPORT, ENGINE, BACKENDS, TCK, CLI)
                        .or(resideInAnyPackage(GPU)))
                .check(CLASSES);
    }

    @Test
    void transportNamesNothingAboveIt() {
        noClasses()
                .that(resideInAPackage(TRANSPORT))
                .should()
                .dependOnClassesThat(
                        resideInAnyPackage(ENGINE, BACKENDS, TCK, CLI).or(resideInAnyPackage(GPU)))
                .check(CLASSES);
    }

    @Test
    void gpusNameNothingAboveThem() {
        noClasses()
                .that(resideInAnyPackage(GPU))
                .should()
                .dependOnClassesThat(resideInAnyPackage(ENGINE, BACKENDS, TCK, CLI))
                .check(CLASSES);
    }

    @Test
    void theEngineNamesNoBackendAndNothingAboveIt() {
        noClasses()
                .that(resideInAPackage(ENGINE))
                .should()
                .dependOnClassesThat(resideInAnyPackage(BACKENDS, TCK, CLI))
                .check(CLASSES);
    }

    @Test
    void theEngineExportsNothing() {
        assertThat(module(CLASSES.get("org.ep4j.engine.Engine")).exports()).isEmpty();
    }

    @Test
    void aBackendNamesNeitherTheEngineNorAnotherBackendNorWhatIsAboveIt() {
        noClasses()
                .that(resideInAPackage(BACKENDS))
                .should()
                .dependOnClassesThat(resideInAnyPackage(ENGINE, TCK, CLI))
                .check(CLASSES);
        slices().matching("org.ep4j.backend.(*)..")
                .should()
                .notDependOnEachOther()
                .allowEmptyShould(true)
                .check(CLASSES);
    }

    @Test
    void theConformanceKitNamesNeitherBackendsNorTheEngineNorTheCommandLine() {
        noClasses()
                .that(resideInAPackage(TCK))
                .should()
                .dependOnClassesThat(resideInAnyPackage(ENGINE, BACKENDS, CLI))
                .check(CLASSES);
    }

    @Test
    void theCommandLineReachesBackendsAndTheEngineThroughTheApiButForCeilings() {
        noClasses()
                .that(resideInAPackage(CLI))
                .should()
                .dependOnClassesThat(resideInAnyPackage(ENGINE, BACKENDS).and(not(belongToAnyOf(CEILINGS))))
                .check(CLASSES);
    }

    @Test
    void onlyTheCommandLinePrints() {
        noClasses()
                .that(not(resideInAPackage(CLI)))
                .should(ACCESS_STANDARD_STREAMS)
                .check(CLASSES);
    }

    @Test
    void onlyTheCommandLineEndsTheProcess() {
        noClasses()
                .that(not(resideInAPackage(CLI)))
                .should()
                .callMethod(System.class, "exit", int.class)
                .check(CLASSES);
    }

    @Test
    void nobodyUsesUnsafeOrTheForeignMemoryApi() {
        noClasses()
                .should()
                .dependOnClassesThat(resideInAnyPackage("sun.misc..", "jdk.internal..", "java.lang.foreign.."))
                .check(CLASSES);
    }

    @Test
    void nativeCallsAreMadeByTransportGpusEngineAndBackendsOnly() {
        noClasses()
                .that(not(resideInAnyPackage(TRANSPORT, ENGINE, BACKENDS).or(resideInAnyPackage(GPU))))
                .should()
                .dependOnClassesThat(resideInAPackage("com.sun.jna.."))
                .check(CLASSES);
    }

    /**
     * Checks that a method which makes a record uses, hands on or fences a record after the last line that takes an address: an address keeps nothing
     * alive while a native call uses it. Lines are all that is compared, so of two records in one method it sees the last; records in fields
     * live as long as their objects.
     */
    @Test
    void recordsStayReachableUntilNativeCallsHaveUsedThem() {
        Set<String> unreachable = new TreeSet<>();
        int takers = 0;
        for (JavaClass type : CLASSES) {
            for (JavaCodeUnit method : type.getCodeUnits()) {
                int taken = lastLine(method, call -> isOf(call, NativeRecord.class, "address"));
                if (taken < 0 || type.isEquivalentTo(NativeRecord.class)) {
                    continue;
                }
                takers++;
                boolean fromField = method.getFieldAccesses().stream()
                        .anyMatch(access -> access.getTarget().getRawType().isEquivalentTo(NativeRecord.class));
                int used = lastLine(
                        method,
                        call -> isOf(call, Reference.class, "reachabilityFence")
                                || USES.stream().anyMatch(use -> isOf(call, NativeRecord.class, use))
                                || call.getTarget().getRawParameterTypes().stream()
                                        .anyMatch(parameter -> parameter.isEquivalentTo(NativeRecord.class)));
                if (!fromField && used <= taken) {
                    unreachable.add(method.getFullName() + " line " + taken);
                }
            }
        }
        assertThat(takers).isGreaterThan(15);
        assertThat(unreachable).isEmpty();
    }

    /** Checks by reading what a run on x86 hardly ever shows: a rank that sees a counter advanced sees the bytes before it. */
    @Test
    void countersAreWrittenWithReleaseAndReadWithAcquire() {
        JavaClass peers = CLASSES.get("org.ep4j.engine.sync.Peers");
        assertThat(called(peers, "advance")).contains("advance").doesNotContain("putLong", "putLongRelease");
        assertThat(called(CLASSES.get("org.ep4j.transport.memory.Words"), "advance"))
                .containsExactly("putLongRelease");
        assertThat(called(peers, "seen")).contains("getLongAcquire");
        JavaClass ring = CLASSES.get("org.ep4j.engine.proxy.CommandRing");
        assertThat(called(ring, "take")).contains("putLongRelease").doesNotContain("putLong");
        JavaClass ibrc = CLASSES.get("org.ep4j.backend.ibrc.Buffers");
        assertThat(called(ibrc, "add")).contains("putLongRelease").doesNotContain("putLong");
        JavaClass counted = CLASSES.get("org.ep4j.transport.posted.CpuCountedMemory");
        assertThat(called(counted, "advance")).containsExactly("setRelease");
        assertThat(called(counted, "arrived")).containsExactly("getAcquire");
        JavaClass memory = CLASSES.get(HostMemory.class);
        assertThat(called(memory, "advance"))
                .contains("putLongRelease", "setVolatile", "getVolatile")
                .doesNotContain("putLong", "set", "setOpaque");
        assertThat(called(memory, "sleep"))
                .contains("setVolatile", "getVolatile")
                .doesNotContain("getLong", "set", "setOpaque");
        assertThat(called(memory, "putLongRelease")).contains("setRelease");
        assertThat(called(memory, "getLongAcquire")).contains("getAcquire");
    }

    private static Set<String> called(JavaClass type, String method) {
        return type.getMethods().stream()
                .filter(one -> one.getName().equals(method))
                .flatMap(one -> one.getMethodCallsFromSelf().stream())
                .map(JavaMethodCall::getName)
                .collect(Collectors.toSet());
    }

    private static int lastLine(JavaCodeUnit method, Predicate<JavaCall<?>> wanted) {
        return method.getCallsFromSelf().stream()
                .filter(wanted)
                .mapToInt(JavaCall::getLineNumber)
                .max()
                .orElse(-1);
    }

    private static boolean isOf(JavaCall<?> call, Class<?> owner, String name) {
        return call.getTargetOwner().isEquivalentTo(owner) && call.getName().equals(name);
    }

    @Test
    void everyPackageIsNullMarked() {
        Set<String> unmarked = new TreeSet<>();
        for (JavaClass type : CLASSES) {
            if (!type.getPackage().tryGetAnnotationOfType(NullMarked.class).isPresent()) {
                unmarked.add(type.getPackageName());
            }
        }
        assertThat(unmarked).isEmpty();
    }

    @Test
    void packagesHaveNoCycles() {
        slices().matching("org.(**)").should().beFreeOfCycles().check(CLASSES);
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                EpBackendProvider.class,
                DeviceProvider.class,
                BootstrapProvider.class,
                EpEngine.class,
                TopologySource.class
            })
    void everyProviderIsInItsServicesFileAndInItsModuleDescriptor(Class<?> service) {
        Set<String> implementations = CLASSES.stream()
                .filter(c -> c.isAssignableTo(service) && !c.isInterface())
                .filter(c -> !c.getModifiers().contains(JavaModifier.ABSTRACT))
                // The kit has backends that are wrong on purpose; nobody may find them by accident.
                .filter(not(resideInAPackage(TCK)))
                .map(JavaClass::getName)
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(implementations).isNotEmpty();
        assertThat(listed(service)).isEqualTo(implementations);
        for (String implementation : implementations) {
            assertThat(provided(service, CLASSES.get(implementation)))
                    .as(implementation)
                    .contains(implementation);
        }
    }

    private static Set<String> listed(Class<?> service) {
        return ServiceLoader.load(service, EpGroup.class.getClassLoader()).stream()
                .map(p -> p.type().getName())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static List<String> provided(Class<?> service, JavaClass implementation) {
        return module(implementation).provides().stream()
                .filter(p -> p.service().equals(service.getName()))
                .flatMap(p -> p.providers().stream())
                .toList();
    }

    private static ModuleDescriptor module(JavaClass type) {
        ModuleDescriptor module =
                ModuleFinder.of(location(type)).findAll().iterator().next().descriptor();
        assertThat(module.isAutomatic()).as(module + " has a descriptor").isFalse();
        return module;
    }

    /** The jar or the folder that a class comes from. */
    private static Path location(JavaClass type) {
        String uri = type.getSource().orElseThrow().getUri().toString();
        String file = "/" + type.getName().replace('.', '/') + ".class";
        String base = uri.substring(0, uri.length() - file.length());
        return Path.of(URI.create(base.startsWith("jar:") ? base.substring(4, base.length() - 1) : base));
    }

    @Test
    void noSourceFileIsLongerThan800Lines() throws IOException {
        List<Path> sources;
        try (Stream<Path> all = Files.walk(Repository.root())) {
            sources = all.filter(
                            f -> f.toString().endsWith(".java") && !f.toString().contains("/target/"))
                    .toList();
        }
        assertThat(sources).hasSizeGreaterThan(200);
        assertThat(sources.stream().filter(f -> lines(f) > MOST_LINES)).isEmpty();
    }

    private static long lines(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
