package org.ep4j;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apiguardian.api.API;
import org.apiguardian.api.API.Status;
import org.ep4j.gpu.GpuDevice;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Marks of stability, and the Javadoc of types that may grow. */
@Tag("verify")
final class StabilityTest {
    private static final Set<Status> STATUSES = Set.of(Status.STABLE, Status.EXPERIMENTAL, Status.INTERNAL);

    /** Interfaces outside of the SPI that others may implement. */
    private static final Set<Class<?>> OPEN = Set.of(Bootstrap.class, Bootstrap.Broadcast.class, EpEvent.class);

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(new ArchitectureTest.NoTestSupport())
            .importPackages("org.ep4j");

    private static final DescribedPredicate<JavaClass> VISIBLE =
            describe("are public or protected", type -> isVisible(type.getModifiers()));

    private static final ArchRule STABLE_NAMES_STABLE = classes()
            .that(VISIBLE)
            .should(satisfy("name only stable types where they are stable", StabilityTest::unstableNames));

    @Test
    void everyPackageHasAMark() {
        classes()
                .that(VISIBLE)
                .should(satisfy(
                        "be in a package with a mark",
                        type -> type.reflect().getPackage().isAnnotationPresent(API.class)
                                ? Stream.empty()
                                : Stream.of("is in a package without @API")))
                .check(CLASSES);
    }

    @Test
    void everyMarkHasAStatusOfEp4jAndAVersion() {
        classes()
                .should(satisfy(
                        "have valid marks",
                        type -> Stream.concat(
                                        Stream.of(
                                                Optional.ofNullable(type.reflect()
                                                        .getPackage()
                                                        .getAnnotation(API.class)),
                                                type.tryGetAnnotationOfType(API.class)),
                                        type.getMembers().stream()
                                                .map(member -> member.tryGetAnnotationOfType(API.class)))
                                .flatMap(Optional::stream)
                                .filter(mark -> !STATUSES.contains(mark.status())
                                        || mark.since().isEmpty())
                                .map(mark -> "has " + mark + ", not one of " + STATUSES + " with since")))
                .check(CLASSES);
    }

    @Test
    void aTypeWithoutAMarkHasThatOfTheTypeOrPackageAroundIt() {
        assertThat(Stream.of(EpGroup.class, Bootstrap.MemberState.class).map(StabilityTest::status))
                .containsOnly(Status.STABLE);
        assertThat(Stream.of(Bootstrap.Broadcast.class, EpTraffic.Lane.Builder.class, GpuDevice.class)
                        .map(StabilityTest::status))
                .containsOnly(Status.EXPERIMENTAL);
        assertThat(status(EpEngine.class)).isEqualTo(Status.INTERNAL);
    }

    @Test
    void stableTypesAndMembersNameNoOthers() {
        STABLE_NAMES_STABLE.check(CLASSES);
    }

    @Test
    void everyWayToNameAnUnstableTypeIsFound() {
        JavaClasses example = new ClassFileImporter().importClasses(Example.class);
        assertThat(STABLE_NAMES_STABLE.evaluate(example).getFailureReport().getDetails())
                .extracting(detail -> detail.substring(detail.indexOf(" names ") + 1))
                .containsExactlyInAnyOrder(
                        "names StabilityTest", // which encloses it
                        "names EpNoMajorityException",
                        "names EpTraffic in FIELD",
                        "names EpTraffic in result",
                        "names Lane in argument",
                        "names EpNoMajorityException in thrown",
                        "names EpTraffic in bound");
    }

    /** Names unstable types in all places but one, where the member is unstable too. */
    @API(status = Status.STABLE, since = "0.1")
    public interface Example extends Supplier<EpNoMajorityException> {
        /** A field. */
        List<EpTraffic[]> FIELD = List.of();

        /** A result. */
        Optional<EpTraffic> result();

        /** An argument. */
        void argument(EpTraffic.Lane lane);

        /** A failure. */
        void thrown() throws EpNoMajorityException;

        /** A type parameter. */
        <T extends EpTraffic> void bound();

        /** Nothing that is promised. */
        @API(status = Status.EXPERIMENTAL, since = "0.1")
        EpTraffic allowed();
    }

    @Test
    void interfacesSayWhetherOnlyEp4jImplementsThem() {
        classes()
                .that(VISIBLE)
                .and()
                .areInterfaces()
                .and(describe("are not sealed", type -> !type.reflect().isSealed()))
                .should(satisfy("say who implements them", type -> {
                    boolean open = OPEN.stream().anyMatch(type::isEquivalentTo)
                            || (type.getPackageName().equals("org.ep4j.spi") && status(type) != Status.INTERNAL);
                    return javadoc(type).contains("nly ep4j implements") != open
                            ? Stream.empty()
                            : Stream.of(open ? "excludes others" : "does not say that only ep4j implements it");
                }))
                .check(CLASSES);
    }

