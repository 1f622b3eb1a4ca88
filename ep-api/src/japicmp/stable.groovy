// Leaves STABLE members of STABLE types, by their marks (@API) in the baseline, so that a promise outlives its mark.
// The new version's mark counts for what the baseline does not have. A member without a mark has the mark of its type, and a type without
// one that of the type around it, else that of its package.

// Others implement these interfaces and the stable ones of the SPI, which may not gain abstract methods of any mark. The rest may: only ep4j
// implements it.
def open = ['org.ep4j.Bootstrap', 'org.ep4j.Bootstrap$Broadcast', 'org.ep4j.EpEvent']

def status = { annotation -> annotation?.getMemberValue('status')?.value }

// Old and new classes come from pools of their own, as two class paths in pom.xml have it: a common pool has the new packages alone.
def markOfType
markOfType = { type ->
    def around = type.declaringClass ?: type.classPool.getOrNull(type.packageName + '.package-info')
    def marks = type.classFile2.getAttribute('RuntimeVisibleAnnotations')
    status(marks?.getAnnotation('org.apiguardian.api.API')) ?: (around && !around.is(type) ? markOfType(around) : null)
}

def markOfMember = { member ->
    def api = member.annotations.find { it.fullyQualifiedName == 'org.apiguardian.api.API' }
    status((member.changeStatus.name() == 'NEW' ? api?.newAnnotation : api?.oldAnnotation)?.orElse(null))
}

// The compiler lets nobody else implement a sealed interface.
def isSealed = { type -> type.newClass.map { it.classFile2.getAttribute('PermittedSubclasses') }.isPresent() }

assert !jApiClasses.any { type ->
    type.oldClass.isPresent() && type.newClass.isPresent() && type.oldClass.get().classPool.is(type.newClass.get().classPool)
}
jApiClasses.removeIf { type -> markOfType(type.oldClass.orElse(null) ?: type.newClass.get()) != 'STABLE' }
jApiClasses.each { type ->
    def closed = isSealed(type) || !(type.fullyQualifiedName in open || type.fullyQualifiedName.startsWith('org.ep4j.spi.'))
    [type.methods, type.constructors, type.fields]*.removeIf { member ->
        member.compatibilityChanges.any { it.type.name() == 'METHOD_ADDED_TO_INTERFACE' }
                ? closed
                : (markOfMember(member) ?: 'STABLE') != 'STABLE'
    }
}
return jApiClasses
