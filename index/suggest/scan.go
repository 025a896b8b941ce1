package suggest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"retwis/index"
)

// scanner reads the terms of a partition in the order of their names. The order of the
// index differs in one case: its entries end a name with a colon, which is greater than
// digits, blanks and some other characters. So "a1:" and "a b:" come before "a:". The
// names in question are called the stems of a name: "a" is a stem of "a1" and of "a b",
// but not of "ab".
type scanner struct {
	x        *Index
	keys     keys
	count    int64 // entries a round trip
	reverse  bool
	payloads *bool // whether the index has payloads; nil: unknown
}

// stemsOf returns the stems of a name that begin with a prefix, the shortest first.
func stemsOf(name, prefix string) []string {
	var stems []string
	for i := max(1, len(prefix)); i < len(name); i++ {
		if name[i] < ':' && name[i-1] != ' ' {
			stems = append(stems, name[:i])
		}
	}
	return stems
}

// scan yields the terms whose name begins with a prefix, after the key of one.
func (s *scanner) scan(ctx context.Context, prefix, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		o := output{scanner: s, ctx: ctx, yield: yield, last: after}
		low, high := "["+prefix, "["+prefix+"\xff"
		if name := nameOf(after); after != "" {
			switch within := strings.HasPrefix(name, prefix); {
			case !within && (name < prefix) == s.reverse:
				return
			case !within:
			case !o.name(name):
				return
			case s.reverse:
				high = "(" + name
				o.held = stemsOf(name, prefix)
			default:
				low = "[" + name
			}
		}
		if s.reverse {
			o.backward(prefix, low, high)
		} else {
			o.forward(prefix, low, high)
		}
	}
}

// only yields the terms of one name, after the key of one.
func (s *scanner) only(ctx context.Context, name, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		o := output{scanner: s, ctx: ctx, yield: yield, last: after}
		if other := nameOf(after); after == "" || other == name || (other < name) != s.reverse {
			o.name(name)
		}
	}
}

// page reads entries between two bounds.
func (s *scanner) page(ctx context.Context, low, high string) ([]term, error) {
	b := s.x.set.Client.B()
	command := b.Zrangebylex().Key(s.keys.Index).Min(low).Max(high).Limit(0, s.count).Build()
	if s.reverse {
		command = b.Zrevrangebylex().Key(s.keys.Index).Max(high).Min(low).Limit(0, s.count).Build()
	}
	commands := rueidis.Commands{command}
	if s.payloads == nil {
		commands = append(commands, b.Hexists().Key(s.keys.Meta).Field("payloads").Build())
	}
	replies := s.x.set.Client.DoMulti(ctx, commands...)
	members, err := replies[0].AsStrSlice()
	if err != nil {
		return nil, err
	}
	if s.payloads == nil {
		has, err := replies[1].AsBool()
		if err != nil {
			return nil, err
		}
		s.payloads = &has
	}
	terms := make([]term, len(members))
	for i, member := range members {
		var ok bool
		if terms[i], ok = parseEntry(member); !ok {
			return nil, fmt.Errorf("%w: entry %q of %s", index.ErrCorrupt, member, s.keys.Index)
		}
	}
	return terms, s.readPayloads(ctx, terms)
}

// readPayloads reads the payloads of terms, if the index has any: one round trip.
func (s *scanner) readPayloads(ctx context.Context, terms []term) error {
	if len(terms) == 0 || !*s.payloads {
		return nil
	}
	keys := make([]string, len(terms))
	for i, t := range terms {
		keys[i] = t.key
	}
	reply, err := s.x.set.Client.Do(ctx, s.x.set.Client.B().Hmget().Key(s.keys.Content).Field(keys...).Build()).ToMessage()
	if err != nil {
		return err
	}
	payloads, err := payloadsOf(reply)
	for i := range payloads {
		terms[i].payload = payloads[i]
	}
	return err
}

// existing returns the names that have terms: one round trip.
func (s *scanner) existing(ctx context.Context, names []string) ([]string, error) {
	commands := make(rueidis.Commands, len(names))
	for i, name := range names {
		commands[i] = s.x.set.Client.B().Zrangebylex().Key(s.keys.Index).Min("["+name+":").Max("("+name+";").Limit(0, 1).Build()
	}
	var found []string
	for i, r := range s.x.set.Client.DoMulti(ctx, commands...) {
		members, err := r.AsStrSlice()
		if err != nil {
			return nil, err
		}
		if len(members) > 0 {
			found = append(found, names[i])
		}
	}
	return found, nil
}

