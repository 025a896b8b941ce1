package bulk

import (
	"net"
	"strings"
)

// redirected tells whether an error says that the command belongs elsewhere, or later.
// It is called by pipes.
func (l *loader) redirected(p *pipe, c *chunk, i int, words string) bool {
	word, rest, _ := strings.Cut(words, " ")
	if l.cluster {
		if _, addr, ok := strings.Cut(rest, " "); ok && (word == "MOVED" || word == "ASK") {
			if c.turned == nil {
				c.turned = make(map[int]redirect)
			}
			c.turned[i] = redirect{l.nodeAddr(p, addr), word == "ASK"}
			if word == "ASK" && c.items[i].flags&inUnit != 0 { // ASKING is for one command, not for a transaction
				c.items[i].flags |= later
			}
			return true
		}
		if word == "TRYAGAIN" || word == "CLUSTERDOWN" {
			c.items[i].flags |= later
			return true
		}
		return false
	}
	// A server that its sentinels have replaced.
	return word == "READONLY" && l.dialer.opt.Sentinel.MasterSet != ""
}

// nodeAddr is the address in a redirection, which may leave out the host: that of the
// server that sent it.
func (l *loader) nodeAddr(p *pipe, addr string) string {
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		if host, _, err := net.SplitHostPort(p.conn.addr); err == nil {
			return net.JoinHostPort(host, port)
		}
	}
	return addr
}

// failed counts the error of a command. It is called by pipes.
func (l *loader) failed(p *pipe, c *chunk, i int, words string, raw []byte) {
	switch it := c.items[i]; {
	case it.flags&copied != 0:
		l.refusals.add(p, words)
		return
	case it.many > 1:
		l.failedSet(p, c, i, words)
	case len(raw) > len(c.raw(i)): // a whole transaction, which was not executed
		l.failedOne(p, it, words, c.raw(i), retry{raw, l.db, len(l.within) > 0})
	default:
		l.failedOne(p, it, words, c.raw(i), retry{raw: raw, db: l.databaseOf(it.no)})
	}
	if l.opt.FailFast {
		l.hasty.Store(true)
	}
}

// failedOne counts the error of one command.
func (l *loader) failedOne(p *pipe, it item, words string, raw []byte, again retry) {
	l.count.fail(p.node, words, again, func() Failure {
		f := Failure{Command: it.no, Text: describe(raw), Error: words, Node: p.node.addr}
		if l.in.byLine() {
			f.Line = it.at
		} else {
			f.Offset = it.at
		}
		return f
	})
}
