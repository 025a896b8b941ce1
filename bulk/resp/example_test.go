package resp_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"retwis/bulk/resp"
)

// This example encodes Go values in the protocol, for a file or for redis-cli --pipe.
func ExampleEncoder() {
	var out bytes.Buffer
	e := resp.NewEncoder(&out)
	if err := e.Encode("ZADD", "users.by.age", 36, "Ada"); err != nil {
		log.Fatal(err)
	}
	if err := e.Flush(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", out.String())
	// Output: "*4\r\n$4\r\nZADD\r\n$12\r\nusers.by.age\r\n$2\r\n36\r\n$3\r\nAda\r\n"
}

// This example reads and checks the commands of a stream.
func ExampleScanner() {
	stream := "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*1\r\n$4\r\nPING\n\n"
	s := resp.NewScanner(strings.NewReader(stream))
	for s.Scan() {
		fmt.Printf("byte %d: %s, %d arguments\n", s.Offset(), s.Frame().Arg(0), s.Frame().Len())
	}
	text, _, _ := strings.Cut(s.Err().Error(), ";")
	fmt.Println(text)
	// Output:
	// byte 0: GET, 2 arguments
	// bulk: byte 34: expected CRLF after an argument of 4 bytes, found "\n\n"
}
