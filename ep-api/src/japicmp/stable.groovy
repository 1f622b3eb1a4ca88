// Leaves STABLE members of STABLE types, by their marks (@API) in the baseline, so that a promise outlives its mark.
// The new version's mark counts for what the baseline does not have. A member without a mark has the mark of its type.

// Others implement these interfaces and the stable ones of the SPI, which may not gain abstract methods of any mark. The rest may: only ep4j
// implements it.
def open = ['org.ep4j.Bootstrap', 'org.ep4j.Bootstrap$Broadcast', 'org.ep4j.EpEvent']

def mark = { element ->
    def api = element.annotations.find { it.fullyQualifiedName == 'org.apiguardian.api.API' }
    def annotation = element.changeStatus.name() == 'NEW' ? api?.newAnnotation : api?.oldAnnotation
    annotation?.orElse(null)?.getMemberValue('status')?.value
}

jApiClasses.removeIf { mark(it) != 'STABLE' }
jApiClasses.each { type ->
    def closed = !(type.fullyQualifiedName in open || type.fullyQualifiedName.startsWith('org.ep4j.spi.'))
    [type.methods, type.constructors, type.fields]*.removeIf { member ->
        member.compatibilityChanges.any { it.type.name() == 'METHOD_ADDED_TO_INTERFACE' }
                ? closed
                : (mark(member) ?: 'STABLE') != 'STABLE'
    }
}
return jApiClasses
