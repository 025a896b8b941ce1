package rdf_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"retwis/index/graph/rdf"
)

// A file of N-Triples is read line by line and written as TSV; invalid lines are
// reported.
func Example() {
	file := `<http://a/ada> <http://a/likes> "t\u00e9"@fr . # a comment
<http://a/ada> likes tea .
_:b1 <http://a/likes> <http://a/ada> .
`
	n, err := rdf.Write(os.Stdout, rdf.TSV, func(yield func(rdf.Triple, error) bool) {
		for t, err := range rdf.Read(strings.NewReader(file), rdf.NTriples) {
			if err != nil {
				fmt.Println(err)
				continue
			}
			if !yield(t, nil) {
				return
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	// Output:
	// rdf: line 2, column 16: expected a predicate, <IRI>, found 'l'
	// <http://a/ada>	<http://a/likes>	"té"@fr
	// _:b1	<http://a/likes>	<http://a/ada>
	// 2
}
