package main

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
)

var word = regexp.MustCompile(`'[^']*'|\S+`)

// externalCommand matches commands of programs that only tests with the tag "programs" may run.
var externalCommand = regexp.MustCompile(`^(?:curl|sqlite3) `)

// needSQL lists the pages whose commands depend on earlier sqlite3 commands.
var needSQL = map[string]bool{"relational.md": true}

// withoutPrograms drops the commands that need curl or sqlite3. It keeps curl commands that show no
// output, because reader.curl can emulate them.
func withoutPrograms(page string, all []example) []example {
	var kept []example
	for _, e := range all {
		if !needSQL[page] && (!externalCommand.MatchString(e.command) || strings.HasPrefix(e.command, "curl ") && e.output == "") {
			kept = append(kept, e)
		}
	}
	return kept
}

// curl emulates a curl command. A cookie file on the command line only names a cookie jar; no file
// is written.
func (r *reader) curl(command string) error {
	method, form, jar := http.MethodGet, "", ""
	words := word.FindAllString(command, -1)[1:]
	for i := 0; i < len(words)-1; i++ {
		value := strings.Trim(words[i+1], "'")
		switch words[i] {
		case "-s":
			continue
		case "-b", "-c":
			jar = value
		case "-d":
			form, method = value, http.MethodPost
		case "-X":
			method = value
		default:
			return fmt.Errorf("unknown curl flag %s", words[i])
		}
		i++
	}
	if r.jars == nil {
		r.jars = map[string]http.CookieJar{}
	}
	if r.jars[jar] == nil {
		r.jars[jar], _ = cookiejar.New(nil)
	}
	client := http.Client{Jar: r.jars[jar], CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(r.t.Context(), method, words[len(words)-1], strings.NewReader(form))
	if err != nil {
		return err
	}
	if form != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	status, page, err := read(client.Do(request))
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("status %d: %s", status, page)
	}
	return err
}
