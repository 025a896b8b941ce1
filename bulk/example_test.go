package bulk_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/redis/rueidis"

	"retwis/bulk"
	"retwis/internal/redistest"
)

// This example loads records, with two commands per record.
func Example() {
	urls, stop := redistest.Example(1)
	defer stop()

	people := "id,name,age\n1,Ada,36\n2,Grace,85\n"
	server, err := rueidis.ParseURL(urls[0])
	if err != nil {
		log.Fatal(err)
	}
	do := []string{"HSET user:{id} name {name} age {age|int}", "ZADD users.by.age {age} {id}"}
	report, err := bulk.Load(context.Background(), server, bulk.Options{Do: do}, bulk.From(strings.NewReader(people)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d records, %d commands, %d failed\n", report.Records, report.Replies, report.Errors)
	// Output: 2 records, 4 commands, 0 failed
}

// Load reports failed commands with their lines and loads the other commands.
func ExampleLoad_errors() {
	urls, stop := redistest.Example(1)
	defer stop()

	var failed bytes.Buffer
	commands := "SET visits many\nINCR visits\nSET after \"it goes on\"\n"
	server, err := rueidis.ParseURL(urls[0])
	if err != nil {
		log.Fatal(err)
	}
	report, err := bulk.Load(context.Background(), server, bulk.Options{ErrorsTo: &failed}, bulk.From(strings.NewReader(commands)))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range report.Failures {
		fmt.Printf("line %d: %s: %s\n", f.Line, f.Text, f.Error)
	}
	fmt.Printf("%d of %d; to be loaded again: %q\n", report.Errors, report.Replies, failed.String())
	// Output:
	// line 2: INCR visits: ERR value is not an integer or out of range
	// 1 of 3; to be loaded again: "*2\r\n$4\r\nINCR\r\n$6\r\nvisits\r\n"
}

// Emit converts any input format to the protocol.
func ExampleEmit() {
	var out bytes.Buffer
	opt := bulk.Options{Do: []string{"SADD cities {city}"}}
	report, err := bulk.Emit(context.Background(), &out, opt, bulk.From(strings.NewReader(`{"city":"Palermo"}`)))
	fmt.Printf("%q, %d command, %v\n", out.String(), report.Commands, err)
	// Output: "*3\r\n$4\r\nSADD\r\n$6\r\ncities\r\n$7\r\nPalermo\r\n", 1 command, <nil>
}

// Several files, which may have different formats, form one input.
func ExampleEmit_files() {
	file := func(name, text string) bulk.File {
		return bulk.File{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
	}
	files := []bulk.File{file("old.csv", "name,born\nAda,1815\n"), file("new.json", `[{"name": "Grace"}, {"nick": "Al"}, {"name": "Alan"}]`)}
	var bad bytes.Buffer
	report, err := bulk.Emit(context.Background(), io.Discard, bulk.Options{Do: []string{"SET person:{#} {name}"}, BadTo: &bad}, files...)
	fmt.Printf("%d commands, %d bad record, %v\n%s", report.Commands, report.Bad, err, &bad)
	// Output:
	// 3 commands, 1 bad record, <nil>
	// {"file":"new.json","line":1,"record":3,"reason":"field \"name\" is missing; give it a {name|default:TEXT}, or skip such records (for SET person:{#} {name})","text":"{\"nick\": \"Al\"}"}
}
