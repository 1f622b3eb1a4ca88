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
import org.ep4j.topology.model.TopologyException;

/**
 * Reads a small XML file as a tree. A DOCTYPE line is passed over: no DTD is loaded, no entity is declared, nothing outside
 * the text is opened. Size, depth and number of elements are limited, since files come from other people.
 */
final class XmlFile {
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
        if (text.length() > Limits.XML) {
            throw Faults.at(
                    source, 1, "the file has " + text.length() + " characters; at most " + Limits.XML + " are read");
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
        if (elements > Limits.ELEMENTS) {
            throw Faults.at(source, line, "more than " + Limits.ELEMENTS + " elements");
        }
        if (depth > Limits.DEPTH) {
            throw Faults.at(source, line, "elements nested deeper than " + Limits.DEPTH);
        }
        attributes += reader.getAttributeCount();
        if (attributes > Limits.ATTRIBUTES) {
            throw Faults.at(source, line, "more than " + Limits.ATTRIBUTES + " attributes");
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
        Map<String, String> attributes = new LinkedHashMap<>();
        for (int i = 0; i < reader.getAttributeCount(); i++) {
            attributes.put(reader.getAttributeLocalName(i), reader.getAttributeValue(i));
        }
        return attributes;
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
