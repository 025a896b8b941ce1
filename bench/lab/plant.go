package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// plant breaks promises on purpose, in the browser of the lab, so that a test can show
// that the checker finds it. Retwis itself does not know of it.
type plant struct {
	mu      sync.Mutex
	on      map[string]bool
	done    map[string]int
	homes   map[string]string // an earlier home page of each person
	missing map[string]bool   // posts that half of the people are not shown
}

// plants are the faults that can be planted, and what they do.
var plants = map[string]string{
	"lost-post":    "answer a post and do not send it",
	"double-post":  "show a post of the home timeline twice",
	"missing":      "leave a post out of the home timelines of half of the people, as a lost slice of a fan-out does",
	"stale-home":   "show an earlier home timeline again",
	"lost-delete":  "answer a deletion and do not send it",
	"lost-block":   "answer a block and do not send it",
	"lost-log-out": "answer a log-out and do not send it",
}

func newPlant(names []string) (*plant, error) {
	p := &plant{on: map[string]bool{}, done: map[string]int{}, homes: map[string]string{}, missing: map[string]bool{}}
	for _, name := range names {
		if _, ok := plants[name]; !ok {
			return nil, fmt.Errorf("--plant %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(plants)), ", "))
		}
		p.on[name] = true
	}
	return p, nil
}

// turn reports whether a planted fault happens now: each third time.
func (p *plant) turn(name string) bool {
	if !p.on[name] {
		return false
	}
	p.done[name]++
	return p.done[name]%3 == 1
}

// before returns an answer in place of that of the site.
func (p *plant) before(b *browser, method, path string) (answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method != http.MethodPost {
		return answer{}, false
	}
	done := answer{status: http.StatusSeeOther, location: "/home"}
	switch {
	case path == "/post" && p.turn("lost-post"),
		strings.HasSuffix(path, "/delete") && p.turn("lost-delete"),
		strings.HasSuffix(path, "/block") && p.turn("lost-block"),
		path == "/logout" && p.turn("lost-log-out"):
		return done, true
	}
	return answer{}, false
}

// after changes an answer of the site.
func (p *plant) after(b *browser, method, path string, form url.Values, a *answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == http.MethodPost && path == "/post" && p.turn("missing"):
		p.missing[form.Get("status")] = true
	case path == "/home" && a.status == http.StatusOK:
		page := a.body
		if earlier := p.homes[b.name]; earlier != "" && p.turn("stale-home") {
			a.body = earlier
		} else if earlier == "" {
			p.homes[b.name] = page
		}
	}
	if path == "/home" && strings.Contains(a.body, article) && p.turn("double-post") {
		parts := strings.Split(a.body, article)
		a.body = strings.Join(slices.Insert(parts, 1, parts[1]), article)
	}
	if strings.HasPrefix(path, "/home") && len(p.missing) > 0 && b.name[len(b.name)-1]%2 == 0 {
		a.body = p.without(a.body)
	}
}

// article is how a post begins on a page.
const article = `<article class="post"`

// without takes posts out of a page.
func (p *plant) without(page string) string {
	parts := strings.Split(page, article)
	left := parts[:1]
	for _, part := range parts[1:] {
		text := bodyText.FindStringSubmatch(part)
		if text != nil && p.missing[text[1]] {
			_, rest, _ := strings.Cut(part, "</article>")
			left[len(left)-1] += rest
			continue
		}
		left = append(left, part)
	}
	return strings.Join(left, article)
}
