package syntax

import (
	"strconv"
	"strings"
)

// Route is a path from a name to other names. Exactly one of Predicate, Steps and Again
// is set. A route is never modified; nil is one that is not valid.
type Route struct {
	Predicate string // one triple
	Inverse   bool   // of one triple: from its object to its subject

	Steps []*Route // one after the other, two or more

	Again    *Route // Min to Max times; Max 0: any number of times
	Min, Max int
}

// The limits of a path.
const (
	maxSteps      = 1000 // triples of a bounded path
	maxPredicates = 64
)

// Step returns the route of one triple, from its subject to its object.
func Step(predicate string) *Route { return &Route{Predicate: predicate} }

// Sequence returns the route that follows others one after the other. It is nil if one of
// them is, or if there are none.
func Sequence(of ...*Route) *Route {
	var steps []*Route
	for _, r := range of {
		switch {
		case r == nil:
			return nil
		case r.Steps != nil:
			steps = append(steps, r.Steps...)
		default:
			steps = append(steps, r)
		}
	}
	switch len(steps) {
	case 0:
		return nil
	case 1:
		return steps[0]
	}
	return &Route{Steps: steps}
}

// Repeat returns the route that follows another one min to max times; a max of 0 is any
// number of times.
func Repeat(of *Route, min, max int) *Route {
	if of == nil || min == 1 && max == 1 {
		return of
	}
	return &Route{Again: of, Min: min, Max: max}
}

// Turned returns the route from its end to its start.
func (r *Route) Turned() *Route {
	switch {
	case r == nil:
		return nil
	case r.Again != nil:
		return &Route{Again: r.Again.Turned(), Min: r.Min, Max: r.Max}
	case r.Steps != nil:
		turned := &Route{Steps: make([]*Route, len(r.Steps))}
		for i, step := range r.Steps {
			turned.Steps[len(r.Steps)-1-i] = step.Turned()
		}
		return turned
	}
	return &Route{Predicate: r.Predicate, Inverse: !r.Inverse}
}

// Check returns what is wrong with a route, or "".
func (r *Route) Check() string {
	if r == nil {
		return "a path is made of names of predicates and of other paths"
	}
	if n := len(r.Predicates()); n > maxPredicates {
		return "a path has " + strconv.Itoa(n) + " predicates: at most " + strconv.Itoa(maxPredicates) + " are allowed"
	}
	_, problem := r.checkSteps()
	return problem
}

// checkSteps returns the number of triples for which a route is searched, that is of its
// longest path if it is bounded, and what is wrong with it, or "".
func (r *Route) checkSteps() (steps int, problem string) {
	all := r.Steps
	if r.Again != nil {
		all = []*Route{r.Again}
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
	if r.Again != nil {
		switch {
		case r.Min < 0 || r.Max < 0 || r.Min > maxSteps || r.Max > maxSteps:
			return 0, r.String() + " repeats from " + strconv.Itoa(r.Min) + " to " + strconv.Itoa(r.Max) + " times: use 0 to " + strconv.Itoa(maxSteps)
		case r.Max > 0 && r.Min > r.Max:
			return 0, r.String() + " repeats at least " + strconv.Itoa(r.Min) + " times and at most " + strconv.Itoa(r.Max)
		}
		steps *= max(r.Min, r.Max, 1)
	}
	if steps > maxSteps {
		return 0, r.String() + " has up to " + strconv.Itoa(steps) + " steps: at most " + strconv.Itoa(maxSteps) + " are allowed"
	}
	return steps, ""
}

// Empty reports whether the route leads from every name to itself, without a triple.
func (r *Route) Empty() bool {
	if r.Again != nil {
		return r.Min == 0 || r.Again.Empty()
	}
	for _, step := range r.Steps {
		if !step.Empty() {
			return false
		}
	}
	return r.Steps != nil
}

// Longest returns the maximum number of triples, at most maxSteps.
func (r *Route) Longest() int {
	n := 1
	switch {
	case r.Again != nil && r.Max == 0:
		n = maxSteps
	case r.Again != nil:
		n = r.Max * r.Again.Longest()
	case r.Steps != nil:
		n = 0
		for _, step := range r.Steps {
			n += step.Longest()
		}
	}
	return min(n, maxSteps)
}

// Predicates returns all routes of one triple.
func (r *Route) Predicates() []*Route {
	switch {
	case r.Again != nil:
		return r.Again.Predicates()
	case r.Steps != nil:
		var all []*Route
		for _, step := range r.Steps {
			all = append(all, step.Predicates()...)
		}
		return all
	}
	return []*Route{r}
}

// Firsts returns the routes of one triple with which the route can begin, each once.
func (r *Route) Firsts() []*Route {
	var all []*Route
	switch {
	case r.Again != nil:
		all = r.Again.Firsts()
	case r.Steps != nil:
		for _, step := range r.Steps {
			all = append(all, step.Firsts()...)
			if !step.Empty() {
				break
			}
		}
	default:
		return []*Route{r}
	}
	return unique(all)
}

// unique returns routes of one triple, each once.
func unique(all []*Route) (some []*Route) {
	type one struct {
		predicate string
		inverse   bool
	}
	seen := map[one]bool{}
	for _, r := range all {
		if key := (one{r.Predicate, r.Inverse}); !seen[key] {
			seen[key] = true
			some = append(some, r)
		}
	}
	return some
}

// String formats the route for Parse.
func (r *Route) String() string {
	switch {
	case r == nil:
		return "(no path)"
	case r.Again != nil:
		if r.Again.Steps == nil && r.Again.Again == nil {
			return r.Again.String() + r.length()
		}
		return "(" + r.Again.String() + ")" + r.length()
	case r.Steps != nil:
		steps := make([]string, len(r.Steps))
		for i, step := range r.Steps {
			steps[i] = step.String()
		}
		return strings.Join(steps, "/")
	}
	name := Quote(r.Predicate)
	if name == r.Predicate && name[0] != '<' && strings.ContainsAny(name, pathBytes) { // a URL
		name = inQuotes(name)
	}
	if r.Inverse {
		return "^" + name
	}
	return name
}

// length formats the number of repetitions.
func (r *Route) length() string {
	switch {
	case r.Min == 1 && r.Max == 0:
		return "+"
	case r.Max == 0:
		return "*" + strconv.Itoa(r.Min) + ".."
	case r.Min == r.Max:
		return "*" + strconv.Itoa(r.Min)
	}
	return "*" + strconv.Itoa(r.Min) + ".." + strconv.Itoa(r.Max)
}
