package org.ep4j.topology.read;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.XMLConstants;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.ep4j.topology.model.TopologyException;

/** An element of an XML file, with the line where its start tag ends and the stripped text directly in it. */
record XmlElement(
        String source, int line, String name, Map<String, String> attributes, List<XmlElement> children, String text) {
    /** The beginning of a text that C's {@code strtol(text, end, 0)} reads, without octal numbers. */
    private static final Pattern NUMBER = Pattern.compile("\\s*([+-]?)(?:0[xX]([0-9a-fA-F]{1,15})|([0-9]{1,18})).*");

    /** Reads a text; the exception names the line that is not well-formed or beyond a limit. */
    static XmlElement read(String source, String text) {
        if (text.length() > Limits.XML) {
            throw Faults.at(
                    source, 1, "the file has " + text.length() + " characters; at most " + Limits.XML + " are read");
        }
        XMLStreamReader reader;
        try {
            reader = Parser.factory().createXMLStreamReader(new StringReader(text));
        } catch (XMLStreamException e) {
            throw Parser.broken(source, 1, e);
        }
        return new Parser(source, reader).root();
    }

    /** Returns an element without attributes and content at the place of this one. */
    XmlElement empty(String kind) {
        return new XmlElement(source, line, kind, Map.of(), List.of(), "");
    }

    Optional<String> attribute(String key) {
        return Optional.ofNullable(attributes.get(key));
    }

    String value(String key) {
        return attributes.getOrDefault(key, "");
    }

    List<XmlElement> children(String kind) {
        return children.stream().filter(child -> child.name().equals(kind)).toList();
    }

    /** Number of an attribute, held to the range of an int; empty when it is missing or no number. */
    OptionalInt number(String key) {
        Matcher number = NUMBER.matcher(value(key));
        if (!number.matches()) {
            return OptionalInt.empty();
        }
        String hex = number.group(2);
        long size = hex != null ? Long.parseLong(hex, 16) : Long.parseLong(number.group(3));
        long signed = number.group(1).equals("-") ? -size : size;
        return OptionalInt.of((int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, signed)));
    }

    /** Number of an attribute if it is within limits, else another. */
    int number(String key, int least, int most, int otherwise) {
        OptionalInt number = number(key);
        return number.isPresent() && number.getAsInt() >= least && number.getAsInt() <= most
                ? number.getAsInt()
                : otherwise;
    }

    /** Refuses a file that has more of something than is read. */
    void limit(int found, int most, String what) {
        if (found > most) {
            throw wrong("more than " + most + " " + what);
        }
    }

    /** Says that the file cannot be understood here. */
    TopologyException wrong(String reason) {
        return Faults.at(source, line, reason);
    }

    /**
     * Reads a small XML file as a tree. A DOCTYPE line is passed over: no DTD is loaded, no entity is declared, nothing
     * outside the text is opened. Size, depth and number of elements are limited, since files come from other people.
     */
    private static final class Parser {
        /** Prefix of the reason in messages of the JDK's parser. */
        private static final String REASON = "Message: ";

        private final String source;
        private final XMLStreamReader reader;
        private int elements;
        private int attributes;

        Parser(String source, XMLStreamReader reader) {
            this.source = source;
            this.reader = reader;
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

        /** Reads on, since a file that was cut or joined behind the root must be refused. */
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
}
