// Package rdf reads and writes files of triples: N-Triples and tab-separated values.
//
// A dump of facts is one triple a line, and may have a billion lines, some of them
// wrong. Read yields the triples while it reads, reports each bad line with its
// place, and continues after it; Write writes what Read reads:
//
//	for t, err := range rdf.Read(file, rdf.Auto) {
//		var bad *rdf.SyntaxError
//		switch {
//		case errors.As(err, &bad): // this line only
//			log.Print(bad)
//		case err != nil: // of the reader
//			return err
//		default: // t.S, t.P, t.O
//		}
//	}
//
// Terms of N-Triples are in canonical form, so that two spellings of a term are
// the same string. Turtle and RDF/XML are not read; Auto recognizes them and says
// how to convert them. Memory is bounded by the longest line, at most 4 MiB.
package rdf
