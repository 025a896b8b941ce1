package graph

import (
	"strconv"
	"strings"
)

// route is a path from a name to other names. Exactly one of predicate, steps and again
// is set. A route is never modified.
type route struct {
	predicate string // one triple
	inverse   bool   // of one triple: from its object to its subject

	steps []*route // one after the other, two or more

	again    *route // min to max times; max 0: any number of times
	min, max int
}

// The limits of a path.
const (
	maxSteps      = 1000 // triples of a bounded path
	maxPredicates = 64
)

// routeOf returns the route of a term, or nil if the term is none.
func (t Term) routeOf() *route {
	switch t.kind {
	case named:
		return &route{predicate: t.text}
	case path:
		return t.route
	}
	return nil
}

// Path is the path of min to max triples with a predicate: Repeat(Name(predicate), min,
// max).
func Path(predicate string, min, max int) Term { return Repeat(Name(predicate), min, max) }

// Inverse is a path from its end to its start: Inverse(Name("knows")) leads from an object
// to its subjects. The path is a predicate, as a Name, or a path.
func Inverse(of Term) Term {
	r := of.routeOf()
	if r == nil {
		return Term{kind: path}
	}
	return Term{kind: path, route: r.turned()}
}

// Sequence is a path that follows other paths one after the other, each a predicate, as a
// Name, or a path.
func Sequence(of ...Term) Term {
	var steps []*route
	for _, t := range of {
		r := t.routeOf()
		switch {
		case r == nil:
			return Term{kind: path}
		case r.steps != nil:
			steps = append(steps, r.steps...)
		default:
			steps = append(steps, r)
		}
	}
	switch len(steps) {
	case 0:
		return Term{kind: path}
	case 1:
		return Term{kind: path, route: steps[0]}
	}
	return Term{kind: path, route: &route{steps: steps}}
}

// Repeat is a path that follows another one min to max times; a max of 0 is any number of
// times. With a min of 0 every name has a path to itself; one end of such a path must be
// a name, or a variable that another pattern binds. A repetition within a repetition can
// read a triple more than once.
func Repeat(of Term, min, max int) Term {
	r := of.routeOf()
	switch {
	case r == nil:
		return Term{kind: path}
	case min == 1 && max == 1:
		return Term{kind: path, route: r}
	}
	return Term{kind: path, route: &route{again: r, min: min, max: max}}
}

// turned returns the route from its end to its start.
func (r *route) turned() *route {
	switch {
	case r.again != nil:
		return &route{again: r.again.turned(), min: r.min, max: r.max}
	case r.steps != nil:
		turned := &route{steps: make([]*route, len(r.steps))}
		for i, step := range r.steps {
			turned.steps[len(r.steps)-1-i] = step.turned()
		}
		return turned
	}
	return &route{predicate: r.predicate, inverse: !r.inverse}
}

// check returns what is wrong with a route, or "".
func (r *route) check() string {
	if r == nil {
		return "a path is made of names of predicates and of other paths"
	}
	if n := len(r.predicates()); n > maxPredicates {
		return "a path has " + strconv.Itoa(n) + " predicates: at most " + strconv.Itoa(maxPredicates) + " are allowed"
	}
	_, problem := r.checkSteps()
	return problem
}

// checkSteps returns the number of triples for which a route is searched, that is of its
// longest path if it is bounded, and what is wrong with it, or "".
func (r *route) checkSteps() (steps int, problem string) {
	all := r.steps
	if r.again != nil {
		all = []*route{r.again}
	}
	if len(all) == 0 {
		return 1, ""
	}
	for _, step := range all {
		n, problem := step.checkSteps()
		if problem != "" {
			return 0, problem
		}
		steps += n
	}
	if r.again != nil {
		switch {
		case r.min < 0 || r.max < 0 || r.min > maxSteps || r.max > maxSteps:
			return 0, r.String() + " repeats from " + strconv.Itoa(r.min) + " to " + strconv.Itoa(r.max) + " times: use 0 to " + strconv.Itoa(maxSteps)
		case r.max > 0 && r.min > r.max:
			return 0, r.String() + " repeats at least " + strconv.Itoa(r.min) + " times and at most " + strconv.Itoa(r.max)
		}
		steps *= max(r.min, r.max, 1)
	}
	if steps > maxSteps {
		return 0, r.String() + " has up to " + strconv.Itoa(steps) + " steps: at most " + strconv.Itoa(maxSteps) + " are allowed"
	}
	return steps, ""
}

// empty reports whether the route leads from every name to itself, without a triple.
func (r *route) empty() bool {
	if r.again != nil {
		return r.min == 0 || r.again.empty()
	}
	for _, step := range r.steps {
		if !step.empty() {
			return false
		}
	}
	return r.steps != nil
}

// longest returns the maximum number of triples, at most maxSteps.
func (r *route) longest() int {
	n := 1
	switch {
	case r.again != nil && r.max == 0:
		n = maxSteps
	case r.again != nil:
		n = r.max * r.again.longest()
	case r.steps != nil:
		n = 0
		for _, step := range r.steps {
			n += step.longest()
		}
	}
	return min(n, maxSteps)
}

// predicates returns all routes of one triple.
func (r *route) predicates() []*route {
	switch {
	case r.again != nil:
		return r.again.predicates()
	case r.steps != nil:
		var all []*route
		for _, step := range r.steps {
			all = append(all, step.predicates()...)
		}
		return all
	}
	return []*route{r}
}

// firsts returns the routes of one triple with which the route can begin, each once.
func (r *route) firsts() []*route {
	var all []*route
	switch {
	case r.again != nil:
		all = r.again.firsts()
	case r.steps != nil:
		for _, step := range r.steps {
			all = append(all, step.firsts()...)
			if !step.empty() {
				break
			}
		}
	default:
		return []*route{r}
	}
	return unique(all)
}

// unique returns routes of one triple, each once.
func unique(all []*route) (some []*route) {
	type one struct {
		predicate string
		inverse   bool
	}
	seen := map[one]bool{}
	for _, r := range all {
		if key := (one{r.predicate, r.inverse}); !seen[key] {
			seen[key] = true
			some = append(some, r)
		}
	}
	return some
}

// from returns the pattern of the triples that a route of one triple follows from a term.
func (r *route) from(t Term) Pattern {
	if r.inverse {
		return Pattern{P: Name(r.predicate), O: t}
	}
	return Pattern{S: t, P: Name(r.predicate)}
}

// String formats the route for Parse.
func (r *route) String() string {
	switch {
	case r == nil:
		return "(no path)"
	case r.again != nil:
		if r.again.steps == nil && r.again.again == nil {
			return r.again.String() + r.length()
		}
		return "(" + r.again.String() + ")" + r.length()
	case r.steps != nil:
		steps := make([]string, len(r.steps))
		for i, step := range r.steps {
			steps[i] = step.String()
		}
		return strings.Join(steps, "/")
	}
	name := quoted(r.predicate)
	if name == r.predicate && name[0] != '<' && strings.ContainsAny(name, pathBytes) { // a URL
		name = inQuotes(name)
	}
	if r.inverse {
		return "^" + name
	}
	return name
}

// length formats the number of repetitions.
func (r *route) length() string {
	switch {
	case r.min == 1 && r.max == 0:
		return "+"
	case r.max == 0:
		return "*" + strconv.Itoa(r.min) + ".."
	case r.min == r.max:
		return "*" + strconv.Itoa(r.min)
	}
	return "*" + strconv.Itoa(r.min) + ".." + strconv.Itoa(r.max)
}
