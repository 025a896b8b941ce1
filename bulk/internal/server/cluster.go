package server

import (
	"context"
	"net"
	"strconv"

	"retwis/internal/redis/keys"
)

// SlotRange is a range of slots and the address of its master.
type SlotRange struct {
	From, To int
	Addr     string
}

// SlotRanges asks a node of a Cluster which master owns which slots. If the server is not part of
// a Cluster, it returns the server's error reply.
func SlotRanges(c *Conn) ([]SlotRange, error) {
	answer, err := c.Do("CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	list, _ := answer.([]any)
	ranges := make([]SlotRange, 0, len(list))
	host, _, _ := net.SplitHostPort(c.Addr)
	for _, entry := range list {
		fields, _ := entry.([]any)
		if len(fields) < 3 {
			continue
		}
		from, _ := fields[0].(int64)
		to, _ := fields[1].(int64)
		master, _ := fields[2].([]any)
		if len(master) < 2 || from < 0 || from > to || to >= keys.Slots {
			continue
		}
		name, _ := master[0].(string)
		port, _ := master[1].(int64)
		if name == "" || name == "?" { // unknown: the host of the connection
			name = host
		}
		ranges = append(ranges, SlotRange{int(from), int(to), net.JoinHostPort(name, strconv.FormatInt(port, 10))})
	}
	return ranges, nil
}

// KeysOf asks a server for the keys of a command (COMMAND GETKEYS).
func (d *Dialer) KeysOf(ctx context.Context, addrs, args []string) ([][]byte, error) {
	c, err := d.Any(ctx, addrs)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	answer, err := c.Do(append([]string{"COMMAND", "GETKEYS"}, args...)...)
	if IsReply(err, "ERR The command has no key") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, _ := answer.([]any)
	found := make([][]byte, 0, len(list))
	for _, key := range list {
		text, _ := key.(string)
		found = append(found, []byte(text))
	}
	return found, nil
}