    @Test
    void enumsSayThatConstantsMayBeAdded() {
        classes()
                .that(VISIBLE)
                .and()
                .areEnums()
                .should(satisfy(
                        "say that constants may be added",
                        type -> javadoc(type)
                                        .contains("Constants may be added: keep a {@code default} where you switch over"
                                                + " them.")
                                ? Stream.empty()
                                : Stream.of("does not say that constants may be added")))
                .check(CLASSES);
    }

    /** The comparison with a release refuses new abstract methods where others implement an interface. */
    @Test
    void theComparisonWithAReleaseKnowsTheInterfacesThatOthersImplement() throws IOException {
        String script = Files.readString(Path.of("src/japicmp/stable.groovy"));
        Matcher open = Pattern.compile("def open = \\[(.*)]").matcher(script);
        assertThat(open.find()).isTrue();
        assertThat(open.group(1).split(", "))
                .containsExactlyInAnyOrderElementsOf(
                        OPEN.stream().map(type -> "'" + type.getName() + "'").toList());
    }

    private static Stream<String> unstableNames(JavaClass type) {
        if (status(type) != Status.STABLE) {
            return Stream.empty();
        }
        Stream<JavaType> above = Stream.of(
                        type.getSuperclass().stream(),
                        type.getInterfaces().stream(),
                        type.getTypeParameters().stream(),
                        type.getEnclosingClass().stream())
                .flatMap(Function.identity());
        return Stream.concat(
                        above.flatMap(one -> named(one.getAllInvolvedRawTypes(), "")),
                        type.getMembers().stream()
                                .filter(member -> isVisible(member.getModifiers()) && status(member) == Status.STABLE)
                                .flatMap(member -> named(signature(member), " in " + member.getName())))
                .distinct();
    }

    private static Set<JavaClass> signature(JavaMember member) {
        Set<JavaClass> types = new HashSet<>(member.getAllInvolvedRawTypes());
        if (member instanceof JavaCodeUnit code) {
            types.addAll(code.getExceptionTypes());
        }
        return types;
    }

    private static Stream<String> named(Set<JavaClass> types, String where) {
        return types.stream()
                .map(JavaClass::getBaseComponentType)
                .filter(type -> type.getPackageName().startsWith("org.ep4j") && status(type) != Status.STABLE)
                .map(type -> "names " + type.getSimpleName() + where);
    }

    private static Status status(JavaClass type) {
        return status(type.reflect());
    }

    private static Status status(Class<?> type) {
        if (!Modifier.isPublic(type.getModifiers()) && !Modifier.isProtected(type.getModifiers())) {
            return Status.INTERNAL;
        }
        API own = type.getAnnotation(API.class);
        API ofPackage = type.getPackage().getAnnotation(API.class);
        Class<?> around = type.getEnclosingClass();
        return own != null ? own.status() : around != null ? status(around) : ofPackage.status();
    }

    private static Status status(JavaMember member) {
        return member.tryGetAnnotationOfType(API.class).map(API::status).orElseGet(() -> status(member.getOwner()));
    }

    private static boolean isVisible(Set<JavaModifier> modifiers) {
        return modifiers.contains(JavaModifier.PUBLIC) || modifiers.contains(JavaModifier.PROTECTED);
    }

    /** Javadoc of an interface or enum, on one line. */
    private static String javadoc(JavaClass type) {
        String file = type.getName().replace('.', '/').replaceAll("\\$.*", "");
        Matcher comment = Pattern.compile(
                        "/\\*\\*((?:(?!\\*/).)*)\\*/\\s+(?:@[^\\n]+\\s+)*(?:public )?(?:interface|enum) "
                                + type.getSimpleName() + "\\b",
                        Pattern.DOTALL)
                .matcher(source(Path.of("src/main/java", file + ".java")));
        assertThat(comment.find()).as("Javadoc of " + type.getName()).isTrue();
        return comment.group(1).replaceAll("\\s+(\\*\\s+)?", " ");
    }

    private static String source(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ArchCondition<JavaClass> satisfy(
            String description, Function<JavaClass, Stream<String>> violations) {
        return new ArchCondition<>(description) {
            @Override
            public void check(JavaClass type, ConditionEvents events) {
                violations
                        .apply(type)
                        .forEach(violation ->
                                events.add(SimpleConditionEvent.violated(type, type.getName() + " " + violation)));
            }
        };
    }
}
