package main

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
)

var word = regexp.MustCompile(`'[^']*'|\S+`)

// outside matches commands of programs that only tests with the tag "programs" may use.
var outside = regexp.MustCompile(`^(?:curl|sqlite3) `)

// needSQL lists the pages whose commands depend on what sqlite3 did before.
var needSQL = map[string]bool{"relational.md": true}

// withoutPrograms leaves out the commands that cannot run here: those of sqlite3, and those whose
// output includes more than curl's.
func withoutPrograms(page string, all []example) []example {
	var rest []example
	for _, e := range all {
		if !needSQL[page] && (!outside.MatchString(e.command) || strings.HasPrefix(e.command, "curl ") && e.output == "") {
			rest = append(rest, e)
		}
	}
	return rest
}

// curl emulates a curl command that sends a form with the cookies of a file. The file is only a
// name here.
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
			return fmt.Errorf("%s: this flag is not known", words[i])
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
