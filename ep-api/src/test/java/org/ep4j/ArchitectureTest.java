package org.ep4j;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;

/** What ep-api may and may not do. */
@AnalyzeClasses(packages = "org.ep4j", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    @ArchTest
    static final ArchRule nothingPrints =
            noClasses().should().accessField(System.class, "out").orShould().accessField(System.class, "err");

    @ArchTest
    static final ArchRule nothingNamesAnEngineOrABackend = classes()
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "org.ep4j",
                    "org.ep4j.spi..",
                    "org.ep4j.plan..",
                    "org.ep4j.config..",
                    "org.ep4j.bootstrap..",
                    "org.ep4j.topology..",
                    "org.ep4j.doctor..",
                    "java..",
                    "javax.crypto..",
                    "javax.xml.stream..",
                    "org.jspecify..",
                    "com.google.common..");

    @ArchTest
    static final ArchRule nothingNeedsNativeCode = noClasses()
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("java.lang.foreign..", "sun.misc..", "com.sun.jna..", "org.bytedeco..");

    @ArchTest
    static final ArchRule staticFieldsDoNotChange =
            fields().that().areStatic().should().beFinal();

    @ArchTest
    static final ArchRule planningAndSettingsStandAlone = noClasses()
            .that()
            .resideInAnyPackage("org.ep4j.plan..", "org.ep4j.config..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.ep4j.bootstrap..");

    @ArchTest
    static final ArchRule publicClassesAreFinalOrMeantToBeExtended = classes()
            .that()
            .arePublic()
            .and()
            .areNotInterfaces()
            .and()
            .areNotEnums()
            .and()
            .doNotHaveSimpleName("EpException")
            .and()
            .doNotHaveSimpleName("EpPathException")
            .should()
            .haveModifier(JavaModifier.FINAL);

    /** Compilers name the class that two caught exceptions share, and a caller of another package may not use one that is not public. */
    @ArchTest
    static final ArchRule whatExceptionsExtendIsPublic = classes()
            .that()
            .arePublic()
            .and()
            .areAssignableTo(EpException.class)
            .should(ArchCondition.from(describe(
                    "extend a public class",
                    type -> type.getRawSuperclass()
                            .filter(above -> above.getModifiers().contains(JavaModifier.PUBLIC))
                            .isPresent())));

    @ArchTest
    static final ArchRule bootstrapsInsideAreNotPublic = classes()
            .that()
            .resideInAPackage("org.ep4j.bootstrap")
            .and()
            .doNotHaveSimpleName("Bootstraps")
            .and()
            .doNotHaveSimpleName("InProcessBootstrap")
            .and()
            .doNotHaveSimpleName("TcpBootstrapProvider")
            .should()
            .notBePublic();
}
