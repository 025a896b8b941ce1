package social

import (
	"context"
	"errors"
	"fmt"
)

// setAsideKey is where a key goes that Retwis cannot read and that may hold
// what somebody wants back. It is in the slot of the key.
func setAsideKey(key string, n int) string {
	if n == 1 {
		return fmt.Sprintf("damaged:{%s}", key)
	}
	return fmt.Sprintf("damaged:{%s}:%d", key, n)
}

// maxSetAside bounds how many keys of one name can be set aside.
const maxSetAside = 1000

// setAside renames a key of this type, if a field of it still has this value.
func (s *Service) setAside(ctx context.Context, key, kind string, field ...string) (bool, error) {
	for n := 1; n <= maxSetAside; n++ {
		moved, err := setAsideScript.Run(ctx, s.client, []string{key, setAsideKey(key, n)}, append([]string{kind}, field...)).AsInt64()
		if err != nil || moved >= 0 {
			return moved == 1, err
		}
	}
	return false, fmt.Errorf("%d keys that begin with %s are in the way", maxSetAside, setAsideKey(key, 1))
}

// takeFanOut finishes an unfinished fan-out that is as old as this.
func (s *Service) takeFanOut(ctx context.Context, member string, stale int64) (bool, error) {
	mine, err := claimScript.Run(ctx, s.client, []string{keyFanOuts}, []string{member, itoa(stale), itoa(s.now().Unix())}).AsBool()
	if err != nil || !mine {
		return false, err
	}
	return true, s.resumeMember(ctx, member)
}

// fanOutAgain repeats the fan-out of a finished post; `fanouts` knows of it
// first.
func (s *Service) fanOutAgain(ctx context.Context, post int64) error {
	err := s.client.Do(ctx, s.client.B().Zadd().Key(keyFanOuts).ScoreMember().
		ScoreMember(float64(s.now().Unix()), itoa(post)).Build()).Error()
	if err == nil {
		err = s.Resume(ctx, post)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
