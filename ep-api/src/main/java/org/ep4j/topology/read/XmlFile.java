package org.ep4j.topology.read;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.xml.XMLConstants;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.ep4j.topology.Printable;
import org.ep4j.topology.TopologyException;

/**
 * Reads a small XML file as a tree. A DOCTYPE line is passed over: no DTD is loaded, no entity is declared, nothing outside
 * the text is opened. Size, depth and number of elements are limited, since files come from other people.
 */
final class XmlFile {
    /** Characters. The largest real machine seen has 300 thousand. */
    static final int LENGTH = SourceFile.MOST_BYTES;

    /** Elements. A machine of 2,000 processors has about 10 thousand. */
    static final int ELEMENTS = 40_000;

    /** Attributes of all elements. A machine of 2,000 processors has about 60 thousand. */
    static final int ATTRIBUTES = 200_000;

    /** Elements within each other. Real machines have about 25; Java 24 and newer stop at 100 with words of their own. */
    static final int DEPTH = 64;

    /** Characters of an attribute; NCCL takes 254. */
    private static final int VALUE = 256;

    /** Characters of what hwloc tells of an object, such as where it runs. */
    private static final int INFO = 4096;

    /** Characters of a set of processors: 8,192 of them have some 3 thousand. */
    private static final int SET = 16_384;

    /** What the parser of the JDK puts before the reason. */
    private static final String REASON = "Message: ";

    private final String source;
    private final XMLStreamReader reader;
    private int elements;
    private int attributes;

    private XmlFile(String source, XMLStreamReader reader) {
        this.source = source;
        this.reader = reader;
    }

    /**
     * Reads a text.
     *
     * @throws TopologyException if it is no well-formed XML or beyond a limit, with the line
     */
    static XmlElement read(String source, String text) {
        if (text.length() > LENGTH) {
            throw Faults.at(
                    source,
                    1,
                    "the file has " + text.length() + " characters; at most " + LENGTH
                            + " are read, as no machine needs more: name its description");
        }
        XMLStreamReader reader;
        try {
            reader = factory().createXMLStreamReader(new StringReader(text));
        } catch (XMLStreamException e) {
            throw broken(source, 1, e);
        }
        return new XmlFile(source, reader).root();
    }

    private static XMLInputFactory factory() {
        XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
        factory.setProperty(XMLConstants.ACCESS_EXTERNAL_DTD, "");
        factory.setProperty(XMLInputFactory.IS_NAMESPACE_AWARE, false);
        factory.setProperty(XMLInputFactory.IS_COALESCING, true);
        return factory;
    }

    private XmlElement root() {
        try {
            while (reader.hasNext()) {
                if (reader.next() == XMLStreamConstants.START_ELEMENT) {
                    XmlElement root = element(1);
                    finish();
                    return root;
                }
            }
            throw Faults.at(source, line(), "the file has no element");
        } catch (XMLStreamException e) {
            throw broken(source, line(), e);
        } catch (TopologyException e) {
            throw e;
        } catch (RuntimeException e) {
            // The parser of the JDK lets failures of its own inside out on some broken input.
            throw broken(source, line(), e);
        }
    }

    /** What follows the root must be well-formed too: a file that was cut or joined is not half read. */
    private void finish() throws XMLStreamException {
        while (reader.hasNext()) {
            reader.next();
        }
    }

    private XmlElement element(int depth) throws XMLStreamException {
        String name = reader.getLocalName();
        int line = line();
        elements++;
        if (elements > ELEMENTS) {
            throw Faults.at(
                    source,
                    line,
                    "more than " + ELEMENTS + " elements, which no machine needs: name the description of one");
        }
        if (depth > DEPTH) {
            throw Faults.at(
                    source,
                    line,
                    "elements nested deeper than " + DEPTH + ", which no machine needs: name the description of one");
        }
        Map<String, String> attributes = attributes();
        List<XmlElement> children = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        int event = reader.next();
        while (event != XMLStreamConstants.END_ELEMENT) {
            if (event == XMLStreamConstants.START_ELEMENT) {
                children.add(element(depth + 1));
            } else if (event == XMLStreamConstants.CHARACTERS) {
                text.append(reader.getText());
            } else if (event == XMLStreamConstants.END_DOCUMENT) {
                throw Faults.at(source, line(), "the file ends inside " + Faults.quote(name) + " of line " + line);
            }
            event = reader.next();
        }
        return new XmlElement(
                source,
                line,
                name,
                attributes,
                List.copyOf(children),
                text.toString().strip());
    }

    private Map<String, String> attributes() {
        attributes += reader.getAttributeCount();
        if (attributes > ATTRIBUTES) {
            throw Faults.at(
                    source,
                    line(),
                    "more than " + ATTRIBUTES + " attributes, which no machine needs: name the description of one");
        }
        Map<String, String> found = new LinkedHashMap<>();
        for (int i = 0; i < reader.getAttributeCount(); i++) {
            String name = reader.getAttributeLocalName(i);
            String value = reader.getAttributeValue(i);
            if (value.length() > most(name)) {
                throw Faults.at(
                        source,
                        line(),
                        "attribute " + Faults.quote(name) + " of " + Faults.quote(reader.getLocalName()) + " has "
                                + value.length() + " characters, beginning " + Faults.quote(value) + "; at most "
                                + most(name) + " are read, shorten it");
            }
            found.put(name, Printable.of(value));
        }
        return found;
    }

    private static int most(String attribute) {
        return attribute.endsWith("set") || attribute.equals("affinity")
                ? SET
                : attribute.equals("value") ? INFO : VALUE;
    }

    private int line() {
        return Math.max(1, reader.getLocation().getLineNumber());
    }

    private static TopologyException broken(String source, int line, Exception cause) {
        int at = cause instanceof XMLStreamException e && e.getLocation() != null
                ? Math.max(1, e.getLocation().getLineNumber())
                : line;
        String message = String.valueOf(cause.getMessage());
        int start = message.indexOf(REASON);
        String reason = start < 0 ? message : message.substring(start + REASON.length());
        return new TopologyException(
                source + ", line " + at + ": the XML is broken or cut off: " + Faults.quote(reason), cause);
    }
}