// output yields the terms of a scan in order.
type output struct {
	scanner *scanner
	ctx     context.Context
	yield   func(Entry, error) bool
	last    string   // the key of the last term; all that follow come after it
	held    []string // backward: stems whose terms come after those that were read, the longest last
}

// fail ends the scan with an error.
func (o *output) fail(err error) bool {
	o.yield(Entry{}, err)
	return false
}

// term yields a term, unless it comes before the last one: then it was yielded, or was
// added since.
func (o *output) term(t term) bool {
	if o.last != "" {
		if by := compareKeys(t.key, o.last); by == 0 || (by > 0) == o.scanner.reverse {
			return true
		}
	}
	o.last = t.key
	return o.yield(Entry{Suggestion: o.scanner.x.decay.suggestion(t), Name: nameOf(t.key)}, nil)
}

// name yields the terms of one name.
func (o *output) name(name string) bool {
	low, high := "["+name+":", "("+name+";"
	if nameOf(o.last) == name {
		low, high = o.next(o.last, low, high)
	}
	for {
		terms, err := o.scanner.page(o.ctx, low, high)
		if err != nil {
			return o.fail(err)
		}
		for _, t := range terms {
			if !o.term(t) {
				return false
			}
		}
		if int64(len(terms)) < o.scanner.count {
			break
		}
		low, high = o.next(terms[len(terms)-1].key, low, high)
	}
	// A term that is added to it from now on is late.
	if o.last = name + ":\xff"; o.scanner.reverse {
		o.last = name + ":\x00"
	}
	return true
}

// next returns the bounds of the entries after a key. The key of an entry ends with a
// colon; the semicolon is the next byte. So the range starts after the term, whatever its
// count is now.
func (o *output) next(key, low, high string) (string, string) {
	if o.scanner.reverse {
		return low, "(" + key + ":"
	}
	return "[" + key + ";", high
}

// forward yields the terms between two bounds. Of the terms that come before others of a
// page, later pages can only have those of its last name and of the stems of this.
func (o *output) forward(prefix, low, high string) {
	for {
		terms, err := o.scanner.page(o.ctx, low, high)
		if err != nil {
			o.fail(err)
			return
		}
		more := int64(len(terms)) == o.scanner.count
		var stems []string
		if more {
			end := terms[len(terms)-1].key
			if stems, err = o.scanner.existing(o.ctx, o.ahead(stemsOf(nameOf(end), prefix))); err != nil {
				o.fail(err)
				return
			}
			stems = append(stems, o.ahead([]string{nameOf(end)})...)
			low, high = o.next(end, low, high)
		}
		slices.SortFunc(terms, func(a, b term) int { return compareKeys(a.key, b.key) })
		for _, t := range terms {
			for len(stems) > 0 && stems[0] < nameOf(t.key) {
				if !o.name(stems[0]) {
					return
				}
				stems = stems[1:]
			}
			if !o.term(t) {
				return
			}
		}
		if !more {
			return
		}
	}
}

// ahead returns those of some names that were not yielded yet.
func (o *output) ahead(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return o.last != "" && name <= nameOf(o.last) })
}

// backward yields the terms between two bounds. If names on later pages have a stem on
// this one, it is held until they are yielded: the last name of the page and its stems.
func (o *output) backward(prefix, low, high string) {
	var err error
	if o.held, err = o.scanner.existing(o.ctx, o.held); err != nil {
		o.fail(err)
		return
	}
	for {
		terms, err := o.scanner.page(o.ctx, low, high)
		if err != nil {
			o.fail(err)
			return
		}
		more := int64(len(terms)) == o.scanner.count
		var stems, hold []string
		if more {
			end := terms[len(terms)-1].key
			stems = append(stemsOf(nameOf(end), prefix), nameOf(end))
			low, high = o.next(end, low, high)
		}
		slices.SortFunc(terms, func(a, b term) int { return compareKeys(b.key, a.key) })
		for _, t := range terms {
			name := nameOf(t.key)
			if !o.release(name) {
				return
			}
			if slices.Contains(stems, name) && !slices.Contains(hold, name) {
				hold = append(hold, name)
			}
			if !slices.Contains(hold, name) && !slices.Contains(o.held, name) && !o.term(t) {
				return
			}
		}
		slices.Sort(hold)
		for _, name := range hold {
			if !slices.Contains(o.held, name) {
				o.held = append(o.held, name)
			}
		}
		if !more {
			o.release("")
			return
		}
	}
}

// release yields the held terms that come before a name.
func (o *output) release(name string) bool {
	for len(o.held) > 0 && o.held[len(o.held)-1] > name {
		held := o.held[len(o.held)-1]
		o.held = o.held[:len(o.held)-1]
		if !o.name(held) {
			return false
		}
	}
	return true
}
