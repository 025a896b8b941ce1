package bulk

import (
	"bytes"
	"context"
)

// alone sends a command while no other is on its way: its keys belong to several
// connections, or it is for the whole server, or nobody knows which its keys are.
func (l *loader) alone(ctx context.Context, slot int, it item) error {
	raw := bytes.Clone(l.frame.raw)
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.put(ctx, slot, raw, it); err != nil {
		return err
	}
	return l.settle(ctx)
}
